/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of what goes out by itself, for the files that it is in: -collect writes the change log, -flush tells what
 * is in it, -signals says when, and -lagging keeps what a peer cannot take yet.
 */

#pragma once

#include "dvmd-bus-log.h"
#include "dvmd-bus-signals.h"
#include "dvmd-bus-watch.h"

G_BEGIN_DECLS

typedef enum
{
  DVMD_BUS_TO_EVERYBODY,   /* buses, the owner, private connections that have asked for everything */
  DVMD_BUS_TO_SUBSCRIBERS, /* those who have called Subscribe */
  DVMD_BUS_TO_FOLLOWERS,   /* those and the owner */
} DvmdBusAudience;

struct _DvmdBusSignals
{
  DvmdBusServer *server;
  GHashTable *masks;      /* GParamSpec of a job's record -> the fields that it stands for */
  GHashTable *watches;    /* DvmdBusKey, the first thing in a DvmdBusWatch: of what somebody may get signals of */
  DvmdBusLog *log;        /* what has happened */
  DvmdBusLog *batch;      /* (nullable): of that, what is being told, in slices */
  gboolean with_counters; /* the batch has them */
  gboolean counters_left; /* and leaves some for later */
  guint n_jobs;           /* in the batch when it was begun */
  gboolean has_public;    /* somebody gets the signals of every object */
  gboolean has_subscribers;
  gboolean pending; /* something has happened since the batch was begun */
  gboolean flushing;
  guint flush_source;
  guint counter_source;
  gint64 counters_due; /* monotonic */
  gint64 pause_ends;
  gint64 timeout;  /* microseconds that a lagging peer may leave unread what waits for it */
  guint lag_timer; /* while there is one */
};

/* ---- dvmd-bus-signals.c ---- */

/* owner: (nullable) of the object */
gboolean dvmd_bus_signals_is_for (DvmdBusPeer *peer, DvmdBusPeer *owner, DvmdBusAudience audience);
gboolean dvmd_bus_signals_has_audience (DvmdBusSignals *self, DvmdBusPeer *owner, DvmdBusAudience audience);
/* The log is to be told soon. */
void dvmd_bus_signals_schedule (DvmdBusSignals *self);
/* (nullable) */
DvmdBusWatch *dvmd_bus_signals_find (DvmdBusSignals *self, DvmdBusKind kind, guint id);

/* ---- dvmd-bus-collect.c ---- */

void dvmd_bus_signals_connect (DvmdBusSignals *self);
void dvmd_bus_signals_disconnect (DvmdBusSignals *self);
/* Somebody gets the signals of every object from now on. */
void dvmd_bus_signals_watch_all (DvmdBusSignals *self);

/* ---- dvmd-bus-flush.c ---- */

/* How a log is told. */
typedef struct
{
  DvmdBusSignals *signals;
  DvmdBusLog *log;
  DvmdBusPeer *lagging; /* (nullable): to this one; else to all others, and is merged into what lagging peers get */
  gint64 until;         /* monotonic */
  gboolean with_counters;
} DvmdBusFlush;

/*
 * FALSE: the time is over, or the peer has enough to read, before everything is told. others_took: how long the values
 * of all but jobs and nodes have taken.
 */
gboolean dvmd_bus_flush (const DvmdBusFlush *how, gint64 *others_took);
/* One job or node, which is not in the log any more. */
void dvmd_bus_flush_object (const DvmdBusFlush *how, DvmdBusChange *change);

/* ---- dvmd-bus-lagging.c ---- */

/* From now on its changes are merged; they are told when no list is under way and little is unsent. */
void dvmd_bus_lagging_begin (DvmdBusPeer *peer);

G_END_DECLS
