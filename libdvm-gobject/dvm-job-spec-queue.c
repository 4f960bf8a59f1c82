/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The reasons for which a job waits before it runs: its turn, other jobs, and to be released.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include "dvm-job-spec-fields-private.h"

/**
 * dvm_job_spec_get_priority:
 * @self: a job description
 *
 * How urgent the job is among those that wait, from -1000 to 1000; 0 is usual. Of equal ones the first that came
 * goes first.
 *
 * Returns: the number
 * Since: 0.1
 */
int
dvm_job_spec_get_priority (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), 0);

  return self->priority;
}

/**
 * dvm_job_spec_set_priority:
 * @self: a job description
 * @priority: from -1000 to 1000, 0 is usual
 *
 * See dvm_job_spec_get_priority().
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_priority (DvmJobSpec *self, int priority)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_int (self, &_dvm_job_spec_codec, &self->priority, priority);
}

/**
 * dvm_job_spec_get_hold:
 * @self: a job description
 *
 * Whether the job waits until it is released.
 *
 * Returns: %TRUE if it waits
 * Since: 0.1
 */
gboolean
dvm_job_spec_get_hold (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), FALSE);

  return self->hold;
}

/**
 * dvm_job_spec_set_hold:
 * @self: a job description
 * @hold: whether it waits
 *
 * See dvm_job_spec_get_hold().
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_hold (DvmJobSpec *self, gboolean hold)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_boolean (self, &_dvm_job_spec_codec, &self->hold, !!hold);
}

/**
 * dvm_job_spec_get_after:
 * @self: a job description
 *
 * Jobs, by number or namespace, that must have started, or ended, before this one goes on.
 *
 * Returns: (transfer none) (array zero-terminated=1): numbers or namespaces of jobs, empty if there are none
 * Since: 0.1
 */
const char *const *
dvm_job_spec_get_after (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return _dvm_record_get_strv (self->after);
}

/**
 * dvm_job_spec_set_after:
 * @self: a job description
 * @jobs: (nullable) (array zero-terminated=1): numbers or namespaces of jobs
 *
 * See dvm_job_spec_get_after().
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_after (DvmJobSpec *self, const char *const *jobs)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_strv (self, &_dvm_job_spec_codec, &self->after, jobs);
}

/**
 * dvm_job_spec_get_after_ok:
 * @self: a job description
 *
 * Jobs that must have ended well. When one of them has failed, this one never runs.
 *
 * Returns: (transfer none) (array zero-terminated=1): numbers or namespaces of jobs, empty if there are none
 * Since: 0.1
 */
const char *const *
dvm_job_spec_get_after_ok (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return _dvm_record_get_strv (self->after_ok);
}

/**
 * dvm_job_spec_set_after_ok:
 * @self: a job description
 * @jobs: (nullable) (array zero-terminated=1): numbers or namespaces of jobs
 *
 * See dvm_job_spec_get_after_ok().
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_after_ok (DvmJobSpec *self, const char *const *jobs)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_strv (self, &_dvm_job_spec_codec, &self->after_ok, jobs);
}

/**
 * dvm_job_spec_get_after_any:
 * @self: a job description
 *
 * Jobs that must have ended, in whatever way.
 *
 * Returns: (transfer none) (array zero-terminated=1): numbers or namespaces of jobs, empty if there are none
 * Since: 0.1
 */
const char *const *
dvm_job_spec_get_after_any (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return _dvm_record_get_strv (self->after_any);
}

/**
 * dvm_job_spec_set_after_any:
 * @self: a job description
 * @jobs: (nullable) (array zero-terminated=1): numbers or namespaces of jobs
 *
 * See dvm_job_spec_get_after_any().
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_after_any (DvmJobSpec *self, const char *const *jobs)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_strv (self, &_dvm_job_spec_codec, &self->after_any, jobs);
}

/**
 * dvm_job_spec_get_singleton:
 * @self: a job description
 *
 * Whether the job waits until the jobs of its name that came before it have ended.
 *
 * Returns: %TRUE if it waits
 * Since: 0.1
 */
gboolean
dvm_job_spec_get_singleton (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), FALSE);

  return self->singleton;
}

/**
 * dvm_job_spec_set_singleton:
 * @self: a job description
 * @singleton: whether it waits
 *
 * See dvm_job_spec_get_singleton().
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_singleton (DvmJobSpec *self, gboolean singleton)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_boolean (self, &_dvm_job_spec_codec, &self->singleton, !!singleton);
}

/**
 * dvm_job_spec_get_wait_for_slots:
 * @self: a job description
 *
 * Whether the job waits, in a DVM that can grow, also for slots that the DVM does not have yet.
 *
 * Returns: %TRUE if it waits
 * Since: 0.1
 */
gboolean
dvm_job_spec_get_wait_for_slots (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), FALSE);

  return self->wait_for_slots;
}

/**
 * dvm_job_spec_set_wait_for_slots:
 * @self: a job description
 * @wait: whether it waits
 *
 * See dvm_job_spec_get_wait_for_slots().
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_wait_for_slots (DvmJobSpec *self, gboolean wait)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_boolean (self, &_dvm_job_spec_codec, &self->wait_for_slots, !!wait);
}
