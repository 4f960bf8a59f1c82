/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-frame.h"
#include "dvmd-message.h"

G_BEGIN_DECLS

/*
 * Fences of all ranks of a job that has many nodes: what they contribute travels up the tree of daemons and is merged
 * on the way, the result goes down by one broadcast. The others go by messages to the controller and back.
 *
 * The first fence of a job has the sequence 1; every agent of the job counts for itself, and hears of those that ended
 * without it.
 */

/* More than fits into one packet is refused, with an error for everybody. */
#define DVMD_FENCE_LIMIT (DVMD_FRAME_DEFAULT_LIMIT - 1024 * 1024)

/* The sequence that stands for all fences of a job, those to come too. */
#define DVMD_FENCE_ALL G_MAXUINT64

/* Of daemons without a tree there is none. */
typedef struct
{
  /* Agents: data of all of them come to the controller by dvmd_controller_gathered(). part: floating is sunk */
  void (*contribute) (gpointer user_data, const char *key, const guint32 *agents, guint n_agents, GVariant *part);
  /* The broadcast that came or was posted last ends it. */
  void (*close) (gpointer user_data, const char *key);
  void (*close_all) (gpointer user_data, const char *prefix);
  /* The controller: to all agents, those without the job too. */
  void (*broadcast) (gpointer user_data, DvmdMessageKind kind, GVariant *body);
  /* The controller: the tree is the better way for fences of so many agents. */
  gboolean (*suits) (gpointer user_data, guint n_agents);
} DvmdFenceTree;

/* "JOB/SEQUENCE", and what the keys of all fences of the job begin with. */
char *dvmd_fence_make_key (guint32 job, guint64 sequence);
char *dvmd_fence_make_prefix (guint32 job);
gboolean dvmd_fence_parse_key (const char *key, guint32 *job, guint64 *sequence);

/* The contribution of one of n_agents. (transfer floating) */
GVariant *dvmd_fence_part_new (guint n_agents, GBytes *data);
/* parts: of GVariant; those that are none count as an error. (transfer floating) */
GVariant *dvmd_fence_merge (GPtrArray *parts);
/* The status of the whole, and its data, which is empty if that is an error. data: (out) (transfer full) */
int dvmd_fence_read (GVariant *whole, GVariant **data);

G_END_DECLS
