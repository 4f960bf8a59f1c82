/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-campaign-machine.h"
#include "dvmd-core-elastic.h"
#include "dvmd-target.h"

G_BEGIN_DECLS

/* A campaign as the core's own files see it: beside what dvmd-campaign.h tells everybody. */

/* The campaign decides what becomes of its session. */
typedef enum
{
  DVMD_STAKE_NONE,
  DVMD_STAKE_MINTED, /* the session is the grow's own: without it, there is none */
  DVMD_STAKE_ENDS,   /* the shrink ends it */
} DvmdStake;

/* Its ticket of the launch fence. The functions of dvmd-gates.c alone write it. */
typedef struct
{
  gboolean given;
  guint64 number;   /* of it, among parkings and tickets */
  gboolean aborted; /* the jobs that were parked for it */
} DvmdTicket;

DvmdCampaign *dvmd_campaign_new (DvmdCore *core, guint id, DvmCampaignKind kind);

/* ---- what it is about ---- */
/* requester (nullable) */
void dvmd_campaign_set_requester (DvmdCampaign *self, const DvmdRequester *requester);
/* job (nullable): whose own grow it is */
void dvmd_campaign_set_session (DvmdCampaign *self, DvmdSession *session, DvmdStake stake, DvmdJob *job);
/* (nullable) */
DvmdSession *dvmd_campaign_get_session (DvmdCampaign *self);
/* It is a grow that has yet to bring that session its nodes. */
gboolean dvmd_campaign_brings_to (DvmdCampaign *self, DvmdSession *session);
/* It is the shrink that ends its session. */
gboolean dvmd_campaign_ends_session (DvmdCampaign *self);
/* The node was in already, and joins the session for it; or stays, and leaves it for it. */
void dvmd_campaign_note_moved (DvmdCampaign *self, guint rank);
/* Its agent is started again, and has another rank. FALSE: it is no such node. */
gboolean dvmd_campaign_note_again (DvmdCampaign *self, guint old_rank, guint rank);
/* s that running jobs have before a shrink begins */
void dvmd_campaign_set_drain_timeout (DvmdCampaign *self, guint timeout);
guint dvmd_campaign_get_drain_timeout (DvmdCampaign *self);
/* (nullable): the node that it tries to bring back; NULL: it does not any more. It begins with that, and has no ticket.
 */
void dvmd_campaign_set_heal (DvmdCampaign *self, struct _DvmdHeal *heal);
struct _DvmdHeal *dvmd_campaign_get_heal (DvmdCampaign *self);

/* ---- its targets ---- */
/* (element-type DvmdTarget) */
GPtrArray *dvmd_campaign_get_targets (DvmdCampaign *self);
DvmdTarget *dvmd_campaign_add_target (DvmdCampaign *self, const char *name, guint rank);
void dvmd_campaign_set_target_rank (DvmdCampaign *self, DvmdTarget *target, guint rank);
/* (nullable) */
DvmdTarget *dvmd_campaign_find_target (DvmdCampaign *self, guint rank);
/* After targets were added, or have got their ranks. */
void dvmd_campaign_publish_targets (DvmdCampaign *self);
guint dvmd_campaign_get_pending (DvmdCampaign *self);
void dvmd_campaign_set_pending (DvmdCampaign *self, guint pending);
/* (element-type DvmdTarget): nodes that were down when they were released */
GPtrArray *dvmd_campaign_get_released (DvmdCampaign *self);
/* set of the ranks that have to leave before it can begin */
GHashTable *dvmd_campaign_get_waits (DvmdCampaign *self);

/* ---- how far it is ---- */
/* It has not begun: why not. */
void dvmd_campaign_wait (DvmdCampaign *self, const char *reason);
/* It begins, as soon as nothing stands in its way. */
void dvmd_campaign_try_begin (DvmdCampaign *self);
/* It waits in the queue of those that are held back. */
gboolean dvmd_campaign_is_held (DvmdCampaign *self);
gboolean dvmd_campaign_has_begun (DvmdCampaign *self);
/* A shrink that has begun, or has given the jobs on its nodes their time: no job is placed there. */
gboolean dvmd_campaign_bars_nodes (DvmdCampaign *self);
/* All agents of a grow have reported, or are told of each other; they are members */
gboolean dvmd_campaign_has_reported (DvmdCampaign *self);
gboolean dvmd_campaign_is_wiring (DvmdCampaign *self);
gboolean dvmd_campaign_is_wired (DvmdCampaign *self);
void dvmd_campaign_post (DvmdCampaign *self, guint event, const char *reason);
void dvmd_campaign_stop_timer (DvmdCampaign *self);
DvmdTicket *dvmd_campaign_get_ticket (DvmdCampaign *self);

/* ---- its failure ---- */
/* It fails, once, with the first cause. */
void dvmd_campaign_fail (DvmdCampaign *self, DvmdCause cause, const char *reason);
void dvmd_campaign_give_up (DvmdCampaign *self, DvmdCause cause, const char *reason);
gboolean dvmd_campaign_has_failed (DvmdCampaign *self);
/* (nullable) */
const char *dvmd_campaign_get_failure_reason (DvmdCampaign *self);

/* ---- jobs that wait for it ---- */
/* (element-type DvmdJob): because they bring its nodes */
GPtrArray *dvmd_campaign_get_own_jobs (DvmdCampaign *self);
/* The jobs that wait for it have changed; until somebody asks that is told once. */
void dvmd_campaign_held_changed (DvmdCampaign *self);
gboolean dvmd_campaign_take_held_changed (DvmdCampaign *self);
/* Neither is it the grow of one any more. */
void dvmd_campaign_forget_job (DvmdCampaign *self);
/* The core ends. */
void dvmd_campaign_forget_jobs (DvmdCampaign *self);

G_END_DECLS
