/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hardware threads that a scheduler means: by the numbers of the operating system, or by those of cores.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-topology"

#include "dvmd-topology.h"

#include <dvm.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

/* Some virtual machines show no cores. */
static hwloc_obj_type_t
get_core_type (hwloc_topology_t topology)
{
  return hwloc_get_nbobjs_by_type (topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

/* (nullable): it is no list, or has no number */
static hwloc_bitmap_t
read_numbers (const char *list)
{
  gsize length = strlen (list);

  return length > 0 && g_ascii_isdigit (list[0]) && g_ascii_isdigit (list[length - 1]) ? dvmd_topology_bitmap_new (list)
                                                                                       : NULL;
}

static gboolean
refuse_list (const char *list, GError **error)
{
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "“%.60s” is no list of cpus such as pu:0-3,8, core:0-3 or core:1:0-3", list);
  return FALSE;
}

/* "0-3" or, of a package, "1:0-3"; n_cores is made larger. */
static gboolean
add_cores (hwloc_topology_t topology, const char *list, hwloc_bitmap_t into, guint *n_cores, GError **error)
{
  const char *colon = strchr (list, ':');
  hwloc_obj_t around = hwloc_get_root_obj (topology);
  g_autofree char *package = g_strndup (list, colon != NULL ? (gsize)(colon - list) : 0);
  hwloc_bitmap_t numbers = read_numbers (colon != NULL ? colon + 1 : list);
  guint64 number = 0;
  int i;

  if (numbers == NULL
      || (colon != NULL && !g_ascii_string_to_unsigned (package, 10, 0, DVMD_TOPOLOGY_LARGEST_CPU, &number, NULL)))
    {
      dvmd_topology_bitmap_free (numbers);
      return refuse_list (list, error);
    }
  if (colon != NULL)
    around = hwloc_get_obj_by_type (topology, HWLOC_OBJ_PACKAGE, (unsigned)number);
  *n_cores += (guint)hwloc_bitmap_weight (numbers);
  hwloc_bitmap_foreach_begin (i, numbers)
  {
    hwloc_obj_t core = around == NULL ? NULL
                                      : hwloc_get_obj_inside_cpuset_by_type (topology, around->cpuset,
                                                                             get_core_type (topology), (unsigned)i);

    if (core != NULL)
      hwloc_bitmap_or (into, into, core->cpuset);
  }
  hwloc_bitmap_foreach_end ();
  dvmd_topology_bitmap_free (numbers);
  return TRUE;
}

static gboolean
add_list (hwloc_topology_t topology, const char *unit, const char *list, hwloc_bitmap_t into, guint *n_cores,
          GError **error)
{
  hwloc_bitmap_t numbers;

  if (strcmp (unit, "core") == 0)
    return add_cores (topology, list, into, n_cores, error);
  numbers = strcmp (unit, "pu") == 0 ? read_numbers (list) : NULL;
  if (numbers == NULL)
    return refuse_list (list, error);
  hwloc_bitmap_or (into, into, numbers);
  dvmd_topology_bitmap_free (numbers);
  return TRUE;
}

static gboolean
add_lists (hwloc_topology_t topology, const char *cpus, hwloc_bitmap_t into, guint *n_cores, GError **error)
{
  const char *colon = strchr (cpus, ':');
  g_autofree char *unit = g_strndup (cpus, colon != NULL ? (gsize)(colon - cpus) : 0);
  g_auto (GStrv) lists = g_strsplit (colon != NULL ? colon + 1 : "", ";", -1);

  if (lists[0] == NULL)
    return refuse_list (cpus, error);
  for (guint i = 0; lists[i] != NULL; i++)
    if (!add_list (topology, unit, lists[i], into, n_cores, error))
      return FALSE;
  return TRUE;
}

char *
dvmd_topology_choose_cpus (DvmdTopology *self, const char *cpus, GError **error)
{
  hwloc_topology_t topology = dvmd_topology_get_hwloc (self);
  hwloc_bitmap_t chosen = hwloc_bitmap_alloc ();
  char *list = NULL;
  char *numbers = NULL;
  guint n_cores = 0;

  if (add_lists (topology, cpus, chosen, &n_cores, error))
    {
      if (n_cores >= (guint)hwloc_get_nbobjs_by_type (topology, get_core_type (topology)))
        hwloc_bitmap_copy (chosen, hwloc_topology_get_allowed_cpuset (topology));
      hwloc_bitmap_and (chosen, chosen, hwloc_topology_get_allowed_cpuset (topology));
      if (hwloc_bitmap_iszero (chosen))
        g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
                     "none of the cpus %.60s is among %s, which may be used here", cpus,
                     dvmd_topology_get_cpuset (self));
      else if (hwloc_bitmap_list_asprintf (&numbers, chosen) >= 0)
        list = g_strdup (numbers);
    }
  free (numbers);
  hwloc_bitmap_free (chosen);
  return list;
}
