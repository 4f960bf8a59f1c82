/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The two tables of the job machine (spec/000, CONFORMANCE L1-L15) and its one writer.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-job"

#include "dvmd-job-machine.h"

#include "dvmd-core-news.h"
#include "dvmd-job-steps.h"

static const DvmdState job_states[] = {
  { DVM_JOB_STATE_UNDEF, NULL },
  { DVM_JOB_STATE_INIT, dvmd_job_step_init },
  { DVM_JOB_STATE_INIT_COMPLETE, dvmd_job_step_init_complete },
  { DVM_JOB_STATE_ALLOCATE, dvmd_job_step_allocate },
  { DVM_JOB_STATE_ALLOCATION_COMPLETE, dvmd_job_step_allocation_complete },
  { DVM_JOB_STATE_LAUNCH_DAEMONS, dvmd_job_step_launch_daemons },
  { DVM_JOB_STATE_DAEMONS_LAUNCHED, NULL },
  { DVM_JOB_STATE_DAEMONS_REPORTED, dvmd_job_step_daemons_reported },
  { DVM_JOB_STATE_VM_READY, dvmd_job_step_vm_ready },
  { DVM_JOB_STATE_MAP, dvmd_job_step_map },
  { DVM_JOB_STATE_MAP_COMPLETE, dvmd_job_step_map_complete },
  { DVM_JOB_STATE_SYSTEM_PREP, dvmd_job_step_system_prep },
  { DVM_JOB_STATE_WAITING_FOR_DAEMONS, NULL },
  { DVM_JOB_STATE_LAUNCH_APPS, dvmd_job_step_launch_apps },
  { DVM_JOB_STATE_SEND_LAUNCH_MSG, dvmd_job_step_send_launch_msg },
  { DVM_JOB_STATE_STARTED, dvmd_job_step_started },
  { DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE, NULL },
  { DVM_JOB_STATE_READY_FOR_DEBUG, dvmd_job_step_all_started },
  { DVM_JOB_STATE_RUNNING, dvmd_job_step_all_started },
  { DVM_JOB_STATE_REGISTERED, NULL },
  { DVM_JOB_STATE_TERMINATED, dvmd_job_step_terminated },
  { DVM_JOB_STATE_NOTIFY_COMPLETED, dvmd_job_step_notify_completed },
  { DVM_JOB_STATE_NOTIFIED, dvmd_job_step_notified },
};

static const DvmdTransition job_transitions[] = {
  { DVM_JOB_STATE_UNDEF, DVMD_JOB_CREATED, DVM_JOB_STATE_INIT, NULL },
  { DVM_JOB_STATE_INIT, DVMD_JOB_SET_UP, DVM_JOB_STATE_INIT_COMPLETE, NULL },
  { DVM_JOB_STATE_INIT_COMPLETE, DVMD_JOB_DISPATCHED, DVM_JOB_STATE_ALLOCATE, NULL },
  { DVM_JOB_STATE_ALLOCATE, DVMD_JOB_ALLOCATED, DVM_JOB_STATE_ALLOCATION_COMPLETE, NULL },
  { DVM_JOB_STATE_ALLOCATION_COMPLETE, DVMD_JOB_NEEDS_AGENTS, DVM_JOB_STATE_LAUNCH_DAEMONS, NULL },
  { DVM_JOB_STATE_ALLOCATION_COMPLETE, DVMD_JOB_NEEDS_NO_LAUNCH, DVM_JOB_STATE_DAEMONS_REPORTED, NULL },
  { DVM_JOB_STATE_LAUNCH_DAEMONS, DVMD_JOB_AGENTS_LAUNCHED, DVM_JOB_STATE_DAEMONS_LAUNCHED, NULL },
  { DVM_JOB_STATE_LAUNCH_DAEMONS, DVMD_JOB_AGENTS_REPORTED, DVM_JOB_STATE_DAEMONS_REPORTED, NULL },
  { DVM_JOB_STATE_DAEMONS_LAUNCHED, DVMD_JOB_AGENTS_REPORTED, DVM_JOB_STATE_DAEMONS_REPORTED, NULL },
  { DVM_JOB_STATE_DAEMONS_REPORTED, DVMD_JOB_VM_USABLE, DVM_JOB_STATE_VM_READY, NULL },
  { DVM_JOB_STATE_VM_READY, DVMD_JOB_ADMITTED, DVM_JOB_STATE_MAP, NULL },
  { DVM_JOB_STATE_VM_READY, DVMD_JOB_NO_ROOM, DVM_JOB_STATE_ALLOCATE, NULL },
  { DVM_JOB_STATE_MAP, DVMD_JOB_MAPPED, DVM_JOB_STATE_MAP_COMPLETE, NULL },
  /* A node that it was to have was lost. */
  { DVM_JOB_STATE_MAP, DVMD_JOB_NO_ROOM, DVM_JOB_STATE_ALLOCATE, NULL },
  /* A session that is paused. */
  { DVM_JOB_STATE_VM_READY, DVMD_JOB_HELD, DVM_JOB_STATE_ALLOCATE, NULL },
  { DVM_JOB_STATE_MAP, DVMD_JOB_HELD, DVM_JOB_STATE_ALLOCATE, NULL },
  { DVM_JOB_STATE_ALLOCATE, DVMD_JOB_UNHELD, DVM_JOB_STATE_ALLOCATION_COMPLETE, NULL },
  { DVM_JOB_STATE_LAUNCH_APPS, DVMD_JOB_UNHELD, DVM_JOB_STATE_LAUNCH_APPS, NULL },
  { DVM_JOB_STATE_SEND_LAUNCH_MSG, DVMD_JOB_UNHELD, DVM_JOB_STATE_LAUNCH_APPS, NULL },
  /* The launch fence. */
  { DVM_JOB_STATE_VM_READY, DVMD_JOB_PARKED, DVM_JOB_STATE_WAITING_FOR_DAEMONS, NULL },
  { DVM_JOB_STATE_MAP, DVMD_JOB_PARKED, DVM_JOB_STATE_WAITING_FOR_DAEMONS, NULL },
  { DVM_JOB_STATE_LAUNCH_APPS, DVMD_JOB_PARKED, DVM_JOB_STATE_WAITING_FOR_DAEMONS, NULL },
  { DVM_JOB_STATE_SEND_LAUNCH_MSG, DVMD_JOB_PARKED, DVM_JOB_STATE_WAITING_FOR_DAEMONS, NULL },
  { DVM_JOB_STATE_WAITING_FOR_DAEMONS, DVMD_JOB_LET_MAP, DVM_JOB_STATE_VM_READY, NULL },
  { DVM_JOB_STATE_WAITING_FOR_DAEMONS, DVMD_JOB_LET_LAUNCH, DVM_JOB_STATE_LAUNCH_APPS, NULL },
  { DVM_JOB_STATE_WAITING_FOR_DAEMONS, DVMD_JOB_PLACED_ANEW, DVM_JOB_STATE_VM_READY, dvmd_job_act_placed_anew },
  { DVM_JOB_STATE_LAUNCH_APPS, DVMD_JOB_PLACED_ANEW, DVM_JOB_STATE_VM_READY, dvmd_job_act_placed_anew },
  { DVM_JOB_STATE_SEND_LAUNCH_MSG, DVMD_JOB_PLACED_ANEW, DVM_JOB_STATE_VM_READY, dvmd_job_act_placed_anew },
  { DVM_JOB_STATE_MAP_COMPLETE, DVMD_JOB_TO_PREPARE, DVM_JOB_STATE_SYSTEM_PREP, NULL },
  { DVM_JOB_STATE_MAP_COMPLETE, DVMD_JOB_MAP_ONLY, DVM_JOB_STATE_TERMINATED, NULL },
  { DVM_JOB_STATE_SYSTEM_PREP, DVMD_JOB_PREPARED, DVM_JOB_STATE_LAUNCH_APPS, NULL },
  { DVM_JOB_STATE_LAUNCH_APPS, DVMD_JOB_TO_SEND, DVM_JOB_STATE_SEND_LAUNCH_MSG, NULL },
  { DVM_JOB_STATE_SEND_LAUNCH_MSG, DVMD_JOB_FIRST_STARTED, DVM_JOB_STATE_STARTED, NULL },
  { DVM_JOB_STATE_SEND_LAUNCH_MSG, DVMD_JOB_ALL_TERMINATED, DVM_JOB_STATE_TERMINATED, NULL },
  { DVM_JOB_STATE_STARTED, DVMD_JOB_LOCAL_LAUNCHED, DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE, NULL },
  { DVM_JOB_STATE_STARTED, DVMD_JOB_ALL_TERMINATED, DVM_JOB_STATE_TERMINATED, NULL },
  { DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE, DVMD_JOB_ALL_RUNNING, DVM_JOB_STATE_RUNNING, NULL },
  { DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE, DVMD_JOB_ALL_TERMINATED, DVM_JOB_STATE_TERMINATED, NULL },
  /* A job that waits for a debugger runs when it goes on. */
  { DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE, DVMD_JOB_ALL_READY_FOR_DEBUG, DVM_JOB_STATE_READY_FOR_DEBUG, NULL },
  { DVM_JOB_STATE_READY_FOR_DEBUG, DVMD_JOB_ALL_RUNNING, DVM_JOB_STATE_RUNNING, NULL },
  { DVM_JOB_STATE_RUNNING, DVMD_JOB_ALL_REGISTERED, DVM_JOB_STATE_REGISTERED, NULL },
  { DVM_JOB_STATE_RUNNING, DVMD_JOB_ALL_TERMINATED, DVM_JOB_STATE_TERMINATED, NULL },
  { DVM_JOB_STATE_READY_FOR_DEBUG, DVMD_JOB_ALL_TERMINATED, DVM_JOB_STATE_TERMINATED, NULL },
  { DVM_JOB_STATE_REGISTERED, DVMD_JOB_ALL_TERMINATED, DVM_JOB_STATE_TERMINATED, NULL },
  { DVM_JOB_STATE_TERMINATED, DVMD_JOB_TO_TELL, DVM_JOB_STATE_NOTIFY_COMPLETED, NULL },
  { DVM_JOB_STATE_NOTIFY_COMPLETED, DVMD_JOB_CLEANED, DVM_JOB_STATE_NOTIFIED, NULL },
  { DVM_JOB_STATE_UNDEF, DVMD_JOB_FAILED, DVMD_STATE_GIVEN, dvmd_job_step_failed },
  { DVMD_STATE_ANY_LIVE, DVMD_JOB_FAILED, DVMD_STATE_GIVEN, dvmd_job_step_failed },
  /*
   * A job whose processes have all ended well cannot fail any more. All the same the DVM that ends fails each job that
   * it has not done with, somebody may end the job before the end of its last process is handled, and PMIx may tell of
   * an abort as late as that.
   */
  { DVM_JOB_STATE_TERMINATED, DVMD_JOB_FAILED, DVMD_STATE_SAME, NULL },
  { DVM_JOB_STATE_NOTIFY_COMPLETED, DVMD_JOB_FAILED, DVMD_STATE_SAME, NULL },
  { DVM_JOB_STATE_NOTIFIED, DVMD_JOB_FAILED, DVMD_STATE_SAME, NULL },
  /* The first failure names the state; each process that ends badly, each lost node and each wish to end it is one. */
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_FAILED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_GONE, DVMD_STATE_SAME, dvmd_job_step_gone },
  /* Each agent says that it has launched the job: one that could start none of its processes, and the second one. */
  { DVM_JOB_STATE_SEND_LAUNCH_MSG, DVMD_JOB_LOCAL_LAUNCHED, DVMD_STATE_SAME, NULL },
  { DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE, DVMD_JOB_LOCAL_LAUNCHED, DVMD_STATE_SAME, NULL },
  /* The next step, which a job has posted to itself before its failure was handled. */
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_SET_UP, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_NEEDS_AGENTS, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_NEEDS_NO_LAUNCH, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_AGENTS_LAUNCHED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_VM_USABLE, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_ADMITTED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_NO_ROOM, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_HELD, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_PARKED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_MAPPED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_MAP_ONLY, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_TO_PREPARE, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_TO_SEND, DVMD_STATE_SAME, NULL },
  /* An event that it waited for has come after its failure, and before that was handled. */
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_DISPATCHED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_ALLOCATED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_AGENTS_REPORTED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_UNHELD, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_PREPARED, DVMD_STATE_SAME, NULL },
  /* A grow that fails ends jobs that are parked, and opens the gate in the same turn. */
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_LET_MAP, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_LET_LAUNCH, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_PLACED_ANEW, DVMD_STATE_SAME, NULL },
  /* Agents report until nothing of the job is left, first because they do not know of its failure, then how it ends. */
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_FIRST_STARTED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_LOCAL_LAUNCHED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_ALL_RUNNING, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_ALL_REGISTERED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_ALL_READY_FOR_DEBUG, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, DVMD_JOB_ALL_TERMINATED, DVMD_STATE_SAME, NULL },
};

static const char *const job_event_names[DVMD_JOB_N_EVENTS] = {
  [DVMD_JOB_CREATED] = "created",
  [DVMD_JOB_SET_UP] = "set-up",
  [DVMD_JOB_DISPATCHED] = "dispatched",
  [DVMD_JOB_ALLOCATED] = "allocated",
  [DVMD_JOB_NEEDS_AGENTS] = "needs-agents",
  [DVMD_JOB_NEEDS_NO_LAUNCH] = "needs-no-launch",
  [DVMD_JOB_AGENTS_LAUNCHED] = "agents-launched",
  [DVMD_JOB_AGENTS_REPORTED] = "agents-reported",
  [DVMD_JOB_VM_USABLE] = "vm-usable",
  [DVMD_JOB_ADMITTED] = "admitted",
  [DVMD_JOB_NO_ROOM] = "no-room",
  [DVMD_JOB_HELD] = "held",
  [DVMD_JOB_UNHELD] = "unheld",
  [DVMD_JOB_PARKED] = "parked",
  [DVMD_JOB_LET_MAP] = "let-map",
  [DVMD_JOB_LET_LAUNCH] = "let-launch",
  [DVMD_JOB_PLACED_ANEW] = "placed-anew",
  [DVMD_JOB_MAPPED] = "mapped",
  [DVMD_JOB_MAP_ONLY] = "map-only",
  [DVMD_JOB_TO_PREPARE] = "to-prepare",
  [DVMD_JOB_PREPARED] = "prepared",
  [DVMD_JOB_TO_SEND] = "to-send",
  [DVMD_JOB_FIRST_STARTED] = "first-started",
  [DVMD_JOB_LOCAL_LAUNCHED] = "local-launched",
  [DVMD_JOB_ALL_RUNNING] = "all-running",
  [DVMD_JOB_ALL_REGISTERED] = "all-registered",
  [DVMD_JOB_ALL_READY_FOR_DEBUG] = "all-ready-for-debug",
  [DVMD_JOB_ALL_TERMINATED] = "all-terminated",
  [DVMD_JOB_TO_TELL] = "to-tell",
  [DVMD_JOB_CLEANED] = "cleaned",
  [DVMD_JOB_FAILED] = "failed",
  [DVMD_JOB_GONE] = "gone",
};

/*
 * A job leaves its way by failing alone: TERMINATED and the states behind it are part of that, and have rows of their
 * own. Little comes late there, and much behind a failure, which may be at every step.
 */
static gboolean
is_on_its_way (guint state)
{
  return !dvm_job_state_is_error (state);
}

static void
set_state (gpointer object, guint old_state, guint new_state, const DvmdEvent *event)
{
  dvmd_core_write_job_state (object, old_state, new_state, event, job_event_names[event->event]);
}

const DvmdStateTable dvmd_job_table = {
  .name = "job",
  .states = job_states,
  .n_states = G_N_ELEMENTS (job_states),
  .transitions = job_transitions,
  .n_transitions = G_N_ELEMENTS (job_transitions),
  .event_names = job_event_names,
  .n_events = DVMD_JOB_N_EVENTS,
  .state_name = dvm_job_state_to_string,
  .is_live = is_on_its_way,
  .get_state = dvmd_core_read_job_state,
  .set_state = set_state,
  .describe = dvmd_core_describe_job,
  .traces = TRUE,
  .ref = g_object_ref,
  .unref = g_object_unref,
};
