/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The controller of a DVM whose agents are processes of their own, for its own files.
 */

#pragma once

#include "dvmd-controller-private.h"
#include "dvmd-departures.h"
#include "dvmd-launcher.h"
#include "dvmd-router.h"

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
  DvmdLauncher *launcher; /* (nullable): who has taken it */
  guint64 launch;         /* of its token; 0: it cannot join any more */
} DvmdAgentEntry;

struct _DvmdWired
{
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
  DvmdDepartures *departures;
  GArray *departed; /* guint32: told together */
  guint departed_timer;
  GArray *forgotten;    /* guint32: have departed, and members are to be told */
  GPtrArray *leftovers; /* DvmdAgentEntry, of which something may be left */
  guint clean_timer;
  GHashTable *endings; /* rank -> Ending: of those that launchers are asked to end */
  GQueue wirings;      /* Wiring: campaigns whose agents are being wired, in the order of their broadcasts */
  gint64 grow_timeout;
  gboolean has_topology; /* of this machine, in a file for its agents */
  guint report_timer;
  GHashTable *lost; /* rank -> reason: told together */
  guint lost_timer;
  guint64 repairs;    /* of the tree */
  guint64 membership; /* number of the broadcast of the membership; 0: none is under way */
  guint stop_timer;
  gboolean stopping;
  gboolean releasing;
  gboolean forced;
  guint force_timer;
  guint n_terminations; /* that are under way */
};

DvmdAgentEntry *dvmd_wired_find (DvmdWired *self, guint32 rank);
void dvmd_agent_entry_unref (gpointer entry);

/* dvmd-controller-launcher.c: from nodes to processes */
/* Authority, listener and router are made when the first agents are wanted. */
gboolean dvmd_wired_open (DvmdWired *self, GError **error);
void dvmd_wired_launch (DvmdWired *self, DvmdNode *const *nodes, guint n_nodes);
/* Whether so many agents more may be started by this process. */
gboolean dvmd_wired_check_descriptors (DvmdWired *self, guint n, GError **error);
/* Ends these agents and all below them; done is called when that has happened, and never from within. */
typedef void (*DvmdWiredDone) (DvmdWired *self, GPtrArray *entries);
void dvmd_wired_terminate (DvmdWired *self, GPtrArray *entries, DvmdWiredDone done);
/* They get no time any more. */
void dvmd_wired_kill (DvmdWired *self, GPtrArray *entries);
/* It has reported, or will not: its token is void when all of its launch have or will not. */
void dvmd_wired_close_launch (DvmdWired *self, DvmdAgentEntry *entry);
/* Nobody joins any more. */
void dvmd_wired_close_launches (DvmdWired *self);

/* dvmd-controller-members.c: who is there */
void dvmd_wired_joined (DvmdWired *self, guint32 rank, const char *name);
/* The agent of this rank will not come, or has ended. */
void dvmd_wired_agent_failed (DvmdWired *self, guint32 rank, DvmdCause cause, const char *reason);
/* Its link has ended; reporter: whose end of it. */
void dvmd_wired_link_lost (DvmdWired *self, guint32 rank, guint32 reporter, const char *reason);
/* What an agent of this machine could not take away itself, now that nothing of it runs. */
void dvmd_wired_clear_directories (DvmdWired *self, GPtrArray *entries);
/* Was lost, and that has not been told yet: it need not be. */
gboolean dvmd_wired_is_untold (DvmdWired *self, guint32 rank);
void dvmd_wired_completed (DvmdWired *self, guint64 number);
void dvmd_wired_distribute (DvmdWired *self, guint64 epoch, GVariant *membership);
/* FALSE: it is not expected (any more). */
gboolean dvmd_wired_reported (DvmdWired *self, guint32 rank, const char *addresses);
/* Whether what concerns all of a job with this map had best go to all agents. */
gboolean dvmd_wired_is_for_all (DvmdWired *self, DvmdMap *map);
void dvmd_wired_broadcast (DvmdWired *self, DvmdMessageKind kind, GVariant *body);
/* Each node's place in the tree, for people. */
void dvmd_wired_tell_places (DvmdWired *self, DvmdRoutes *routes);
void dvmd_wired_stop (DvmdWired *self, gint64 grace, gboolean forced);
/* What has not ended soon is killed, whatever runs there. */
void dvmd_wired_force (DvmdWired *self);
/* It goes without being told to. */
void dvmd_wired_leaving (DvmdWired *self, guint32 rank, const char *reason);
/* It is going so: what its ranks do from now on is because of that. */
gboolean dvmd_wired_ends_work (DvmdWired *self, guint32 rank);
void dvmd_wired_gone (DvmdWired *self, guint32 rank);

/* dvmd-controller-departures.c: who is ordered to leave */
void dvmd_wired_wire_agents (DvmdWired *self, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes);
void dvmd_wired_remove_agents (DvmdWired *self, DvmdNode *const *nodes, guint n_nodes, guint *repairs,
                               guint *links_changed);
/* An agent of which nobody wants anything any more has come all the same (D8). */
void dvmd_wired_tell_latecomer (DvmdWired *self, DvmdAgentEntry *entry);
void dvmd_wired_left (DvmdWired *self, guint32 rank, guint32 uplink);
/* Broadcasts up to this one are complete. */
void dvmd_wired_check_wirings (DvmdWired *self, guint64 number);
/* The departures of the DVM; NULL releases. */
void dvmd_wired_open_departures (DvmdWired *self, gint64 grace);
void dvmd_wired_close_departures (DvmdWired *self);
/* What is left of those that have gone goes now, and not a moment later. */
void dvmd_wired_clean_up (DvmdWired *self);

DvmdWired *dvmd_wired_new (DvmdController *controller, const DvmdControllerSettings *settings);
void dvmd_wired_free (DvmdWired *self);

G_END_DECLS
