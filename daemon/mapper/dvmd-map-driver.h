/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-effects.h"
#include "dvmd-map-parts.h"

G_BEGIN_DECLS

/*
 * The mappers (element-type DvmdMapper) are asked in their order. Of several that have declared a word the first one
 * says how it is written and whether it makes sense. Pure.
 */

/*
 * Whether mappers take what the job says of placement: DVM_ERROR_BAD_PARAM, DVM_ERROR_NOT_SUPPORTED. counts: they give
 * numbers to applications that have none, but for one, which takes what is left.
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
                                      const DvmdMapTopologies *topologies, guint32 *np);
/* Both where the applications are not placed alike. */
DvmdMap *dvmd_map_driver_map_apps (GPtrArray *mappers, const DvmdMapApps *apps, const DvmdMapRequest *request,
                                   GError **error);
gboolean dvmd_map_driver_count_apps (GPtrArray *mappers, const DvmdMapApps *apps, const DvmdMapRequest *request,
                                     guint32 *np);
/* The same for a job. */
DvmdMap *dvmd_map_driver_map_job (GPtrArray *mappers, DvmdJob *job, const DvmdPlaces *places,
                                  const DvmdMapTopologies *topologies, GError **error);

G_END_DECLS
