/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The properties of the DVM, as `status` and `info` show them.
 */

#pragma once

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* properties: a{sv} of org.dvm.Manager; extra: (nullable) more of them. (transfer full): one JSON object */
char *dvm_cli_info_to_json (GVariant *properties);
/* (transfer full): "key: value" lines in alphabetical order */
char *dvm_cli_info_to_text (GVariant *properties);

G_END_DECLS
