/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One function per state of a job, in the order of the states.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-job"

#include "dvmd-job-steps.h"

#include "dvm-job-spec-private.h"
#include "dvm-records-private.h"
#include "dvmd-core-jobs.h"
#include "dvmd-core-news.h"
#include "dvmd-core-nodes.h"
#include "dvmd-core-parts.h"
#include "dvmd-arrays.h"
#include "dvmd-dependencies.h"
#include "dvmd-gates.h"
#include "dvmd-grow-job.h"
#include "dvmd-grow.h"
#include "dvmd-job-answers.h"
#include "dvmd-job-family.h"
#include "dvmd-job-hold.h"
#include "dvmd-job-machine.h"
#include "dvmd-job-moves.h"
#include "dvmd-job-private.h"
#include "dvmd-job-reason.h"
#include "dvmd-job-registry.h"
#include "dvmd-shrink.h"
#include "dvmd-staging.h"

void
dvmd_job_step_init (gpointer object, const DvmdEvent *event)
{
  DvmdJob *job = object;

  _dvm_job_set_created_at (job->record, dvmd_clock_now (dvmd_core_get_clock (job->core)));
  dvmd_core_post (job, DVMD_JOB_SET_UP);
}

void
dvmd_job_step_init_complete (gpointer object, const DvmdEvent *event)
{
  DvmdJob *job = object;

  if (dvmd_core_get_ready (job->core))
    dvmd_core_post (job, DVMD_JOB_DISPATCHED);
  else
    dvmd_job_registry_keep (dvmd_core_get_job_registry (job->core), job);
}

void
dvmd_job_step_allocate (gpointer object, const DvmdEvent *event)
{
  DvmdJob *job = object;

  /* Back from the gate: the job stands in the queue for slots and is called from there. */
  if (event->event == DVMD_JOB_NO_ROOM)
    {
      dvmd_gate_queue (job);
      _dvm_job_set_held_at (job->record, dvmd_admission_get_awaited (job));
    }
  else if (event->event != DVMD_JOB_HELD && !dvmd_job_hold_early (job))
    dvmd_core_post (job, DVMD_JOB_ALLOCATED);
}

void
dvmd_job_step_allocation_complete (gpointer object, const DvmdEvent *event)
{
  DvmdJob *job = object;

  dvmd_core_post (job, job->do_not_launch ? DVMD_JOB_NEEDS_NO_LAUNCH : DVMD_JOB_NEEDS_AGENTS);
}

/* Agents that the job can use have reported, unless it brings nodes of its own. */
void
dvmd_job_step_launch_daemons (gpointer object, const DvmdEvent *event)
{
  if (!dvmd_grow_for_job (object))
    dvmd_core_post (object, DVMD_JOB_AGENTS_REPORTED);
}

void
dvmd_job_step_daemons_reported (gpointer object, const DvmdEvent *event)
{
  dvmd_core_post (object, DVMD_JOB_VM_USABLE);
}

/* A job that fits no more since the DVM has changed its size names the campaign that changed it (D4). */
static void
refuse (DvmdJob *job, const char *reason)
{
  DvmdCampaign *campaign = dvmd_gate_find_change (job);
  g_autofree char *what = NULL;
  g_autoptr (DvmReason) named = NULL;

  if (campaign != NULL)
    {
      what = dvmd_campaign_describe (campaign);
      named = _dvm_reason_new (DVM_REASON_CHANGED_WHILE_IT_WAITED, reason, what);
      dvmd_job_add_reason (job, named);
    }
  dvmd_core_post_failure (job, DVM_JOB_STATE_MAP_FAILED, named != NULL ? named->text : reason);
}

/* From now on the job is at the gate, and let go with the others; the state that shows that is a marker alone (E60). */
static void
park (DvmdJob *job, DvmdGate gate)
{
  /* A parked job holds no slots (E58): it is judged again. */
  if (gate == DVMD_GATE_MAP)
    dvmd_admission_give_back (dvmd_core_get_admission (job->core), job);
  dvmd_gate_park (job, gate);
  dvmd_core_post (job, DVMD_JOB_PARKED);
}

/* The map gate. Whether a job fits is judged behind it, on the nodes that there are now. */
static gboolean
pass_gate (DvmdJob *job)
{
  g_autoptr (GError) error = NULL;

  if (dvmd_gate_is_closed (job, DVMD_GATE_MAP))
    {
      park (job, DVMD_GATE_MAP);
      return FALSE;
    }
  dvmd_gate_pass (job);
  if (dvmd_job_hold_map (job))
    return FALSE;
  switch (dvmd_admission_judge (dvmd_core_get_admission (job->core), job, &error))
    {
    case DVMD_ADMIT:
      _dvm_job_set_held_at (job->record, "");
      return TRUE;
    case DVMD_ADMIT_WAIT:
      dvmd_core_post (job, DVMD_JOB_NO_ROOM);
      return FALSE;
    case DVMD_ADMIT_NEVER:
    default:
      if (dvmd_grow_is_awaited (job))
        {
          dvmd_admission_wait (dvmd_core_get_admission (job->core), job);
          dvmd_core_post (job, DVMD_JOB_NO_ROOM);
          return FALSE;
        }
      _dvm_job_set_held_at (job->record, "");
      refuse (job, error->message);
      return FALSE;
    }
}

void
dvmd_job_step_vm_ready (gpointer object, const DvmdEvent *event)
{
  if (pass_gate (object))
    dvmd_core_post (object, DVMD_JOB_ADMITTED);
}

void
dvmd_job_act_placed_anew (gpointer object, const DvmdEvent *event)
{
  dvmd_gate_unmap (object);
}

void
dvmd_job_step_map (gpointer object, const DvmdEvent *event)
{
  DvmdJob *job = object;

  /* A node that the job was to have was lost since it was let through. */
  if (dvmd_admission_is_broken (job) && !pass_gate (job))
    return;
  dvmd_gate_forget (job);
  dvmd_grow_forget_job (job);
  dvmd_job_place (job, dvmd_admission_take_plan (job));
  dvmd_job_publish_nodes (job);
  _dvm_job_set_num_procs (job->record, job->procs->n_rows);
  dvmd_core_post (job, DVMD_JOB_MAPPED);
}

static void
on_spawn_time_over (gpointer user_data)
{
  DvmdJob *job = user_data;
  g_autoptr (DvmReason) reason = _dvm_reason_new (DVM_REASON_START_TIME_LIMIT, job->spawn_timeout);

  job->spawn_timer = 0;
  dvmd_core_post_reason (job, DVM_JOB_STATE_KILLED_BY_CMD, reason);
}

/* One that is placed anew has no more time than before. */
static void
begin_spawn_time (DvmdJob *job)
{
  if (job->spawn_timeout > 0 && job->spawn_timer == 0 && !job->do_not_launch)
    job->spawn_timer = dvmd_clock_add_timer (dvmd_core_get_clock (job->core),
                                             (gint64)job->spawn_timeout * G_USEC_PER_SEC, on_spawn_time_over, job);
}

void
dvmd_job_step_map_complete (gpointer object, const DvmdEvent *event)
{
  DvmdJob *job = object;

  begin_spawn_time (job);
  dvmd_core_post (job, job->do_not_launch ? DVMD_JOB_MAP_ONLY : DVMD_JOB_TO_PREPARE);
}

/*
 * A message to an agent that has gone would never be answered. With elastic mode off a job that was placed on its node
 * fails; else it is placed again, whatever took the node (D2).
 */
static gboolean
check_agents (DvmdJob *job)
{
  guint rank = dvmd_core_find_missing (job);
  DvmdNode *node;
  g_autoptr (DvmReason) reason = NULL;

  /* Files that did not come, for a node that stays after all, are staged once more. */
  if (rank == G_MAXUINT && !(dvmd_staging_is_half (job) && dvmd_core_get_settings (job->core)->elastic))
    return TRUE;
  if (dvmd_core_get_settings (job->core)->elastic)
    {
      dvmd_core_post (job, DVMD_JOB_PLACED_ANEW);
      return FALSE;
    }
  /* The node may have come back meanwhile, under another rank. */
  node = dvmd_node_pool_get (dvmd_core_get_nodes (job->core), rank);
  reason = _dvm_reason_new (DVM_REASON_NODE_LOST_BEFORE_LAUNCH,
                            dvmd_node_pool_get_name (dvmd_core_get_nodes (job->core), rank),
                            node != NULL ? dvm_node_get_reason (node->record) : "its agent has ended");
  dvmd_core_post_reason (job, DVM_JOB_STATE_FAILED_TO_LAUNCH, reason);
  return FALSE;
}

/* The launch gate. */
static gboolean
pass_launch_gate (DvmdJob *job)
{
  if (dvmd_job_hold_launch (job))
    return FALSE;
  if (!dvmd_gate_is_closed (job, DVMD_GATE_LAUNCH))
    return check_agents (job);
  park (job, DVMD_GATE_LAUNCH);
  return FALSE;
}

void
dvmd_job_step_system_prep (gpointer object, const DvmdEvent *event)
{
  dvmd_staging_begin (object);
}

void
dvmd_job_step_launch_apps (gpointer object, const DvmdEvent *event)
{
  if (pass_launch_gate (object))
    dvmd_core_post (object, DVMD_JOB_TO_SEND);
}

void
dvmd_job_step_send_launch_msg (gpointer object, const DvmdEvent *event)
{
  DvmdJob *job = object;

  /* Asked in the turn in which it is sent (D15): a shrink may have begun, or an agent been lost, since the last one. */
  if (!pass_launch_gate (job))
    return;
  dvmd_gate_pass (job);
  dvmd_job_answers_ask (job, DVMD_ANSWER_LAUNCHED);
  dvmd_job_answers_ask (job, DVMD_ANSWER_GONE);
  job->launch = DVMD_LAUNCH_SENT;
  dvmd_core_get_effects (job->core)->send_launch (dvmd_core_get_user_data (job->core), job);
  dvmd_shrink_warn (job);
}

void
dvmd_core_end_late_job (DvmdCore *self, DvmdJob *job)
{
  g_autoptr (DvmReason) reason = NULL;

  if (job->launch != DVMD_LAUNCH_RUNNING)
    return;
  reason = _dvm_reason_new (DVM_REASON_TIME_LIMIT, _dvm_job_spec_get_time_limit (job->spec));
  dvmd_core_post_reason (job, DVM_JOB_STATE_KILLED_BY_CMD, reason);
}

static void
on_time_limit (gpointer user_data)
{
  DvmdJob *job = user_data;
  const DvmdEffects *effects = dvmd_core_get_effects (job->core);

  job->timer = 0;
  if (effects->time_over != NULL && (job->stack_traces || job->report_state))
    effects->time_over (dvmd_core_get_user_data (job->core), job);
  else
    dvmd_core_end_late_job (job->core, job);
}

void
dvmd_job_step_started (gpointer object, const DvmdEvent *event)
{
  DvmdJob *job = object;
  DvmdCore *core = job->core;
  guint timeout = _dvm_job_spec_get_time_limit (job->spec);

  _dvm_job_set_started_at (job->record, dvmd_clock_now (dvmd_core_get_clock (core)));
  job->launch = DVMD_LAUNCH_RUNNING;
  dvmd_job_registry_count (dvmd_core_get_job_registry (core), DVMD_JOBS_RUNNING, 1);
  if (timeout > 0)
    job->timer = dvmd_clock_add_timer (dvmd_core_get_clock (core), (gint64)timeout * G_USEC_PER_SEC, on_time_limit,
                                       job);
  dvmd_core_get_effects (core)->tell_started (dvmd_core_get_user_data (core), job);
  dvmd_arrays_started (job);
  dvmd_dependencies_started (job);
  dvmd_core_changed (core);
}

static void
stop_spawn_timer (DvmdJob *job)
{
  dvmd_clock_remove_timer (dvmd_core_get_clock (job->core), job->spawn_timer);
  job->spawn_timer = 0;
}

/* All of its processes have been started, whether they wait for a debugger or not. */
void
dvmd_job_step_all_started (gpointer object, const DvmdEvent *event)
{
  stop_spawn_timer (object);
}

static void
stop_timers (DvmdJob *job)
{
  stop_spawn_timer (job);
  dvmd_clock_remove_timer (dvmd_core_get_clock (job->core), job->timer);
  job->timer = 0;
}

static void
give_back (DvmdJob *job)
{
  if (job->launch == DVMD_LAUNCH_RUNNING)
    {
      dvmd_job_registry_count (dvmd_core_get_job_registry (job->core), DVMD_JOBS_RUNNING, -1);
      job->launch = DVMD_LAUNCH_OVER;
    }
  dvmd_admission_give_back (dvmd_core_get_admission (job->core), job);
  dvmd_admission_release (dvmd_core_get_admission (job->core));
  dvmd_shrink_check_drains (job->core);
  dvmd_core_changed (job->core);
}

void
dvmd_job_step_terminated (gpointer object, const DvmdEvent *event)
{
  stop_timers (object);
  give_back (object);
  dvmd_core_post (object, DVMD_JOB_TO_TELL);
}

void
dvmd_job_step_notify_completed (gpointer object, const DvmdEvent *event)
{
  DvmdJob *job = object;

  dvmd_core_get_effects (job->core)->tell_ended (dvmd_core_get_user_data (job->core), job);
  if (dvmd_job_answers_count (job, DVMD_ANSWER_GONE) == 0)
    dvmd_core_post (job, DVMD_JOB_CLEANED);
}

void
dvmd_job_step_notified (gpointer object, const DvmdEvent *event)
{
  dvmd_core_end_job (object);
}

void
dvmd_job_step_failed (gpointer object, const DvmdEvent *event)
{
  DvmdJob *job = object;

  stop_timers (job);
  dvmd_job_family_failed (job);
  dvmd_job_moves_end (job);
  dvmd_job_answers_forget (job, DVMD_ANSWER_STAGED);
  dvmd_admission_remove (dvmd_core_get_admission (job->core), job);
  dvmd_gate_pass (job);
  dvmd_grow_forget_job (job);
  dvmd_job_hold_end (job);
  _dvm_job_set_held_at (job->record, "");
  /* A job that lost its map may have files on the nodes of the old one. */
  if (job->map == NULL)
    job->map = g_steal_pointer (&job->old_map);
  dvmd_job_registry_drop (dvmd_core_get_job_registry (job->core), job);
  if (dvmd_job_answers_count (job, DVMD_ANSWER_GONE) > 0)
    dvmd_core_get_effects (job->core)->kill (dvmd_core_get_user_data (job->core), job);
  else
    dvmd_core_post (job, DVMD_JOB_GONE);
}

void
dvmd_job_step_gone (gpointer object, const DvmdEvent *event)
{
  DvmdJob *job = object;

  if (dvmd_job_get_ended (job))
    return;
  give_back (job);
  dvmd_core_get_effects (job->core)->tell_ended (dvmd_core_get_user_data (job->core), job);
  dvmd_core_end_job (job);
}
