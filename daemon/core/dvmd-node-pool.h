/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <dvm.h>

G_BEGIN_DECLS

/* The nodes of the DVM. Rank 0 is the controller: no slots, never mapped onto, not counted. */

typedef struct
{
  DvmNode *record;
  guint rank;
  char *address;      /* (nullable): for the launcher, if it is another one than the name */
  guint slots;        /* 0 until known */
  guint slots_max;    /* 0: no limit beyond slots */
  guint slots_in_use; /* claimed by jobs, may exceed slots when oversubscribed */
  guint hwthreads;    /* as its agent reported */
  gboolean slots_given;
  GHashTable *jobs;      /* set of job ids with processes here */
  gboolean jobs_changed; /* since the record had them */
  gboolean jobs_untold;  /* since dvmd_node_pool_take_jobs_changed() */
} DvmdNode;

typedef struct _DvmdNodePool DvmdNodePool;

typedef void (*DvmdNodeChanged) (DvmdNode *node, DvmNodeState old_state, gpointer user_data);

DvmdNodePool *dvmd_node_pool_new (void);
void dvmd_node_pool_free (DvmdNodePool *self);
void dvmd_node_pool_set_changed_func (DvmdNodePool *self, DvmdNodeChanged func, gpointer user_data);

/* The next rank; ranks are never used again. slots 0: not given. */
DvmdNode *dvmd_node_pool_add (DvmdNodePool *self, const char *name, guint slots, guint slots_max);
/* (nullable): there was none of this rank, or it has left */
DvmdNode *dvmd_node_pool_get (DvmdNodePool *self, guint rank);
/* (nullable): also of one that has left */
const char *dvmd_node_pool_get_name (DvmdNodePool *self, guint rank);
/* By name or alias; agents before the controller. */
DvmdNode *dvmd_node_pool_find (DvmdNodePool *self, const char *name);
guint dvmd_node_pool_get_max_rank (DvmdNodePool *self);
void dvmd_node_pool_set_state (DvmdNodePool *self, DvmdNode *node, DvmNodeState state, const char *reason);
void dvmd_node_pool_set_slots (DvmdNodePool *self, DvmdNode *node, guint slots, guint slots_max);
void dvmd_node_pool_claim (DvmdNodePool *self, DvmdNode *node, guint job_id, guint slots);
void dvmd_node_pool_give_back (DvmdNodePool *self, DvmdNode *node, guint job_id, guint slots);
/* Before the record is read: with a thousand jobs on a node it does not follow each that comes and goes. */
void dvmd_node_pool_publish_jobs (DvmdNode *node);
/* (element-type guint): ranks of the nodes whose jobs have changed since the last call */
GArray *dvmd_node_pool_take_jobs_changed (DvmdNodePool *self);
gboolean dvmd_node_pool_has_jobs_changed (DvmdNodePool *self);

/* Up, but it takes no new jobs. */
gboolean dvmd_node_is_drained (DvmdNode *node);

/* Agents alone, drained ones too. */
guint dvmd_node_pool_count_up (DvmdNodePool *self);
/* Those of them that are not drained. */
guint dvmd_node_pool_count_usable (DvmdNodePool *self);
guint dvmd_node_pool_count_slots (DvmdNodePool *self);
guint dvmd_node_pool_count_slots_in_use (DvmdNodePool *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdNodePool, dvmd_node_pool_free)

G_END_DECLS
