/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of a session, for the core's own files.
 */

#pragma once

#include "dvmd-core-sessions.h"
#include "dvmd-job-hold.h"

G_BEGIN_DECLS

/* The place of a session among others. The functions of dvmd-session-owners.c alone write it. */
typedef struct
{
  guint parent;      /* 0: none */
  GArray *children;  /* guint */
  gboolean separate; /* from its parent */
  gboolean detached; /* from its owner, too */
} DvmdSessionFamily;

/* The time that a session has. The functions of dvmd-session-limit.c alone write it. */
typedef struct
{
  gint64 expires;     /* µs, monotonic; 0: it does not */
  guint warn_timeout; /* s before that; 0: nobody is warned */
  guint timer;
  guint warn_timer;
} DvmdSessionTime;

struct _DvmdSession
{
  GObject parent_instance;

  DvmdCore *core; /* unowned: the core owns its sessions */
  DvmSession *record;
  gboolean untold; /* that its nodes or jobs have changed is known, and nobody has asked since */

  DvmdRequester *requester; /* (nullable): that made it, or extended it last */
  char *owner;              /* (nullable): the namespace that owns it for life */
  guint owner_uid;          /* of the user that asked for it */
  GHashTable *owners;       /* (element-type utf8): that one, and the live jobs that were spawned into it */
  gboolean shared;          /* it reserves nothing, or no more */
  DvmdInheritance inheritance;
  DvmdSessionFamily family;
  gboolean owner_ended;
  gboolean disposed;     /* that end has been dealt with, as the inheritance says */
  GArray *jobs;          /* guint: live, and it is their primary one; of the default session they are not kept here */
  GHashTable *lent;      /* (element-type utf8) (nullable): hosts that were released from it alone */
  gboolean releasing;    /* by a shrink, or it has been released already and is there for its jobs */
  gboolean over;         /* the latter */
  char *cause;           /* (nullable): why it is released, if nobody asked for it */
  gboolean instantiated; /* its jobs end with its time */
  guint holds;           /* DvmdHold: its jobs are stopped, and those that come wait */
  gboolean terminating;  /* it is released when its last job has ended */
  gboolean ends_itself;  /* the same, by itself */
  DvmdSessionTime limit;
};

DvmdSession *dvmd_session_new (DvmdCore *core, guint id, gboolean shared);
/* Nodes or jobs of the session have changed. */
void dvmd_session_changed (DvmdSession *self);
/* The one writer of a session's state. */
void dvmd_session_set_state (DvmdSession *self, DvmSessionState state, const char *reason);
/* The nodes that are in the session now, ascending by rank (element-type DvmdNode). */
GPtrArray *dvmd_session_list_nodes (DvmdSession *self);
/* The node is in the session from now on, or is not any more. */
void dvmd_session_join (DvmdSession *self, DvmdNode *node);
void dvmd_session_part (DvmdSession *self, DvmdNode *node);
/* The session's nodes stay in it, and are everybody's; grows may bring more of them: dvmd_grow_unreserve(). */
void dvmd_session_unreserve (DvmdSession *self);
/* A host has been released from the session on its own, or is there again. */
void dvmd_session_lend (DvmdSession *self, const char *name);
void dvmd_session_unlend (DvmdSession *self, const char *name);

/* ---- jobs ---- */
void dvmd_session_add_job (DvmdSession *self, DvmdJob *job);
void dvmd_session_remove_job (DvmdSession *self, DvmdJob *job);
/* The session is being released: its jobs that are not launched never will be. drains: those that are placed may be. */
void dvmd_session_drop_jobs (DvmdSession *self, const char *reason, gboolean drains);

/* (nullable): of this session, and live */
DvmdJob *dvmd_session_find_job (DvmdSession *self, const char *nspace);
/* (element-type DvmdJob): all of them, or the one of that namespace */
GPtrArray *dvmd_session_collect_jobs (DvmdSession *self, const char *nspace);

/* nspace (nullable): of the one job that is concerned; who: the name of the one that says so */
void dvmd_session_hold (DvmdSession *self, const char *nspace, DvmdHold why, gboolean on, const char *who);
/* A new job of a session is held as the session is. */
void dvmd_session_hold_job (DvmdJob *job);
/* No job of the session is paused or preempted any more. */
void dvmd_session_let_go (DvmdSession *self);

/* ---- owners and inheritance ---- */
void dvmd_session_set_owner (DvmdSession *self, const char *nspace, const DvmdRequester *requester);
void dvmd_session_add_owner (DvmdSession *self, const char *nspace);
void dvmd_session_remove_owner (DvmdSession *self, const char *nspace);
/* The session ends: it is not one of its owner's any more. */
void dvmd_session_forget_owner (DvmdSession *self);
void dvmd_session_publish_sharing (DvmdSession *self);
void dvmd_session_set_inheritance (DvmdSession *self, DvmdInheritance inheritance);
/* separate: the session outlives its parent; detached: also its owner. */
void dvmd_session_tie (DvmdSession *self, gboolean separate, gboolean detached);
/* The session hangs below that parent in the family tree; 0: below none. */
void dvmd_session_set_parent (DvmdSession *self, guint parent);
/* Sessions below end with it, unless they are separate (S6). drain_timeout: s that jobs there have to end; 0: none */
void dvmd_session_end_children (DvmdSession *self, guint drain_timeout);

/* ---- limits ---- */
void dvmd_session_stop_timers (DvmdSession *self);
/* The session's jobs end, and when the last process has gone so does the session. */
void dvmd_session_terminate (DvmdSession *self, const char *reason);
/* A session that is ending goes on ending; its jobs, which a release lets go on, end now. */
void dvmd_session_terminate_ending (DvmdSession *self, const char *reason);
/* The session is released, as by a scheduler. */
void dvmd_session_release (DvmdSession *self, guint drain_timeout, const char *cause);
/* The session's limit is as the request that makes or extends it says, if that says anything. */
void dvmd_session_set_limit (DvmdSession *self, const DvmdGrowRequest *request);

/* ---- its end ---- */
/* The session is being released: it cannot be named any more, and its jobs that are not launched never are. */
void dvmd_session_begin_end (DvmdSession *self, const char *reason, gboolean drains);
/* The session is not released after all. */
void dvmd_session_go_on (DvmdSession *self);
/* The session is over, as soon as its last job is. */
void dvmd_session_end (DvmdSession *self, const char *reason);
gboolean dvmd_session_is_over (DvmdSession *self);
/* The session is released now, if it has no jobs any more and was to be then. */
void dvmd_session_check_end (DvmdSession *self);
/* A job has ended that the session may have waited for. */
void dvmd_session_job_ended (DvmdSession *self, DvmdJob *job);

G_END_DECLS
