/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Resource sets of Flux: ranks of brokers with their cores, and the hosts of all ranks in their order.
 */

#include "config.h"

#include "resource-set.h"

#include <string.h>

#include <json-glib/json-glib.h>

#include "node-file.h"

/* Lists and objects in each other; json-glib reads deeper ones until the stack is full. */
#define DEEPEST 64
/* A later end, in seconds since the epoch, is a mistake: the year 9999 is over. */
#define LATEST 253402300799.0

typedef struct
{
  guint32 rank;
  guint32 n_cores;
  const char *cores; /* of the text, without brackets */
  int n_bytes;
} Target;

typedef struct
{
  guint64 first;
  guint64 last;
} Range;

static gboolean
refuse_set (const char *place, const char *reason, GError **error)
{
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s: this is no resource set of version 1 (RFC 20): %s", place,
               reason);
  return FALSE;
}

static gboolean
is_too_deep (const char *json)
{
  gboolean in_string = FALSE;
  guint depth = 0;

  for (; *json != '\0'; json++)
    if (in_string && *json == '\\' && json[1] != '\0')
      json++;
    else if (*json == '"')
      in_string = !in_string;
    else if (!in_string && (*json == '[' || *json == '{') && ++depth > DEEPEST)
      return TRUE;
    else if (!in_string && (*json == ']' || *json == '}') && depth > 0)
      depth--;
  return FALSE;
}

/* ---- sets of numbers ---- */

static gboolean
read_number (const char **at, guint64 *number)
{
  char *end;

  if (!g_ascii_isdigit (**at))
    return FALSE;
  *number = g_ascii_strtoull (*at, &end, 10);
  *at = end;
  return *number <= G_MAXUINT32;
}

/* "3" or "0-3", and the comma behind it unless it is the last one */
static gboolean
read_range (const char **at, const char *end, Range *range)
{
  if (!read_number (at, &range->first))
    return FALSE;
  range->last = range->first;
  if (**at == '-')
    {
      ++*at;
      if (!read_number (at, &range->last))
        return FALSE;
    }
  if (range->last < range->first)
    return FALSE;
  return *at == end || (**at == ',' && ++*at < end);
}

/* "0-3,7" or "[0-3,7]", which is never written out: a few bytes may mean billions. n: (out): how many numbers these are
 * (transfer full) (nullable): Range */
static GArray *
read_ranges (const char *ids, const char *place, guint64 *n, GError **error)
{
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof (Range));
  gsize length = strlen (ids);
  gboolean has_brackets = length >= 2 && ids[0] == '[' && ids[length - 1] == ']';
  const char *at = has_brackets ? ids + 1 : ids;
  const char *end = has_brackets ? ids + length - 1 : ids + length;
  Range range;

  *n = 0;
  do
    {
      if (!read_range (&at, end, &range))
        {
          dvmd_node_refuse_text (ids, place, "is no set of numbers; it is written 0-3,7", error);
          return NULL;
        }
      g_array_append_val (ranges, range);
      *n += range.last - range.first + 1;
    }
  while (at < end);
  return g_steal_pointer (&ranges);
}

/* ---- entries ---- */

static gboolean
add_targets (GArray *targets, GArray *ranks, guint64 n_ranks, guint64 n_cores, const char *cores, const char *place,
             GError **error)
{
  if (n_cores > DVMD_NODE_TABLE_MOST_SLOTS)
    return refuse_set (place, "a node has more than " G_STRINGIFY (DVMD_NODE_TABLE_MOST_SLOTS) " cores", error);
  if (n_ranks > DVM_HOST_LIST_MOST_NAMES - targets->len)
    return refuse_set (place, "R_lite has more than " G_STRINGIFY (DVM_HOST_LIST_MOST_NAMES) " ranks", error);
  for (guint i = 0; i < ranks->len; i++)
    {
      const Range *range = &g_array_index (ranks, Range, i);

      for (guint64 rank = range->first; rank <= range->last; rank++)
        {
          Target target = { .rank = (guint32)rank, .n_cores = (guint32)n_cores };

          target.cores = cores + strspn (cores, "[");
          target.n_bytes = (int)strcspn (target.cores, "]");

          g_array_append_val (targets, target);
        }
    }
  return TRUE;
}

/* { "rank": "0-3", "children": { "core": "0-47" } } */
static gboolean
read_targets (GVariant *entry, const char *place, GArray *targets, GError **error)
{
  g_autoptr (GVariant) children = NULL;
  const char *rank, *core;
  g_autoptr (GArray) ranks = NULL;
  g_autoptr (GArray) cores = NULL;
  guint64 n_ranks, n_cores;

  if (!g_variant_is_of_type (entry, G_VARIANT_TYPE_VARDICT) || !g_variant_lookup (entry, "rank", "&s", &rank)
      || !g_variant_lookup (entry, "children", "@a{sv}", &children)
      || !g_variant_lookup (children, "core", "&s", &core))
    return refuse_set (place, "an entry of R_lite is without its rank or core", error);
  ranks = read_ranges (rank, place, &n_ranks, error);
  if (ranks != NULL)
    cores = read_ranges (core, place, &n_cores, error);
  return cores != NULL && add_targets (targets, ranks, n_ranks, n_cores, core, place, error);
}

static int
compare_ranks (gconstpointer a, gconstpointer b)
{
  guint32 first = ((const Target *)a)->rank;
  guint32 second = ((const Target *)b)->rank;

  return first < second ? -1 : first > second;
}

/* (transfer full) (nullable): the hosts of all ranks */
static char **
read_hosts (GVariant *list, const char *place, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  GVariantIter iter;
  GVariant *entry;

  g_variant_iter_init (&iter, list);
  while (g_variant_iter_next (&iter, "v", &entry))
    {
      gboolean is_text = g_variant_is_of_type (entry, G_VARIANT_TYPE_STRING);

      if (is_text)
        g_string_append_printf (text, "%s%s", text->len > 0 ? "," : "", g_variant_get_string (entry, NULL));
      g_variant_unref (entry);
      if (!is_text)
        {
          refuse_set (place, "an entry of nodelist is no text", error);
          return NULL;
        }
    }
  return dvm_host_list_expand (text->str, place, error);
}

static gboolean
add_nodes (GArray *targets, char **hosts, const char *place, DvmdNodeTable *table, GError **error)
{
  if (targets->len != g_strv_length (hosts))
    return refuse_set (place, "nodelist has another number of hosts than R_lite has ranks", error);
  g_array_sort (targets, compare_ranks);
  for (guint i = 0; i < targets->len; i++)
    {
      const Target *target = &g_array_index (targets, Target, i);
      g_autofree char *cores = NULL;

      if (i > 0 && target->rank == (target - 1)->rank)
        return refuse_set (place, "a rank comes twice in R_lite", error);
      if (!dvmd_node_check_name (hosts[i], place, error))
        return FALSE;
      cores = g_strndup (target->cores, (gsize)target->n_bytes);
      dvmd_node_table_add (table, hosts[i], target->n_cores);
      dvmd_node_table_add_cpus (table, hosts[i], "core", cores);
    }
  return TRUE;
}

/* The targets are sorted. */
static void
add_ranks (GArray *targets, char **hosts, GHashTable *ranks, gboolean relative)
{
  for (guint i = 0; i < targets->len; i++)
    {
      char *name = g_ascii_strdown (hosts[i], -1);

      if (g_hash_table_contains (ranks, name))
        g_free (name);
      else
        g_hash_table_insert (ranks, name,
                             g_strdup_printf ("%u", relative ? i : g_array_index (targets, Target, i).rank));
    }
}

/* Whole or with a fraction; 0 is what Flux writes where there is no end. */
static gboolean
read_expiration (GVariant *execution, const char *place, gint64 *expiration, GError **error)
{
  g_autoptr (GVariant) value = g_variant_lookup_value (execution, "expiration", NULL);
  double seconds = 0;

  if (value != NULL && g_variant_is_of_type (value, G_VARIANT_TYPE_INT64))
    seconds = (double)g_variant_get_int64 (value);
  else if (value != NULL && g_variant_is_of_type (value, G_VARIANT_TYPE_DOUBLE))
    seconds = g_variant_get_double (value);
  else if (value != NULL)
    return refuse_set (place, "expiration is no number", error);
  if (!(seconds >= 0 && seconds <= LATEST))
    return refuse_set (place, "expiration is no time in seconds since 1970", error);
  if (expiration != NULL)
    *expiration = (gint64)seconds;
  return TRUE;
}

gboolean
dvmd_resource_set_read (const char *text, const char *place, DvmdNodeTable *table, GHashTable *ranks, gboolean relative,
                        gint64 *expiration, GError **error)
{
  g_autoptr (GError) wrong = NULL;
  g_autoptr (JsonNode) root = NULL;
  g_autoptr (GVariant) set = NULL;
  g_autoptr (GVariant) execution = NULL;
  g_autoptr (GVariant) lite = NULL;
  g_autoptr (GVariant) list = NULL;
  g_autoptr (GArray) targets = g_array_new (FALSE, FALSE, sizeof (Target));
  g_auto (GStrv) hosts = NULL;
  gint64 version = 0;

  if (is_too_deep (text))
    return refuse_set (place, "lists and objects are nested too deeply", error);
  /* In two steps: json_gvariant_deserialize_data() loses its parser when the text is wrong (1.6). */
  root = json_from_string (text, &wrong);
  if (root != NULL)
    set = json_gvariant_deserialize (root, "a{sv}", &wrong);
  if (set == NULL)
    return refuse_set (place, wrong != NULL ? wrong->message : "it is empty", error);
  if (!g_variant_lookup (set, "version", "x", &version) || version != 1)
    return refuse_set (place, "its version is not 1", error);
  if (!g_variant_lookup (set, "execution", "@a{sv}", &execution)
      || !g_variant_lookup (execution, "R_lite", "@av", &lite)
      || !g_variant_lookup (execution, "nodelist", "@av", &list))
    return refuse_set (place, "execution, R_lite or nodelist is missing", error);
  if (!read_expiration (execution, place, expiration, error))
    return FALSE;
  if (g_variant_n_children (lite) == 0)
    return TRUE;
  for (gsize i = 0; i < g_variant_n_children (lite); i++)
    {
      g_autoptr (GVariant) child = g_variant_get_child_value (lite, i);
      g_autoptr (GVariant) entry = g_variant_get_variant (child);

      if (!read_targets (entry, place, targets, error))
        return FALSE;
    }
  hosts = read_hosts (list, place, error);
  if (hosts == NULL || !add_nodes (targets, hosts, place, table, error))
    return FALSE;
  add_ranks (targets, hosts, ranks, relative);
  return TRUE;
}
