/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-effects.h"
#include "dvmd-map-defaults.h"
#include "dvmd-mapper.h"
#include "dvmd-topology.h"

G_BEGIN_DECLS

/*
 * The mappers (element-type DvmdMapper) are asked in their order. Of several that have declared a word the first one
 * says how it is written and whether it makes sense. Pure.
 */

/* The hardware of nodes, as far as it is known, and what jobs have of it. */
typedef struct
{
  /* (transfer none) (nullable) */
  DvmdMapTopology *(*find) (const char *signature, gpointer user_data);
  /* (nullable): the cpus of the node to which processes of other jobs are bound; (transfer none) (nullable) */
  const DvmdCpuset *(*get_in_use) (guint rank, gpointer user_data);
  /* (nullable): the hardware of the node by which its processes are bound; (transfer none) (nullable) */
  DvmdTopology *(*get_topology) (guint rank, gpointer user_data);
  const char *local; /* (nullable): the name of this machine, which "nolocal" leaves out */
  gboolean binds;    /* processes of parallel programs are bound unless the job says otherwise */
  gpointer user_data;
} DvmdMapTopologies;

/*
 * Whether a mapper takes what the job says of placement: DVM_ERROR_BAD_PARAM, DVM_ERROR_NOT_SUPPORTED. counts: it gives
 * numbers to applications that have none.
 */
gboolean dvmd_map_driver_check (GPtrArray *mappers, DvmJobSpec *spec, gboolean *counts, GError **error);
/* Gives numbers where np is 0. FALSE: the mapper has no opinion. topologies (nullable): none are known */
gboolean dvmd_map_driver_count (GPtrArray *mappers, DvmdJob *job, const DvmdPlaces *places,
                                const DvmdMapTopologies *topologies, guint32 *np);
/*
 * Asks those that have the word until one does not decline, and checks its answer. Any error is DVM_ERROR_MAP_FAILED.
 * request: without words. topologies (nullable): processes are bound by these, else that is not looked at
 */
DvmdMap *dvmd_map_driver_map (GPtrArray *mappers, const DvmdMapWishes *wishes, const DvmdMapRequest *request,
                              const DvmdMapTopologies *topologies, GError **error);
/* As dvmd_map_driver_count(). */
gboolean dvmd_map_driver_count_procs (GPtrArray *mappers, const DvmdMapWishes *wishes, const DvmdMapRequest *request,
                                      guint32 *np);
/* The same for a job. */
DvmdMap *dvmd_map_driver_map_job (GPtrArray *mappers, DvmdJob *job, const DvmdPlaces *places,
                                  const DvmdMapTopologies *topologies, GError **error);

G_END_DECLS
