/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hardware of a node as mappers see it: objects and their cpus, in plain data.
 */

#include "config.h"

#include "dvmd-map-topology-private.h"

#include "dvmd-map-room.h"

#include <string.h>

#define LARGEST_CPU 65535

struct _DvmdMapTopology
{
  GPtrArray *objects[DVMD_N_OBJECT_KINDS]; /* DvmdCpuset */
  GHashTable *rooms;                       /* GBytes -> DvmdMapRoom */
  DvmdMapTopologyLoad load;
  gpointer user_data;
  GDestroyNotify user_data_free;
};

/* ---- sets of cpus ---- */

static DvmdCpuset *
wrap (GArray *words)
{
  DvmdCpuset *self = g_new (DvmdCpuset, 1);

  self->n_words = words->len;
  self->words = (const guint64 *)g_array_free (words, FALSE);
  return self;
}

static gboolean
read_cpu (const char **text, guint *cpu)
{
  char *end = NULL;
  guint64 number;

  if (!g_ascii_isdigit (**text))
    return FALSE;
  number = g_ascii_strtoull (*text, &end, 10);
  *text = end;
  *cpu = (guint)number;
  return number <= LARGEST_CPU;
}

static gboolean
read_range (GArray *words, const char **text)
{
  guint first;
  guint last;

  if (!read_cpu (text, &first))
    return FALSE;
  last = first;
  if (**text == '-')
    {
      (*text)++;
      if (!read_cpu (text, &last) || last < first)
        return FALSE;
    }
  if (words->len <= last / 64)
    g_array_set_size (words, last / 64 + 1);
  for (guint cpu = first; cpu <= last; cpu++)
    g_array_index (words, guint64, cpu / 64) |= G_GUINT64_CONSTANT (1) << cpu % 64;
  return TRUE;
}

DvmdCpuset *
dvmd_cpuset_new_from_list (const char *list)
{
  g_autoptr (GArray) words = g_array_new (FALSE, TRUE, sizeof (guint64));

  while (list[0] != '\0')
    {
      if (!read_range (words, &list))
        return NULL;
      if (list[0] == ',' && list[1] != '\0')
        list++;
      else if (list[0] != '\0')
        return NULL;
    }
  return wrap (g_steal_pointer (&words));
}

static gboolean
has_cpu (const DvmdCpuset *self, guint cpu)
{
  return cpu / 64 < self->n_words && (self->words[cpu / 64] >> cpu % 64 & 1) != 0;
}

char *
dvmd_cpuset_to_list (const DvmdCpuset *self)
{
  GString *list = g_string_new (NULL);

  for (guint first = 0; first < 64 * self->n_words; first++)
    {
      guint last = first;

      if (!has_cpu (self, first))
        continue;
      while (has_cpu (self, last + 1))
        last++;
      g_string_append_printf (list, last > first ? "%s%u-%u" : "%s%u", list->len > 0 ? "," : "", first, last);
      first = last;
    }
  return g_string_free (list, FALSE);
}

DvmdCpuset *
dvmd_cpuset_copy (const DvmdCpuset *self)
{
  DvmdCpuset *copy = g_new (DvmdCpuset, 1);

  copy->n_words = self->n_words;
  copy->words = g_memdup2 (self->words, self->n_words * sizeof (guint64));
  return copy;
}

void
dvmd_cpuset_free (DvmdCpuset *self)
{
  g_free ((gpointer)self->words);
  g_free (self);
}

gboolean
dvmd_cpuset_is_within (const DvmdCpuset *self, const DvmdCpuset *other)
{
  for (guint i = 0; i < self->n_words; i++)
    if ((self->words[i] & ~(i < other->n_words ? other->words[i] : 0)) != 0)
      return FALSE;
  return TRUE;
}

/* ---- objects ---- */

DvmdMapTopology *
dvmd_map_topology_new (DvmdMapTopologyLoad load, gpointer user_data, GDestroyNotify user_data_free)
{
  DvmdMapTopology *self = g_new0 (DvmdMapTopology, 1);

  for (guint kind = 0; kind < DVMD_N_OBJECT_KINDS; kind++)
    self->objects[kind] = g_ptr_array_new_with_free_func ((GDestroyNotify)dvmd_cpuset_free);
  self->rooms = g_hash_table_new_full (g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref,
                                       (GDestroyNotify)dvmd_map_room_unref);
  self->load = load;
  self->user_data = user_data;
  self->user_data_free = user_data_free;
  return self;
}

void
dvmd_map_topology_free (DvmdMapTopology *self)
{
  for (guint kind = 0; kind < DVMD_N_OBJECT_KINDS; kind++)
    g_ptr_array_unref (self->objects[kind]);
  g_hash_table_unref (self->rooms);
  if (self->user_data_free != NULL)
    self->user_data_free (self->user_data);
  g_free (self);
}

void
dvmd_map_topology_add (DvmdMapTopology *self, DvmdObjectKind kind, const char *cpus)
{
  DvmdCpuset *set = dvmd_cpuset_new_from_list (cpus);

  g_return_if_fail (set != NULL);

  g_ptr_array_add (self->objects[kind], set);
}

guint32
dvmd_map_topology_get_n_objects (DvmdMapTopology *self, DvmdObjectKind kind)
{
  g_return_val_if_fail ((guint)kind < DVMD_N_OBJECT_KINDS, 0);

  if (self->objects[DVMD_OBJECT_NODE]->len == 0)
    self->load (self, self->user_data);
  return self->objects[kind]->len;
}

const DvmdCpuset *
dvmd_map_topology_get_cpus (DvmdMapTopology *self, DvmdObjectKind kind, guint32 index)
{
  return index < dvmd_map_topology_get_n_objects (self, kind) ? g_ptr_array_index (self->objects[kind], index) : NULL;
}

GHashTable *
dvmd_map_topology_get_rooms (DvmdMapTopology *self)
{
  return self->rooms;
}
