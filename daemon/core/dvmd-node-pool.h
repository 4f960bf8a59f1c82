/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <dvm.h>

G_BEGIN_DECLS

/* The nodes of the DVM. Rank 0 is the controller: no slots, never mapped onto, not counted. */

typedef struct _DvmdCampaign DvmdCampaign;
struct _DvmdHeal;

/* The life of the node's agent: dvmd-agent-life.h has its table. */
typedef enum
{
  DVMD_STAGE_FOUND,
  DVMD_STAGE_COMING, /* it is being started */
  DVMD_STAGE_REPORTED,
  DVMD_STAGE_UNSTARTED, /* nothing of it could be started, and its grow fails */
  DVMD_STAGE_MEMBER,
  DVMD_STAGE_ORDERED, /* it has been told to leave */
  DVMD_STAGE_DOWN,
} DvmdAgentStage;

/* The jobs with processes on a node. */
typedef struct
{
  GHashTable *ids;  /* set */
  gboolean changed; /* since the record had them */
  gboolean untold;  /* since dvmd_node_pool_take_jobs_changed() */
} DvmdNodeJobs;

typedef struct
{
  DvmNode *record;
  guint rank;
  DvmdAgentStage stage;
  char *address;      /* (nullable): for the launcher, if it is another one than the name */
  guint slots;        /* 0 until known */
  guint slots_max;    /* 0: no limit beyond slots */
  guint slots_in_use; /* claimed by jobs, may exceed slots when oversubscribed */
  guint hwthreads;    /* as its agent reported */
  gboolean slots_given;
  guint slots_added; /* of slots, by the allocations that it is in */
  DvmdNodeJobs jobs;
  GList link;             /* in the pool's queue of nodes */
  gboolean brought;       /* by a grow, after the start */
  gboolean barred;        /* no job is placed there any more: a campaign takes it away, or will */
  gboolean leaving;       /* its slots count for nobody: a campaign that takes it away has its ticket */
  guint taken_by;         /* the campaign with which it leaves the pool; 0: none */
  gboolean coming_for;    /* the grow that brings it reserves it: for its session */
  DvmdCampaign *grow;     /* (nullable): that brings it, or rolls back; unowned */
  struct _DvmdHeal *heal; /* (nullable): it was lost once; the core's own */
  gboolean healing;       /* it is down, or on its way, and will be tried again */
  gboolean withdrawn;     /* whoever has given it has taken it back: it will not */
  GPtrArray *shrinks;     /* (element-type DvmdCampaign) (nullable): that take it away and have not ended; unowned */
  GArray *sessions;       /* (element-type guint) (nullable): allocations that it is in */
  guint n_reserving;      /* of these: the default session has not got it, if there are any */
} DvmdNode;

typedef struct _DvmdNodePool DvmdNodePool;

typedef void (*DvmdNodeChanged) (DvmdNode *node, DvmNodeState old_state, gpointer user_data);

DvmdNodePool *dvmd_node_pool_new (void);
void dvmd_node_pool_free (DvmdNodePool *self);
void dvmd_node_pool_set_changed_func (DvmdNodePool *self, DvmdNodeChanged func, gpointer user_data);

/* The node gets the next rank; ranks are never used again. slots 0: not given. */
DvmdNode *dvmd_node_pool_add (DvmdNodePool *self, const char *name, guint slots, guint slots_max);
/* (nullable): there was none of this rank, or it has left */
DvmdNode *dvmd_node_pool_get (DvmdNodePool *self, guint rank);
/* (nullable): also of a node that has left */
const char *dvmd_node_pool_get_name (DvmdNodePool *self, guint rank);
/* Ascending by rank, the first one after NULL; NULL after the last. */
DvmdNode *dvmd_node_pool_next (DvmdNodePool *self, DvmdNode *after);
/* The node has left: it cannot be got any more, and is freed. Jobs have given back their slots there. */
void dvmd_node_pool_remove (DvmdNodePool *self, DvmdNode *node);
/* The number of members that have left so far; and whether one of that name has left since that number was since, and
 * the campaign (out) that took it, 0: none. */
guint64 dvmd_node_pool_count_departures (DvmdNodePool *self);
gboolean dvmd_node_pool_has_left (DvmdNodePool *self, const char *name, guint64 since, guint *campaign);
/* The node's agent has said this of itself. */
void dvmd_node_pool_set_contact (DvmdNodePool *self, DvmdNode *node, const char *address, int pid,
                                 const char *const *aliases);
/* Finds a node by name or alias; agents before the controller. */
DvmdNode *dvmd_node_pool_find (DvmdNodePool *self, const char *name);
guint dvmd_node_pool_get_max_rank (DvmdNodePool *self);
void dvmd_node_pool_set_state (DvmdNodePool *self, DvmdNode *node, DvmNodeState state, const char *reason);
void dvmd_node_pool_set_slots (DvmdNodePool *self, DvmdNode *node, guint slots, guint slots_max);
void dvmd_node_pool_set_leaving (DvmdNodePool *self, DvmdNode *node, gboolean barred, gboolean leaving);
/* The node is in the session from now on, or is not any more. reserves: the session keeps its nodes from others. */
void dvmd_node_pool_join (DvmdNode *node, guint session, gboolean reserves);
void dvmd_node_pool_part (DvmdNode *node, guint session, gboolean reserves);
/* The node is reserved once more, or once less: by a session that will have it, or that it stays in. */
void dvmd_node_pool_reserve (DvmdNode *node, gboolean reserves);
gboolean dvmd_node_is_in (DvmdNode *node, guint session);
void dvmd_node_pool_claim (DvmdNodePool *self, DvmdNode *node, guint job_id, guint slots);
void dvmd_node_pool_give_back (DvmdNodePool *self, DvmdNode *node, guint job_id, guint slots);
/* Brings the record up to date before it is read: it does not follow each of a thousand jobs on a node. */
void dvmd_node_pool_publish_jobs (DvmdNode *node);
/* They change with every job that has some: they are put into the record when it is looked at. */
void dvmd_node_pool_publish_devices (DvmdNode *node, const char *const *devices);
/* (element-type guint): ranks of the nodes whose jobs have changed since the last call */
GArray *dvmd_node_pool_take_jobs_changed (DvmdNodePool *self);
gboolean dvmd_node_pool_has_jobs_changed (DvmdNodePool *self);

/* A session that is not shared has the node, or will have it when it has come. */
gboolean dvmd_node_is_reserved (DvmdNode *node);
/* The node is up, but takes no new jobs. */
gboolean dvmd_node_is_drained (DvmdNode *node);

/* Counts nodes of agents alone, drained ones too. */
guint dvmd_node_pool_count_up (DvmdNodePool *self);
/* Counts those of them that jobs may be placed on: neither drained nor about to leave. */
guint dvmd_node_pool_count_usable (DvmdNodePool *self);
/* Slots of nodes that leave do not count. */
guint dvmd_node_pool_count_slots (DvmdNodePool *self);
guint dvmd_node_pool_count_slots_in_use (DvmdNodePool *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdNodePool, dvmd_node_pool_free)

G_END_DECLS
