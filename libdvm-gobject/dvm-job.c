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
get_state_name (guint state)
{
  return dvm_job_state_to_string (state);
}

/* In the order of the properties. */
static const DvmRecordField fields[] = {
  { "Id", "id", "u", DVM_RECORD_FIELD_PLAIN, NULL, { "Id" } },
  { "Namespace", "namespace", "s", DVM_RECORD_FIELD_PLAIN, "nspace", { "Namespace" } },
  { "Name", "name", "s", DVM_RECORD_FIELD_PLAIN, NULL, { "Name" } },
  { "Label", "label", "s", DVM_RECORD_FIELD_PLAIN, NULL, { "Label" } },
  { "State", "state", "u", DVM_RECORD_FIELD_STATE, NULL, { "State", "StateName" } },
  { "StateName", "state-name", "s", DVM_RECORD_FIELD_STATE_NAME, NULL, { "StateName" } },
  { "Ended", "ended", "b", DVM_RECORD_FIELD_PLAIN, NULL, { "Ended" } },
  { "Failed", "failed", "b", DVM_RECORD_FIELD_PLAIN, NULL, { "Failed" } },
  { "Reason", "reason", "s", DVM_RECORD_FIELD_PLAIN, NULL, { "Reason" } },
  { "HeldAt", "held-at", "s", DVM_RECORD_FIELD_PLAIN, NULL, { "HeldAt" } },
  { "NumProcs", "num-procs", "u", DVM_RECORD_FIELD_PLAIN, NULL, { "NumProcs" } },
  { "NumLaunched", "num-launched", "u", DVM_RECORD_FIELD_PLAIN, NULL, { "NumLaunched" } },
  { "NumRegistered", "num-registered", "u", DVM_RECORD_FIELD_PLAIN, NULL, { "NumRegistered" } },
  { "NumTerminated", "num-terminated", "u", DVM_RECORD_FIELD_PLAIN, NULL, { "NumTerminated" } },
  { "ExitCode", "exit-code", "i", DVM_RECORD_FIELD_PLAIN, NULL, { "ExitCode" } },
  { "ExitSignal", "exit-signal", "i", DVM_RECORD_FIELD_PLAIN, NULL, { "ExitSignal" } },
  { "FailedRank", "failed-rank", "i", DVM_RECORD_FIELD_PLAIN, NULL, { "FailedRank" } },
  { "Session", "session", "o", DVM_RECORD_FIELD_PLAIN, NULL, { "Session" } },
  { "Command", "command", "as", DVM_RECORD_FIELD_PLAIN, NULL, { "Command" } },
  { "Nodes", "nodes", "as", DVM_RECORD_FIELD_PLAIN, NULL, { "Nodes" } },
  { "Submitter", "submitter", "s", DVM_RECORD_FIELD_PLAIN, NULL, { "Submitter" } },
  { "SubmitterUid", "submitter-uid", "u", DVM_RECORD_FIELD_PLAIN, NULL, { "SubmitterUid" } },
  { "SubmitterPid", "submitter-pid", "u", DVM_RECORD_FIELD_PLAIN, NULL, { "SubmitterPid" } },
  { "CreatedAt", "created-at", "t", DVM_RECORD_FIELD_TIME, NULL, { "CreatedAt" } },
  { "StartedAt", "started-at", "t", DVM_RECORD_FIELD_TIME, NULL, { "StartedAt" } },
  { "EndedAt", "ended-at", "t", DVM_RECORD_FIELD_TIME, NULL, { "EndedAt" } },
};

G_STATIC_ASSERT (G_N_ELEMENTS (fields) == N_PROPS - 1);

const DvmRecordField *
_dvm_job_get_fields (guint *n_fields)
{
  if (n_fields != NULL)
    *n_fields = G_N_ELEMENTS (fields);
  return fields;
}

static GVariant *
get_field (gpointer record, guint index)
{
  DvmJob *self = record;

  switch (index + 1)
    {
    case PROP_ID:
      return g_variant_new_uint32 (self->id);
    case PROP_NSPACE:
      return _dvm_record_string_variant (self->nspace);
    case PROP_NAME:
      return _dvm_record_string_variant (self->name);
    case PROP_LABEL:
      return _dvm_record_string_variant (self->label);
    case PROP_STATE:
      return g_variant_new_uint32 (self->state);
    case PROP_STATE_NAME:
      return g_variant_new_string (dvm_job_state_to_string (self->state));
    case PROP_ENDED:
      return g_variant_new_boolean (self->ended);
    case PROP_FAILED:
      return g_variant_new_boolean (dvm_job_state_is_error (self->state));
    case PROP_REASON:
      return _dvm_record_string_variant (self->reason);
    case PROP_HELD_AT:
      return _dvm_record_string_variant (self->held_at);
    case PROP_NUM_PROCS:
      return g_variant_new_uint32 (self->num_procs);
    case PROP_NUM_LAUNCHED:
      return g_variant_new_uint32 (self->num_launched);
    case PROP_NUM_REGISTERED:
      return g_variant_new_uint32 (self->num_registered);
    case PROP_NUM_TERMINATED:
      return g_variant_new_uint32 (self->num_terminated);
    case PROP_EXIT_CODE:
      return g_variant_new_int32 (self->exit_code);
    case PROP_EXIT_SIGNAL:
      return g_variant_new_int32 (self->exit_signal);
    case PROP_FAILED_RANK:
      return g_variant_new_int32 (self->failed_rank);
    case PROP_SESSION:
      return _dvm_record_path_variant (self->session);
    case PROP_COMMAND:
      return _dvm_record_strv_variant (self->command);
    case PROP_NODES:
      return _dvm_record_strv_variant (self->nodes);
    case PROP_SUBMITTER:
      return _dvm_record_string_variant (self->submitter);
    case PROP_SUBMITTER_UID:
      return g_variant_new_uint32 (self->submitter_uid);
    case PROP_SUBMITTER_PID:
      return g_variant_new_uint32 (self->submitter_pid);
    case PROP_CREATED_AT:
      return g_variant_new_uint64 (self->created_at);
    case PROP_STARTED_AT:
      return g_variant_new_uint64 (self->started_at);
    case PROP_ENDED_AT:
      return g_variant_new_uint64 (self->ended_at);
    default:
      g_assert_not_reached ();
    }
}

static void
set_field (gpointer record, guint index, GVariant *value)
{
  DvmJob *self = record;

  switch (index + 1)
    {
    case PROP_ID:
      _dvm_record_set_uint (self, &self->id, g_variant_get_uint32 (value), properties[PROP_ID]);
      break;
    case PROP_NSPACE:
      _dvm_record_set_string (self, &self->nspace, g_variant_get_string (value, NULL), properties[PROP_NSPACE]);
      break;
    case PROP_NAME:
      _dvm_record_set_string (self, &self->name, g_variant_get_string (value, NULL), properties[PROP_NAME]);
      break;
    case PROP_LABEL:
      _dvm_record_set_string (self, &self->label, g_variant_get_string (value, NULL), properties[PROP_LABEL]);
      break;
    case PROP_ENDED:
      _dvm_record_set_boolean (self, &self->ended, g_variant_get_boolean (value), properties[PROP_ENDED]);
      break;
    case PROP_HELD_AT:
      _dvm_record_set_string (self, &self->held_at, g_variant_get_string (value, NULL), properties[PROP_HELD_AT]);
      break;
    case PROP_NUM_PROCS:
      _dvm_record_set_uint (self, &self->num_procs, g_variant_get_uint32 (value), properties[PROP_NUM_PROCS]);
      break;
    case PROP_NUM_LAUNCHED:
      _dvm_record_set_uint (self, &self->num_launched, g_variant_get_uint32 (value), properties[PROP_NUM_LAUNCHED]);
      break;
    case PROP_NUM_REGISTERED:
      _dvm_record_set_uint (self, &self->num_registered, g_variant_get_uint32 (value), properties[PROP_NUM_REGISTERED]);
      break;
    case PROP_NUM_TERMINATED:
      _dvm_record_set_uint (self, &self->num_terminated, g_variant_get_uint32 (value), properties[PROP_NUM_TERMINATED]);
      break;
    case PROP_EXIT_CODE:
      _dvm_record_set_int (self, &self->exit_code, g_variant_get_int32 (value), properties[PROP_EXIT_CODE]);
      break;
    case PROP_EXIT_SIGNAL:
      _dvm_record_set_int (self, &self->exit_signal, g_variant_get_int32 (value), properties[PROP_EXIT_SIGNAL]);
      break;
    case PROP_FAILED_RANK:
      _dvm_record_set_int (self, &self->failed_rank, g_variant_get_int32 (value), properties[PROP_FAILED_RANK]);
      break;
    case PROP_SESSION:
      _dvm_record_set_path (self, &self->session, g_variant_get_string (value, NULL), properties[PROP_SESSION]);
      break;
    case PROP_COMMAND:
      _dvm_record_set_strv_variant (self, &self->command, value, properties[PROP_COMMAND]);
      break;
    case PROP_NODES:
      _dvm_record_set_strv_variant (self, &self->nodes, value, properties[PROP_NODES]);
      break;
    case PROP_SUBMITTER:
      _dvm_record_set_string (self, &self->submitter, g_variant_get_string (value, NULL), properties[PROP_SUBMITTER]);
      break;
    case PROP_SUBMITTER_UID:
      _dvm_record_set_uint (self, &self->submitter_uid, g_variant_get_uint32 (value), properties[PROP_SUBMITTER_UID]);
      break;
    case PROP_SUBMITTER_PID:
      _dvm_record_set_uint (self, &self->submitter_pid, g_variant_get_uint32 (value), properties[PROP_SUBMITTER_PID]);
      break;
    case PROP_CREATED_AT:
      _dvm_record_set_time (self, &self->created_at, g_variant_get_uint64 (value), properties[PROP_CREATED_AT]);
      break;
    case PROP_STARTED_AT:
      _dvm_record_set_time (self, &self->started_at, g_variant_get_uint64 (value), properties[PROP_STARTED_AT]);
      break;
    case PROP_ENDED_AT:
      _dvm_record_set_time (self, &self->ended_at, g_variant_get_uint64 (value), properties[PROP_ENDED_AT]);
      break;
    default: /* the state and what follows from it */
      break;
    }
}

static void
dvm_job_get_property (GObject *object, guint prop_id, GValue *value, GParamSpec *pspec)
{
  DvmJob *self = DVM_JOB (object);

  switch (prop_id)
    {
    case PROP_ID:
      g_value_set_uint (value, dvm_job_get_id (self));
      break;
    case PROP_NSPACE:
      g_value_set_string (value, dvm_job_get_nspace (self));
      break;
    case PROP_NAME:
      g_value_set_string (value, dvm_job_get_name (self));
      break;
    case PROP_LABEL:
      g_value_set_string (value, dvm_job_get_label (self));
      break;
    case PROP_STATE:
      g_value_set_enum (value, dvm_job_get_state (self));
      break;
    case PROP_STATE_NAME:
      g_value_set_string (value, dvm_job_get_state_name (self));
      break;
    case PROP_ENDED:
      g_value_set_boolean (value, dvm_job_get_ended (self));
      break;
    case PROP_FAILED:
      g_value_set_boolean (value, dvm_job_get_failed (self));
      break;
    case PROP_REASON:
      g_value_set_string (value, dvm_job_get_reason (self));
      break;
    case PROP_HELD_AT:
      g_value_set_string (value, dvm_job_get_held_at (self));
      break;
    case PROP_NUM_PROCS:
      g_value_set_uint (value, dvm_job_get_num_procs (self));
      break;
    case PROP_NUM_LAUNCHED:
      g_value_set_uint (value, dvm_job_get_num_launched (self));
      break;
    case PROP_NUM_REGISTERED:
      g_value_set_uint (value, dvm_job_get_num_registered (self));
      break;
    case PROP_NUM_TERMINATED:
      g_value_set_uint (value, dvm_job_get_num_terminated (self));
      break;
    case PROP_EXIT_CODE:
      g_value_set_int (value, dvm_job_get_exit_code (self));
      break;
    case PROP_EXIT_SIGNAL:
      g_value_set_int (value, dvm_job_get_exit_signal (self));
      break;
    case PROP_FAILED_RANK:
      g_value_set_int (value, dvm_job_get_failed_rank (self));
      break;
    case PROP_SESSION:
      g_value_set_string (value, dvm_job_get_session (self));
      break;
    case PROP_COMMAND:
      g_value_set_boxed (value, dvm_job_get_command (self));
      break;
    case PROP_NODES:
      g_value_set_boxed (value, dvm_job_get_nodes (self));
      break;
    case PROP_SUBMITTER:
      g_value_set_string (value, dvm_job_get_submitter (self));
      break;
    case PROP_SUBMITTER_UID:
      g_value_set_uint (value, dvm_job_get_submitter_uid (self));
      break;
    case PROP_SUBMITTER_PID:
      g_value_set_uint (value, dvm_job_get_submitter_pid (self));
      break;
    case PROP_CREATED_AT:
      g_value_set_int64 (value, dvm_job_get_created_at (self));
      break;
    case PROP_STARTED_AT:
      g_value_set_int64 (value, dvm_job_get_started_at (self));
      break;
    case PROP_ENDED_AT:
      g_value_set_int64 (value, dvm_job_get_ended_at (self));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
      break;
    }
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

  return dvm_job_state_is_error (self->state);
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
install_properties (GObjectClass *object_class)
{
  const GParamFlags flags = G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS;

  /**
   * DvmJob:id:
   *
   * The number of the job, never used again within one instance of the DVM.
   *
   * Since: 0.1
   */
  properties[PROP_ID] = g_param_spec_uint ("id", NULL, NULL, 0, G_MAXUINT, 0, flags);
  /**
   * DvmJob:nspace:
   *
   * The namespace of the job, by which PMIx knows it.
   *
   * Since: 0.1
   */
  properties[PROP_NSPACE] = g_param_spec_string ("nspace", NULL, NULL, "", flags);
  /**
   * DvmJob:name:
   *
   * The name that the job was given.
   *
   * Since: 0.1
   */
  properties[PROP_NAME] = g_param_spec_string ("name", NULL, NULL, "", flags);
  /**
   * DvmJob:label:
   *
   * The label of the job; many jobs may share one.
   *
   * Since: 0.1
   */
  properties[PROP_LABEL] = g_param_spec_string ("label", NULL, NULL, "", flags);
  /**
   * DvmJob:state:
   *
   * The state.
   *
   * Since: 0.1
   */
  properties[PROP_STATE] = g_param_spec_enum ("state", NULL, NULL, DVM_TYPE_JOB_STATE, DVM_JOB_STATE_UNDEF, flags);
  /**
   * DvmJob:state-name:
   *
   * The name of the state, such as "RUNNING".
   *
   * Since: 0.1
   */
  properties[PROP_STATE_NAME] = g_param_spec_string ("state-name", NULL, NULL, "", flags);
  /**
   * DvmJob:ended:
   *
   * Whether the job has ended and its output is delivered.
   *
   * Since: 0.1
   */
  properties[PROP_ENDED] = g_param_spec_boolean ("ended", NULL, NULL, FALSE, flags);
  /**
   * DvmJob:failed:
   *
   * Whether the state is an error.
   *
   * Since: 0.1
   */
  properties[PROP_FAILED] = g_param_spec_boolean ("failed", NULL, NULL, FALSE, flags);
  /**
   * DvmJob:reason:
   *
   * Why the job is in its state.
   *
   * Since: 0.1
   */
  properties[PROP_REASON] = g_param_spec_string ("reason", NULL, NULL, "", flags);
  /**
   * DvmJob:held-at:
   *
   * What the job waits for: "" (nothing), "slots", "map" or "launch".
   *
   * Since: 0.1
   */
  properties[PROP_HELD_AT] = g_param_spec_string ("held-at", NULL, NULL, "", flags);
  /**
   * DvmJob:num-procs:
   *
   * The number of processes.
   *
   * Since: 0.1
   */
  properties[PROP_NUM_PROCS] = g_param_spec_uint ("num-procs", NULL, NULL, 0, G_MAXUINT, 0, flags);
  /**
   * DvmJob:num-launched:
   *
   * The number of processes that have been started.
   *
   * Since: 0.1
   */
  properties[PROP_NUM_LAUNCHED] = g_param_spec_uint ("num-launched", NULL, NULL, 0, G_MAXUINT, 0, flags);
  /**
   * DvmJob:num-registered:
   *
   * The number of processes that have called PMIx_Init.
   *
   * Since: 0.1
   */
  properties[PROP_NUM_REGISTERED] = g_param_spec_uint ("num-registered", NULL, NULL, 0, G_MAXUINT, 0, flags);
  /**
   * DvmJob:num-terminated:
   *
   * The number of processes that have ended.
   *
   * Since: 0.1
   */
  properties[PROP_NUM_TERMINATED] = g_param_spec_uint ("num-terminated", NULL, NULL, 0, G_MAXUINT, 0, flags);
  /**
   * DvmJob:exit-code:
   *
   * The exit status of the first process that failed, 0 if none did.
   *
   * Since: 0.1
   */
  properties[PROP_EXIT_CODE] = g_param_spec_int ("exit-code", NULL, NULL, G_MININT, G_MAXINT, 0, flags);
  /**
   * DvmJob:exit-signal:
   *
   * The signal that ended the first process that failed, 0 for none.
   *
   * Since: 0.1
   */
  properties[PROP_EXIT_SIGNAL] = g_param_spec_int ("exit-signal", NULL, NULL, G_MININT, G_MAXINT, 0, flags);
  /**
   * DvmJob:failed-rank:
   *
   * The rank of the first process that failed, -1 for none.
   *
   * Since: 0.1
   */
  properties[PROP_FAILED_RANK] = g_param_spec_int ("failed-rank", NULL, NULL, -1, G_MAXINT, -1, flags);
  /**
   * DvmJob:session:
   *
   * The object path of the session that the job runs in.
   *
   * Since: 0.1
   */
  properties[PROP_SESSION] = g_param_spec_string ("session", NULL, NULL, "/", flags);
  /**
   * DvmJob:command:
   *
   * The program and its arguments.
   *
   * Since: 0.1
   */
  properties[PROP_COMMAND] = g_param_spec_boxed ("command", NULL, NULL, G_TYPE_STRV, flags);
  /**
   * DvmJob:nodes:
   *
   * The names of the nodes that the job runs on.
   *
   * Since: 0.1
   */
  properties[PROP_NODES] = g_param_spec_boxed ("nodes", NULL, NULL, G_TYPE_STRV, flags);
  /**
   * DvmJob:submitter:
   *
   * Who submitted the job, such as ":1.42" or "private:7".
   *
   * Since: 0.1
   */
  properties[PROP_SUBMITTER] = g_param_spec_string ("submitter", NULL, NULL, "", flags);
  /**
   * DvmJob:submitter-uid:
   *
   * The user id of the submitter.
   *
   * Since: 0.1
   */
  properties[PROP_SUBMITTER_UID] = g_param_spec_uint ("submitter-uid", NULL, NULL, 0, G_MAXUINT, 0, flags);
  /**
   * DvmJob:submitter-pid:
   *
   * The process id of the submitter, 0 if it is not known.
   *
   * Since: 0.1
   */
  properties[PROP_SUBMITTER_PID] = g_param_spec_uint ("submitter-pid", NULL, NULL, 0, G_MAXUINT, 0, flags);
  /**
   * DvmJob:created-at:
   *
   * When the job was submitted, in microseconds since the epoch; 0 if that has not happened.
   *
   * Since: 0.1
   */
  properties[PROP_CREATED_AT] = g_param_spec_int64 ("created-at", NULL, NULL, 0, G_MAXINT64, 0, flags);
  /**
   * DvmJob:started-at:
   *
   * When its first process was started, in microseconds since the epoch; 0 if that has not happened.
   *
   * Since: 0.1
   */
  properties[PROP_STARTED_AT] = g_param_spec_int64 ("started-at", NULL, NULL, 0, G_MAXINT64, 0, flags);
  /**
   * DvmJob:ended-at:
   *
   * When it ended, in microseconds since the epoch; 0 if that has not happened.
   *
   * Since: 0.1
   */
  properties[PROP_ENDED_AT] = g_param_spec_int64 ("ended-at", NULL, NULL, 0, G_MAXINT64, 0, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
set_state_variants (gpointer record, GVariant *state, GVariant *reason)
{
  DvmJob *self = record;
  DvmJobState new_state = state != NULL ? (DvmJobState)g_variant_get_uint32 (state) : self->state;
  const char *new_reason = reason != NULL ? g_variant_get_string (reason, NULL) : self->reason;

  if (new_state != self->state)
    _dvm_job_set_state (self, new_state, new_reason);
  else
    _dvm_record_set_string (self, &self->reason, new_reason, properties[PROP_REASON]);
}

static const DvmRecordCodec codec = {
  .fields = fields,
  .n_fields = G_N_ELEMENTS (fields),
  .get = get_field,
  .set = set_field,
  .set_state = set_state_variants,
  .state_name = get_state_name,
};

static void
dvm_job_finalize (GObject *object)
{
  DvmJob *self = DVM_JOB (object);

  g_free (self->nspace);
  g_free (self->name);
  g_free (self->label);
  g_free (self->reason);
  g_free (self->held_at);
  g_free (self->session);
  g_strfreev (self->command);
  g_strfreev (self->nodes);
  g_free (self->submitter);
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
  install_properties (object_class);
  install_signals ();
  _dvm_record_class_set_codec (klass, &codec);
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
  gboolean failed_before = dvm_job_state_is_error (old_state);

  _dvm_record_set_string (self, &self->reason, reason, properties[PROP_REASON]);
  if (state == old_state)
    return;
  self->state = state;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE]);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE_NAME]);
  if (dvm_job_state_is_error (state) != failed_before)
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_FAILED]);
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
