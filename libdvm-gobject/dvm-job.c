/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-job"

#include "dvm-record-codec-private.h"
#include "dvm-enum-types.h"

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
  PROP_0,
  PROP_ID,
  PROP_NSPACE,
  PROP_NAME,
  PROP_LABEL,
  PROP_STATE,
  PROP_STATE_NAME,
  PROP_ENDED,
  PROP_FAILED,
  PROP_REASON,
  PROP_HELD_AT,
  PROP_NUM_PROCS,
  PROP_NUM_LAUNCHED,
  PROP_NUM_REGISTERED,
  PROP_NUM_TERMINATED,
  PROP_EXIT_CODE,
  PROP_EXIT_SIGNAL,
  PROP_FAILED_RANK,
  PROP_SESSION,
  PROP_COMMAND,
  PROP_NODES,
  PROP_SUBMITTER,
  PROP_SUBMITTER_UID,
  PROP_SUBMITTER_PID,
  PROP_CREATED_AT,
  PROP_STARTED_AT,
  PROP_ENDED_AT,
  N_PROPS
};

enum
{
  SIGNAL_STATE_CHANGED,
  SIGNAL_PROC_STATE_CHANGED,
  N_SIGNALS
};

static GParamSpec *properties[N_PROPS];
static guint signals[N_SIGNALS];
struct _DvmJob
{
  GObject parent_instance;

  guint id;
  char *nspace;
  char *name;
  char *label;
  DvmJobState state;
  gboolean ended;
  gboolean failed; /* follows from the state */
  char *reason;
  char *held_at;
  guint num_procs;
  guint num_launched;
  guint num_registered;
  guint num_terminated;
  int exit_code;
  int exit_signal;
  int failed_rank;
  char *session;
  char **command;
  char **nodes;
  char *submitter;
  guint submitter_uid;
  guint submitter_pid;
  gint64 created_at;
  gint64 started_at;
  gint64 ended_at;
  char *object_path; /* made when it is asked for */
};

G_DEFINE_FINAL_TYPE (DvmJob, dvm_job, G_TYPE_OBJECT)

static const char *
state_to_string (guint state)
{
  return dvm_job_state_to_string ((DvmJobState)state);
}

static const DvmRecordWords state_words = { dvm_job_state_get_type, state_to_string, NULL };

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
  { "State", "state", DVM_RECORD_FIELD_ENUM_NUMBER, G_STRUCT_OFFSET (DvmJob, state), .words = &state_words,
    .guarded = TRUE },
  /**
   * DvmJob:state-name:
   *
   * The name of the state, such as "RUNNING".
   *
   * Since: 0.1
   */
  { "StateName", "state-name", DVM_RECORD_FIELD_ENUM_NAME, G_STRUCT_OFFSET (DvmJob, state), .words = &state_words,
    .guarded = TRUE },
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
  { "Reason", "reason", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJob, reason), .guarded = TRUE },
  /**
   * DvmJob:held-at:
   *
   * What the job waits for: "" (nothing), "slots", "map" or "launch".
   *
   * Since: 0.1
   */
  { "HeldAt", "held-at", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJob, held_at) },
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
};

G_STATIC_ASSERT (G_N_ELEMENTS (fields) == N_PROPS - 1);

const DvmRecordField *
_dvm_job_get_fields (guint *n_fields)
{
  if (n_fields != NULL)
    *n_fields = G_N_ELEMENTS (fields);
  return fields;
}

static void
set_state (gpointer record, guint state, const char *reason)
{
  _dvm_job_set_state (record, state, reason);
}

static const DvmRecordCodec codec = {
  .fields = fields,
  .n_fields = G_N_ELEMENTS (fields),
  .properties = properties,
  .set_state = set_state,
};

static void
dvm_job_get_property (GObject *object, guint prop_id, GValue *value, GParamSpec *pspec)
{
  _dvm_record_get_property (object, &codec, prop_id, value);
}

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

  return self->state;
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

  return dvm_job_state_to_string (self->state);
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

  return self->reason != NULL ? self->reason : "";
}

/**
 * dvm_job_get_held_at:
 * @self: a DvmJob
 *
 * What the job waits for: "" (nothing), "slots", "map" or "launch".
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

static void
dvm_job_finalize (GObject *object)
{
  DvmJob *self = DVM_JOB (object);

  _dvm_record_clear (self, &codec);
  g_free (self->object_path);
  G_OBJECT_CLASS (dvm_job_parent_class)->finalize (object);
}

static void
install_signals (void)
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
  signals[SIGNAL_STATE_CHANGED] = g_signal_new ("state-changed", DVM_TYPE_JOB, G_SIGNAL_RUN_LAST | G_SIGNAL_DETAILED, 0,
                                                NULL, NULL, NULL, G_TYPE_NONE, 3, DVM_TYPE_JOB_STATE,
                                                DVM_TYPE_JOB_STATE, G_TYPE_STRING | G_SIGNAL_TYPE_STATIC_SCOPE);
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
dvm_job_class_init (DvmJobClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = dvm_job_get_property;
  object_class->finalize = dvm_job_finalize;
  install_signals ();
  _dvm_record_class_install (klass, &codec);
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
  DvmJobState old_state = self->state;

  _dvm_record_set_string (self, &self->reason, reason, properties[PROP_REASON]);
  if (state == old_state)
    return;
  self->state = state;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE]);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE_NAME]);
  _dvm_record_set_boolean (self, &self->failed, dvm_job_state_is_error (state), properties[PROP_FAILED]);
  g_signal_emit (self, signals[SIGNAL_STATE_CHANGED], g_quark_from_static_string (dvm_job_state_to_string (state)),
                 old_state, state, reason != NULL ? reason : "");
}

void
_dvm_job_set_ended (DvmJob *self, gint64 ended_at)
{
  _dvm_record_set_time (self, &self->ended_at, ended_at, properties[PROP_ENDED_AT]);
  _dvm_record_set_boolean (self, &self->ended, TRUE, properties[PROP_ENDED]);
}

void
_dvm_job_set_description (DvmJob *self, const char *name, const char *label, const char *const *command)
{
  _dvm_record_set_string (self, &self->name, name, properties[PROP_NAME]);
  _dvm_record_set_string (self, &self->label, label, properties[PROP_LABEL]);
  _dvm_record_set_strv (self, &self->command, command, properties[PROP_COMMAND]);
}

void
_dvm_job_set_submitter (DvmJob *self, const char *submitter, guint uid, guint pid)
{
  _dvm_record_set_string (self, &self->submitter, submitter, properties[PROP_SUBMITTER]);
  _dvm_record_set_uint (self, &self->submitter_uid, uid, properties[PROP_SUBMITTER_UID]);
  _dvm_record_set_uint (self, &self->submitter_pid, pid, properties[PROP_SUBMITTER_PID]);
}

void
_dvm_job_set_session (DvmJob *self, const char *object_path)
{
  _dvm_record_set_path (self, &self->session, object_path, properties[PROP_SESSION]);
}

void
_dvm_job_set_held_at (DvmJob *self, const char *held_at)
{
  _dvm_record_set_string (self, &self->held_at, held_at, properties[PROP_HELD_AT]);
}

void
_dvm_job_set_num_procs (DvmJob *self, guint num_procs)
{
  _dvm_record_set_uint (self, &self->num_procs, num_procs, properties[PROP_NUM_PROCS]);
}

void
_dvm_job_set_nodes (DvmJob *self, const char *const *nodes)
{
  _dvm_record_set_strv (self, &self->nodes, nodes, properties[PROP_NODES]);
}

void
_dvm_job_set_counts (DvmJob *self, guint launched, guint registered, guint terminated)
{
  _dvm_record_set_uint (self, &self->num_launched, launched, properties[PROP_NUM_LAUNCHED]);
  _dvm_record_set_uint (self, &self->num_registered, registered, properties[PROP_NUM_REGISTERED]);
  _dvm_record_set_uint (self, &self->num_terminated, terminated, properties[PROP_NUM_TERMINATED]);
}

void
_dvm_job_set_exit (DvmJob *self, int exit_code, int exit_signal, int failed_rank)
{
  _dvm_record_set_int (self, &self->exit_code, exit_code, properties[PROP_EXIT_CODE]);
  _dvm_record_set_int (self, &self->exit_signal, exit_signal, properties[PROP_EXIT_SIGNAL]);
  _dvm_record_set_int (self, &self->failed_rank, failed_rank, properties[PROP_FAILED_RANK]);
}

void
_dvm_job_set_created_at (DvmJob *self, gint64 created_at)
{
  _dvm_record_set_time (self, &self->created_at, created_at, properties[PROP_CREATED_AT]);
}

void
_dvm_job_set_started_at (DvmJob *self, gint64 started_at)
{
  _dvm_record_set_time (self, &self->started_at, started_at, properties[PROP_STARTED_AT]);
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

  if (self->object_path == NULL)
    self->object_path = g_strdup_printf ("/org/dvm/jobs/%u", self->id);
  return self->object_path;
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
