/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"
#include "dvmd-plan.h"

G_BEGIN_DECLS

/* The cpus and objects of the processes of a map: cpus are found node by node as they are asked for. */
typedef struct _DvmdControllerCpus DvmdControllerCpus;

/* map (nullable): borrowed */
DvmdControllerCpus *dvmd_controller_cpus_new (DvmdController *controller, DvmdMap *map);
/* The map is one of the plan, which is borrowed too. */
DvmdControllerCpus *dvmd_controller_cpus_new_for_plan (DvmdPlan *plan, DvmdMap *map);
void dvmd_controller_cpus_free (DvmdControllerCpus *self);

/* "0-3,8" as the operating system of the node numbers them; "": the process is not bound, or that is not known. */
const char *dvmd_controller_cpus_get (DvmdControllerCpus *self, guint node, guint local_rank);

/* (transfer full) (nullable): "nvml0,nvml1"; NULL: the process has none, or that is not known */
char *dvmd_controller_cpus_dup_devices (DvmdControllerCpus *self, guint node, guint local_rank);

/* (transfer full): "core 3", "device nvml0", on which the mapper has placed the rank; "": it was not placed by objects
 */
char *dvmd_controller_cpus_dup_object (DvmdControllerCpus *self, guint rank, guint node, guint local_rank);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdControllerCpus, dvmd_controller_cpus_free)

/* (transfer floating): aa{sv} apps (s), map-by (s), rank-by (s), bind-to (s): how applications of the map are placed */
GVariant *dvmd_controller_describe_policies (DvmdMap *map, guint n_apps);

G_END_DECLS
