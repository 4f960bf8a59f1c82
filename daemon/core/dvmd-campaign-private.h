/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of a campaign, for the core's own files.
 */

#pragma once

#include "dvmd-campaign-machine.h"
#include "dvmd-core-elastic.h"
#include "dvmd-grow.h"
#include "dvmd-shrink.h"

G_BEGIN_DECLS

/* A node that comes or goes. */
typedef struct
{
  char *name;
  guint rank;      /* 0: it has none yet */
  guint slots;     /* as it was asked for */
  guint slots_max; /* likewise */
  char *address;   /* (nullable) */
  char *allocator; /* (nullable) */
  guint waits_for; /* an agent of this name that has to leave before; 0: nobody */
  gboolean reported;
  gboolean ordered; /* to leave, by this campaign */
  gboolean gone;
  DvmdCampaign *offered_by; /* (nullable): another campaign, which had it too, offers it */
} DvmdTarget;

/* allocator: (nullable): NULL and "": nobody knows who brought it */
DvmdTarget *dvmd_target_new (const char *name, guint rank, const char *allocator);
/* (element-type DvmdTarget), with them */
GPtrArray *dvmd_targets_new (void);

/* How it stands between its request and its beginning. */
typedef enum
{
  DVMD_START_FREE, /* it begins as soon as nothing stands in its way */
  DVMD_START_HELD, /* in the registry's queue of those that are held back */
  DVMD_START_BEGUN,
} DvmdStart;

/* The campaign decides what becomes of its session. */
typedef enum
{
  DVMD_STAKE_NONE,
  DVMD_STAKE_MINTED, /* the session is the grow's own: without it, there is none */
  DVMD_STAKE_ENDS,   /* the shrink ends it */
} DvmdStake;

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

/* Its ticket of the launch fence. The functions of dvmd-gates.c alone write it. */
typedef struct
{
  gboolean given;
  guint64 number;   /* of it, among parkings and tickets */
  gboolean aborted; /* the jobs that were parked for it */
} DvmdTicket;

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

DvmdCampaign *dvmd_campaign_new (DvmdCore *core, guint id, DvmCampaignKind kind);
DvmdTarget *dvmd_campaign_add_target (DvmdCampaign *self, const char *name, guint rank);
void dvmd_campaign_set_target_rank (DvmdCampaign *self, DvmdTarget *target, guint rank);
/* (nullable) */
DvmdTarget *dvmd_campaign_find_target (DvmdCampaign *self, guint rank);
/* After targets were added, or have got their ranks. */
void dvmd_campaign_publish_targets (DvmdCampaign *self);
void dvmd_campaign_set_pending (DvmdCampaign *self, guint pending);
/* It has not begun: why not. */
void dvmd_campaign_wait (DvmdCampaign *self, const char *reason);
void dvmd_campaign_post (DvmdCampaign *self, guint event, const char *reason);
/* The jobs that wait for it have changed. */
void dvmd_campaign_held_changed (DvmdCampaign *self);
/* It fails, once, with the first cause. */
void dvmd_campaign_fail (DvmdCampaign *self, DvmdCause cause, const char *reason);
void dvmd_campaign_give_up (DvmdCampaign *self, DvmdCause cause, const char *reason);
/* The core ends. */
void dvmd_campaign_forget_jobs (DvmdCampaign *self);
/* It begins, as soon as nothing stands in its way. */
void dvmd_campaign_try_begin (DvmdCampaign *self);

G_END_DECLS
