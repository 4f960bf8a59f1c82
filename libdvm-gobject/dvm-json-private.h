/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <json-glib/json-glib.h>

#include "dvm-records-private.h"

G_BEGIN_DECLS

/* null for 0 */
void _dvm_json_add_time (JsonBuilder *builder, gint64 microseconds);
void _dvm_json_add_variant (JsonBuilder *builder, GVariant *value);
char *_dvm_json_finish (JsonBuilder *builder, gboolean pretty);

G_END_DECLS
