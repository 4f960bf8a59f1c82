/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many processes the objects of a node have room for, counted once for all nodes that are alike.
 */

#include "config.h"

#include "dvmd-map-room.h"

#include "dvmd-map-topology-private.h"

/* A topology keeps this many answers: nodes of which other jobs use different cpus have different room. */
#define KEPT_ROOMS 256

#define NO_PLACE G_MAXUINT16

/* A cpu is in one object of each of these kinds; devices lie beside them. */
#define N_KINDS DVMD_OBJECT_DEVICE

/* One cpu: a core, or a hardware thread, that may be used. */
typedef struct
{
  guint16 place[N_KINDS]; /* in which object of each kind it is, NO_PLACE: in none */
  gboolean is_free;
} Unit;

struct _DvmdMapRoom
{
  gatomicrefcount ref_count;
  GArray *objects[DVMD_N_OBJECT_KINDS]; /* DvmdMapObject */
  GArray *units;                        /* Unit */
  guint8 *near;                         /* for each device a row over the units: 1, it is near */
};

/* ---- sets ---- */

static guint64
word_of (const DvmdCpuset *set, guint i)
{
  return i < set->n_words ? set->words[i] : 0;
}

/* Without a set each cpu is in it. */
static guint64
allowed_word (const DvmdCpuset *cpus, const DvmdCpuset *allowed, guint i)
{
  return cpus->words[i] & (allowed != NULL ? word_of (allowed, i) : G_MAXUINT64);
}

/* (-1): the set has none that is allowed */
static int
first_cpu (const DvmdCpuset *cpus, const DvmdCpuset *allowed)
{
  for (guint i = 0; i < cpus->n_words; i++)
    {
      guint64 word = allowed_word (cpus, allowed, i);

      if (word != 0)
        return (int)(64 * i) + __builtin_ctzll (word);
    }
  return -1;
}

static gboolean
is_used (const DvmdCpuset *cpus, const DvmdCpuset *allowed, const DvmdCpuset *in_use)
{
  for (guint i = 0; in_use != NULL && i < cpus->n_words; i++)
    if ((allowed_word (cpus, allowed, i) & word_of (in_use, i)) != 0)
      return TRUE;
  return FALSE;
}

static gboolean
equals (const DvmdCpuset *left, const DvmdCpuset *right)
{
  return dvmd_cpuset_is_within (left, right) && dvmd_cpuset_is_within (right, left);
}

/* ---- counting ---- */

/* Where each cpu of the operating system is: which object of the kind. */
typedef struct
{
  DvmdMapTopology *topology;
  const DvmdCpuset *allowed; /* never NULL */
  const DvmdCpuset *in_use;  /* (nullable) */
  guint n_cpus;
  guint16 *owner[N_KINDS];
} Survey;

static void
mark_object (Survey *self, DvmdObjectKind kind, const DvmdCpuset *cpus, guint16 index)
{
  for (guint i = 0; i < cpus->n_words; i++)
    for (guint64 word = cpus->words[i]; word != 0; word &= word - 1)
      {
        guint cpu = 64 * i + __builtin_ctzll (word);

        if (cpu < self->n_cpus && self->owner[kind][cpu] == NO_PLACE)
          self->owner[kind][cpu] = index;
      }
}

/* The memory of one set of cores may be two nodes, a fast and a large one: no process is put on both. */
static gboolean
is_second_memory (Survey *self, DvmdObjectKind kind, guint index)
{
  const DvmdCpuset *cpus = dvmd_map_topology_get_cpus (self->topology, kind, index);

  for (guint i = 0; kind == DVMD_OBJECT_NUMA && i < index; i++)
    if (equals (cpus, dvmd_map_topology_get_cpus (self->topology, kind, i)))
      return TRUE;
  return FALSE;
}

static void
survey_init (Survey *self)
{
  self->n_cpus = 64 * self->allowed->n_words;
  for (guint kind = 0; kind < N_KINDS; kind++)
    {
      guint n = dvmd_map_topology_get_n_objects (self->topology, kind);

      self->owner[kind] = g_new (guint16, MAX (self->n_cpus, 1));
      for (guint cpu = 0; cpu < self->n_cpus; cpu++)
        self->owner[kind][cpu] = NO_PLACE;
      for (guint i = 0; i < MIN (n, NO_PLACE); i++)
        if (!is_second_memory (self, kind, i))
          mark_object (self, kind, dvmd_map_topology_get_cpus (self->topology, kind, i), (guint16)i);
    }
}

static void
survey_clear (Survey *self)
{
  for (guint kind = 0; kind < N_KINDS; kind++)
    g_free (self->owner[kind]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Survey, survey_clear)

/* The place among the objects that can be used. */
static guint16
count_object (DvmdMapRoom *self, DvmdObjectKind kind, guint16 index, gboolean is_free)
{
  GArray *objects = self->objects[kind];
  DvmdMapObject added = { .index = index };
  guint place = objects->len;

  while (place > 0 && g_array_index (objects, DvmdMapObject, place - 1).index > index)
    place--;
  if (place > 0 && g_array_index (objects, DvmdMapObject, place - 1).index == index)
    place--;
  else
    g_array_insert_val (objects, place, added);
  g_array_index (objects, DvmdMapObject, place).n_cpus++;
  g_array_index (objects, DvmdMapObject, place).n_free += is_free;
  return (guint16)place;
}

static void
add_unit (DvmdMapRoom *self, Survey *survey, const DvmdCpuset *cpus)
{
  int cpu = first_cpu (cpus, survey->allowed);
  Unit unit = { .is_free = !is_used (cpus, survey->allowed, survey->in_use) };

  if (cpu < 0)
    return;
  for (guint kind = 0; kind < N_KINDS; kind++)
    {
      unit.place[kind] = survey->owner[kind][cpu];
      if (unit.place[kind] != NO_PLACE)
        count_object (self, kind, unit.place[kind], unit.is_free);
    }
  g_array_append_val (self->units, unit);
}

/* From the indices of the objects to their places: which objects there are is known only in the end. */
static void
find_places (DvmdMapRoom *self, DvmdObjectKind kind, guint n_objects)
{
  g_autofree guint16 *places = g_new (guint16, MAX (n_objects, 1));

  for (guint i = 0; i < self->objects[kind]->len; i++)
    places[g_array_index (self->objects[kind], DvmdMapObject, i).index] = (guint16)i;
  for (guint i = 0; i < self->units->len; i++)
    {
      Unit *unit = &g_array_index (self->units, Unit, i);

      if (unit->place[kind] != NO_PLACE)
        unit->place[kind] = places[unit->place[kind]];
    }
}

/* A unit that the job may use in part is near, if that part is. */
static gboolean
is_near (const Survey *survey, const DvmdCpuset *cpus, const DvmdCpuset *device)
{
  gboolean near = FALSE;

  for (guint i = 0; i < cpus->n_words; i++)
    {
      guint64 word = allowed_word (cpus, survey->allowed, i);

      if ((word & ~word_of (device, i)) != 0)
        return FALSE;
      near = near || word != 0;
    }
  return near;
}

/* The cpus that may be used, in the order of the units. */
static void
add_devices (DvmdMapRoom *self, Survey *survey, DvmdObjectKind units)
{
  guint n_devices = dvmd_map_topology_get_n_objects (survey->topology, DVMD_OBJECT_DEVICE);
  guint n_units = dvmd_map_topology_get_n_objects (survey->topology, units);

  self->near = g_malloc0 ((gsize)n_devices * self->units->len + 1);
  for (guint device = 0; device < n_devices; device++)
    {
      const DvmdCpuset *around = dvmd_map_topology_get_cpus (survey->topology, DVMD_OBJECT_DEVICE, device);
      guint8 *row = self->near + (gsize)self->objects[DVMD_OBJECT_DEVICE]->len * self->units->len;
      DvmdMapObject object = { .index = device };
      guint place = 0;

      for (guint i = 0; i < n_units; i++)
        {
          const DvmdCpuset *cpus = dvmd_map_topology_get_cpus (survey->topology, units, i);

          if (first_cpu (cpus, survey->allowed) < 0)
            continue;
          row[place] = is_near (survey, cpus, around);
          object.n_cpus += row[place];
          object.n_free += row[place] && g_array_index (self->units, Unit, place).is_free;
          place++;
        }
      if (object.n_cpus > 0)
        g_array_append_val (self->objects[DVMD_OBJECT_DEVICE], object);
    }
}

static DvmdObjectKind
kind_of_units (DvmdMapTopology *topology, DvmdCpuKind cpus)
{
  if (cpus == DVMD_CPUS_CORE && dvmd_map_topology_get_n_objects (topology, DVMD_OBJECT_CORE) > 0)
    return DVMD_OBJECT_CORE;
  return dvmd_map_topology_get_n_objects (topology, DVMD_OBJECT_HWTHREAD) > 0 ? DVMD_OBJECT_HWTHREAD : DVMD_OBJECT_NODE;
}

static DvmdMapRoom *
make_room (Survey *survey, DvmdCpuKind cpus)
{
  DvmdMapRoom *self = g_new0 (DvmdMapRoom, 1);
  DvmdObjectKind units = kind_of_units (survey->topology, cpus);
  guint n_units = dvmd_map_topology_get_n_objects (survey->topology, units);

  g_atomic_ref_count_init (&self->ref_count);
  self->units = g_array_sized_new (FALSE, FALSE, sizeof (Unit), n_units);
  for (guint kind = 0; kind < DVMD_N_OBJECT_KINDS; kind++)
    self->objects[kind] = g_array_new (FALSE, FALSE, sizeof (DvmdMapObject));
  survey_init (survey);
  for (guint i = 0; i < n_units; i++)
    add_unit (self, survey, dvmd_map_topology_get_cpus (survey->topology, units, i));
  for (guint kind = 0; kind < N_KINDS; kind++)
    find_places (self, kind, dvmd_map_topology_get_n_objects (survey->topology, kind));
  add_devices (self, survey, units);
  return self;
}

/* ---- what was asked for before ---- */

static void
append_set (GByteArray *key, const DvmdCpuset *set)
{
  guint32 n_words = set != NULL ? set->n_words : G_MAXUINT32;

  g_byte_array_append (key, (const guint8 *)&n_words, sizeof n_words);
  if (set != NULL && n_words > 0)
    g_byte_array_append (key, (const guint8 *)set->words, n_words * sizeof (guint64));
}

static GBytes *
make_key (const DvmdCpuset *allowed, const DvmdCpuset *in_use, DvmdCpuKind cpus)
{
  GByteArray *key = g_byte_array_new ();
  guint8 kind = cpus;

  g_byte_array_append (key, &kind, 1);
  append_set (key, allowed);
  append_set (key, in_use);
  return g_byte_array_free_to_bytes (key);
}

DvmdMapRoom *
dvmd_map_room_new (DvmdMapTopology *topology, const DvmdCpuset *allowed, const DvmdCpuset *in_use, DvmdCpuKind cpus)
{
  GHashTable *rooms = dvmd_map_topology_get_rooms (topology);
  g_autoptr (GBytes) key = make_key (allowed, in_use, cpus);
  g_auto (Survey) survey = { .topology = topology, .allowed = allowed, .in_use = in_use };
  DvmdMapRoom *self = g_hash_table_lookup (rooms, key);

  if (self != NULL)
    return dvmd_map_room_ref (self);
  if (dvmd_map_topology_get_n_objects (topology, DVMD_OBJECT_NODE) == 0)
    return NULL;
  if (survey.allowed == NULL)
    survey.allowed = dvmd_map_topology_get_cpus (topology, DVMD_OBJECT_NODE, 0);
  self = make_room (&survey, cpus);
  if (g_hash_table_size (rooms) >= KEPT_ROOMS)
    g_hash_table_remove_all (rooms);
  g_hash_table_insert (rooms, g_steal_pointer (&key), dvmd_map_room_ref (self));
  return self;
}

DvmdMapRoom *
dvmd_map_room_ref (DvmdMapRoom *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
dvmd_map_room_unref (DvmdMapRoom *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  for (guint kind = 0; kind < DVMD_N_OBJECT_KINDS; kind++)
    g_array_unref (self->objects[kind]);
  g_array_unref (self->units);
  g_free (self->near);
  g_free (self);
}

/* ---- answers ---- */

const DvmdMapObject *
dvmd_map_room_get_objects (DvmdMapRoom *self, DvmdObjectKind kind, guint32 *n_objects)
{
  *n_objects = 0;
  g_return_val_if_fail ((guint)kind < DVMD_N_OBJECT_KINDS, NULL);

  *n_objects = self->objects[kind]->len;
  return (const DvmdMapObject *)self->objects[kind]->data;
}

static gboolean
is_in (DvmdMapRoom *self, guint unit, DvmdObjectKind kind, guint32 place)
{
  if (kind == DVMD_OBJECT_DEVICE)
    return self->near[(gsize)place * self->units->len + unit] != 0;
  return g_array_index (self->units, Unit, unit).place[kind] == place;
}

/* (transfer full): how many cpus of the object each package has, those without one in the end */
static guint32 *
count_by_package (DvmdMapRoom *self, DvmdObjectKind kind, guint32 place, gboolean free_alone)
{
  guint32 n_packages = self->objects[DVMD_OBJECT_PACKAGE]->len;
  guint32 *of_package = g_new0 (guint32, n_packages + 1);

  for (guint i = 0; i < self->units->len; i++)
    {
      const Unit *unit = &g_array_index (self->units, Unit, i);

      if (is_in (self, i, kind, place) && (unit->is_free || !free_alone))
        of_package[MIN (unit->place[DVMD_OBJECT_PACKAGE], n_packages)]++;
    }
  return of_package;
}

guint32
dvmd_map_room_count (DvmdMapRoom *self, DvmdObjectKind kind, guint32 place, guint32 pe)
{
  guint32 n_objects;
  const DvmdMapObject *objects = dvmd_map_room_get_objects (self, kind, &n_objects);
  guint32 n_packages = self->objects[DVMD_OBJECT_PACKAGE]->len;
  g_autofree guint32 *of_package = NULL;
  guint32 count = 0;

  g_return_val_if_fail (place < n_objects, 0);

  if (pe <= 1 || n_packages <= 1)
    return objects[place].n_free / MAX (pe, 1);
  of_package = count_by_package (self, kind, place, TRUE);
  for (guint i = 0; i <= n_packages; i++)
    count += of_package[i] / pe;
  return count;
}

gboolean
dvmd_map_room_holds (DvmdMapRoom *self, DvmdObjectKind kind, guint32 place, guint32 pe)
{
  guint32 n_objects;
  const DvmdMapObject *objects = dvmd_map_room_get_objects (self, kind, &n_objects);
  g_autofree guint32 *of_package = NULL;

  g_return_val_if_fail (place < n_objects, FALSE);

  if (pe <= 1 || objects[place].n_cpus < pe)
    return objects[place].n_cpus >= pe;
  of_package = count_by_package (self, kind, place, FALSE);
  for (guint i = 0; i <= self->objects[DVMD_OBJECT_PACKAGE]->len; i++)
    if (of_package[i] >= pe)
      return TRUE;
  return FALSE;
}

guint32
dvmd_map_room_count_inside (DvmdMapRoom *self, DvmdObjectKind kind, guint32 place, DvmdObjectKind inner)
{
  g_autofree guint8 *seen = NULL;
  guint32 count = 0;

  g_return_val_if_fail ((guint)kind < DVMD_N_OBJECT_KINDS && (guint)inner < N_KINDS, 0);

  seen = g_malloc0 (self->objects[inner]->len + 1);
  for (guint i = 0; i < self->units->len; i++)
    {
      const Unit *unit = &g_array_index (self->units, Unit, i);

      if (unit->place[inner] == NO_PLACE || seen[unit->place[inner]])
        continue;
      seen[unit->place[inner]] = TRUE;
      count += is_in (self, i, kind, place);
    }
  return count;
}
