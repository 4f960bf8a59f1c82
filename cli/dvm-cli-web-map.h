/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the ranks of a job are, for the page: asked of the DVM when somebody looks at the job.
 */

#pragma once

#include <dvm.h>
#include <libsoup/soup.h>

G_BEGIN_DECLS

/* Nodes and ranks of an answer; of larger jobs it has the first ones, and says how many more there are. */
#define DVM_CLI_WEB_MAP_NODES 64
#define DVM_CLI_WEB_MAP_RANKS 4096

/* (nullable) (transfer none): the number of the job of a path such as "/api/map/7" */
const char *dvm_cli_web_map_find (const char *path);
/* Pauses the message, and answers it when the DVM has answered: JSON, or why there is no map. */
void dvm_cli_web_map_answer (DvmClient *client, const char *job, SoupServerMessage *message);
/* (transfer full): the JSON; map: a(uuussss) of Job.Map(), topologies: (nullable): a(sasa{sas}) of Query() */
char *dvm_cli_web_map_format (DvmJob *job, GVariant *map, GVariant *topologies);

G_END_DECLS
