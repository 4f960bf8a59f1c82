/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"
#include "dvmd-session.h"

G_BEGIN_DECLS

/*
 * A right is what a requester may do. A requester is what its connection proves: an application is a namespace that is
 * a job of this DVM, "scheduler:NAME" is the scheduler, and everybody else is a tool.
 */
typedef enum
{
  DVMD_RIGHT_EXTEND,           /* of the session */
  DVMD_RIGHT_RELEASE,          /* of the session; NULL: of nodes that are in none */
  DVMD_RIGHT_SPAWN,            /* into the session */
  DVMD_RIGHT_CONTROL,          /* pause, terminate and the like */
  DVMD_RIGHT_OWNER_FOR_OTHERS, /* to say who owns an allocation (`target`) */
  DVMD_RIGHT_JOB,              /* to signal it, to end it */
  DVMD_RIGHT_NODE,             /* drain, resume */
  DVMD_RIGHT_DVM,              /* reload, shutdown */
} DvmdRight;

/* The log has one line for many refusals of other users. */
typedef struct
{
  gint64 said_at; /* µs, monotonic: when the last one was; 0: never */
  guint n_unsaid; /* since then */
} DvmdStrangerLog;

/*
 * Decides, and logs. who (nullable): the DVM itself. session, job (nullable): what it is about. Errors are
 * NO_PERMISSIONS, and say who would be right.
 */
gboolean dvmd_core_may (DvmdCore *self, const DvmdRequester *who, DvmdRight right, DvmdSession *session, DvmdJob *job,
                        GError **error);

/* The same decision without a log entry or an error. */
gboolean dvmd_core_has_right (DvmdCore *self, const DvmdRequester *who, DvmdRight right, DvmdSession *session,
                              DvmdJob *job);

/* (transfer full): "bus.UID" for callers on a bus and on the private socket, "" for NULL */
char *dvmd_requester_dup_nspace (const DvmdRequester *self);
gboolean dvmd_requester_is_scheduler (const DvmdRequester *self);
/* The requester's namespace is, or was, that of a job of this DVM. */
gboolean dvmd_core_is_application (DvmdCore *self, const DvmdRequester *who);
/* (nullable): the job whose process the requester is, live or in the history */
DvmdJob *dvmd_core_find_requesting_job (DvmdCore *self, const DvmdRequester *who);

G_END_DECLS
