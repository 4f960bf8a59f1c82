/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where ranks go: Map of the manager asks the mapper and starts nothing, Map of a job tells what it was given.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-job-spec-private.h"
#include "dvmd-id-set.h"
#include "dvmd-controller-cpus.h"
#include "dvmd-bus-caller.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-options.h"
#include "dvmd-bus-parts.h"

#include <string.h>

/* Some MiB; the call has no way to answer in pages. */
#define MAX_ROWS 65536

/* A plan says what is to be mapped, and which ranks the answer has. */
typedef struct
{
  DvmJobSpec *spec;
  char *ranks; /* (nullable) */
} Plan;

/* A call that came before the DVM had nodes. */
typedef struct
{
  DvmdBusCaller *caller;
  GDBusMethodInvocation *invocation;
  Plan *plan;
} Early;

static gboolean
check_size (DvmdIdSet *ranks, guint n_ranks, GError **error)
{
  guint n = 0;

  for (guint rank = 0; n <= MAX_ROWS && dvmd_id_set_next (ranks, rank, &rank) && rank < n_ranks; rank++)
    n++;
  if (n <= MAX_ROWS)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE,
               "The map has %u ranks, and one answer takes %u: ask for some of them with the option “ranks”, such as "
               "0-%u (ListProcs of a job answers in pages)",
               n_ranks, MAX_ROWS, MAX_ROWS - 1);
  return FALSE;
}

/* (transfer floating) (nullable): (a(uuussss)) */
static GVariant *
describe (DvmdBusServer *server, DvmdProcTable *procs, DvmdMap *map, const char *ranks, const char *note,
          GError **error)
{
  DvmdNodePool *nodes = dvmd_core_get_nodes (server->core);
  g_autoptr (DvmdControllerCpus) cpus = dvmd_controller_cpus_new (server->controller, map);
  g_autoptr (DvmdIdSet) set = dvmd_id_set_parse (ranks != NULL ? ranks : "", "ranks", error);
  GVariantBuilder rows;

  if (set == NULL || !check_size (set, procs->n_rows, error))
    return NULL;
  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(uuussss)"));
  for (guint rank = 0; dvmd_id_set_next (set, rank, &rank) && rank < procs->n_rows; rank++)
    {
      const DvmdProcRow *row = dvmd_proc_table_row (procs, rank);

      g_variant_builder_add (&rows, "(uuussss)", rank, row->app, row->local_rank,
                             dvmd_bus_get_node_name (nodes, row->node),
                             dvmd_controller_cpus_get (cpus, row->node, row->local_rank), "", note);
    }
  return g_variant_new ("(a(uuussss))", &rows);
}

static void
return_map (GDBusMethodInvocation *invocation, GVariant *map, GError *error)
{
  if (map != NULL)
    dvmd_bus_return_value (invocation, map);
  else
    dvmd_bus_return_error (invocation, error);
}

void
dvmd_bus_map_job (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  DvmdProcTable *procs = dvmd_job_get_procs (call->object);
  const char *ranks = NULL;
  const DvmdBusOption options[] = {
    { "ranks", "s", &ranks },
  };
  GVariant *map = NULL;
  GError *error = NULL;

  if (dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), &error))
    {
      if (procs != NULL)
        map = describe (call->server, procs, dvmd_job_get_map (call->object), ranks, "", &error);
      else if (dvmd_job_get_ended (call->object))
        error = g_error_new (DVM_ERROR, DVM_ERROR_NOT_FOUND, "Job %u has ended before it was mapped",
                             dvmd_job_get_id (call->object));
      else
        error = g_error_new (DVM_ERROR, DVM_ERROR_NOT_READY, "Job %u is not mapped yet (%s)",
                             dvmd_job_get_id (call->object),
                             dvm_job_state_to_string (dvmd_job_get_state (call->object)));
    }
  return_map (call->invocation, map, error);
}

/* Takes "ranks", which is about the answer, out of the options. (transfer full) (nullable) */
static GVariant *
split_options (GVariant *dict, const char **ranks, GError **error)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (gsize i = 0; i < g_variant_n_children (dict); i++)
    {
      g_autoptr (GVariant) entry = g_variant_get_child_value (dict, i);
      g_autoptr (GVariant) value = NULL;
      const char *key;

      g_variant_get (entry, "{&sv}", &key, &value);
      if (strcmp (key, "ranks") != 0)
        g_variant_builder_add_value (&builder, entry);
      else if (g_variant_is_of_type (value, G_VARIANT_TYPE_STRING))
        *ranks = g_variant_get_string (value, NULL);
      else
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The option “ranks” is of type s, not %s",
                       g_variant_get_type_string (value));
          g_variant_builder_clear (&builder);
          return NULL;
        }
    }
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

/* A map is of the nodes that there are. */
static gboolean
adds_nothing (DvmJobSpec *spec, GError **error)
{
  if (dvm_job_spec_get_add_hosts (spec)[0] == NULL && dvm_job_spec_get_add_hostfile (spec) == NULL)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "add-hosts and add-hostfile: a map adds no nodes; grow the DVM first, or submit the job");
  return FALSE;
}

static void
plan_free (gpointer data)
{
  Plan *plan = data;

  g_clear_object (&plan->spec);
  g_free (plan->ranks);
  g_free (plan);
}

static gpointer
read_plan (GDBusMethodInvocation *invocation, GError **error)
{
  GVariant *parameters = g_dbus_method_invocation_get_parameters (invocation);
  g_autoptr (GVariant) apps = g_variant_get_child_value (parameters, 0);
  g_autoptr (GVariant) dict = g_variant_get_child_value (parameters, 1);
  const char *ranks = NULL;
  g_autoptr (GVariant) options = split_options (dict, &ranks, error);
  g_autoptr (DvmJobSpec) spec = options != NULL ? dvm_job_spec_new_from_variant (apps, options, error) : NULL;
  Plan *plan;

  if (spec == NULL || !adds_nothing (spec, error) || !_dvm_job_spec_load_hosts (spec, "", error))
    return NULL;
  plan = g_new0 (Plan, 1);
  plan->spec = g_steal_pointer (&spec);
  plan->ranks = g_strdup (ranks);
  return plan;
}

const DvmdBusReader dvmd_bus_map_reader = { read_plan, plan_free };

/* (transfer floating) (nullable) */
static GVariant *
make_map (DvmdBusServer *server, DvmdBusCaller *caller, Plan *plan, GError **error)
{
  gboolean waits = FALSE;
  g_autoptr (DvmdMap) map = dvmd_core_map (server->core, plan->spec, &caller->requester, &waits, error);
  g_autoptr (DvmdProcTable) procs = NULL;

  if (map == NULL)
    return NULL;
  procs = dvmd_map_expand (map);
  return describe (server, procs, map, plan->ranks, waits ? "waits for slots" : "", error);
}

/* Takes the invocation. */
static void
answer_map (DvmdBusServer *server, DvmdBusCaller *caller, GDBusMethodInvocation *invocation, Plan *plan)
{
  GError *error = NULL;
  GVariant *map = make_map (server, caller, plan, &error);

  return_map (invocation, map, error);
}

static void
early_free (gpointer data)
{
  Early *early = data;

  dvmd_bus_caller_unref (early->caller);
  g_clear_object (&early->invocation);
  plan_free (early->plan);
  g_free (early);
}

void
dvmd_bus_map (DvmdBusCall *call)
{
  DvmdBusServer *server = call->server;
  Early *early;

  if (dvmd_core_get_ready (server->core) || dvmd_core_get_shutting_down (server->core))
    {
      answer_map (server, call->caller, call->invocation, call->read);
      return;
    }
  /* As a job that comes early: kept until there are nodes. */
  early = g_new0 (Early, 1);
  early->caller = dvmd_bus_caller_ref (call->caller);
  early->invocation = call->invocation;
  early->plan = g_steal_pointer (&call->read);
  g_ptr_array_add (server->early_maps, early);
}

GPtrArray *
dvmd_bus_maps_new (void)
{
  return g_ptr_array_new_with_free_func (early_free);
}

void
dvmd_bus_maps_ready (DvmdBusServer *server)
{
  while (server->early_maps->len > 0)
    {
      Early *early = g_ptr_array_steal_index (server->early_maps, 0);

      answer_map (server, early->caller, g_steal_pointer (&early->invocation), early->plan);
      early_free (early);
    }
}

void
dvmd_bus_maps_drop (DvmdBusServer *server, DvmdBusCaller *caller)
{
  for (guint i = server->early_maps->len; i > 0; i--)
    if (((Early *)server->early_maps->pdata[i - 1])->caller == caller)
      g_ptr_array_remove_index (server->early_maps, i - 1);
}

void
dvmd_bus_maps_fail (DvmdBusServer *server, const GError *error)
{
  while (server->early_maps->len > 0)
    {
      Early *early = g_ptr_array_steal_index (server->early_maps, 0);

      dvmd_bus_return_error (g_steal_pointer (&early->invocation), g_error_copy (error));
      early_free (early);
    }
}
