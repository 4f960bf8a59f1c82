/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of the controller, for its own files.
 */

#pragma once

#include "dvmd-agent.h"
#include "dvmd-campaign.h"
#include "dvmd-controller.h"
#include "dvmd-data-store.h"
#include "dvmd-fence.h"
#include "dvmd-environments.h"
#include "dvmd-input.h"
#include "dvmd-link.h"
#include "dvmd-output.h"

G_BEGIN_DECLS

typedef struct _DvmdWired DvmdWired;

/* The streams of one job. */
typedef struct
{
  DvmdController *controller; /* unowned */
  DvmdJob *job;
  DvmdOutput *output;
  DvmdInput *input;     /* NULL until the job is launched */
  int stdin_fd;         /* waits for the launch */
  gboolean stdin_owned; /* somebody has it */
  guint stdin_target;
  GHashTable *uncredited; /* rank of agent -> bytes, as gpointer */
  gboolean ended;
  gboolean finished;
  gboolean forgotten; /* the job has left the history; this goes when nobody reads any more */
  gsize kept;         /* bytes that are counted in the controller's kept_bytes */
  gboolean broadcast; /* what concerns all of the job goes to all agents */
  gboolean started;
  gpointer leader;        /* (nullable): DvmdJobStreams of the job that has spawned it, where its output goes */
  GPtrArray *followers;   /* DvmdJobStreams, unowned: of those that it has spawned */
  GHashTable *unlaunched; /* (nullable): set of agents whose ranks read the input, and that have not launched them */
} DvmdJobStreams;

/* Which nodes the DVM is to have. */
typedef struct
{
  char *hostfile; /* (nullable) */
  char *hosts;    /* (nullable) */
  char *launcher; /* (nullable) */
  guint n_logical;
  gint64 start_timeout;  /* µs */
  char **names;          /* (nullable): of the hosts that file and list name */
  GArray *named;         /* (nullable): DvmdPluginNode, of each of names */
  gboolean logical;      /* what was found is no machines: their agents are started here */
  GHashTable *addresses; /* name of a node -> how a launcher gets there, where that is not its name */
} DvmdShape;

struct _DvmdController
{
  GObject parent_instance;

  char *name;
  char *instance_id;
  char *runtime_dir;
  char *nspace;
  char *host;
  gint64 started_at;
  gint64 kill_grace;
  gsize keep_output;
  guint64 keep_output_total;
  GQueue kept;        /* DvmdJobStreams of ended jobs whose output is kept, oldest first */
  guint64 kept_bytes; /* of them together, as it was when they ended */
  gsize output_credit;
  char *pmix_gds;
  gboolean pmix_eager;
  gboolean pmix_events;
  gboolean adopt_orphans;
  GMainContext *context;
  DvmdClock *clock;
  DvmdEventQueue *queue;
  DvmdCore *core;
  DvmdWired *wired; /* (nullable): agents are processes of their own */
  gboolean was_ready;
  gboolean ended; /* as far as the core is concerned */
  DvmJobState end_state;
  char *end_reason;
  GHashTable *links;   /* rank -> DvmdLink */
  GPtrArray *embedded; /* DvmdAgent of this process */
  GPtrArray *pmix;     /* DvmdPmix that were given for the embedded agents, by rank - 1 */
  DvmdPlugins *plugins;
  DvmdTraceFile *trace_file; /* (nullable) */
  DvmdSpawner *spawner;      /* of the commands of plugins */
  DvmdReaper *reaper;        /* of this process */
  char **hosts;              /* (nullable): the nodes that are asked for */
  guint slots;
  DvmdShape shape;
  GPtrArray *allocators; /* DvmdAllocator, that are asked one after another */
  guint next_allocator;
  GCancellable *allocating;
  GHashTable *questions; /* number -> what an allocator is asked */
  gsize last_question;
  GQueue size_changes; /* DvmdSizeChange, that others are asked about */
  GHashTable *tools;   /* namespace -> rank of the agent, of tools that have asked for something */
  gint64 allocator_timeout;
  GSource *history_source;         /* (nullable): while jobs of a history that has become too long are forgotten */
  GHashTable *streams;             /* job id -> DvmdJobStreams */
  GHashTable *fences;              /* key -> Fence */
  GHashTable *tree_fences;         /* job id -> JobFences, of jobs whose fences go by the tree */
  const DvmdFenceTree *fence_tree; /* (nullable) */
  gpointer fence_world;
  GHashTable *askers;     /* "pmix:NSPACE.RANK" -> Asker: who waits for a change of size */
  GHashTable *spawns;     /* job id -> Spawn: jobs that processes and tools have wanted */
  DvmdDataStore *data;    /* what processes and tools have published */
  GHashTable *told;       /* job id -> set of ranks of agents that have no ranks of it, and know it */
  GHashTable *done_with;  /* job id -> set of ranks of agents where all ranks of a job that goes on have ended */
  GHashTable *modex_asks; /* set of ModexAsk, that agents were asked and have not answered */
  GHashTable *table_asks; /* guint64 * -> GTask: somebody waits for the tables of an agent */
  guint64 last_table_ask;
  GPtrArray *topology_asks; /* GTask: somebody waits for the topology of a node */
  guint64 last_topology_ask;
  GHashTable *topologies; /* signature -> XML, NULL while its first node is asked */
  DvmdEnvironments *environments;
  GHashTable *stagings; /* job id -> DvmdStaging */
  guint64 stage_pass;   /* the last one that was begun, of all jobs */
  guint64 epoch;
  guint64 output_bytes;
  guint64 broadcasts; /* within this process */
  guint64 gone_sent;  /* messages of links that are no more */
  guint64 gone_received;
  guint64 launch_messages;
  guint64 launch_bytes;
  guint64 environment_bytes;
};

void dvmd_controller_send (DvmdController *self, guint rank, DvmdMessageKind kind, GVariant *body);
/* To every agent that has processes of the job; perhaps to others, which pass over it. */
void dvmd_controller_send_to_job (DvmdController *self, DvmdJob *job, DvmdMessageKind kind, GVariant *body);
void dvmd_controller_finish_job (DvmdController *self, DvmdJob *job);

/* dvmd-controller-allocate.c */
void dvmd_controller_allocate (gpointer world);
void dvmd_shape_init (DvmdShape *shape, const DvmdControllerSettings *settings);
void dvmd_shape_clear (DvmdShape *shape);
/* Whether the name is one of this machine, which is called host. */
gboolean dvmd_shape_is_this_machine (const char *host, const char *name);
/* (nullable): for a launcher, where it differs from the name */
const char *dvmd_shape_get_address (DvmdShape *shape, const char *name);

/* (nullable) (transfer full): why the DVM cannot have these nodes */
char *dvmd_controller_judge_nodes (const DvmdPluginNode *nodes, guint n_nodes);

/* dvmd-controller-allocators.c */
void dvmd_controller_offer_nodes (gpointer world, DvmdCampaign *campaign, const DvmdOffer *nodes, guint n_nodes);
/* What it has proposed, and nobody wants: nothing waits for that. */
void dvmd_controller_return_nodes (DvmdController *self, DvmdAllocator *allocator, const char *alloc_id,
                                   const char *const *names);
void dvmd_controller_session_ended (gpointer world, DvmdSession *session, GVariant *jobs);
/* What they ask for of themselves is done. */
void dvmd_controller_listen_to_allocators (DvmdController *self);
/* (element-type DvmdAllocator) (transfer full): the active ones, in the order in which they are asked */
GPtrArray *dvmd_controller_list_allocators (DvmdController *self);

/* dvmd-controller-elastic.c */
/* The allocator's scheduler asks for it: dvmd_controller_change_size_finish(). */
void dvmd_controller_push_size (DvmdController *self, DvmdAllocator *allocator, const char *directive,
                                GVariant *request, GAsyncReadyCallback callback, gpointer user_data);
/* Whoever asked has gone before the answer. */
void dvmd_controller_withdraw_requests (DvmdController *self, const char *nspace);

/* dvmd-controller-questions.c */
/* result, error: one of them, the other NULL */
typedef void (*DvmdAnswered) (DvmdController *self, DvmdAllocator *allocator, GAsyncResult *result, const GError *error,
                              gpointer data);
/*
 * Somebody asks the allocator something: its function is called with cancellable (out) (transfer full), with
 * dvmd_controller_answered() and with what this returns. answered is called once: with the answer; with
 * DVM_ERROR_TIMEOUT after allocator-timeout, if limited; when stop (nullable) is cancelled; when the DVM has ended.
 */
gsize dvmd_controller_ask (DvmdController *self, DvmdAllocator *allocator, gboolean limited, GCancellable *stop,
                           DvmdAnswered answered, gpointer data, GCancellable **cancellable);
void dvmd_controller_answered (GObject *source, GAsyncResult *result, gpointer id);
GHashTable *dvmd_controller_questions_new (void);
/* The DVM has ended. */
void dvmd_controller_end_questions (DvmdController *self);
/* None is waited for any more. */
void dvmd_controller_forget_allocators (DvmdController *self);

/* dvmd-controller-agents.c */
/* link is taken. */
void dvmd_controller_add_link (DvmdController *self, guint rank, DvmdLink *link);
void dvmd_controller_remove_link (DvmdController *self, guint rank);
/* When the DVM has ended, and nothing is being ended any more: tells so. */
void dvmd_controller_check_end (DvmdController *self);
void dvmd_controller_launch_agents (gpointer world, DvmdNode *const *nodes, guint n_nodes);
void dvmd_controller_distribute_membership (gpointer world, guint64 epoch);
void dvmd_controller_stop_agents (gpointer world, gboolean force);
void dvmd_controller_handle_report (DvmdController *self, guint rank, GVariant *body);
void dvmd_controller_handle_gone (DvmdController *self, guint rank, GVariant *body);
/* (transfer floating): the body of DVMD_MSG_MEMBERSHIP */
GVariant *dvmd_controller_describe_membership (DvmdController *self);
void dvmd_controller_wire_agents (gpointer world, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes);
void dvmd_controller_remove_agents (gpointer world, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes,
                                    guint *repairs, guint *links_changed);
void dvmd_controller_handle_left (DvmdController *self, guint rank, GVariant *body);
void dvmd_controller_handle_leaving (DvmdController *self, guint rank, GVariant *body);

/* dvmd-controller-launch.c */
DvmdMap *dvmd_controller_map (gpointer world, DvmdJob *job, const DvmdPlaces *places, GError **error);
void dvmd_controller_send_launch (gpointer world, DvmdJob *job);
void dvmd_controller_kill (gpointer world, DvmdJob *job);
void dvmd_controller_signal (gpointer world, DvmdJob *job, int signal);
void dvmd_controller_handle_environment_ask (DvmdController *self, guint rank, GVariant *body);
void dvmd_controller_handle_launched (DvmdController *self, guint rank, GVariant *body);
void dvmd_controller_handle_proc_states (DvmdController *self, guint rank, GVariant *body);
void dvmd_controller_handle_abort (DvmdController *self, guint rank, GVariant *body);
void dvmd_controller_handle_job_gone (DvmdController *self, guint rank, GVariant *body);

/* dvmd-controller-stage.c */
void dvmd_controller_stage_files (gpointer world, DvmdJob *job);
/* Nothing of it is read or sent any more. */
void dvmd_controller_stop_staging (DvmdController *self, DvmdJob *job);
void dvmd_controller_handle_stage_taken (DvmdController *self, guint rank, GVariant *body);
void dvmd_controller_handle_staged (DvmdController *self, guint rank, GVariant *body);
/* Nobody waits for that agent any more: it has gone. */
void dvmd_controller_drop_stages (DvmdController *self, guint rank);
void dvmd_staging_free (gpointer staging);

/* dvmd-controller-streams.c */
DvmdJobStreams *dvmd_job_streams_new (DvmdController *self, DvmJobSpec *spec, const char *nspace, guint id, int fds[3],
                                      GError **error);
void dvmd_job_streams_free (DvmdJobStreams *self);
/* The launch is being sent: who gets stdin is known. */
void dvmd_job_streams_accept (DvmdJobStreams *self, DvmdJob *job);
void dvmd_job_streams_launch (DvmdJobStreams *self);
void dvmd_job_streams_started (DvmdJobStreams *self);
/* No input before the agents of its readers have launched them, or are lost. */
void dvmd_job_streams_launched (DvmdJobStreams *self, guint agent);
void dvmd_job_streams_end (DvmdJobStreams *self);
/* Its output goes where that of the leader goes, which is not delivered before this one's. */
void dvmd_job_streams_follow (DvmdJobStreams *self, DvmdJobStreams *leader);
/* It does not end with its leader: that does not wait for it. */
void dvmd_job_streams_separate (DvmdJobStreams *self);
/* Output that may be kept no longer goes. */
void dvmd_controller_trim_output (DvmdController *self);
/* The job leaves the history; frees the streams, at once or when their last reader is done. */
void dvmd_job_streams_forget (DvmdJobStreams *self);
gboolean dvmd_job_streams_attach (DvmdJobStreams *self, DvmStreams streams, int fds[3], GError **error);
void dvmd_controller_handle_output (DvmdController *self, guint rank, GVariant *body);
void dvmd_controller_handle_output_eof (DvmdController *self, guint rank, GVariant *body);
void dvmd_controller_handle_input_taken (DvmdController *self, guint rank, GVariant *body);

/* dvmd-controller-tables.c */
/*
 * What the agent of a node knows of its jobs and processes, DVMD_TABLES_TYPE: all that the controller knows of them
 * comes from there. Everything that the agent has told before it is here when the answer is.
 */
void dvmd_controller_ask_tables_async (DvmdController *self, guint rank, GAsyncReadyCallback callback,
                                       gpointer user_data);
GVariant *dvmd_controller_ask_tables_finish (DvmdController *self, GAsyncResult *result, GError **error);
void dvmd_controller_handle_tables (DvmdController *self, guint rank, GVariant *body);
/* The agent has gone. */
void dvmd_controller_fail_tables (DvmdController *self, guint rank);

/* dvmd-controller-topology.c */
/* The agent has reported: if its signature is a new one, it is asked what it stands for. */
void dvmd_controller_learn_topology (DvmdController *self, guint rank);
void dvmd_controller_handle_topology (DvmdController *self, guint rank, GVariant *body);
/* The agent of this rank has gone. */
void dvmd_controller_fail_topologies (DvmdController *self, guint rank);

/* dvmd-controller-lost.c */
/* The job goes on without what it had on that node: its other ranks are told. */
void dvmd_controller_node_lost (gpointer world, DvmdJob *job, DvmdNode *node);
/* The agent of this rank has gone: nobody waits for its answers any more. */
void dvmd_controller_forget_agent (DvmdController *self, guint rank);
gboolean dvmd_controller_is_lost (DvmdController *self, guint rank);

/* dvmd-controller-alloc.c */
GHashTable *dvmd_controller_askers_new (void);
void dvmd_controller_handle_allocate (DvmdController *self, guint rank, GVariant *body);
void dvmd_controller_campaign_ended (gpointer world, DvmdCampaign *campaign);
void dvmd_controller_warn_job (gpointer world, DvmdJob *job, DvmdNode *node, gint64 when);
void dvmd_controller_warn_session (gpointer world, DvmdSession *session, guint seconds_left);
/*
 * An agent says that somebody asks for something. FALSE: that is no process and no tool of its node. A tool is known
 * from then on, to end with its agent.
 */
gboolean dvmd_controller_hear (DvmdController *self, guint agent, const char *nspace, guint32 rank);
void dvmd_controller_handle_tool_gone (DvmdController *self, guint rank, GVariant *body);
/* The agent of this rank has gone, and the tools that were connected to it have too. */
void dvmd_controller_end_tools (DvmdController *self, guint rank);

/* dvmd-controller-spawn.c */
GHashTable *dvmd_controller_spawns_new (void);
/* FALSE: no process and no tool. nspace (out) (transfer full) */
gboolean dvmd_requester_read_proc (const DvmdRequester *requester, char **nspace, guint32 *rank);
void dvmd_controller_handle_spawn (DvmdController *self, guint rank, GVariant *body);
void dvmd_controller_spawn_changed (DvmdController *self, DvmdJob *job, DvmJobState state);
/* Nothing of it runs any more. */
void dvmd_controller_spawn_ended (DvmdController *self, DvmdJob *job);
/* The process or tool has gone: output of what it has spawned is kept for others. */
void dvmd_controller_stop_forwarding (DvmdController *self, const char *nspace);
/* The agent of this rank has gone: nobody there waits for anything. */
void dvmd_controller_forget_spawns (DvmdController *self, guint rank);

/* dvmd-controller-job-control.c */
void dvmd_controller_handle_job_control (DvmdController *self, guint rank, GVariant *body);
void dvmd_controller_handle_abort_others (DvmdController *self, guint rank, GVariant *body);

/* dvmd-controller-data.c */
void dvmd_controller_open_data (DvmdController *self);
/* A tool has gone: nothing is kept for it, and of it only what it wanted to outlive it. */
void dvmd_controller_tool_ended (DvmdController *self, const char *nspace);
void dvmd_controller_handle_data (DvmdController *self, guint rank, GVariant *body);

/* dvmd-controller-connect.c */
/* Before it is spoken of to that agent: nothing happens if that has ranks of it, or has been told. */
void dvmd_controller_tell_of_job (DvmdController *self, guint agent, DvmdJob *job);
/* It has no rank of the job left. */
void dvmd_controller_agent_is_done (DvmdController *self, guint agent, DvmdJob *job);
/* Those that were told of it need it no more. */
void dvmd_controller_untell_job (DvmdController *self, DvmdJob *job);
void dvmd_controller_handle_connect (DvmdController *self, guint rank, GVariant *body);

/* dvmd-controller-collectives.c */
typedef enum
{
  DVMD_COLLECTIVE_FENCE,
  DVMD_COLLECTIVE_CONNECT,
  DVMD_COLLECTIVE_DISCONNECT,
} DvmdCollective;

/* All participants of that agent have come, or (status) cannot come any more. participants: a(su), data: ay */
void dvmd_controller_join_collective (DvmdController *self, DvmdCollective kind, guint source, guint64 token,
                                      GVariant *participants, GVariant *data, guint32 timeout, int status);
/* That process will not come to any. */
void dvmd_controller_fail_fences_of_rank (DvmdController *self, DvmdJob *job, guint32 rank);
void dvmd_controller_handle_fence (DvmdController *self, guint rank, GVariant *body);
/* Fences that a job took part in cannot be completed any more. */
void dvmd_controller_fail_fences (DvmdController *self, DvmdJob *job);
/* The agent of this rank has gone: whoever waits for something of it is answered. */
void dvmd_controller_break_collectives (DvmdController *self, guint rank);
void dvmd_fence_free (gpointer fence);

/* dvmd-controller-modex.c */
GHashTable *dvmd_modex_asks_new (void);
void dvmd_controller_handle_modex (DvmdController *self, guint rank, GVariant *body);
void dvmd_controller_handle_modex_data (DvmdController *self, guint rank, GVariant *body);
/* The job has ended, the agent has gone: whoever waits for something of it is answered. */
void dvmd_controller_fail_modex_asks (DvmdController *self, DvmdJob *job);
void dvmd_controller_break_modex_asks (DvmdController *self, guint rank);

/* dvmd-controller-fences.c */
/* tree, world: borrowed, until the controller has gone */
void dvmd_controller_set_fence_tree (DvmdController *self, const DvmdFenceTree *tree, gpointer world);
/* What was contributed to a fence is here. */
void dvmd_controller_gathered (DvmdController *self, const char *key, GVariant *whole);
/* Before the launch: whether the fences of the job go by the tree. */
gboolean dvmd_controller_choose_tree_fences (DvmdController *self, DvmdJob *job);
/* The job is being ended: its agents end what waits there. */
void dvmd_controller_end_tree_fences (DvmdController *self, DvmdJob *job);
/* An agent has gone: fences of the jobs that had ranks there are not waited for. */
void dvmd_controller_break_tree_fences (DvmdController *self, guint rank);
gboolean dvmd_controller_has_failed_fences (DvmdController *self, DvmdJob *job);
/* The job has ended: nothing of its fences is kept anywhere. */
void dvmd_controller_forget_tree_fences (DvmdController *self, DvmdJob *job);
void dvmd_controller_handle_fence_given_up (DvmdController *self, guint rank, GVariant *body);

G_END_DECLS
