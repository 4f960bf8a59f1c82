/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Resource sets of Flux: ranks of brokers with their cores, and the hosts of all ranks in their order.
 */

#include "config.h"

#include "resource-set.h"

#include <string.h>

#include <json-glib/json-glib.h>

#include "environment.h"
#include "host-list.h"
#include "node-file.h"

/* Lists and objects in each other; json-glib reads deeper ones until the stack is full. */
#define DEEPEST 64

typedef struct
{
  guint32 rank;
  guint32 n_cores;
} Target;

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

/* "0-3,7": as in a list of hosts without names. (transfer full) (nullable) */
static char **
read_numbers (const char *ids, const char *place, GError **error)
{
  g_autofree char *list = ids[0] == '[' ? g_strdup (ids) : g_strconcat ("[", ids, "]", NULL);

  return dvmd_host_list_expand (list, place, error);
}

/* { "rank": "0-3", "children": { "core": "0-47" } } */
static gboolean
read_targets (GVariant *entry, const char *place, GArray *targets, GError **error)
{
  g_autoptr (GVariant) children = NULL;
  const char *ranks, *cores;
  g_auto (GStrv) numbers = NULL;
  g_auto (GStrv) core_numbers = NULL;

  if (!g_variant_is_of_type (entry, G_VARIANT_TYPE_VARDICT) || !g_variant_lookup (entry, "rank", "&s", &ranks)
      || !g_variant_lookup (entry, "children", "@a{sv}", &children)
      || !g_variant_lookup (children, "core", "&s", &cores))
    return refuse_set (place, "an entry of R_lite is without its rank or core", error);
  numbers = read_numbers (ranks, place, error);
  if (numbers != NULL)
    core_numbers = read_numbers (cores, place, error);
  if (core_numbers == NULL)
    return FALSE;
  for (guint i = 0; numbers[i] != NULL; i++)
    {
      Target target = { .n_cores = g_strv_length (core_numbers) };

      if (!dvmd_environment_parse_number (numbers[i], place, 0, G_MAXUINT32, &target.rank, error))
        return FALSE;
      g_array_append_val (targets, target);
    }
  return TRUE;
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
  return dvmd_host_list_expand (text->str, place, error);
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

      if (i > 0 && target->rank == (target - 1)->rank)
        return refuse_set (place, "a rank comes twice in R_lite", error);
      if (!dvmd_node_check_name (hosts[i], place, error))
        return FALSE;
      dvmd_node_table_add (table, hosts[i], target->n_cores);
    }
  return TRUE;
}

gboolean
dvmd_resource_set_read (const char *text, const char *place, DvmdNodeTable *table, GError **error)
{
  g_autoptr (GError) wrong = NULL;
  g_autoptr (GVariant) set = NULL;
  g_autoptr (GVariant) execution = NULL;
  g_autoptr (GVariant) lite = NULL;
  g_autoptr (GVariant) list = NULL;
  g_autoptr (GArray) targets = g_array_new (FALSE, FALSE, sizeof (Target));
  g_auto (GStrv) hosts = NULL;
  gint64 version = 0;

  if (is_too_deep (text))
    return refuse_set (place, "lists and objects are nested too deeply", error);
  set = json_gvariant_deserialize_data (text, -1, "a{sv}", &wrong);
  if (set == NULL)
    return refuse_set (place, wrong->message, error);
  if (!g_variant_lookup (set, "version", "x", &version) || version != 1)
    return refuse_set (place, "its version is not 1", error);
  if (!g_variant_lookup (set, "execution", "@a{sv}", &execution)
      || !g_variant_lookup (execution, "R_lite", "@av", &lite)
      || !g_variant_lookup (execution, "nodelist", "@av", &list))
    return refuse_set (place, "execution, R_lite or nodelist is missing", error);
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
  return hosts != NULL && add_nodes (targets, hosts, place, table, error);
}
