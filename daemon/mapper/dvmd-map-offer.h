/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-placement-private.h"
#include "dvmd-map-parts.h"

G_BEGIN_DECLS

/* The nodes of a job that asks for devices, with these among their objects. */
typedef struct
{
  char *wish;        /* (nullable): the job asks for none */
  GHashTable *views; /* (nullable): "topology devices-in-use" -> DvmdMapTopology */
  char *reason;      /* (nullable): why a node has none, of the first one of which it is not that it has no device */
} DvmdMapOffer;

/* The wish of the placement. */
void dvmd_map_offer_init (DvmdMapOffer *self, const DvmPlacement *placement);
void dvmd_map_offer_clear (DvmdMapOffer *self);
/* The topologies of the nodes are replaced by those with devices; they belong to self. topologies: those of the nodes
 */
void dvmd_map_offer_devices (DvmdMapOffer *self, DvmdMapNode *nodes, guint n_nodes,
                             const DvmdMapTopologies *topologies);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdMapOffer, dvmd_map_offer_clear)

G_END_DECLS
