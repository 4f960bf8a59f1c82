/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The controller of a DVM whose agents are processes of their own, for its own files.
 */

#pragma once

#include "dvmd-controller-private.h"
#include "dvmd-launcher.h"
#include "dvmd-router.h"

G_BEGIN_DECLS

typedef enum
{
  AGENT_LAUNCHED, /* a launcher has been asked for it */
  AGENT_JOINED,   /* it has a link */
  AGENT_REPORTED,
  AGENT_MEMBER, /* it has its place in the tree */
  AGENT_GONE,   /* has ended everything, and waits to be let go */
  AGENT_LOST,   /* failed, or lost */
} DvmdAgentStep;

typedef struct
{
  guint32 rank;
  char *name;
  DvmdAgentStep step;
  DvmdLauncher *launcher; /* (nullable): who has taken it */
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
  GPtrArray *launches;   /* of tokens: guint64 *, until everybody has joined */
  guint report_timer;
  GHashTable *lost; /* rank -> reason: told together */
  guint lost_timer;
  guint64 repairs;    /* of the tree */
  guint64 membership; /* number of the broadcast of the membership; 0: none is under way */
  guint stop_timer;
  gboolean stopping;
  gboolean releasing;
};

DvmdAgentEntry *dvmd_wired_find (DvmdWired *self, guint32 rank);

/* dvmd-controller-launcher.c: from nodes to processes */
/* Authority, listener and router are made when the first agents are wanted. */
gboolean dvmd_wired_open (DvmdWired *self, GError **error);
void dvmd_wired_launch (DvmdWired *self, DvmdNode *const *nodes, guint n_nodes);
/* Ends these agents and all below them; done is called when that has happened, and never from within. */
void dvmd_wired_terminate (DvmdWired *self, GPtrArray *entries, void (*done) (DvmdWired *self));
/* Everybody who was launched has reported or failed. */
void dvmd_wired_close_launches (DvmdWired *self);

/* dvmd-controller-members.c: who is there */
void dvmd_wired_joined (DvmdWired *self, guint32 rank, const char *name);
/* The agent of this rank will not come, or has ended. */
void dvmd_wired_agent_failed (DvmdWired *self, guint32 rank, const char *reason);
void dvmd_wired_completed (DvmdWired *self, guint64 number);
void dvmd_wired_distribute (DvmdWired *self, guint64 epoch, GVariant *membership);
void dvmd_wired_reported (DvmdWired *self, guint32 rank, const char *addresses);
/* Whether what concerns all of a job with this map had best go to all agents. */
gboolean dvmd_wired_is_for_all (DvmdWired *self, DvmdMap *map);
void dvmd_wired_broadcast (DvmdWired *self, DvmdMessageKind kind, GVariant *body);
/* Each node's place in the tree, for people. */
void dvmd_wired_tell_places (DvmdWired *self, DvmdRoutes *routes);
void dvmd_wired_stop (DvmdWired *self, gint64 grace);
/* It goes without being told to. */
void dvmd_wired_leaving (DvmdWired *self, guint32 rank, const char *reason);
void dvmd_wired_gone (DvmdWired *self, guint32 rank);

DvmdWired *dvmd_wired_new (DvmdController *controller, const DvmdControllerSettings *settings);
void dvmd_wired_free (DvmdWired *self);

G_END_DECLS
