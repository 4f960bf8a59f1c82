/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The devices of a node as a list, and the choice of those that processes are put near.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-topology"

#include "dvmd-devices.h"

#include <hwloc.h>
#include <string.h>

#include "dvm.h"

static const char *const type_names[DVMD_N_DEVICE_TYPES] = { "gpu", "network", "block" };

/* ---- the list ---- */

static void
device_free (gpointer data)
{
  DvmdDevice *self = data;

  g_free (self->bus_id);
  g_free (self->vendor);
  g_free (self->fabric);
  g_free (self->uuid);
  g_free (self->cpus);
  g_strfreev (self->names);
  g_free (self);
}

GPtrArray *
dvmd_devices_new (void)
{
  return g_ptr_array_new_with_free_func (device_free);
}

/* The names of one GPU: what its vendor's library calls it comes before what the kernel does. */
static guint
rank_of_name (const char *name)
{
  static const char *const prefixes[] = { "nvml", "rsmi", "ze", "cuda", "nvidia", "opencl", "renderD" };
  guint i = 0;

  while (i < G_N_ELEMENTS (prefixes) && !g_str_has_prefix (name, prefixes[i]))
    i++;
  return i;
}

gboolean
dvmd_device_add_name (DvmdDevice *self, const char *name, GError **error)
{
  guint n = g_strv_length (self->names);
  guint place = n;

  if (g_strv_contains ((const char *const *)self->names, name))
    return TRUE;
  if (n >= DVMD_DEVICES_MOST_NAMES)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, "The device %s has more than %d names", self->names[0],
                   DVMD_DEVICES_MOST_NAMES);
      return FALSE;
    }
  self->names = g_renew (char *, self->names, n + 2);
  self->names[n + 1] = NULL;
  for (; place > 0 && rank_of_name (name) < rank_of_name (self->names[place - 1]); place--)
    self->names[place] = self->names[place - 1];
  self->names[place] = g_strdup (name);
  return TRUE;
}

static DvmdDevice *
find_function (GPtrArray *devices, DvmdDeviceType type, const char *bus_id)
{
  for (guint i = 0; bus_id[0] != '\0' && i < devices->len; i++)
    {
      DvmdDevice *device = devices->pdata[i];

      if (device->type == type && strcmp (device->bus_id, bus_id) == 0)
        return device;
    }
  return NULL;
}

DvmdDevice *
dvmd_devices_add (GPtrArray *devices, DvmdDeviceType type, const char *bus_id, const char *name, GError **error)
{
  /* A disk may have several names of the kernel, and a card of two ports is two disks: only others are one function. */
  DvmdDevice *device = type != DVMD_DEVICE_BLOCK ? find_function (devices, type, bus_id) : NULL;

  if (device == NULL && devices->len >= DVMD_DEVICES_MOST)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, "The node has more than %d devices", DVMD_DEVICES_MOST);
      return NULL;
    }
  if (device == NULL)
    {
      device = g_new0 (DvmdDevice, 1);
      *device = (DvmdDevice){
        .type = type,
        .bus_id = g_strdup (bus_id),
        .vendor = g_strdup (""),
        .fabric = g_strdup (""),
        .uuid = g_strdup (""),
        .cpus = g_strdup (""),
        .names = g_new0 (char *, 1),
      };
      g_ptr_array_add (devices, device);
    }
  return dvmd_device_add_name (device, name, error) ? device : NULL;
}

void
dvmd_device_set_fabric (DvmdDevice *self, const char *name)
{
  guint i = 0;
  char *own;

  while (self->names[i] != NULL && strcmp (self->names[i], name) != 0)
    i++;
  if (self->fabric[0] != '\0' || self->names[i] == NULL)
    return;
  g_free (self->fabric);
  self->fabric = g_strdup (name);
  for (own = self->names[i]; i > 0; i--)
    self->names[i] = self->names[i - 1];
  self->names[0] = own;
}

/* ---- in order ---- */

/* A GPU without this is the screen of a management board. */
static gboolean
is_for_computing (const DvmdDevice *self)
{
  if (self->type != DVMD_DEVICE_GPU || self->uuid[0] != '\0')
    return TRUE;
  for (gsize i = 0; self->names[i] != NULL; i++)
    if (!g_str_has_prefix (self->names[i], "card"))
      return TRUE;
  return FALSE;
}

/* Addresses of PCI have one length. */
static int
compare_devices (gconstpointer a, gconstpointer b)
{
  const DvmdDevice *left = *(DvmdDevice *const *)a;
  const DvmdDevice *right = *(DvmdDevice *const *)b;
  int order = (left->bus_id[0] == '\0') - (right->bus_id[0] == '\0');

  if (order == 0)
    order = strcmp (left->bus_id, right->bus_id);
  if (order == 0)
    order = (int)left->type - (int)right->type;
  return order != 0 ? order : strcmp (left->names[0], right->names[0]);
}

/* Without a list of its own a device is as near to every cpu. */
static void
cut_cpus (DvmdDevice *self, hwloc_topology_t topology)
{
  hwloc_bitmap_t cpus = self->cpus[0] != '\0' ? dvmd_topology_bitmap_new (self->cpus) : NULL;
  char *text = NULL;

  if (cpus == NULL)
    cpus = hwloc_bitmap_dup (hwloc_topology_get_allowed_cpuset (topology));
  hwloc_bitmap_and (cpus, cpus, hwloc_topology_get_allowed_cpuset (topology));
  if (hwloc_bitmap_list_asprintf (&text, cpus) >= 0)
    {
      g_free (self->cpus);
      self->cpus = g_strdup (text);
    }
  free (text);
  hwloc_bitmap_free (cpus);
}

void
dvmd_devices_finish (GPtrArray *devices, gpointer topology)
{
  for (guint i = devices->len; i > 0; i--)
    if (!is_for_computing (devices->pdata[i - 1]))
      g_ptr_array_remove_index (devices, i - 1);
    else
      cut_cpus (devices->pdata[i - 1], topology);
  g_ptr_array_sort (devices, compare_devices);
}

/* ---- wishes ---- */

typedef struct
{
  guint number;
  int level; /* DvmdTopologyKind, -1: none */
  char *name;
} Wish;

static const char *const levels[DVMD_N_TOPOLOGY_KINDS] = { "package", "numa", "l3cache", "l2cache", "l1cache" };

char *
dvmd_device_wish_new (const char *name, guint number, const char *level)
{
  return g_strdup_printf ("%u %s %s", MAX (number, 1), level != NULL ? level : "-", name);
}

static gboolean
read_wish (const char *text, Wish *wish, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, " ", 3);
  guint64 number = 0;

  wish->level = -1;
  if (g_strv_length (parts) == 3 && g_ascii_string_to_unsigned (parts[0], 10, 1, G_MAXUINT16, &number, NULL))
    {
      wish->number = (guint)number;
      for (int i = 0; i < DVMD_N_TOPOLOGY_KINDS; i++)
        if (g_strcmp0 (levels[i], parts[1]) == 0)
          wish->level = i;
      wish->name = g_strdup (parts[2]);
      return TRUE;
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, "The map speaks of devices by “%s”, which is no wish for them",
               text);
  return FALSE;
}

static gboolean
is_wished (const DvmdDevice *self, const Wish *wish)
{
  for (guint type = 0; type < DVMD_N_DEVICE_TYPES; type++)
    if (strcmp (wish->name, type_names[type]) == 0)
      return self->type == type;
  return g_ascii_strcasecmp (wish->name, self->bus_id) == 0
         || (self->uuid[0] != '\0' && g_ascii_strcasecmp (wish->name, self->uuid) == 0)
         || g_strv_contains ((const char *const *)self->names, wish->name);
}

/* One of each object in turn; objects that have no more are left out. */
static void
interleave_devices (DvmdTopology *topology, int level, GPtrArray *devices)
{
  g_autoptr (GPtrArray) left = g_ptr_array_copy (devices, NULL, NULL);

  g_ptr_array_set_size (devices, 0);
  while (left->len > 0)
    {
      g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

      for (guint i = 0; i < left->len;)
        {
          const DvmdDevice *device = left->pdata[i];
          int object = dvmd_topology_find_object (topology, (DvmdTopologyKind)level, device->cpus);

          if (g_hash_table_add (seen, GINT_TO_POINTER (object + 1)))
            g_ptr_array_add (devices, g_ptr_array_remove_index (left, i));
          else
            i++;
        }
    }
}

/* ---- groups ---- */

static void
group_free (gpointer data)
{
  DvmdDeviceGroup *self = data;

  g_ptr_array_unref (self->devices);
  g_free (self->cpus);
  g_free (self);
}

static void
find_cpus (DvmdDeviceGroup *self, hwloc_topology_t topology)
{
  hwloc_bitmap_t all = hwloc_bitmap_alloc ();
  hwloc_obj_t object;
  char *text = NULL;

  for (guint i = 0; i < self->devices->len; i++)
    {
      const DvmdDevice *device = self->devices->pdata[i];
      hwloc_bitmap_t cpus = device->cpus[0] != '\0' ? dvmd_topology_bitmap_new (device->cpus) : NULL;

      if (cpus == NULL)
        continue;
      hwloc_bitmap_or (all, all, cpus);
      hwloc_bitmap_free (cpus);
    }
  object = self->devices->len > 1 && !hwloc_bitmap_iszero (all) ? hwloc_get_obj_covering_cpuset (topology, all) : NULL;
  if (object != NULL)
    hwloc_bitmap_and (all, object->cpuset, hwloc_topology_get_allowed_cpuset (topology));
  if (hwloc_bitmap_list_asprintf (&text, all) >= 0)
    self->cpus = g_strdup (text);
  free (text);
  hwloc_bitmap_free (all);
}

static gboolean
check_names (GPtrArray *devices, GError **error)
{
  for (guint i = 0; i < devices->len; i++)
    {
      const DvmdDevice *device = devices->pdata[i];

      if (device->type != DVMD_DEVICE_GPU || (device->uuid[0] != '\0' && device->vendor[0] != '\0'))
        continue;
      g_set_error (
          error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
          "map-by: the GPU %s (%s) has no name by which a process could be told of it: the driver of its vendor, "
          "or hwloc's part for it, has given none; map by numa or package instead",
          device->names[0], device->bus_id[0] != '\0' ? device->bus_id : "without an address");
      return FALSE;
    }
  return TRUE;
}

static gboolean
check_number (const Wish *wish, guint n, GError **error)
{
  g_autoptr (GString) right = g_string_new (NULL);

  if (n % wish->number == 0)
    return TRUE;
  for (guint i = 1; i <= n; i++)
    if (n % i == 0)
      g_string_append_printf (right, "%s%u", i == 1 ? "" : i == n ? " or " : ", ", i);
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "map-by: NDEV=%u does not divide the number of devices “%s” of the node, which is %u: it can be %s",
               wish->number, wish->name, n, right->str);
  return FALSE;
}

static GPtrArray *
make_groups (DvmdTopology *topology, GPtrArray *devices, guint number)
{
  GPtrArray *groups = g_ptr_array_new_with_free_func (group_free);

  for (guint i = 0; i < devices->len; i += number)
    {
      DvmdDeviceGroup *group = g_new0 (DvmdDeviceGroup, 1);

      group->devices = g_ptr_array_sized_new (number);
      for (guint k = i; k < i + number; k++)
        g_ptr_array_add (group->devices, devices->pdata[k]);
      find_cpus (group, dvmd_topology_get_hwloc (topology));
      g_ptr_array_add (groups, group);
    }
  return groups;
}

GPtrArray *
dvmd_devices_choose (DvmdTopology *topology, const char *wish, GError **error)
{
  GPtrArray *all = dvmd_topology_get_devices (topology);
  g_autoptr (GPtrArray) devices = g_ptr_array_new ();
  g_autofree char *name = NULL;
  Wish wished = { 0 };

  if (!read_wish (wish, &wished, error))
    return NULL;
  name = wished.name;
  for (guint i = 0; i < all->len; i++)
    if (is_wished (all->pdata[i], &wished))
      g_ptr_array_add (devices, all->pdata[i]);
  if (!check_names (devices, error) || !check_number (&wished, devices->len, error))
    return NULL;
  if (wished.level >= 0)
    interleave_devices (topology, wished.level, devices);
  return make_groups (topology, devices, wished.number);
}

gboolean
dvmd_devices_is_by_uuid (DvmdTopology *topology, const char *wish)
{
  GPtrArray *all = dvmd_topology_get_devices (topology);
  g_autofree char *name = NULL;
  Wish wished = { 0 };

  if (!read_wish (wish, &wished, NULL))
    return FALSE;
  name = wished.name;
  for (guint i = 0; i < all->len; i++)
    if (g_ascii_strcasecmp (((const DvmdDevice *)all->pdata[i])->uuid, name) == 0)
      return TRUE;
  return FALSE;
}

char *
dvmd_device_group_name (const DvmdDeviceGroup *self)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < self->devices->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? "," : "", ((const DvmdDevice *)self->devices->pdata[i])->names[0]);
  return g_string_free (text, FALSE);
}
