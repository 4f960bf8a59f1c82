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
/* (transfer full): text for a screen */
char *dvm_cli_draw_pictures (DvmCli *cli, GPtrArray *pictures);
/* (transfer full): the first nodes of a map, in its order */
GStrv dvm_cli_list_map_nodes (GVariant *map, guint limit);
/* (transfer full) (element-type DvmCliMachine): of these nodes, names (nullable): of all; question: as above */
GPtrArray *dvm_cli_ask_machines (DvmClient *client, const char *const *names, GVariant *question, GError **error);
/* Of it the cpus alone: those of the operating system */
gboolean dvm_cli_print_bindings (DvmCli *cli, GVariant *map, GError **error);
/* nodes: (element-type DvmNode) */
gboolean dvm_cli_print_allocation (DvmCli *cli, GPtrArray *nodes, GError **error);
void dvm_cli_ask_machines_async (DvmClient *client, GCancellable *cancellable, GAsyncReadyCallback callback,
                                 gpointer user_data);
GPtrArray *dvm_cli_ask_machines_finish (DvmClient *client, GAsyncResult *result, GError **error);

G_END_DECLS
