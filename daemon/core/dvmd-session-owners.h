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

G_END_DECLS
