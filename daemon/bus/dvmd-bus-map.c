/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where ranks go: Map of the manager asks the mapper and starts nothing, Map of a job tells what it was given.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-job-spec-private.h"
#include "dvmd-controller-cpus.h"
#include "dvmd-controller-map.h"
#include "dvmd-id-set.h"
#include "dvmd-bus-caller.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-options.h"
#include "dvmd-bus-parts.h"

/* Some MiB; the call has no way to answer in pages. */
#define MAX_ROWS 65536

/* A question says what is to be mapped, and which ranks the answer has. */
typedef struct
{
  DvmJobSpec *spec;
  char *ranks;       /* (nullable) */
  char **topologies; /* (nullable): of nodes that are only described */
  guint n_nodes;
  char *slots; /* (nullable) */
} Question;

/* A call that came before the DVM had nodes. */
typedef struct
{
  DvmdBusCaller *caller;
  GDBusMethodInvocation *invocation;
  Question *question;
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

/* A page may be longer than what is left of the map, but begins in it. */
static gboolean
check_ranks (DvmdIdSet *ranks, guint n_ranks, GError **error)
{
  guint first;

  if (!dvmd_id_set_last_start (ranks, &first) || first < n_ranks)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "ranks: there is no rank %u: the map has %u, and they begin with 0", first, n_ranks);
  return FALSE;
}

/* (transfer full): what is to be said of a process of the map; a program of the job may be bound where another is not
 */
static char *
make_note (DvmdMap *map, const char *awaited, const char *cpus)
{
  g_autoptr (GString) note = g_string_new (NULL);

  if (awaited != NULL)
    g_string_append_printf (note, "waits for %s", awaited);
  if (map != NULL && map->unbound != NULL && cpus[0] == '\0')
    g_string_append_printf (note, "%snot bound: %s", note->len > 0 ? "; " : "", map->unbound);
  return g_string_free (g_steal_pointer (&note), FALSE);
}

/* map, awaited (nullable). (transfer floating) (nullable): (a(uuussss)) */
static GVariant *
describe (DvmdNodePool *nodes, DvmdProcTable *procs, DvmdControllerCpus *cpus, const char *ranks, DvmdMap *map,
          const char *awaited, GError **error)
{
  g_autoptr (DvmdIdSet) set = dvmd_id_set_parse (ranks != NULL ? ranks : "", "ranks", error);
  GVariantBuilder rows;

  if (set == NULL || !check_ranks (set, procs->n_rows, error) || !check_size (set, procs->n_rows, error))
    return NULL;
  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(uuussss)"));
  for (guint rank = 0; dvmd_id_set_next (set, rank, &rank) && rank < procs->n_rows; rank++)
    {
      const DvmdProcRow *row = dvmd_proc_table_row (procs, rank);
      const char *bound_to = dvmd_controller_cpus_get (cpus, row->node, row->local_rank);
      g_autofree char *object = dvmd_controller_cpus_dup_object (cpus, rank, row->node, row->local_rank);
      g_autofree char *note = make_note (map, awaited, bound_to);

      g_variant_builder_add (&rows, "(uuussss)", rank, row->app, row->local_rank,
                             dvmd_bus_get_node_name (nodes, row->node), bound_to, object, note);
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
  g_autoptr (DvmdControllerCpus) cpus = dvmd_controller_cpus_new (call->controller, dvmd_job_get_map (call->object));
  const char *ranks = NULL;
  const DvmdBusOption options[] = {
    { "ranks", "s", &ranks },
  };
  GVariant *map = NULL;
  GError *error = NULL;

  if (dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), &error))
    {
      if (procs != NULL)
        map = describe (dvmd_core_get_nodes (call->core), procs, cpus, ranks, dvmd_job_get_map (call->object), NULL,
                        &error);
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

/* Of the question, not of the job. */
static const char *const own_options[] = { "ranks", "topology", "nodes", "slots", NULL };

/* (transfer full): the options that are of the job, or that are not */
static GVariant *
select_options (GVariant *dict, gboolean own)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (gsize i = 0; i < g_variant_n_children (dict); i++)
    {
      g_autoptr (GVariant) entry = g_variant_get_child_value (dict, i);
      const char *key;

      g_variant_get (entry, "{&sv}", &key, NULL);
      if (g_strv_contains (own_options, key) == own)
        g_variant_builder_add_value (&builder, entry);
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
question_free (gpointer data)
{
  Question *question = data;

  g_clear_object (&question->spec);
  g_free (question->ranks);
  g_strfreev (question->topologies);
  g_free (question->slots);
  g_free (question);
}

static gboolean
read_options (Question *question, GVariant *dict, GError **error)
{
  g_autoptr (GVariant) own = select_options (dict, TRUE);
  g_autofree const char **topologies = NULL;
  const char *ranks = NULL;
  const char *slots = NULL;
  const DvmdBusOption options[] = {
    { "ranks", "s", &ranks },
    { "topology", "as", &topologies },
    { "nodes", "u", &question->n_nodes },
    { "slots", "s", &slots },
  };

  if (!dvmd_bus_options_parse (own, options, G_N_ELEMENTS (options), error))
    return FALSE;
  question->ranks = g_strdup (ranks);
  question->topologies = g_strdupv ((char **)topologies);
  question->slots = g_strdup (slots);
  if (question->topologies != NULL || (question->n_nodes == 0 && slots == NULL))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "nodes: they and their slots are described only together with a topology, their hardware");
  return FALSE;
}

static gpointer
read_question (GDBusMethodInvocation *invocation, GError **error)
{
  GVariant *parameters = g_dbus_method_invocation_get_parameters (invocation);
  g_autoptr (GVariant) apps = g_variant_get_child_value (parameters, 0);
  g_autoptr (GVariant) dict = g_variant_get_child_value (parameters, 1);
  g_autoptr (GVariant) options = select_options (dict, FALSE);
  Question *question = g_new0 (Question, 1);

  question->spec = dvm_job_spec_new_from_variant (apps, options, error);
  if (question->spec != NULL && read_options (question, dict, error) && adds_nothing (question->spec, error)
      && _dvm_job_spec_load_hosts (question->spec, "", error))
    return question;
  question_free (question);
  return NULL;
}

const DvmdBusReader dvmd_bus_map_reader = { read_question, question_free };

/* plan (nullable): the nodes that are only described. (transfer floating) (nullable) */
static GVariant *
make_map (DvmdBusServer *server, DvmdBusCaller *caller, Question *question, DvmdPlan *plan, GError **error)
{
  DvmdCore *core = plan != NULL ? dvmd_plan_get_core (plan) : server->core;
  const char *awaited = NULL;
  g_autoptr (DvmdMap) map = NULL;
  g_autoptr (DvmdControllerCpus) cpus = NULL;
  g_autoptr (DvmdProcTable) procs = NULL;

  dvmd_controller_apply_defaults (server->controller, question->spec, FALSE);
  map = dvmd_core_map (core, question->spec, &caller->requester, &awaited, error);
  if (map == NULL)
    return NULL;
  cpus = plan != NULL ? dvmd_controller_cpus_new_for_plan (plan, map)
                      : dvmd_controller_cpus_new (server->controller, map);
  procs = dvmd_map_expand (map);
  return describe (dvmd_core_get_nodes (core), procs, cpus, question->ranks, map, awaited, error);
}

static GVariant *
make_plan (DvmdBusServer *server, DvmdBusCaller *caller, Question *question, GError **error)
{
  const DvmdPlanShape shape = {
    .topologies = (const char *const *)question->topologies,
    .n_nodes = question->n_nodes,
    .slots = question->slots,
  };
  g_autoptr (DvmdPlan) plan = dvmd_controller_new_plan (server->controller, &shape, error);

  return plan != NULL ? make_map (server, caller, question, plan, error) : NULL;
}

/* Takes the invocation. */
static void
answer_map (DvmdBusServer *server, DvmdBusCaller *caller, GDBusMethodInvocation *invocation, Question *question)
{
  GError *error = NULL;
  GVariant *map = question->topologies != NULL ? make_plan (server, caller, question, &error)
                                               : make_map (server, caller, question, NULL, &error);

  return_map (invocation, map, error);
}

static void
early_free (gpointer data)
{
  Early *early = data;

  dvmd_bus_caller_unref (early->caller);
  g_clear_object (&early->invocation);
  question_free (early->question);
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
  early->question = g_steal_pointer (&call->read);
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

      answer_map (server, early->caller, g_steal_pointer (&early->invocation), early->question);
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
