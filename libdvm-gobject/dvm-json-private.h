/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-records-private.h"

G_BEGIN_DECLS

/* Text of JSON on one line, without gaps. A key is the first one behind a "{", else a comma stands before it. */
void _dvm_json_append_key (GString *json, const char *name);
void _dvm_json_append_string (GString *json, const char *text);
void _dvm_json_append_int (GString *json, gint64 number);
/* "2026-01-31T12:00:00.000000Z"; null for 0 */
void _dvm_json_append_time (GString *json, gint64 microseconds);
void _dvm_json_append_variant (GString *json, GVariant *value);
/* The same for people: a line for each value */
char *_dvm_json_indent (const char *json);

G_END_DECLS
