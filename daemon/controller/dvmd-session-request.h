/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <dvm.h>

#include "dvm-hosts-private.h"
#include "dvmd-core-session-control.h"

G_BEGIN_DECLS

/* A request says what is to be done to a session: it is the a{sv} of Manager.ControlSession, read. */

typedef enum
{
  DVMD_SESSION_INSTANTIATE,
  DVMD_SESSION_EXTEND,
  DVMD_SESSION_CONTROL,
} DvmdSessionRequestKind;

typedef struct
{
  DvmdSessionRequestKind kind;
  DvmdSessionControl control; /* CONTROL */
  GVariant *size;             /* INSTANTIATE, EXTEND: a{sv} with keys of Manager.Allocate */
  DvmHosts *hosts;            /* (nullable): what size names, if it was read beforehand */
  DvmJobSpec *spec;           /* (nullable): INSTANTIATE: what runs in it */
  gboolean tied;              /* INSTANTIATE: it ends with its owner */
} DvmdSessionRequest;

/*
 * tolerant: keys that are not known are passed over (S26). DVM_ERROR_BAD_PARAM names the key; DVM_ERROR_NOT_SUPPORTED
 * is what is known, and not done (S25).
 */
DvmdSessionRequest *dvmd_session_request_new (GVariant *directives, gboolean tolerant, GError **error);
void dvmd_session_request_free (DvmdSessionRequest *self);
/* Reads the hosts and files that it names, of its applications too; in any thread. */
gboolean dvmd_session_request_read_hosts (DvmdSessionRequest *self, GError **error);
/* A scheduler has granted something else instead: hosts and time of its answer, a{sv}. */
void dvmd_session_request_grant (DvmdSessionRequest *self, GVariant *answer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdSessionRequest, dvmd_session_request_free)

G_END_DECLS
