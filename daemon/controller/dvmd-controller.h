/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

#include "dvmd-archive.h"
#include "dvmd-log-file.h"
#include "dvmd-clock.h"
#include "dvmd-config.h"
#include "dvmd-core-elastic.h"
#include "dvmd-host-processes.h"
#include "dvmd-link.h"
#include "dvmd-plugins.h"
#include "dvmd-topology.h"
#include "dvmd-trace-file.h"

G_BEGIN_DECLS

/*
 * The controller: rank 0. Decides, hosts no process. Wires core, mapper, output and the links to the agents; the bus
 * and main() call it. Signals of the model are the core's (dvmd_controller_get_core()).
 *
 * Signals of its own:
 *   ready ()            the DVM takes work
 *   ended (guint state, const char *reason)   the DVM has ended; the process may leave
 *   job-finished (DvmdJob)   the job has ended AND its output is delivered: Wait answers now
 */

#define DVMD_TYPE_CONTROLLER (dvmd_controller_get_type ())
G_DECLARE_FINAL_TYPE (DvmdController, dvmd_controller, DVMD, CONTROLLER, GObject)

/* An agent in this process. */
typedef struct
{
  guint rank;
  const char *name;        /* of the node */
  const char *dvm_nspace;  /* of the DVM */
  const char *runtime_dir; /* private directory of this agent */
  DvmdLink *link;          /* its end of the link to the controller */
  DvmdClock *clock;
  GMainContext *context;   /* (nullable) */
  DvmdReaper *reaper;      /* (nullable): of this process */
  DvmdTopology **topology; /* (out) (nullable): what the agent has found; it may be left as it is */
} DvmdEmbeddedAgent;

/* Makes one and starts it. The controller does not know what it is; (transfer full), nullable: it could not start. */
typedef GObject *(*DvmdEmbedFunc) (const DvmdEmbeddedAgent *agent, gpointer embed_data, GError **error);

/* Which nodes the DVM begins with. Where nodes is NULL and nothing else is asked for it is this machine alone. */
typedef struct
{
  const char *const *nodes;  /* (nullable): names, each with an agent in this process */
  guint slots;               /* 0: as default_slots says */
  const char *default_slots; /* (nullable): what a node has a slot for: "hwthreads", "cores"...; NULL: hwthreads */
  guint max_nodes;           /* so many of those that are found, the first ones; 0: all */
  guint n_logical;           /* so many nodes, node1 and so on, which are parts of this machine; 0: none */
  const char *hostfile;      /* (nullable): the file that names the nodes */
  const char *hosts;         /* (nullable): a list of nodes, "node3:4,node5"; with hostfile: of those in the file */
  const char *launcher;      /* (nullable): what starts their agents; NULL: local for logical nodes, else ssh */
  const char *allocator;     /* (nullable): what finds them; NULL: the first one that does */
  gboolean allow_missing;    /* nodes that do not come are DOWN, and the DVM comes up with the others */
  gint64 start_timeout;      /* µs for the nodes to report when the DVM starts; 0: as long as they like */
} DvmdShapeSettings;

/* How nodes come and go while the DVM runs; none do without config. */
typedef struct
{
  gboolean elastic;         /* when somebody asks for it */
  gint64 park_limit;        /* µs that changes of size may keep a job waiting before the next ones wait for it */
  gboolean heal;            /* agents that were lost are started again */
  guint heal_limit;         /* so many times in a row */
  gint64 heal_pause;        /* µs, the longest between two attempts */
  gint64 move_pause;        /* µs until nothing runs any more on a node that was lost */
  gint64 grow_timeout;      /* µs that the nodes of a grow may take until they have reported */
  gint64 shrink_grace;      /* µs that a node which is to leave may take before its launcher ends it */
  gint64 allocator_timeout; /* µs that an allocator may take to answer */
} DvmdSizeSettings;

/* How jobs wait for each other. */
typedef struct
{
  gboolean backfill; /* the setting queue */
  guint max_running; /* 0: any number */
} DvmdQueueSettings;

/* These settings say how much of the output of jobs is kept. */
typedef struct
{
  gsize of_one;   /* bytes, of a job that nobody is attached to; 0: nothing */
  guint64 of_all; /* bytes, of all ended jobs together */
  gsize credit;   /* bytes of a job's output under way from one agent; 0: the usual */
} DvmdOutputSettings;

/* Jobs that say nothing get these words. All are nullable. */
typedef struct
{
  const char *map_by;
  const char *rank_by;
  const char *bind_to;
  const char *output;
  const char *display; /* of those who show jobs; it is told and not read */
} DvmdDefaults;

typedef struct
{
  const char *runtime_dir; /* private directory of this DVM */
  const char *socket;      /* (nullable): where dvm-cli finds it, for tables that it prints; NULL: it cannot */
  gboolean one_shot;
  guint history_limit;
  guint64 history_bytes;
  gint64 kill_grace;         /* µs between SIGTERM and SIGKILL */
  gboolean pmix_events;      /* processes and tools are told of the end of changes that they asked for */
  gboolean adopt_orphans;    /* this process is a subreaper (the daemon, not a test) */
  DvmdPlugins *plugins;      /* (nullable) (transfer full); NULL: those of the program */
  DvmdTraceFile *trace_file; /* (nullable) (transfer full): where every transition is written */
  DvmdConfig *config;        /* (nullable): agents are processes of their own, with these settings; NULL: of this one */
  guint radix;               /* how many of those hang on one in the tree; 0: the usual */
  DvmdEmbedFunc embed;       /* (nullable): with config alone */
  gpointer embed_data;       /* (nullable): lives as long as the controller */
  DvmdShapeSettings shape;
  DvmdSizeSettings size;
  DvmdQueueSettings queue;
  DvmdOutputSettings output;
  DvmdDefaults defaults;
  DvmdArchiveSettings archive; /* path: (nullable): none; instance is the controller's own */
  DvmdLogFile *log_file;       /* (nullable): where the log of this process is written */
} DvmdControllerSettings;

DvmdController *dvmd_controller_new (const DvmdControllerSettings *settings, GMainContext *context);
void dvmd_controller_start (DvmdController *self);

/* These settings may change while the DVM runs; the members are as in DvmdControllerSettings. */
typedef struct
{
  guint history_limit;
  guint64 history_bytes;
  gint64 kill_grace;         /* of jobs that are launched from now on, and of those that are cancelled */
  gsize keep_output;         /* of jobs that come */
  guint64 keep_output_total; /* the oldest output goes at once if it is too much */
  const char *disabled_plugins;
  DvmdDefaults defaults;     /* of jobs that come */
  DvmdQueueSettings queue;   /* of jobs that wait, too */
  DvmdTraceFile *trace_file; /* (nullable) (transfer full): instead of the one that there is */
} DvmdControllerChanges;
void dvmd_controller_change (DvmdController *self, const DvmdControllerChanges *changes);

/* Whether each job could have them: the library reads the words, and the mappers take them. */
gboolean dvmd_controller_check_defaults (DvmdPlugins *plugins, const DvmdDefaults *defaults, GError **error);
/* (transfer floating): a(ssss), the words of options as _dvm_words_add() has them, with those of mappers and the names
 * of launchers */
GVariant *dvmd_controller_list_words (DvmdPlugins *plugins);
/*
 * A job that is not yet prepared gets those of which it says nothing, as far as they do not contradict what it says.
 * is_child: a process has spawned it, and its output goes where that of its parent goes.
 */
void dvmd_controller_apply_defaults (DvmdController *self, DvmJobSpec *spec, gboolean is_child);
/* Where the job does not say them and they do not contradict what it says; a word alone stands before qualifiers of the
 * job. All nullable */
void dvmd_controller_try_policies (DvmdController *self, DvmJobSpec *spec, const char *map_by, const char *rank_by,
                                   const char *bind_to);
/* By the names of the settings, for Manager.Defaults: (transfer floating) a{sv} of s, of those that there are */
GVariant *dvmd_controller_get_defaults (DvmdController *self);

/* BAD_PARAM: the nodes, the launcher or the allocator that the settings name cannot be those of a DVM */
gboolean dvmd_controller_check_shape (const DvmdControllerSettings *settings, DvmdPlugins *plugins, GError **error);

/* Whether the list or the file (both nullable) name another machine than this one. TRUE too for what cannot be read:
 * the start of the DVM says why. */
gboolean dvmd_controller_goes_elsewhere (const char *hosts, const char *hostfile);

DvmdCore *dvmd_controller_get_core (DvmdController *self);
const char *dvmd_controller_get_instance_id (DvmdController *self);
gint64 dvmd_controller_get_started_at (DvmdController *self);

/*
 * A job that is prepared has its number and its output, and nothing can be wrong with it any more. It exists when it is
 * accepted; that fails only when the DVM ends meanwhile. So of several jobs all are accepted, or none is.
 * fds: descriptors for stdin, stdout, stderr, -1 for none; they are taken (closed by the controller, also on error).
 * NotReady never happens: jobs that come early are kept.
 */
typedef struct _DvmdSubmission DvmdSubmission;
DvmdSubmission *dvmd_controller_prepare_job (DvmdController *self, DvmJobSpec *spec, const DvmdRequester *requester,
                                             const int fds[3], GError **error);
/* Its files are emptied, which accepting does too: for several jobs that write to one file, before the first is
 * accepted. */
void dvmd_submission_begin (DvmdSubmission *submission);
/* Takes the submission. */
DvmdJob *dvmd_controller_accept_job (DvmdController *self, DvmdSubmission *submission, const DvmdRequester *requester,
                                     GError **error);
/* Both steps for one job. */
static inline DvmdJob *
dvmd_controller_submit (DvmdController *self, DvmJobSpec *spec, const DvmdRequester *requester, const int fds[3],
                        GError **error)
{
  DvmdSubmission *submission = dvmd_controller_prepare_job (self, spec, requester, fds, error);

  return submission != NULL ? dvmd_controller_accept_job (self, submission, requester, error) : NULL;
}
/* Nothing becomes of it. */
void dvmd_submission_free (DvmdSubmission *submission);
/* ranks: (nullable) id set. */
gboolean dvmd_controller_signal_job (DvmdController *self, DvmdJob *job, int signum, const char *ranks, GError **error);
/* Processes that wait for a debugger, or are stopped, go on. */
gboolean dvmd_controller_continue_job (DvmdController *self, DvmdJob *job, GError **error);
/* The size of its pseudo terminals, now and when they are made. */
gboolean dvmd_controller_resize_job (DvmdController *self, DvmdJob *job, guint rows, guint columns, GError **error);
gboolean dvmd_controller_cancel_job (DvmdController *self, DvmdJob *job, const char *reason, GError **error);
gboolean dvmd_controller_cancel_job_for (DvmdController *self, DvmdJob *job, const DvmReason *reason, GError **error);
/* fds[0..2]: the caller's ends for the streams asked for, -1 for the others; close-on-exec, the caller's to close. */
gboolean dvmd_controller_attach (DvmdController *self, DvmdJob *job, DvmStreams streams, int fds[3], GError **error);
/* Ended and its output delivered. */
gboolean dvmd_controller_job_is_finished (DvmdController *self, DvmdJob *job);
void dvmd_controller_shutdown (DvmdController *self, gboolean force, const char *reason);

/* The XML of hwloc of a node; its agent is asked. (transfer full) */
void dvmd_controller_get_topology_async (DvmdController *self, guint rank, GAsyncReadyCallback callback,
                                         gpointer user_data);
char *dvmd_controller_get_topology_finish (DvmdController *self, GAsyncResult *result, GError **error);

/* (transfer full): the state machines of the DVM, jobs and campaigns as text for Graphviz, one after another */
char *dvmd_controller_draw_machines (void);

/* The result is the answer of Manager.ListPlugins: (transfer floating) aa{sv} */
GVariant *dvmd_controller_list_plugins (DvmdController *self);

/* Sums since the start, for Manager.Statistics: "jobs-submitted" ... (transfer floating) a{sv} of t */
GVariant *dvmd_controller_get_statistics (DvmdController *self);

/*
 * The agent of the node is started again, as a new rank; force: also if jobs have processes there, which end. The node
 * may not be there any more when it has returned.
 */
gboolean dvmd_controller_restart_node (DvmdController *self, DvmdNode *node, gboolean force, GError **error);

G_END_DECLS
