/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many processes the objects of a node have room for: what is not allowed or in use is left out.
 */

#include "config.h"

#include "dvmd-map-room.h"

/* Two packages of three cores of two threads, of which the numbers are those of many a machine: 0,6 1,7 ... */
static void
load_machine (DvmdMapTopology *into, gpointer user_data)
{
  static const char *const cores[] = { "0,6", "1,7", "2,8", "3,9", "4,10", "5,11" };
  static const char *const threads[] = { "0", "6", "1", "7", "2", "8", "3", "9", "4", "10", "5", "11" };

  if (user_data == NULL)
    return;
  dvmd_map_topology_add (into, DVMD_OBJECT_NODE, "0-11");
  dvmd_map_topology_add (into, DVMD_OBJECT_PACKAGE, "0-2,6-8");
  dvmd_map_topology_add (into, DVMD_OBJECT_PACKAGE, "3-5,9-11");
  /* The second memory of the first package is no place of its own. */
  dvmd_map_topology_add (into, DVMD_OBJECT_NUMA, "0-2,6-8");
  dvmd_map_topology_add (into, DVMD_OBJECT_NUMA, "0-2,6-8");
  dvmd_map_topology_add (into, DVMD_OBJECT_NUMA, "3-5,9-11");
  for (gsize i = 0; i < G_N_ELEMENTS (cores); i++)
    dvmd_map_topology_add (into, DVMD_OBJECT_CORE, cores[i]);
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    dvmd_map_topology_add (into, DVMD_OBJECT_HWTHREAD, threads[i]);
}

/* expected: "index:cpus/free" of each object */
static void
check_objects (DvmdMapRoom *room, DvmdObjectKind kind, const char *expected)
{
  guint32 n;
  const DvmdMapObject *objects = dvmd_map_room_get_objects (room, kind, &n);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint32 i = 0; i < n; i++)
    g_string_append_printf (text, "%s%u:%u/%u", i > 0 ? " " : "", objects[i].index, objects[i].n_cpus,
                            objects[i].n_free);
  g_assert_cmpstr (text->str, ==, expected);
}

static DvmdMapRoom *
make_room (DvmdMapTopology *topology, const char *allowed, const char *in_use, DvmdCpuKind cpus)
{
  g_autoptr (DvmdCpuset) allowed_set = allowed != NULL ? dvmd_cpuset_new_from_list (allowed) : NULL;
  g_autoptr (DvmdCpuset) in_use_set = in_use != NULL ? dvmd_cpuset_new_from_list (in_use) : NULL;

  return dvmd_map_room_new (topology, allowed_set, in_use_set, cpus);
}

static void
test_objects (void)
{
  g_autoptr (DvmdMapTopology) topology = dvmd_map_topology_new (load_machine, GINT_TO_POINTER (1), NULL);
  g_autoptr (DvmdMapRoom) whole = make_room (topology, NULL, NULL, DVMD_CPUS_CORE);
  g_autoptr (DvmdMapRoom) threads = make_room (topology, NULL, "7", DVMD_CPUS_HWTHREAD);
  g_autoptr (DvmdMapRoom) part = make_room (topology, "1-3,6", "1,9", DVMD_CPUS_CORE);
  g_autoptr (DvmdMapRoom) half = make_room (topology, "0-2,6-8", NULL, DVMD_CPUS_CORE);

  check_objects (whole, DVMD_OBJECT_NODE, "0:6/6");
  check_objects (whole, DVMD_OBJECT_PACKAGE, "0:3/3 1:3/3");
  check_objects (whole, DVMD_OBJECT_NUMA, "0:3/3 2:3/3");
  check_objects (whole, DVMD_OBJECT_L3CACHE, "");
  check_objects (threads, DVMD_OBJECT_CORE, "0:2/2 1:2/1 2:2/2 3:2/2 4:2/2 5:2/2");
  check_objects (threads, DVMD_OBJECT_NODE, "0:12/11");
  /* One thread of core 0 does; 9 is used by somebody, but is none of ours. */
  check_objects (part, DVMD_OBJECT_CORE, "0:1/1 1:1/0 2:1/1 3:1/1");
  check_objects (part, DVMD_OBJECT_PACKAGE, "0:3/2 1:1/1");
  check_objects (half, DVMD_OBJECT_PACKAGE, "0:3/3");
  check_objects (half, DVMD_OBJECT_NUMA, "0:3/3");
}

static void
test_counts (void)
{
  g_autoptr (DvmdMapTopology) topology = dvmd_map_topology_new (load_machine, GINT_TO_POINTER (1), NULL);
  g_autoptr (DvmdMapRoom) room = make_room (topology, NULL, NULL, DVMD_CPUS_CORE);
  g_autoptr (DvmdMapRoom) used = make_room (topology, NULL, "5", DVMD_CPUS_CORE);

  g_assert_cmpuint (dvmd_map_room_count (room, DVMD_OBJECT_NODE, 0, 1), ==, 6);
  /* None is on two packages. */
  g_assert_cmpuint (dvmd_map_room_count (room, DVMD_OBJECT_NODE, 0, 2), ==, 2);
  g_assert_cmpuint (dvmd_map_room_count (room, DVMD_OBJECT_NODE, 0, 4), ==, 0);
  g_assert_cmpuint (dvmd_map_room_count (used, DVMD_OBJECT_NODE, 0, 3), ==, 1);
  g_assert_cmpuint (dvmd_map_room_count (used, DVMD_OBJECT_NUMA, 1, 2), ==, 1);
  g_assert_cmpuint (dvmd_map_room_count_inside (room, DVMD_OBJECT_NODE, 0, DVMD_OBJECT_CORE), ==, 6);
  g_assert_cmpuint (dvmd_map_room_count_inside (room, DVMD_OBJECT_PACKAGE, 1, DVMD_OBJECT_NUMA), ==, 1);
}

static void
test_kept (void)
{
  g_autoptr (DvmdMapTopology) topology = dvmd_map_topology_new (load_machine, GINT_TO_POINTER (1), NULL);
  g_autoptr (DvmdMapTopology) unknown = dvmd_map_topology_new (load_machine, NULL, NULL);
  g_autoptr (DvmdMapRoom) room = make_room (topology, "0-5", "1", DVMD_CPUS_CORE);
  g_autoptr (DvmdMapRoom) again = make_room (topology, "0-5", "1", DVMD_CPUS_CORE);
  g_autoptr (DvmdMapRoom) other = make_room (topology, "0-5", "1", DVMD_CPUS_HWTHREAD);

  g_assert_true (room == again);
  g_assert_true (room != other);
  g_assert_null (dvmd_map_room_new (unknown, NULL, NULL, DVMD_CPUS_CORE));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/map-room/objects", test_objects);
  g_test_add_func ("/map-room/counts", test_counts);
  g_test_add_func ("/map-room/kept", test_kept);
  return g_test_run ();
}
