/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of a job, for the core's own files.
 */

#pragma once

#include "dvmd-core.h"
#include "dvmd-job-parts.h"
#include "dvmd-job-reason.h"
#include "dvmd-job-sessions.h"
#include "dvmd-launch-fence.h"
#include "dvmd-trace.h"

G_BEGIN_DECLS

struct _DvmdJob
{
  GObject parent_instance;

  DvmdCore *core; /* unowned: the core owns its jobs */
  DvmJob *record;
  DvmJobSpec *spec; /* NULL for the DVM's own job */
  DvmdRequester *requester;
  DvmdMap *map;
  DvmdMap *old_map; /* (nullable): while it is placed anew, where files of it may still be */
  DvmdProcTable *procs;

  /* what the runtime options say */
  gboolean do_not_launch;
  gboolean recoverable;
  gboolean error_nonzero_status;
  gboolean stops;     /* its ranks are to wait for a debugger */
  gboolean has_files; /* to be staged */

  guint holds;      /* DvmdHold */
  gboolean stopped; /* its ranks have been told to stop */
  gboolean held;    /* it waits, before its map or before its launch, until nothing holds it any more */

  GArray *app_np;         /* guint per application, known when the job is admitted */
  guint need;             /* slots that it takes */
  GArray *claims;         /* DvmdClaim */
  gboolean claims_broken; /* some of them were on a node that was lost before the job was mapped */
  DvmdMap *planned;       /* (nullable): its map, from the gate to MAP */
  gboolean oversubscribed;
  gboolean waiting;          /* in the queue for slots */
  guint64 departures;        /* members that had left when it was submitted */
  guint taken_by;            /* campaign that took a host which it names; 0: none */
  gboolean remapping;        /* nodes of its map have left: it is to be placed anew */
  gboolean was_parked;       /* at the map gate; it keeps its place before those that came after it */
  gboolean parks;            /* it is in the launch fence, parked or on its way through */
  DvmdGate gate;             /* where it is parked now; DVMD_GATE_NONE: nowhere */
  GList park_link;           /* in the launch fence */
  gint64 parked_at;          /* µs, monotonic: since when */
  guint64 queueing;          /* the number of when it began to wait for slots, likewise */
  guint64 parking;           /* the number of that among parkings and tickets */
  gboolean waits_for_own;    /* nodes of its own that have not reported */
  gboolean grown;            /* its own nodes have been asked for */
  GPtrArray *own_grows;      /* (element-type DvmdCampaign) (nullable): that bring its own nodes */
  DvmdCampaign *released_by; /* (nullable): the campaign that it was parked for, until it is placed */
  GList live_link;           /* in the core's queue of live jobs */
  GList known_link;          /* in that of all that can be asked about */
  gsize kept_bytes;          /* counted in the history */

  GHashTable *stage_left; /* (nullable): ranks of agents that the files of the job are on their way to */
  gboolean half_staged;   /* its files have not come to all of its nodes */
  gboolean launch_sent;
  gboolean kill_sent;
  gboolean counted_running;
  guint n_launched;
  guint n_failed_start;
  guint n_registered;
  guint n_ended;
  guint n_ended_unregistered; /* well, but without having called PMIx_Init */
  guint unregistered_rank;    /* the first of them */
  guint n_waiting;            /* for a debugger, now */
  gboolean was_ready;         /* all of them have waited */
  gboolean went_on;           /* none of them is waited for any more */
  GHashTable *launch_left;    /* (nullable): ranks of agents that have not tried all of their processes yet */
  GHashTable *agents_left;    /* ranks of agents that still have something of the job */
  guint timer;

  gpointer parts[DVMD_JOB_N_PARTS];
  void (*clear_part[DVMD_JOB_N_PARTS]) (gpointer part);
};

typedef struct
{
  guint node;
  guint slots;
} DvmdClaim;

DvmdJob *dvmd_job_new (DvmdCore *core, guint id, const char *nspace, DvmJobSpec *spec, const DvmdRequester *requester);
/* Of what it was described by, and what it was started with, an ended job keeps no more than is asked of it. */
void dvmd_job_release_spec (DvmdJob *self);
/* About as many bytes as it takes */
gsize dvmd_job_get_size (DvmdJob *self);

G_END_DECLS
