/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the input of a job comes from and its output goes.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include "dvm-job-spec-fields-private.h"

/**
 * dvm_job_spec_get_output:
 * @self: a job description
 *
 * How output is marked and where it goes, such as "tag,timestamp" or "dir=/tmp/out".
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_output (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->output;
}

/**
 * dvm_job_spec_set_output:
 * @self: a job description
 * @output: (nullable): the text, %NULL for the default
 *
 * Sets how output is marked and where it goes, such as "tag,timestamp" or "dir=/tmp/out".
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_output (DvmJobSpec *self, const char *output)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->output, output);
}

/**
 * dvm_job_spec_get_stdin_target:
 * @self: a job description
 *
 * Which process gets the standard input: a rank (default "0"), "all" or "none".
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_stdin_target (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->stdin_target;
}

/**
 * dvm_job_spec_set_stdin_target:
 * @self: a job description
 * @target: (nullable): the text, %NULL for the default
 *
 * Sets which process gets the standard input: a rank (default "0"), "all" or "none".
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_stdin_target (DvmJobSpec *self, const char *target)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->stdin_target, target);
}

/**
 * dvm_job_spec_get_stdout_path:
 * @self: a job description
 *
 * A file that gets the standard output.
 *
 * Returns: (transfer none) (nullable) (type filename): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_stdout_path (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->stdout_path;
}

/**
 * dvm_job_spec_set_stdout_path:
 * @self: a job description
 * @path: (nullable) (type filename): the text, %NULL for the default
 *
 * Sets a file that gets the standard output.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_stdout_path (DvmJobSpec *self, const char *path)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->stdout_path, path);
}

/**
 * dvm_job_spec_get_stderr_path:
 * @self: a job description
 *
 * A file that gets the standard error.
 *
 * Returns: (transfer none) (nullable) (type filename): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_stderr_path (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->stderr_path;
}

/**
 * dvm_job_spec_set_stderr_path:
 * @self: a job description
 * @path: (nullable) (type filename): the text, %NULL for the default
 *
 * Sets a file that gets the standard error.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_stderr_path (DvmJobSpec *self, const char *path)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->stderr_path, path);
}

/**
 * dvm_job_spec_get_pty:
 * @self: a job description
 *
 * Whether the processes get a pseudo terminal.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_job_spec_get_pty (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), FALSE);

  return self->pty;
}

/**
 * dvm_job_spec_set_pty:
 * @self: a job description
 * @pty: %TRUE or %FALSE
 *
 * Sets whether the processes get a pseudo terminal.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_pty (DvmJobSpec *self, gboolean pty)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_boolean (self, &_dvm_job_spec_codec, &self->pty, !!pty);
}

/**
 * dvm_job_spec_get_pty_rows:
 * @self: a job description
 *
 * The lines of the pseudo terminal.
 *
 * Returns: their number, 0 for what the system gives
 * Since: 0.1
 */
guint
dvm_job_spec_get_pty_rows (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), 0);

  return self->pty_rows;
}

/**
 * dvm_job_spec_set_pty_rows:
 * @self: a job description
 * @rows: their number, 65535 at most, 0 for what the system gives
 *
 * Sets the lines of the pseudo terminal.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_pty_rows (DvmJobSpec *self, guint rows)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_uint (self, &_dvm_job_spec_codec, &self->pty_rows, rows);
}

/**
 * dvm_job_spec_get_pty_columns:
 * @self: a job description
 *
 * The columns of the pseudo terminal.
 *
 * Returns: their number, 0 for what the system gives
 * Since: 0.1
 */
guint
dvm_job_spec_get_pty_columns (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), 0);

  return self->pty_columns;
}

/**
 * dvm_job_spec_set_pty_columns:
 * @self: a job description
 * @columns: their number, 65535 at most, 0 for what the system gives
 *
 * Sets the columns of the pseudo terminal.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_pty_columns (DvmJobSpec *self, guint columns)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_uint (self, &_dvm_job_spec_codec, &self->pty_columns, columns);
}
