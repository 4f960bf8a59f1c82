/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The server, as the parts that it is made of: each is a struct of its own file, which alone writes it.
 */

#pragma once

#include "dvmd-bus-server.h"

G_BEGIN_DECLS

typedef struct _DvmdBusPeer DvmdBusPeer;
typedef struct _DvmdBusBuses DvmdBusBuses;
typedef struct _DvmdBusEvents DvmdBusEvents;
typedef struct _DvmdBusSignals DvmdBusSignals;
typedef struct _DvmdBusSocket DvmdBusSocket;
typedef struct _DvmdBusWaiters DvmdBusWaiters;

struct _DvmdBusServer
{
  GObject parent_instance;

  DvmdController *controller;
  DvmdCore *core;
  char *bus_name;
  DvmdConfig *settings; /* (nullable) */
  gboolean hides;       /* the setting private */
  DvmdBusReloadFunc reload;
  gpointer reload_data;
  gboolean stopped;

  GPtrArray *peers;          /* DvmdBusPeer, open */
  GHashTable *private_peers; /* "private:7" -> DvmdBusPeer, borrowed */
  guint last_peer;
  GCancellable *cancellable; /* of what is under way: cancelled by stop */

  DvmdBusSocket *socket;
  DvmdBusBuses *buses;
  DvmdBusSignals *signals;
  DvmdBusWaiters *waiters;
  DvmdBusEvents *events;
  GPtrArray *batches;    /* of SubmitMany, under way */
  GPtrArray *early_maps; /* calls of Map that wait for the DVM to be ready */
  guint force_timer;     /* Shutdown with a timeout */
};

/* ---- dvmd-bus-server.c ---- */

/* The connection is served from now on. */
void dvmd_bus_insert_peer (DvmdBusServer *self, DvmdBusPeer *peer);

/* ---- dvmd-bus-buses.c ---- */

DvmdBusBuses *dvmd_bus_buses_new (void);
void dvmd_bus_buses_free (DvmdBusBuses *self);
/* No bus is looked for any more. */
void dvmd_bus_buses_stop (DvmdBusBuses *self);
/* The message bus has closed its connection: it is looked for until it is back. */
void dvmd_bus_lost (DvmdBusServer *self, const GError *error);

/* ---- dvmd-bus-socket.c ---- */

DvmdBusSocket *dvmd_bus_socket_new (void);
void dvmd_bus_socket_free (DvmdBusSocket *self);
/* No connection is accepted any more. */
void dvmd_bus_socket_stop (DvmdBusSocket *self);
/* One that came in by the socket has gone. */
void dvmd_bus_socket_guest_gone (DvmdBusSocket *self);

G_END_DECLS
