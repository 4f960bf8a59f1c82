/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-bus-call.h"

G_BEGIN_DECLS

typedef struct _DvmdBusSignals DvmdBusSignals;

/*
 * An object that somebody may get signals of: a job, the manager, a session, a campaign. Of all but jobs the values are
 * compared with those that were sent last, so that whoever says "something has changed" need not know what.
 */
typedef struct
{
  DvmdBusKey key;
  DvmdBusSignals *signals;
  const DvmdBusClass *klass;
  gpointer object;    /* (nullable): a GObject; NULL: the manager */
  DvmdBusPeer *owner; /* (nullable) borrowed: the private connection that asked for it */
  guint64 left;       /* counters that are to be told of later, as the fields of a DvmdBusChange */
  GVariant **sent; /* (nullable): of a job; by the properties of the interface, NULL for those that are not told of */
  gulong notify_handler;
  gulong proc_handler;
} DvmdBusWatch;

const DvmdBusClass *dvmd_bus_get_class (DvmdBusKind kind);
/* The properties that change on the bus: the counters, or all others */
guint64 dvmd_bus_get_fields (DvmdBusKind kind, gboolean counters);

DvmdBusWatch *dvmd_bus_watch_new (DvmdBusSignals *signals, DvmdBusKind kind, guint id, gpointer object);
void dvmd_bus_watch_free (DvmdBusWatch *self);
/* Takes the present values as sent. */
void dvmd_bus_watch_reset (DvmdBusWatch *self, DvmdBusServer *server);
/* The result has the fields that differ from what was sent, and they count as sent from now on. Counters are left for
 * later without with_counters. */
guint64 dvmd_bus_watch_take (DvmdBusWatch *self, DvmdBusServer *server, guint64 fields, gboolean with_counters);
/* (transfer floating): a{sv} of these fields, as they were sent last if that is known */
GVariant *dvmd_bus_watch_get_values (DvmdBusWatch *self, DvmdBusServer *server, guint64 fields);

G_END_DECLS
