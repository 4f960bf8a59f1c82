/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * Opens a file that is to be staged, for a thread: it may block in slow file systems, but not on a FIFO. search: a path
 * without a slash is looked for in these directories, as an executable file. size and mode (permissions) are those of
 * the open file. -1 with DVM_ERROR_FAILED or DVM_ERROR_NOT_FOUND and a sentence that names the file.
 */
int dvmd_stage_source_open (const char *path, const char *search, guint64 *size, guint *mode, GError **error);

G_END_DECLS
