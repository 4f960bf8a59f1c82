/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The agents as the core sees them: they leave, or are lost. Nobody waits for an answer of one that is lost.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvm-records-private.h"
#include "dvmd-campaign-private.h"
#include "dvmd-core-private.h"
#include "dvmd-job-answers.h"
#include "dvmd-heal.h"
#include "dvmd-log.h"
#include "dvmd-vm-machine.h"

static gboolean
is_down (DvmdNode *node)
{
  return dvm_node_get_state (node->record) == DVM_NODE_STATE_DOWN;
}

void
dvmd_core_place_node (DvmdCore *self, guint rank, guint parent_rank, guint depth)
{
  DvmdNode *node = dvmd_node_pool_get (self->nodes, rank);

  g_return_if_fail (rank > 0);
  g_return_if_fail (depth > 0 || parent_rank == 0);

  /* One that has left may still stand in a table of the tree. */
  if (node != NULL && _dvm_node_set_place (node->record, parent_rank, depth))
    dvmd_core_node_changed (self, rank);
}

void
dvmd_core_set_node_origin (DvmdCore *self, guint rank, const char *launcher, const char *allocator)
{
  DvmdNode *node = dvmd_node_pool_get (self->nodes, rank);

  if (node == NULL)
    return;
  _dvm_node_set_origin (node->record, launcher != NULL ? launcher : dvm_node_get_launcher (node->record),
                        allocator != NULL ? allocator : dvm_node_get_allocator (node->record));
  dvmd_core_node_changed (self, rank);
}

/* Its answers for this job do not come any more. */
static void
lose_agent_of_job (DvmdCore *self, DvmdJob *job, DvmdNode *node, const DvmReason *reason)
{
  /* Most jobs have nothing there. */
  if (!dvmd_job_answers_await (job, DVMD_ANSWER_GONE, node->rank))
    return;
  if (dvmd_job_get_procs (job) != NULL && dvmd_job_is_launched (job))
    dvmd_core_lose_procs (job, node, reason);
  dvmd_core_files_staged (self, job, node->rank, NULL);
  dvmd_core_job_gone (self, job, node->rank);
}

/* The agents have been told to end, and this was the last one. */
void
dvmd_core_check_all_gone (DvmdCore *self)
{
  if (self->membership.n_agents == 0 && self->vm.shutting_down && dvmd_core_get_num_live (self) == 0)
    dvmd_core_post_vm (self, DVMD_VM_AGENTS_GONE, 0, NULL);
}

void
dvmd_core_lose_node (DvmdCore *self, DvmdNode *node, const DvmReason *reason)
{
  if (is_down (node))
    return;
  for (GList *l = dvmd_registry_list (self->jobs.all, FALSE); l != NULL; l = l->next)
    dvmd_admission_give_back_node (self->admission, l->data, node);
  dvmd_membership_remove (&self->membership);
  for (GList *l = dvmd_registry_list (self->jobs.all, FALSE); l != NULL; l = l->next)
    lose_agent_of_job (self, l->data, node, reason);
}

void
dvmd_core_drop_agent (DvmdCore *self, DvmdNode *node, const char *reason)
{
  g_autoptr (DvmReason) what = NULL;
  g_autofree char *told = dvmd_heal_plan (self, node, reason);

  if (node->leaving)
    what = dvmd_core_describe_departure (node);
  else
    what = _dvm_reason_new (DVM_REASON_NODE_LOST, dvm_node_get_name (node->record), reason);
  for (GList *l = dvmd_registry_list (self->jobs.all, FALSE); l != NULL; l = l->next)
    dvmd_admission_give_back_node (self->admission, l->data, node);
  dvmd_node_pool_set_state (self->nodes, node, DVM_NODE_STATE_DOWN, told);
  dvmd_membership_remove (&self->membership);
  for (GList *l = dvmd_registry_list (self->jobs.all, FALSE); l != NULL; l = l->next)
    lose_agent_of_job (self, l->data, node, what);
  dvmd_shrink_check_drains (self);
  dvmd_core_changed (self);
  dvmd_core_check_all_gone (self);
}

DvmdNode *
dvmd_core_find_agent (DvmdCore *self, guint rank, const char *what)
{
  DvmdNode *node = dvmd_node_pool_get (self->nodes, rank);

  if (node != NULL && rank > 0 && !is_down (node))
    return node;
  g_debug ("Agent %u %s, but it is not one of the DVM any more", rank, what);
  return NULL;
}

const char *
dvmd_core_strip_name (DvmdNode *node, const char *reason)
{
  const char *name = dvm_node_get_name (node->record);

  if (g_str_has_prefix (reason, name) && g_str_has_prefix (reason + strlen (name), ": "))
    return reason + strlen (name) + 2;
  return reason;
}

/* What a campaign makes of it; FALSE: it is not concerned. */
static gboolean
tell_campaign (DvmdNode *node, DvmdCause cause, const char *why)
{
  g_autofree char *reason = NULL;

  /* It is on its way out, and its departure is what counts. */
  if (node->ordered)
    return TRUE;
  /* At the end of the DVM nobody goes back. */
  if (node->grow == NULL || node->grow->core->vm.shutting_down)
    return FALSE;
  reason = g_strdup_printf ("%s: %s", dvm_node_get_name (node->record), why);
  node->never_came |= cause == DVMD_CAUSE_LAUNCH;
  dvmd_campaign_fail (node->grow, cause, reason);
  return TRUE;
}

void
dvmd_core_agent_lost (DvmdCore *self, guint rank, DvmdCause cause, const char *reason)
{
  DvmdNode *node = dvmd_core_find_agent (self, rank, "was lost");
  const char *why = reason != NULL && reason[0] != '\0' ? reason : "nothing is known of why";

  if (node == NULL)
    return;
  why = dvmd_core_strip_name (node, why);
  dvmd_log_about (G_LOG_DOMAIN, self->vm.shutting_down || node->ordered ? G_LOG_LEVEL_INFO : G_LOG_LEVEL_MESSAGE,
                  &(DvmdLogSubject){ .node = dvm_node_get_name (node->record) }, "its agent, rank %u, %s: %s", rank,
                  node->grow != NULL ? "did not come" : "was lost", why);
  if (tell_campaign (node, cause, why))
    return;
  if (!self->vm.was_ready && !self->vm.shutting_down)
    dvmd_core_agent_failed (self, rank, cause, why);
  else
    dvmd_core_drop_agent (self, node, why);
}

void
dvmd_core_agent_gone (DvmdCore *self, guint rank)
{
  DvmdNode *node = dvmd_core_find_agent (self, rank, "has gone");

  if (node == NULL)
    return;
  if (node->ordered)
    dvmd_core_agent_departed (self, rank);
  /* Nobody has told it to. */
  else if (!self->vm.shutting_down)
    dvmd_core_agent_lost (self, rank, DVMD_CAUSE_LOST, "its agent has ended");
  else
    dvmd_core_drop_agent (self, node, "The agent has ended");
}
