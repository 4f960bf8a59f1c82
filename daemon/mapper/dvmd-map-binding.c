/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A map and the hardware of a node give the cpus of the processes there, for the controller and for the agents.
 */

#include "config.h"

#include "dvmd-map-binding.h"

#include "dvmd-binding.h"

/* The binder keeps at most this number of answers; a job on nodes of more kinds than that computes some of them again.
 */
#define KEPT_ANSWERS 256

struct _DvmdMapBinder
{
  DvmdMap *map;
  GHashTable *answers;    /* GBytes -> GPtrArray: of nodes of one row, and by the places of processes */
  GHashTable *topologies; /* set of DvmdTopology: those of the answers */
  GHashTable *claimed;    /* GPtrArray, an answer -> GRefString: the cpus that its processes count for */
};

/* The cpus of a node follow from this, and from the places of its processes. */
typedef struct
{
  DvmdTopology *topology;
  const char *excluded; /* (nullable): a text of the map */
  gint64 row;           /* the only one of the node; -1: the places follow */
} Key;

static void
unref_topology (gpointer topology)
{
  dvmd_topology_unref (topology);
}

DvmdMapBinder *
dvmd_map_binder_new (DvmdMap *map)
{
  DvmdMapBinder *self = g_new0 (DvmdMapBinder, 1);

  self->map = map;
  self->answers = g_hash_table_new_full (g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref,
                                         (GDestroyNotify)g_ptr_array_unref);
  self->topologies = g_hash_table_new_full (NULL, NULL, unref_topology, NULL);
  self->claimed = g_hash_table_new_full (NULL, NULL, (GDestroyNotify)g_ptr_array_unref,
                                         (GDestroyNotify)g_ref_string_release);
  return self;
}

void
dvmd_map_binder_free (DvmdMapBinder *self)
{
  g_hash_table_unref (self->answers);
  g_hash_table_unref (self->topologies);
  g_hash_table_unref (self->claimed);
  g_free (self);
}

/* policies: that of each place is added */
static GArray *
list_places (DvmdMap *map, guint node, GPtrArray *policies)
{
  g_autoptr (GArray) ranks = dvmd_map_expand_node (map, node);
  GArray *places = g_array_sized_new (FALSE, FALSE, sizeof (DvmdBindingPlace), ranks->len);

  for (guint i = 0; i < ranks->len; i++)
    {
      const DvmdMapRank *rank = &g_array_index (ranks, DvmdMapRank, i);

      g_array_append_val (places, rank->place);
      g_ptr_array_add (policies, (gpointer)dvmd_map_get_policy (map, rank->app));
    }
  return places;
}

static GBytes *
make_key (const Key *key, GArray *places, GPtrArray *policies)
{
  GByteArray *bytes = g_byte_array_new ();

  g_byte_array_append (bytes, (const guint8 *)key, sizeof *key);
  if (places != NULL)
    {
      g_byte_array_append (bytes, (const guint8 *)places->data, places->len * sizeof (DvmdBindingPlace));
      g_byte_array_append (bytes, (const guint8 *)policies->pdata, policies->len * sizeof (gpointer));
    }
  return g_byte_array_free_to_bytes (bytes);
}

static void
keep (DvmdMapBinder *self, GBytes *key, DvmdTopology *topology, GPtrArray *lists)
{
  if (g_hash_table_size (self->answers) >= KEPT_ANSWERS)
    g_hash_table_remove_all (self->answers);
  if (!g_hash_table_contains (self->topologies, topology))
    g_hash_table_add (self->topologies, dvmd_topology_ref (topology));
  g_hash_table_insert (self->answers, g_bytes_ref (key), g_ptr_array_ref (lists));
}

/* (transfer full) (nullable) */
static GPtrArray *
bind_places (DvmdMapBinder *self, const Key *key, GArray *places, GPtrArray *policies, GError **error)
{
  g_autoptr (GBytes) bytes = make_key (key, places, policies);
  GPtrArray *lists = g_hash_table_lookup (self->answers, bytes);
  const DvmdBindingRequest request = {
    .topology = key->topology,
    .policies = (const DvmdBindingPolicy *const *)policies->pdata,
    .excluded = key->excluded,
    .places = (const DvmdBindingPlace *)places->data,
    .n_places = places->len,
    .cpusets = (const char *const *)self->map->cpusets->pdata,
    .n_cpusets = self->map->cpusets->len,
  };

  char *claimed = NULL;

  if (lists != NULL)
    return g_ptr_array_ref (lists);
  /* An answer that is kept has its cpus there. */
  if (g_hash_table_size (self->claimed) >= KEPT_ANSWERS)
    {
      g_hash_table_remove_all (self->answers);
      g_hash_table_remove_all (self->claimed);
    }
  lists = dvmd_binding_compute (&request, &claimed, error);
  if (lists == NULL)
    return NULL;
  g_hash_table_insert (self->claimed, g_ptr_array_ref (lists), claimed);
  keep (self, bytes, key->topology, lists);
  return lists;
}

/* All nodes of one row have the same places, which are then looked at once. */
GPtrArray *
dvmd_map_binder_bind (DvmdMapBinder *self, guint node, DvmdTopology *topology, GError **error)
{
  Key key = { .topology = topology, .excluded = dvmd_map_get_excluded (self->map, node) };
  g_autoptr (GBytes) of_row = NULL;
  g_autoptr (GPtrArray) policies = g_ptr_array_new ();
  g_autoptr (GArray) places = NULL;
  GPtrArray *lists;

  key.row = dvmd_map_find_only_row (self->map, node);
  if (key.row >= 0)
    {
      of_row = make_key (&key, NULL, NULL);
      lists = g_hash_table_lookup (self->answers, of_row);
      if (lists != NULL)
        return g_ptr_array_ref (lists);
    }
  places = list_places (self->map, node, policies);
  lists = bind_places (self, &(const Key){ key.topology, key.excluded, -1 }, places, policies, error);
  if (lists != NULL && of_row != NULL)
    keep (self, of_row, topology, lists);
  return lists;
}

const char *
dvmd_map_binder_get_claimed (DvmdMapBinder *self, GPtrArray *lists)
{
  return g_hash_table_lookup (self->claimed, lists);
}
