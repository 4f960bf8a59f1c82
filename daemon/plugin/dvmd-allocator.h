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
 * dvmd_allocation_set_cpus:
 * @self: an allocation
 * @node: the number of a node, in the order in which they were added
 * @cpus: (nullable): which of its cpus are given: "pu:0-3,8" are hardware threads, as the operating system numbers
 *   them, "core:0-3" cores, as hwloc counts them on the node, "core:1:0-3" cores of the package 1. Several of such
 *   lists follow each other: "core:0:0-1;1:0-1". %NULL for all that its agent may use, as without this call
 *
 * The agent keeps to those that it may use, too: slots that nobody gives are counted in them, and processes placed on
 * them.
 *
 * Since: 0.1
 */
void dvmd_allocation_set_cpus (DvmdAllocation *self, guint node, const char *cpus);

/**
 * dvmd_allocation_set_memory:
 * @self: an allocation
 * @node: the number of a node, in the order in which they were added
 * @bytes: how much of its memory is given; 0 for what there is, as without this call
 *
 * People and processes are told; nothing is ended for it.
 *
 * Since: 0.1
 */
void dvmd_allocation_set_memory (DvmdAllocation *self, guint node, guint64 bytes);

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
 * DvmdDecisionRequest:
 * @directive: what is wanted: "new", "extend", "release", "reaquire", "cancel" as in Manager.Allocate, or
 *   "control-session"
 * @session: "control-session": the number of the session
 * @request: an a{sv} with the keys of Manager.Allocate, or of ControlSession
 * @requester: who asks, as the connection proves it: "pmix:NSPACE.RANK", ":1.42" or "private:7"
 * @nspace: the namespace of that: one of PMIx, or "bus.UID"
 * @uid: and its user
 * @pid: and process; 0 if that is not known
 *
 * Something that somebody wants, who has the right to it. Borrowed until decide_async() has returned.
 *
 * Since: 0.1
 */
typedef struct
{
  const char *directive;
  guint32 session;
  GVariant *request;
  const char *requester;
  const char *nspace;
  guint32 uid;
  gint32 pid;
  gpointer reserved[4];
} DvmdDecisionRequest;

/**
 * DvmdReleaseOffer:
 * @alloc_id: (nullable): the allocation; %NULL if the nodes are not all of one
 * @names: the nodes that are for this allocator: those that it has brought, and those for which there is nobody else.
 *   It may be empty
 * @all: all nodes that have left the DVM in this release, whoever has brought them
 *
 * The nodes of a release have left the DVM. Borrowed until offer_release_async() has returned.
 *
 * Since: 0.1
 */
typedef struct
{
  const char *alloc_id;
  const char *const *names;
  const char *const *all;
  gpointer reserved[2];
} DvmdReleaseOffer;

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
 * @allocate_async: looks for nodes. At the start of the DVM the allocator may take as long as its scheduler does, then
 *   as long as the setting allocator-timeout says; a cancelled request leaves nothing allocated
 * @allocate_finish: the answer. Need not be given by those who answer with a GTask: a DvmdAllocation (full) for done,
 *   %NULL without error for declined, an error for failed
 * @give_back_async: gives back nodes of an allocation, by name; called when their agents have ended
 * @give_back_finish: the answer. Need not be given by those who answer with a GTask: %TRUE for done, %FALSE for
 *   declined, an error for failed
 * @decide_async: a scheduler outside of the DVM decides of requests: nothing is done before it has answered, and it is
 *   not waited for longer than the setting allocator-timeout says. Who does not implement it leaves the decision to the
 *   DVM
 * @decide_finish: the answer. Need not be given by those who answer with a GTask: an a{sv} (full, may float) for
 *   granted, %NULL without error for declined (it does not decide of this), an error for refused, which is what the
 *   requester gets. Keys, all of which may be left out: hosts as ("NAME:SLOTS"): the nodes that come, instead of those
 *   asked for; alloc-id s and session u: what a new allocation is called; time u: in how many seconds the scheduler
 *   ends it
 * @explain_loss_async: the agents of these nodes, which the allocator has brought, are lost: whether it knows why. What
 *   comes of the loss waits for the answer, for two seconds at most
 * @explain_loss_finish: the answer. Need not be given by those who answer with a GTask: an a{sv} (full, may float) for
 *   done, %NULL without error for declined, an error for failed. Keys, all of which may be left out: reasons a{ss}: by
 *   name a sentence on the node, without the name; withdrawn as: nodes that the DVM does not have any more, whose
 * agents are not started again, and which leave it if it is elastic
 * @session_ended: (nullable): a session has ended, and its jobs before it: an a(uiis) of the number, state, exit code
 *   and reason of each
 * @offer_release_async: nodes have left the DVM by a release: each active allocator is called, also if none of them is
 *   its own, and its answer is waited for before the requester is told. The answer is read by give_back_finish. Who
 *   does not implement it is called by give_back_async for those of its own, if there are some
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
  void (*decide_async) (DvmdAllocator *self, const DvmdDecisionRequest *request, GCancellable *cancellable,
                        GAsyncReadyCallback callback, gpointer user_data);
  DvmdPluginVerdict (*decide_finish) (DvmdAllocator *self, GAsyncResult *result, GVariant **answer, GError **error);
  void (*session_ended) (DvmdAllocator *self, guint32 session, const char *alloc_id, GVariant *jobs);
  void (*explain_loss_async) (DvmdAllocator *self, const char *const *names, GCancellable *cancellable,
                              GAsyncReadyCallback callback, gpointer user_data);
  DvmdPluginVerdict (*explain_loss_finish) (DvmdAllocator *self, GAsyncResult *result, GVariant **answer,
                                            GError **error);
  void (*offer_release_async) (DvmdAllocator *self, const DvmdReleaseOffer *offer, GCancellable *cancellable,
                               GAsyncReadyCallback callback, gpointer user_data);

  gpointer reserved[1];
};

/* Requests that the allocator does not implement are declined. */
void dvmd_allocator_allocate_async (DvmdAllocator *self, const DvmdAllocationRequest *request,
                                    GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
/* allocation: (out) (nullable): NULL unless done */
DvmdPluginVerdict dvmd_allocator_allocate_finish (DvmdAllocator *self, GAsyncResult *result,
                                                  DvmdAllocation **allocation, GError **error);
void dvmd_allocator_give_back_async (DvmdAllocator *self, const char *alloc_id, const char *const *names,
                                     GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
DvmdPluginVerdict dvmd_allocator_give_back_finish (DvmdAllocator *self, GAsyncResult *result, GError **error);
/* The answer is that of dvmd_allocator_give_back_finish(). */
void dvmd_allocator_offer_release_async (DvmdAllocator *self, const DvmdReleaseOffer *offer, GCancellable *cancellable,
                                         GAsyncReadyCallback callback, gpointer user_data);
/* Whether it implements giving back: nodes of one that does not are offered to others. */
gboolean dvmd_allocator_takes_back (DvmdAllocator *self);
/* Whether it implements deciding. */
gboolean dvmd_allocator_decides (DvmdAllocator *self);
void dvmd_allocator_decide_async (DvmdAllocator *self, const DvmdDecisionRequest *request, GCancellable *cancellable,
                                  GAsyncReadyCallback callback, gpointer user_data);
/* answer: (out) (nullable): a{sv}, NULL unless done */
DvmdPluginVerdict dvmd_allocator_decide_finish (DvmdAllocator *self, GAsyncResult *result, GVariant **answer,
                                                GError **error);
/* Whether it implements explaining. */
gboolean dvmd_allocator_explains_loss (DvmdAllocator *self);
void dvmd_allocator_explain_loss_async (DvmdAllocator *self, const char *const *names, GCancellable *cancellable,
                                        GAsyncReadyCallback callback, gpointer user_data);
/* answer: (out) (nullable): a{sv}, NULL unless done */
DvmdPluginVerdict dvmd_allocator_explain_loss_finish (DvmdAllocator *self, GAsyncResult *result, GVariant **answer,
                                                      GError **error);

void dvmd_allocator_session_ended (DvmdAllocator *self, guint32 session, const char *alloc_id, GVariant *jobs);

/**
 * dvmd_allocator_push:
 * @self: an allocator
 * @directive: "new", "extend", "release", "reaquire" or "cancel"; "warn", "terminate" or "control-session";
 *   "allotted", "time-left" or "end"
 * @request: what is asked for; floating is sunk
 *
 * The scheduler wants something of itself: it tells the controller, by the signal "push" (the directive, the request).
 * The request is an a{sv} with the keys of Manager.Allocate. "warn" has alloc-id s or session u, and seconds u: the
 * requester of that allocation is told how long it will last. "terminate" has alloc-id s or session u: the session ends
 * with its jobs. "control-session" has session u beside the keys of Manager.ControlSession. A scheduler may do this
 * with every allocation. "allotted" has nodes a{sa{sv}}: by name of a node of the DVM what is given of it from now on:
 * memory t in bytes, 0 for what there is. Two directives are about the nodes that the DVM was started with: "time-left"
 * has seconds u, for which it has them from now on, and nothing where there is no limit; "end" has reason s: the DVM
 * ends, and its jobs before it. Nobody is told when it is done; what is refused is in the log.
 *
 * Since: 0.1
 */
void dvmd_allocator_push (DvmdAllocator *self, const char *directive, GVariant *request);

G_END_DECLS
