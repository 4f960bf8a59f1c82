/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Signals that go out by themselves, and peers that get them later.
 */

#pragma once

#include "dvmd-bus-peer.h"
#include "dvmd-core-elastic.h"

G_BEGIN_DECLS

typedef struct _DvmdBusSignals DvmdBusSignals;

DvmdBusSignals *dvmd_bus_signals_new (DvmdBusServer *server);
void dvmd_bus_signals_free (DvmdBusSignals *self);
/* Somebody has begun or ceased to listen. */
void dvmd_bus_signals_listeners_changed (DvmdBusSignals *self);
void dvmd_bus_signals_peer_gone (DvmdBusSignals *self, DvmdBusPeer *peer);
/* Sends what is pending, however long it takes. */
void dvmd_bus_signals_flush (DvmdBusSignals *self);
/* Sends as much of it as is soon sent. */
void dvmd_bus_signals_flush_some (DvmdBusSignals *self);
/* peer is given a list: what it has subscribed to is told before, if that is soon done, and so is in the list. */
void dvmd_bus_signals_flush_before_list (DvmdBusPeer *peer);
/* Sends what is pending of this job: before its end is told in another way. */
void dvmd_bus_signals_flush_job (DvmdBusSignals *self, DvmdJob *job);
/* A campaign that has ended, or a session that has been warned: whoever asked is told when its last values have been
 * sent. */
void dvmd_bus_signals_tell (DvmdBusSignals *self, gpointer object);
/* The private connection asked for this session: it is told of it though it has not subscribed. */
void dvmd_bus_signals_own_session (DvmdBusSignals *self, DvmdSession *session, DvmdBusPeer *owner);
/* How long, in microseconds, a lagging peer may take nothing of what waits for it. */
void dvmd_bus_signals_set_timeout (DvmdBusSignals *self, gint64 timeout);

/* ---- lagging peers (dvmd-bus-lagging.c) ---- */

/* It is given a list: what changes from now on is told after that. */
void dvmd_bus_lagging_begin_list (DvmdBusPeer *peer);
void dvmd_bus_lagging_end_list (DvmdBusPeer *peer);

G_END_DECLS
