/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-clock.h"
#include "dvmd-pmix-numbers.h"

G_BEGIN_DECLS

/*
 * The store holds the data that processes and tools publish for others, and the lookups that wait for it: one for the
 * whole DVM, with the controller. Pure: it has a clock, and answers by a function. Every request is answered once.
 */

typedef struct _DvmdDataStore DvmdDataStore;

/*
 * Bytes that all that is kept may take, those who wait with their keys included; that one request may have, and one
 * answer; lookups that may wait.
 */
#define DVMD_DATA_STORE_LIMIT (64 * 1024 * 1024)
/* Of it what one job or tool may have, and all that are in one session (not the default one). */
#define DVMD_DATA_QUOTA         (DVMD_DATA_STORE_LIMIT / 2)
#define DVMD_DATA_REQUEST_LIMIT (4 * 1024 * 1024)
#define DVMD_DATA_WAITING_LIMIT 65536

/* A party publishes or looks up: it is described as the agent that hosts it knows it, with the sessions of its job. */
typedef struct
{
  const char *nspace;
  guint32 rank;
  guint node; /* rank of the agent */
  guint32 uid;
  guint32 gid;
  const guint32 *sessions; /* ids; the first is the one that it belongs to */
  guint n_sessions;
} DvmdDataParty;

/*
 * node, token: those of the request. found: a(susay) (nspace, rank, key, value), floating; empty unless of a lookup;
 * NULL: whoever waited has gone, and wants no answer
 */
typedef void (*DvmdDataAnswer) (gpointer user_data, guint node, guint64 token, int status, GVariant *found);

DvmdDataStore *dvmd_data_store_new (DvmdClock *clock, DvmdDataAnswer answer, gpointer user_data);
/* Those who wait are not answered. */
void dvmd_data_store_free (DvmdDataStore *self);

/*
 * request: a{sv}, every key of which may be left out.
 *   publish: `items` a(say), `range` u, `persistence` u, `uids` au, `gids` au (who may read), `accessors` a(su) (of a
 *   custom range). All are taken or none.
 *   look up: `keys` as, `range` u (of whom), `wait` i (so many keys, 0: all), `timeout` u (s, 0: none).
 *   unpublish: `keys` as (none: all), `range` u; what the asker itself has published.
 * The answer may come from within the call. Without a range: the whole DVM; without a persistence: until the job ends.
 */
void dvmd_data_store_handle (DvmdDataStore *self, guint64 token, DvmdPmixDataOp op, const DvmdDataParty *who,
                             GVariant *request);

/* An owner that has ended publishes and waits no more. A job has ended only after its last process has. */
void dvmd_data_store_proc_ended (DvmdDataStore *self, const char *nspace, guint32 rank);
void dvmd_data_store_job_ended (DvmdDataStore *self, const char *nspace);
void dvmd_data_store_session_ended (DvmdDataStore *self, guint32 session);
/* Lookups from that node cannot be answered any more. */
void dvmd_data_store_node_lost (DvmdDataStore *self, guint node);

guint dvmd_data_store_count_items (DvmdDataStore *self);
guint dvmd_data_store_count_waiting (DvmdDataStore *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdDataStore, dvmd_data_store_free)

G_END_DECLS
