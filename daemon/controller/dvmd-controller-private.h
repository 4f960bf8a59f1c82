/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of the controller, for its own files.
 */

#pragma once

#include "dvmd-agents.h"
#include "dvmd-campaign.h"
#include "dvmd-controller.h"
#include "dvmd-fence.h"
#include "dvmd-environments.h"
#include "dvmd-link.h"
#include "dvmd-pmix-numbers.h"
#include "dvmd-services.h"
#include "dvmd-shape.h"

G_BEGIN_DECLS

struct _DvmdController
{
  GObject parent_instance;

  char *instance_id;
  char *runtime_dir;
  char *nspace;
  char *host;
  gint64 started_at;
  gint64 kill_grace;
  gboolean pmix_events;
  gboolean adopt_orphans;
  GMainContext *context;
  DvmdClock *clock;
  DvmdEventQueue *queue;
  DvmdCore *core;
  DvmdAgents *agents;
  gboolean was_ready;
  struct
  {
    gboolean reached; /* as far as the core is concerned */
    DvmJobState state;
    char *reason;
  } end;
  GHashTable *links; /* rank -> DvmdLink */
  DvmdServices *services;
  DvmdPlugins *plugins;
  DvmdHostProcesses *processes; /* (nullable): plugins cannot start commands */
  DvmdShape *shape;
  struct
  {
    guint64 sent;
    guint64 received;
  } gone; /* messages of links that are no more */
};

/*
 * The services, a file each, in the order in which they are told of messages and ends; they are freed in the opposite
 * one: a service may use those before it to the end.
 */
#define DVMD_SERVICES(SERVICE)                                                                                         \
  SERVICE (requesters)                                                                                                 \
  SERVICE (history)                                                                                                    \
  SERVICE (questions)                                                                                                  \
  SERVICE (allocation)                                                                                                 \
  SERVICE (size_changes)                                                                                               \
  SERVICE (streams)                                                                                                    \
  SERVICE (signals)                                                                                                    \
  SERVICE (launch)                                                                                                     \
  SERVICE (stage)                                                                                                      \
  SERVICE (topology)                                                                                                   \
  SERVICE (tree_fences)                                                                                                \
  SERVICE (collectives)                                                                                                \
  SERVICE (modex)                                                                                                      \
  SERVICE (connect)                                                                                                    \
  SERVICE (data)                                                                                                       \
  SERVICE (alloc)                                                                                                      \
  SERVICE (spawn)                                                                                                      \
  SERVICE (job_control)                                                                                                \
  SERVICE (log)

#define DVMD_SERVICE_DECLARATION(name) extern const DvmdService dvmd_##name##_service;
DVMD_SERVICES (DVMD_SERVICE_DECLARATION)
#undef DVMD_SERVICE_DECLARATION

void dvmd_controller_send (DvmdController *self, guint rank, DvmdMessageKind kind, GVariant *body);
void dvmd_controller_finish_job (DvmdController *self, DvmdJob *job);

/* dvmd-controller-allocate.c */
void dvmd_controller_allocate (gpointer user_data);
/* (nullable) (transfer full): why the DVM cannot have these nodes */
char *dvmd_controller_judge_nodes (const DvmdPluginNode *nodes, guint n_nodes);

/* dvmd-controller-allocators.c */
void dvmd_controller_offer_nodes (gpointer user_data, DvmdCampaign *campaign, const DvmdOffer *nodes, guint n_nodes);
/* What it has proposed, and nobody wants: nothing waits for that. */
void dvmd_controller_return_nodes (DvmdController *self, DvmdAllocator *allocator, const char *alloc_id,
                                   const char *const *names);
void dvmd_controller_session_ended (gpointer user_data, DvmdSession *session, GVariant *jobs);
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

/* dvmd-agents.c */
/* link is taken. */
void dvmd_controller_add_link (DvmdController *self, guint rank, DvmdLink *link);
void dvmd_controller_remove_link (DvmdController *self, guint rank);
/* When the DVM has ended, and nothing is being ended any more: tells so. */
void dvmd_controller_check_end (DvmdController *self);
void dvmd_controller_launch_agents (gpointer user_data, DvmdNode *const *nodes, guint n_nodes);
void dvmd_controller_distribute_membership (gpointer user_data, guint64 epoch);
void dvmd_controller_stop_agents (gpointer user_data, gboolean force);
/* (transfer floating): the body of DVMD_MSG_MEMBERSHIP */
GVariant *dvmd_controller_describe_membership (DvmdController *self);
void dvmd_controller_wire_agents (gpointer user_data, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes);
void dvmd_controller_remove_agents (gpointer user_data, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes,
                                    guint *repairs, guint *links_changed);

/* dvmd-controller-history.c */
void dvmd_controller_trace (gpointer user_data, DvmdJob *job, const DvmdTraceEntry *entry);
/* file: (nullable) (transfer full): instead of the one that there is */
void dvmd_controller_set_trace_file (DvmdController *self, DvmdTraceFile *file);
/* Jobs that are more than the history may keep are forgotten, some in each turn of the main loop. */
void dvmd_controller_trim_history (DvmdController *self);

/* dvmd-controller-launch.c */
/* The environments that agents may have, by digest. */
DvmdEnvironments *dvmd_controller_get_environments (DvmdController *self);
DvmdMap *dvmd_controller_map (gpointer user_data, DvmdJob *job, const DvmdPlaces *places, GError **error);
void dvmd_controller_send_launch (gpointer user_data, DvmdJob *job);
/* To every agent that has processes of the job; perhaps to others, which pass over it. */
void dvmd_controller_send_to_job (DvmdController *self, DvmdJob *job, DvmdMessageKind kind, GVariant *body);
void dvmd_controller_kill (gpointer user_data, DvmdJob *job);

/* dvmd-controller-jobs.c */
void dvmd_controller_signal (gpointer user_data, DvmdJob *job, int signal);
/* The launch has just been sent: what came before it follows. */
void dvmd_controller_send_early_signals (DvmdController *self, DvmdJob *job);

/* dvmd-controller-stage.c */
void dvmd_controller_stage_files (gpointer user_data, DvmdJob *job);

/* dvmd-controller-topology.c */
/* The agent has reported: if its signature is a new one, it is asked what it stands for. */
void dvmd_controller_learn_topology (DvmdController *self, guint rank);

/* dvmd-controller-lost.c */
/* The job goes on without what it had on that node: its other ranks are told. */
void dvmd_controller_node_lost (gpointer user_data, DvmdJob *job, DvmdNode *node);
gboolean dvmd_controller_is_lost (DvmdController *self, guint rank);

/* dvmd-controller-alloc.c */
void dvmd_controller_campaign_ended (gpointer user_data, DvmdCampaign *campaign);
void dvmd_controller_warn_job (gpointer user_data, DvmdJob *job, DvmdNode *node, gint64 when);
void dvmd_controller_warn_session (gpointer user_data, DvmdSession *session, guint seconds_left);
/* dvmd-controller-spawn.c */
/* FALSE: no process and no tool. nspace (out) (transfer full) */
gboolean dvmd_requester_read_proc (const DvmdRequester *requester, char **nspace, guint32 *rank);

/* dvmd-controller-connect.c */
/* Before it is spoken of to that agent: nothing happens if that has ranks of it, or has been told. */
void dvmd_controller_tell_of_job (DvmdController *self, guint agent, DvmdJob *job);
/* It has no rank of the job left. */
void dvmd_controller_agent_is_done (DvmdController *self, guint agent, DvmdJob *job);

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

/* dvmd-controller-fences.c */
/* tree, user_data: borrowed as long as there are services */
void dvmd_controller_set_fence_tree (DvmdController *self, const DvmdFenceTree *tree, gpointer user_data);
/* What was contributed to a fence is here. */
void dvmd_controller_gathered (DvmdController *self, const char *key, GVariant *whole);
/* Before the launch: whether the fences of the job go by the tree. */
gboolean dvmd_controller_choose_tree_fences (DvmdController *self, DvmdJob *job);
gboolean dvmd_controller_has_failed_fences (DvmdController *self, DvmdJob *job);

G_END_DECLS
