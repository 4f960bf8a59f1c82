/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Connections, and what is sent on them.
 */

#pragma once

#include "dvmd-bus-limit.h"
#include "dvmd-bus-log.h"
#include "dvmd-bus-server.h"
#include "dvmd-bus-unsent.h"

G_BEGIN_DECLS

typedef struct _DvmdBusPeer DvmdBusPeer;
typedef struct _DvmdBusCaller DvmdBusCaller;

/* The DVM's own unique name for private peers that behave as on a bus; theirs are :1.N. */
#define DVMD_BUS_PRIVATE_UNIQUE_NAME ":1.0"

struct _DvmdBusPeer
{
  DvmdBusServer *server; /* NULL once the connection is closed */
  GDBusConnection *connection;
  gboolean is_bus;
  gboolean is_guest; /* has come by the private socket */
  guint id;
  char *name;       /* "private:7", "bus:8" */
  GArray *objects;  /* guint, registrations */
  GArray *subtrees; /* guint */
  gulong closed_handler;

  DvmdBusLimit *limit;   /* (nullable): of the system bus */
  GHashTable *callers;   /* unique name -> DvmdBusCaller; buses */
  DvmdBusCaller *self;   /* private connections: the one who calls */
  guint n_subscriptions; /* of all callers */
  gboolean saw_objects;  /* private: has called GetManagedObjects, gets everything from then on */
  gboolean owns_name;
  gboolean said_hello;
  gboolean submits_quietly; /* the call that is being served asked for no signals of its job */

  DvmdBusUnsent *unsent;
  DvmdBusLog *backlog; /* (nullable): it lags: changes are kept there, and not sent */
  gboolean full;       /* lags after the object that is being told of */
  gboolean given_up;   /* is being closed */
  guint n_lists;       /* GetManagedObjects under way: lags for as long */
  guint written;       /* of what was unsent, when it was last looked at */
  gint64 written_at;
};

DvmdBusPeer *dvmd_bus_peer_new (DvmdBusServer *server, GDBusConnection *connection, gboolean is_bus);
DvmdBusPeer *dvmd_bus_peer_ref (DvmdBusPeer *self);
void dvmd_bus_peer_unref (DvmdBusPeer *self);
/* The interface that xml describes, which is read once for all peers: each `run` is one. once: static, for that text */
const GDBusInterfaceInfo *dvmd_bus_read_interface (gsize *once, const char *xml);
/* One object; user_data of its vtable is the peer */
gboolean dvmd_bus_peer_register (DvmdBusPeer *self, const char *path, const GDBusInterfaceInfo *info,
                                 const GDBusInterfaceVTable *vtable, GError **error);
/* Counts it, and closes the connection that lets too much gather. */
void dvmd_bus_peer_send (DvmdBusPeer *self, GDBusMessage *message);
/* So much is unsent that it lags. */
gboolean dvmd_bus_peer_is_full (DvmdBusPeer *self);
/* It is closed; why: for the log */
void dvmd_bus_peer_give_up (DvmdBusPeer *self, const char *why);
/* (nullable) */
DvmdBusPeer *dvmd_bus_peer_of (GDBusConnection *connection);
/* body: floating or not, shared by many peers. */
void dvmd_bus_peer_send_signal (DvmdBusPeer *self, const char *path, const char *interface, const char *signal,
                                GVariant *body);
/* A signal of the manager for one alone; destination: (nullable) a unique name on a bus. */
void dvmd_bus_peer_send_directed (DvmdBusPeer *self, const char *destination, const char *signal, GVariant *body);
/* Wants everything that is sent while somebody is subscribed. */
gboolean dvmd_bus_peer_is_subscribed (DvmdBusPeer *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdBusPeer, dvmd_bus_peer_unref)

G_END_DECLS
