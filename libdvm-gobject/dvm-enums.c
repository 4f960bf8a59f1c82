/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The states and kinds of all objects have numbers and names.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-enums"

#include <string.h>

#include "dvm.h"

/* The name for a number of a newer daemon that this library does not know. */
#define UNKNOWN_STATE "INVALID"

typedef struct
{
  guint state;
  const char *name;
} StateName;

static const StateName job_states[] = {
  { DVM_JOB_STATE_UNDEF, "UNDEF" },
  { DVM_JOB_STATE_INIT, "INIT" },
  { DVM_JOB_STATE_INIT_COMPLETE, "INIT_COMPLETE" },
  { DVM_JOB_STATE_ALLOCATE, "ALLOCATE" },
  { DVM_JOB_STATE_ALLOCATION_COMPLETE, "ALLOCATION_COMPLETE" },
  { DVM_JOB_STATE_MAP, "MAP" },
  { DVM_JOB_STATE_MAP_COMPLETE, "MAP_COMPLETE" },
  { DVM_JOB_STATE_SYSTEM_PREP, "SYSTEM_PREP" },
  { DVM_JOB_STATE_LAUNCH_DAEMONS, "LAUNCH_DAEMONS" },
  { DVM_JOB_STATE_DAEMONS_LAUNCHED, "DAEMONS_LAUNCHED" },
  { DVM_JOB_STATE_DAEMONS_REPORTED, "DAEMONS_REPORTED" },
  { DVM_JOB_STATE_VM_READY, "VM_READY" },
  { DVM_JOB_STATE_LAUNCH_APPS, "LAUNCH_APPS" },
  { DVM_JOB_STATE_SEND_LAUNCH_MSG, "SEND_LAUNCH_MSG" },
  { DVM_JOB_STATE_RUNNING, "RUNNING" },
  { DVM_JOB_STATE_SUSPENDED, "SUSPENDED" },
  { DVM_JOB_STATE_REGISTERED, "REGISTERED" },
  { DVM_JOB_STATE_WAITING_FOR_DAEMONS, "WAITING_FOR_DAEMONS" },
  { DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE, "LOCAL_LAUNCH_COMPLETE" },
  { DVM_JOB_STATE_READY_FOR_DEBUG, "READY_FOR_DEBUG" },
  { DVM_JOB_STATE_STARTED, "STARTED" },
  { DVM_JOB_STATE_UNTERMINATED, "UNTERMINATED" },
  { DVM_JOB_STATE_TERMINATED, "TERMINATED" },
  { DVM_JOB_STATE_ALL_JOBS_COMPLETE, "ALL_JOBS_COMPLETE" },
  { DVM_JOB_STATE_DAEMONS_TERMINATED, "DAEMONS_TERMINATED" },
  { DVM_JOB_STATE_NOTIFY_COMPLETED, "NOTIFY_COMPLETED" },
  { DVM_JOB_STATE_NOTIFIED, "NOTIFIED" },
  { DVM_JOB_STATE_ERROR, "ERROR" },
  { DVM_JOB_STATE_KILLED_BY_CMD, "KILLED_BY_CMD" },
  { DVM_JOB_STATE_ABORTED, "ABORTED" },
  { DVM_JOB_STATE_FAILED_TO_START, "FAILED_TO_START" },
  { DVM_JOB_STATE_ABORTED_BY_SIG, "ABORTED_BY_SIG" },
  { DVM_JOB_STATE_ABORTED_WO_SYNC, "ABORTED_WO_SYNC" },
  { DVM_JOB_STATE_COMM_FAILED, "COMM_FAILED" },
  { DVM_JOB_STATE_SENSOR_BOUND_EXCEEDED, "SENSOR_BOUND_EXCEEDED" },
  { DVM_JOB_STATE_CALLED_ABORT, "CALLED_ABORT" },
  { DVM_JOB_STATE_HEARTBEAT_FAILED, "HEARTBEAT_FAILED" },
  { DVM_JOB_STATE_NEVER_LAUNCHED, "NEVER_LAUNCHED" },
  { DVM_JOB_STATE_ABORT_ORDERED, "ABORT_ORDERED" },
  { DVM_JOB_STATE_NON_ZERO_TERM, "NON_ZERO_TERM" },
  { DVM_JOB_STATE_FAILED_TO_LAUNCH, "FAILED_TO_LAUNCH" },
  { DVM_JOB_STATE_FORCED_EXIT, "FORCED_EXIT" },
  { DVM_JOB_STATE_SILENT_ABORT, "SILENT_ABORT" },
  { DVM_JOB_STATE_REPORT_PROGRESS, "REPORT_PROGRESS" },
  { DVM_JOB_STATE_ALLOC_FAILED, "ALLOC_FAILED" },
  { DVM_JOB_STATE_MAP_FAILED, "MAP_FAILED" },
  { DVM_JOB_STATE_CANNOT_LAUNCH, "CANNOT_LAUNCH" },
  { DVM_JOB_STATE_FILES_POSN_FAILED, "FILES_POSN_FAILED" },
};

static const StateName proc_states[] = {
  { DVM_PROC_STATE_UNDEF, "UNDEF" },
  { DVM_PROC_STATE_INIT, "INIT" },
  { DVM_PROC_STATE_RESTART, "RESTART" },
  { DVM_PROC_STATE_TERMINATE, "TERMINATE" },
  { DVM_PROC_STATE_RUNNING, "RUNNING" },
  { DVM_PROC_STATE_REGISTERED, "REGISTERED" },
  { DVM_PROC_STATE_IOF_COMPLETE, "IOF_COMPLETE" },
  { DVM_PROC_STATE_WAITPID_FIRED, "WAITPID_FIRED" },
  { DVM_PROC_STATE_MODEX_READY, "MODEX_READY" },
  { DVM_PROC_STATE_READY_FOR_DEBUG, "READY_FOR_DEBUG" },
  { DVM_PROC_STATE_UNTERMINATED, "UNTERMINATED" },
  { DVM_PROC_STATE_TERMINATED, "TERMINATED" },
  { DVM_PROC_STATE_ERROR, "ERROR" },
  { DVM_PROC_STATE_KILLED_BY_CMD, "KILLED_BY_CMD" },
  { DVM_PROC_STATE_ABORTED, "ABORTED" },
  { DVM_PROC_STATE_FAILED_TO_START, "FAILED_TO_START" },
  { DVM_PROC_STATE_ABORTED_BY_SIG, "ABORTED_BY_SIG" },
  { DVM_PROC_STATE_TERM_WO_SYNC, "TERM_WO_SYNC" },
  { DVM_PROC_STATE_COMM_FAILED, "COMM_FAILED" },
  { DVM_PROC_STATE_SENSOR_BOUND_EXCEEDED, "SENSOR_BOUND_EXCEEDED" },
  { DVM_PROC_STATE_CALLED_ABORT, "CALLED_ABORT" },
  { DVM_PROC_STATE_HEARTBEAT_FAILED, "HEARTBEAT_FAILED" },
  { DVM_PROC_STATE_MIGRATING, "MIGRATING" },
  { DVM_PROC_STATE_CANNOT_RESTART, "CANNOT_RESTART" },
  { DVM_PROC_STATE_TERM_NON_ZERO, "TERM_NON_ZERO" },
  { DVM_PROC_STATE_FAILED_TO_LAUNCH, "FAILED_TO_LAUNCH" },
  { DVM_PROC_STATE_UNABLE_TO_SEND_MSG, "UNABLE_TO_SEND_MSG" },
  { DVM_PROC_STATE_LIFELINE_LOST, "LIFELINE_LOST" },
  { DVM_PROC_STATE_NO_PATH_TO_TARGET, "NO_PATH_TO_TARGET" },
  { DVM_PROC_STATE_FAILED_TO_CONNECT, "FAILED_TO_CONNECT" },
  { DVM_PROC_STATE_PEER_UNKNOWN, "PEER_UNKNOWN" },
};

static const StateName node_states[] = {
  { DVM_NODE_STATE_UNDEF, "UNDEF" },
  { DVM_NODE_STATE_UNKNOWN, "UNKNOWN" },
  { DVM_NODE_STATE_DOWN, "DOWN" },
  { DVM_NODE_STATE_UP, "UP" },
  { DVM_NODE_STATE_REBOOT, "REBOOT" },
  { DVM_NODE_STATE_DO_NOT_USE, "DO_NOT_USE" },
  { DVM_NODE_STATE_NOT_INCLUDED, "NOT_INCLUDED" },
  { DVM_NODE_STATE_ADDED, "ADDED" },
};

static const char *
name_of (const StateName *table, gsize length, guint state)
{
  for (gsize i = 0; i < length; i++)
    if (table[i].state == state)
      return table[i].name;
  return UNKNOWN_STATE;
}

static gboolean
state_of (const StateName *table, gsize length, const char *name, guint *state)
{
  for (gsize i = 0; i < length; i++)
    if (g_ascii_strcasecmp (table[i].name, name) == 0)
      {
        if (state != NULL)
          *state = table[i].state;
        return TRUE;
      }
  return FALSE;
}

/**
 * dvm_job_state_to_string:
 * @state: a state
 *
 * The name of a state as in the specification, without prefix: "VM_READY".
 *
 * Returns: (transfer none): the name, "INVALID" for a number that is not known
 * Since: 0.1
 */
const char *
dvm_job_state_to_string (DvmJobState state)
{
  return name_of (job_states, G_N_ELEMENTS (job_states), state);
}

/**
 * dvm_job_state_from_string:
 * @name: a name, in upper or lower case
 * @state: (out) (optional): the state
 *
 * Finds the state of a name.
 *
 * Returns: %FALSE if there is no such state; @state is then left alone
 * Since: 0.1
 */
gboolean
dvm_job_state_from_string (const char *name, DvmJobState *state)
{
  g_return_val_if_fail (name != NULL, FALSE);

  return state_of (job_states, G_N_ELEMENTS (job_states), name, state);
}

/**
 * dvm_job_state_is_live:
 * @state: a state
 *
 * Whether a job in this state still has a way to go: it has neither terminated nor failed.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_job_state_is_live (DvmJobState state)
{
  return state < DVM_JOB_STATE_UNTERMINATED;
}

/**
 * dvm_job_state_is_error:
 * @state: a state
 *
 * Whether this is an error state.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_job_state_is_error (DvmJobState state)
{
  return state >= DVM_JOB_STATE_ERROR;
}

/**
 * dvm_proc_state_to_string:
 * @state: a state
 *
 * The name of a state as in the specification, without prefix: "RUNNING".
 *
 * Returns: (transfer none): the name, "INVALID" for a number that is not known
 * Since: 0.1
 */
const char *
dvm_proc_state_to_string (DvmProcState state)
{
  return name_of (proc_states, G_N_ELEMENTS (proc_states), state);
}

/**
 * dvm_proc_state_from_string:
 * @name: a name, in upper or lower case
 * @state: (out) (optional): the state
 *
 * Finds the state of a name.
 *
 * Returns: %FALSE if there is no such state; @state is then left alone
 * Since: 0.1
 */
gboolean
dvm_proc_state_from_string (const char *name, DvmProcState *state)
{
  g_return_val_if_fail (name != NULL, FALSE);

  return state_of (proc_states, G_N_ELEMENTS (proc_states), name, state);
}

/**
 * dvm_proc_state_is_live:
 * @state: a state
 *
 * Whether a process in this state has neither terminated nor failed.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_proc_state_is_live (DvmProcState state)
{
  return state < DVM_PROC_STATE_UNTERMINATED;
}

/**
 * dvm_proc_state_is_error:
 * @state: a state
 *
 * Whether this is an error state.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_proc_state_is_error (DvmProcState state)
{
  return state >= DVM_PROC_STATE_ERROR;
}

/**
 * dvm_node_state_to_string:
 * @state: a state
 *
 * The name of a state as in the specification, without prefix: "UP".
 *
 * Returns: (transfer none): the name, "INVALID" for a number that is not known
 * Since: 0.1
 */
const char *
dvm_node_state_to_string (DvmNodeState state)
{
  return name_of (node_states, G_N_ELEMENTS (node_states), state);
}

/**
 * dvm_node_state_from_string:
 * @name: a name, in upper or lower case
 * @state: (out) (optional): the state
 *
 * Finds the state of a name.
 *
 * Returns: %FALSE if there is no such state; @state is then left alone
 * Since: 0.1
 */
gboolean
dvm_node_state_from_string (const char *name, DvmNodeState *state)
{
  g_return_val_if_fail (name != NULL, FALSE);

  return state_of (node_states, G_N_ELEMENTS (node_states), name, state);
}

static int
find_word (const char *const *words, gsize n_words, const char *name)
{
  for (gsize i = 1; name != NULL && i < n_words; i++)
    if (strcmp (words[i], name) == 0)
      return i;
  return 0;
}

static const char *const session_states[] = { "undef", "active", "paused", "terminating", "ended" };
static const char *const campaign_kinds[] = { "undef", "grow", "shrink" };
static const char *const campaign_states[] = { "undef", "waiting", "running", "rolling-back", "completed", "failed" };

/**
 * dvm_session_state_to_string:
 * @state: a state of a session
 *
 * The word for a state of a session that stands on the bus.
 *
 * Returns: (transfer none): the word, "undef" for what has none
 * Since: 0.1
 */
const char *
dvm_session_state_to_string (DvmSessionState state)
{
  return (guint)state < G_N_ELEMENTS (session_states) ? session_states[state] : session_states[0];
}

/**
 * dvm_session_state_from_string:
 * @name: (nullable): a word such as it stands on the bus, or %NULL
 *
 * The state of a session that a word stands for.
 *
 * Returns: the state of a session, %DVM_SESSION_STATE_UNDEF for words that are not known
 * Since: 0.1
 */
DvmSessionState
dvm_session_state_from_string (const char *name)
{
  return (DvmSessionState)find_word (session_states, G_N_ELEMENTS (session_states), name);
}

/**
 * dvm_campaign_kind_to_string:
 * @kind: a kind of a campaign
 *
 * The word for a kind of a campaign that stands on the bus.
 *
 * Returns: (transfer none): the word, "undef" for what has none
 * Since: 0.1
 */
const char *
dvm_campaign_kind_to_string (DvmCampaignKind kind)
{
  return (guint)kind < G_N_ELEMENTS (campaign_kinds) ? campaign_kinds[kind] : campaign_kinds[0];
}

/**
 * dvm_campaign_kind_from_string:
 * @name: (nullable): a word such as it stands on the bus, or %NULL
 *
 * The kind of a campaign that a word stands for.
 *
 * Returns: the kind of a campaign, %DVM_CAMPAIGN_KIND_UNDEF for words that are not known
 * Since: 0.1
 */
DvmCampaignKind
dvm_campaign_kind_from_string (const char *name)
{
  return (DvmCampaignKind)find_word (campaign_kinds, G_N_ELEMENTS (campaign_kinds), name);
}

/**
 * dvm_campaign_state_to_string:
 * @state: a state of a campaign
 *
 * The word for a state of a campaign that stands on the bus.
 *
 * Returns: (transfer none): the word, "undef" for what has none
 * Since: 0.1
 */
const char *
dvm_campaign_state_to_string (DvmCampaignState state)
{
  return (guint)state < G_N_ELEMENTS (campaign_states) ? campaign_states[state] : campaign_states[0];
}

/**
 * dvm_campaign_state_from_string:
 * @name: (nullable): a word such as it stands on the bus, or %NULL
 *
 * The state of a campaign that a word stands for.
 *
 * Returns: the state of a campaign, %DVM_CAMPAIGN_STATE_UNDEF for words that are not known
 * Since: 0.1
 */
DvmCampaignState
dvm_campaign_state_from_string (const char *name)
{
  return (DvmCampaignState)find_word (campaign_states, G_N_ELEMENTS (campaign_states), name);
}
