/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-clock.h"
#include "dvmd-pmi-spawn.h"
#include "dvmd-pmi-table.h"

G_BEGIN_DECLS

/* The key of a seed that says who has spawned the job; it is a variable of its processes, too. */
#define DVMD_PMI_SPAWNED "PMI_SPAWNED"

/* Questions have numbers from 1 to this one, and begin anew then. */
#define DVMD_PMI_QUESTION_MAX 0xffff

/* Names are published for the whole DVM. */
typedef enum
{
  DVMD_PMI_PUBLISH,
  DVMD_PMI_UNPUBLISH,
  DVMD_PMI_LOOK_UP,
} DvmdPmiNames;

/* The PMI-1 server of one job on one node. All of it happens on one main context. */
typedef struct _DvmdPmiServer DvmdPmiServer;

typedef struct
{
  DvmdClock *clock;
  GMainContext *context; /* (nullable) */
  const char *nspace;    /* of the job; its key space has that name */
  guint32 size;          /* all of its ranks */
  guint32 universe_size;
  guint n_local;     /* ranks here */
  guint n_elsewhere; /* ranks of other nodes */
} DvmdPmiSettings;

/* The server tells what ranks have done, and asks for what it needs of others. None of these frees it. */
typedef struct
{
  /* FALSE: it waits in its init until dvmd_pmi_server_go_on(). */
  gboolean (*initialized) (guint32 rank, gpointer user_data);
  void (*finalized) (guint32 rank, gpointer user_data);
  /* It comes no more, and has not finalized. */
  void (*lost) (guint32 rank, gpointer user_data);
  /* The whole job is to end. message (nullable): the program's words */
  void (*aborted) (guint32 rank, int status, const char *message, gpointer user_data);
  /*
   * All ranks of this node that have not left are in a barrier: dvmd_pmi_server_exchanged() follows, once, also from
   * within. lost: some have left without finalizing, so that it fails; also if nobody is left here, and others are not
   * told of that in another way.
   */
  void (*exchange) (GBytes *news, gboolean lost, gpointer user_data);
  /*
   * A rank waits for what others do: dvmd_pmi_server_answered() follows, once, also from within. port (nullable): of
   * what is published
   */
  void (*ask_names) (guint32 rank, guint number, DvmdPmiNames what, const char *service, const char *port,
                     gpointer user_data);
  /* Likewise. */
  void (*spawn) (guint32 rank, guint number, const DvmdPmiSpawn *spawn, gpointer user_data);
  /* (transfer full): as dvmd_pmi_mapping_build() makes it */
  char *(*build_mapping) (gpointer user_data);
} DvmdPmiFuncs;

DvmdPmiServer *dvmd_pmi_server_new (const DvmdPmiSettings *settings, const DvmdPmiFuncs *funcs, gpointer user_data);
void dvmd_pmi_server_free (DvmdPmiServer *self);
/* Before any rank: the job was spawned with that pair. One that no rank could put is left out. */
void dvmd_pmi_server_seed (DvmdPmiServer *self, const char *key, const char *value);
/*
 * For a rank that is about to be started, or started again: (transfer none) the descriptor that it inherits, or -1.
 * index: of the ranks here.
 */
int dvmd_pmi_server_open (DvmdPmiServer *self, guint index, guint32 rank, guint32 app, GError **error);
/* Its process has gone; what it said before is taken. TRUE: it has finalized. */
gboolean dvmd_pmi_server_rank_reaped (DvmdPmiServer *self, guint index);
/* It has been reaped, and is started again: the others wait for it. */
void dvmd_pmi_server_rank_comes_back (DvmdPmiServer *self, guint index);
/* That is known to all who judge it, or the process was never started: the others may be told. */
void dvmd_pmi_server_rank_ended (DvmdPmiServer *self, guint index);
/* Nothing happens unless it waits in its init. */
void dvmd_pmi_server_go_on (DvmdPmiServer *self, guint index);
/* news (nullable): of all nodes that take part, in any order; FALSE: the barrier has failed */
void dvmd_pmi_server_exchanged (DvmdPmiServer *self, gboolean success, GBytes *news);
/* After that: ranks of other nodes may come to another one. */
void dvmd_pmi_server_await_barrier (DvmdPmiServer *self);
/*
 * number: of a question; nothing happens if the rank does not wait any more. failure (nullable): why not, without
 * spaces; text (nullable): the port of a service that was looked up, or the name of the job that was spawned
 */
void dvmd_pmi_server_answered (DvmdPmiServer *self, guint number, const char *failure, const char *text);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPmiServer, dvmd_pmi_server_free)

G_END_DECLS
