/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller-frame.h"

G_BEGIN_DECLS

/* dvmd-controller-first-nodes.c */
/* An effect of the core: the nodes that the DVM starts with. */
void dvmd_controller_allocate (gpointer user_data);
/* (nullable) (transfer full): why the DVM cannot have these nodes */
char *dvmd_controller_judge_nodes (const DvmdPluginNode *nodes, guint n_nodes);

/* dvmd-controller-allocators.c */
/* Effects of the core. */
void dvmd_controller_offer_nodes (gpointer user_data, DvmdCampaign *campaign, const DvmdOffer *nodes, guint n_nodes);
void dvmd_controller_session_ended (gpointer user_data, DvmdSession *session, GVariant *jobs);
/* The allocator has proposed nodes that are not wanted: they are returned, and nothing waits for that. */
void dvmd_controller_return_nodes (DvmdController *self, DvmdAllocator *allocator, const char *alloc_id,
                                   const char *const *names);
/* Requests that the allocators make of themselves are carried out. */
void dvmd_controller_listen_to_allocators (DvmdController *self);
/* (element-type DvmdAllocator) (transfer full): the active ones, in the order in which they are asked */
GPtrArray *dvmd_controller_list_allocators (DvmdController *self);

G_END_DECLS
