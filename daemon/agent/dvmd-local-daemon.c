/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The state machine of the agent itself on its node (L1).
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-local"

#include "dvmd-local-daemon.h"

#include <dvm.h>

enum
{
  REPORTED,
  TOLD_MEMBERS,
  FORCED,
  ALL_GONE,
  N_EVENTS
};

static void
step_terminated (gpointer object, const DvmdEvent *event)
{
  DvmdLocalDaemon *self = object;

  self->terminated (self, self->user_data);
}

static const DvmdState states[] = {
  { DVM_JOB_STATE_INIT, NULL },
  { DVM_JOB_STATE_DAEMONS_REPORTED, NULL },
  { DVM_JOB_STATE_VM_READY, NULL },
  { DVM_JOB_STATE_FORCED_EXIT, NULL },
  { DVM_JOB_STATE_DAEMONS_TERMINATED, step_terminated },
};

static const DvmdTransition transitions[] = {
  { DVM_JOB_STATE_INIT, REPORTED, DVM_JOB_STATE_DAEMONS_REPORTED, NULL },
  { DVM_JOB_STATE_DAEMONS_REPORTED, TOLD_MEMBERS, DVM_JOB_STATE_VM_READY, NULL },
  /* After a change of them. */
  { DVM_JOB_STATE_VM_READY, TOLD_MEMBERS, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_LIVE, FORCED, DVM_JOB_STATE_FORCED_EXIT, NULL },
  { DVMD_STATE_ANY_LIVE, ALL_GONE, DVM_JOB_STATE_DAEMONS_TERMINATED, NULL },
  { DVM_JOB_STATE_FORCED_EXIT, ALL_GONE, DVM_JOB_STATE_DAEMONS_TERMINATED, NULL },
  /* The controller tells of members, and to end at once, until the agent has gone. */
  { DVM_JOB_STATE_FORCED_EXIT, TOLD_MEMBERS, DVMD_STATE_SAME, NULL },
  { DVM_JOB_STATE_FORCED_EXIT, FORCED, DVMD_STATE_SAME, NULL },
  { DVM_JOB_STATE_DAEMONS_TERMINATED, TOLD_MEMBERS, DVMD_STATE_SAME, NULL },
  { DVM_JOB_STATE_DAEMONS_TERMINATED, FORCED, DVMD_STATE_SAME, NULL },
  /* It looks whether it is empty whenever something has gone, also when it is told to end once more. */
  { DVM_JOB_STATE_DAEMONS_TERMINATED, ALL_GONE, DVMD_STATE_SAME, NULL },
};

static const char *const event_names[N_EVENTS] = {
  [REPORTED] = "reported",
  [TOLD_MEMBERS] = "told-members",
  [FORCED] = "forced",
  [ALL_GONE] = "all-gone",
};

static guint
get_state (gpointer object)
{
  return ((DvmdLocalDaemon *)object)->state;
}

static void
set_state (gpointer object, guint old_state, guint new_state, const DvmdEvent *event)
{
  ((DvmdLocalDaemon *)object)->state = new_state;
}

static const char *
describe (gpointer object)
{
  return ((DvmdLocalDaemon *)object)->nspace;
}

static gpointer
ref (gpointer object)
{
  return dvmd_local_daemon_ref (object);
}

static void
unref (gpointer object)
{
  dvmd_local_daemon_unref (object);
}

const DvmdStateTable dvmd_local_daemon_table = {
  .name = "local-daemon",
  .states = states,
  .n_states = G_N_ELEMENTS (states),
  .transitions = transitions,
  .n_transitions = G_N_ELEMENTS (transitions),
  .event_names = event_names,
  .n_events = N_EVENTS,
  .state_name = dvm_job_state_to_string,
  .is_live = dvm_job_state_is_live,
  .get_state = get_state,
  .set_state = set_state,
  .describe = describe,
  .ref = ref,
  .unref = unref,
};

static void
post (DvmdLocalDaemon *self, guint event)
{
  dvmd_state_machine_post (self->queue, &dvmd_local_daemon_table, self, event, 0, NULL);
}

DvmdLocalDaemon *
dvmd_local_daemon_new (const char *nspace, DvmdEventQueue *queue, DvmdLocalDaemonTerminated terminated,
                       gpointer user_data)
{
  DvmdLocalDaemon *self = g_new0 (DvmdLocalDaemon, 1);

  g_ref_count_init (&self->ref_count);
  self->nspace = g_strdup (nspace);
  self->state = DVM_JOB_STATE_INIT;
  self->queue = queue;
  self->terminated = terminated;
  self->user_data = user_data;
  return self;
}

DvmdLocalDaemon *
dvmd_local_daemon_ref (DvmdLocalDaemon *self)
{
  g_ref_count_inc (&self->ref_count);
  return self;
}

void
dvmd_local_daemon_unref (DvmdLocalDaemon *self)
{
  if (!g_ref_count_dec (&self->ref_count))
    return;
  g_free (self->nspace);
  g_free (self);
}

void
dvmd_local_daemon_reported (DvmdLocalDaemon *self)
{
  post (self, REPORTED);
}

void
dvmd_local_daemon_told_members (DvmdLocalDaemon *self)
{
  post (self, TOLD_MEMBERS);
}

void
dvmd_local_daemon_stop (DvmdLocalDaemon *self, gboolean forced)
{
  self->stopping = TRUE;
  if (forced)
    post (self, FORCED);
}

void
dvmd_local_daemon_empty (DvmdLocalDaemon *self)
{
  if (self->stopping)
    post (self, ALL_GONE);
}
