/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-effects.h"

G_BEGIN_DECLS

/* Where a job may go, as its hosts and the nodes are at one moment. */

/* A node that nobody gave a limit is never oversubscribed beyond this: so many processes no machine has. */
#define DVMD_MAX_OVERSUBSCRIBED 65536

typedef struct
{
  DvmdNode *node;
  guint limit;     /* slots that the job may use there */
  guint free;      /* of them those that nobody uses */
  guint most;      /* processes that it takes now, when there may be more than slots */
  guint most_ever; /* the same when nobody else is there */
  gboolean given;  /* by a number behind the host */
  guint order;     /* its place among the hosts that the job names; 0: it names none, or other nodes too */
} DvmdCandidate;

typedef struct
{
  GArray *nodes;      /* DvmdCandidate, ascending by rank */
  GArray *app_limits; /* (nullable): guint32, a row over the nodes for each application; 0: that one is not for it */
  guint n_apps;
  guint total;
  guint n_free;
  guint64 most;
  guint64 most_ever;
  guint n_drained; /* nodes that the job may use when they are resumed, or have come back */
  guint drained;   /* their slots */
  guint n_missing; /* nodes without processes that it asks for, and that there are not now */
  gboolean alone;  /* counted as if no other job used them */
  gboolean given;  /* somebody gave the slots of at least one */
  GArray
      *beside; /* (nullable): DvmdMapShare, where the processes are beside which the job is to be: it takes no slots */
} DvmdCandidates;

#define DVMD_CANDIDATE(self, i) (&g_array_index ((self)->nodes, DvmdCandidate, i))

/* The job comes now: what has left before is no node that it may name. */
void dvmd_candidates_begin (DvmdNodePool *pool, DvmdJob *job);
/* A campaign that took a host which it names; 0: none */
guint dvmd_candidates_get_taker (DvmdJob *job);
/* FALSE: error names the host that is none, and where it stands. into is to be cleared in any case. */
gboolean dvmd_candidates_find (DvmdCandidates *into, DvmdNodePool *pool, DvmdJob *job, GError **error);
void dvmd_candidates_clear (DvmdCandidates *self);
/* Whether a node that is not one of the DVM yet would be among them. rank: 0 if it has none */
gboolean dvmd_candidates_would_have (DvmdNodePool *pool, DvmdJob *job, const char *name, guint rank);

gboolean dvmd_candidates_overlap (DvmdCandidates *self, DvmdCandidates *other);
/* Counts them as if no other job used them. */
void dvmd_candidates_free_all (DvmdCandidates *self);

/* How much of its nodes one application may use. */
guint64 dvmd_candidates_count_free (DvmdCandidates *self, guint app);
/*
 * (transfer full) (nullable): for each application without a number (0 in np), how many processes those have that have
 * one, and a node in common with it. NULL: two without a number, one and other, have a node in common
 */
guint64 *dvmd_candidates_count_others (DvmdCandidates *self, const guint32 *np, guint *one, guint *other);

/* How a mapper is to see them. */
typedef enum
{
  DVMD_PLACES_FREE, /* what nobody uses */
  DVMD_PLACES_ALL,  /* as if nobody else was there */
  DVMD_PLACES_OVERSUBSCRIBE /* what nobody uses, and then beyond */,
  DVMD_PLACES_OVERSUBSCRIBE_ALL,
} DvmdPlacesKind;

DvmdPlaces *dvmd_candidates_make_places (DvmdCandidates *self, DvmdPlacesKind kind);
void dvmd_places_free (DvmdPlaces *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdCandidates, dvmd_candidates_clear)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPlaces, dvmd_places_free)

G_END_DECLS
