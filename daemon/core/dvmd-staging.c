/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files of a job that are on their way to its nodes are reported, and waited for (L14).
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-job"

#include "dvmd-core-private.h"
#include "dvmd-job-machine.h"

/*
 * A rank that is not one of the DVM any more, or on its way out: nobody will run anything there. The job goes on to the
 * launch gate, which looks at its map.
 */
static gboolean
is_leaving (DvmdCore *self, guint agent)
{
  DvmdNode *node = dvmd_node_pool_get (self->nodes, agent);

  return node == NULL || node->leaving || dvm_node_get_state (node->record) == DVM_NODE_STATE_DOWN;
}

/* The others need not have their files before the launch gate has judged that. */
static void
cut_short (DvmdJob *job)
{
  job->half_staged = g_hash_table_size (job->stage_left) > 0;
  g_hash_table_remove_all (job->stage_left);
  dvmd_core_post (job, DVMD_JOB_PREPARED);
}

/* Its agents need not answer any more. */
void
dvmd_core_files_leaving (DvmdCore *self, DvmdJob *job)
{
  GHashTableIter iter;
  gpointer agent;

  if (dvmd_job_get_state (job) != DVM_JOB_STATE_SYSTEM_PREP || job->stage_left == NULL)
    return;
  g_hash_table_iter_init (&iter, job->stage_left);
  while (g_hash_table_iter_next (&iter, &agent, NULL))
    if (is_leaving (self, GPOINTER_TO_UINT (agent)))
      {
        cut_short (job);
        return;
      }
}

void
dvmd_core_files_staged (DvmdCore *self, DvmdJob *job, guint agent, const char *reason)
{
  if (dvmd_job_get_state (job) != DVM_JOB_STATE_SYSTEM_PREP || job->stage_left == NULL)
    return;
  if (agent == 0)
    {
      dvmd_core_post_failure (job, DVM_JOB_STATE_FILES_POSN_FAILED, reason);
      return;
    }
  if (!g_hash_table_remove (job->stage_left, GUINT_TO_POINTER (agent)))
    return;
  if (is_leaving (self, agent))
    cut_short (job);
  else if (reason != NULL)
    dvmd_core_post_failure (job, DVM_JOB_STATE_FILES_POSN_FAILED, reason);
  else if (g_hash_table_size (job->stage_left) == 0)
    dvmd_core_post (job, DVMD_JOB_PREPARED);
}
