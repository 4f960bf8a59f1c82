/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Questions of PMIx programs and tools about the DVM, by the words that Query of the bus has for them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-services.h"

#include "dvmd-controller-facts.h"
#include "dvmd-controller-groups.h"
#include "dvmd-controller-psets.h"
#include "dvmd-controller-usage.h"
#include "dvmd-core-sessions.h"
#include "dvmd-query-keys.h"

#include <string.h>

/* An answer is one message, which the library copies several times. */
#define MAX_ROWS  65536
#define MAX_BYTES (16 * 1024 * 1024)

typedef struct
{
  DvmdController *controller;
  DvmdCore *core;
  DvmdClock *clock;
  gsize size;  /* bytes of all answers so far */
  guint agent; /* of the node where it is asked */
  const char *nspace;
  const char *node_name;
  const char *alloc_id;
  const char *request_id; /* of the request that the allocation came of */
  const char *property;
  const char *group;
  const char *pset;
  guint32 rank;
  gboolean has_rank;
  gboolean of_bus; /* words, and lists of names */
  DvmdJob *job;    /* (nullable): of nspace */
  DvmdNode *node;
} Query;

/* (transfer floating): of a type that PMIx can be given; NULL: status says why */
typedef GVariant *(*GetFact) (Query *query, int *status);

/* (transfer full) (element-type guint): the nodes that are to measure; NULL: status says why */
typedef GArray *(*ListMeasuring) (Query *query, int *status);

static DvmdNodePool *
get_pool (Query *query)
{
  return dvmd_core_get_nodes (query->core);
}

static GVariant *
fail (int *status, int why)
{
  *status = why;
  return NULL;
}

/* FALSE: the answer would become too large. */
static gboolean
has_room (Query *query, gsize n_bytes, int *status)
{
  query->size += n_bytes;
  if (query->size <= MAX_BYTES)
    return TRUE;
  *status = DVMD_PMIX_ERR_OUT_OF_RESOURCE;
  return FALSE;
}

/* PMIx has lists of names as one text. */
static GVariant *
join (Query *query, GPtrArray *names)
{
  if (query->of_bus)
    return g_variant_new_strv ((const char *const *)names->pdata, names->len);
  g_ptr_array_add (names, NULL);
  return g_variant_new_take_string (g_strjoinv (",", (char **)names->pdata));
}

/* A tuple of one number is a size to PMIx. */
static GVariant *
new_size (Query *query, guint n)
{
  return query->of_bus ? g_variant_new_uint64 (n) : g_variant_new ("(t)", (guint64)n);
}

/* ---- jobs ---- */

static GVariant *
get_namespaces (Query *query, int *status)
{
  g_autoptr (GPtrArray) jobs = dvmd_core_list_jobs (query->core, FALSE);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint i = 0; i < jobs->len; i++)
    g_ptr_array_add (names, (gpointer)dvm_job_get_nspace (dvmd_job_get_record (jobs->pdata[i])));
  return join (query, names);
}

/* "a 1 : b 2" */
static char *
build_command (DvmdJob *job)
{
  DvmJobSpec *spec = dvmd_job_get_spec (job);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    {
      g_autofree char *argv = g_strjoinv (" ", (char **)dvm_app_spec_get_argv (dvm_job_spec_get_app (spec, i)));

      g_string_append_printf (text, "%s%s", i > 0 ? " : " : "", argv);
    }
  return g_utf8_make_valid (text->str, -1);
}

static gboolean
add_namespace (Query *query, GVariantBuilder *builder, DvmdJob *job, int *status)
{
  DvmJob *record = dvmd_job_get_record (job);
  g_autofree char *command = build_command (job);
  const char *nspace = dvm_job_get_nspace (record);

  if (!has_room (query, strlen (command) + strlen (nspace), status))
    return FALSE;
  g_variant_builder_open (builder, G_VARIANT_TYPE ("(sa{sv})"));
  g_variant_builder_add (builder, "s", DVMD_PMIX_KEY_JOB_INFO);
  g_variant_builder_open (builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (builder, "{sv}", DVMD_PMIX_KEY_NSPACE, g_variant_new_string (nspace));
  g_variant_builder_add (builder, "{sv}", DVMD_PMIX_KEY_CMD_LINE, g_variant_new_string (command));
  g_variant_builder_add (builder, "{sv}", DVMD_PMIX_KEY_JOB_SIZE,
                         g_variant_new_uint32 (dvm_job_get_num_procs (record)));
  g_variant_builder_close (builder);
  g_variant_builder_close (builder);
  return TRUE;
}

static GVariant *
get_namespace_info (Query *query, int *status)
{
  g_autoptr (GPtrArray) jobs = NULL;
  g_auto (GVariantBuilder) builder = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(sa{sv})"));

  if (query->job == NULL && dvmd_core_get_num_live (query->core) > MAX_ROWS)
    return fail (status, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
  if (query->job != NULL)
    return add_namespace (query, &builder, query->job, status) ? g_variant_builder_end (&builder) : NULL;
  jobs = dvmd_core_list_jobs (query->core, FALSE);
  for (guint i = 0; i < jobs->len; i++)
    if (!add_namespace (query, &builder, jobs->pdata[i], status))
      return NULL;
  return g_variant_builder_end (&builder);
}

static GVariant *
get_job_size (Query *query, int *status)
{
  if (query->job == NULL)
    return fail (status, DVMD_PMIX_ERR_BAD_PARAM);
  return g_variant_new_uint32 (dvm_job_get_num_procs (dvmd_job_get_record (query->job)));
}

/* The states of PMIx: one higher than the DVM's while a process lives, and without the last of the DVM's failures. */
static gint32
find_proc_state (guint8 state)
{
  if (state == DVM_PROC_STATE_UNDEF
      || (state >= DVM_PROC_STATE_UNTERMINATED && state <= DVM_PROC_STATE_FAILED_TO_LAUNCH))
    return state;
  if (state > DVM_PROC_STATE_FAILED_TO_LAUNCH)
    return DVM_PROC_STATE_ERROR;
  return MIN (state, DVM_PROC_STATE_REGISTERED) + 1;
}

/* (transfer full) (nullable): the ranks that are asked for */
static GArray *
list_ranks (Query *query, DvmdNode *node, int *status)
{
  DvmdProcTable *procs = query->job != NULL ? dvmd_job_get_procs (query->job) : NULL;
  g_autoptr (GArray) ranks = NULL;

  if (query->job == NULL)
    *status = DVMD_PMIX_ERR_BAD_PARAM;
  else if (query->has_rank && (procs == NULL || query->rank >= procs->n_rows))
    *status = DVMD_PMIX_ERR_NOT_FOUND;
  if (*status != DVMD_PMIX_SUCCESS)
    return NULL;
  ranks = dvmd_facts_list_ranks (query->job, node);
  for (guint i = ranks->len; query->has_rank && i-- > 0;)
    if (g_array_index (ranks, guint, i) != query->rank)
      g_array_remove_index (ranks, i);
  if (ranks->len > MAX_ROWS)
    *status = DVMD_PMIX_ERR_OUT_OF_RESOURCE;
  return *status == DVMD_PMIX_SUCCESS ? g_steal_pointer (&ranks) : NULL;
}

static GVariant *
list_procs (Query *query, DvmdNode *node, int *status)
{
  g_autoptr (GArray) ranks = list_ranks (query, node, status);
  g_auto (GVariantBuilder) builder = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE (DVMD_PMIX_PROC_TABLE));

  for (guint i = 0; ranks != NULL && i < ranks->len; i++)
    {
      guint rank = g_array_index (ranks, guint, i);
      const DvmdProcRow *row = dvmd_proc_table_row (dvmd_job_get_procs (query->job), rank);
      const char *name = row->node != DVMD_NO_NODE ? dvmd_node_pool_get_name (get_pool (query), row->node) : NULL;
      DvmAppSpec *app = dvm_job_spec_get_app (dvmd_job_get_spec (query->job), row->app);
      g_autofree char *program = g_utf8_make_valid (dvm_app_spec_get_argv (app)[0], -1);

      if (!has_room (query, strlen (program) + strlen (query->nspace), status))
        return NULL;
      g_variant_builder_add (&builder, "(sussiii)", query->nspace, rank, name != NULL ? name : "", program, row->pid,
                             row->exit_code, find_proc_state (row->state));
    }
  return ranks != NULL ? g_variant_builder_end (&builder) : NULL;
}

static GVariant *
get_proc_table (Query *query, int *status)
{
  return list_procs (query, query->node, status);
}

/* Of the node where it is asked, unless another one is named. */
static GVariant *
get_local_proc_table (Query *query, int *status)
{
  DvmdNode *node = query->node != NULL ? query->node : dvmd_node_pool_get (get_pool (query), query->agent);

  return node != NULL ? list_procs (query, node, status) : fail (status, DVMD_PMIX_ERR_NOT_FOUND);
}

static GVariant *
get_peers (Query *query, int *status)
{
  g_autoptr (GArray) ranks = list_ranks (query, query->node, status);
  g_auto (GVariantBuilder) builder = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(su)"));

  for (guint i = 0; ranks != NULL && i < ranks->len; i++)
    g_variant_builder_add (&builder, "(su)", query->nspace, g_array_index (ranks, guint, i));
  return ranks != NULL ? g_variant_builder_end (&builder) : NULL;
}

/* ---- nodes and allocations ---- */

static GVariant *
get_nodes (Query *query, int *status)
{
  const char *const *of_job = query->job != NULL ? dvm_job_get_nodes (dvmd_job_get_record (query->job)) : NULL;
  g_autoptr (GPtrArray) names = NULL;

  if (query->job != NULL)
    return of_job != NULL ? g_variant_new_take_string (g_strjoinv (",", (char **)of_job)) : g_variant_new_string ("");
  names = dvmd_facts_list_nodes (get_pool (query));
  return join (query, names);
}

/* By its id, or by that of its request. */
static gboolean
names_allocation (const Query *query)
{
  return query->alloc_id != NULL || query->request_id != NULL;
}

/* Both names are there, and are not those of one allocation. */
static gboolean
is_contradicted (const Query *query, DvmdSession *session)
{
  return query->alloc_id != NULL && query->request_id != NULL
         && strcmp (dvm_session_get_request_id (dvmd_session_get_record (session)), query->request_id) != 0;
}

/* (nullable): the one that is named */
static DvmdSession *
find_session (Query *query, int *status)
{
  DvmdSession *session = NULL;

  if (query->alloc_id != NULL)
    session = dvmd_core_find_session (query->core, query->alloc_id);
  else if (query->request_id != NULL)
    session = dvmd_core_find_session_by_request (query->core, query->request_id);
  if (session == NULL)
    *status = names_allocation (query) ? DVMD_PMIX_ERR_NOT_FOUND : DVMD_PMIX_ERR_BAD_PARAM;
  else if (is_contradicted (query, session))
    *status = DVMD_PMIX_ERR_BAD_PARAM;
  return *status == DVMD_PMIX_SUCCESS ? session : NULL;
}

/* (nullable): of the allocation that is named */
static const char *const *
list_session_nodes (Query *query, int *status)
{
  DvmdSession *session = find_session (query, status);

  if (session == NULL)
    return NULL;
  dvmd_session_publish_nodes (session);
  return dvm_session_get_nodes (dvmd_session_get_record (session));
}

/* The slots of the node or of the allocation that is named, or of all nodes. */
static GVariant *
count_slots (Query *query, guint (*of_node) (DvmdNodePool *pool, DvmdNode *node),
             guint (*of_nodes) (DvmdNodePool *pool, const char *const *names), int *status)
{
  const char *const *names;

  if (!names_allocation (query))
    return g_variant_new_uint32 (of_node (get_pool (query), query->node));
  if (query->node != NULL)
    return fail (status, DVMD_PMIX_ERR_NOT_SUPPORTED);
  names = list_session_nodes (query, status);
  return names != NULL ? g_variant_new_uint32 (of_nodes (get_pool (query), names)) : NULL;
}

static GVariant *
get_slots (Query *query, int *status)
{
  return count_slots (query, dvmd_facts_count_slots, dvmd_facts_count_slots_of, status);
}

static GVariant *
get_free_slots (Query *query, int *status)
{
  return count_slots (query, dvmd_facts_count_free_slots, dvmd_facts_count_free_slots_of, status);
}

/* The default session is no allocation. */
static GVariant *
get_alloc_ids (Query *query, int *status)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (DvmdSession *session = NULL; (session = dvmd_core_next_session (query->core, session)) != NULL;)
    if (dvmd_session_get_id (session) != 0)
      g_variant_builder_add (&builder, "{sv}", DVMD_PMIX_KEY_ALLOC_ID,
                             g_variant_new_string (dvmd_session_get_alloc_id (session)));
  return g_variant_builder_end (&builder);
}

/* value: floating */
static void
add_property (Query *query, GVariantBuilder *builder, const char *key, const char *word, GVariant *value, guint *n)
{
  g_autoptr (GVariant) owned = g_variant_ref_sink (value);

  if (query->of_bus)
    key = word;
  if (query->property != NULL && strcmp (query->property, key) != 0)
    return;
  g_variant_builder_add (builder, "{sv}", key, owned);
  (*n)++;
}

static GVariant *
get_alloc_properties (Query *query, int *status)
{
  DvmdSession *session = find_session (query, status);
  DvmSession *record = session != NULL ? dvmd_session_get_record (session) : NULL;
  g_auto (GVariantBuilder) builder = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE_VARDICT);
  const char *const *names = session != NULL ? list_session_nodes (query, status) : NULL;
  guint n = 0;

  if (names == NULL)
    return NULL;
  add_property (query, &builder, DVMD_PMIX_KEY_ALLOC_RELEASABLE, "releasable",
                g_variant_new_boolean (dvmd_session_get_id (session) != 0 && dvmd_core_get_elastic (query->core)
                                       && !dvmd_session_is_ending (session)),
                &n);
  add_property (query, &builder, DVMD_PMIX_KEY_SESSION_ID, "session",
                g_variant_new_uint32 (dvmd_session_get_id (session)), &n);
  if (dvm_session_get_request_id (record)[0] != '\0')
    add_property (query, &builder, DVMD_PMIX_KEY_ALLOC_REQ_ID, "request-id",
                  g_variant_new_string (dvm_session_get_request_id (record)), &n);
  add_property (query, &builder, DVMD_PMIX_KEY_ALLOC_NODES, "nodes",
                query->of_bus ? g_variant_new_strv (names, -1)
                              : g_variant_new_take_string (g_strjoinv (",", (char **)names)),
                &n);
  add_property (query, &builder, DVMD_PMIX_KEY_ALLOC_NUM_NODES, "num-nodes",
                g_variant_new_uint64 (g_strv_length ((char **)names)), &n);
  add_property (query, &builder, DVMD_PMIX_KEY_ALLOC_SHARE, "shared",
                g_variant_new_boolean (dvm_session_get_shared (record)), &n);
  return n > 0 ? g_variant_builder_end (&builder) : fail (status, DVMD_PMIX_ERR_NOT_FOUND);
}

static GVariant *
get_alloc_status (Query *query, int *status)
{
  DvmdSession *session = find_session (query, status);

  return session != NULL ? g_variant_new_string (
             dvm_session_state_to_string (dvm_session_get_state (dvmd_session_get_record (session))))
                         : NULL;
}

/* (nullable): the one that its job is in */
static DvmdSession *
find_session_of_job (Query *query, int *status)
{
  GArray *ids = dvmd_job_get_sessions (query->job);
  guint id = ids != NULL && ids->len > 0 ? g_array_index (ids, guint, 0) : 0;
  DvmdSession *session = NULL;

  if (names_allocation (query))
    fail (status, DVMD_PMIX_ERR_NOT_SUPPORTED);
  else if (id == 0 || !dvmd_core_select_session (query->core, id, NULL, NULL, &session, NULL))
    fail (status, DVMD_PMIX_ERR_NOT_FOUND);
  return session;
}

static GVariant *
get_time_remaining (Query *query, int *status)
{
  DvmdSession *session = query->job != NULL ? find_session_of_job (query, status) : find_session (query, status);
  gint64 end = session != NULL ? dvm_session_get_expires_at (dvmd_session_get_record (session)) : 0;
  gint64 now = dvmd_clock_now (query->clock);

  if (session == NULL)
    return NULL;
  /* One without a limit has no time that remains. */
  if (end == 0)
    return fail (status, DVMD_PMIX_ERR_NOT_FOUND);
  return g_variant_new_uint32 ((guint32)CLAMP ((end - now) / G_USEC_PER_SEC, 0, G_MAXUINT32));
}

static void
add_node (GVariantBuilder *builder, DvmdNode *node)
{
  g_variant_builder_open (builder, G_VARIANT_TYPE ("(sa{sv})"));
  g_variant_builder_add (builder, "s", DVMD_PMIX_KEY_NODE_INFO);
  g_variant_builder_open (builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (builder, "{sv}", DVMD_PMIX_KEY_HOSTNAME,
                         g_variant_new_string (dvm_node_get_name (node->record)));
  g_variant_builder_add (builder, "{sv}", DVMD_PMIX_KEY_NODEID, g_variant_new_uint32 (node->rank - 1));
  g_variant_builder_add (builder, "{sv}", DVMD_PMIX_KEY_NUM_SLOTS, g_variant_new_uint32 (node->slots));
  g_variant_builder_close (builder);
  g_variant_builder_close (builder);
}

/* Its nodes: of the allocation that is named, or of the DVM. */
static GVariant *
get_allocation (Query *query, int *status)
{
  const char *const *names = names_allocation (query) ? list_session_nodes (query, status) : NULL;
  g_autoptr (GPtrArray) all = NULL;
  GVariantBuilder builder;

  if (names_allocation (query) && names == NULL)
    return NULL;
  if (names == NULL)
    {
      all = dvmd_facts_list_nodes (get_pool (query));
      g_ptr_array_add (all, NULL);
      names = (const char *const *)all->pdata;
    }
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(sa{sv})"));
  for (guint i = 0; names[i] != NULL; i++)
    if (dvmd_node_pool_find (get_pool (query), names[i]) != NULL)
      add_node (&builder, dvmd_node_pool_find (get_pool (query), names[i]));
  return g_variant_builder_end (&builder);
}

/* ---- what is measured ---- */

/* (transfer full) (nullable): those of the ranks that are asked for and have not ended */
static GArray *
list_nodes_of_ranks (Query *query, int *status)
{
  g_autoptr (GArray) ranks = list_ranks (query, query->node, status);

  return ranks != NULL ? dvmd_facts_list_running (query->job, ranks) : NULL;
}

static GArray *
list_measured_nodes (Query *query, int *status)
{
  g_autoptr (GArray) nodes = NULL;

  if (query->job != NULL)
    return list_nodes_of_ranks (query, status);
  nodes = g_array_new (FALSE, FALSE, sizeof (guint));
  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (get_pool (query), node)) != NULL;)
    if (dvmd_facts_may_measure (node) && (query->node == NULL || query->node == node))
      g_array_append_val (nodes, node->rank);
  return g_steal_pointer (&nodes);
}

/* ---- groups ---- */

static GVariant *
get_groups (Query *query, int *status)
{
  g_autoptr (GPtrArray) names = dvmd_controller_list_groups (query->controller);

  return join (query, names);
}

static GVariant *
get_num_groups (Query *query, int *status)
{
  g_autoptr (GPtrArray) names = dvmd_controller_list_groups (query->controller);

  return new_size (query, names->len);
}

static GVariant *
get_group_members (Query *query, int *status)
{
  g_autoptr (GArray)
      members = query->group != NULL ? dvmd_controller_list_group_members (query->controller, query->group) : NULL;
  GVariantBuilder builder;

  if (members == NULL)
    return fail (status, query->group != NULL ? DVMD_PMIX_ERR_NOT_FOUND : DVMD_PMIX_ERR_BAD_PARAM);
  if (members->len > MAX_ROWS)
    return fail (status, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(su)"));
  for (guint i = 0; i < members->len; i++)
    {
      guint64 member = g_array_index (members, guint64, i);
      DvmdJob *job = dvmd_core_get_job (query->core, (guint)(member >> 32));

      g_variant_builder_add (&builder, "(su)", dvm_job_get_nspace (dvmd_job_get_record (job)), (guint32)member);
    }
  return g_variant_builder_end (&builder);
}

/* ---- process sets ---- */

static GVariant *
get_psets (Query *query, int *status)
{
  g_autoptr (GPtrArray) names = dvmd_controller_list_psets (query->controller, query->job);

  return join (query, names);
}

static GVariant *
get_num_psets (Query *query, int *status)
{
  g_autoptr (GPtrArray) names = dvmd_controller_list_psets (query->controller, query->job);

  return new_size (query, names->len);
}

static GVariant *
get_pset_members (Query *query, int *status)
{
  g_auto (GVariantBuilder) members = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(su)"));
  guint64 n;

  if (query->pset == NULL)
    return fail (status, DVMD_PMIX_ERR_BAD_PARAM);
  n = dvmd_controller_list_pset_members (query->controller, query->pset, query->job, &members, MAX_ROWS);
  if (n == 0)
    return fail (status, DVMD_PMIX_ERR_NOT_FOUND);
  return n <= MAX_ROWS ? g_variant_builder_end (&members) : fail (status, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
}

static const struct
{
  const char *word; /* of the question */
  guint bit;
} qualifiers[] = {
  { "nspace", DVMD_QUERY_JOB },        { "rank", DVMD_QUERY_RANK },      { "node", DVMD_QUERY_NODE },
  { "node-id", DVMD_QUERY_NODE },      { "alloc-id", DVMD_QUERY_ALLOC }, { "request-id", DVMD_QUERY_ALLOC },
  { "property", DVMD_QUERY_PROPERTY }, { "group", DVMD_QUERY_GROUP },    { "pset", DVMD_QUERY_PSET },
};

static const struct
{
  const char *word;
  GetFact get;        /* or: */
  ListMeasuring list; /* by the agents of these */
} facts[] = {
  { "alloc-ids", get_alloc_ids },
  { "alloc-properties", get_alloc_properties },
  { "alloc-status", get_alloc_status },
  { "allocations", get_allocation },
  { "free-slots", get_free_slots },
  { "group-members", get_group_members },
  { "groups", get_groups },
  { "job-size", get_job_size },
  { "local-proc-table", get_local_proc_table },
  { "namespace-info", get_namespace_info },
  { "namespaces", get_namespaces },
  { "node-usage", NULL, list_measured_nodes },
  { "nodes", get_nodes },
  { "num-groups", get_num_groups },
  { "num-psets", get_num_psets },
  { "peers", get_peers },
  { "proc-table", get_proc_table },
  { "proc-usage", NULL, list_nodes_of_ranks },
  { "pset-members", get_pset_members },
  { "psets", get_psets },
  { "slots", get_slots },
  { "time-remaining", get_time_remaining },
};

/* ---- the call ---- */

/* The numbers begin at 0; rank 0 is the controller, which is no node. */
static int
choose_node (Query *query, guint32 id)
{
  DvmdNode *node = id < G_MAXUINT32 ? dvmd_node_pool_get (get_pool (query), id + 1) : NULL;

  /* A name beside it, of another node, is a contradiction that no node meets. */
  if (node == NULL || (query->node != NULL && query->node != node))
    return DVMD_PMIX_ERR_NOT_FOUND;
  query->node = node;
  return DVMD_PMIX_SUCCESS;
}

/* The name of the machine where it is asked is that of the node there, unless a node has it. The controller is none. */
static DvmdNode *
find_node (Query *query, GVariant *dict)
{
  DvmdNode *node = dvmd_node_pool_find (get_pool (query), query->node_name);
  gboolean here = FALSE;

  if ((node == NULL || node->rank == 0) && g_variant_lookup (dict, "here", "b", &here) && here)
    node = dvmd_node_pool_get (get_pool (query), query->agent);
  return node;
}

static int
read_qualifiers (Query *query, GVariant *dict)
{
  guint32 id;

  query->has_rank = g_variant_lookup (dict, "rank", "u", &query->rank);
  g_variant_lookup (dict, "nspace", "&s", &query->nspace);
  g_variant_lookup (dict, "node", "&s", &query->node_name);
  g_variant_lookup (dict, "alloc-id", "&s", &query->alloc_id);
  g_variant_lookup (dict, "request-id", "&s", &query->request_id);
  g_variant_lookup (dict, "property", "&s", &query->property);
  g_variant_lookup (dict, "group", "&s", &query->group);
  g_variant_lookup (dict, "pset", "&s", &query->pset);
  if (query->nspace != NULL && (query->job = dvmd_core_find_job (query->core, query->nspace)) == NULL)
    return DVMD_PMIX_ERR_NOT_FOUND;
  if (query->node_name != NULL && (query->node = find_node (query, dict)) == NULL)
    return DVMD_PMIX_ERR_NOT_FOUND;
  return g_variant_lookup (dict, "node-id", "u", &id) ? choose_node (query, id) : DVMD_PMIX_SUCCESS;
}

/* The questions of one query are answered together. */
typedef struct
{
  grefcount ref_count;
  DvmdController *controller; /* unowned */
  guint64 call;
  gsize size;     /* bytes of all answers so far */
  guint n_open;   /* that agents are still to measure; one more while the questions are read */
  GArray *values; /* Answer */
} Answers;

typedef struct
{
  int status;
  GVariant *value; /* (nullable): it has failed, or is not there yet */
} Answer;

/* One of them, that agents measure. */
typedef struct
{
  Answers *answers;
  guint index;
  gboolean one; /* process or node */
} Measured;

static void
answer_clear (gpointer data)
{
  g_clear_pointer (&((Answer *)data)->value, g_variant_unref);
}

static void
answers_unref (Answers *self)
{
  if (!g_ref_count_dec (&self->ref_count))
    return;
  g_array_unref (self->values);
  g_free (self);
}

static void
measured_free (gpointer data)
{
  answers_unref (((Measured *)data)->answers);
  g_free (data);
}

/* The last one is there. */
static void
close_one (Answers *self)
{
  GVariantBuilder rows;

  if (--self->n_open > 0)
    return;
  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(iv)"));
  for (guint i = 0; i < self->values->len; i++)
    {
      const Answer *answer = &g_array_index (self->values, Answer, i);

      g_variant_builder_add (&rows, "(iv)", answer->status,
                             answer->value != NULL ? answer->value : g_variant_new ("()"));
    }
  dvmd_controller_answer (self->controller, self->call, DVMD_PMIX_SUCCESS, g_variant_new ("(a(iv))", &rows));
}

static void
on_measured (gpointer user_data, int status, GVariant *rows)
{
  Measured *measured = user_data;
  Answers *answers = measured->answers;
  Answer *answer = &g_array_index (answers->values, Answer, measured->index);
  g_autoptr (GVariant) value = NULL;

  if (rows != NULL && measured->one && g_variant_n_children (rows) != 1)
    status = DVMD_PMIX_ERR_NOT_FOUND;
  else if (rows != NULL)
    value = measured->one ? g_variant_get_child_value (rows, 0) : g_variant_ref (rows);
  if (value != NULL && answers->size + g_variant_get_size (value) > MAX_BYTES)
    status = DVMD_PMIX_ERR_OUT_OF_RESOURCE;
  answer->status = status;
  if (status == DVMD_PMIX_SUCCESS)
    {
      answers->size += g_variant_get_size (value);
      answer->value = g_steal_pointer (&value);
    }
  close_one (answers);
}

/* list: of the fact that query asks for */
static void
measure (Query *query, ListMeasuring list, Answers *answers)
{
  guint index = answers->values->len - 1;
  Answer *answer = &g_array_index (answers->values, Answer, index);
  g_autoptr (GArray) nodes = list (query, &answer->status);
  gboolean of_nodes = list == list_measured_nodes;
  Measured *measured;

  if (nodes != NULL && nodes->len == 0 && (of_nodes ? query->node != NULL : query->has_rank))
    answer->status = DVMD_PMIX_ERR_NOT_FOUND;
  if (answer->status != DVMD_PMIX_SUCCESS)
    return;
  g_ref_count_inc (&answers->ref_count);
  answers->n_open++;
  measured = g_new (Measured, 1);
  *measured = (Measured){ answers, index, of_nodes ? query->node != NULL : query->has_rank };
  dvmd_controller_measure (query->controller, nodes, of_nodes ? NULL : query->nspace,
                           query->has_rank ? query->rank : DVMD_ALL_RANKS, on_measured, measured, measured_free);
}

/*
 * Qualifiers that a key has no use for are passed over, as libpmix has it. A node or an allocation is not: an answer of
 * the whole DVM would be taken for that of the place.
 */
static gboolean
heeds_places (GVariant *dict, guint uses)
{
  for (gsize i = 0; i < G_N_ELEMENTS (qualifiers); i++)
    {
      g_autoptr (GVariant) value = g_variant_lookup_value (dict, qualifiers[i].word, NULL);

      if (value != NULL && (qualifiers[i].bit & (DVMD_QUERY_NODE | DVMD_QUERY_ALLOC) & ~uses) != 0)
        return FALSE;
    }
  return TRUE;
}

/* One past the last: there is none */
static gsize
find_fact (const char *word)
{
  gsize i = 0;

  while (i < G_N_ELEMENTS (facts) && strcmp (facts[i].word, word) != 0)
    i++;
  return i;
}

static void
add_answer (Answers *answers, Query *query, const char *word, GVariant *dict)
{
  Answer *answer;
  gsize i;

  g_array_set_size (answers->values, answers->values->len + 1);
  answer = &g_array_index (answers->values, Answer, answers->values->len - 1);
  answer->status = read_qualifiers (query, dict);
  i = find_fact (word);
  if (i == G_N_ELEMENTS (facts) || !heeds_places (dict, dvmd_query_keys_find (word)->of_pmix))
    answer->status = DVMD_PMIX_ERR_NOT_SUPPORTED;
  if (answer->status != DVMD_PMIX_SUCCESS || !has_room (query, 0, &answer->status))
    return;
  if (facts[i].list != NULL)
    {
      measure (query, facts[i].list, answers);
      return;
    }
  answer->value = facts[i].get (query, &answer->status);
  if (answer->value == NULL)
    return;
  g_variant_ref_sink (answer->value);
  /* The getter has counted parts of it. */
  query->size = answers->size;
  if (has_room (query, g_variant_get_size (answer->value), &answer->status))
    answers->size = query->size;
  else
    answer_clear (answer);
}

/* ---- the bus ---- */

static GVariant *
fail_fact (const char *word, int status, GError **error)
{
  static const struct
  {
    int status;
    int code;
    const char *why;
  } rows[] = {
    { DVMD_PMIX_ERR_NOT_FOUND, DVM_ERROR_NOT_FOUND,
      "there is none of what its qualifiers name, or it has no such value" },
    { DVMD_PMIX_ERR_BAD_PARAM, DVM_ERROR_BAD_PARAM,
      "it needs a qualifier that it has not, or two contradict each other" },
    { DVMD_PMIX_ERR_OUT_OF_RESOURCE, DVM_ERROR_OUT_OF_RESOURCE, "the answer would be too large" },
    { DVMD_PMIX_ERR_NOT_SUPPORTED, DVM_ERROR_BAD_PARAM, "it is narrowed by one of its qualifiers at a time" },
  };
  gsize i = 0;

  while (i < G_N_ELEMENTS (rows) - 1 && rows[i].status != status)
    i++;
  g_set_error (error, DVM_ERROR, rows[i].code, "%s cannot be answered: %s", word, rows[i].why);
  return NULL;
}

GVariant *
dvmd_controller_answer_fact (DvmdController *self, const char *word, GVariant *dict, GError **error)
{
  Query query = {
    .controller = self,
    .core = dvmd_controller_get_core (self),
    .clock = dvmd_controller_get_parts (self)->clock,
    .of_bus = TRUE,
  };
  int status = read_qualifiers (&query, dict);
  gsize i = find_fact (word);
  GVariant *value = NULL;

  g_return_val_if_fail (i < G_N_ELEMENTS (facts) && facts[i].get != NULL, NULL);
  if (status == DVMD_PMIX_SUCCESS)
    value = facts[i].get (&query, &status);
  return value != NULL ? value : fail_fact (word, status, error);
}

/* ---- the call ---- */

static void
handle_query (gpointer service, DvmdCall *call, GVariant *request)
{
  DvmdController *controller = service;
  g_autoptr (GVariant) questions = g_variant_get_child_value (request, 0);
  Answers *answers;
  GVariantIter iter;
  const char *word;
  GVariant *dict;

  /* A single question may go through all jobs, or ask all nodes. */
  if (g_variant_n_children (questions) > DVMD_PMIX_MOST_QUESTIONS)
    {
      dvmd_controller_answer (controller, call->id, DVMD_PMIX_ERR_OUT_OF_RESOURCE, NULL);
      return;
    }
  answers = g_new0 (Answers, 1);
  g_ref_count_init (&answers->ref_count);
  answers->controller = controller;
  answers->call = call->id;
  answers->n_open = 1;
  answers->values = g_array_new (FALSE, TRUE, sizeof (Answer));
  g_array_set_clear_func (answers->values, answer_clear);
  g_variant_iter_init (&iter, questions);
  while (g_variant_iter_loop (&iter, "(&s@a{sv})", &word, &dict))
    {
      Query query = {
        .controller = controller,
        .core = dvmd_controller_get_core (controller),
        .clock = dvmd_controller_get_parts (controller)->clock,
        .size = answers->size,
        .agent = call->agent,
      };

      add_answer (answers, &query, word, dict);
    }
  close_one (answers);
  answers_unref (answers);
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  return controller;
}

static void
nothing_to_free (gpointer service)
{
}

static const DvmdCallHandler calls[] = { { DVMD_CALL_QUERY, handle_query }, { 0 } };

const DvmdService dvmd_query_service = {
  .name = "query",
  .create = create,
  .free = nothing_to_free,
  .calls = calls,
};
