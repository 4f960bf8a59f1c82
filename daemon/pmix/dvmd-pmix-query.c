/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Queries of clients and tools that the library cannot answer itself: PMIx's keys made words of the controller, and the
 * values made those of PMIx.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-query.h"

#include "dvm.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-info.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-read.h"
#include "dvmd-pmix-spawn-keys.h"
#include "dvmd-pmix-supported.h"
#include "dvmd-pmix-usage.h"

#include <string.h>

/* Bytes of one query: qualifiers that go to the controller, and values that are known here, which the library copies
 * several times. */
#define MAX_BYTES (16 * 1024 * 1024)

typedef struct
{
  const char *key;
  const char *word; /* (nullable): of the controller */
  /* (nullable) (transfer floating): known here */
  GVariant *(*get) (DvmdPmixServer *server);
  const char *usage; /* (nullable): the answer is what was measured, each row with this key */
} QueryKey;

typedef struct
{
  const char *key; /* of the query */
  int status;
  GVariant *value;   /* (nullable) */
  gboolean is_asked; /* of the controller */
} Item;

/* A query that waits for its answer. */
typedef struct
{
  GArray *items; /* Item */
  gsize size;    /* of questions, and of values that are known here */
  pmix_info_cbfunc_t callback;
  void *callback_data;
  DvmdPmixInfo info; /* the library reads it until it says so */
} Asked;

static GVariant *get_keys (DvmdPmixServer *server);

/* (transfer floating) */
static GVariant *
list_keys (void (*list) (GPtrArray *keys))
{
  g_autoptr (GPtrArray) all = g_ptr_array_new ();

  list (all);
  return g_variant_new_take_string (dvmd_pmix_join_keys (all));
}

static GVariant *
get_spawn_keys (DvmdPmixServer *server)
{
  return list_keys (dvmd_pmix_list_spawn_keys);
}

static GVariant *
get_debug_keys (DvmdPmixServer *server)
{
  return g_variant_new_string (PMIX_DEBUG_STOP_ON_EXEC "," PMIX_DEBUG_STOP_IN_INIT "," PMIX_DEBUG_STOP_IN_APP
                                                       "," PMIX_DEBUGGER_DAEMONS "," PMIX_COSPAWN_APP
                                                       "," PMIX_DEBUG_TARGET "," PMIX_DEBUG_DAEMONS_PER_PROC
                                                       "," PMIX_DEBUG_DAEMONS_PER_NODE);
}

/* (nullable) */
static GVariant *
get_topology (DvmdPmixServer *server)
{
  DvmdTopology *topology = dvmd_pmix_server_get_topology (server);
  char *xml = topology != NULL ? dvmd_topology_dup_xml (topology, NULL) : NULL;

  return xml != NULL ? g_variant_new_take_string (xml) : NULL;
}

static const QueryKey keys[] = {
  { PMIX_HWLOC_XML_V2, NULL, get_topology },
  { PMIX_JOB_SIZE, "job-size", NULL },
  { PMIX_NUM_SLOTS, "slots", NULL },
  { PMIX_QUERY_ALLOCATION, "allocations", NULL },
  { PMIX_QUERY_ALLOC_IDS, "alloc-ids", NULL },
  { PMIX_QUERY_ALLOC_PROPERTIES, "alloc-properties", NULL },
  { PMIX_QUERY_ALLOC_STATUS, "alloc-status", NULL },
  { PMIX_QUERY_AVAILABLE_SLOTS, "free-slots", NULL },
  { PMIX_QUERY_DEBUG_SUPPORT, NULL, get_debug_keys },
  { PMIX_QUERY_GROUP_MEMBERSHIP, "group-members", NULL },
  { PMIX_QUERY_GROUP_NAMES, "groups", NULL },
  { PMIX_QUERY_LOCAL_PROC_TABLE, "local-proc-table", NULL },
  { PMIX_QUERY_NAMESPACES, "namespaces", NULL },
  { PMIX_QUERY_NAMESPACE_INFO, "namespace-info", NULL },
  { PMIX_QUERY_NODE_RESOURCE_USAGE, "node-usage", NULL, PMIX_NODE_RESOURCE_USAGE },
  { PMIX_QUERY_NUM_GROUPS, "num-groups", NULL },
  { PMIX_QUERY_PROC_RESOURCE_USAGE, "proc-usage", NULL, PMIX_PROC_RESOURCE_USAGE },
  { PMIX_QUERY_NUM_PSETS, "num-psets", NULL },
  { PMIX_QUERY_PROC_TABLE, "proc-table", NULL },
  { PMIX_QUERY_PSET_MEMBERSHIP, "pset-members", NULL },
  { PMIX_QUERY_PSET_NAMES, "psets", NULL },
  { PMIX_QUERY_RESOLVE_NODE, "nodes", NULL },
  { PMIX_QUERY_RESOLVE_PEERS, "peers", NULL },
  { PMIX_QUERY_SPAWN_SUPPORT, NULL, get_spawn_keys },
  { PMIX_QUERY_SUPPORTED_KEYS, NULL, get_keys },
  { PMIX_TIME_REMAINING, "time-remaining", NULL },
};

void
dvmd_pmix_list_query_keys (GPtrArray *list)
{
  dvmd_pmix_add_keys (list, keys, G_N_ELEMENTS (keys), sizeof keys[0]);
}

static GVariant *
get_keys (DvmdPmixServer *server)
{
  return list_keys (dvmd_pmix_list_query_keys);
}

static const QueryKey *
find_key (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    if (strcmp (keys[i].key, name) == 0)
      return &keys[i];
  return NULL;
}

static void
item_clear (gpointer data)
{
  Item *item = data;

  g_clear_pointer (&item->value, g_variant_unref);
}

/* ---- qualifiers ---- */

static gboolean
take_text (GVariantDict *dict, const char *name, const pmix_info_t *info, GError **error)
{
  const char *text = dvmd_pmix_read_text (info, error);

  if (text != NULL)
    g_variant_dict_insert (dict, name, "s", text);
  return text != NULL;
}

/* Programs of a node find the name of its machine, which the DVM need not know. */
static gboolean
take_node (GVariantDict *dict, const pmix_info_t *info, GError **error)
{
  const char *name = dvmd_pmix_read_text (info, error);

  if (name == NULL)
    return FALSE;
  g_variant_dict_insert (dict, "node", "s", name);
  if (strcmp (name, g_get_host_name ()) == 0)
    g_variant_dict_insert (dict, "here", "b", TRUE);
  return TRUE;
}

/* An empty name is that of no job, and does not mean all of them either. */
static gboolean
take_nspace (GVariantDict *dict, const char *nspace, const pmix_info_t *info, GError **error)
{
  if (nspace[0] == '\0')
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s names a job by an empty namespace: leave it out for all",
                   info->key);
      return FALSE;
    }
  g_variant_dict_insert (dict, "nspace", "s", nspace);
  return TRUE;
}

/* PMIX_RANK_WILDCARD is no choice. */
static void
take_rank (GVariantDict *dict, pmix_rank_t rank)
{
  if (rank != PMIX_RANK_WILDCARD)
    g_variant_dict_insert (dict, "rank", "u", rank);
}

static gboolean
take_proc (GVariantDict *dict, const pmix_info_t *info, GError **error)
{
  const pmix_proc_t *proc = info->value.type == PMIX_PROC ? info->value.data.proc : NULL;

  if (proc == NULL || !g_utf8_validate (proc->nspace, -1, NULL))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is no process", info->key);
      return FALSE;
    }
  take_rank (dict, proc->rank);
  return take_nspace (dict, proc->nspace, info, error);
}

static gboolean
take_qualifier (GVariantDict *dict, const pmix_info_t *info, GError **error)
{
  const char *text;
  guint32 number;

  if (PMIX_CHECK_KEY (info, PMIX_NSPACE))
    return (text = dvmd_pmix_read_text (info, error)) != NULL && take_nspace (dict, text, info, error);
  if (PMIX_CHECK_KEY (info, PMIX_HOSTNAME))
    return take_node (dict, info, error);
  if (PMIX_CHECK_KEY (info, PMIX_ALLOC_ID))
    return take_text (dict, "alloc-id", info, error);
  if (PMIX_CHECK_KEY (info, PMIX_ALLOC_REQ_ID))
    return take_text (dict, "request-id", info, error);
  if (PMIX_CHECK_KEY (info, PMIX_ALLOC_PROPERTY))
    return take_text (dict, "property", info, error);
  if (PMIX_CHECK_KEY (info, PMIX_GROUP_ID))
    return take_text (dict, "group", info, error);
  if (PMIX_CHECK_KEY (info, PMIX_PSET_NAME))
    return take_text (dict, "pset", info, error);
  if (PMIX_CHECK_KEY (info, PMIX_PROCID))
    return take_proc (dict, info, error);
  if (PMIX_CHECK_KEY (info, PMIX_RANK))
    {
      if (info->value.type == PMIX_PROC_RANK)
        number = info->value.data.rank;
      else if (!dvmd_pmix_read_number (info, &number, error))
        return FALSE;
      take_rank (dict, number);
      return TRUE;
    }
  if (PMIX_CHECK_KEY (info, PMIX_NODEID))
    {
      if (!dvmd_pmix_read_number (info, &number, error))
        return FALSE;
      g_variant_dict_insert (dict, "node-id", "u", number);
      return TRUE;
    }
  /* Nothing is kept here that could be out of date. */
  if (PMIX_CHECK_KEY (info, PMIX_QUERY_REFRESH_CACHE))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "%s does not narrow a query here", info->key);
  return FALSE;
}

/* (nullable): floating a{sv} */
static GVariant *
read_qualifiers (const pmix_query_t *query, GError **error)
{
  g_auto (GVariantDict) dict;

  g_variant_dict_init (&dict, NULL);
  for (gsize i = 0; i < query->nqual; i++)
    if (!take_qualifier (&dict, &query->qualifiers[i], error))
      return NULL;
  return g_variant_dict_end (&dict);
}

/* ---- the answer ---- */

static void
release_asked (void *data)
{
  Asked *asked = data;

  dvmd_pmix_info_clear (&asked->info);
  g_array_unref (asked->items);
  g_free (asked);
}

/* All, some, or none, for the first reason. */
static int
find_status (Asked *asked)
{
  int status = PMIX_SUCCESS;
  guint n_found = 0;

  for (guint i = 0; i < asked->items->len; i++)
    {
      const Item *item = &g_array_index (asked->items, Item, i);

      n_found += item->status == PMIX_SUCCESS;
      if (status == PMIX_SUCCESS)
        status = item->status;
    }
  return n_found > 0 && n_found < asked->items->len ? PMIX_ERR_PARTIAL_SUCCESS : status;
}

static gboolean
add_value (Asked *asked, const Item *item)
{
  const QueryKey *key = find_key (item->key);

  if (key->usage != NULL)
    return dvmd_pmix_usage_add (&asked->info, item->key, key->usage, item->value);
  return dvmd_pmix_info_add_variant (&asked->info, item->key, item->value);
}

static void
answer_asked (Asked *asked)
{
  for (guint i = 0; i < asked->items->len; i++)
    {
      Item *item = &g_array_index (asked->items, Item, i);

      if (item->status != PMIX_SUCCESS)
        continue;
      if (!add_value (asked, item))
        item->status = PMIX_ERR_NOT_SUPPORTED;
    }
  asked->callback (find_status (asked), asked->info.items, asked->info.length, asked->callback_data, release_asked,
                   asked);
}

static void
answer_query (const DvmdPmixCall *call, int status, GVariant *answer)
{
  Asked *asked = call->callback_data;
  g_autoptr (GVariant) rows = answer != NULL ? g_variant_get_child_value (answer, 0) : NULL;
  gsize n = 0;

  for (guint i = 0; i < asked->items->len; i++)
    {
      Item *item = &g_array_index (asked->items, Item, i);

      /* A stranger is told nothing. */
      if (!item->is_asked && status != PMIX_ERR_NO_PERMISSIONS)
        continue;
      item->status = status;
      if (rows != NULL && n < g_variant_n_children (rows))
        g_variant_get_child (rows, n++, "(iv)", &item->status, &item->value);
    }
  answer_asked (asked);
}

/* ---- the call ---- */

static void
take_known (DvmdPmixServer *self, Asked *asked, const QueryKey *key, Item *item)
{
  GVariant *value = key->get (self);

  item->value = value != NULL ? g_variant_ref_sink (value) : NULL;
  if (value == NULL)
    item->status = PMIX_ERR_NOT_FOUND;
  else if ((asked->size += g_variant_get_size (value)) > MAX_BYTES)
    item->status = PMIX_ERR_OUT_OF_RESOURCE;
}

static gboolean
names_place (GVariant *qualifiers)
{
  static const char *const places[] = { "node", "node-id", "alloc-id", "request-id" };

  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_autoptr (GVariant) value = g_variant_lookup_value (qualifiers, places[i], NULL);

      if (value != NULL)
        return TRUE;
    }
  return FALSE;
}

static void
add_item (DvmdPmixServer *self, Asked *asked, const char *name, GVariant *qualifiers, int fault,
          GVariantBuilder *questions)
{
  const QueryKey *key = find_key (name);
  Item item = { .key = name, .status = fault };

  if (key == NULL)
    item.status = PMIX_ERR_NOT_SUPPORTED;
  else if (asked->size > MAX_BYTES)
    item.status = PMIX_ERR_OUT_OF_RESOURCE;
  /* It is of this node, and of no other place. */
  else if (fault == PMIX_SUCCESS && key->get != NULL && names_place (qualifiers))
    item.status = PMIX_ERR_NOT_SUPPORTED;
  else if (fault == PMIX_SUCCESS && key->get != NULL)
    take_known (self, asked, key, &item);
  /* The keys of a query share its qualifiers, which go along with each of them. */
  else if (fault == PMIX_SUCCESS && (asked->size += g_variant_get_size (qualifiers)) > MAX_BYTES)
    item.status = PMIX_ERR_OUT_OF_RESOURCE;
  else if (fault == PMIX_SUCCESS)
    {
      item.is_asked = TRUE;
      g_variant_builder_add (questions, "(s@a{sv})", key->word, qualifiers);
    }
  g_array_append_val (asked->items, item);
}

static void
add_query (DvmdPmixServer *self, Asked *asked, const pmix_query_t *query, GVariantBuilder *questions)
{
  g_autoptr (GError) error = NULL;
  GVariant *floating = read_qualifiers (query, &error);
  g_autoptr (GVariant) qualifiers = floating != NULL ? g_variant_ref_sink (floating) : NULL;

  if (error != NULL)
    g_message ("A query: %s", error->message);
  for (gsize i = 0; query->keys != NULL && query->keys[i] != NULL; i++)
    add_item (self, asked, query->keys[i], qualifiers,
              error != NULL ? dvmd_pmix_status_from_error (error) : PMIX_SUCCESS, questions);
}

static gboolean
are_too_many (const pmix_query_t *queries, gsize n_queries)
{
  gsize n = 0;

  for (gsize i = 0; i < n_queries && n <= DVMD_PMIX_MOST_QUESTIONS; i++)
    for (gsize k = 0; queries[i].keys != NULL && queries[i].keys[k] != NULL; k++)
      n++;
  return n > DVMD_PMIX_MOST_QUESTIONS;
}

static void
add_queries (DvmdPmixServer *self, Asked *asked, const pmix_query_t *queries, gsize n_queries,
             GVariantBuilder *questions)
{
  const Item refused = { .status = PMIX_ERR_OUT_OF_RESOURCE };

  if (are_too_many (queries, n_queries))
    {
      g_message ("A query asks for more than %d values", DVMD_PMIX_MOST_QUESTIONS);
      g_array_append_val (asked->items, refused);
      return;
    }
  for (gsize i = 0; i < n_queries; i++)
    add_query (self, asked, &queries[i], questions);
}

void
dvmd_pmix_server_query (DvmdPmixServer *self, const pmix_query_t *queries, gsize n_queries, pmix_info_cbfunc_t callback,
                        void *callback_data)
{
  Asked *asked = g_new0 (Asked, 1);
  const DvmdPmixCall call = { .answer = answer_query, .callback_data = asked };
  g_autoptr (GVariant) questions = NULL;
  GVariantBuilder builder;
  pmix_proc_t server;

  asked->items = g_array_new (FALSE, FALSE, sizeof (Item));
  g_array_set_clear_func (asked->items, item_clear);
  asked->callback = callback;
  asked->callback_data = callback_data;
  dvmd_pmix_server_get_proc (self, &server);
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(sa{sv})"));
  add_queries (self, asked, queries, n_queries, &builder);
  questions = g_variant_ref_sink (g_variant_builder_end (&builder));
  if (dvmd_pmix_server_refuse_stranger (self, &server, &call))
    return;
  if (g_variant_n_children (questions) > 0)
    dvmd_pmix_server_call (self, &call, DVMD_CALL_QUERY, &server, g_variant_new ("(@a(sa{sv}))", questions), NULL);
  else
    answer_asked (asked);
}
