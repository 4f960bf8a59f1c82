/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of a job, for the core's own files.
 */

#pragma once

#include "dvmd-core.h"
#include "dvmd-launch-fence.h"
#include "dvmd-lineage.h"

G_BEGIN_DECLS

struct _DvmdJob
{
  GObject parent_instance;

  DvmdCore *core; /* unowned: the core owns its jobs */
  DvmJob *record;
  DvmJobSpec *spec; /* NULL for the DVM's own job */
  DvmdRequester *requester;
  GArray *sessions; /* (element-type guint): whose nodes it may use, the primary one first; ids, so that no job keeps
                       a session */
  DvmdLineage *lineage; /* who spawned it */
  DvmdMap *map;
  DvmdMap *old_map; /* (nullable): while it is placed anew, where files of it may still be */
  DvmdProcTable *procs;
  GArray *trace;
  guint n_proc_entries; /* of the trace */
  gboolean trace_truncated;

  /* what the runtime options say */
  gboolean do_not_launch;
  gboolean recoverable;
  gboolean error_nonzero_status;
  gboolean stops;     /* its ranks are to wait for a debugger */
  gboolean has_files; /* to be staged */

  /* its family */
  guint parent;     /* 0: none */
  guint offset;     /* processes of those above it, before its own */
  char *launcher;   /* (nullable): who asked for the first of the family, if that is not itself */
  GArray *children; /* (nullable): guint, as long as they are known */
  gboolean child_separate;
  guint family_timer; /* until it ends, as its parent has */

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
  GPtrArray *reasons; /* (nullable): DvmReason, of failures that were posted */
  guint n_launched;
  guint n_failed_start;
  guint n_registered;
  guint n_ended;
  guint n_ended_unregistered; /* well, but without having called PMIx_Init */
  guint unregistered_rank;    /* the first of them */
  char *last_reason;          /* (nullable): that of its state alone */
  char *without_server;       /* (nullable): what is said of an MPI program of which no rank registers */
  guint n_waiting;            /* for a debugger, now */
  gboolean was_ready;         /* all of them have waited */
  gboolean went_on;           /* none of them is waited for any more */
  GHashTable *launch_left;    /* (nullable): ranks of agents that have not tried all of their processes yet */
  GHashTable *agents_left;    /* ranks of agents that still have something of the job */
  gboolean has_exit;          /* the first failure is recorded */
  guint timer;
};

typedef struct
{
  guint node;
  guint slots;
} DvmdClaim;

DvmdJob *dvmd_job_new (DvmdCore *core, guint id, const char *nspace, DvmJobSpec *spec, const DvmdRequester *requester);
/*
 * A transition of the job (rank DVMD_TRACE_JOB) or of one of its processes has happened. This is the one source of the
 * job's trace, of the log domain dvmd-state and of the trace file.
 */
void dvmd_job_trace (DvmdJob *self, guint rank, guint old_state, guint new_state, const char *note);
/* Of what it was described by, and what it was started with, an ended job keeps no more than is asked of it. */
void dvmd_job_release_spec (DvmdJob *self);
/* (element-type guint): ids; NULL: error says which one it cannot be in */
GArray *dvmd_job_sessions_choose (DvmdCore *core, DvmJobSpec *spec, const DvmdRequester *requester, GError **error);
void dvmd_job_sessions_set (DvmdJob *self, GArray *sessions);
/* They have it from now on, and it owns them too (R41). */
void dvmd_job_sessions_enter (DvmdJob *self);
/* It has ended. */
void dvmd_job_sessions_leave (DvmdJob *self);
/* The primary one */
guint dvmd_job_get_session (DvmdJob *self);
gboolean dvmd_job_uses_session (DvmdJob *self, guint id);
/* The node is in one of its sessions. */
gboolean dvmd_job_may_use (DvmdJob *self, DvmdNode *node);
/* About as many bytes as it takes */
gsize dvmd_job_get_size (DvmdJob *self);
/* A failure that is posted with its text has this code and these arguments. */
void dvmd_job_add_reason (DvmdJob *self, const DvmReason *reason);
/* (nullable): what was added with this text */
const DvmReason *dvmd_job_find_reason (DvmdJob *self, const char *text);
/* The one who fails first gives the job's exit. */
void dvmd_job_record_exit (DvmdJob *self, int rank, int exit_code, int exit_signal);

G_END_DECLS
