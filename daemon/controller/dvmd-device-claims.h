/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"
#include "dvmd-map-topology.h"

G_BEGIN_DECLS

/* Which devices of each node jobs have, so that the next job gets others. */

/* Effects of the core. */
void dvmd_controller_claim_devices (gpointer user_data, DvmdJob *job, DvmdMap *map);
void dvmd_controller_give_devices_back (gpointer user_data, DvmdJob *job, DvmdNode *node);

/* (transfer none) (nullable): by their numbers on the node; NULL: there are none */
const DvmdCpuset *dvmd_controller_get_devices_in_use (DvmdController *self, guint node);

/*
 * (transfer full): all devices of the node in the order of the bus, "nvml0=dvm@4:0,2+dvm@7:1": the processes that have
 * it; nothing behind the "=": none has. Empty: the node has none, or its hardware is not known
 */
GStrv dvmd_controller_list_devices (DvmdController *self, guint node);

G_END_DECLS
