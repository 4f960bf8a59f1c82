/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files that users name are read whole.
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* text (out) (transfer full): ends with a NUL that length does not count. "-" is standard input. A file may be a pipe
 * or a device that never ends: more than 64 MiB are an error. */
gboolean dvm_cli_read_file (const char *path, char **text, gsize *length, GError **error);

G_END_DECLS
