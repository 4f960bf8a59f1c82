/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Counts and lists of nodes, jobs and allocations, whoever asks.
 */

#include "config.h"

#include "dvmd-controller-facts.h"

#include "dvmd-core-elastic.h"

gboolean
dvmd_facts_is_up (DvmdNode *node)
{
  return node != NULL && node->rank > 0 && dvm_node_get_state (node->record) == DVM_NODE_STATE_UP;
}

gboolean
dvmd_facts_may_measure (DvmdNode *node)
{
  return dvmd_facts_is_up (node) || (node != NULL && node->rank > 0 && dvmd_node_is_drained (node));
}

guint
dvmd_facts_count_slots (DvmdNodePool *pool, DvmdNode *node)
{
  return node != NULL ? node->slots : dvmd_node_pool_count_slots (pool);
}

/* Slots of a node that a campaign takes away are not free. */
static guint
count_free (DvmdNode *node)
{
  return dvmd_facts_is_up (node) && !node->barred ? node->slots - MIN (node->slots, node->slots_in_use) : 0;
}

guint
dvmd_facts_count_free_slots (DvmdNodePool *pool, DvmdNode *node)
{
  guint sum = 0;

  if (node != NULL)
    return count_free (node);
  for (guint rank = 1; rank <= dvmd_node_pool_get_max_rank (pool); rank++)
    sum += count_free (dvmd_node_pool_get (pool, rank));
  return sum;
}

guint
dvmd_facts_count_free_slots_of (DvmdNodePool *pool, const char *const *names)
{
  guint sum = 0;

  for (guint i = 0; names[i] != NULL; i++)
    sum += count_free (dvmd_node_pool_find (pool, names[i]));
  return sum;
}

guint
dvmd_facts_count_slots_of (DvmdNodePool *pool, const char *const *names)
{
  guint sum = 0;

  for (guint i = 0; names[i] != NULL; i++)
    {
      DvmdNode *node = dvmd_node_pool_find (pool, names[i]);

      if (dvmd_facts_is_up (node))
        sum += node->slots;
    }
  return sum;
}

GArray *
dvmd_facts_list_ranks (DvmdJob *job, DvmdNode *node)
{
  DvmdProcTable *procs = dvmd_job_get_procs (job);
  GArray *ranks = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint rank = 0; procs != NULL && rank < procs->n_rows; rank++)
    if (node == NULL || dvmd_proc_table_row (procs, rank)->node == node->rank)
      g_array_append_val (ranks, rank);
  return ranks;
}

GArray *
dvmd_facts_list_running (DvmdJob *job, const GArray *ranks)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  GArray *nodes = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; i < ranks->len; i++)
    {
      const DvmdProcRow *row = dvmd_proc_table_row (dvmd_job_get_procs (job), g_array_index (ranks, guint, i));
      guint node = row->node;

      if (row->state < DVM_PROC_STATE_UNTERMINATED && node != DVMD_NO_NODE
          && g_hash_table_add (seen, GUINT_TO_POINTER (node)))
        g_array_append_val (nodes, node);
    }
  return nodes;
}

GPtrArray *
dvmd_facts_list_nodes (DvmdNodePool *pool)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);

  for (guint rank = 1; rank <= dvmd_node_pool_get_max_rank (pool); rank++)
    if (dvmd_facts_is_up (dvmd_node_pool_get (pool, rank)))
      g_ptr_array_add (names, g_strdup (dvm_node_get_name (dvmd_node_pool_get (pool, rank)->record)));
  return names;
}

GPtrArray *
dvmd_facts_list_allocations (DvmdCore *core)
{
  GPtrArray *ids = g_ptr_array_new_with_free_func (g_free);

  for (DvmdSession *session = NULL; (session = dvmd_core_next_session (core, session)) != NULL;)
    g_ptr_array_add (ids, g_strdup (dvmd_session_get_alloc_id (session)));
  return ids;
}
