/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"
#include "dvmd-requester.h"
#include "dvmd-session.h"

G_BEGIN_DECLS

/* A right is what a requester may do. */
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
DvmdStrangerLog *dvmd_stranger_log_new (void);
void dvmd_stranger_log_free (DvmdStrangerLog *self);

/*
 * Decides, and logs. who (nullable): the DVM itself. session, job (nullable): what it is about. Errors are
 * NO_PERMISSIONS, and say who would be right.
 */
gboolean dvmd_core_may (DvmdCore *self, const DvmdRequester *who, DvmdRight right, DvmdSession *session, DvmdJob *job,
                        GError **error);

/* The same decision without a log entry or an error. */
gboolean dvmd_core_has_right (DvmdCore *self, const DvmdRequester *who, DvmdRight right, DvmdSession *session,
                              DvmdJob *job);

G_END_DECLS
