/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How the job as a whole is called, placed and watched.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include "dvm-job-spec-fields-private.h"

/**
 * dvm_job_spec_get_name:
 * @self: a job description
 *
 * The name of the job, for people.
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_name (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->name;
}

/**
 * dvm_job_spec_set_name:
 * @self: a job description
 * @name: (nullable): the text, %NULL for the default
 *
 * Sets the name of the job, for people.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_name (DvmJobSpec *self, const char *name)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->name, name);
}

/**
 * dvm_job_spec_get_label:
 * @self: a job description
 *
 * The label of the job; many jobs may share one.
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_label (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->label;
}

/**
 * dvm_job_spec_set_label:
 * @self: a job description
 * @label: (nullable): the text, %NULL for the default
 *
 * Sets the label of the job; many jobs may share one.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_label (DvmJobSpec *self, const char *label)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->label, label);
}

/**
 * dvm_job_spec_get_personality:
 * @self: a job description
 *
 * How processes are started: "pmix" (default) or "plain", without PMIx.
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_personality (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->personality;
}

/**
 * dvm_job_spec_set_personality:
 * @self: a job description
 * @personality: (nullable): the text, %NULL for the default
 *
 * Sets how processes are started: "pmix" (default) or "plain", without PMIx.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_personality (DvmJobSpec *self, const char *personality)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->personality, personality);
}

/**
 * dvm_job_spec_get_map_by:
 * @self: a job description
 *
 * How processes are placed: "slot", "node", an object such as "core" or "numa", "ppr:2:node" (two on each node), or
 * what the mappers of the DVM know besides; with qualifiers such as ":PE=2".
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_map_by (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->map_by;
}

/**
 * dvm_job_spec_set_map_by:
 * @self: a job description
 * @map_by: (nullable): the text, %NULL for the default
 *
 * Sets how processes are placed: "slot", "node", an object such as "core" or "numa", "ppr:2:node" (two on each node),
 * or what the mappers of the DVM know besides; with qualifiers such as ":PE=2".
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_map_by (DvmJobSpec *self, const char *map_by)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->map_by, map_by);
}

/**
 * dvm_job_spec_get_rank_by:
 * @self: a job description
 *
 * How ranks are given: "slot", "node", "fill" or "span".
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_rank_by (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->rank_by;
}

/**
 * dvm_job_spec_set_rank_by:
 * @self: a job description
 * @rank_by: (nullable): the text, %NULL for the default
 *
 * Sets how ranks are given: "slot", "node", "fill" or "span".
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_rank_by (DvmJobSpec *self, const char *rank_by)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->rank_by, rank_by);
}

/**
 * dvm_job_spec_get_bind_to:
 * @self: a job description
 *
 * The object that each process is bound to: "none", "core", "numa" and so on, with qualifiers such as
 * ":overload-allowed".
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_bind_to (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->bind_to;
}

/**
 * dvm_job_spec_set_bind_to:
 * @self: a job description
 * @bind_to: (nullable): the text, %NULL for the default
 *
 * Sets the object that each process is bound to: "none", "core", "numa" and so on, with qualifiers such as
 * ":overload-allowed".
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_bind_to (DvmJobSpec *self, const char *bind_to)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->bind_to, bind_to);
}

/**
 * dvm_job_spec_get_when_full:
 * @self: a job description
 *
 * What happens when slots are missing: "wait" (default), "refuse" or "oversubscribe".
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_when_full (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->when_full;
}

/**
 * dvm_job_spec_set_when_full:
 * @self: a job description
 * @when_full: (nullable): the text, %NULL for the default
 *
 * Sets what happens when slots are missing: "wait" (default), "refuse" or "oversubscribe".
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_when_full (DvmJobSpec *self, const char *when_full)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->when_full, when_full);
}

/**
 * dvm_job_spec_get_runtime_options:
 * @self: a job description
 *
 * A list such as "error-nonzero-status=no,recoverable".
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_runtime_options (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->runtime_options;
}

/**
 * dvm_job_spec_set_runtime_options:
 * @self: a job description
 * @options: (nullable): the text, %NULL for the default
 *
 * Sets a list such as "error-nonzero-status=no,recoverable".
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_runtime_options (DvmJobSpec *self, const char *options)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->runtime_options, options);
}

/**
 * dvm_job_spec_get_timeout:
 * @self: a job description
 *
 * After how many seconds the job is ended.
 *
 * Returns: the seconds, 0 for never
 * Since: 0.1
 */
guint
dvm_job_spec_get_timeout (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), 0);

  return self->timeout;
}

/**
 * dvm_job_spec_set_timeout:
 * @self: a job description
 * @seconds: the seconds, 0 for never
 *
 * Sets after how many seconds the job is ended.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_timeout (DvmJobSpec *self, guint seconds)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_uint (self, &_dvm_job_spec_codec, &self->timeout, seconds);
}

/**
 * dvm_job_spec_get_spawn_timeout:
 * @self: a job description
 *
 * Within how many seconds all processes of the job must have been started, counted from the moment at which it has its
 * places. A job that is later is ended.
 *
 * Returns: the seconds, 0 for no limit
 * Since: 0.1
 */
guint
dvm_job_spec_get_spawn_timeout (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), 0);

  return self->spawn_timeout;
}

/**
 * dvm_job_spec_set_spawn_timeout:
 * @self: a job description
 * @seconds: the seconds, 0 for no limit
 *
 * Sets within how many seconds all processes must have been started; see dvm_job_spec_get_spawn_timeout().
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_spawn_timeout (DvmJobSpec *self, guint seconds)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_uint (self, &_dvm_job_spec_codec, &self->spawn_timeout, seconds);
}

/**
 * dvm_job_spec_get_exec_agent:
 * @self: a job description
 *
 * The words of a command that starts each process, such as "strace" and "-f": the program and its arguments stand
 * behind them. The command is looked for in the PATH of the process.
 *
 * Returns: (transfer none) (array zero-terminated=1): the words; none if the programs are started directly
 * Since: 0.1
 */
const char *const *
dvm_job_spec_get_exec_agent (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return _dvm_record_get_strv (self->exec_agent);
}

/**
 * dvm_job_spec_set_exec_agent:
 * @self: a job description
 * @words: (nullable) (array zero-terminated=1): the words, %NULL for none
 *
 * Sets the command that starts each process; see dvm_job_spec_get_exec_agent().
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_exec_agent (DvmJobSpec *self, const char *const *words)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_strv (self, &_dvm_job_spec_codec, &self->exec_agent, words);
}

/**
 * dvm_job_spec_get_recoverable:
 * @self: a job description
 *
 * Whether the job goes on when one of its processes fails.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_job_spec_get_recoverable (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), FALSE);

  return self->recoverable;
}

/**
 * dvm_job_spec_set_recoverable:
 * @self: a job description
 * @recoverable: %TRUE or %FALSE
 *
 * Sets whether the job goes on when one of its processes fails.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_recoverable (DvmJobSpec *self, gboolean recoverable)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_boolean (self, &_dvm_job_spec_codec, &self->recoverable, !!recoverable);
}

/**
 * dvm_job_spec_get_max_restarts:
 * @self: a job description
 *
 * How often each process is started again that has ended by a signal or with a status other than zero. One that has
 * called PMIx_Abort is not, nor one that could not be started at all, nor one that has called PMIx_Init, unless its job
 * has no other one or is #DvmJobSpec:recoverable.
 *
 * Returns: the number, 0 for never
 * Since: 0.1
 */
guint
dvm_job_spec_get_max_restarts (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), 0);

  return self->max_restarts;
}

/**
 * dvm_job_spec_set_max_restarts:
 * @self: a job description
 * @max_restarts: the number, 0 for never
 *
 * Sets how often each process that fails is started again; see dvm_job_spec_get_max_restarts().
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_max_restarts (DvmJobSpec *self, guint max_restarts)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_uint (self, &_dvm_job_spec_codec, &self->max_restarts, max_restarts);
}
