/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-campaign.h"
#include "dvmd-core.h"
#include "dvmd-inheritance.h"
#include "dvmd-session.h"

G_BEGIN_DECLS

/*
 * The DVM changes its size. Signals of the core:
 *   campaign-added (DvmdCampaign), campaign-state-changed (DvmdCampaign, old, new), campaign-changed (DvmdCampaign):
 *   other properties of it, campaign-ended (DvmdCampaign): its final state is set and nothing of it changes any more,
 *   campaign-forgotten (DvmdCampaign): left the history,
 *   session-added (DvmdSession), session-changed (DvmdSession), session-removed (DvmdSession),
 *   node-added (guint rank), node-removed (guint rank): dvmd_node_pool_get() is NULL for it already
 */

typedef struct
{
  const char *name;
  guint slots; /* 0: not given */
  guint slots_max;
  gboolean more;         /* slots are added to those of a node that is there already */
  const char *address;   /* (nullable): for the launcher, if it is another one than the name */
  const char *allocator; /* (nullable): that brought it */
} DvmdGrowHost;

/* The time that an allocation is asked for. */
typedef struct
{
  guint time;                  /* s that it is there from now on; 0: no limit, or as it was */
  gboolean time_given;         /* 0 too: an extend takes the limit away */
  guint warn_timeout;          /* s before that; 0: no warning */
  gboolean warn_timeout_given; /* 0 too: an extend takes the warning away */
  gboolean outside;            /* somebody else ends it then, and warns of that: it is only published */
} DvmdSizeLimit;

typedef struct
{
  const DvmdRequester *requester; /* (nullable): nobody is told */
  gboolean scheduler;             /* it is never held back */
  const char *req_id;             /* (nullable) */
  const char *alloc_id;           /* (nullable): of the allocation to be extended */
  const char *of_req_id;          /* (nullable): the same, by the id that it was requested under */
  const DvmdGrowHost *hosts;
  guint n_hosts;
  gboolean extend;            /* of the one that is named; alloc_id and of_req_id say so too */
  gboolean reaquire;          /* its own, which were released from it before; no hosts: all of them */
  guint session;              /* extend: the number of the allocation; else that of its parent; 0: not given */
  guint wanted_session_id;    /* of a new one: nobody has it; 0: the next one */
  const char *given_alloc_id; /* (nullable): of a new one, by an outside scheduler; NULL: it is minted */
  const char *target;         /* (nullable): the namespace that is to own it; NULL: the requester's */
  gboolean share;             /* nobody reserves its nodes; for an extend, if share_given: what it is already */
  gboolean share_given;
  DvmdInheritance inheritance;
  gboolean inheritance_given; /* else DEFAULT, or as it was */
  DvmdSizeLimit limit;
  gboolean instantiated;   /* a session with its jobs: when its time is over it is terminated (S23) */
  gboolean child_separate; /* it outlives its parent */
  gboolean detached;       /* it outlives its owner, whatever its inheritance says, and its parent */
  DvmdJob *job;            /* (nullable): whose own nodes they are; it ends with its grow, if that fails */
} DvmdGrowRequest;

typedef struct
{
  const DvmdRequester *requester; /* (nullable) */
  gboolean scheduler;
  const char *req_id;       /* (nullable) */
  guint session;            /* of the allocation to be released, by number; 0: not given */
  const char *alloc_id;     /* (nullable): the same */
  const char *of_req_id;    /* (nullable) */
  const char *const *hosts; /* (nullable): these alone, or these of the allocation */
  guint drain_timeout;      /* s that running jobs have to end; 0: none */
  const char *cause;        /* (nullable): why the DVM itself releases the session; a sentence */
} DvmdShrinkRequest;

typedef struct
{
  char *alloc_id;
  char *req_id; /* (nullable) */
  guint session;
  guint campaign; /* 0: nothing changes */
} DvmdSizeAnswer;

void dvmd_size_answer_clear (DvmdSizeAnswer *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdSizeAnswer, dvmd_size_answer_clear)

/* Phase one. No effect is asked for before they have returned. FALSE: error says why, and nothing has changed. */
gboolean dvmd_core_grow (DvmdCore *self, const DvmdGrowRequest *request, DvmdSizeAnswer *answer, GError **error);
gboolean dvmd_core_shrink (DvmdCore *self, const DvmdShrinkRequest *request, DvmdSizeAnswer *answer, GError **error);
/* A grow is rolled back; a shrink that has not begun is dropped, one that has cannot be called back. */
gboolean dvmd_core_cancel_campaign (DvmdCore *self, DvmdCampaign *campaign, GError **error);

/* ---- answers to effects ---- */
/* The order to leave could not be sent. */
void dvmd_core_order_failed (DvmdCore *self, DvmdCampaign *campaign, const char *reason);
/* Every allocator has been offered the nodes. */
void dvmd_core_offered (DvmdCore *self, DvmdCampaign *campaign);

/* ---- lookups ---- */
gboolean dvmd_core_get_elastic (DvmdCore *self);
/* Targets of all campaigns in progress that have not come or gone yet */
guint dvmd_core_get_launch_fence (DvmdCore *self);
/* That have not ended */
guint dvmd_core_get_campaigns_running (DvmdCore *self);
/* (nullable): not ended, or in the history */
DvmdCampaign *dvmd_core_get_campaign (DvmdCore *self, guint id);
/* Ascending by id, the first one after NULL; NULL after the last. ended: those of the history too */
DvmdCampaign *dvmd_core_next_campaign (DvmdCore *self, DvmdCampaign *after, gboolean ended);
/* (nullable) */
DvmdSession *dvmd_core_get_session (DvmdCore *self, guint id);
DvmdSession *dvmd_core_find_session (DvmdCore *self, const char *alloc_id);
DvmdSession *dvmd_core_next_session (DvmdCore *self, DvmdSession *after);

G_END_DECLS
