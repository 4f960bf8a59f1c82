/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A node that is lost, beyond what the core makes of it: who waits for its agent, and who lives without it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-streams.h"
#include "dvmd-controller-private.h"
#include "dvmd-heal.h"

gboolean
dvmd_controller_is_lost (DvmdController *self, guint rank)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (self->core), rank);

  return node == NULL || dvm_node_get_state (node->record) == DVM_NODE_STATE_DOWN;
}

/* (element-type guint32) */
static GArray *
find_lost_ranks (DvmdJob *job, DvmdNode *node)
{
  g_autoptr (GArray) there = dvmd_map_expand_node (dvmd_job_get_map (job), node->rank);
  GArray *ranks = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 0; i < there->len; i++)
    {
      guint32 rank = g_array_index (there, DvmdMapRank, i).rank;
      DvmProcState state = dvmd_proc_table_row (dvmd_job_get_procs (job), rank)->state;

      /* It was lost, or a shrink has taken it away. */
      if (state == DVM_PROC_STATE_COMM_FAILED || state == DVM_PROC_STATE_KILLED_BY_CMD)
        g_array_append_val (ranks, rank);
    }
  return ranks;
}

void
dvmd_controller_node_lost (gpointer user_data, DvmdJob *job, DvmdNode *node)
{
  DvmdController *self = user_data;
  DvmdJobStreams *streams = dvmd_controller_get_streams (self, dvmd_job_get_id (job));
  g_autoptr (GArray) ranks = find_lost_ranks (job, node);

  dvmd_controller_send_to_job (
      self, job, DVMD_MSG_NODE_LOST,
      g_variant_new ("(uus@au)", dvmd_job_get_id (job), node->rank, dvm_node_get_name (node->record),
                     g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, ranks->data, ranks->len, sizeof (guint32))));
  /* The lost ranks read no more input, and no more output comes from them. */
  if (streams != NULL)
    dvmd_job_streams_lose (streams, node->rank, ranks);
}

/* ---- agents that somebody wants to be started again ---- */

gboolean
dvmd_controller_restart_node (DvmdController *self, DvmdNode *node, gboolean force, GError **error)
{
  guint rank = node->rank;
  guint n_jobs = g_hash_table_size (node->jobs);
  g_autofree char *name = g_strdup (dvm_node_get_name (node->record));
  g_autofree char *reason = g_strdup_printf ("%s: it is started again by command", name);

  if (!self->agents->funcs->remote)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                 "The agents of this DVM live in dvmd itself: they are there as long as it is");
  else if (n_jobs > 0 && !force)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY,
                 "%u jobs have processes on %s, which would end: drain the node and wait for them, or use the option "
                 "“force”",
                 n_jobs, name);
  else if (dvmd_core_restart_node (self->core, node, error))
    {
      self->agents->funcs->restart (self->agents, rank, reason);
      return TRUE;
    }
  return FALSE;
}
