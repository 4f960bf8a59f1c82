/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-sessions.h"

G_BEGIN_DECLS

/* The operations on a session and its jobs (S16-S19, S21). */
typedef enum
{
  DVMD_SESSION_PAUSE,   /* its jobs stop, and those that come wait */
  DVMD_SESSION_RESUME,  /* not any more */
  DVMD_SESSION_PREEMPT, /* the same for another reason: they go on when neither holds them */
  DVMD_SESSION_RESTORE, /* not any more */
  DVMD_SESSION_SIGNAL,  /* to the processes of its jobs */
  DVMD_SESSION_TERMINATE /* its jobs end, and when the last process has gone so does the session */,
  DVMD_SESSION_SEPARATE, /* it does not end with its parent, nor with its owner */
} DvmdSessionOp;

typedef struct
{
  DvmdSessionOp op;
  int signal;         /* SIGNAL: its number */
  gboolean separate;  /* SEPARATE: FALSE ties it again */
  const char *nspace; /* (nullable): this job of it alone; SIGNAL, PREEMPT, RESTORE */
} DvmdSessionControl;

/* Checks the rights and the names of an operation; nothing changes. */
gboolean dvmd_core_check_session_control (DvmdCore *self, DvmdSession *session, const DvmdSessionControl *control,
                                          const DvmdRequester *requester, GError **error);
/* requester (nullable): the DVM itself. A state that is there already is no error. FALSE: nothing has changed. */
gboolean dvmd_core_control_session (DvmdCore *self, DvmdSession *session, const DvmdSessionControl *control,
                                    const DvmdRequester *requester, GError **error);
/* (element-type guint): sessions that the requester may control, without the default one, ascending (S11) */
GArray *dvmd_core_list_controlled_sessions (DvmdCore *self, const DvmdRequester *requester);
/* The session ends itself, as by TERMINATE, when the last of its jobs has ended: it was made for them (S15). */
void dvmd_session_set_ends_itself (DvmdSession *self);
/*
 * Nothing is to stay of the session: it ends as soon as it has no jobs any more, and the nodes that the campaign
 * (nullable) brought leave the DVM, whatever its inheritance says.
 */
void dvmd_core_discard_session (DvmdCore *self, DvmdSession *session, DvmdCampaign *campaign);

/* These act on one job, whatever becomes of its session meanwhile. FALSE: the job has ended. */
gboolean dvmd_core_pause_job (DvmdCore *self, DvmdJob *job, GError **error);
gboolean dvmd_core_resume_job (DvmdCore *self, DvmdJob *job, GError **error);
/* The job does not end with the one that has spawned it. */
gboolean dvmd_core_separate_job (DvmdCore *self, DvmdJob *job, GError **error);

/* The job waits until it is released. FALSE: it has its nodes already, or has ended. */
gboolean dvmd_core_hold_job (DvmdCore *self, DvmdJob *job, GError **error);
/* FALSE: it has ended */
gboolean dvmd_core_release_job (DvmdCore *self, DvmdJob *job, GError **error);
/* Of one that has no nodes yet: it stands elsewhere in the queue, and the first ones there are looked at. */
gboolean dvmd_core_set_job_priority (DvmdCore *self, DvmdJob *job, int priority, GError **error);

G_END_DECLS
