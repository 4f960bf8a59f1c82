/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-effects.h"
#include "dvmd-mapper.h"

G_BEGIN_DECLS

/*
 * Asks the mappers (element-type DvmdMapper) in their order until one does not decline, and checks its answer. Any
 * error is DVM_ERROR_MAP_FAILED. Pure.
 */
DvmdMap *dvmd_map_driver_map (GPtrArray *mappers, const DvmdMapRequest *request, GError **error);
/* The same for a job. */
DvmdMap *dvmd_map_driver_map_job (GPtrArray *mappers, DvmdJob *job, const DvmdPlaces *places, GError **error);

G_END_DECLS
