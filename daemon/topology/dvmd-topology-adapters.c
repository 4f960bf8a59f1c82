/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The topology for the PMIx server: that of the node, with the network adapters as objects. Remarks tell of them else,
 * which libpmix does not read.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-topology"

#include "dvmd-devices.h"

#include <hwloc.h>
#include <string.h>

/* libpmix fails as a whole over an adapter whose address is none of a kind that it knows. */
static gboolean
is_known_address (const char *address)
{
  guint n = 0;

  for (const char *at = address; (at = strchr (at, ':')) != NULL; at++)
    n++;
  return n == 5 || n == 19;
}

/* One of a fabric has another sort of name, and of several interfaces it is not known whose the address is. */
static gboolean
is_adapter (const DvmdDevice *device)
{
  return device->type == DVMD_DEVICE_NETWORK && device->fabric[0] == '\0' && g_strv_length (device->names) == 1
         && is_known_address (device->uuid);
}

/* The smallest object that has the cpus near the device, and objects in it. */
static hwloc_obj_t
find_place (hwloc_topology_t topology, const DvmdDevice *device)
{
  hwloc_bitmap_t cpus = device->cpus[0] != '\0' ? dvmd_topology_bitmap_new (device->cpus) : NULL;
  hwloc_obj_t place = cpus != NULL && !hwloc_bitmap_iszero (cpus) ? hwloc_get_obj_covering_cpuset (topology, cpus)
                                                                  : hwloc_get_root_obj (topology);

  if (cpus != NULL)
    hwloc_bitmap_free (cpus);
  if (place == NULL)
    place = hwloc_get_root_obj (topology);
  while (place->type == HWLOC_OBJ_PU && place->parent != NULL)
    place = place->parent;
  return place;
}

/* (nullable): behind the last remark of that object in its own text; hwloc writes those before what is in the object */
static const char *
find_inside (const char *xml, guint64 number)
{
  g_autofree char *mark = g_strdup_printf (" gp_index=\"%" G_GUINT64_FORMAT "\"", number);
  const char *at = strstr (xml, mark);

  at = at != NULL ? strchr (at, '>') : NULL;
  if (at == NULL || at[-1] == '/')
    return NULL;
  at++;
  while (TRUE)
    {
      const char *next = at + strspn (at, " \n");

      if (!g_str_has_prefix (next, "<info ") && !g_str_has_prefix (next, "<page_type "))
        return at;
      at = strchr (next, '>') + 1;
    }
}

static guint64
find_free_number (hwloc_topology_t topology)
{
  static const int special[] = { HWLOC_TYPE_DEPTH_NUMANODE,  HWLOC_TYPE_DEPTH_BRIDGE, HWLOC_TYPE_DEPTH_PCI_DEVICE,
                                 HWLOC_TYPE_DEPTH_OS_DEVICE, HWLOC_TYPE_DEPTH_MISC,   HWLOC_TYPE_DEPTH_MEMCACHE };
  int depth = hwloc_topology_get_depth (topology);
  guint64 most = 0;

  for (int i = 0; i < depth + (int)G_N_ELEMENTS (special); i++)
    {
      int level = i < depth ? i : special[i - depth];

      for (hwloc_obj_t obj = NULL; (obj = hwloc_get_next_obj_by_depth (topology, level, obj)) != NULL;)
        most = MAX (most, obj->gp_index);
    }
  return most + 1;
}

static char *
add_adapter (const char *xml, hwloc_obj_t place, const DvmdDevice *device, guint64 number)
{
  const char *at = find_inside (xml, place->gp_index);
  g_autofree char *object = NULL;
  GString *text;

  if (at == NULL)
    return g_strdup (xml);
  object = g_markup_printf_escaped ("\n<object type=\"OSDev\" gp_index=\"%" G_GUINT64_FORMAT
                                    "\" name=\"%s\" osdev_type=\"%d\">\n<info name=\"Address\" value=\"%s\"/>\n"
                                    "</object>",
                                    number, device->names[0], HWLOC_OBJ_OSDEV_NETWORK, device->uuid);
  text = g_string_new_len (xml, at - xml);
  g_string_append (text, object);
  g_string_append (text, at);
  return g_string_free (text, FALSE);
}

/* One that has objects of devices comes from a file, with all of them, or has been here. */
static gboolean
lacks_adapters (DvmdTopology *self)
{
  GPtrArray *devices = dvmd_topology_get_devices (self);
  guint i = 0;

  while (i < devices->len && !is_adapter (devices->pdata[i]))
    i++;
  return i < devices->len && hwloc_get_next_osdev (dvmd_topology_get_hwloc (self), NULL) == NULL;
}

char *
dvmd_topology_dup_xml_with_adapters (DvmdTopology *self, GError **error)
{
  hwloc_topology_t topology = dvmd_topology_get_hwloc (self);
  GPtrArray *devices = dvmd_topology_get_devices (self);
  char *xml = dvmd_topology_dup_xml (self, error);
  guint64 number;

  if (xml == NULL || !lacks_adapters (self))
    return xml;
  number = find_free_number (topology);
  for (guint i = 0; i < devices->len; i++)
    {
      const DvmdDevice *device = devices->pdata[i];
      g_autofree char *before = xml;

      xml = is_adapter (device) ? add_adapter (before, find_place (topology, device), device, number++)
                                : g_steal_pointer (&before);
    }
  return xml;
}

DvmdTopology *
dvmd_topology_with_adapters (DvmdTopology *self)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *xml = NULL;
  DvmdTopology *with = NULL;

  if (!lacks_adapters (self))
    return dvmd_topology_ref (self);
  xml = dvmd_topology_dup_xml_with_adapters (self, &error);
  if (xml != NULL)
    with = dvmd_topology_new_from_neighbour (xml, strlen (xml), &error);
  if (with == NULL)
    g_message ("Programs are not told how far network adapters are: %s", error->message);
  return with != NULL ? with : dvmd_topology_ref (self);
}
