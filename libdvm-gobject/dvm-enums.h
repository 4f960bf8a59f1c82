/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#if !defined(DVM_INSIDE) && !defined(DVM_COMPILATION)
#error "Only <dvm.h> can be included directly."
#endif

#include <glib-object.h>

G_BEGIN_DECLS

/**
 * DvmJobState:
 * @DVM_JOB_STATE_UNDEF: no state yet
 * @DVM_JOB_STATE_INIT: the record exists, an id is to be given
 * @DVM_JOB_STATE_INIT_COMPLETE: the id is given; jobs that come before the DVM is ready are kept here
 * @DVM_JOB_STATE_ALLOCATE: resources are looked for; a job that waits for slots is held here
 * @DVM_JOB_STATE_ALLOCATION_COMPLETE: the candidate nodes are known
 * @DVM_JOB_STATE_MAP: processes are being placed
 * @DVM_JOB_STATE_MAP_COMPLETE: every process has its node
 * @DVM_JOB_STATE_SYSTEM_PREP: last checks and the environment
 * @DVM_JOB_STATE_LAUNCH_DAEMONS: agents that are missing are started
 * @DVM_JOB_STATE_DAEMONS_LAUNCHED: agents have been started and are awaited
 * @DVM_JOB_STATE_DAEMONS_REPORTED: every expected agent has reported
 * @DVM_JOB_STATE_VM_READY: membership is distributed, the DVM takes work
 * @DVM_JOB_STATE_LAUNCH_APPS: the launch directives are prepared
 * @DVM_JOB_STATE_SEND_LAUNCH_MSG: the launch message is sent
 * @DVM_JOB_STATE_RUNNING: every process is started
 * @DVM_JOB_STATE_SUSPENDED: reserved by the specification
 * @DVM_JOB_STATE_REGISTERED: every process has called PMIx_Init
 * @DVM_JOB_STATE_WAITING_FOR_DAEMONS: parked by a campaign
 * @DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE: an agent has tried all of its processes; of a job that stops for a debugger all
 *   agents have
 * @DVM_JOB_STATE_READY_FOR_DEBUG: every process waits for a debugger
 * @DVM_JOB_STATE_STARTED: the first process is started
 * @DVM_JOB_STATE_UNTERMINATED: boundary, states below are live
 * @DVM_JOB_STATE_TERMINATED: every process has ended
 * @DVM_JOB_STATE_ALL_JOBS_COMPLETE: the DVM has no more work and ends
 * @DVM_JOB_STATE_DAEMONS_TERMINATED: every agent has ended
 * @DVM_JOB_STATE_NOTIFY_COMPLETED: the end is being told
 * @DVM_JOB_STATE_NOTIFIED: the end has been told; final
 * @DVM_JOB_STATE_ERROR: boundary, states above are errors
 * @DVM_JOB_STATE_KILLED_BY_CMD: killed by a command
 * @DVM_JOB_STATE_ABORTED: aborted
 * @DVM_JOB_STATE_FAILED_TO_START: a process could not be started
 * @DVM_JOB_STATE_ABORTED_BY_SIG: a process died by a signal
 * @DVM_JOB_STATE_ABORTED_WO_SYNC: a process left without PMIx_Finalize
 * @DVM_JOB_STATE_COMM_FAILED: contact with processes was lost
 * @DVM_JOB_STATE_SENSOR_BOUND_EXCEEDED: reserved by the specification
 * @DVM_JOB_STATE_CALLED_ABORT: a process called PMIx_Abort
 * @DVM_JOB_STATE_HEARTBEAT_FAILED: reserved by the specification
 * @DVM_JOB_STATE_NEVER_LAUNCHED: given up before it was launched
 * @DVM_JOB_STATE_ABORT_ORDERED: reserved by the specification
 * @DVM_JOB_STATE_NON_ZERO_TERM: a process ended with a status other than zero
 * @DVM_JOB_STATE_FAILED_TO_LAUNCH: the launch could not be carried out
 * @DVM_JOB_STATE_FORCED_EXIT: the DVM was forced to end
 * @DVM_JOB_STATE_SILENT_ABORT: reserved by the specification
 * @DVM_JOB_STATE_REPORT_PROGRESS: reserved by the specification
 * @DVM_JOB_STATE_ALLOC_FAILED: no nodes could be had
 * @DVM_JOB_STATE_MAP_FAILED: the processes could not be placed
 * @DVM_JOB_STATE_CANNOT_LAUNCH: resources are busy
 * @DVM_JOB_STATE_FILES_POSN_FAILED: files could not be staged
 *
 * States of a job and of the DVM's own job; numbers as in spec/000.
 *
 * The numbers are not in the order of time: use #DvmJob:ended and #DvmJob:failed.
 *
 * Since: 0.1
 */
typedef enum
{
  DVM_JOB_STATE_UNDEF = 0,
  DVM_JOB_STATE_INIT = 1,
  DVM_JOB_STATE_INIT_COMPLETE = 2,
  DVM_JOB_STATE_ALLOCATE = 3,
  DVM_JOB_STATE_ALLOCATION_COMPLETE = 4,
  DVM_JOB_STATE_MAP = 5,
  DVM_JOB_STATE_MAP_COMPLETE = 6,
  DVM_JOB_STATE_SYSTEM_PREP = 7,
  DVM_JOB_STATE_LAUNCH_DAEMONS = 8,
  DVM_JOB_STATE_DAEMONS_LAUNCHED = 9,
  DVM_JOB_STATE_DAEMONS_REPORTED = 10,
  DVM_JOB_STATE_VM_READY = 11,
  DVM_JOB_STATE_LAUNCH_APPS = 12,
  DVM_JOB_STATE_SEND_LAUNCH_MSG = 13,
  DVM_JOB_STATE_RUNNING = 14,
  DVM_JOB_STATE_SUSPENDED = 15,
  DVM_JOB_STATE_REGISTERED = 16,
  DVM_JOB_STATE_WAITING_FOR_DAEMONS = 17,
  DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE = 18,
  DVM_JOB_STATE_READY_FOR_DEBUG = 19,
  DVM_JOB_STATE_STARTED = 20,
  DVM_JOB_STATE_UNTERMINATED = 30,
  DVM_JOB_STATE_TERMINATED = 31,
  DVM_JOB_STATE_ALL_JOBS_COMPLETE = 32,
  DVM_JOB_STATE_DAEMONS_TERMINATED = 33,
  DVM_JOB_STATE_NOTIFY_COMPLETED = 34,
  DVM_JOB_STATE_NOTIFIED = 35,
  DVM_JOB_STATE_ERROR = 50,
  DVM_JOB_STATE_KILLED_BY_CMD = 51,
  DVM_JOB_STATE_ABORTED = 52,
  DVM_JOB_STATE_FAILED_TO_START = 53,
  DVM_JOB_STATE_ABORTED_BY_SIG = 54,
  DVM_JOB_STATE_ABORTED_WO_SYNC = 55,
  DVM_JOB_STATE_COMM_FAILED = 56,
  DVM_JOB_STATE_SENSOR_BOUND_EXCEEDED = 57,
  DVM_JOB_STATE_CALLED_ABORT = 58,
  DVM_JOB_STATE_HEARTBEAT_FAILED = 59,
  DVM_JOB_STATE_NEVER_LAUNCHED = 60,
  DVM_JOB_STATE_ABORT_ORDERED = 61,
  DVM_JOB_STATE_NON_ZERO_TERM = 62,
  DVM_JOB_STATE_FAILED_TO_LAUNCH = 63,
  DVM_JOB_STATE_FORCED_EXIT = 64,
  DVM_JOB_STATE_SILENT_ABORT = 66,
  DVM_JOB_STATE_REPORT_PROGRESS = 67,
  DVM_JOB_STATE_ALLOC_FAILED = 68,
  DVM_JOB_STATE_MAP_FAILED = 69,
  DVM_JOB_STATE_CANNOT_LAUNCH = 70,
  DVM_JOB_STATE_FILES_POSN_FAILED = 71,
} DvmJobState;

/**
 * DvmProcState:
 * @DVM_PROC_STATE_UNDEF: no state yet
 * @DVM_PROC_STATE_INIT: placed by the mapper
 * @DVM_PROC_STATE_RESTART: reserved by the specification
 * @DVM_PROC_STATE_TERMINATE: reserved by the specification
 * @DVM_PROC_STATE_RUNNING: started
 * @DVM_PROC_STATE_REGISTERED: has called PMIx_Init
 * @DVM_PROC_STATE_IOF_COMPLETE: its output is closed
 * @DVM_PROC_STATE_WAITPID_FIRED: its exit status is known
 * @DVM_PROC_STATE_MODEX_READY: reserved by the specification
 * @DVM_PROC_STATE_READY_FOR_DEBUG: stopped, waits for a debugger
 * @DVM_PROC_STATE_UNTERMINATED: boundary, states below are live
 * @DVM_PROC_STATE_TERMINATED: ended, output closed and exit status known
 * @DVM_PROC_STATE_ERROR: boundary, states above are errors
 * @DVM_PROC_STATE_KILLED_BY_CMD: killed by a command
 * @DVM_PROC_STATE_ABORTED: aborted
 * @DVM_PROC_STATE_FAILED_TO_START: could not be started
 * @DVM_PROC_STATE_ABORTED_BY_SIG: died by a signal
 * @DVM_PROC_STATE_TERM_WO_SYNC: left without PMIx_Finalize
 * @DVM_PROC_STATE_COMM_FAILED: contact was lost
 * @DVM_PROC_STATE_SENSOR_BOUND_EXCEEDED: reserved by the specification
 * @DVM_PROC_STATE_CALLED_ABORT: called PMIx_Abort
 * @DVM_PROC_STATE_HEARTBEAT_FAILED: reserved by the specification
 * @DVM_PROC_STATE_MIGRATING: reserved by the specification
 * @DVM_PROC_STATE_CANNOT_RESTART: reserved by the specification
 * @DVM_PROC_STATE_TERM_NON_ZERO: ended with a status other than zero
 * @DVM_PROC_STATE_FAILED_TO_LAUNCH: its launch could not be carried out
 * @DVM_PROC_STATE_UNABLE_TO_SEND_MSG: reserved by the specification
 * @DVM_PROC_STATE_LIFELINE_LOST: reserved by the specification
 * @DVM_PROC_STATE_NO_PATH_TO_TARGET: reserved by the specification
 * @DVM_PROC_STATE_FAILED_TO_CONNECT: reserved by the specification
 * @DVM_PROC_STATE_PEER_UNKNOWN: reserved by the specification
 *
 * States of a process; numbers as in spec/000.
 *
 * Since: 0.1
 */
typedef enum
{
  DVM_PROC_STATE_UNDEF = 0,
  DVM_PROC_STATE_INIT = 1,
  DVM_PROC_STATE_RESTART = 2,
  DVM_PROC_STATE_TERMINATE = 3,
  DVM_PROC_STATE_RUNNING = 4,
  DVM_PROC_STATE_REGISTERED = 5,
  DVM_PROC_STATE_IOF_COMPLETE = 6,
  DVM_PROC_STATE_WAITPID_FIRED = 7,
  DVM_PROC_STATE_MODEX_READY = 8,
  DVM_PROC_STATE_READY_FOR_DEBUG = 9,
  DVM_PROC_STATE_UNTERMINATED = 15,
  DVM_PROC_STATE_TERMINATED = 20,
  DVM_PROC_STATE_ERROR = 50,
  DVM_PROC_STATE_KILLED_BY_CMD = 51,
  DVM_PROC_STATE_ABORTED = 52,
  DVM_PROC_STATE_FAILED_TO_START = 53,
  DVM_PROC_STATE_ABORTED_BY_SIG = 54,
  DVM_PROC_STATE_TERM_WO_SYNC = 55,
  DVM_PROC_STATE_COMM_FAILED = 56,
  DVM_PROC_STATE_SENSOR_BOUND_EXCEEDED = 57,
  DVM_PROC_STATE_CALLED_ABORT = 58,
  DVM_PROC_STATE_HEARTBEAT_FAILED = 59,
  DVM_PROC_STATE_MIGRATING = 60,
  DVM_PROC_STATE_CANNOT_RESTART = 61,
  DVM_PROC_STATE_TERM_NON_ZERO = 62,
  DVM_PROC_STATE_FAILED_TO_LAUNCH = 63,
  DVM_PROC_STATE_UNABLE_TO_SEND_MSG = 64,
  DVM_PROC_STATE_LIFELINE_LOST = 65,
  DVM_PROC_STATE_NO_PATH_TO_TARGET = 66,
  DVM_PROC_STATE_FAILED_TO_CONNECT = 67,
  DVM_PROC_STATE_PEER_UNKNOWN = 68,
} DvmProcState;

/**
 * DvmNodeState:
 * @DVM_NODE_STATE_UNDEF: no state yet
 * @DVM_NODE_STATE_UNKNOWN: known by name only
 * @DVM_NODE_STATE_DOWN: lost
 * @DVM_NODE_STATE_UP: its agent has reported and is wired in
 * @DVM_NODE_STATE_REBOOT: reserved by the specification
 * @DVM_NODE_STATE_DO_NOT_USE: not to be mapped onto
 * @DVM_NODE_STATE_NOT_INCLUDED: not part of the DVM
 * @DVM_NODE_STATE_ADDED: waits for its agent
 *
 * States of a node; numbers as in the specification.
 *
 * Since: 0.1
 */
typedef enum
{
  DVM_NODE_STATE_UNDEF = 0,
  DVM_NODE_STATE_UNKNOWN = 1,
  DVM_NODE_STATE_DOWN = 2,
  DVM_NODE_STATE_UP = 3,
  DVM_NODE_STATE_REBOOT = 4,
  DVM_NODE_STATE_DO_NOT_USE = 5,
  DVM_NODE_STATE_NOT_INCLUDED = 6,
  DVM_NODE_STATE_ADDED = 7,
} DvmNodeState;

/**
 * DvmSessionState:
 * @DVM_SESSION_STATE_UNDEF: no state yet, or one that this library does not know
 * @DVM_SESSION_STATE_ACTIVE: takes jobs
 * @DVM_SESSION_STATE_PAUSED: its jobs are stopped
 * @DVM_SESSION_STATE_TERMINATING: its jobs are being ended
 * @DVM_SESSION_STATE_ENDED: has ended; final
 *
 * States of a session.
 *
 * Since: 0.1
 */
typedef enum
{
  DVM_SESSION_STATE_UNDEF,
  DVM_SESSION_STATE_ACTIVE,
  DVM_SESSION_STATE_PAUSED,
  DVM_SESSION_STATE_TERMINATING,
  DVM_SESSION_STATE_ENDED,
} DvmSessionState;

/**
 * DvmCampaignKind:
 * @DVM_CAMPAIGN_KIND_UNDEF: not known
 * @DVM_CAMPAIGN_KIND_GROW: nodes come
 * @DVM_CAMPAIGN_KIND_SHRINK: nodes go
 *
 * What a campaign does.
 *
 * Since: 0.1
 */
typedef enum
{
  DVM_CAMPAIGN_KIND_UNDEF,
  DVM_CAMPAIGN_KIND_GROW,
  DVM_CAMPAIGN_KIND_SHRINK,
} DvmCampaignKind;

/**
 * DvmCampaignState:
 * @DVM_CAMPAIGN_STATE_UNDEF: no state yet, or one that this library does not know
 * @DVM_CAMPAIGN_STATE_WAITING: not begun
 * @DVM_CAMPAIGN_STATE_RUNNING: agents come or go
 * @DVM_CAMPAIGN_STATE_ROLLING_BACK: a grow has failed, and what has come leaves again
 * @DVM_CAMPAIGN_STATE_COMPLETED: done; final
 * @DVM_CAMPAIGN_STATE_FAILED: has failed; final
 *
 * States of a campaign.
 *
 * Since: 0.1
 */
typedef enum
{
  DVM_CAMPAIGN_STATE_UNDEF,
  DVM_CAMPAIGN_STATE_WAITING,
  DVM_CAMPAIGN_STATE_RUNNING,
  DVM_CAMPAIGN_STATE_ROLLING_BACK,
  DVM_CAMPAIGN_STATE_COMPLETED,
  DVM_CAMPAIGN_STATE_FAILED,
} DvmCampaignState;

/**
 * DvmStreams:
 * @DVM_STREAMS_NONE: no stream
 * @DVM_STREAMS_STDIN: the standard input of the job
 * @DVM_STREAMS_STDOUT: the standard output of all processes
 * @DVM_STREAMS_STDERR: the standard error of all processes
 * @DVM_STREAMS_PTY: the pseudo terminal of a job submitted with one
 *
 * Streams of a job, to attach to.
 *
 * Since: 0.1
 */
typedef enum /*< flags >*/
{
  DVM_STREAMS_NONE = 0,
  DVM_STREAMS_STDIN = 1 << 0,
  DVM_STREAMS_STDOUT = 1 << 1,
  DVM_STREAMS_STDERR = 1 << 2,
  DVM_STREAMS_PTY = 1 << 3,
} DvmStreams;

const char *dvm_job_state_to_string (DvmJobState state);
gboolean dvm_job_state_from_string (const char *name, DvmJobState *state);
gboolean dvm_job_state_is_live (DvmJobState state);
gboolean dvm_job_state_is_error (DvmJobState state);

const char *dvm_proc_state_to_string (DvmProcState state);
gboolean dvm_proc_state_from_string (const char *name, DvmProcState *state);
gboolean dvm_proc_state_is_live (DvmProcState state);
gboolean dvm_proc_state_is_error (DvmProcState state);

const char *dvm_node_state_to_string (DvmNodeState state);
gboolean dvm_node_state_from_string (const char *name, DvmNodeState *state);

const char *dvm_session_state_to_string (DvmSessionState state);
DvmSessionState dvm_session_state_from_string (const char *name);

const char *dvm_campaign_kind_to_string (DvmCampaignKind kind);
DvmCampaignKind dvm_campaign_kind_from_string (const char *name);
const char *dvm_campaign_state_to_string (DvmCampaignState state);
DvmCampaignState dvm_campaign_state_from_string (const char *name);

G_END_DECLS
