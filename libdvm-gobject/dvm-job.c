/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The record of a job.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-job"

#include "dvm-job-private.h"
#include "dvm-enum-types.h"

#include <string.h>

/**
 * DvmJob:
 *
 * What is known of a job: where it is on its way, how many of its processes run, and how it ended.
 *
 * A record: it is read, and changes by itself after [method@Dvm.Client.watch_job]. [method@Dvm.Client.wait] fills in
 * how the job ended, [method@Dvm.Client.refresh_job] all the rest.
 *
 * Since: 0.1
 */

enum
{
  SIGNAL_STATE_CHANGED,
  SIGNAL_PROC_STATE_CHANGED,
  N_SIGNALS
};

G_DEFINE_FINAL_TYPE (DvmJob, dvm_job, G_TYPE_OBJECT)

static const DvmRecordWords state_words = { dvm_job_state_get_type, dvm_job_state_to_string, NULL };

/* In the order of the properties. */
static const DvmRecordField fields[] = {
  /**
   * DvmJob:id:
   *
   * The number of the job, never used again within one instance of the DVM.
   *
   * Since: 0.1
   */
  { "Id", "id", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJob, id) },
  /**
   * DvmJob:nspace:
   *
   * The namespace of the job, by which PMIx knows it.
   *
   * Since: 0.1
   */
  { "Namespace", "namespace", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJob, nspace), .property = "nspace" },
  /**
   * DvmJob:name:
   *
   * The name that the job was given.
   *
   * Since: 0.1
   */
  { "Name", "name", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJob, name) },
  /**
   * DvmJob:label:
   *
   * The label of the job; many jobs may share one.
   *
   * Since: 0.1
   */
  { "Label", "label", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJob, label) },
  /**
   * DvmJob:state:
   *
   * The state.
   *
   * Since: 0.1
   */
  { "State", "state", DVM_RECORD_FIELD_ENUM_NUMBER, G_STRUCT_OFFSET (DvmJob, record.state), .words = &state_words,
    .guarded = TRUE },
  /**
   * DvmJob:state-name:
   *
   * The name of the state, such as "RUNNING".
   *
   * Since: 0.1
   */
  { "StateName", "state-name", DVM_RECORD_FIELD_ENUM_NAME, G_STRUCT_OFFSET (DvmJob, record.state),
    .words = &state_words, .guarded = TRUE },
  /**
   * DvmJob:ended:
   *
   * Whether the job has ended and its output is delivered.
   *
   * Since: 0.1
   */
  { "Ended", "ended", DVM_RECORD_FIELD_BOOLEAN, G_STRUCT_OFFSET (DvmJob, ended) },
  /**
   * DvmJob:failed:
   *
   * Whether the state is an error.
   *
   * Since: 0.1
   */
  { "Failed", "failed", DVM_RECORD_FIELD_BOOLEAN, G_STRUCT_OFFSET (DvmJob, failed), .guarded = TRUE },
  /**
   * DvmJob:reason:
   *
   * Why the job is in its state.
   *
   * Since: 0.1
   */
  { "Reason", "reason", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJob, record.reason), .guarded = TRUE },
  /**
   * DvmJob:held-at:
   *
   * The thing that the job waits for: "" (nothing), "slots", "cpus", "devices", "limit" (as many jobs run as may),
   * "jobs", "hold" (until it is released), "map", "launch" or "session" (it is paused).
   *
   * Since: 0.1
   */
  { "HeldAt", "held-at", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJob, held_at) },
  /**
   * DvmJob:paused:
   *
   * Whether the job is paused or preempted, by itself or with its session: its processes stand still,
   * or will as soon as they have started.
   *
   * Since: 0.1
   */
  { "Paused", "paused", DVM_RECORD_FIELD_BOOLEAN, G_STRUCT_OFFSET (DvmJob, paused) },
  /**
   * DvmJob:waits-for:
   *
   * The object paths of the campaigns that the job waits for, at "map" or "launch".
   *
   * Since: 0.1
   */
  { "WaitsFor", "waits-for", DVM_RECORD_FIELD_PATHS, G_STRUCT_OFFSET (DvmJob, waits_for) },
  /**
   * DvmJob:priority:
   *
   * How urgent the job is among those that wait, from -1000 to 1000.
   *
   * Since: 0.1
   */
  { "Priority", "priority", DVM_RECORD_FIELD_INT, G_STRUCT_OFFSET (DvmJob, priority) },
  /**
   * DvmJob:awaited-jobs:
   *
   * The object paths of the jobs that the job waits for, as its description says.
   *
   * Since: 0.1
   */
  { "AwaitedJobs", "awaited-jobs", DVM_RECORD_FIELD_PATHS, G_STRUCT_OFFSET (DvmJob, awaited_jobs) },
  /**
   * DvmJob:array-id:
   *
   * The number of the first job of the array that the job belongs to, 0 for none.
   *
   * Since: 0.1
   */
  { "ArrayId", "array-id", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJob, array_id) },
  /**
   * DvmJob:array-index:
   *
   * The index of the job in its array.
   *
   * Since: 0.1
   */
  { "ArrayIndex", "array-index", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJob, array_index) },
  /**
   * DvmJob:array-count:
   *
   * How many jobs the array has that the job belongs to, 0 for none.
   *
   * Since: 0.1
   */
  { "ArrayCount", "array-count", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJob, array_count) },
  /**
   * DvmJob:num-procs:
   *
   * The number of processes.
   *
   * Since: 0.1
   */
  { "NumProcs", "num-procs", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJob, num_procs) },
  /**
   * DvmJob:num-launched:
   *
   * The number of processes that have been started.
   *
   * Since: 0.1
   */
  { "NumLaunched", "num-launched", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJob, num_launched) },
  /**
   * DvmJob:num-registered:
   *
   * The number of processes that have called PMIx_Init.
   *
   * Since: 0.1
   */
  { "NumRegistered", "num-registered", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJob, num_registered) },
  /**
   * DvmJob:num-terminated:
   *
   * The number of processes that have ended.
   *
   * Since: 0.1
   */
  { "NumTerminated", "num-terminated", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJob, num_terminated) },
  /**
   * DvmJob:exit-code:
   *
   * The exit status of the first process that failed, 0 if none did.
   *
   * Since: 0.1
   */
  { "ExitCode", "exit-code", DVM_RECORD_FIELD_INT, G_STRUCT_OFFSET (DvmJob, exit_code) },
  /**
   * DvmJob:exit-signal:
   *
   * The signal that ended the first process that failed, 0 for none.
   *
   * Since: 0.1
   */
  { "ExitSignal", "exit-signal", DVM_RECORD_FIELD_INT, G_STRUCT_OFFSET (DvmJob, exit_signal) },
  /**
   * DvmJob:failed-rank:
   *
   * The rank of the first process that failed, -1 for none.
   *
   * Since: 0.1
   */
  { "FailedRank", "failed-rank", DVM_RECORD_FIELD_RANK, G_STRUCT_OFFSET (DvmJob, failed_rank) },
  /**
   * DvmJob:session:
   *
   * The object path of the session that the job runs in.
   *
   * Since: 0.1
   */
  { "Session", "session", DVM_RECORD_FIELD_PATH, G_STRUCT_OFFSET (DvmJob, session) },
  /**
   * DvmJob:parent:
   *
   * The object path of the job that has spawned it, "/" if none has.
   *
   * Since: 0.1
   */
  { "Parent", "parent", DVM_RECORD_FIELD_PATH, G_STRUCT_OFFSET (DvmJob, parent) },
  /**
   * DvmJob:children:
   *
   * The object paths of the jobs that it has spawned, as long as they are known.
   *
   * Since: 0.1
   */
  { "Children", "children", DVM_RECORD_FIELD_PATHS, G_STRUCT_OFFSET (DvmJob, children) },
  /**
   * DvmJob:command:
   *
   * The program and its arguments.
   *
   * Since: 0.1
   */
  { "Command", "command", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmJob, command) },
  /**
   * DvmJob:nodes:
   *
   * The names of the nodes that the job runs on.
   *
   * Since: 0.1
   */
  { "Nodes", "nodes", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmJob, nodes) },
  /**
   * DvmJob:submitter:
   *
   * Who submitted the job, such as ":1.42" or "private:7".
   *
   * Since: 0.1
   */
  { "Submitter", "submitter", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJob, submitter) },
  /**
   * DvmJob:submitter-uid:
   *
   * The user id of the submitter.
   *
   * Since: 0.1
   */
  { "SubmitterUid", "submitter-uid", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJob, submitter_uid) },
  /**
   * DvmJob:submitter-pid:
   *
   * The process id of the submitter, 0 if it is not known.
   *
   * Since: 0.1
   */
  { "SubmitterPid", "submitter-pid", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJob, submitter_pid) },
  /**
   * DvmJob:created-at:
   *
   * When the job was submitted, in microseconds since the epoch; 0 if that has not happened.
   *
   * Since: 0.1
   */
  { "CreatedAt", "created-at", DVM_RECORD_FIELD_TIME, G_STRUCT_OFFSET (DvmJob, created_at) },
  /**
   * DvmJob:started-at:
   *
   * When its first process was started, in microseconds since the epoch; 0 if that has not happened.
   *
   * Since: 0.1
   */
  { "StartedAt", "started-at", DVM_RECORD_FIELD_TIME, G_STRUCT_OFFSET (DvmJob, started_at) },
  /**
   * DvmJob:ended-at:
   *
   * When it ended, in microseconds since the epoch; 0 if that has not happened.
   *
   * Since: 0.1
   */
  { "EndedAt", "ended-at", DVM_RECORD_FIELD_TIME, G_STRUCT_OFFSET (DvmJob, ended_at) },
  /**
   * DvmJob:remapped:
   *
   * How often the job was placed anew because nodes of its map had left before it was launched.
   *
   * Since: 0.1
   */
  { "Remapped", "remapped", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJob, remapped) },
  /**
   * DvmJob:restarts:
   *
   * How often processes of the job that had failed were started again, all of them together.
   *
   * Since: 0.1
   */
  { "Restarts", "restarts", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJob, restarts) },
  /**
   * DvmJob:output-bytes:
   *
   * How many bytes its processes have written to their standard output and standard error. While the job runs it is
   * read with the job and not notified.
   *
   * Since: 0.1
   */
  { "OutputBytes", "output-bytes", DVM_RECORD_FIELD_BYTES, G_STRUCT_OFFSET (DvmJob, output_bytes) },
  /**
   * DvmJob:output-error:
   *
   * What of its output could not be written, and why: a sentence, "" if all was.
   *
   * Since: 0.1
   */
  { "OutputError", "output-error", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJob, output_error) },
  /**
   * DvmJob:reason-code:
   *
   * What kind of reason it is, such as "rank-status"; "" for one that is a sentence alone.
   *
   * Since: 0.1
   */
  { "ReasonCode", "reason-code", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJob, reason_code) },
  /**
   * DvmJob:reason-arguments:
   *
   * What the sentence of the reason says: ranks, nodes, numbers and causes in its order.
   *
   * Since: 0.1
   */
  { "ReasonArguments", "reason-arguments", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmJob, reason_arguments) },
};

static GParamSpec *properties[sizeof (DvmJob) / sizeof (guint)][2];
static guint signals[N_SIGNALS];

static const DvmRecordCodec codec;

/* Between the notification of the state and its signal: who hears of the state finds this up to date. */
static void
follow_state (gpointer record)
{
  DvmJob *self = record;

  _dvm_record_set_boolean (self, &codec, &self->failed, dvm_job_state_is_error (self->record.state));
}

static const DvmRecordCodec codec = {
  .fields = fields,
  .n_fields = G_N_ELEMENTS (fields),
  .properties = properties,
  .states = &state_words,
  .state_changed = &signals[SIGNAL_STATE_CHANGED],
  .follow_state = follow_state,
};

static void
dvm_job_finalize (GObject *object)
{
  g_clear_object (&DVM_JOB (object)->first_failure);
  _dvm_record_finalize (object);
}

static void
dvm_job_class_init (DvmJobClass *klass)
{
  /**
   * DvmJob::state-changed:
   * @self: the job
   * @old_state: the state before
   * @new_state: the state now
   * @reason: why, "" if there is nothing to say
   *
   * The state has changed. The properties have their new values already. The detail is the name of the new state, as in
   * "state-changed::NOTIFIED".
   *
   * Since: 0.1
   */
  _dvm_record_class_install (klass, &codec);
  G_OBJECT_CLASS (klass)->finalize = dvm_job_finalize;
  /**
   * DvmJob::proc-state-changed:
   * @self: the job
   * @rank: the rank of the process
   * @old_state: its state before
   * @new_state: its state now
   *
   * The state of one of its processes has changed. The detail is the name of its new state, as in
   * "proc-state-changed::TERMINATED".
   *
   * Since: 0.1
   */
  signals[SIGNAL_PROC_STATE_CHANGED] = g_signal_new (
      "proc-state-changed", DVM_TYPE_JOB, G_SIGNAL_RUN_LAST | G_SIGNAL_DETAILED, 0, NULL, NULL, NULL, G_TYPE_NONE, 3,
      G_TYPE_UINT, DVM_TYPE_PROC_STATE, DVM_TYPE_PROC_STATE);
}

static void
dvm_job_init (DvmJob *self)
{
  self->failed_rank = -1;
}

DvmJob *
_dvm_job_new (guint id, const char *nspace)
{
  DvmJob *self = g_object_new (DVM_TYPE_JOB, NULL);

  self->id = id;
  self->nspace = g_strdup (nspace);
  return self;
}

void
_dvm_job_set_state (DvmJob *self, DvmJobState state, const char *reason)
{
  _dvm_record_set_state (&self->record, &codec, state, reason);
}

void
_dvm_job_set_ended (DvmJob *self, gint64 ended_at)
{
  _dvm_record_set_time (self, &codec, &self->ended_at, ended_at);
  _dvm_record_set_boolean (self, &codec, &self->ended, TRUE);
}

void
_dvm_job_set_description (DvmJob *self, const char *name, const char *label, const char *const *command)
{
  _dvm_record_set_string (self, &codec, &self->name, name);
  _dvm_record_set_string (self, &codec, &self->label, label);
  _dvm_record_set_strv (self, &codec, &self->command, command);
}

void
_dvm_job_set_submitter (DvmJob *self, const char *submitter, guint uid, guint pid)
{
  _dvm_record_set_string (self, &codec, &self->submitter, submitter);
  _dvm_record_set_uint (self, &codec, &self->submitter_uid, uid);
  _dvm_record_set_uint (self, &codec, &self->submitter_pid, pid);
}

void
_dvm_job_set_session (DvmJob *self, const char *object_path)
{
  _dvm_record_set_path (self, &codec, &self->session, object_path);
}

void
_dvm_job_set_parent (DvmJob *self, const char *object_path)
{
  _dvm_record_set_path (self, &codec, &self->parent, object_path);
}

void
_dvm_job_set_first_failure (DvmJob *self, DvmJob *failed)
{
  g_set_object (&self->first_failure, failed);
}

void
_dvm_job_add_child (DvmJob *self, const char *object_path)
{
  guint n = self->children != NULL ? g_strv_length (self->children) : 0;

  self->children = g_renew (char *, self->children, n + 2);
  self->children[n] = g_strdup (object_path);
  self->children[n + 1] = NULL;
  _dvm_record_notify (self, &codec, &self->children);
}

void
_dvm_job_remove_child (DvmJob *self, const char *object_path)
{
  char **place = self->children;

  while (place != NULL && *place != NULL && strcmp (*place, object_path) != 0)
    place++;
  if (place == NULL || *place == NULL)
    return;
  g_free (*place);
  memmove (place, place + 1, (g_strv_length (place + 1) + 1) * sizeof (char *));
  if (self->children[0] == NULL)
    g_clear_pointer (&self->children, g_strfreev);
  _dvm_record_notify (self, &codec, &self->children);
}

void
_dvm_job_set_held_at (DvmJob *self, const char *held_at)
{
  _dvm_record_set_string (self, &codec, &self->held_at, held_at);
}

void
_dvm_job_set_paused (DvmJob *self, gboolean paused)
{
  _dvm_record_set_boolean (self, &codec, &self->paused, paused);
}

void
_dvm_job_set_waits_for (DvmJob *self, const char *const *waits_for)
{
  _dvm_record_set_strv (self, &codec, &self->waits_for, waits_for);
}

void
_dvm_job_set_priority (DvmJob *self, int priority)
{
  _dvm_record_set_int (self, &codec, &self->priority, priority);
}

void
_dvm_job_set_array (DvmJob *self, guint id, guint index, guint count)
{
  _dvm_record_set_uint (self, &codec, &self->array_count, count);
  _dvm_record_set_uint (self, &codec, &self->array_id, id);
  _dvm_record_set_uint (self, &codec, &self->array_index, index);
}

void
_dvm_job_set_awaited_jobs (DvmJob *self, const char *const *object_paths)
{
  _dvm_record_set_strv (self, &codec, &self->awaited_jobs, object_paths);
}

void
_dvm_job_set_remapped (DvmJob *self, guint remapped)
{
  _dvm_record_set_uint (self, &codec, &self->remapped, remapped);
}

void
_dvm_job_set_restarts (DvmJob *self, guint restarts)
{
  _dvm_record_set_uint (self, &codec, &self->restarts, restarts);
}

void
_dvm_job_add_output (DvmJob *self, gsize n_bytes)
{
  self->output_bytes += (gint64)n_bytes;
}

void
_dvm_job_notify_output (DvmJob *self)
{
  if (self->output_bytes > 0)
    _dvm_record_notify (self, &codec, &self->output_bytes);
}

void
_dvm_job_set_output_error (DvmJob *self, const char *output_error)
{
  _dvm_record_set_string (self, &codec, &self->output_error, output_error);
}

void
_dvm_job_set_reason_parts (DvmJob *self, const char *code, const char *const *arguments)
{
  _dvm_record_set_string (self, &codec, &self->reason_code, code);
  _dvm_record_set_strv (self, &codec, &self->reason_arguments, arguments);
}

void
_dvm_job_set_num_procs (DvmJob *self, guint num_procs)
{
  _dvm_record_set_uint (self, &codec, &self->num_procs, num_procs);
}

void
_dvm_job_set_nodes (DvmJob *self, const char *const *nodes)
{
  _dvm_record_set_strv (self, &codec, &self->nodes, nodes);
}

void
_dvm_job_set_counts (DvmJob *self, guint launched, guint registered, guint terminated)
{
  _dvm_record_set_uint (self, &codec, &self->num_launched, launched);
  _dvm_record_set_uint (self, &codec, &self->num_registered, registered);
  _dvm_record_set_uint (self, &codec, &self->num_terminated, terminated);
}

void
_dvm_job_set_exit (DvmJob *self, int exit_code, int exit_signal, int failed_rank)
{
  _dvm_record_set_int (self, &codec, &self->exit_code, exit_code);
  _dvm_record_set_int (self, &codec, &self->exit_signal, exit_signal);
  _dvm_record_set_int (self, &codec, &self->failed_rank, failed_rank);
}

void
_dvm_job_set_created_at (DvmJob *self, gint64 created_at)
{
  _dvm_record_set_time (self, &codec, &self->created_at, created_at);
}

void
_dvm_job_set_started_at (DvmJob *self, gint64 started_at)
{
  _dvm_record_set_time (self, &codec, &self->started_at, started_at);
}

void
_dvm_job_proc_state_changed (DvmJob *self, guint rank, DvmProcState old_state, DvmProcState new_state)
{
  g_signal_emit (self, signals[SIGNAL_PROC_STATE_CHANGED],
                 g_quark_from_static_string (dvm_proc_state_to_string (new_state)), rank, old_state, new_state);
}

/**
 * dvm_job_get_object_path:
 * @self: a job
 *
 * The D-Bus object path of the job, such as "/org/dvm/jobs/7".
 *
 * Returns: (transfer none): the object path
 * Since: 0.1
 */
const char *
dvm_job_get_object_path (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return _dvm_record_get_object_path (&self->record, "/org/dvm/jobs/", self->id);
}

/**
 * dvm_job_to_variant:
 * @self: a job
 *
 * All properties under their D-Bus names, as the bus shows them.
 *
 * Returns: (transfer full): a dictionary of type a{sv}
 * Since: 0.1
 */
GVariant *
dvm_job_to_variant (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return _dvm_record_to_variant (self);
}

/**
 * dvm_job_new_from_variant:
 * @values: a dictionary of type a{sv}, as of [method@Job.to_variant]
 * @error: return location for an error
 *
 * A record of its own that was kept or sent: it does not change with the DVM. Names that this version does not know are
 * left aside.
 *
 * Returns: (transfer full): a job, or %NULL with @error set if a value has another type than the property
 * Since: 0.1
 */
DvmJob *
dvm_job_new_from_variant (GVariant *values, GError **error)
{
  g_return_val_if_fail (values != NULL, NULL);

  return _dvm_record_new_from_variant (DVM_TYPE_JOB, values, error);
}

/**
 * dvm_job_to_json:
 * @self: a job
 *
 * All properties as a JSON object on one line: keys in kebab case, the state as its name, times as ISO 8601 in UTC.
 *
 * Returns: (transfer full): the text
 * Since: 0.1
 */
char *
dvm_job_to_json (DvmJob *self)
{
  g_return_val_if_fail (DVM_IS_JOB (self), NULL);

  return _dvm_record_to_json (self);
}
