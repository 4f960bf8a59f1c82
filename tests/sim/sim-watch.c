/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs of a random history, as seen from outside of the core: the states that each may end in, by what has happened to
 * it.
 */

#include "config.h"

#include "sim-watch.h"

#include "dvmd-job-moves.h"
#include "dvmd-job-private.h"
#include "dvmd-job-registry.h"

void
sim_watch_free (gpointer data)
{
  g_clear_pointer (&((SimWatch *)data)->bound, g_hash_table_unref);
  g_clear_pointer (&((SimWatch *)data)->times, g_hash_table_unref);
  g_free (data);
}

SimWatch *
sim_watch_get (SimHistory *world, DvmdJob *job)
{
  return g_ptr_array_index (world->watches, dvmd_job_get_id (job) - 1);
}

void
sim_watch_may_end (SimHistory *world, DvmdJob *job, DvmJobState state)
{
  sim_watch_get (world, job)->may[state / 64] |= G_GUINT64_CONSTANT (1) << (state % 64);
}

gboolean
sim_history_is_down (SimHistory *world, guint rank)
{
  return dvm_node_get_state (dvmd_node_pool_get (dvmd_core_get_nodes (world->core), rank)->record)
         == DVM_NODE_STATE_DOWN;
}

gboolean
sim_watch_is_live (DvmdJob *job)
{
  return dvm_job_state_is_live (dvmd_job_get_state (job));
}

/* A job of which each rank may be started once more does not fail while nodes without it have slots for all of them. */
void
sim_watch_check_no_room (SimHistory *world, DvmdJob *job)
{
  guint n_lost = 0;
  guint n_slots = 0;

  if (!sim_watch_get (world, job)->movable)
    return;
  for (guint i = 0; i < job->procs->n_rows; i++)
    {
      GHashTable *times = sim_watch_get (world, job)->times;

      if (dvmd_proc_table_row (job->procs, i)->state != DVM_PROC_STATE_COMM_FAILED)
        continue;
      n_lost++;
      if ((dvmd_proc_table_row (job->procs, i)->flags & (DVMD_PROC_REGISTERED | DVMD_PROC_ABORTED)) != 0
          || (times != NULL
              && GPOINTER_TO_UINT (g_hash_table_lookup (times, GUINT_TO_POINTER (i))) >= job->max_restarts))
        return;
    }
  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (dvmd_core_get_nodes (world->core), node)) != NULL;)
    if (node->rank > 0 && !sim_history_is_down (world, node->rank)
        && dvmd_map_count_on_node (job->map, node->rank) == 0)
      n_slots += node->slots;
  check_job (world, job, n_lost > 0 && n_slots < n_lost);
}

DvmJobState
sim_watch_state_for (DvmProcState state)
{
  switch (state)
    {
    case DVM_PROC_STATE_ABORTED_BY_SIG:
      return DVM_JOB_STATE_ABORTED_BY_SIG;
    case DVM_PROC_STATE_TERM_WO_SYNC:
      return DVM_JOB_STATE_ABORTED_WO_SYNC;
    case DVM_PROC_STATE_CALLED_ABORT:
      return DVM_JOB_STATE_CALLED_ABORT;
    case DVM_PROC_STATE_TERM_NON_ZERO:
      return DVM_JOB_STATE_NON_ZERO_TERM;
    default:
      return DVM_JOB_STATE_KILLED_BY_CMD;
    }
}

/* The loss of a node may end a job in these ways. */
void
sim_watch_expect_loss (SimHistory *world, DvmdJob *job, guint rank)
{
  guint n_there = 0;

  if (job->map == NULL || !sim_watch_is_live (job) || dvmd_map_count_on_node (job->map, rank) == 0)
    return;
  for (guint i = 0; i < job->procs->n_rows; i++)
    {
      DvmdProcRow *row = dvmd_proc_table_row (job->procs, i);

      n_there += row->node == rank && !(row->flags & DVMD_PROC_ENDED);
    }
  if (dvmd_job_is_launched (job) && n_there > 0)
    {
      sim_watch_may_end (world, job, DVM_JOB_STATE_COMM_FAILED);
      sim_watch_get (world, job)->must_fail |= !job->recoverable && job->max_restarts == 0;
    }
  else if (!dvmd_job_is_launched (job) && !job->do_not_launch)
    {
      sim_watch_may_end (world, job, DVM_JOB_STATE_FAILED_TO_LAUNCH);
      sim_watch_get (world, job)->must_fail = TRUE;
    }
}

void
sim_watch_expect_end (SimHistory *world, DvmJobState state)
{
  for (GList *l = dvmd_core_get_live_jobs (world->core); l != NULL; l = l->next)
    sim_watch_may_end (world, l->data, state);
}
