/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that are processes of their own, for the files that see to them.
 */

#pragma once

#include "dvmd-departures.h"
#include "dvmd-launcher.h"
#include "dvmd-router.h"
#include "dvmd-services.h"

G_BEGIN_DECLS

typedef enum
{
  AGENT_LAUNCHED, /* a launcher has been asked for it */
  AGENT_JOINED,   /* it has a link */
  AGENT_REPORTED,
  AGENT_MEMBER,  /* it has its place in the tree */
  AGENT_LEAVING, /* was ordered to go; DvmdDepartures knows when it has */
  AGENT_GONE,    /* has ended everything, and waits to be let go */
  AGENT_LOST,    /* failed, or lost */
} DvmdAgentStep;

/* Reference counted (g_rc_box): who launches or ends it may be at it when it has gone. */
typedef struct
{
  guint32 rank;
  char *name;
  char *address; /* (nullable): for launchers, where it differs from the name */
  DvmdAgentStep step;
  gboolean ends_work;     /* lost because it has said that it leaves: it ends what runs there */
  gint64 leaves_until;    /* it does so still, until then at most: its loss is told later; 0: it does not */
  DvmdLauncher *launcher; /* (nullable): who has taken it */
  guint64 launch;         /* of its token; 0: it cannot join any more */
} DvmdAgentEntry;

typedef struct _DvmdRemote DvmdRemote;
typedef struct _DvmdRemoteDepartures DvmdRemoteDepartures;
typedef struct _DvmdRemoteStop DvmdRemoteStop;
typedef struct _DvmdRemoteAwait DvmdRemoteAwait;
typedef struct _DvmdRemoteWhy DvmdRemoteWhy;

/* Losses that have not been told. */
typedef struct
{
  GHashTable *untold; /* rank -> reason */
  guint timer;
  gint64 due;
} DvmdRemoteLosses;

struct _DvmdRemote
{
  DvmdAgents parent;
  DvmdController *controller; /* unowned */
  DvmdConfig *config;
  guint radix;
  DvmdAuthority *authority;
  DvmdIdentity *identity;
  DvmdTokens *tokens;
  DvmdListener *listener;
  DvmdRouter *router;
  GHashTable *agents;    /* rank -> DvmdAgentEntry */
  GHashTable *launchers; /* set of DvmdLauncher that tell of nodes that fail */
  GHashTable *launches;  /* of tokens: guint64 * -> how many may still join */
  gint64 grow_timeout;
  guint report_timer;
  gboolean has_topology; /* of this machine, in a file for its agents */
  GQueue wirings;        /* Wiring: of agents that are being wired, in the order of their broadcasts */
  DvmdRemoteLosses lost; /* told together */
  guint64 repairs;       /* of the tree */
  DvmdRemoteDepartures *departures;
  DvmdRemoteStop *stop;
  DvmdRemoteAwait *await; /* (nullable): agents come by themselves */
  DvmdRemoteWhy *why;
  guint n_terminations; /* that are under way */
};

/* dvmd-remote.c */
/* Authority, listener and router are made when the first agents are wanted. */
gboolean dvmd_remote_open (DvmdRemote *self, GError **error);
/* Agents of other machines come by TCP: where there are none, nobody listens. */
gboolean dvmd_remote_open_tcp (DvmdRemote *self, GError **error);

/* dvmd-remote-launch.c */
void dvmd_remote_launch (DvmdAgents *agents, DvmdNode *const *nodes, guint n_nodes);
/* Whether so many agents more may be started by this process. */
gboolean dvmd_remote_check_room (DvmdAgents *agents, guint n, GError **error);
/* An agent has reported, or will not. The token of a launch is void when that is so for all of its agents. */
void dvmd_remote_close_launch (DvmdRemote *self, DvmdAgentEntry *entry);
/* No agent may join from now on. */
void dvmd_remote_close_launches (DvmdRemote *self);
/* (element-type DvmdAgentEntry) entries; (transfer container): for a launcher */
DvmdPluginNode *dvmd_remote_describe_nodes (GPtrArray *entries);

/* dvmd-remote-await.c: agents that nobody starts */
/* TRUE: the launcher that the settings name waits for them. */
gboolean dvmd_remote_awaits (DvmdRemote *self);
/* From now on they may join as these. argv: of an agent */
gboolean dvmd_remote_await (DvmdRemote *self, GPtrArray *entries, const char *const *argv, GError **error);
/* (transfer full): why agents that start by themselves may not have come, behind a sentence; "": nothing is known */
char *dvmd_remote_explain_await (DvmdRemote *self);
void dvmd_remote_await_free (DvmdRemoteAwait *await, DvmdClock *clock);

/* dvmd-remote-members.c: who is there */
DvmdAgentEntry *dvmd_remote_find (DvmdRemote *self, guint32 rank);
void dvmd_agent_entry_unref (gpointer entry);
guint dvmd_remote_count (DvmdRemote *self, DvmdAgentStep first, DvmdAgentStep last);
/* (transfer container) (element-type DvmdAgentEntry) */
GPtrArray *dvmd_remote_list (DvmdRemote *self, DvmdAgentStep first, DvmdAgentStep last);
void dvmd_remote_joined (DvmdRemote *self, guint32 rank, const char *name);
void dvmd_remote_reported (DvmdAgents *agents, guint rank, const DvmdAgentReport *report);
void dvmd_remote_wire (DvmdAgents *agents, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes);
/* Broadcasts up to this one are complete. */
void dvmd_remote_completed (DvmdRemote *self, guint64 number);
void dvmd_remote_close_wirings (DvmdRemote *self);
gboolean dvmd_remote_is_for_all (DvmdAgents *agents, DvmdMap *map);
void dvmd_remote_broadcast (DvmdAgents *agents, DvmdMessageKind kind, GVariant *body);
/* Each node's place in the tree, for people. */
void dvmd_remote_tell_places (DvmdRemote *self, DvmdRoutes *routes);

/* dvmd-remote-lost.c: who is lost */
/* The agent of this rank will not come, or has ended. */
void dvmd_remote_agent_failed (DvmdRemote *self, guint32 rank, DvmdCause cause, const char *reason);
/* Its link has ended; reporter: whose end of it. */
void dvmd_remote_link_lost (DvmdRemote *self, guint32 rank, guint32 reporter, const char *reason);
void dvmd_remote_restart (DvmdAgents *agents, guint rank, const char *reason);
void dvmd_remote_leaving (DvmdAgents *agents, guint rank, const char *reason);
gboolean dvmd_remote_ends_work (DvmdAgents *agents, guint rank);
/* Losses are collected for a moment and told together; this tells them now, also those of agents that still leave. */
void dvmd_remote_tell_lost (DvmdRemote *self);
/* Tells those of these ranks, a set, that are lost and untold; the others are collected further. */
void dvmd_remote_tell_lost_of (DvmdRemote *self, GHashTable *ranks);
/* The agent leaves by itself, and still ends what runs there. */
gboolean dvmd_remote_still_leaves (DvmdRemote *self, DvmdAgentEntry *entry);
/* TRUE: the agent was lost and that has not been told; it is not told any more. */
gboolean dvmd_remote_is_untold (DvmdRemote *self, guint32 rank);
/* Removes the directories that agents of this machine have left, now that no process of theirs runs. */
void dvmd_remote_clear_directories (DvmdRemote *self, GPtrArray *entries);

/* dvmd-remote-why.c: why they are */
DvmdRemoteWhy *dvmd_remote_why_new (void);
void dvmd_remote_why_free (DvmdRemoteWhy *why, DvmdClock *clock);
/* Allocators are asked about those that are lost and untold. FALSE: there is nobody to ask; TRUE: they are told later.
 */
gboolean dvmd_remote_ask_why (DvmdRemote *self);
/* Losses are not told yet. */
gboolean dvmd_remote_awaits_end (DvmdRemote *self);
/* A launcher says that all agents are being ended. */
void dvmd_remote_note_ending (DvmdRemote *self, const char *reason);
/* An agent leaves by itself. */
void dvmd_remote_note_leaving (DvmdRemote *self);

/* dvmd-remote-stop.c: the end of some, and of all */
/* Ends these agents and all below them; done is called when that has happened, and never from within. */
typedef void (*DvmdRemoteDone) (DvmdRemote *self, GPtrArray *entries);
void dvmd_remote_terminate (DvmdRemote *self, GPtrArray *entries, DvmdRemoteDone done);
/* Kills agents at once. */
void dvmd_remote_kill (DvmdRemote *self, GPtrArray *entries);
DvmdRemoteStop *dvmd_remote_stop_new (void);
void dvmd_remote_stop_free (DvmdRemoteStop *stop, DvmdClock *clock);
gboolean dvmd_remote_is_stopping (DvmdRemote *self);
void dvmd_remote_see_off (DvmdAgents *agents, DvmdSendOff *order, gint64 grace);
void dvmd_remote_force (DvmdAgents *agents);
void dvmd_remote_gone (DvmdAgents *agents, guint rank);
/* One less: the last one has ended its work, or was lost on the way. */
void dvmd_remote_check_release (DvmdRemote *self);

/* dvmd-remote-departures.c: who is ordered to leave */
/* grace: µs */
DvmdRemoteDepartures *dvmd_remote_departures_new (DvmdRemote *remote, gint64 grace);
void dvmd_remote_departures_free (DvmdRemoteDepartures *departures);
void dvmd_remote_order_away (DvmdRemote *self, DvmdSendOff *order);
void dvmd_remote_left (DvmdAgents *agents, guint rank, guint uplink);
/* reporter says that the link to the agent has ended. TRUE: the agent was ordered to leave, and this is part of it. */
gboolean dvmd_remote_has_departed (DvmdRemote *self, guint32 rank);
gboolean dvmd_remote_departs_by_link (DvmdRemote *self, guint32 rank, guint32 reporter);
/* Removes at once what is left of agents that have gone. */
void dvmd_remote_clean_up (DvmdAgents *agents);

G_END_DECLS
