/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"
#include "dvmd-topology.h"

G_BEGIN_DECLS

/* Which nodes the DVM is to have. */
typedef struct
{
  char **embedded; /* (nullable): names of nodes whose agents are in this process; NULL: this machine */
  gboolean single; /* it has one node, whatever is found */
  guint slots;     /* of a node of which nothing says how many it has; 0: one for each object of slot_kind */
  DvmdTopologyKind slot_kind;
  char *hostfile;  /* (nullable) */
  char *hosts;     /* (nullable) */
  char *launcher;  /* (nullable) */
  char *allocator; /* (nullable) */
  guint n_logical;
  guint max_nodes;       /* 0: all that are found */
  gint64 start_timeout;  /* µs */
  char **names;          /* (nullable): of the hosts that file and list name */
  GArray *named;         /* (nullable): DvmdPluginNode, of each of names */
  gboolean logical;      /* what was found is no machines: their agents are started here */
  GHashTable *addresses; /* name of a node -> how a launcher gets there, where that is not its name */
} DvmdShape;

DvmdShape *dvmd_shape_new (const DvmdControllerSettings *settings);
void dvmd_shape_free (DvmdShape *shape);
/* host: the name of this machine. FALSE: no DVM can have this shape. */
gboolean dvmd_shape_read (DvmdShape *shape, const char *host, DvmdPlugins *plugins, GError **error);
/* Whether the launcher that is asked for starts all agents on this machine. */
gboolean dvmd_shape_is_local (DvmdShape *shape);
/* Whether the name is one of this machine, which is called host. */
gboolean dvmd_shape_is_this_machine (const char *host, const char *name);
/* The slots of a node that has reported so, if nobody gives it others. */
guint dvmd_shape_get_default_slots (DvmdShape *shape, const DvmdAgentReport *report);
/* (nullable): for a launcher, where it differs from the name */
const char *dvmd_shape_get_address (DvmdShape *shape, const char *name);

G_END_DECLS
