/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-job.h"

G_BEGIN_DECLS

/*
 * An allocation is a session: nodes that were asked for together, under an id. Number 0 is the default session: the
 * nodes that nobody has reserved.
 */

#define DVMD_TYPE_SESSION (dvmd_session_get_type ())
G_DECLARE_FINAL_TYPE (DvmdSession, dvmd_session, DVMD, SESSION, GObject)

guint dvmd_session_get_id (DvmdSession *self);
/* "" for the default session */
const char *dvmd_session_get_alloc_id (DvmdSession *self);
/* Before its nodes, jobs or owners are read, these are to be published. */
DvmSession *dvmd_session_get_record (DvmdSession *self);
void dvmd_session_publish_nodes (DvmdSession *self);
void dvmd_session_publish_jobs (DvmdSession *self);
void dvmd_session_publish_owners (DvmdSession *self);
void dvmd_session_publish (DvmdSession *self); /* all of it */

G_END_DECLS
