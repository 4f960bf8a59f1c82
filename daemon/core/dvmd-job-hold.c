/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs are held while there is a reason to, and continued when the last reason has gone.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-job"

#include "dvmd-job-hold.h"

#include "dvm-records-private.h"
#include "dvmd-core-news.h"
#include "dvmd-core-parts.h"
#include "dvmd-job-answers.h"
#include "dvmd-job-debug.h"
#include "dvmd-job-machine.h"
#include "dvmd-job-parts.h"
#include "dvmd-job-registry.h"
#include "dvmd-log.h"

typedef struct
{
  guint holds;      /* DvmdHold */
  gboolean stopped; /* its ranks have been told to stop */
  gboolean waits;   /* before its map or before its launch, until nothing holds it any more */
} Holding;

/* Ranks that run are stopped for these alone. */
#define PAUSES ((guint)(DVMD_HOLD_PAUSE | DVMD_HOLD_PREEMPT | DVMD_HOLD_ITSELF))

static Holding *
holding_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_HOLD, sizeof (Holding), NULL);
}

static void
send_signal (DvmdJob *job, int signal)
{
  DvmdCore *core = dvmd_job_get_core (job);

  dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_INFO, dvm_job_get_nspace (dvmd_job_get_record (job)), "%s",
                signal == DVMD_SIGNAL_STOP ? "it is stopped" : "it goes on");
  if (dvmd_core_get_effects (core)->signal_job != NULL)
    dvmd_core_get_effects (core)->signal_job (dvmd_core_get_user_data (core), job, signal);
}

static void
set_holds (DvmdJob *job, guint holds)
{
  holding_of (job)->holds = holds;
  _dvm_job_set_paused (dvmd_job_get_record (job), (holds & PAUSES) != 0);
}

/* All ranks have been tried, and none waits for a debugger: the signal to continue would let such a rank go. */
static gboolean
can_be_stopped (DvmdJob *job)
{
  return dvmd_job_is_launched (job) && dvmd_job_answers_count (job, DVMD_ANSWER_LAUNCHED) == 0
         && !dvmd_job_debug_holds (job) && dvmd_job_get_state (job) < DVM_JOB_STATE_UNTERMINATED;
}

void
dvmd_job_hold_ranks (DvmdJob *job)
{
  Holding *self = holding_of (job);

  if (self->holds == 0 || self->stopped || !can_be_stopped (job))
    return;
  self->stopped = TRUE;
  send_signal (job, DVMD_SIGNAL_STOP);
}

void
dvmd_job_hold_moved (DvmdJob *job)
{
  if (holding_of (job)->stopped)
    send_signal (job, DVMD_SIGNAL_STOP);
}

/* The reason that lasts longest is shown. */
static void
show_reason (DvmdJob *job)
{
  guint holds = holding_of (job)->holds;
  const char *reason = "limit";

  if ((holds & PAUSES) != 0)
    reason = "session";
  else if ((holds & DVMD_HOLD_USER) != 0)
    reason = "hold";
  else if ((holds & (guint)~DVMD_HOLD_ARRAY) != 0)
    reason = "jobs";
  _dvm_job_set_held_at (dvmd_job_get_record (job), reason);
}

static void
wait (DvmdJob *job)
{
  DvmdCore *core = dvmd_job_get_core (job);

  holding_of (job)->waits = TRUE;
  dvmd_job_registry_count (dvmd_core_get_job_registry (core), DVMD_JOBS_PAUSED, 1);
  show_reason (job);
  dvmd_core_changed (core);
}

static void
stop_waiting (DvmdJob *job)
{
  DvmdCore *core = dvmd_job_get_core (job);

  holding_of (job)->waits = FALSE;
  dvmd_job_registry_count (dvmd_core_get_job_registry (core), DVMD_JOBS_PAUSED, -1);
  _dvm_job_set_held_at (dvmd_job_get_record (job), "");
  dvmd_core_changed (core);
}

gboolean
dvmd_job_hold_early (DvmdJob *job)
{
  if ((holding_of (job)->holds & ~PAUSES) == 0)
    return FALSE;
  wait (job);
  return TRUE;
}

gboolean
dvmd_job_hold_map (DvmdJob *job)
{
  if (holding_of (job)->holds == 0)
    return FALSE;
  dvmd_admission_give_back (dvmd_core_get_admission (dvmd_job_get_core (job)), job);
  dvmd_admission_raise_turn (job, DVMD_TURN_KEPT);
  wait (job);
  dvmd_core_post (job, DVMD_JOB_HELD);
  return TRUE;
}

gboolean
dvmd_job_hold_launch (DvmdJob *job)
{
  if (holding_of (job)->holds == 0)
    return FALSE;
  wait (job);
  return TRUE;
}

void
dvmd_job_hold (DvmdJob *job, DvmdHold why)
{
  DvmdAdmission *admission = dvmd_core_get_admission (dvmd_job_get_core (job));

  if (dvmd_job_get_state (job) >= DVM_JOB_STATE_UNTERMINATED)
    return;
  set_holds (job, holding_of (job)->holds | why);
  dvmd_job_hold_ranks (job);
  if (holding_of (job)->waits)
    show_reason (job);
  /* The held job would not take slots: no job behind it may have to wait for them. */
  if (dvmd_admission_is_waiting (job))
    {
      dvmd_admission_remove (admission, job);
      dvmd_admission_raise_turn (job, DVMD_TURN_KEPT);
      wait (job);
      dvmd_admission_release (admission);
    }
}

void
dvmd_job_unhold (DvmdJob *job, DvmdHold why)
{
  Holding *self = holding_of (job);

  set_holds (job, self->holds & ~(guint)why);
  if (self->holds != 0 && self->waits)
    show_reason (job);
  if (self->holds != 0)
    return;
  if (self->stopped)
    {
      self->stopped = FALSE;
      if (dvmd_job_get_state (job) < DVM_JOB_STATE_UNTERMINATED)
        send_signal (job, DVMD_SIGNAL_CONTINUE);
    }
  if (!self->waits)
    return;
  stop_waiting (job);
  dvmd_core_post (job, DVMD_JOB_UNHELD);
}

void
dvmd_job_hold_end (DvmdJob *job)
{
  Holding *self = holding_of (job);

  set_holds (job, 0);
  if (self->waits)
    stop_waiting (job);
  if (!self->stopped)
    return;
  self->stopped = FALSE;
  send_signal (job, DVMD_SIGNAL_CONTINUE);
}
