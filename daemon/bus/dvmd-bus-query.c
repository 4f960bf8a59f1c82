/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Query: what is known of the DVM, by keys. A key has a word, and the name that PMIx has for it where it has one.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-caller.h"
#include "dvmd-bus-hidden.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-options.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-rows.h"
#include "dvmd-controller-facts.h"
#include "dvmd-controller-map.h"
#include "dvmd-controller-topologies.h"
#include "dvmd-controller-usage.h"

#include <string.h>
#include <unistd.h>

/* An answer is made in one go: what is longer has a call that is made for lists. */
#define MAX_LIST 4096

typedef struct
{
  DvmdBusServer *server;
  gboolean may_change;
  gboolean hides; /* from the caller */
  const char *nspace;
  const char *node_name;
  guint rank;
  gboolean has_rank;
  DvmdJob *job;            /* of nspace; (nullable) */
  DvmdNode *node;          /* of node_name; (nullable) */
  const char **names;      /* (nullable): of nodes */
  const char **topologies; /* (nullable): of nodes that are only described */
  guint n_nodes;           /* likewise */
  const char *measured;    /* (nullable): the name by which node-usage was asked for */
} Query;

enum
{
  TAKES_JOB = 1 << 0,
  NEEDS_JOB = 1 << 1,
  TAKES_NODE = 1 << 2,
  NEEDS_NODE = 1 << 3,
  TAKES_RANK = 1 << 4,
  TAKES_NAMES = 1 << 5, /* and topology and nodes */
};

typedef struct
{
  const char *word;
  const char *pmix; /* (nullable) */
  guint qualifiers;
  GVariant *(*get) (Query *query, GError **error); /* (transfer floating) */
} QueryKey;

static DvmdNodePool *
get_pool (Query *query)
{
  return dvmd_core_get_nodes (query->server->core);
}

static gboolean
check_length (guint n, const char *instead, GError **error)
{
  if (n <= MAX_LIST)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE,
               "The answer would have %u entries, and takes %d: name a job or a rank, or use %s", n, MAX_LIST, instead);
  return FALSE;
}

/* ---- jobs ---- */

/* The job that was named, or all that live; NULL with an error. */
static GPtrArray *
list_jobs (Query *query, GError **error)
{
  g_autoptr (GPtrArray) jobs = NULL;

  if (query->job == NULL && !check_length (dvmd_core_get_num_live (query->server->core), "ListJobs", error))
    return NULL;
  if (query->job == NULL)
    return dvmd_core_list_jobs (query->server->core, FALSE);
  jobs = g_ptr_array_new_with_free_func (g_object_unref);
  g_ptr_array_add (jobs, g_object_ref (query->job));
  return g_steal_pointer (&jobs);
}

static GVariant *
get_namespaces (Query *query, GError **error)
{
  g_autoptr (GPtrArray) jobs = list_jobs (query, error);
  GVariantBuilder builder;

  if (jobs == NULL)
    return NULL;
  g_variant_builder_init (&builder, G_VARIANT_TYPE_STRING_ARRAY);
  for (guint i = 0; i < jobs->len; i++)
    g_variant_builder_add (&builder, "s", dvm_job_get_nspace (dvmd_job_get_record (jobs->pdata[i])));
  return g_variant_builder_end (&builder);
}

static GVariant *
get_namespace_info (Query *query, GError **error)
{
  static const char *const columns[] = { "Id",    "Namespace", "Name",    "State",     "StateName",
                                         "Ended", "NumProcs",  "Session", "CreatedAt", NULL };
  guint n_fields;
  const DvmRecordField *fields = _dvm_record_get_fields (DVM_TYPE_JOB, &n_fields);
  g_autoptr (GPtrArray) jobs = list_jobs (query, error);
  GVariantBuilder builder;

  if (jobs == NULL)
    return NULL;
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; i < jobs->len; i++)
    {
      GVariant *row = dvmd_bus_record_row (dvmd_job_get_record (jobs->pdata[i]), fields, n_fields, columns, FALSE);

      g_variant_builder_add_value (&builder, query->hides ? dvmd_bus_hide_values (row) : row);
    }
  return g_variant_builder_end (&builder);
}

static GVariant *
get_job_states (Query *query, GError **error)
{
  g_autoptr (GPtrArray) jobs = list_jobs (query, error);
  GVariantBuilder builder;

  if (jobs == NULL)
    return NULL;
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{s(us)}"));
  for (guint i = 0; i < jobs->len; i++)
    {
      guint state = dvmd_job_get_state (jobs->pdata[i]);

      g_variant_builder_add (&builder, "{s(us)}", dvm_job_get_nspace (dvmd_job_get_record (jobs->pdata[i])), state,
                             dvm_job_state_to_string (state));
    }
  return g_variant_builder_end (&builder);
}

static GVariant *
get_job_size (Query *query, GError **error)
{
  return g_variant_new_uint32 (dvm_job_get_num_procs (dvmd_job_get_record (query->job)));
}

static GVariant *
get_policies (Query *query, GError **error)
{
  DvmdMap *map = dvmd_job_get_map (query->job);

  /* The words may name files of the submitter. */
  if (query->hides)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS,
                   "policies of jobs are for the user that this DVM belongs to and root (the setting private)");
      return NULL;
    }
  if (map != NULL)
    return dvmd_controller_describe_policies (map, dvm_job_spec_get_n_apps (dvmd_job_get_spec (query->job)));
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "The job %s has no map", query->nspace);
  return NULL;
}

/* Those of the job that the qualifiers select; NULL with an error. */
static GArray *
list_ranks (Query *query, GError **error)
{
  DvmdProcTable *procs = dvmd_job_get_procs (query->job);
  g_autoptr (GArray) ranks = NULL;

  if (query->has_rank && (procs == NULL || query->rank >= procs->n_rows))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "The job %s has no rank %u", query->nspace, query->rank);
      return NULL;
    }
  ranks = dvmd_facts_list_ranks (query->job, query->node);
  for (guint i = ranks->len; query->has_rank && i-- > 0;)
    if (g_array_index (ranks, guint, i) != query->rank)
      g_array_remove_index (ranks, i);
  return check_length (ranks->len, "ListProcs of the job", error) ? g_steal_pointer (&ranks) : NULL;
}

static GVariant *
get_proc_table (Query *query, GError **error)
{
  g_autoptr (GArray) ranks = list_ranks (query, error);
  g_autoptr (DvmdControllerCpus) cpus = NULL;
  GVariantBuilder builder;

  if (ranks == NULL)
    return NULL;
  cpus = dvmd_controller_cpus_new (query->server->controller, dvmd_job_get_map (query->job));
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(uusuuiuiis)"));
  for (guint i = 0; i < ranks->len; i++)
    g_variant_builder_add_value (&builder, dvmd_bus_proc_row (get_pool (query), dvmd_job_get_procs (query->job),
                                                              g_array_index (ranks, guint, i), cpus));
  return g_variant_builder_end (&builder);
}

static GVariant *
get_peers (Query *query, GError **error)
{
  g_autoptr (GArray) ranks = list_ranks (query, error);

  return ranks != NULL ? g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, ranks->data, ranks->len, sizeof (guint))
                       : NULL;
}

/* ---- nodes ---- */

static GVariant *
get_nodes (Query *query, GError **error)
{
  DvmdNodePool *pool = get_pool (query);
  g_autoptr (GPtrArray) names = NULL;

  if (query->job != NULL)
    {
      const char *const *of_job = dvm_job_get_nodes (dvmd_job_get_record (query->job));

      return g_variant_new_strv (of_job, of_job != NULL ? -1 : 0);
    }
  if (!check_length (dvmd_node_pool_count_up (pool), "ListNodes", error))
    return NULL;
  names = dvmd_facts_list_nodes (pool);
  return g_variant_new_strv ((const char *const *)names->pdata, names->len);
}

static GVariant *
get_topologies (Query *query, GError **error)
{
  DvmdController *controller = query->server->controller;
  const DvmdPlanShape shape = { .topologies = query->topologies, .n_nodes = query->n_nodes };
  g_autoptr (DvmdPlan) plan = NULL;

  if (query->topologies == NULL)
    return dvmd_controller_list_topologies (controller, NULL, query->names);
  /* As for Map: it takes time. */
  if (!query->may_change)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS,
                   "topology needs the user that this DVM belongs to (uid %u) or root", (guint)getuid ());
      return NULL;
    }
  plan = dvmd_controller_new_plan (controller, &shape, error);
  return plan != NULL ? dvmd_controller_list_topologies (controller, plan, query->names) : NULL;
}

static GVariant *
get_slots (Query *query, GError **error)
{
  return g_variant_new_uint32 (dvmd_facts_count_slots (get_pool (query), query->node));
}

static GVariant *
get_free_slots (Query *query, GError **error)
{
  return g_variant_new_uint32 (dvmd_facts_count_free_slots (get_pool (query), query->node));
}

static void
add_allocation (Query *query, GVariantBuilder *builder, DvmdSession *session)
{
  DvmSession *record = dvmd_session_get_record (session);
  const char *const *names;

  dvmd_session_publish_nodes (session);
  names = dvm_session_get_nodes (record);
  g_variant_builder_open (builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (builder, "{sv}", "alloc-id", g_variant_new_string (dvmd_session_get_alloc_id (session)));
  g_variant_builder_add (builder, "{sv}", "session", g_variant_new_object_path (dvm_session_get_object_path (record)));
  g_variant_builder_add (builder, "{sv}", "nodes", g_variant_new_strv (names, -1));
  g_variant_builder_add (builder, "{sv}", "slots",
                         g_variant_new_uint32 (dvmd_facts_count_slots_of (get_pool (query), names)));
  g_variant_builder_close (builder);
}

static guint
count_sessions (Query *query)
{
  guint n = 0;

  for (DvmdSession *session = NULL; (session = dvmd_core_next_session (query->server->core, session)) != NULL;)
    n++;
  return n;
}

static GVariant *
get_allocations (Query *query, GError **error)
{
  DvmdCore *core = query->server->core;
  GVariantBuilder builder;

  if (!check_length (dvmd_node_pool_count_up (get_pool (query)), "ListNodes", error)
      || !check_length (count_sessions (query), "ListSessions", error))
    return NULL;
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("aa{sv}"));
  for (DvmdSession *session = NULL; (session = dvmd_core_next_session (core, session)) != NULL;)
    add_allocation (query, &builder, session);
  return g_variant_builder_end (&builder);
}

static GVariant *
get_alloc_ids (Query *query, GError **error)
{
  g_autoptr (GPtrArray) ids = NULL;

  if (!check_length (count_sessions (query), "ListSessions", error))
    return NULL;
  ids = dvmd_facts_list_allocations (query->server->core);
  return g_variant_new_strv ((const char *const *)ids->pdata, ids->len);
}

/* ---- the DVM itself ---- */

static GVariant *
get_settings (Query *query, GError **error)
{
  if (query->server->settings == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "This DVM has no settings that could be asked for");
  else if (!query->may_change) /* one may have a password for a plugin */
    g_set_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS,
                 "settings needs the user that this DVM belongs to (uid %u) or root", (guint)getuid ());
  else
    return dvmd_config_to_dictionary (query->server->settings);
  return NULL;
}

static GVariant *
get_plugins (Query *query, GError **error)
{
  return dvmd_controller_list_plugins (query->server->controller);
}

static GVariant *
get_memory (Query *query, GError **error)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) own_error = NULL;
  char *rest;

  if (!g_file_get_contents ("/proc/self/statm", &text, NULL, &own_error))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "The memory cannot be told: %s", own_error->message);
      return NULL;
    }
  g_ascii_strtoull (text, &rest, 10);
  return g_variant_new_uint64 (g_ascii_strtoull (rest, NULL, 10) * (guint64)sysconf (_SC_PAGESIZE));
}

static GVariant *
get_statistics (Query *query, GError **error)
{
  return dvmd_controller_get_statistics (query->server->controller);
}

static GVariant *
get_uptime (Query *query, GError **error)
{
  return g_variant_new_uint64 (
      (guint64)MAX (g_get_real_time () - dvmd_controller_get_started_at (query->server->controller), 0));
}

static GVariant *
get_version (Query *query, GError **error)
{
  return g_variant_new_string (DVM_VERSION_STRING);
}

/* Its agent has to be asked: the value comes last. */
static GVariant *
get_node_usage (Query *query, GError **error)
{
  if (dvmd_facts_is_up (query->node) && query->node->rank > 0)
    return g_variant_new_array (G_VARIANT_TYPE ("{sv}"), NULL, 0);
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "The node %s has no agent now that could measure",
               query->node_name);
  return NULL;
}

static GVariant *get_query_keys (Query *query, GError **error);

static const QueryKey keys[] = {
  { "alloc-ids", "PMIX_QUERY_ALLOC_IDS", 0, get_alloc_ids },
  { "allocations", "PMIX_QUERY_ALLOCATION", 0, get_allocations },
  { "free-slots", "PMIX_QUERY_AVAILABLE_SLOTS", TAKES_NODE, get_free_slots },
  { "job-size", "PMIX_JOB_SIZE", NEEDS_JOB, get_job_size },
  { "job-states", "PMIX_QUERY_JOB_STATUS", TAKES_JOB, get_job_states },
  { "local-proc-table", "PMIX_QUERY_LOCAL_PROC_TABLE", NEEDS_JOB | NEEDS_NODE | TAKES_RANK, get_proc_table },
  { "memory", "PMIX_QUERY_MEMORY_USAGE", 0, get_memory },
  { "namespace-info", "PMIX_QUERY_NAMESPACE_INFO", TAKES_JOB, get_namespace_info },
  { "namespaces", "PMIX_QUERY_NAMESPACES", 0, get_namespaces },
  { "node-usage", NULL, NEEDS_NODE, get_node_usage },
  { "nodes", "PMIX_QUERY_RESOLVE_NODE", TAKES_JOB, get_nodes },
  { "peers", "PMIX_QUERY_RESOLVE_PEERS", NEEDS_JOB | TAKES_NODE, get_peers },
  { "plugins", NULL, 0, get_plugins },
  { "policies", NULL, NEEDS_JOB, get_policies },
  { "proc-table", "PMIX_QUERY_PROC_TABLE", NEEDS_JOB | TAKES_NODE | TAKES_RANK, get_proc_table },
  { "query-keys", "PMIX_QUERY_SUPPORTED_KEYS", 0, get_query_keys },
  { "settings", NULL, 0, get_settings },
  { "slots", "PMIX_NUM_SLOTS", TAKES_NODE, get_slots },
  { "statistics", NULL, 0, get_statistics },
  { "topologies", NULL, TAKES_NAMES, get_topologies },
  { "uptime", NULL, 0, get_uptime },
  { "version", NULL, 0, get_version },
};

static GVariant *
get_query_keys (Query *query, GError **error)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_STRING_ARRAY);
  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    g_variant_builder_add (&builder, "s", keys[i].word);
  return g_variant_builder_end (&builder);
}

/* ---- the call ---- */

static const QueryKey *
find_key (const char *name, GError **error)
{
  g_autoptr (GString) known = g_string_new (NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    {
      if (strcmp (name, keys[i].word) == 0 || g_strcmp0 (name, keys[i].pmix) == 0)
        return &keys[i];
      g_string_append_printf (known, "%s%s", i == 0 ? "" : ", ", keys[i].word);
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "Unknown key “%.200s”: there are %s", name, known->str);
  return NULL;
}

static gboolean
parse_qualifiers (GVariant *dict, Query *query, GError **error)
{
  const DvmdBusOption options[] = {
    { "nspace", "s", &query->nspace },
    { "node", "s", &query->node_name },
    { "rank", "u", &query->rank, &query->has_rank },
    { "names", "as", &query->names },
    { "topology", "as", &query->topologies },
    { "nodes", "u", &query->n_nodes },
    { "PMIX_NSPACE", "s", &query->nspace },
    { "PMIX_HOSTNAME", "s", &query->node_name },
    { "PMIX_RANK", "u", &query->rank, &query->has_rank },
  };

  if (!dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), error))
    return FALSE;
  if (query->n_nodes > 0 && query->topologies == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "nodes: they are nodes that are only described, and need a topology");
  else if (query->nspace != NULL && (query->job = dvmd_core_find_job (query->server->core, query->nspace)) == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
                 "There is no job of the namespace “%s”, or it has been forgotten", query->nspace);
  else if (query->node_name != NULL && (query->node = dvmd_node_pool_find (get_pool (query), query->node_name)) == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "No node is called “%s”", query->node_name);
  else
    return TRUE;
  return FALSE;
}

static gboolean
check_qualifier (const QueryKey *key, const char *name, gboolean given, guint takes, guint needs, GError **error)
{
  if (given && (key->qualifiers & (takes | needs)) == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s takes no qualifier “%s”", key->word, name);
  else if (!given && (key->qualifiers & needs) != 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s needs the qualifier “%s”", key->word, name);
  else
    return TRUE;
  return FALSE;
}

static gboolean
check_qualifiers (const QueryKey *key, Query *query, GError **error)
{
  return check_qualifier (key, "nspace", query->nspace != NULL, TAKES_JOB, NEEDS_JOB, error)
         && check_qualifier (key, "node", query->node_name != NULL, TAKES_NODE, NEEDS_NODE, error)
         && check_qualifier (key, "rank", query->has_rank, TAKES_RANK, 0, error)
         && check_qualifier (key, "names", query->names != NULL, TAKES_NAMES, 0, error)
         && check_qualifier (key, "topology", query->topologies != NULL, TAKES_NAMES, 0, error);
}

/* The value of one key under the name that it was asked by. */
static gboolean
answer (Query *query, const char *name, GVariantDict *values, GError **error)
{
  const QueryKey *key = find_key (name, error);
  GVariant *value;

  if (key == NULL)
    return FALSE;
  if (g_variant_dict_contains (values, name))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The key “%s” is given twice", name);
      return FALSE;
    }
  value = check_qualifiers (key, query, error) ? key->get (query, error) : NULL;
  if (value != NULL)
    g_variant_dict_insert_value (values, name, value);
  if (value != NULL && key->get == get_node_usage)
    query->measured = name;
  return value != NULL;
}

/* ---- what an agent measures ---- */

typedef struct
{
  GDBusMethodInvocation *invocation; /* (nullable): answered */
  char *name;
  char *node;
  GVariant *values; /* those of the other keys */
} Measure;

static void
on_measured (gpointer user_data, int status, GVariant *rows)
{
  Measure *measure = user_data;
  GDBusMethodInvocation *invocation = g_steal_pointer (&measure->invocation);
  g_auto (GVariantDict) values = G_VARIANT_DICT_INIT (measure->values);
  g_autoptr (GVariant) row = NULL;

  if (rows == NULL || g_variant_n_children (rows) != 1)
    {
      dvmd_bus_return_error (invocation,
                             g_error_new (DVM_ERROR, DVM_ERROR_NOT_READY,
                                          "The agent of the node %s has gone, or does not answer", measure->node));
      return;
    }
  row = g_variant_get_child_value (rows, 0);
  g_variant_dict_insert_value (&values, measure->name, row);
  dvmd_bus_return_value (invocation, g_variant_new ("(@a{sv})", g_variant_dict_end (&values)));
}

static void
measure_free (gpointer data)
{
  Measure *measure = data;

  if (measure->invocation != NULL)
    dvmd_bus_return_error (measure->invocation,
                           g_error_new (DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The DVM is shutting down"));
  g_variant_unref (measure->values);
  g_free (measure->name);
  g_free (measure->node);
  g_free (measure);
}

/* values: floating */
static void
measure_node (Query *query, GVariant *values, GDBusMethodInvocation *invocation)
{
  g_autoptr (GArray) nodes = g_array_new (FALSE, FALSE, sizeof (guint));
  Measure *measure = g_new (Measure, 1);

  g_array_append_val (nodes, query->node->rank);
  *measure = (Measure){ invocation, g_strdup (query->measured), g_strdup (query->node_name),
                        g_variant_ref_sink (values) };
  dvmd_controller_measure (query->server->controller, nodes, NULL, 0, on_measured, measure, measure_free);
}

void
dvmd_bus_query (DvmdBusCall *call)
{
  g_autofree const char **names = NULL;
  g_autoptr (GVariant) dict = NULL;
  g_auto (GVariantDict) values = G_VARIANT_DICT_INIT (NULL);
  Query query = { .server = call->server, .may_change = dvmd_bus_caller_may_change (call->caller) };
  GError *error = NULL;

  query.hides = dvmd_bus_hides_from (call->server, call->caller);
  g_variant_get (call->parameters, "(^a&s@a{sv})", &names, &dict);
  if (names[0] == NULL)
    g_set_error (&error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "No key is given: query-keys answers those that there are");
  else if (parse_qualifiers (dict, &query, &error))
    for (gsize i = 0; names[i] != NULL && error == NULL; i++)
      answer (&query, names[i], &values, &error);
  g_free (query.names);
  g_free (query.topologies);
  if (error != NULL)
    dvmd_bus_return_error (call->invocation, error);
  else if (query.measured != NULL)
    measure_node (&query, g_variant_dict_end (&values), call->invocation);
  else
    dvmd_bus_return_value (call->invocation, g_variant_new ("(@a{sv})", g_variant_dict_end (&values)));
}
