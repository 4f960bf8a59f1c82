/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of a session, for the files that it is made of.
 */

#pragma once

#include "dvmd-inheritance.h"
#include "dvmd-session-inner.h"

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
  GHashTable *lent;      /* (element-type utf8 Lent) (nullable): hosts released from it alone */
  GHashTable *slots;     /* rank: slots that the session has added to those of the node */
  gboolean releasing;    /* by a shrink, or it has been released already and is there for its jobs */
  gboolean over;         /* the latter */
  char *cause;           /* (nullable): why it is released, if nobody asked for it */
  gboolean instantiated; /* its jobs end with its time */
  guint holds;           /* DvmdHold: its jobs are stopped, and those that come wait */
  gboolean terminating;  /* it is released when its last job has ended */
  gboolean ends_itself;  /* the same, by itself */
  DvmdSessionTime limit;
};

G_END_DECLS
