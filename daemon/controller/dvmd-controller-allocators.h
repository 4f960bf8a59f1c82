/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller-frame.h"

G_BEGIN_DECLS

/* Somebody looks for nodes: at the start, or for a grow. */
typedef struct
{
  gboolean limited; /* allocator-timeout counts */
  /* Fills in what the next allocator is asked for; host and slots are there. */
  void (*describe) (DvmdController *self, gpointer data, DvmdAllocationRequest *request);
  /* allocation: its nodes make sense; error (transfer full); both are NULL if no allocator has any */
  void (*found) (DvmdController *self, gpointer data, DvmdAllocator *allocator, DvmdAllocation *allocation,
                 GError *error);
  gboolean chosen; /* the one that the setting "allocator" names is asked alone */
} DvmdSearchFuncs;

/* dvmd-controller-nodes.c */
/* The allocators are asked one after another, until one does not decline; found() is called once. stop: (nullable) */
void dvmd_controller_find_nodes (DvmdController *self, const DvmdSearchFuncs *funcs, GCancellable *stop, gpointer data);
/* An effect of the core: the nodes that the DVM starts with. */
void dvmd_controller_allocate (gpointer user_data);

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
