/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs are held while there is a reason to, and continued when the last reason has gone.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-job"

#include "dvmd-job-hold.h"

#include "dvm-records-private.h"
#include "dvmd-job-machine.h"
#include "dvmd-log.h"

static void
send_signal (DvmdJob *self, int signal)
{
  const DvmdEffects *effects = self->core->effects;

  dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_INFO, dvm_job_get_nspace (self->record), "%s",
                signal == DVMD_SIGNAL_STOP ? "it is stopped" : "it goes on");
  if (effects->signal_job != NULL)
    effects->signal_job (self->core->user_data, self, signal);
}

static void
set_holds (DvmdJob *self, guint holds)
{
  self->holds = holds;
  _dvm_job_set_paused (self->record, holds != 0);
}

/* All of its ranks have been tried, and none waits for a debugger: that one would be let go by going on. */
static gboolean
can_be_stopped (DvmdJob *self)
{
  return self->launch_left != NULL && g_hash_table_size (self->launch_left) == 0 && (!self->stops || self->went_on)
         && dvmd_job_get_state (self) < DVM_JOB_STATE_UNTERMINATED;
}

void
dvmd_job_hold_ranks (DvmdJob *self)
{
  if (self->holds == 0 || self->stopped || !can_be_stopped (self))
    return;
  self->stopped = TRUE;
  send_signal (self, DVMD_SIGNAL_STOP);
}

static void
wait (DvmdJob *self)
{
  self->held = TRUE;
  self->core->n_held++;
  _dvm_job_set_held_at (self->record, "session");
  dvmd_core_changed (self->core);
}

static void
stop_waiting (DvmdJob *self)
{
  self->held = FALSE;
  self->core->n_held--;
  _dvm_job_set_held_at (self->record, "");
  dvmd_core_changed (self->core);
}

gboolean
dvmd_job_hold_map (DvmdJob *self)
{
  if (self->holds == 0)
    return FALSE;
  dvmd_admission_give_back (self->core->admission, self);
  /* It keeps its place before those that come after it, as those that the launch fence has parked. */
  self->was_parked = TRUE;
  wait (self);
  dvmd_core_post (self, DVMD_JOB_HELD);
  return TRUE;
}

gboolean
dvmd_job_hold_launch (DvmdJob *self)
{
  if (self->holds == 0)
    return FALSE;
  wait (self);
  return TRUE;
}

void
dvmd_job_hold (DvmdJob *self, DvmdHold why)
{
  if (dvmd_job_get_state (self) >= DVM_JOB_STATE_UNTERMINATED)
    return;
  set_holds (self, self->holds | why);
  dvmd_job_hold_ranks (self);
  /* Nobody behind it waits for slots that it would not take. */
  if (self->waiting)
    {
      dvmd_admission_remove (self->core->admission, self);
      self->was_parked = TRUE;
      wait (self);
      dvmd_admission_release (self->core->admission);
    }
}

void
dvmd_job_unhold (DvmdJob *self, DvmdHold why)
{
  set_holds (self, self->holds & ~(guint)why);
  if (self->holds != 0)
    return;
  if (self->stopped)
    {
      self->stopped = FALSE;
      if (dvmd_job_get_state (self) < DVM_JOB_STATE_UNTERMINATED)
        send_signal (self, DVMD_SIGNAL_CONTINUE);
    }
  if (!self->held)
    return;
  stop_waiting (self);
  dvmd_core_post (self, DVMD_JOB_UNHELD);
}

void
dvmd_job_hold_end (DvmdJob *self)
{
  set_holds (self, 0);
  if (self->held)
    stop_waiting (self);
  if (!self->stopped)
    return;
  self->stopped = FALSE;
  send_signal (self, DVMD_SIGNAL_CONTINUE);
}
