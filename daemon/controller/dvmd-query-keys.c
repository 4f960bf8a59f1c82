/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The questions that are answered on the bus and to PMIx programs, in one table: a key that is served on one side alone
 * has a reason for it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-query-keys.h"

#include <string.h>

#define HERE  DVMD_QUERY_SERVED
#define JOB   DVMD_QUERY_JOB
#define RANK  DVMD_QUERY_RANK
#define NODE  DVMD_QUERY_NODE
#define ALLOC DVMD_QUERY_ALLOC
#define PROP  DVMD_QUERY_PROPERTY
#define GROUP DVMD_QUERY_GROUP
#define PSET  DVMD_QUERY_PSET
#define NAMES DVMD_QUERY_NAMES

/* The server of a node answers what needs no controller: its hardware, and the keys that there are. */
static const DvmdQueryKey keys[] = {
  { "alloc-ids", "PMIX_QUERY_ALLOC_IDS", HERE, HERE, 0 },
  { "alloc-properties", "PMIX_QUERY_ALLOC_PROPERTIES", HERE | ALLOC | PROP, HERE | ALLOC | PROP, ALLOC },
  { "alloc-status", "PMIX_QUERY_ALLOC_STATUS", HERE | ALLOC, HERE | ALLOC, ALLOC },
  { "allocations", "PMIX_QUERY_ALLOCATION", HERE | ALLOC, HERE | ALLOC, 0 },
  { "free-slots", "PMIX_QUERY_AVAILABLE_SLOTS", HERE | NODE | ALLOC, HERE | NODE | ALLOC, 0 },
  { "group-members", "PMIX_QUERY_GROUP_MEMBERSHIP", HERE | GROUP, HERE | GROUP, GROUP },
  { "groups", "PMIX_QUERY_GROUP_NAMES", HERE, HERE, 0 },
  { "job-size", "PMIX_JOB_SIZE", HERE | JOB, HERE | JOB, JOB },
  /* PMIx wants a status, which the state of a job is not. */
  { "job-states", "PMIX_QUERY_JOB_STATUS", 0, HERE | JOB, 0 },
  /* The bus is at no node. */
  { "local-proc-table", "PMIX_QUERY_LOCAL_PROC_TABLE", HERE | JOB | RANK | NODE, HERE | JOB | RANK | NODE, JOB | NODE },
  /* PMIx does not say what an answer looks like. */
  { "memory", "PMIX_QUERY_MEMORY_USAGE", 0, HERE, 0 },
  { "namespace-info", "PMIX_QUERY_NAMESPACE_INFO", HERE | JOB, HERE | JOB, 0 },
  { "namespaces", "PMIX_QUERY_NAMESPACES", HERE, HERE, 0 },
  { "node-loads", NULL, 0, HERE, 0 },
  { "node-usage", "PMIX_QUERY_NODE_RESOURCE_USAGE", HERE | JOB | RANK | NODE, HERE | NODE, NODE },
  { "nodes", "PMIX_QUERY_RESOLVE_NODE", HERE | JOB, HERE | JOB, 0 },
  { "num-groups", "PMIX_QUERY_NUM_GROUPS", HERE, HERE, 0 },
  { "num-psets", "PMIX_QUERY_NUM_PSETS", HERE | JOB, HERE | JOB, 0 },
  { "peers", "PMIX_QUERY_RESOLVE_PEERS", HERE | JOB | RANK | NODE, HERE | JOB | NODE, JOB },
  /* PMIx has no names for these, nor for those of the DVM itself below. */
  { "plugins", NULL, 0, HERE, 0 },
  { "policies", NULL, 0, HERE | JOB, JOB },
  { "proc-table", "PMIX_QUERY_PROC_TABLE", HERE | JOB | RANK | NODE, HERE | JOB | RANK | NODE, JOB },
  { "proc-usage", "PMIX_QUERY_PROC_RESOURCE_USAGE", HERE | JOB | RANK | NODE, HERE | JOB | RANK | NODE, JOB },
  { "pset-members", "PMIX_QUERY_PSET_MEMBERSHIP", HERE | PSET | JOB, HERE | PSET | JOB, PSET },
  { "psets", "PMIX_QUERY_PSET_NAMES", HERE | JOB, HERE | JOB, 0 },
  { "query-keys", "PMIX_QUERY_SUPPORTED_KEYS", 0, HERE, 0 },
  { "settings", NULL, 0, HERE, 0 },
  { "slots", "PMIX_NUM_SLOTS", HERE | NODE | ALLOC, HERE | NODE | ALLOC, 0 },
  { "statistics", NULL, 0, HERE, 0 },
  { "time-remaining", "PMIX_TIME_REMAINING", HERE | ALLOC | JOB, HERE | ALLOC | JOB, 0 },
  { "topologies", NULL, 0, HERE | NAMES, 0 },
  { "uptime", NULL, 0, HERE, 0 },
  { "version", NULL, 0, HERE, 0 },
};

const DvmdQueryKey *
dvmd_query_keys_get (guint *n_keys)
{
  *n_keys = G_N_ELEMENTS (keys);
  return keys;
}

const DvmdQueryKey *
dvmd_query_keys_find (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    if (strcmp (name, keys[i].word) == 0 || g_strcmp0 (name, keys[i].pmix) == 0)
      return &keys[i];
  return NULL;
}
