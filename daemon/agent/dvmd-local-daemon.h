/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-state-machine.h"

G_BEGIN_DECLS

/*
 * The DVM's own job as far as this node goes (L1): the agent itself, in numbers of job states. Pure.
 *
 *   INIT, DAEMONS_REPORTED (it has told of itself), VM_READY (it knows the members), FORCED_EXIT (told to end without
 *   grace), DAEMONS_TERMINATED (told to end, and nothing is left here); an agent may be told to end in each of them
 */

typedef struct _DvmdLocalDaemon DvmdLocalDaemon;

/* Nothing is left, and nothing new will come. */
typedef void (*DvmdLocalDaemonTerminated) (DvmdLocalDaemon *self, gpointer user_data);

struct _DvmdLocalDaemon
{
  grefcount ref_count;
  char *nspace;      /* of the DVM */
  guint8 state;      /* DvmJobState */
  gboolean stopping; /* it takes nothing more */
  DvmdEventQueue *queue;
  DvmdLocalDaemonTerminated terminated;
  gpointer user_data;
};

DvmdLocalDaemon *dvmd_local_daemon_new (const char *nspace, DvmdEventQueue *queue, DvmdLocalDaemonTerminated terminated,
                                        gpointer user_data);
DvmdLocalDaemon *dvmd_local_daemon_ref (DvmdLocalDaemon *self);
void dvmd_local_daemon_unref (DvmdLocalDaemon *self);

/* ---- what happened ---- */
void dvmd_local_daemon_reported (DvmdLocalDaemon *self);
void dvmd_local_daemon_told_members (DvmdLocalDaemon *self);
/* Once told to end without grace it stays so. */
void dvmd_local_daemon_stop (DvmdLocalDaemon *self, gboolean forced);
/* No job is here. Says nothing while the agent was not told to end. */
void dvmd_local_daemon_empty (DvmdLocalDaemon *self);

extern const DvmdStateTable dvmd_local_daemon_table;

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdLocalDaemon, dvmd_local_daemon_unref)

G_END_DECLS
