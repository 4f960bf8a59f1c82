/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The DVM's own job: how it comes up and how it ends.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-vm"

#include "dvmd-vm-machine.h"

#include "dvm-records-private.h"
#include "dvmd-agent-life.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core-campaigns.h"
#include "dvmd-core-news.h"
#include "dvmd-core-nodes.h"
#include "dvmd-core-parts.h"
#include "dvmd-gates.h"
#include "dvmd-job-registry.h"
#include "dvmd-membership.h"
#include "dvmd-session-disposal.h"
#include "dvmd-session-end.h"
#include "dvmd-size.h"
#include "dvmd-vm-private.h"

static void
post (gpointer job, guint event)
{
  dvmd_core_post_vm (dvmd_job_get_core (job), event, 0, NULL);
}

static void
step_init (gpointer object, const DvmdEvent *event)
{
  DvmdJob *job = object;

  _dvm_job_set_created_at (dvmd_job_get_record (job), dvmd_clock_now (dvmd_core_get_clock (dvmd_job_get_core (job))));
  post (job, DVMD_VM_SET_UP);
}

static void
step_init_complete (gpointer object, const DvmdEvent *event)
{
  post (object, DVMD_VM_TO_ALLOCATE);
}

static void
step_allocate (gpointer object, const DvmdEvent *event)
{
  DvmdCore *core = dvmd_job_get_core (object);

  if (dvmd_core_get_effects (core)->allocate != NULL)
    dvmd_core_get_effects (core)->allocate (dvmd_core_get_user_data (core));
  else
    post (object, DVMD_VM_ALLOCATED);
}

static void
step_allocation_complete (gpointer object, const DvmdEvent *event)
{
  post (object, DVMD_VM_TO_LAUNCH);
}

/* (element-type DvmdNode): those with agents that are not lost */
static GPtrArray *
list_agents (DvmdCore *core)
{
  GPtrArray *agents = g_ptr_array_new ();

  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (dvmd_core_get_nodes (core), node)) != NULL;)
    if (node->rank > 0 && !dvmd_node_is_down (node))
      g_ptr_array_add (agents, node);
  return agents;
}

static void
step_launch_daemons (gpointer object, const DvmdEvent *event)
{
  DvmdCore *core = dvmd_job_get_core (object);
  g_autoptr (GPtrArray) agents = list_agents (core);

  for (guint i = 0; i < agents->len; i++)
    dvmd_core_agent_step (core, g_ptr_array_index (agents, i), DVMD_LIFE_LAUNCHED, DVM_NODE_STATE_ADDED, NULL);
  dvmd_membership_begin (dvmd_core_get_membership (core), agents->len);
  dvmd_core_changed (core);
  post (object, DVMD_VM_LAUNCHED);
  dvmd_core_get_effects (core)->launch_agents (dvmd_core_get_user_data (core), (DvmdNode *const *)agents->pdata,
                                               agents->len);
}

static void
step_daemons_reported (gpointer object, const DvmdEvent *event)
{
  post (object, DVMD_VM_TO_DISTRIBUTE);
}

static void
step_vm_ready (gpointer object, const DvmdEvent *event)
{
  DvmdCore *core = dvmd_job_get_core (object);
  g_autoptr (GPtrArray) agents = list_agents (core);

  dvmd_core_wire (core, NULL, agents);
}

/* Jobs are judged once for all nodes that changed together: half may be lost while thousands of jobs wait. */
static void
act_nodes_changed (gpointer object, const DvmdEvent *event)
{
  DvmdCore *core = dvmd_job_get_core (object);

  dvmd_core_get_vm (core)->nodes_changed = FALSE;
  dvmd_admission_nodes_changed (dvmd_core_get_admission (core));
}

static void
act_fence_changed (gpointer object, const DvmdEvent *event)
{
  dvmd_gate_publish (dvmd_job_get_core (object));
}

static void
act_sessions_changed (gpointer object, const DvmdEvent *event)
{
  DvmdCore *core = dvmd_job_get_core (object);

  dvmd_core_dispose_sessions (core);
  dvmd_core_tell_ended_sessions (core);
}

static void
act_released_down (gpointer object, const DvmdEvent *event)
{
  DvmdCore *core = dvmd_job_get_core (object);
  g_autoptr (GPtrArray) targets = dvmd_campaign_registry_take_offer (dvmd_core_get_campaign_registry (core));

  if (targets != NULL)
    dvmd_size_offer (core, NULL, targets);
}

static void
act_gate_opened (gpointer object, const DvmdEvent *event)
{
  dvmd_gate_opened (dvmd_job_get_core (object));
}

static void
act_distributed (gpointer object, const DvmdEvent *event)
{
  DvmdJob *job = object;
  DvmdCore *core = dvmd_job_get_core (job);

  if (dvmd_core_get_vm (core)->ready || dvmd_core_get_vm (core)->shutting_down
      || (dvmd_membership_count_missing (dvmd_core_get_membership (core)) > 0
          && !dvmd_core_get_settings (core)->allow_missing))
    return;
  dvmd_core_get_vm (core)->ready = dvmd_core_get_vm (core)->was_ready = TRUE;
  _dvm_job_set_started_at (dvmd_job_get_record (job), dvmd_clock_now (dvmd_core_get_clock (core)));
  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (dvmd_core_get_nodes (core), node)) != NULL;)
    if (!dvmd_node_is_down (node))
      dvmd_core_agent_step (core, node, DVMD_LIFE_WIRED, DVM_NODE_STATE_UP, NULL);
  dvmd_core_get_effects (core)->dvm_ready (dvmd_core_get_user_data (core));
  dvmd_core_changed (core);
  dvmd_core_dispatch_kept (core);
}

static void
fail_live_jobs (DvmdCore *core, DvmJobState state)
{
  for (GList *l = dvmd_core_get_live_jobs (core); l != NULL; l = l->next)
    dvmd_core_post_failure (l->data, state, dvmd_core_get_vm (core)->end_reason);
}

static void
stop_agents (DvmdCore *core)
{
  if (dvmd_membership_count_agents (dvmd_core_get_membership (core)) == 0)
    dvmd_core_post_vm (core, DVMD_VM_AGENTS_GONE, 0, NULL);
  else
    dvmd_core_get_effects (core)->see_off (dvmd_core_get_user_data (core),
                                           &(DvmdSendOff){ .force = dvmd_core_get_vm (core)->forced });
}

/* The jobs are ended first; the agents when the last of them has gone (dvmd_core_end_job). */
static void
begin_end (DvmdCore *core, DvmJobState state_of_jobs)
{
  gboolean had_begun = dvmd_core_get_vm (core)->shutting_down;

  dvmd_core_get_vm (core)->shutting_down = TRUE;
  dvmd_core_get_vm (core)->ready = FALSE;
  dvmd_core_changed (core);
  fail_live_jobs (core, state_of_jobs);
  dvmd_core_give_up_campaigns (core, dvmd_core_get_vm (core)->end_reason);
  if (dvmd_core_get_num_live (core) == 0 && !had_begun)
    stop_agents (core);
}

static void
act_shutdown (gpointer object, const DvmdEvent *event)
{
  DvmdCore *core = dvmd_job_get_core (object);

  if (dvmd_core_get_vm (core)->shutting_down)
    return;
  g_free (dvmd_core_get_vm (core)->end_reason);
  dvmd_core_get_vm (core)->end_reason = g_strdup (event->reason);
  begin_end (core, DVM_JOB_STATE_KILLED_BY_CMD);
}

static void
step_forced_exit (gpointer object, const DvmdEvent *event)
{
  DvmdCore *core = dvmd_job_get_core (object);
  gboolean had_begun = dvmd_core_get_vm (core)->shutting_down;

  dvmd_core_get_vm (core)->forced = TRUE;
  g_free (dvmd_core_get_vm (core)->end_reason);
  dvmd_core_get_vm (core)->end_reason = g_strdup (event->reason);
  begin_end (core, DVM_JOB_STATE_FORCED_EXIT);
  /* An orderly end that is under way becomes a forced one. */
  if (had_begun)
    {
      for (GList *l = dvmd_core_get_live_jobs (core); l != NULL; l = l->next)
        if (dvmd_job_is_launched (l->data))
          dvmd_core_get_effects (core)->kill (dvmd_core_get_user_data (core), l->data);
      if (dvmd_core_get_num_live (core) == 0)
        dvmd_core_get_effects (core)->see_off (dvmd_core_get_user_data (core), &(DvmdSendOff){ .force = TRUE });
    }
}

static void
act_failed (gpointer object, const DvmdEvent *event)
{
  DvmdCore *core = dvmd_job_get_core (object);

  g_free (dvmd_core_get_vm (core)->end_reason);
  dvmd_core_get_vm (core)->end_reason = g_strdup (event->reason);
  dvmd_core_get_vm (core)->forced = TRUE;
  begin_end (core, DVM_JOB_STATE_NEVER_LAUNCHED);
}

static void
step_all_jobs_complete (gpointer object, const DvmdEvent *event)
{
  DvmdCore *core = dvmd_job_get_core (object);

  dvmd_core_get_vm (core)->shutting_down = TRUE;
  dvmd_core_get_vm (core)->ready = FALSE;
  dvmd_core_give_up_campaigns (core, "All jobs of the DVM have ended");
  stop_agents (core);
}

/* The end that was handled first found the DVM ending already, and has left the agents to this event. */
static void
act_all_jobs_done (gpointer object, const DvmdEvent *event)
{
  stop_agents (dvmd_job_get_core (object));
}

static void
tell_ended (DvmdJob *job)
{
  DvmdCore *core = dvmd_job_get_core (job);

  if (dvmd_job_get_ended (job))
    return;
  _dvm_job_set_ended (dvmd_job_get_record (job), dvmd_clock_now (dvmd_core_get_clock (core)));
  dvmd_core_get_effects (core)->dvm_ended (dvmd_core_get_user_data (core), dvmd_job_get_state (job),
                                           dvmd_core_get_vm (core)->end_reason);
}

static void
step_daemons_terminated (gpointer object, const DvmdEvent *event)
{
  tell_ended (object);
}

static void
act_agents_gone (gpointer object, const DvmdEvent *event)
{
  tell_ended (object);
}

static const DvmdState vm_states[] = {
  { DVM_JOB_STATE_UNDEF, NULL },
  { DVM_JOB_STATE_INIT, step_init },
  { DVM_JOB_STATE_INIT_COMPLETE, step_init_complete },
  { DVM_JOB_STATE_ALLOCATE, step_allocate },
  { DVM_JOB_STATE_ALLOCATION_COMPLETE, step_allocation_complete },
  { DVM_JOB_STATE_LAUNCH_DAEMONS, step_launch_daemons },
  { DVM_JOB_STATE_DAEMONS_LAUNCHED, NULL },
  { DVM_JOB_STATE_DAEMONS_REPORTED, step_daemons_reported },
  { DVM_JOB_STATE_VM_READY, step_vm_ready },
  { DVM_JOB_STATE_ALL_JOBS_COMPLETE, step_all_jobs_complete },
  { DVM_JOB_STATE_DAEMONS_TERMINATED, step_daemons_terminated },
  { DVM_JOB_STATE_FORCED_EXIT, step_forced_exit },
};

static const DvmdTransition vm_transitions[] = {
  { DVM_JOB_STATE_UNDEF, DVMD_VM_CREATED, DVM_JOB_STATE_INIT, NULL },
  { DVM_JOB_STATE_INIT, DVMD_VM_SET_UP, DVM_JOB_STATE_INIT_COMPLETE, NULL },
  { DVM_JOB_STATE_INIT_COMPLETE, DVMD_VM_TO_ALLOCATE, DVM_JOB_STATE_ALLOCATE, NULL },
  { DVM_JOB_STATE_ALLOCATE, DVMD_VM_ALLOCATED, DVM_JOB_STATE_ALLOCATION_COMPLETE, NULL },
  { DVM_JOB_STATE_ALLOCATION_COMPLETE, DVMD_VM_TO_LAUNCH, DVM_JOB_STATE_LAUNCH_DAEMONS, NULL },
  { DVM_JOB_STATE_LAUNCH_DAEMONS, DVMD_VM_LAUNCHED, DVM_JOB_STATE_DAEMONS_LAUNCHED, NULL },
  { DVM_JOB_STATE_DAEMONS_LAUNCHED, DVMD_VM_REPORTED, DVM_JOB_STATE_DAEMONS_REPORTED, NULL },
  { DVM_JOB_STATE_DAEMONS_REPORTED, DVMD_VM_TO_DISTRIBUTE, DVM_JOB_STATE_VM_READY, NULL },
  { DVM_JOB_STATE_VM_READY, DVMD_VM_DISTRIBUTED, DVMD_STATE_SAME, act_distributed },
  /* A DVM for one job may end before it is ready: the job may be cancelled while it waits for that. */
  { DVMD_STATE_ANY_LIVE, DVMD_VM_ALL_JOBS_DONE, DVM_JOB_STATE_ALL_JOBS_COMPLETE, NULL },
  { DVM_JOB_STATE_ALL_JOBS_COMPLETE, DVMD_VM_AGENTS_GONE, DVMD_STATE_SAME, act_agents_gone },
  { DVM_JOB_STATE_FORCED_EXIT, DVMD_VM_AGENTS_GONE, DVMD_STATE_SAME, act_agents_gone },
  { DVM_JOB_STATE_FAILED_TO_LAUNCH, DVMD_VM_AGENTS_GONE, DVMD_STATE_SAME, act_agents_gone },
  { DVM_JOB_STATE_ALLOC_FAILED, DVMD_VM_AGENTS_GONE, DVMD_STATE_SAME, act_agents_gone },
  { DVMD_STATE_ANY_LIVE, DVMD_VM_AGENTS_GONE, DVM_JOB_STATE_DAEMONS_TERMINATED, NULL },
  { DVMD_STATE_ANY_LIVE, DVMD_VM_SHUTDOWN, DVMD_STATE_SAME, act_shutdown },
  { DVMD_STATE_ANY_LIVE, DVMD_VM_FORCE, DVM_JOB_STATE_FORCED_EXIT, NULL },
  { DVM_JOB_STATE_ALL_JOBS_COMPLETE, DVMD_VM_FORCE, DVM_JOB_STATE_FORCED_EXIT, NULL },
  { DVMD_STATE_ANY_LIVE, DVMD_VM_FAILED, DVMD_STATE_GIVEN, act_failed },
  { DVMD_STATE_ANY, DVMD_VM_NODES_CHANGED, DVMD_STATE_SAME, act_nodes_changed },
  { DVMD_STATE_ANY, DVMD_VM_FENCE_CHANGED, DVMD_STATE_SAME, act_fence_changed },
  { DVMD_STATE_ANY, DVMD_VM_RELEASED_DOWN, DVMD_STATE_SAME, act_released_down },
  { DVMD_STATE_ANY, DVMD_VM_SESSIONS_CHANGED, DVMD_STATE_SAME, act_sessions_changed },
  { DVMD_STATE_ANY, DVMD_VM_GATE_OPENED, DVMD_STATE_SAME, act_gate_opened },
  /* An agent is lost after the last one has reported: the outcomes of all are known once more. */
  { DVM_JOB_STATE_DAEMONS_REPORTED, DVMD_VM_REPORTED, DVMD_STATE_SAME, NULL },
  { DVM_JOB_STATE_VM_READY, DVMD_VM_REPORTED, DVMD_STATE_SAME, NULL },
  /* A DVM may be ended at every step of its start, and has posted the next one by then. */
  { DVMD_STATE_ANY_ENDED, DVMD_VM_SET_UP, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_VM_TO_ALLOCATE, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_VM_ALLOCATED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_VM_TO_LAUNCH, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_VM_LAUNCHED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_VM_TO_DISTRIBUTE, DVMD_STATE_SAME, NULL },
  /* Agents that are on their way report, fail, and answer, also while they are told to end. */
  { DVMD_STATE_ANY_ENDED, DVMD_VM_REPORTED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_VM_DISTRIBUTED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_VM_FAILED, DVMD_STATE_SAME, NULL },
  /* The last job of a DVM for one has ended while its failure, or the order to end at once, waited in the queue. */
  { DVM_JOB_STATE_FORCED_EXIT, DVMD_VM_ALL_JOBS_DONE, DVMD_STATE_SAME, act_all_jobs_done },
  { DVM_JOB_STATE_FAILED_TO_LAUNCH, DVMD_VM_ALL_JOBS_DONE, DVMD_STATE_SAME, act_all_jobs_done },
  { DVM_JOB_STATE_ALLOC_FAILED, DVMD_VM_ALL_JOBS_DONE, DVMD_STATE_SAME, act_all_jobs_done },
  /* The last agent, the last job and the last campaign each look whether they were the last of all. */
  { DVM_JOB_STATE_DAEMONS_TERMINATED, DVMD_VM_AGENTS_GONE, DVMD_STATE_SAME, NULL },
  /* People and signals end a DVM as often as they like. */
  { DVMD_STATE_ANY_ENDED, DVMD_VM_SHUTDOWN, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_VM_FORCE, DVMD_STATE_SAME, NULL },
};

static const char *const vm_event_names[DVMD_VM_N_EVENTS] = {
  [DVMD_VM_CREATED] = "created",
  [DVMD_VM_SET_UP] = "set-up",
  [DVMD_VM_TO_ALLOCATE] = "to-allocate",
  [DVMD_VM_ALLOCATED] = "allocated",
  [DVMD_VM_TO_LAUNCH] = "to-launch",
  [DVMD_VM_LAUNCHED] = "launched",
  [DVMD_VM_REPORTED] = "reported",
  [DVMD_VM_TO_DISTRIBUTE] = "to-distribute",
  [DVMD_VM_DISTRIBUTED] = "distributed",
  [DVMD_VM_ALL_JOBS_DONE] = "all-jobs-done",
  [DVMD_VM_SHUTDOWN] = "shutdown",
  [DVMD_VM_FORCE] = "force",
  [DVMD_VM_AGENTS_GONE] = "agents-gone",
  [DVMD_VM_FAILED] = "failed",
  [DVMD_VM_NODES_CHANGED] = "nodes-changed",
  [DVMD_VM_FENCE_CHANGED] = "fence-changed",
  [DVMD_VM_RELEASED_DOWN] = "released-down",
  [DVMD_VM_SESSIONS_CHANGED] = "sessions-changed",
  [DVMD_VM_GATE_OPENED] = "gate-opened",
};

static void
set_state (gpointer object, guint old_state, guint new_state, const DvmdEvent *event)
{
  dvmd_core_write_job_state (object, old_state, new_state, event, vm_event_names[event->event]);
  dvmd_core_changed (dvmd_job_get_core (object));
}

const DvmdStateTable dvmd_vm_table = {
  .name = "dvm",
  .states = vm_states,
  .n_states = G_N_ELEMENTS (vm_states),
  .transitions = vm_transitions,
  .n_transitions = G_N_ELEMENTS (vm_transitions),
  .event_names = vm_event_names,
  .n_events = DVMD_VM_N_EVENTS,
  .state_name = dvm_job_state_to_string,
  .is_live = dvm_job_state_is_live,
  .get_state = dvmd_core_read_job_state,
  .set_state = set_state,
  .describe = dvmd_core_describe_job,
  .traces = TRUE,
  .ref = g_object_ref,
  .unref = g_object_unref,
};

/* ---- what others ask ---- */

void
dvmd_vm_jobs_ended (DvmdCore *self)
{
  if (dvmd_core_get_vm (self)->shutting_down)
    stop_agents (self);
  else if (dvmd_core_get_settings (self)->one_shot)
    {
      /* No job may come before the event is handled: it would find its agents gone. */
      dvmd_core_get_vm (self)->shutting_down = TRUE;
      dvmd_core_post_vm (self, DVMD_VM_ALL_JOBS_DONE, 0, NULL);
    }
}
