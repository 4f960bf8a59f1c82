/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of what goes out by itself, for the two files that it is in: -signals has jobs, nodes and the order of
 * all, -signals-objects those objects of which there are few.
 */

#pragma once

#include "dvmd-bus-node-changes.h"
#include "dvmd-bus-watched.h"

G_BEGIN_DECLS

typedef enum
{
  DVMD_BUS_TO_EVERYBODY,   /* buses, the owner, private connections that have asked for everything */
  DVMD_BUS_TO_SUBSCRIBERS, /* those who have called Subscribe */
  DVMD_BUS_TO_FOLLOWERS,   /* those and the owner */
} DvmdBusAudience;

/* What is being sent. */
typedef struct _DvmdBusBatch DvmdBusBatch;

struct _DvmdBusSignals
{
  DvmdBusServer *server;
  GHashTable *masks; /* GParamSpec of a record -> the fields that it stands for */
  GHashTable *live;  /* id -> DvmdBusLiveJob, those that somebody may get signals of */
  GArray *queue;     /* ids, in the order of their first change */
  GArray *job_changes;
  DvmdBusNodeChanges *nodes;
  DvmdBusBatch *batch; /* (nullable): what is being sent, in slices */
  GHashTable *watched; /* path -> DvmdBusWatched, those that somebody may get signals of */
  GPtrArray *changed;  /* of them, in the order of their first change */
  GPtrArray *told;     /* DvmdCampaign that has ended, DvmdSession that has been warned: whoever asked is to be told */
  gboolean has_public; /* somebody gets the signals of every object */
  gboolean has_subscribers;
  gboolean pending; /* something has happened since the batch was begun */
  gboolean flushing;
  guint flush_source;
  guint counter_source;
  gint64 counters_due; /* monotonic */
  gint64 pause_ends;
};

/* ---- dvmd-bus-signals.c ---- */

/* owner: (nullable) of the object */
gboolean dvmd_bus_signals_is_for (DvmdBusPeer *peer, DvmdBusPeer *owner, DvmdBusAudience audience);
gboolean dvmd_bus_signals_has_audience (DvmdBusSignals *self, DvmdBusPeer *owner, DvmdBusAudience audience);
/* body: floating; not to those who are behind */
void dvmd_bus_signals_broadcast (DvmdBusSignals *self, DvmdBusAudience audience, DvmdBusPeer *owner, const char *path,
                                 const char *interface, const char *signal, GVariant *body);
/* changed: floating a{sv} */
void dvmd_bus_signals_send_properties (DvmdBusSignals *self, DvmdBusPeer *owner, const char *path,
                                       const char *interface, GVariant *changed);
void dvmd_bus_signals_schedule (DvmdBusSignals *self);

/* ---- dvmd-bus-signals-objects.c ---- */

void dvmd_bus_signals_connect_objects (DvmdBusSignals *self);
void dvmd_bus_signals_disconnect_objects (DvmdBusSignals *self);
/* Somebody gets the signals of every object from now on. */
void dvmd_bus_signals_watch_objects (DvmdBusSignals *self);
/* Those that nobody gets signals of are watched no more. */
void dvmd_bus_signals_forget_objects (DvmdBusSignals *self);
void dvmd_bus_signals_disown_objects (DvmdBusSignals *self, DvmdBusPeer *owner);
/* Something of the object has changed. */
void dvmd_bus_signals_mark (DvmdBusSignals *self, const char *path);
/*
 * (transfer container): those that were changed; new values of all of them go before what tells of any. left: counters
 * are left for later.
 */
GPtrArray *dvmd_bus_signals_send_objects (DvmdBusSignals *self, gboolean with_counters, gboolean *left);
/* Those of them that leave. */
void dvmd_bus_signals_send_removals (DvmdBusSignals *self, GPtrArray *changed);

G_END_DECLS
