/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-sessions.h"
#include "dvmd-id-set.h"
#include "dvmd-registry.h"

G_BEGIN_DECLS

/* The sessions of the DVM. The functions of dvmd-core-sessions.c alone write it. */
typedef struct
{
  DvmdRegistry *all; /* of DvmdSession */
  guint last_id;
  DvmdIdSet *chosen_ids; /* numbers that were chosen by those who asked */
  guint last_alloc;
  GPtrArray *ended; /* (element-type DvmdSession) (nullable): nobody has been told yet */
} DvmdSessionRegistry;

void dvmd_session_registry_init (DvmdSessionRegistry *self);
void dvmd_session_registry_clear (DvmdSessionRegistry *self);
/* id 0: the next one. Nobody is told before it is complete: dvmd_core_tell_session(). */
DvmdSession *dvmd_core_add_session (DvmdCore *self, guint id, const char *alloc_id, const char *req_id,
                                    gboolean shared);
char *dvmd_core_mint_alloc_id (DvmdCore *self);
/* After the answer to the request that ended them: clients that want to hear of ended sessions do. */
void dvmd_core_tell_ended_sessions (DvmdCore *self);

/* The owners of sessions. The functions of dvmd-session-owners.c alone write it. */
typedef struct
{
  GHashTable *owned; /* namespace -> number of sessions that it owns for life */
  guint n_ended;     /* sessions whose owners have ended, and that may yet have to do with that */
} DvmdSessionOwners;

void dvmd_session_owners_init (DvmdSessionOwners *self);
void dvmd_session_owners_clear (DvmdSessionOwners *self);
/* After the answer to the request: sessions whose owners have ended, and that have another inheritance now, go. */
void dvmd_core_dispose_sessions (DvmdCore *self);

G_END_DECLS
