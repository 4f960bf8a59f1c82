/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of the server, for the files that it is made of.
 */

#pragma once

#include "dvmd-pmix-dirs.h"
#include "dvmd-pmix-events.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-jobinfo.h"
#include "dvmd-pmix-output.h"
#include "dvmd-pmix-queue.h"
#include "dvmd-pmix-relay.h"

G_BEGIN_DECLS

typedef struct
{
  DvmdPmixJob *job;
  DvmdPmixInfo info; /* the library reads it until the registration has ended */
  DvmdPmixAudience *audience;
  GHashTable *gone; /* rank here whose process has gone -> whether it is known to have put nothing */
} DvmdPmixServerJob;

struct _DvmdPmixServer
{
  GObject parent_instance;
  DvmdPmixHost *host; /* not owned */
  DvmdPmixQueue *queue;
  DvmdPmixDirs *dirs;
  DvmdPmixPlaces *places;
  DvmdTopology *topology;
  char *nspace; /* of the DVM */
  guint32 rank; /* of the agent */
  char *node_name;
  guint port;           /* where the library listens */
  DvmdPmixRelay *relay; /* (nullable): where tools come to */
  GHashTable *jobs;     /* nspace -> DvmdPmixServerJob */
  GHashTable *unknown;  /* set of nspaces: of jobs that somebody has asked for in vain */
  GHashTable *tokens;   /* guint64 -> DvmdPmixRequest: collectives that the agent has not answered */
  GHashTable *calls;    /* guint64 -> DvmdPmixCall: that the agent has not answered */
  GHashTable *tasks;    /* GTasks that wait for the library */
  GHashTable *answered; /* GTasks that wait no more, while the library may call back */
  guint64 last_token;
  GHashTable *allowances; /* nspace -> how many events it may tell of (dvmd-pmix-events.c) */
  gint64 no_strangers;    /* monotonic, µs: when none were connected (dvmd-pmix-calls.c) */
  GHashTable *told;       /* set of "nspace.rank" of clients: the library has told others of what they tell */
  gsize lost;             /* bytes that the library may have lost with events that it has told */
  int library_thread;     /* gettid(2) of the one that answered last */
  gboolean running;
  DvmdPmixDone stopped; /* (nullable): who waits for the end of the stop */
  gpointer stopped_data;
  GSource *idle_timer; /* (nullable) */
  DvmdPmixOutputs *outputs;
};

G_END_DECLS
