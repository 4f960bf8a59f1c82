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

const char *
dvmd_core_strip_name (DvmdNode *node, const char *reason)
{
  g_autofree char *named = g_strdup_printf ("%s: ", dvm_node_get_name (node->record));

  while (g_str_has_prefix (reason, named))
    reason += strlen (named);
  return reason;
}

/* ---- the end of an agent ---- */

/* The part of its life that it is in. */
typedef enum
{
  LIFE_ORDERED,  /* it has been told to leave */
  LIFE_ENDING,   /* so have all: the DVM ends */
  LIFE_COMING,   /* a grow brings it */
  LIFE_STARTING, /* the DVM was not ready yet */
  LIFE_MEMBER,
  N_LIVES
} Life;

static Life
get_life (DvmdCore *self, DvmdNode *node)
{
  if (node->ordered)
    return LIFE_ORDERED;
  if (self->vm.shutting_down)
    return LIFE_ENDING;
  if (node->grow != NULL)
    return LIFE_COMING;
  return self->vm.was_ready ? LIFE_MEMBER : LIFE_STARTING;
}

enum
{
  NO_NEWS,
  DEPARTS,
  DROPPED,
  MISSED, /* at the start */
  FAILS_GROW,
  LOGGED = 8,
};

/* Of one that is on its way out the departure is what counts; at the end of the DVM nobody goes back. */
static const guint end_steps[DVMD_AGENT_N_ENDS][N_LIVES] = {
  [DVMD_AGENT_FAILED] = { LOGGED, LOGGED | DROPPED, LOGGED | FAILS_GROW, MISSED, LOGGED | DROPPED },
  [DVMD_AGENT_LOST] = { LOGGED, LOGGED | DROPPED, LOGGED | FAILS_GROW, LOGGED | MISSED, LOGGED | DROPPED },
  [DVMD_AGENT_GONE] = { DEPARTS, DROPPED, LOGGED | FAILS_GROW, LOGGED | MISSED, LOGGED | DROPPED },
  [DVMD_AGENT_DEPARTED] = { DEPARTS },
};

static guint
find_step (DvmdCore *self, DvmdNode *node, DvmdAgentEnd how, DvmdCause cause)
{
  /* The departure of a node that is DOWN already counts too. */
  if (node == NULL || (how != DVMD_AGENT_DEPARTED && (node->rank == 0 || is_down (node))))
    return NO_NEWS;
  /* Nothing of it is there, and no departure follows. */
  if (node->ordered && how == DVMD_AGENT_FAILED && cause == DVMD_CAUSE_LAUNCH)
    return DEPARTS;
  return end_steps[how][get_life (self, node)];
}

static void
log_loss (DvmdCore *self, DvmdNode *node, const char *reason)
{
  dvmd_log_about (G_LOG_DOMAIN, self->vm.shutting_down || node->ordered ? G_LOG_LEVEL_INFO : G_LOG_LEVEL_MESSAGE,
                  &(DvmdLogSubject){ .node = dvm_node_get_name (node->record) }, "its agent, rank %u, %s: %s",
                  node->rank, node->grow != NULL ? "did not come" : "was lost", reason);
}

static void
fail_grow (DvmdNode *node, DvmdCause cause, const char *reason)
{
  g_autofree char *named = g_strdup_printf ("%s: %s", dvm_node_get_name (node->record), reason);

  node->never_came |= cause == DVMD_CAUSE_LAUNCH;
  dvmd_campaign_fail (node->grow, cause, named);
}

void
dvmd_core_agent_ended (DvmdCore *self, guint rank, DvmdAgentEnd how, DvmdCause cause, const char *reason)
{
  DvmdNode *node = dvmd_node_pool_get (self->nodes, rank);
  guint step = find_step (self, node, how, cause);

  if (how == DVMD_AGENT_GONE)
    reason = self->vm.shutting_down ? "The agent has ended" : "its agent has ended";
  else if (reason == NULL || reason[0] == '\0')
    reason = "nothing is known of why";
  else if (node != NULL)
    reason = dvmd_core_strip_name (node, reason);
  if (step == NO_NEWS)
    g_debug ("That agent %u has ended (%u) is not news", rank, how);
  if (step & LOGGED)
    log_loss (self, node, reason);
  switch (step & ~(guint)LOGGED)
    {
    case DEPARTS:
      dvmd_core_depart (self, node);
      dvmd_core_check_all_gone (self);
      break;
    case DROPPED:
      dvmd_core_drop_agent (self, node, reason);
      break;
    case MISSED:
      dvmd_core_miss_agent (self, node, reason);
      break;
    case FAILS_GROW:
      fail_grow (node, cause, reason);
      break;
    default:
      break;
    }
}
