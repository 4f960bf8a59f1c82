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
/* Of verbs that show a map, and whether they go together */
extern const DvmCliOption dvm_cli_picture_options[];
gboolean dvm_cli_check_picture (DvmCli *cli, GError **error);
/* As a table, or as a picture when that is asked for; question (nullable): a{sv} of nodes that are only described */
gboolean dvm_cli_show_map (DvmCli *cli, DvmClient *client, GVariant *map, GVariant *question, GError **error);
/* (transfer full) (element-type DvmCliMachine): of these nodes, names (nullable): of all; question: as above */
GPtrArray *dvm_cli_ask_machines (DvmClient *client, const char *const *names, GVariant *question, GError **error);
/* Of it the cpus alone: those of the operating system */
gboolean dvm_cli_print_bindings (DvmCli *cli, GVariant *map, GError **error);
/* nodes: (element-type DvmNode) */
gboolean dvm_cli_print_allocation (DvmCli *cli, GPtrArray *nodes, GError **error);

G_END_DECLS
