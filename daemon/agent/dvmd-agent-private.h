/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of the agent, for its own files: one file per job step.
 */

#pragma once

#include "dvm-job-spec-private.h"
#include "dvmd-agent-services.h"
#include "dvmd-launch-options.h"
#include "dvmd-container.h"
#include "dvmd-fence.h"
#include "dvmd-environments.h"
#include "dvmd-local-daemon.h"
#include "dvmd-local.h"
#include "dvmd-map.h"
#include "dvmd-message.h"
#include "dvmd-pipes.h"
#include "dvmd-reaper.h"
#include "dvmd-spawn.h"
#include "dvmd-stage.h"
#include "dvmd-topology.h"

G_BEGIN_DECLS

typedef struct _DvmdAgentPmixProcesses DvmdAgentPmixProcesses;

struct _DvmdAgent
{
  GObject parent_instance;

  guint rank;
  char *name;
  char *dvm_nspace;
  char *runtime_dir;
  struct
  {
    char *addresses;     /* (nullable) */
    char *topology_file; /* (nullable) */
    gboolean logical;
    char *pmix_gds; /* (nullable) */
    gboolean pmix_eager;
    guint pmix_servers; /* processes; 0: the library is in this one */
    gboolean adopt_orphans;
    gboolean shares_reaper;
  } options; /* DvmdAgentSettings says what they are */
  gboolean pmix_tools;
  DvmdLink *link;
  DvmdAgentPmixProcesses *pmix_processes; /* (nullable) */
  DvmdPmix *pmix;                         /* (nullable): not opened yet */
  gboolean pmix_started;
  DvmdClock *clock;
  GMainContext *context;
  DvmdEventQueue *queue;
  DvmdTopology *topology;
  DvmdSpawner *spawner;
  DvmdReaper *reaper;
  DvmdContainers *containers;
  DvmdAgentServices *services;
  GHashTable *jobs;      /* id -> DvmdAgentJob */
  GHashTable *by_nspace; /* namespace -> DvmdAgentJob */
  char **base_environment;
  GHashTable *node_names;  /* rank -> name, from MEMBERSHIP */
  DvmdLocalDaemon *daemon; /* the agent's own row */
};

/* What the launch message says of one application. */
typedef struct
{
  char **argv;
  char *cwd;
  gboolean clear_env;
  char **unset_env;
  GBytes *digest;               /* (nullable): of its environment */
  DvmdEnvironment *environment; /* (nullable): while it is on its way */
  guint n_local;                /* ranks here */
  guint32 size;                 /* ranks, of all nodes */
  guint32 first_rank;           /* the lowest */
  char **defaults;              /* (nullable): what of it nobody but the agent has asked for */
  char **base;                  /* environment of its processes but for what belongs to the rank */
  gboolean looked_at;           /* for an MPI library */
} DvmdAgentApp;

/* Of a process that is not started yet. */
typedef struct
{
  guint32 rank;
  int signum;
} DvmdEarlySignal;

typedef struct
{
  DvmdAgent *agent; /* unowned */
  DvmdLocalJob *local;
  guint32 universe;
  DvmdMap *map;
  GPtrArray *apps; /* DvmdAgentApp */
  DvmdLaunchOptions options;
  gboolean pmix;       /* personality */
  gboolean given_up;   /* the PMIx server did not answer */
  guint timer;         /* for its answer */
  gboolean registered; /* with the PMIx server */
  gboolean went_on;    /* they need not any more */
  char *session_dir;   /* (nullable): where the files are that the job brought along */
  DvmdContainer *container;
  DvmdCredit *credit;
  GHashTable *by_pid; /* pid -> DvmdLocalProc */
  GArray *states;     /* StateRow: changes that were not sent yet */
  gboolean killed;
  gboolean connecting;   /* a rank was ended while it may have been coming to the PMIx server */
  guint n_awaited;       /* environments that were asked for */
  guint next_start;      /* of the local processes */
  GArray *early;         /* (nullable): DvmdEarlySignal, for those from there on */
  gboolean launched;     /* LAUNCHED was sent */
  gboolean ranks_ended;  /* every local rank is in its last state */
  gboolean nothing_left; /* of processes, children of the ranks too */
} DvmdAgentJob;

void dvmd_agent_send (DvmdAgent *self, DvmdMessageKind kind, GVariant *body);
DvmdAgentJob *dvmd_agent_find_job (DvmdAgent *self, guint32 id);
/* After the last job of an agent that stops. */
void dvmd_agent_check_end (DvmdAgent *self);

/* dvmd-agent-launch.c */
/* The job is ended before its environments have come. */
void dvmd_agent_end_await (DvmdAgentJob *job);
DvmdAgentJob *dvmd_agent_job_new_from_message (DvmdAgent *self, GVariant *body, GError **error);
void dvmd_agent_job_free (DvmdAgentJob *self);

/* dvmd-agent-stage.c */
/* The job's session directory for applications that run there (options of the launch message). */
void dvmd_agent_enter_session_dir (DvmdAgentJob *job);
/* Removes the staged files of jobs that were never launched. */
void dvmd_agent_end_unused_stages (DvmdAgent *self);
gboolean dvmd_agent_has_stages (DvmdAgent *self);
/* Removes the session directory, if the job has one of ours, then says JOB_GONE. */
void dvmd_agent_end_stage (DvmdAgent *self, guint32 job);

/* dvmd-agent-procs.c */
extern const DvmdLocalFuncs dvmd_agent_local_funcs;
void dvmd_agent_start_procs (DvmdAgentJob *job);
void dvmd_agent_fail_procs (DvmdAgentJob *job, int exit_code, const char *reason);
void dvmd_agent_kill_job (DvmdAgentJob *job, gint64 grace);
/* The PMIx server has seen the connection of this process break. */
void dvmd_agent_proc_lost (DvmdAgentJob *job, DvmdLocalProc *proc);
/* A rank has ended, and may be one of an MPI program that the PMIx server has not seen. */
void dvmd_agent_look_for_mpi (DvmdAgentJob *job, DvmdLocalProc *proc);

/* dvmd-agent-debug.c */
/* The rank waits for a debugger in a call of its PMIx library. */
void dvmd_agent_proc_waits (DvmdAgentJob *job, DvmdLocalProc *proc);
/* The rank gets SIGCONT. */
void dvmd_agent_proc_resumed (DvmdAgentJob *job, DvmdLocalProc *proc);

/* dvmd-agent-environment.c */
char **dvmd_agent_build_base_environment (void);
void dvmd_agent_prepare_app_environment (DvmdAgentJob *job, DvmdAgentApp *app);
/* (transfer full) */
char **dvmd_agent_build_environment (DvmdAgentJob *job, DvmdLocalProc *proc, GError **error);

/* apps (aa{sv}, as of SubmitApps) of a job that proc wants, without what it has only because it runs here.
 * (transfer full) */
GVariant *dvmd_agent_strip_defaults (DvmdAgentJob *job, const DvmdLocalProc *proc, GVariant *apps);

/* dvmd-agent-io.c */
extern const DvmdPipesFuncs dvmd_agent_pipes_funcs;

/* dvmd-agent-fences.c */
/* FALSE: it does not go by the tree. */
gboolean dvmd_agent_contribute_fence (DvmdAgent *self, guint64 token, const DvmdPmixProc *participants,
                                      guint n_participants, int status, GBytes *data, guint timeout);
/* Those who wait get an error. */
void dvmd_agent_end_fences (DvmdAgentJob *job);
/* Likewise, when the agent forgets the job. */
void dvmd_agent_forget_fences (DvmdAgentJob *job);

/* dvmd-agent-pmix.c */
void dvmd_agent_pmix_host_iface_init (DvmdPmixHostInterface *iface);
gboolean dvmd_agent_start_pmix (DvmdAgent *self, GError **error);
DvmdPmixJob *dvmd_agent_describe_job (DvmdAgentJob *job);
/* A local one has gone without finalizing, or is about to. */
gboolean dvmd_agent_has_lost_participant (DvmdAgent *self, const DvmdPmixProc *participant);
/* What the library must know of a job: add its applications before its ranks. (transfer full) */
DvmdPmixJob *dvmd_agent_describe_nodes (DvmdAgent *self, const char *nspace, DvmdMap *map);
void dvmd_agent_describe_ranks (DvmdPmixJob *description, DvmdMap *map);
/* (nullable): no process of this node */
DvmdLocalProc *dvmd_agent_find_proc (DvmdAgent *self, const char *nspace, guint32 rank);

/* dvmd-agent-pmix-processes.c */
/* (transfer full) */
DvmdPmix *dvmd_agent_new_pmix_servers (DvmdAgent *self);
/* After the servers. */
void dvmd_agent_pmix_processes_free (DvmdAgentPmixProcesses *self);

/* dvmd-agent-calls.c */
/* Implements DvmdPmixHost.call. */
void dvmd_agent_call (DvmdPmixHost *host, guint64 token, DvmdCallKind kind, const char *nspace, guint32 rank,
                      GVariant *request);

/* dvmd-agent-connect.c */
void dvmd_agent_connect (DvmdPmixHost *host, guint64 token, gboolean leave, const DvmdPmixProc *participants,
                         guint n_participants, guint timeout);
/* Jobs that have no ranks here, but that ranks here speak to. */

/* dvmd-agent-tools.c */
/* A process that runs here, or a tool that is connected. */
gboolean dvmd_agent_is_here (DvmdAgent *self, const char *nspace, guint32 rank);
/* The agent has begun: tools may come, if they may come at all. */
void dvmd_agent_serve_tools (DvmdAgent *self);
char *dvmd_agent_tool_connected (DvmdPmixHost *host, const char *nspace, guint32 *rank);
void dvmd_agent_tool_named (DvmdPmixHost *host, const char *nspace, guint32 rank);
/* FALSE: it was none. */
gboolean dvmd_agent_tool_lost (DvmdAgent *self, const char *nspace, guint32 rank);

/* dvmd-agent-spawn.c */
/* (transfer full): the request of a rank, without what the agent itself has put into that rank's environment. */
GVariant *dvmd_agent_clean_spawn (DvmdAgent *self, const char *nspace, const DvmdLocalProc *proc, GVariant *request);
/* Jobs other than its own are to be aborted. */
void dvmd_agent_abort_others (DvmdAgent *self, const char *nspace, guint32 rank, int status, const char *message,
                              const DvmdPmixProc *targets, guint n_targets);

G_END_DECLS
