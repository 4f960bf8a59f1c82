/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-devices.h"
#include "dvmd-map.h"

G_BEGIN_DECLS

/* The devices that the processes of a map have on one node. */
typedef struct _DvmdMapDevices DvmdMapDevices;

/* (transfer full) (nullable): NULL with the errors of dvmd_devices_choose(), or DVM_ERROR_MAP_FAILED: the node lacks
 * one */
DvmdMapDevices *dvmd_map_devices_new (DvmdMap *map, guint node, DvmdTopology *topology, GError **error);
void dvmd_map_devices_free (DvmdMapDevices *self);
/* (transfer none) (nullable): NULL: the process has none */
const DvmdDeviceGroup *dvmd_map_devices_get (DvmdMapDevices *self, guint local_rank);
/* (transfer full): those of all processes, by their numbers on the node, "0-3,8"; "": none */
char *dvmd_map_devices_list (DvmdMapDevices *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdMapDevices, dvmd_map_devices_free)

G_END_DECLS
