/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The callers of methods, and the rights that they have.
 */

#pragma once

#include "dvmd-bus-call.h"

G_BEGIN_DECLS

/* A unique name on a bus, or the other end of a private connection. */
struct _DvmdBusCaller
{
  DvmdBusPeer *peer; /* (nullable) borrowed: NULL when the caller or the connection has gone */
  DvmdRequester requester;
  gboolean known;   /* credentials have been had */
  gboolean reading; /* what it calls */
  guint watch;      /* buses: NameOwnerChanged */
  guint n_subscriptions;
  GQueue pending;   /* DvmdBusPendingCall */
  GArray *jobs;     /* guint, ids of those that are to end with the caller; (nullable) */
  guint jobs_limit; /* at that length the ended ones are taken out */
};

/* A call that waits until it is known who calls, or the call before it is read. */
typedef struct
{
  const DvmdBusClass *klass;
  const DvmdBusMethod *method;
  guint id;
  GDBusMethodInvocation *invocation;
} DvmdBusPendingCall;

void dvmd_bus_pending_call_free (DvmdBusPendingCall *pending);
gboolean dvmd_bus_caller_check (DvmdBusServer *server, DvmdBusCaller *caller, DvmdBusAccess access, gpointer object,
                                GError **error);
DvmdBusCaller *dvmd_bus_caller_new (DvmdBusPeer *peer, const char *name);
DvmdBusCaller *dvmd_bus_caller_new_private (DvmdBusPeer *peer);
DvmdBusCaller *dvmd_bus_caller_ref (DvmdBusCaller *self);
void dvmd_bus_caller_unref (DvmdBusCaller *self);
/* (transfer full): the user and the program, for people */
char *dvmd_bus_caller_describe (DvmdBusCaller *self);
/* The job is cancelled when the caller leaves. */
void dvmd_bus_caller_keep_job (DvmdBusCaller *self, DvmdJob *job);
/* May do something to the DVM. */
gboolean dvmd_bus_caller_may_change (DvmdBusCaller *self);
/* The jobs that were to end with the caller are cancelled. */
void dvmd_bus_caller_end_jobs (DvmdBusCaller *self, DvmdBusServer *server);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdBusCaller, dvmd_bus_caller_unref)

G_END_DECLS
