/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The cpus of the processes of a job on this node, and what their libraries are told of them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-binding.h"

#include "dvmd-map-binding.h"

gboolean
dvmd_agent_bind_procs (DvmdAgentJob *job, GError **error)
{
  const DvmdAgentParts *parts = dvmd_agent_get_parts (job->agent);
  g_autoptr (DvmdMapBinder) binder = NULL;

  if (!dvmd_map_binds (job->map))
    return TRUE;
  binder = dvmd_map_binder_new (job->map);
  job->cpus = dvmd_map_binder_bind (binder, parts->rank, parts->topology, error);
  if (job->cpus != NULL)
    return TRUE;
  g_prefix_error (error, "%s: ", parts->name);
  return FALSE;
}

const char *
dvmd_agent_get_cpus (const DvmdAgentJob *job, guint local_rank)
{
  return job->cpus != NULL ? g_ptr_array_index (job->cpus, local_rank) : NULL;
}

static void
add_openmp (GStrvBuilder *variables, const DvmdBindingPolicy *policy)
{
  gboolean threads = (policy->flags & DVMD_BINDING_HWTHREADS) != 0;
  g_autofree char *number = g_strdup_printf ("OMP_NUM_THREADS=%u", policy->pe);

  g_strv_builder_add (variables, number);
  g_strv_builder_add (variables, threads ? "OMP_PLACES=threads" : "OMP_PLACES=cores");
  g_strv_builder_add (variables, "OMP_PROC_BIND=close");
}

GStrv
dvmd_agent_dup_binding_variables (const DvmdAgentJob *job, const DvmdAgentApp *app)
{
  g_autoptr (GStrvBuilder) variables = g_strv_builder_new ();
  const DvmdBindingPolicy *policy;
  gboolean bound;
  guint index = 0;

  g_ptr_array_find (job->apps, app, &index);
  policy = dvmd_map_get_policy (job->map, index);
  bound = job->cpus != NULL && policy->bind_to != DVMD_KIND_NODE;
  if (bound && (policy->flags & DVMD_BINDING_PE) != 0)
    add_openmp (variables, policy);
  /* Open MPI 4 binds its processes itself unless it hears that they are. */
  if (bound && job->registered)
    g_strv_builder_add (variables, "OMPI_MCA_orte_bound_at_launch=1");
  return g_strv_builder_end (variables);
}
