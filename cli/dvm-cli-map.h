/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the ranks of a job go, for people and as JSON.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* map: a(uuussss), as dvm_client_map() answers it */
gboolean dvm_cli_print_map (DvmCli *cli, GVariant *map, GError **error);
/* Of it the cpus alone: those of the operating system */
gboolean dvm_cli_print_bindings (DvmCli *cli, GVariant *map, GError **error);
/* nodes: (element-type DvmNode) */
gboolean dvm_cli_print_allocation (DvmCli *cli, GPtrArray *nodes, GError **error);

G_END_DECLS
