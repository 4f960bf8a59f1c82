/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The core asks where processes go: the mappers answer.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-map.h"
#include "dvm-job-spec-private.h"
#include "dvmd-id-set.h"
#include "dvmd-input.h"
#include "dvmd-services.h"

static GPtrArray *
get_mappers (DvmdController *self)
{
  return dvmd_plugins_get_active (dvmd_controller_get_parts (self)->plugins, DVMD_PLUGIN_MAPPER);
}

gboolean
dvmd_controller_check_placement (gpointer user_data, DvmJobSpec *spec, gboolean *counts, GError **error)
{
  return dvmd_map_driver_check (get_mappers (user_data), spec, counts, error);
}

gboolean
dvmd_controller_count_procs (gpointer user_data, DvmdJob *job, const DvmdPlaces *places, guint32 *np)
{
  const DvmdMapTopologies topologies = dvmd_controller_get_map_topologies (user_data);

  return dvmd_map_driver_count (get_mappers (user_data), job, places, &topologies, np);
}

/* Of a job without them all ranks wait, or none. */
static gboolean
check_stop_ranks (const char *text, guint n_ranks, GError **error)
{
  g_autoptr (DvmdIdSet) ranks = NULL;
  guint wrong;

  if (text == NULL)
    return TRUE;
  ranks = dvmd_id_set_parse (text, "stop-ranks", error);
  if (ranks == NULL || !dvmd_id_set_next (ranks, n_ranks, &wrong))
    return ranks != NULL;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "Rank %u is to wait for a debugger, and is no rank of this job (0 to %u)", wrong, MAX (n_ranks, 1) - 1);
  return FALSE;
}

/* How many ranks there are may be known only now. */
static gboolean
check_ranks (DvmdJob *job, GError **error)
{
  DvmJobSpec *spec = dvmd_job_get_spec (job);
  GArray *app_np = dvmd_job_get_app_np (job);
  guint n_ranks = 0;
  guint target;

  for (guint i = 0; i < app_np->len; i++)
    n_ranks += g_array_index (app_np, guint, i);
  return dvmd_input_parse_target (dvm_job_spec_get_stdin_target (spec), n_ranks, &target, NULL, error)
         && check_stop_ranks (_dvm_job_spec_get_stop_ranks (spec), n_ranks, error);
}

DvmdMap *
dvmd_controller_map (gpointer user_data, DvmdJob *job, const DvmdPlaces *places, GError **error)
{
  DvmdController *self = user_data;
  DvmdMapTopologies topologies;

  if (!check_ranks (job, error))
    return NULL;
  topologies = dvmd_controller_get_map_topologies (self);
  return dvmd_map_driver_map_job (get_mappers (self), job, places, &topologies, error);
}

DvmdPlan *
dvmd_controller_new_plan (DvmdController *self, const DvmdPlanShape *shape, GError **error)
{
  return dvmd_plan_new (shape, get_mappers (self), error);
}
