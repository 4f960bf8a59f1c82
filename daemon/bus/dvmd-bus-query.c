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
#include "dvmd-query-keys.h"

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
  const char *alloc_id;    /* (nullable) */
  const char *request_id;  /* (nullable): of the request that the allocation came of */
  const char *property;    /* (nullable): of an allocation */
  const char *group;       /* (nullable) */
  const char *pset;        /* (nullable) */
  GArray *measuring;       /* (nullable) (element-type guint): nodes whose agents answer last */
  const char *measured;    /* (nullable): the name by which that was asked for */
} Query;

/* (transfer floating) (nullable): NULL with an error */
typedef GVariant *(*GetAnswer) (Query *query, GError **error);

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

/* By its id, or by that of its request. */
static gboolean
names_allocation (const Query *query)
{
  return query->alloc_id != NULL || query->request_id != NULL;
}

/* PMIx programs are told the same by the controller. */
static GVariant *
get_fact (Query *query, const char *word, GError **error)
{
  const struct
  {
    const char *name;
    const char *text; /* (nullable) */
  } texts[] = {
    { "nspace", query->nspace },     { "node", query->node_name },
    { "alloc-id", query->alloc_id }, { "request-id", query->request_id },
    { "property", query->property }, { "group", query->group },
    { "pset", query->pset },
  };
  g_auto (GVariantDict) dict = G_VARIANT_DICT_INIT (NULL);
  g_autoptr (GVariant) qualifiers = NULL;
  GVariant *value;

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    if (texts[i].text != NULL)
      g_variant_dict_insert (&dict, texts[i].name, "s", texts[i].text);
  qualifiers = g_variant_ref_sink (g_variant_dict_end (&dict));
  value = dvmd_controller_answer_fact (query->server->controller, word, qualifiers, error);
  if (value == NULL || !g_variant_is_container (value)
      || check_length ((guint)g_variant_n_children (value), "qualifiers", error))
    return value;
  g_variant_unref (g_variant_ref_sink (value));
  return NULL;
}

/* Users have given the names. */
static GVariant *
get_names (Query *query, const char *word, GError **error)
{
  if (!query->hides)
    return get_fact (query, word, error);
  g_set_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS,
               "%s is for the user that this DVM belongs to and root (the setting private)", word);
  return NULL;
}

static GVariant *
get_slots (Query *query, GError **error)
{
  if (names_allocation (query))
    return get_fact (query, "slots", error);
  return g_variant_new_uint32 (dvmd_facts_count_slots (get_pool (query), query->node));
}

static GVariant *
get_free_slots (Query *query, GError **error)
{
  if (names_allocation (query))
    return get_fact (query, "free-slots", error);
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

/* The id may be that of the default session, which is empty. */
static gboolean
is_asked (Query *query, DvmdSession *session)
{
  const char *request = dvm_session_get_request_id (dvmd_session_get_record (session));

  return (query->alloc_id == NULL || strcmp (query->alloc_id, dvmd_session_get_alloc_id (session)) == 0)
         && (query->request_id == NULL || strcmp (query->request_id, request) == 0);
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
  GVariant *found;
  GVariantBuilder builder;

  if (!check_length (dvmd_node_pool_count_up (get_pool (query)), "ListNodes", error)
      || !check_length (count_sessions (query), "ListSessions", error))
    return NULL;
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("aa{sv}"));
  for (DvmdSession *session = NULL; (session = dvmd_core_next_session (core, session)) != NULL;)
    if (is_asked (query, session))
      add_allocation (query, &builder, session);
  found = g_variant_builder_end (&builder);
  if (g_variant_n_children (found) > 0)
    return found;
  g_variant_unref (g_variant_ref_sink (found));
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "There is no allocation “%s”",
               query->alloc_id != NULL ? query->alloc_id : query->request_id);
  return NULL;
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
get_query_keys (Query *query, GError **error)
{
  guint n_keys;
  const DvmdQueryKey *keys = dvmd_query_keys_get (&n_keys);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_STRING_ARRAY);
  for (guint i = 0; i < n_keys; i++)
    if (keys[i].of_bus != 0)
      g_variant_builder_add (&builder, "s", keys[i].word);
  return g_variant_builder_end (&builder);
}

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

/* ---- what agents measure ---- */

/* The value comes last. */
static GVariant *
await_agents (Query *query, GArray *nodes, GError **error)
{
  if (query->measuring == NULL)
    {
      query->measuring = nodes;
      return g_variant_new_array (G_VARIANT_TYPE ("{sv}"), NULL, 0);
    }
  g_array_unref (nodes);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "node-loads, node-usage and proc-usage are asked for one at a time");
  return NULL;
}

/* Each call asks every agent. */
static GVariant *
get_node_loads (Query *query, GError **error)
{
  GArray *nodes;

  if (!query->may_change)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS,
                   "node-loads needs the user that this DVM belongs to (uid %u) or root; node-usage is for everybody",
                   (guint)getuid ());
      return NULL;
    }
  nodes = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint rank = 1; rank <= dvmd_node_pool_get_max_rank (get_pool (query)); rank++)
    if (dvmd_facts_may_measure (dvmd_node_pool_get (get_pool (query), rank)))
      g_array_append_val (nodes, rank);
  return await_agents (query, nodes, error);
}

static GVariant *
get_node_usage (Query *query, GError **error)
{
  GArray *nodes;

  if (dvmd_facts_may_measure (query->node))
    {
      nodes = g_array_new (FALSE, FALSE, sizeof (guint));
      g_array_append_val (nodes, query->node->rank);
      return await_agents (query, nodes, error);
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "The node %s has no agent now that could measure",
               query->node_name);
  return NULL;
}

static GVariant *
get_proc_usage (Query *query, GError **error)
{
  g_autoptr (GArray) ranks = list_ranks (query, error);

  if (ranks == NULL)
    return NULL;
  /* The rows have names of programs. */
  if (!query->hides)
    return await_agents (query, dvmd_facts_list_running (query->job, ranks), error);
  return get_names (query, "proc-usage", error);
}

/* ---- the answers ---- */

/* Of a word of the table; what is not here is what PMIx is told, too. */
static const struct
{
  const char *word;
  GetAnswer get;
} answers[] = {
  { "alloc-ids", get_alloc_ids },   { "allocations", get_allocations },
  { "free-slots", get_free_slots }, { "job-size", get_job_size },
  { "job-states", get_job_states }, { "local-proc-table", get_proc_table },
  { "memory", get_memory },         { "namespace-info", get_namespace_info },
  { "namespaces", get_namespaces }, { "node-loads", get_node_loads },
  { "node-usage", get_node_usage }, { "nodes", get_nodes },
  { "peers", get_peers },           { "plugins", get_plugins },
  { "policies", get_policies },     { "proc-table", get_proc_table },
  { "proc-usage", get_proc_usage }, { "query-keys", get_query_keys },
  { "settings", get_settings },     { "slots", get_slots },
  { "statistics", get_statistics }, { "topologies", get_topologies },
  { "uptime", get_uptime },         { "version", get_version },
};

static GVariant *
get_answer (Query *query, const char *word, GError **error)
{
  static const char *const named[] = { "group-members", "groups", "pset-members", "psets", NULL };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    if (strcmp (word, answers[i].word) == 0)
      return answers[i].get (query, error);
  return g_strv_contains (named, word) ? get_names (query, word, error) : get_fact (query, word, error);
}

/* ---- the call ---- */

static const DvmdQueryKey *
find_key (const char *name, GError **error)
{
  const DvmdQueryKey *key = dvmd_query_keys_find (name);
  g_autoptr (GString) known = g_string_new (NULL);
  guint n_keys;
  const DvmdQueryKey *keys = dvmd_query_keys_get (&n_keys);

  if (key != NULL && key->of_bus != 0)
    return key;
  for (guint i = 0; i < n_keys; i++)
    if (keys[i].of_bus != 0)
      g_string_append_printf (known, "%s%s", known->len == 0 ? "" : ", ", keys[i].word);
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
    { "alloc-id", "s", &query->alloc_id },
    { "request-id", "s", &query->request_id },
    { "property", "s", &query->property },
    { "group", "s", &query->group },
    { "pset", "s", &query->pset },
    { "PMIX_ALLOC_ID", "s", &query->alloc_id },
    { "PMIX_ALLOC_REQ_ID", "s", &query->request_id },
    { "PMIX_GROUP_ID", "s", &query->group },
    { "PMIX_PSET_NAME", "s", &query->pset },
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
check_qualifier (const DvmdQueryKey *key, const char *name, gboolean given, guint bit, GError **error)
{
  if (given && (key->of_bus & bit) == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s takes no qualifier “%s”", key->word, name);
  else if (!given && (key->needs & bit) != 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s needs the qualifier “%s”", key->word, name);
  else
    return TRUE;
  return FALSE;
}

static gboolean
check_qualifiers (const DvmdQueryKey *key, Query *query, GError **error)
{
  gboolean by_request = query->request_id != NULL;

  return check_qualifier (key, "nspace", query->nspace != NULL, DVMD_QUERY_JOB, error)
         && check_qualifier (key, "node", query->node_name != NULL, DVMD_QUERY_NODE, error)
         && check_qualifier (key, "rank", query->has_rank, DVMD_QUERY_RANK, error)
         && check_qualifier (key, by_request ? "request-id" : "alloc-id", names_allocation (query), DVMD_QUERY_ALLOC,
                             error)
         && check_qualifier (key, "property", query->property != NULL, DVMD_QUERY_PROPERTY, error)
         && check_qualifier (key, "group", query->group != NULL, DVMD_QUERY_GROUP, error)
         && check_qualifier (key, "pset", query->pset != NULL, DVMD_QUERY_PSET, error)
         && check_qualifier (key, "names", query->names != NULL, DVMD_QUERY_NAMES, error)
         && check_qualifier (key, "topology", query->topologies != NULL, DVMD_QUERY_NAMES, error);
}

/* The value of one key under the name that it was asked by. */
static gboolean
answer (Query *query, const char *name, GVariantDict *values, GError **error)
{
  const DvmdQueryKey *key = find_key (name, error);
  gboolean waits = query->measuring != NULL;
  GVariant *value;

  if (key == NULL)
    return FALSE;
  if (g_variant_dict_contains (values, name))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The key “%s” is given twice", name);
      return FALSE;
    }
  value = check_qualifiers (key, query, error) ? get_answer (query, key->word, error) : NULL;
  if (value != NULL)
    g_variant_dict_insert_value (values, name, value);
  if (value != NULL && !waits && query->measuring != NULL)
    query->measured = name;
  return value != NULL;
}

/* ---- an answer that agents measure ---- */

typedef struct
{
  GDBusMethodInvocation *invocation; /* (nullable): answered */
  char *name;
  char *node;       /* (nullable): the value is of processes */
  GVariant *values; /* those of the other keys */
} Measure;

static void
on_measured (gpointer user_data, int status, GVariant *rows)
{
  Measure *measure = user_data;
  GDBusMethodInvocation *invocation = g_steal_pointer (&measure->invocation);
  g_auto (GVariantDict) values = G_VARIANT_DICT_INIT (measure->values);
  g_autoptr (GVariant) row = NULL;

  if (rows == NULL || (measure->node != NULL && g_variant_n_children (rows) != 1))
    {
      dvmd_bus_return_error (invocation, g_error_new (DVM_ERROR, DVM_ERROR_NOT_READY,
                                                      "The agent of %s%s has gone, or does not answer",
                                                      measure->node != NULL ? "the node " : "one of its nodes",
                                                      measure->node != NULL ? measure->node : ""));
      return;
    }
  row = measure->node != NULL ? g_variant_get_child_value (rows, 0) : g_variant_ref (rows);
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
measure (Query *query, GVariant *values, GDBusMethodInvocation *invocation)
{
  const char *word = dvmd_query_keys_find (query->measured)->word;
  gboolean of_node = strcmp (word, "node-usage") == 0;
  Measure *self;

  if (strcmp (word, "node-loads") == 0)
    {
      dvmd_bus_measure_loads (query->server->controller, query->measuring, query->measured, values, invocation);
      return;
    }
  self = g_new (Measure, 1);
  *self = (Measure){ invocation, g_strdup (query->measured), of_node ? g_strdup (query->node_name) : NULL,
                     g_variant_ref_sink (values) };
  dvmd_controller_measure (query->server->controller, query->measuring, of_node ? NULL : query->nspace,
                           query->has_rank ? query->rank : DVMD_ALL_RANKS, on_measured, self, measure_free);
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
    measure (&query, g_variant_dict_end (&values), call->invocation);
  else
    dvmd_bus_return_value (call->invocation, g_variant_new ("(@a{sv})", g_variant_dict_end (&values)));
  g_clear_pointer (&query.measuring, g_array_unref);
}
