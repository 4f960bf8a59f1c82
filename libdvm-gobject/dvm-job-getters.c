/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The getters of a job's properties.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-job"

#include "dvm-job-private.h"
#include "dvm-reason-private.h"

/**
 * dvm_job_get_id:
 * @self: a DvmJob
 *
 * The number of the job, never used again within one instance of the DVM.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_job_get_id (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->id;
}

/**
 * dvm_job_get_nspace:
 * @self: a DvmJob
 *
 * The namespace of the job, by which PMIx knows it.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_job_get_nspace (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return self->nspace != NULL ? self->nspace : "";
}

/**
 * dvm_job_get_name:
 * @self: a DvmJob
 *
 * The name that the job was given.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_job_get_name (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return self->name != NULL ? self->name : "";
}

/**
 * dvm_job_get_label:
 * @self: a DvmJob
 *
 * The label of the job; many jobs may share one.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_job_get_label (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return self->label != NULL ? self->label : "";
}

/**
 * dvm_job_get_state:
 * @self: a DvmJob
 *
 * The state.
 *
 * Returns: the state
 * Since: 0.1
 */
DvmJobState
dvm_job_get_state (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), DVM_JOB_STATE_UNDEF);

  return self->record.state;
}

/**
 * dvm_job_get_state_name:
 * @self: a DvmJob
 *
 * The name of the state, such as "RUNNING".
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_job_get_state_name (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return dvm_job_state_to_string (self->record.state);
}

/**
 * dvm_job_get_ended:
 * @self: a DvmJob
 *
 * Whether the job has ended and its output is delivered.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_job_get_ended (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), FALSE);

  return self->ended;
}

/**
 * dvm_job_get_failed:
 * @self: a DvmJob
 *
 * Whether the state is an error.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_job_get_failed (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), FALSE);

  return self->failed;
}

/**
 * dvm_job_get_reason:
 * @self: a DvmJob
 *
 * Why the job is in its state.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_job_get_reason (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return self->record.reason != NULL ? self->record.reason : "";
}

/**
 * dvm_job_get_held_at:
 * @self: a DvmJob
 *
 * The thing that the job waits for: "" (nothing), "slots", "cpus", "devices", "map", "launch" or "session" (it is
 * paused).
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_job_get_held_at (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return self->held_at != NULL ? self->held_at : "";
}

/**
 * dvm_job_get_paused:
 * @self: a DvmJob
 *
 * Whether the job is paused or preempted, by itself or with its session: its processes are stopped, or will be as soon
 * as they have started. The state stays what it was, such as RUNNING.
 *
 * Returns: %TRUE if it is
 * Since: 0.1
 */
gboolean
dvm_job_get_paused (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), FALSE);

  return self->paused;
}

/**
 * dvm_job_get_waits_for:
 * @self: a DvmJob
 *
 * The object paths of the campaigns that the job waits for. It does while [property@Job:held-at] is "map" or "launch".
 *
 * Returns: (transfer none) (array zero-terminated=1): the object paths
 * Since: 0.1
 */
const char *const *
dvm_job_get_waits_for (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return _dvm_record_get_strv (self->waits_for);
}

/**
 * dvm_job_get_priority:
 * @self: a DvmJob
 *
 * How urgent the job is among those that wait: of two that wait for the same nodes the one with the higher number goes
 * first.
 *
 * Returns: a number from -1000 to 1000, 0 is usual
 * Since: 0.1
 */
int
dvm_job_get_priority (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->priority;
}

/**
 * dvm_job_get_awaited_jobs:
 * @self: a DvmJob
 *
 * The object paths of the jobs that the job waits for, as its description says. It does while [property@Job:held-at] is
 * "jobs".
 *
 * Returns: (transfer none) (array zero-terminated=1): the object paths
 * Since: 0.1
 */
const char *const *
dvm_job_get_awaited_jobs (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return _dvm_record_get_strv (self->awaited_jobs);
}

/**
 * dvm_job_get_array_id:
 * @self: a DvmJob
 *
 * The array that the job belongs to.
 *
 * Returns: the number of the first job of the array, 0 if the job is in none
 * Since: 0.1
 */
guint
dvm_job_get_array_id (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->array_id;
}

/**
 * dvm_job_get_array_index:
 * @self: a DvmJob
 *
 * The index of the job in its array, which its processes have as DVM_ARRAY_INDEX.
 *
 * Returns: the index, 0 also if the job is in no array
 * Since: 0.1
 */
guint
dvm_job_get_array_index (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->array_index;
}

/**
 * dvm_job_get_array_count:
 * @self: a DvmJob
 *
 * How many jobs the array of the job has, those that have been forgotten among them.
 *
 * Returns: the number, 0 if the job is in no array
 * Since: 0.1
 */
guint
dvm_job_get_array_count (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->array_count;
}

/**
 * dvm_job_get_output_bytes:
 * @self: a DvmJob
 *
 * How many bytes its processes have written to their standard output and standard error, as far as the DVM has taken
 * them. While the job runs the number is that of the last time when the job was read, as dvm_client_list_jobs() does;
 * when it has ended it is the whole.
 *
 * Returns: a number of bytes
 * Since: 0.1
 */
gint64
dvm_job_get_output_bytes (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->output_bytes;
}

/**
 * dvm_job_get_output_error:
 * @self: a DvmJob
 *
 * What of the job's output could not be written where it was to go (a full disk, a quota, a file that was removed), and
 * why. From then on that output goes to the readers, or is kept for them.
 *
 * Returns: (transfer none): a sentence, "" if all of it was written
 * Since: 0.1
 */
const char *
dvm_job_get_output_error (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return self->output_error != NULL ? self->output_error : "";
}

/**
 * dvm_job_get_reason_code:
 * @self: a DvmJob
 *
 * What kind of reason dvm_job_get_reason() is, such as "rank-status": for programs, which need not read a sentence.
 *
 * Returns: (transfer none): a word, "" for a reason that is a sentence alone
 * Since: 0.1
 */
const char *
dvm_job_get_reason_code (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return self->reason_code != NULL ? self->reason_code : "";
}

/**
 * dvm_job_get_reason_arguments:
 * @self: a DvmJob
 *
 * What the sentence of the reason says: ranks, nodes, numbers and causes, in the order of the English sentence.
 *
 * Returns: (transfer none) (array zero-terminated=1): the arguments of the code
 * Since: 0.1
 */
const char *const *
dvm_job_get_reason_arguments (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return _dvm_record_get_strv (self->reason_arguments);
}

/**
 * dvm_job_dup_translated_reason:
 * @self: a DvmJob
 *
 * The reason in the language of this process (its locale), whatever that of the DVM is. Causes that it names, such as a
 * message of the system, stay as they are, and so does a reason that is a sentence alone.
 *
 * Returns: (transfer full): a sentence, "" if there is nothing to say
 * Since: 0.1
 */
char *
dvm_job_dup_translated_reason (DvmJob *self)
{
  g_autofree char *text = NULL;
  g_autofree char *english = NULL;
  const char *reason;

  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  text = _dvm_reason_translate (self->reason_code, dvm_job_get_reason_arguments (self), TRUE);
  english = _dvm_reason_translate (self->reason_code, dvm_job_get_reason_arguments (self), FALSE);
  reason = dvm_job_get_reason (self);
  /* More may stand behind the sentence: output that was lost, and what is no failure. */
  if (text == NULL || !g_str_has_prefix (reason, english))
    return text != NULL ? g_steal_pointer (&text) : g_strdup (reason);
  return g_strconcat (text, reason + strlen (english), NULL);
}

/**
 * dvm_job_get_restarts:
 * @self: a DvmJob
 *
 * How often processes of the job that had failed were started again, all of them together.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_job_get_restarts (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->restarts;
}

/**
 * dvm_job_get_remapped:
 * @self: a DvmJob
 *
 * How often the job was placed anew because nodes of its map had left before it was launched.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_job_get_remapped (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->remapped;
}

/**
 * dvm_job_get_num_procs:
 * @self: a DvmJob
 *
 * The number of processes.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_job_get_num_procs (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->num_procs;
}

/**
 * dvm_job_get_num_launched:
 * @self: a DvmJob
 *
 * The number of processes that have been started.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_job_get_num_launched (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->num_launched;
}

/**
 * dvm_job_get_num_registered:
 * @self: a DvmJob
 *
 * The number of processes that have called PMIx_Init.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_job_get_num_registered (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->num_registered;
}

/**
 * dvm_job_get_num_terminated:
 * @self: a DvmJob
 *
 * The number of processes that have ended.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_job_get_num_terminated (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->num_terminated;
}

/**
 * dvm_job_get_exit_code:
 * @self: a DvmJob
 *
 * The exit status of the first process that failed, 0 if none did.
 *
 * Returns: the number
 * Since: 0.1
 */
int
dvm_job_get_exit_code (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->exit_code;
}

/**
 * dvm_job_get_exit_signal:
 * @self: a DvmJob
 *
 * The signal that ended the first process that failed, 0 for none.
 *
 * Returns: the number
 * Since: 0.1
 */
int
dvm_job_get_exit_signal (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->exit_signal;
}

/**
 * dvm_job_get_failed_rank:
 * @self: a DvmJob
 *
 * The rank of the first process that failed, -1 for none.
 *
 * Returns: the number
 * Since: 0.1
 */
int
dvm_job_get_failed_rank (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->failed_rank;
}

/**
 * dvm_job_get_session:
 * @self: a DvmJob
 *
 * The object path of the session that the job runs in.
 *
 * Returns: (transfer none): the object path, "/" if it is not known yet
 * Since: 0.1
 */
const char *
dvm_job_get_session (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return self->session != NULL ? self->session : "/";
}

/**
 * dvm_job_get_parent:
 * @self: a DvmJob
 *
 * The object path of the job that has spawned it.
 *
 * Returns: (transfer none): the object path, "/" if none has
 * Since: 0.1
 */
const char *
dvm_job_get_parent (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return self->parent != NULL ? self->parent : "/";
}

/**
 * dvm_job_get_first_failure:
 * @self: a DvmJob
 *
 * The job of its family that has failed before it, or while it went well: one that it has spawned, or that those have.
 * Its record has the namespace and how it ended. Those are left out that never ran, that somebody has ended, that are
 * to outlive their parent, and all with the runtime option report-child-jobs-separately. Known after
 * [method@Dvm.Client.wait].
 *
 * Returns: (transfer none) (nullable): the job, %NULL if it has failed first itself, or none has
 * Since: 0.1
 */
DvmJob *
dvm_job_get_first_failure (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return self->first_failure;
}

/**
 * dvm_job_get_children:
 * @self: a DvmJob
 *
 * The object paths of the jobs that it has spawned, as long as they are known.
 *
 * Returns: (transfer none) (array zero-terminated=1): the object paths, empty for none
 * Since: 0.1
 */
const char *const *
dvm_job_get_children (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return _dvm_record_get_strv (self->children);
}

/**
 * dvm_job_get_command:
 * @self: a DvmJob
 *
 * The program and its arguments.
 *
 * Returns: (transfer none) (array zero-terminated=1): the list
 * Since: 0.1
 */
const char *const *
dvm_job_get_command (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return _dvm_record_get_strv (self->command);
}

/**
 * dvm_job_get_nodes:
 * @self: a DvmJob
 *
 * The names of the nodes that the job runs on.
 *
 * Returns: (transfer none) (array zero-terminated=1): the list
 * Since: 0.1
 */
const char *const *
dvm_job_get_nodes (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return _dvm_record_get_strv (self->nodes);
}

/**
 * dvm_job_get_submitter:
 * @self: a DvmJob
 *
 * Who submitted the job, such as ":1.42" or "private:7".
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_job_get_submitter (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return self->submitter != NULL ? self->submitter : "";
}

/**
 * dvm_job_get_submitter_uid:
 * @self: a DvmJob
 *
 * The user id of the submitter.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_job_get_submitter_uid (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->submitter_uid;
}

/**
 * dvm_job_get_submitter_pid:
 * @self: a DvmJob
 *
 * The process id of the submitter, 0 if it is not known.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_job_get_submitter_pid (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->submitter_pid;
}

/**
 * dvm_job_get_created_at:
 * @self: a DvmJob
 *
 * When the job was submitted.
 *
 * Returns: microseconds since the epoch, 0 if that has not happened yet
 * Since: 0.1
 */
gint64
dvm_job_get_created_at (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->created_at;
}

/**
 * dvm_job_get_started_at:
 * @self: a DvmJob
 *
 * When its first process was started.
 *
 * Returns: microseconds since the epoch, 0 if that has not happened yet
 * Since: 0.1
 */
gint64
dvm_job_get_started_at (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->started_at;
}

/**
 * dvm_job_get_ended_at:
 * @self: a DvmJob
 *
 * When it ended.
 *
 * Returns: microseconds since the epoch, 0 if that has not happened yet
 * Since: 0.1
 */
gint64
dvm_job_get_ended_at (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), 0);

  return self->ended_at;
}
