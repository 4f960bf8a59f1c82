/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin-base.h"

G_BEGIN_DECLS

/**
 * DvmdAllocation:
 *
 * Nodes that an allocator has found, in the order in which they get their ranks.
 *
 * Since: 0.1
 */
typedef struct _DvmdAllocation DvmdAllocation;

#define DVMD_TYPE_ALLOCATION (dvmd_allocation_get_type ())
GType dvmd_allocation_get_type (void);

/**
 * dvmd_allocation_new:
 * @alloc_id: (nullable): how the scheduler calls this allocation; %NULL if there is no scheduler
 *
 * Returns: (transfer full): an allocation without nodes
 * Since: 0.1
 */
DvmdAllocation *dvmd_allocation_new (const char *alloc_id);
DvmdAllocation *dvmd_allocation_ref (DvmdAllocation *self);
void dvmd_allocation_unref (DvmdAllocation *self);

/**
 * dvmd_allocation_add_node:
 * @self: an allocation
 * @name: the name of the node
 * @slots: how many processes it is meant for; 0 to leave it to its hardware
 * @slots_max: how many it may take at most; 0 for no limit beyond @slots
 *
 * Since: 0.1
 */
void dvmd_allocation_add_node (DvmdAllocation *self, const char *name, guint32 slots, guint32 slots_max);

/**
 * dvmd_allocation_set_logical:
 * @self: an allocation
 * @logical: whether its nodes are no machines, but names for parts of the one that the controller runs on
 *
 * Since: 0.1
 */
void dvmd_allocation_set_logical (DvmdAllocation *self, gboolean logical);
gboolean dvmd_allocation_get_logical (DvmdAllocation *self);

/* (nullable) */
const char *dvmd_allocation_get_id (DvmdAllocation *self);
/* (array length=n_nodes) (transfer none): rank and limit are 0: a node has no rank yet. */
const DvmdPluginNode *dvmd_allocation_get_nodes (DvmdAllocation *self, guint *n_nodes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdAllocation, dvmd_allocation_unref)

/**
 * DvmdAllocationRequest:
 * @host: the machine that the controller runs on
 * @hosts: (nullable): the nodes that are asked for by name
 * @count: how many nodes are asked for; 0 with @hosts %NULL: what there is without asking for more
 * @slots: how many slots each node is to have of which nothing else is known; 0 if nobody said
 * @time_limit: for how many seconds; 0 for no limit
 * @alloc_id: (nullable): the allocation that is to become larger; %NULL for a new one
 * @nodes: (nullable): what is known of each of @hosts: slots and slots_max; %NULL if there is nothing
 * @n_nodes: how many there are
 * @n_logical: how many logical nodes are asked for, which are called node1, node2 and so on; @hosts is %NULL then
 * @first_logical: the number of the first one; 0 for 1
 *
 * Nodes that are wanted: at the start of the DVM, and when it grows. Borrowed until allocate_async() has returned.
 *
 * Since: 0.1
 */
typedef struct
{
  const char *host;
  const char *const *hosts;
  guint32 count;
  guint32 slots;
  guint64 time_limit;
  const char *alloc_id;
  const DvmdPluginNode *nodes;
  guint32 n_nodes;
  guint32 n_logical;
  guint32 first_logical;
  gpointer reserved[2];
} DvmdAllocationRequest;

/**
 * DvmdAllocator:
 *
 * Finds nodes, asks a scheduler for more of them, and gives them back.
 *
 * Since: 0.1
 */
#define DVMD_TYPE_ALLOCATOR (dvmd_allocator_get_type ())
G_DECLARE_DERIVABLE_TYPE (DvmdAllocator, dvmd_allocator, DVMD, ALLOCATOR, DvmdPlugin)

/**
 * DvmdAllocatorClass:
 * @parent_class: the parent
 * @allocate_async: looks for nodes. The allocator may take as long as its scheduler does; a cancelled request leaves
 *   nothing allocated
 * @allocate_finish: the answer. Need not be given by those who answer with a GTask: a DvmdAllocation (full) for done,
 *   %NULL without error for declined, an error for failed
 * @give_back_async: gives back nodes of an allocation, by name; called when their agents have ended
 * @give_back_finish: the answer. Need not be given by those who answer with a GTask: %TRUE for done, %FALSE for
 *   declined, an error for failed
 *
 * Since: 0.1
 */
struct _DvmdAllocatorClass
{
  DvmdPluginClass parent_class;

  void (*allocate_async) (DvmdAllocator *self, const DvmdAllocationRequest *request, GCancellable *cancellable,
                          GAsyncReadyCallback callback, gpointer user_data);
  DvmdPluginVerdict (*allocate_finish) (DvmdAllocator *self, GAsyncResult *result, DvmdAllocation **allocation,
                                        GError **error);
  void (*give_back_async) (DvmdAllocator *self, const char *alloc_id, const char *const *names,
                           GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
  DvmdPluginVerdict (*give_back_finish) (DvmdAllocator *self, GAsyncResult *result, GError **error);

  gpointer reserved[4];
};

/* What is not implemented is declined. */
void dvmd_allocator_allocate_async (DvmdAllocator *self, const DvmdAllocationRequest *request,
                                    GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
/* allocation: (out) (nullable): NULL unless done */
DvmdPluginVerdict dvmd_allocator_allocate_finish (DvmdAllocator *self, GAsyncResult *result,
                                                  DvmdAllocation **allocation, GError **error);
void dvmd_allocator_give_back_async (DvmdAllocator *self, const char *alloc_id, const char *const *names,
                                     GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
DvmdPluginVerdict dvmd_allocator_give_back_finish (DvmdAllocator *self, GAsyncResult *result, GError **error);

/**
 * dvmd_allocator_push:
 * @self: an allocator
 * @directive: "new", "extend", "release" or "cancel"
 * @request: what is asked for, an a{sv} with the keys of Manager.Allocate; floating is sunk
 *
 * The scheduler wants the DVM to have other nodes than it has: it tells the controller, by the signal "push" (the
 * directive, the request). That does what anybody may ask it to, and tells nobody when it is done; what is refused is
 * in the log.
 *
 * Since: 0.1
 */
void dvmd_allocator_push (DvmdAllocator *self, const char *directive, GVariant *request);

G_END_DECLS
