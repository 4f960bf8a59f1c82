/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"
#include "dvmd-session.h"

G_BEGIN_DECLS

/* The owners of all sessions, counted. */
DvmdSessionOwners *dvmd_session_owners_new (void);
void dvmd_session_owners_free (DvmdSessionOwners *self);
/* The namespace owns a session for life. */
gboolean dvmd_session_owners_contain (DvmdSessionOwners *self, const char *nspace);
/* Sessions whose owners have ended, and that may yet have to do with that */
guint dvmd_session_owners_count_ended (DvmdSessionOwners *self, int change);

/* ---- of one session ---- */
void dvmd_session_set_owner (DvmdSession *self, const char *nspace, const DvmdRequester *requester);
void dvmd_session_add_owner (DvmdSession *self, const char *nspace);
void dvmd_session_remove_owner (DvmdSession *self, const char *nspace);
/* The session ends: it is not one of its owner's any more. */
void dvmd_session_forget_owner (DvmdSession *self);
/* separate: the session outlives its parent; detached: also its owner. */
void dvmd_session_tie (DvmdSession *self, gboolean separate, gboolean detached);
/* The session hangs below that parent in the family tree; 0: below none. */
void dvmd_session_set_parent (DvmdSession *self, guint parent);

G_END_DECLS
