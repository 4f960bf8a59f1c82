/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-map-defaults.h"
#include "dvmd-map.h"
#include "dvmd-topology.h"

G_BEGIN_DECLS

/* The hardware of nodes, as far as it is known, and what jobs have of it. */
typedef struct
{
  /* (transfer none) (nullable) */
  DvmdMapTopology *(*find) (const char *signature, gpointer user_data);
  /* (nullable): the cpus of the node to which processes of other jobs are bound; (transfer none) (nullable) */
  const DvmdCpuset *(*get_in_use) (guint rank, gpointer user_data);
  /* (nullable): the hardware of the node by which its processes are bound; (transfer none) (nullable) */
  DvmdTopology *(*get_topology) (guint rank, gpointer user_data);
  /* (nullable): the devices of the node that other jobs have, by their numbers on it; (transfer none) (nullable) */
  const DvmdCpuset *(*get_devices_in_use) (guint rank, gpointer user_data);
  const char *local; /* (nullable): the name of this machine, which "nolocal" leaves out */
  gboolean binds;    /* processes of parallel programs are bound unless the job says otherwise */
  gpointer user_data;
} DvmdMapTopologies;

/* The applications of a job, each with what is said of its placement. */
typedef struct
{
  const DvmdMapWishes *wishes;         /* of each application */
  const DvmdMapTopologies *topologies; /* (nullable): none are known */
} DvmdMapApps;

/*
 * A part: applications that follow each other and are placed by the same words. Each part is a question of its own to
 * the mappers, and finds the slots and cpus that the parts before it have left.
 */
typedef struct
{
  const DvmdMapApps *apps;
  const DvmdMapRequest *whole;
  gboolean apart;      /* each application is a part */
  DvmdMapNode *nodes;  /* as the parts before have left them */
  GHashTable *cpusets; /* "0-3,8" -> DvmdCpuset: those of nodes */
  DvmdMap *map;        /* of the parts that have been taken */
  guint first_app;     /* of the part that is looked at; what is wished and asked there: */
  DvmdMapWishes wishes;
  DvmdMapRequest request;
} DvmdMapParts;

/* Both are borrowed. apart: applications are not placed together, although the same is said of them */
void dvmd_map_parts_init (DvmdMapParts *self, const DvmdMapApps *apps, const DvmdMapRequest *whole, gboolean apart);
void dvmd_map_parts_clear (DvmdMapParts *self);
/* FALSE: there is no other one */
gboolean dvmd_map_parts_next (DvmdMapParts *self);
/* Whether it is the whole job. */
gboolean dvmd_map_parts_is_only (const DvmdMapParts *self);
void dvmd_map_parts_rewind (DvmdMapParts *self);
/* The part has its place. FALSE: its processes cannot be bound so, DVM_ERROR_MAP_FAILED. */
gboolean dvmd_map_parts_take (DvmdMapParts *self, DvmdMap *map, GError **error);
/* Whether applications that are placed together may have a core in common: where a hardware thread is a cpu, and
 * processes are bound to cores, a core has several of them. */
gboolean dvmd_map_parts_share_cores (DvmdMap *map, guint n_apps);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdMapParts, dvmd_map_parts_clear)

G_END_DECLS
