/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A node that is lost, beyond what the core makes of it: who waits for its agent, and who lives without it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-private.h"

gboolean
dvmd_controller_is_lost (DvmdController *self, guint rank)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (self->core), rank);

  return node == NULL || dvm_node_get_state (node->record) == DVM_NODE_STATE_DOWN;
}

void
dvmd_controller_forget_agent (DvmdController *self, guint rank)
{
  dvmd_controller_drop_stages (self, rank);
  dvmd_controller_fail_topologies (self, rank);
  dvmd_controller_fail_tables (self, rank);
  dvmd_controller_break_collectives (self, rank);
  dvmd_controller_end_tools (self, rank);
  dvmd_controller_forget_spawns (self, rank);
  dvmd_data_store_node_lost (self->data, rank);
}

/* Nobody reads what they were to be given, and what they had written is all that there is. */
static void
end_streams (DvmdJobStreams *streams, GArray *ranks)
{
  for (guint i = 0; i < ranks->len; i++)
    {
      guint rank = g_array_index (ranks, guint32, i);

      if (streams->input != NULL)
        dvmd_input_rank_ended (streams->input, rank);
      dvmd_output_push_eof (streams->output, rank, DVMD_STREAM_STDOUT);
      dvmd_output_push_eof (streams->output, rank, DVMD_STREAM_STDERR);
    }
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
dvmd_controller_node_lost (gpointer world, DvmdJob *job, DvmdNode *node)
{
  DvmdController *self = world;
  DvmdJobStreams *streams = g_hash_table_lookup (self->streams, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  g_autoptr (GArray) ranks = find_lost_ranks (job, node);

  dvmd_controller_send_to_job (
      self, job, DVMD_MSG_NODE_LOST,
      g_variant_new ("(uus@au)", dvmd_job_get_id (job), node->rank, dvm_node_get_name (node->record),
                     g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, ranks->data, ranks->len, sizeof (guint32))));
  if (streams == NULL)
    return;
  end_streams (streams, ranks);
  dvmd_job_streams_launched (streams, node->rank);
}
