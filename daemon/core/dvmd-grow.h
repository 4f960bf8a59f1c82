/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"

G_BEGIN_DECLS

/* A grow: its steps, and the jobs that wait for nodes of one. */

void dvmd_grow_try_begin (DvmdCampaign *self);
void dvmd_grow_launch (DvmdCampaign *self);
void dvmd_grow_wire (DvmdCampaign *self);
void dvmd_grow_roll_back (DvmdCampaign *self);
void dvmd_grow_completed (DvmdCampaign *self);
void dvmd_grow_failed (DvmdCampaign *self);
void dvmd_grow_reported (DvmdCampaign *self, DvmdNode *node);
/* It has left: those that wait for it may begin. */
void dvmd_grow_rank_departed (DvmdCore *core, guint rank);
/* A session of the job is to have nodes by a grow that is held back (D4): it fails for none that are not there yet. */
gboolean dvmd_grow_is_awaited (DvmdJob *job);
/* (element-type DvmdNode): of the targets that are there */
GPtrArray *dvmd_grow_list_nodes (DvmdCampaign *self);
/* The campaign says which nodes it waits for. */
void dvmd_grow_tell_wait (DvmdCampaign *self);
/* The grow does not reserve the node any more: it is in, or its session reserves nothing now. */
void dvmd_grow_free_coming (DvmdNode *node);
/* The session reserves its nodes no more, those that are coming neither. */
void dvmd_grow_unreserve (DvmdSession *session);

G_END_DECLS
