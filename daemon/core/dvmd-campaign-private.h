/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of a campaign, for the files that it is made of.
 */

#pragma once

#include "dvmd-campaign-inner.h"

G_BEGIN_DECLS

/* How it stands between its request and its beginning. */
typedef enum
{
  DVMD_START_FREE, /* it begins as soon as nothing stands in its way */
  DVMD_START_HELD, /* in the registry's queue of those that are held back */
  DVMD_START_BEGUN,
} DvmdStart;

/* How far a grow has come. The functions of dvmd-grow.c alone write it. */
typedef enum
{
  DVMD_GROW_PLANNED,
  DVMD_GROW_LAUNCHED, /* its agents have been asked for */
  DVMD_GROW_WIRING,
  DVMD_GROW_WIRED,
} DvmdGrowStage;

/* How far a shrink has come. The functions of dvmd-shrink.c alone write it. */
typedef enum
{
  DVMD_SHRINK_STAYING,
  DVMD_SHRINK_DEPARTED, /* all of them have, and its ticket is back */
  DVMD_SHRINK_OFFERING, /* the allocators have been asked */
  DVMD_SHRINK_OFFERED,  /* and have answered */
  DVMD_SHRINK_FINISHED, /* so have those of others that it shares nodes with */
} DvmdShrinkStage;

/* The time that running jobs have before a shrink begins: its request gives the timeout, dvmd-shrink.c does the rest.
 */
typedef struct
{
  guint timeout; /* s */
  gint64 end;    /* µs, monotonic */
  enum
  {
    DVMD_DRAIN_NONE,
    DVMD_DRAIN_ON,
    DVMD_DRAIN_OVER,
  } state;
} DvmdDrain;

/* Why it fails. The functions of dvmd-campaign-machine.c alone write it. */
typedef struct
{
  gboolean known;
  DvmdCause cause;
  char *reason; /* (nullable) */
} DvmdFailure;

struct _DvmdCampaign
{
  GObject parent_instance;

  DvmdCore *core; /* unowned: the core owns its campaigns */
  DvmCampaign *record;
  DvmdRequester *requester; /* (nullable) */
  DvmdJob *job;             /* (nullable): whose own grow it is */
  DvmdSession *session;     /* (nullable) */
  struct _DvmdHeal *heal;   /* (nullable): the node that it tries to bring back; unowned */
  DvmdStake stake;
  GArray *joined; /* guint: nodes that were in already, and joined the session for it; or stay, and left it for it */
  GPtrArray *targets;  /* DvmdTarget */
  GHashTable *by_rank; /* rank -> DvmdTarget, of those that have one */
  GPtrArray *to_offer; /* (element-type DvmdTarget): nodes that were down when they were released */
  GHashTable *waits;   /* set of the ranks that have to leave before it can begin */
  GPtrArray *own_jobs; /* (element-type DvmdJob): that wait for it because they bring its nodes */
  gboolean held_untold;
  guint n_pending;
  guint n_reported;
  guint timer;
  DvmdStart start;
  DvmdDrain drain;
  DvmdTicket ticket;
  DvmdGrowStage grown;
  DvmdShrinkStage shrunk;
  DvmdFailure failure;
};

G_END_DECLS
