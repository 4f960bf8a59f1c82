/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of the core, for its own files.
 */

#pragma once

#include "dvmd-admission.h"
#include "dvmd-core.h"
#include "dvmd-job-private.h"

G_BEGIN_DECLS

struct _DvmdCore
{
  GObject parent_instance;

  char *nspace;
  gboolean one_shot;
  gboolean allow_missing;
  gboolean elastic;
  guint park_limit;
  guint grow_timeout;
  guint history_limit;
  guint64 history_bytes; /* 0: without this limit */
  DvmdClock *clock;
  DvmdEventQueue *queue;
  const DvmdEffects *effects;
  gpointer world;

  DvmdNodePool *nodes;
  DvmdAdmission *admission;
  DvmdJob *vm_job;
  guint last_job_id;
  GHashTable *jobs;      /* id -> DvmdJob, live and in the history */
  GHashTable *by_nspace; /* namespace -> DvmdJob, likewise */
  GQueue history;        /* ids, oldest first */
  guint64 n_history_bytes;
  GQueue kept;  /* DvmdJob that came before the DVM was ready */
  GQueue live;  /* DvmdJob, ascending by id */
  GQueue known; /* likewise, with those of the history */
  gboolean ready;
  gboolean was_ready;     /* stays so */
  gboolean nodes_changed; /* the jobs that wait will be looked at for it */
  gboolean shutting_down;
  gboolean forced;
  char *end_reason;
  guint64 epoch;
  guint n_expected;
  guint n_reported;
  guint n_missing; /* that failed before the DVM was ready */
  guint n_agents;  /* that have not gone */
  guint n_running;
  guint tree_depth; /* 0: nobody has said */
  guint64 tree_repairs;
  DvmdCoreStatistics statistics;
};

/* For the tables of a job and of the DVM's own. */
guint dvmd_core_read_job_state (gpointer job);
const char *dvmd_core_describe_job (gpointer job);
/* The one writer of a job's state, also of the DVM's own. */
void dvmd_core_write_job_state (DvmdJob *job, guint old_state, guint new_state, const DvmdEvent *event,
                                const char *event_name);
void dvmd_core_post (DvmdJob *job, guint event);
void dvmd_core_post_failure (DvmdJob *job, DvmJobState state, const char *reason);
/* (nullable): an agent that has not gone yet; what: it does, for the log */
DvmdNode *dvmd_core_find_agent (DvmdCore *self, guint rank, const char *what);
/* Launchers put the name of the node before what happened: without it. */
const char *dvmd_core_strip_name (DvmdNode *node, const char *reason);
/* Its node is down, and nobody waits for it. reason: of the node; for its jobs, the node is named before it. */
void dvmd_core_drop_agent (DvmdCore *self, DvmdNode *node, const char *reason);
/* Posts to the DVM's own job. */
void dvmd_core_post_vm (DvmdCore *self, guint event, DvmJobState given, const char *reason);
/* The job is over: out of the live ones, into the history. */
void dvmd_core_end_job (DvmdJob *job);
/*
 * A launched job has lost this node: its processes there are over, and the job fails, unless it is one that may lose
 * ranks and has some elsewhere.
 */
void dvmd_core_lose_procs (DvmdJob *job, DvmdNode *node, const char *reason);
void dvmd_core_changed (DvmdCore *self);
void dvmd_core_node_changed (DvmdCore *self, guint rank);
/* Jobs that were kept until the DVM was ready go on. */
void dvmd_core_dispatch_kept (DvmdCore *self);

G_END_DECLS
