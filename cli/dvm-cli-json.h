/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * JSON text of GVariants. A small writer of our own: values of D-Bus go in as they are (64 bits wide, bytes that are no
 * UTF-8 escaped), in one pass.
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

void dvm_cli_json_append_string (GString *json, const char *text);
void dvm_cli_json_append_value (GString *json, GVariant *value);
/* (transfer full): "NumProcs" -> "num-procs" */
char *dvm_cli_json_key (const char *name);

G_END_DECLS
