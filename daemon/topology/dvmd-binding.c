/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The processes of a node are bound: each gets cpus inside the object on which it was placed.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-topology"

#include "dvmd-binding.h"

#include <hwloc.h>

#include "dvm.h"
#include "dvmd-devices.h"
#include "dvmd-unit-heap.h"

#define NO_REGION G_MAXUINT

/* By the numbers of kinds; what people call them. */
static const struct
{
  hwloc_obj_type_t type;
  const char *name;
} kinds[] = {
  { HWLOC_OBJ_MACHINE, "node" },    { HWLOC_OBJ_PACKAGE, "package" }, { HWLOC_OBJ_NUMANODE, "numa" },
  { HWLOC_OBJ_L3CACHE, "l3cache" }, { HWLOC_OBJ_L2CACHE, "l2cache" }, { HWLOC_OBJ_L1CACHE, "l1cache" },
  { HWLOC_OBJ_CORE, "core" },       { HWLOC_OBJ_PU, "hwthread" },
};

G_STATIC_ASSERT (DVMD_KIND_HWTHREAD == 1 + DVMD_TOPOLOGY_HWTHREAD);

#define KIND_PACKAGE  (1 + DVMD_TOPOLOGY_PACKAGE)
#define KIND_CORE     (1 + DVMD_TOPOLOGY_CORE)
#define KIND_HWTHREAD (1 + DVMD_TOPOLOGY_HWTHREAD)

/* A cpu in the sense of the policy: a core, as far as it may be used, or a hardware thread. */
typedef struct
{
  hwloc_bitmap_t cpus;
  guint region;
  guint used;
  gboolean excluded;
  GSList *shares; /* Share: of all places that have it */
} Unit;

/* Cpus of one process are of one region: an object to which processes are bound, or the package around it. */
typedef struct
{
  hwloc_bitmap_t cpus;
  guint n_bound;
} Region;

/* The units that a place has in one region, counted. A unit that is used more is not free again, so that each process
   costs what it takes, and not what the node has. */
typedef struct
{
  guint region;
  guint n_free;
  guint n_used;
  guint n_units;
  DvmdUnitHeap units; /* by their load, the least one first */
} Share;

/* An object on which processes are placed. */
typedef struct
{
  guint n_units;
  GPtrArray *shares; /* Share, by region */
  guint first;       /* those before it have no room any more */
} Members;

typedef struct
{
  const DvmdBindingRequest *request;
  const DvmdBindingPolicy *policy; /* of the places that are looked at */
  hwloc_const_bitmap_t excluded;
  hwloc_bitmap_t claimed; /* borrowed: the cpus that processes count for are added */
  hwloc_topology_t topology;
  GArray *units;       /* Unit, in logical order */
  GArray *unit_of;     /* 1 + the index of the unit of each hardware thread, by its number; 0: it has none */
  GPtrArray *core_of;  /* (nullable) hwloc_const_bitmap_t: its core, by the number of the hardware thread */
  GArray *regions;     /* Region, in logical order */
  GArray *region_of;   /* 1 + the index of the first region of each hardware thread; 0: it is in none */
  GPtrArray *devices;  /* (nullable): hwloc_bitmap_t of each group of devices, when a place was one */
  GHashTable *members; /* kind and object -> Members */
  guint n_bound;       /* processes of the node, those of policies before this one too */
  gboolean by_unit;    /* bound to the cpus that are taken, not to the whole region */
} Binder;

static void
unit_clear (gpointer data)
{
  hwloc_bitmap_free (((Unit *)data)->cpus);
  g_slist_free (((Unit *)data)->shares);
}

static void
region_clear (gpointer data)
{
  hwloc_bitmap_free (((Region *)data)->cpus);
}

static void
share_free (gpointer data)
{
  dvmd_unit_heap_clear (&((Share *)data)->units);
  g_free (data);
}

static void
members_free (gpointer data)
{
  g_ptr_array_unref (((Members *)data)->shares);
  g_free (data);
}

static guint
cpus_per_process (const Binder *self)
{
  return MAX (self->policy->pe, 1);
}

/* ---- the machine ---- */

/* Some virtual machines show no cores: each hardware thread is one. */
static hwloc_obj_type_t
type_of_kind (Binder *self, guint kind)
{
  if (kind == KIND_CORE && hwloc_get_nbobjs_by_type (self->topology, HWLOC_OBJ_CORE) <= 0)
    return HWLOC_OBJ_PU;
  return kinds[kind].type;
}

static hwloc_bitmap_t
cut_to_allowed (Binder *self, hwloc_const_bitmap_t cpus)
{
  hwloc_bitmap_t cut = hwloc_bitmap_alloc ();

  hwloc_bitmap_and (cut, cpus, hwloc_topology_get_allowed_cpuset (self->topology));
  return cut;
}

/* The first region that has all of them. */
static guint
find_region (Binder *self, hwloc_const_bitmap_t cpus)
{
  guint first = (guint)hwloc_bitmap_first (cpus);

  if (first >= self->region_of->len || g_array_index (self->region_of, guint, first) == 0)
    return NO_REGION;
  for (guint i = g_array_index (self->region_of, guint, first) - 1; i < self->regions->len; i++)
    if (hwloc_bitmap_isincluded (cpus, g_array_index (self->regions, Region, i).cpus))
      return i;
  return NO_REGION;
}

static void
set_index (GArray *of_cpus, hwloc_const_bitmap_t cpus, guint index)
{
  int last = hwloc_bitmap_last (cpus);

  if (last >= (int)of_cpus->len)
    g_array_set_size (of_cpus, (guint)last + 1);
  for (int cpu = hwloc_bitmap_first (cpus); cpu >= 0; cpu = hwloc_bitmap_next (cpus, cpu))
    if (g_array_index (of_cpus, guint, cpu) == 0)
      g_array_index (of_cpus, guint, cpu) = index + 1;
}

static void
add_regions (Binder *self, guint kind)
{
  hwloc_obj_t object = NULL;

  while ((object = hwloc_get_next_obj_by_type (self->topology, kinds[kind].type, object)) != NULL)
    {
      Region region = { .cpus = cut_to_allowed (self, object->cpuset) };

      set_index (self->region_of, region.cpus, self->regions->len);
      g_array_append_val (self->regions, region);
    }
}

static void
add_units (Binder *self, gboolean hwthreads, hwloc_const_bitmap_t excluded)
{
  hwloc_obj_type_t type = type_of_kind (self, hwthreads ? KIND_HWTHREAD : KIND_CORE);
  hwloc_obj_t object = NULL;

  while ((object = hwloc_get_next_obj_by_type (self->topology, type, object)) != NULL)
    {
      Unit unit = { .cpus = cut_to_allowed (self, object->cpuset) };

      if (hwloc_bitmap_iszero (unit.cpus))
        {
          hwloc_bitmap_free (unit.cpus);
          continue;
        }
      unit.region = find_region (self, unit.cpus);
      unit.excluded = hwloc_bitmap_intersects (unit.cpus, excluded);
      set_index (self->unit_of, unit.cpus, self->units->len);
      g_array_append_val (self->units, unit);
    }
}

static void
index_cores (Binder *self)
{
  hwloc_obj_t core = NULL;

  self->core_of = g_ptr_array_new ();
  while ((core = hwloc_get_next_obj_by_type (self->topology, HWLOC_OBJ_CORE, core)) != NULL)
    for (int cpu = hwloc_bitmap_first (core->cpuset); cpu >= 0; cpu = hwloc_bitmap_next (core->cpuset, cpu))
      {
        if ((guint)cpu >= self->core_of->len)
          g_ptr_array_set_size (self->core_of, cpu + 1);
        self->core_of->pdata[cpu] = core->cpuset;
      }
}

static hwloc_bitmap_t
read_cpus (const char *list)
{
  hwloc_bitmap_t cpus = list != NULL && list[0] != '\0' ? dvmd_topology_bitmap_new (list) : NULL;

  return cpus != NULL ? cpus : hwloc_bitmap_alloc ();
}

static gboolean
set_no_kind (guint kind, GError **error)
{
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "bind-to: the node has no %s", kinds[kind].name);
  return FALSE;
}

static gboolean
binder_init (Binder *self, const DvmdBindingRequest *request, const DvmdBindingPolicy *policy,
             hwloc_const_bitmap_t excluded, GError **error)
{
  guint kind = policy->bind_to;

  self->request = request;
  self->policy = policy;
  self->excluded = excluded;
  self->topology = dvmd_topology_get_hwloc (request->topology);
  /* A limit is one of cores, of which each may have several processes where a hardware thread is a cpu. */
  self->by_unit = kind > KIND_CORE
                  || (kind == KIND_CORE && ((policy->flags & DVMD_BINDING_HWTHREADS) == 0 || policy->limit == 0));
  self->unit_of = g_array_new (FALSE, TRUE, sizeof (guint));
  self->region_of = g_array_new (FALSE, TRUE, sizeof (guint));
  self->units = g_array_new (FALSE, FALSE, sizeof (Unit));
  g_array_set_clear_func (self->units, unit_clear);
  self->regions = g_array_new (FALSE, FALSE, sizeof (Region));
  g_array_set_clear_func (self->regions, region_clear);
  self->members = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, members_free);
  if (self->by_unit && hwloc_get_nbobjs_by_type (self->topology, HWLOC_OBJ_PACKAGE) <= 0)
    kind = DVMD_KIND_NODE;
  else if (self->by_unit)
    kind = KIND_PACKAGE;
  add_regions (self, kind);
  if (self->regions->len == 0)
    return set_no_kind (kind, error);
  add_units (self, policy->bind_to == KIND_HWTHREAD || (policy->flags & DVMD_BINDING_HWTHREADS) != 0, excluded);
  if (policy->bind_to == KIND_CORE)
    index_cores (self);
  return TRUE;
}

static void
binder_clear (Binder *self)
{
  g_clear_pointer (&self->devices, g_ptr_array_unref);
  g_clear_pointer (&self->members, g_hash_table_unref);
  g_clear_pointer (&self->core_of, g_ptr_array_unref);
  g_clear_pointer (&self->unit_of, g_array_unref);
  g_clear_pointer (&self->region_of, g_array_unref);
  g_clear_pointer (&self->units, g_array_unref);
  g_clear_pointer (&self->regions, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Binder, binder_clear)

/* ---- the objects on which processes are placed ---- */

/* Near a device is what the job asks for: an object around what is near is not. */
static gboolean
check_near (Binder *self, hwloc_const_bitmap_t near, GError **error)
{
  g_autofree char *list = NULL;
  char *text = NULL;

  for (guint i = 0; !self->by_unit && i < self->regions->len; i++)
    {
      const Region *region = &g_array_index (self->regions, Region, i);

      if (!hwloc_bitmap_intersects (region->cpus, near) || hwloc_bitmap_isincluded (region->cpus, near))
        continue;
      if (hwloc_bitmap_list_asprintf (&text, near) >= 0)
        list = g_strdup (text);
      free (text);
      g_set_error (
          error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
          "bind-to: one %s has cpus that are not near the device, which are %s: bind to something in them, such "
          "as core",
          kinds[self->policy->bind_to].name, list);
      return FALSE;
    }
  return TRUE;
}

static gboolean
list_devices (Binder *self, GError **error)
{
  const DvmdBindingRequest *request = self->request;
  guint32 index = self->policy->devices;
  const char *wish = index > 0 && index <= request->n_cpusets ? request->cpusets[index - 1] : "";
  g_autoptr (GPtrArray) groups = dvmd_devices_choose (request->topology, wish, error);

  if (groups == NULL)
    return FALSE;
  self->devices = g_ptr_array_new_with_free_func ((GDestroyNotify)hwloc_bitmap_free);
  for (guint i = 0; i < groups->len; i++)
    g_ptr_array_add (self->devices, read_cpus (((const DvmdDeviceGroup *)groups->pdata[i])->cpus));
  return TRUE;
}

/* (transfer none) (nullable): NULL with an error */
static hwloc_const_bitmap_t
get_device_cpus (Binder *self, guint32 group, GError **error)
{
  if (self->devices == NULL && !list_devices (self, error))
    return NULL;
  if (group < self->devices->len)
    return check_near (self, self->devices->pdata[group], error) ? self->devices->pdata[group] : NULL;
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "The node has %u such devices, or groups of them: none has the number %u", self->devices->len, group);
  return NULL;
}

/* (transfer none) (nullable): NULL with an error, there is no such object */
static hwloc_const_bitmap_t
get_object_cpus (Binder *self, const DvmdBindingPlace *place, GError **error)
{
  hwloc_obj_t object;

  if (place->kind == DVMD_KIND_DEVICE)
    return get_device_cpus (self, place->object, error);

  if (place->kind == DVMD_KIND_NODE)
    return hwloc_topology_get_topology_cpuset (self->topology);
  object = place->kind < G_N_ELEMENTS (kinds)
               ? hwloc_get_obj_by_type (self->topology, type_of_kind (self, place->kind), place->object)
               : NULL;
  if (object != NULL)
    return object->cpuset;
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "The node has no %s %u on which a process could be placed",
               place->kind < G_N_ELEMENTS (kinds) ? kinds[place->kind].name : "object", place->object);
  return NULL;
}

static int
compare_indexes (gconstpointer a, gconstpointer b)
{
  guint left = *(const guint *)a;
  guint right = *(const guint *)b;

  return left < right ? -1 : left > right;
}

/* (transfer full) (element-type guint): the units that have some of these cpus, in logical order */
static GArray *
list_units (Binder *self, hwloc_const_bitmap_t cpus)
{
  GArray *units = g_array_new (FALSE, FALSE, sizeof (guint));
  guint n = 0;

  /* A list that is written without an end has one here. */
  for (int cpu = hwloc_bitmap_first (cpus); cpu >= 0 && (guint)cpu < self->unit_of->len;
       cpu = hwloc_bitmap_next (cpus, cpu))
    {
      guint index = g_array_index (self->unit_of, guint, cpu) - 1;

      if (index < self->units->len)
        g_array_append_val (units, index);
    }
  g_array_sort (units, compare_indexes);
  for (guint i = 0; i < units->len; i++)
    if (i == 0 || g_array_index (units, guint, i) != g_array_index (units, guint, i - 1))
      g_array_index (units, guint, n++) = g_array_index (units, guint, i);
  g_array_set_size (units, n);
  return units;
}

/* ---- what a place has ---- */

static gboolean
is_free (const Unit *unit)
{
  return unit->used == 0 && !unit->excluded;
}

static guint
load_of (const Unit *unit)
{
  return unit->used + unit->excluded;
}

static gboolean
is_full (const Binder *self, guint n_bound)
{
  guint limit = self->policy->limit;

  return limit > 0 && n_bound >= limit;
}

/* With overload a cpu takes any number of processes, as far as there is no other limit. */
static gboolean
takes_more (const Binder *self, const Unit *unit)
{
  return !self->by_unit || !is_full (self, unit->used);
}

/* (transfer none): units of a region follow each other more often than not */
static Share *
get_share (Members *members, guint region)
{
  Share *share;

  for (guint i = members->shares->len; i > 0; i--)
    {
      share = members->shares->pdata[i - 1];
      if (share->region == region)
        return share;
    }
  share = g_new0 (Share, 1);
  share->region = region;
  dvmd_unit_heap_init (&share->units);
  g_ptr_array_add (members->shares, share);
  return share;
}

static void
add_member (Binder *self, Members *members, guint index)
{
  Unit *unit = &g_array_index (self->units, Unit, index);
  Share *share = get_share (members, unit->region);

  members->n_units++;
  share->n_free += is_free (unit);
  share->n_units += takes_more (self, unit);
  share->n_used += load_of (unit);
  dvmd_unit_heap_push (&share->units, load_of (unit), index);
  unit->shares = g_slist_prepend (unit->shares, share);
}

static int
compare_shares (gconstpointer a, gconstpointer b)
{
  const Share *left = *(Share *const *)a;
  const Share *right = *(Share *const *)b;

  return left->region < right->region ? -1 : left->region > right->region;
}

/* (transfer full) */
static Members *
list_members (Binder *self, hwloc_const_bitmap_t cpus)
{
  Members *members = g_new0 (Members, 1);
  g_autoptr (GArray) units = list_units (self, cpus);

  members->shares = g_ptr_array_new_with_free_func (share_free);
  for (guint i = 0; i < units->len; i++)
    {
      guint index = g_array_index (units, guint, i);
      const Unit *unit = &g_array_index (self->units, Unit, index);

      if (unit->region != NO_REGION && hwloc_bitmap_isincluded (unit->cpus, cpus))
        add_member (self, members, index);
    }
  g_ptr_array_sort (members->shares, compare_shares);
  return members;
}

/* (transfer none) (nullable): the units of the object; NULL with an error */
static Members *
get_members (Binder *self, const DvmdBindingPlace *place, GError **error)
{
  gint64 key = (gint64)place->kind << 32 | place->object;
  Members *members = g_hash_table_lookup (self->members, &key);
  hwloc_const_bitmap_t cpus;

  if (members != NULL)
    return members;
  cpus = get_object_cpus (self, place, error);
  if (cpus == NULL)
    return NULL;
  members = list_members (self, cpus);
  g_hash_table_insert (self->members, g_memdup2 (&key, sizeof key), members);
  return members;
}

/* All places that have the unit know of it. */
static void
use_unit (Binder *self, guint index)
{
  Unit *unit = &g_array_index (self->units, Unit, index);
  gboolean was_free = is_free (unit);
  gboolean took_more = takes_more (self, unit);

  unit->used++;
  for (GSList *l = unit->shares; l != NULL; l = l->next)
    {
      Share *share = l->data;

      share->n_free -= was_free;
      share->n_units -= took_more && !takes_more (self, unit);
      share->n_used++;
    }
}

/* ---- one process ---- */

/* Whether no process of the place can be there any more. */
static gboolean
has_ended (const Binder *self, const Share *share)
{
  if (!self->by_unit && is_full (self, g_array_index (self->regions, Region, share->region).n_bound))
    return TRUE;
  return (self->policy->flags & DVMD_BINDING_OVERLOAD) == 0 && share->n_free < cpus_per_process (self);
}

/* (transfer none) (nullable): the first region in which there are as many free cpus as the process takes, or with
   overload the least used one */
static Share *
choose_share (Binder *self, Members *members)
{
  guint need = cpus_per_process (self);
  Share *best = NULL;

  while (members->first < members->shares->len && has_ended (self, members->shares->pdata[members->first]))
    members->first++;
  for (guint i = members->first; i < members->shares->len; i++)
    {
      Share *share = members->shares->pdata[i];

      if (has_ended (self, share))
        continue;
      if (share->n_free >= need)
        return share;
      /* By the share of what it has: a small one fills sooner than a large one. */
      if (share->n_units >= need
          && (best == NULL || share->n_used * (guint64)best->n_units < best->n_used * (guint64)share->n_units))
        best = share;
    }
  return best;
}

/* (transfer full) (element-type guint): those in the region that the fewest processes have, as many as one takes */
static GArray *
choose_units (Binder *self, Share *share)
{
  guint need = cpus_per_process (self);
  GArray *chosen = g_array_sized_new (FALSE, FALSE, sizeof (guint), need);
  guint load;
  guint index;

  while (chosen->len < need && dvmd_unit_heap_pop (&share->units, &load, &index))
    {
      const Unit *unit = &g_array_index (self->units, Unit, index);

      /* Processes of other places may have it by now. */
      if (load_of (unit) > load)
        dvmd_unit_heap_push (&share->units, load_of (unit), index);
      else if (takes_more (self, unit))
        g_array_append_val (chosen, index);
    }
  return chosen;
}

/* All cores of which some thread is in the set, as far as they are in the place and may be used, and others do not have
   them. */
static void
widen_to_cores (Binder *self, hwloc_bitmap_t cpus, hwloc_const_bitmap_t within)
{
  hwloc_bitmap_t wide = hwloc_bitmap_alloc ();

  for (int cpu = hwloc_bitmap_first (cpus); cpu >= 0 && (guint)cpu < self->core_of->len;
       cpu = hwloc_bitmap_next (cpus, cpu))
    if (self->core_of->pdata[cpu] != NULL)
      hwloc_bitmap_or (wide, wide, self->core_of->pdata[cpu]);
  hwloc_bitmap_and (wide, wide, hwloc_topology_get_allowed_cpuset (self->topology));
  hwloc_bitmap_and (wide, wide, within);
  if ((self->policy->flags & DVMD_BINDING_OVERLOAD) == 0)
    hwloc_bitmap_andnot (wide, wide, self->excluded);
  hwloc_bitmap_or (cpus, cpus, wide);
  hwloc_bitmap_free (wide);
}

static char *
dup_list (hwloc_const_bitmap_t cpus)
{
  char *text = NULL;
  char *shared;

  if (hwloc_bitmap_list_asprintf (&text, cpus) < 0)
    return NULL;
  shared = g_ref_string_new_intern (text);
  free (text);
  return shared;
}

/* (transfer full): what a process is bound to in its place */
static char *
take_units (Binder *self, Share *share, hwloc_const_bitmap_t within)
{
  Region *region = &g_array_index (self->regions, Region, share->region);
  g_autoptr (GArray) chosen = choose_units (self, share);
  hwloc_bitmap_t taken = hwloc_bitmap_alloc ();
  char *list;

  for (guint i = 0; i < chosen->len; i++)
    {
      guint index = g_array_index (chosen, guint, i);
      const Unit *unit = &g_array_index (self->units, Unit, index);

      use_unit (self, index);
      dvmd_unit_heap_push (&share->units, load_of (unit), index);
      hwloc_bitmap_or (taken, taken, unit->cpus);
    }
  region->n_bound++;
  if (self->policy->bind_to == KIND_CORE)
    widen_to_cores (self, taken, within);
  /* A process on a core or on hardware threads has them for itself; on a larger object it counts for what it takes. */
  hwloc_bitmap_or (self->claimed, self->claimed, taken);
  if (self->policy->bind_to < KIND_CORE)
    hwloc_bitmap_copy (taken, region->cpus);
  list = dup_list (taken);
  hwloc_bitmap_free (taken);
  return list;
}

static char *
set_no_room (Binder *self, const Members *members, GError **error)
{
  guint kind = self->policy->bind_to;

  if (members->n_units == 0)
    set_no_kind (kind, error);
  else if (self->policy->limit > 0 || (self->policy->flags & DVMD_BINDING_OVERLOAD) != 0)
    g_set_error (
        error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
        "bind-to: %u of the node's %u processes can be bound to one %s with %u cpu%s%s; the next one cannot: have "
        "fewer processes, or fewer cpus for each%s",
        self->n_bound, self->request->n_places, kinds[kind].name, cpus_per_process (self),
        cpus_per_process (self) == 1 ? "" : "s", self->policy->limit > 0 ? ", as far as its limit lets them" : "",
        self->policy->limit > 0 ? ", or a higher limit" : "");
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                 "bind-to: %u of the node's %u processes can be bound to one %s with %u free cpu%s; the next one "
                 "cannot: have fewer processes, or allow overload (bind-to %s:overload-allowed)",
                 self->n_bound, self->request->n_places, kinds[kind].name, cpus_per_process (self),
                 cpus_per_process (self) == 1 ? "" : "s", kinds[kind].name);
  return NULL;
}

/* A set of cpus that the user has given. */
static char *
take_cpus (Binder *self, guint32 index, GError **error)
{
  const char *list = index < self->request->n_cpusets ? self->request->cpusets[index] : NULL;
  g_autoptr (GArray) units = NULL;
  hwloc_bitmap_t cpus;

  if (list == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "The map speaks of a set of cpus that it does not have");
      return NULL;
    }
  cpus = read_cpus (list);
  /* hwloc reads "3-" as a range without an end. */
  if (hwloc_bitmap_last (cpus) < 0
      || !hwloc_bitmap_intersects (cpus, hwloc_topology_get_allowed_cpuset (self->topology)))
    {
      hwloc_bitmap_free (cpus);
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                   "bind-to: “%s” is no list of cpus of the node, such as 0-3,8, of which a process may use some",
                   list);
      return NULL;
    }
  units = list_units (self, cpus);
  for (guint i = 0; i < units->len; i++)
    use_unit (self, g_array_index (units, guint, i));
  hwloc_bitmap_or (self->claimed, self->claimed, cpus);
  hwloc_bitmap_free (cpus);
  return g_ref_string_new_intern (list);
}

/* (transfer full) (nullable): NULL with an error */
static char *
bind_process (Binder *self, guint index, GError **error)
{
  const DvmdBindingPlace *place = &self->request->places[index];
  Members *members;
  Share *share;

  if (place->kind == DVMD_KIND_CPUS)
    return take_cpus (self, place->object, error);
  members = get_members (self, place, error);
  if (members == NULL)
    return NULL;
  share = choose_share (self, members);
  if (share == NULL)
    return set_no_room (self, members, error);
  return take_units (self, share, get_object_cpus (self, place, NULL));
}

static void
release_list (gpointer list)
{
  if (list != NULL)
    g_ref_string_release (list);
}

/* ---- all of them ---- */

static const DvmdBindingPolicy *
policy_of (const DvmdBindingRequest *request, guint place)
{
  return request->policies != NULL ? request->policies[place] : request->policy;
}

static int
compare_choices (gconstpointer a, gconstpointer b, gpointer user_data)
{
  Binder *self = user_data;
  guint left = *(const guint *)a;
  guint right = *(const guint *)b;
  guint of_left = get_members (self, &self->request->places[left], NULL)->n_units;
  guint of_right = get_members (self, &self->request->places[right], NULL)->n_units;

  if (of_left != of_right)
    return of_left < of_right ? -1 : 1;
  return left < right ? -1 : left > right;
}

/*
 * (transfer full) (element-type guint) (nullable): the order in which processes choose. The cpus near a device may be
 * some of those near another one: the fewer a process may have, the sooner it chooses. NULL with an error
 */
static GArray *
order_places (Binder *self, guint first, guint n, GError **error)
{
  g_autoptr (GArray) order = g_array_sized_new (FALSE, FALSE, sizeof (guint), n);
  gboolean devices = TRUE;

  for (guint i = first; i < first + n; i++)
    {
      devices = devices && self->request->places[i].kind == DVMD_KIND_DEVICE;
      if (devices && get_members (self, &self->request->places[i], error) == NULL)
        return NULL;
      g_array_append_val (order, i);
    }
  if (devices)
    g_array_sort_with_data (order, compare_choices, self);
  return g_steal_pointer (&order);
}

static guint
count_alike (const DvmdBindingRequest *request, guint first)
{
  guint n = 1;

  while (first + n < request->n_places && policy_of (request, first + n) == policy_of (request, first))
    n++;
  return n;
}

/* Binds the next places that have one policy. taken: by other jobs, and by places before them; claimed: what these
   places take is added. */
static gboolean
bind_alike (const DvmdBindingRequest *request, GPtrArray *lists, hwloc_const_bitmap_t taken, hwloc_bitmap_t claimed,
            GError **error)
{
  guint first = lists->len;
  const DvmdBindingPolicy *policy = policy_of (request, first);
  guint n = count_alike (request, first);
  g_auto (Binder) self = { .claimed = claimed, .n_bound = first };
  g_autoptr (GArray) order = NULL;

  g_return_val_if_fail (policy->bind_to < G_N_ELEMENTS (kinds), FALSE);

  g_ptr_array_set_size (lists, (int)(first + n));
  if (policy->bind_to == DVMD_KIND_NODE)
    return TRUE;
  if (!binder_init (&self, request, policy, taken, error))
    return FALSE;
  order = order_places (&self, first, n, error);
  for (guint i = 0; order != NULL && i < n; i++, self.n_bound++)
    {
      guint place = g_array_index (order, guint, i);

      lists->pdata[place] = bind_process (&self, place, error);
      if (lists->pdata[place] == NULL)
        return FALSE;
    }
  return order != NULL;
}

GPtrArray *
dvmd_binding_compute (const DvmdBindingRequest *request, char **claimed, GError **error)
{
  g_autoptr (GPtrArray) lists = g_ptr_array_new_with_free_func (release_list);
  hwloc_bitmap_t taken = read_cpus (request->excluded);
  hwloc_bitmap_t own = hwloc_bitmap_alloc ();
  gboolean done = TRUE;

  while (done && lists->len < request->n_places)
    {
      done = bind_alike (request, lists, taken, own, error);
      hwloc_bitmap_or (taken, taken, own);
    }
  if (done && claimed != NULL)
    *claimed = dup_list (own);
  hwloc_bitmap_free (taken);
  hwloc_bitmap_free (own);
  return done ? g_steal_pointer (&lists) : NULL;
}

cpu_set_t *
dvmd_binding_dup_cpu_set (const char *list, gsize *size)
{
  hwloc_bitmap_t cpus = list != NULL ? dvmd_topology_bitmap_new (list) : NULL;
  int last = cpus != NULL ? hwloc_bitmap_last (cpus) : -1;
  cpu_set_t *set = NULL;

  *size = last >= 0 ? CPU_ALLOC_SIZE (last + 1) : 0;
  if (last >= 0)
    set = g_malloc0 (*size);
  for (int cpu = last >= 0 ? hwloc_bitmap_first (cpus) : -1; cpu >= 0; cpu = hwloc_bitmap_next (cpus, cpu))
    CPU_SET_S (cpu, *size, set);
  if (cpus != NULL)
    hwloc_bitmap_free (cpus);
  return set;
}

const char *
dvmd_binding_get_kind_name (guint kind)
{
  return kind != DVMD_KIND_NODE && kind < G_N_ELEMENTS (kinds) ? kinds[kind].name : NULL;
}

const char *
dvmd_binding_get_name (const DvmdBindingPolicy *policy)
{
  return dvmd_binding_get_kind_name (policy->bind_to);
}

char *
dvmd_binding_describe_place (const DvmdBindingPlace *place)
{
  const char *name = dvmd_binding_get_kind_name (place->kind);

  return name != NULL ? g_strdup_printf ("%s %u", name, place->object) : g_strdup ("");
}
