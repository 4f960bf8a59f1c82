/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <hwloc.h>
#include <sched.h>
#include <string.h>

#include "dvm.h"
#include "dvmd-topology.h"

static guint
count_cores (DvmdTopology *topology)
{
  return (guint)hwloc_get_nbobjs_by_type (dvmd_topology_get_hwloc (topology), HWLOC_OBJ_CORE);
}

static void
test_local (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdTopology) topology = dvmd_topology_new_local (&error);
  g_autoptr (DvmdTopology) again = dvmd_topology_new_local (NULL);

  g_assert_no_error (error);
  g_assert_cmpuint (dvmd_topology_get_n_pus (topology), >=, 1);
  g_assert_cmpuint (dvmd_topology_get_n_pus (topology), <=, g_get_num_processors ());
  g_assert_nonnull (dvmd_topology_get_cpuset (topology));
  g_assert_nonnull (dvmd_topology_get_hwloc (topology));
  g_assert_cmpstr (dvmd_topology_get_signature (topology), ==, dvmd_topology_get_signature (again));
}

static void
check_round_trip (DvmdTopology *topology)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *xml = dvmd_topology_dup_xml (topology, &error);
  g_autoptr (DvmdTopology) copy = NULL;

  g_assert_no_error (error);
  copy = dvmd_topology_new_from_xml (xml, strlen (xml), &error);
  g_assert_no_error (error);
  g_assert_cmpstr (dvmd_topology_get_signature (copy), ==, dvmd_topology_get_signature (topology));
  g_assert_cmpuint (dvmd_topology_get_n_pus (copy), ==, dvmd_topology_get_n_pus (topology));
  g_assert_cmpstr (dvmd_topology_get_cpuset (copy), ==, dvmd_topology_get_cpuset (topology));
}

/* The cpus that taskset or a scheduler leaves to an agent are the machine that it has. */
static void
test_affinity (void)
{
  cpu_set_t all;
  cpu_set_t one;
  int last = -1;

  g_assert_cmpint (sched_getaffinity (0, sizeof all, &all), ==, 0);
  if (CPU_COUNT (&all) < 2)
    {
      g_test_skip ("one cpu: everything is bound to it");
      return;
    }
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    last = CPU_ISSET (cpu, &all) ? cpu : last;
  CPU_ZERO (&one);
  CPU_SET (last, &one);
  g_assert_cmpint (sched_setaffinity (0, sizeof one, &one), ==, 0);
  {
    g_autoptr (GError) error = NULL;
    g_autoptr (DvmdTopology) topology = dvmd_topology_new_local (&error);
    g_autofree char *cpus = g_strdup_printf ("%d", last);

    sched_setaffinity (0, sizeof all, &all);
    g_assert_no_error (error);
    g_assert_cmpuint (dvmd_topology_get_n_pus (topology), ==, 1);
    g_assert_cmpstr (dvmd_topology_get_cpuset (topology), ==, cpus);
    g_assert_cmpuint (dvmd_topology_count_in_signature (dvmd_topology_get_signature (topology), DVMD_TOPOLOGY_NUMA), ==,
                      1);
    check_round_trip (topology);
  }
}

static void
test_synthetic (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdTopology) topology = dvmd_topology_new_from_synthetic ("package:2 core:4 pu:2", &error);
  g_autoptr (DvmdTopology) other = dvmd_topology_new_from_synthetic ("package:4 core:2 pu:2", NULL);

  g_assert_no_error (error);
  g_assert_cmpuint (dvmd_topology_get_n_pus (topology), ==, 16);
  g_assert_cmpuint (count_cores (topology), ==, 8);
  g_assert_cmpstr (dvmd_topology_get_cpuset (topology), ==, "0-15");
  g_assert_true (g_str_has_prefix (dvmd_topology_get_signature (topology), "2Pa:"));
  g_assert_cmpstr (dvmd_topology_get_signature (topology), !=, dvmd_topology_get_signature (other));
  g_assert_cmpuint (strlen (dvmd_topology_get_signature (topology)), <, 100);
  g_assert_cmpuint (dvmd_topology_count_in_signature (dvmd_topology_get_signature (topology), DVMD_TOPOLOGY_PACKAGE),
                    ==, 2);
  g_assert_cmpint (dvmd_topology_find_object (topology, DVMD_TOPOLOGY_PACKAGE, "9-10"), ==, 1);
  g_assert_cmpint (dvmd_topology_find_object (topology, DVMD_TOPOLOGY_PACKAGE, "7-8"), ==, -1);
  g_assert_cmpint (dvmd_topology_find_object (topology, DVMD_TOPOLOGY_CORE, "14-15"), ==, 7);
  g_assert_cmpint (dvmd_topology_find_object (topology, DVMD_TOPOLOGY_CORE, "x"), ==, -1);
  for (DvmdTopologyKind kind = 0; kind < DVMD_N_TOPOLOGY_KINDS; kind++)
    {
      g_auto (GStrv) objects = dvmd_topology_dup_objects (topology, kind);

      g_assert_cmpuint (dvmd_topology_count_in_signature (dvmd_topology_get_signature (topology), kind), ==,
                        g_strv_length (objects));
      g_assert_cmpuint (dvmd_topology_count_in_signature ("2Pa:2Nu", kind), ==, 0);
      g_assert_cmpuint (dvmd_topology_count_in_signature ("", kind), ==, 0);
    }
}

static void
check_objects (const char *text, DvmdTopologyKind kind, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdTopology) topology = dvmd_topology_new_from_synthetic (text, &error);
  g_auto (GStrv) objects = NULL;
  g_autofree char *joined = NULL;

  g_assert_no_error (error);
  objects = dvmd_topology_dup_objects (topology, kind);
  joined = g_strjoinv (" ", objects);
  g_assert_cmpstr (joined, ==, expected);
}

static void
test_synthetic_objects (void)
{
  g_autoptr (GError) error = NULL;

  check_objects ("package:2 numa:2 l3:2 core:2 pu:1", DVMD_TOPOLOGY_L3CACHE, "0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15");
  check_objects ("package:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)", DVMD_TOPOLOGY_CORE, "0,4 1,5 2,6 3,7");
  check_objects ("package:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)", DVMD_TOPOLOGY_NUMA, "0-7");
  g_assert_null (dvmd_topology_new_from_synthetic ("package:2 moon:3", &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED);
  g_assert_nonnull (strstr (error->message, "“package:2 moon:3” does not describe a machine"));
}

static void
test_xml (void)
{
  g_autoptr (DvmdTopology) local = dvmd_topology_new_local (NULL);
  g_autoptr (DvmdTopology) synthetic = dvmd_topology_new_from_synthetic ("package:2 l3:1 core:3 pu:2", NULL);

  check_round_trip (local);
  check_round_trip (synthetic);
}

static void
test_bad (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (dvmd_topology_new_from_xml ("<topology", 9, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED);
  g_clear_error (&error);
  g_assert_null (dvmd_topology_new_from_xml ("", 0, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED);
}

/* hwloc reads on where an XML that was written by hand says too little, or contradicts itself. */
static void
test_inconsistent (void)
{
  static const struct
  {
    const char *text;
    const char *instead;
    const char *message;
  } rows[] = {
    { " complete_cpuset=\"0x00000002\"", "", "the Core has no complete_cpuset" },
    { "type=\"Core\" os_index=\"1\" cpuset=\"0x00000002\"", "type=\"Core\" os_index=\"1\" cpuset=\"0x00000001\"",
      "the cpuset of the Core is not within its complete_cpuset" },
    { "type=\"PU\" os_index=\"1\"", "type=\"PU\" os_index=\"0\"", "of a PU have its os_index, and nothing else" },
    { "type=\"PU\"", "type=\"Moon\"", "“Moon” is no type of an object" },
    { "type=\"PU\"", "type=\"Machine\"", "a Machine is in no other object" },
    { "type=\"PU\"", "type=\"Core\"", "a Core cannot be in a Core" },
    { "version=\"2.0\"", "version=\"1.0\"", "another version of hwloc than 2" },
    { "version=\"2.0\"", "version=\"3.0\"", "another version of hwloc than 2" },
    { "allowed_cpuset=\"0x00000003\"", "allowed_cpuset=\"0x0\"", "has none of its hardware threads" },
    { "complete_cpuset=\"0x00000003\"", "complete_cpuset=\"0xf...f\"", "is no set of numbers from 0 to 65535" },
    { "<topology ", "<machine ", "the first element is “machine”" },
  };
  g_autoptr (DvmdTopology) topology = dvmd_topology_new_from_synthetic ("core:2 pu:1", NULL);
  g_autofree char *xml = dvmd_topology_dup_xml (topology, NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;
      const char *at = strstr (xml, rows[i].text);
      g_autofree char *wrong = NULL;

      g_assert_nonnull (at);
      wrong = g_strdup_printf ("%.*s%s%s", (int)(at - xml), xml, rows[i].instead, at + strlen (rows[i].text));
      g_assert_null (dvmd_topology_new_from_xml (wrong, strlen (wrong), &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED);
      if (strstr (error->message, rows[i].message) == NULL || strstr (error->message, "line ") == NULL)
        g_error ("row %zu: %s", i, error->message);
    }
}

static void
test_bitmap (void)
{
  gpointer bitmap = dvmd_topology_bitmap_new ("0-3,8");

  g_assert_nonnull (bitmap);
  dvmd_topology_bitmap_free (bitmap);
  g_assert_null (dvmd_topology_bitmap_new ("core 0"));
  /* Bits as far as that number would take half a GiB. */
  g_assert_null (dvmd_topology_bitmap_new ("4294967290"));
  g_assert_null (dvmd_topology_bitmap_new ("0-3,8-65536"));
  g_assert_null (dvmd_topology_bitmap_new ("99999999999999999999999"));
  bitmap = dvmd_topology_bitmap_new ("0,65535");
  g_assert_nonnull (bitmap);
  dvmd_topology_bitmap_free (bitmap);
}

/* The topology that one process has found serves another one on the same machine. */
static void
test_neighbour (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdTopology) local = dvmd_topology_new_local (&error);
  g_autofree char *xml = NULL;
  g_autoptr (DvmdTopology) neighbour = NULL;

  g_assert_no_error (error);
  xml = dvmd_topology_dup_xml (local, &error);
  g_assert_no_error (error);
  neighbour = dvmd_topology_new_from_neighbour (xml, strlen (xml), &error);
  g_assert_no_error (error);
  g_assert_cmpstr (dvmd_topology_get_signature (neighbour), ==, dvmd_topology_get_signature (local));
  g_assert_cmpstr (dvmd_topology_get_cpuset (neighbour), ==, dvmd_topology_get_cpuset (local));
  g_assert_cmpuint (dvmd_topology_get_n_pus (neighbour), ==, dvmd_topology_get_n_pus (local));
  g_assert_null (dvmd_topology_new_from_neighbour ("nonsense", 8, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED);
}

/* Lists of cpus are read up to a number: a machine that passes it is refused when it is read, as a whole. */
static void
test_large_number (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdTopology) topology = dvmd_topology_new_from_synthetic ("core:2 pu:1(indexes=0,65535)", &error);
  g_autofree char *xml = NULL;

  g_assert_no_error (error);
  xml = dvmd_topology_dup_xml (topology, NULL);
  g_assert_nonnull (strstr (xml, "os_index=\"65535\""));
  g_assert_null (dvmd_topology_new_from_synthetic ("core:2 pu:1(indexes=0,65536)", &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED);
  g_assert_nonnull (strstr (error->message, "hardware thread 65536: their numbers go from 0 to 65535"));
}

/* Two packages of four cores, with two hardware threads each: core 1 has the threads 2 and 3. */
static void
test_chosen_cpus (void)
{
  static const struct
  {
    const char *cpus;
    const char *list;
    const char *error;
  } rows[] = {
    { "pu:0-3,8", "0-3,8" },
    { "pu:15;0;0", "0,15" },
    { "pu:14-20", "14-15" },
    { "core:1", "2-3" },
    { "core:0-1;7", "0-3,14-15" },
    { "core:1:0-1;0:3", "6-11" },
    { "core:1:0", "8-9" },
    /* As many cores as there are: their numbers are those of a machine of which this is a part. */
    { "core:100-107", "0-15" },
    { "core:3:0-7", "0-15" },
    { "core:6-9", "12-15" },
    { "core:100", NULL, "none of the cpus core:100 is among 0-15" },
    { "core:1:4", NULL, "none of the cpus" },
    { "core:2:0", NULL, "none of the cpus" },
    { "pu:16", NULL, "none of the cpus pu:16 is among 0-15" },
    { "pu:", NULL, "is no list of cpus" },
    { "pu", NULL, "“pu” is no list of cpus" },
    { "", NULL, "“” is no list of cpus" },
    { "0-3", NULL, "is no list of cpus" },
    { "hat:0", NULL, "is no list of cpus" },
    { "core:", NULL, "is no list of cpus" },
    { "core:x:0", NULL, "is no list of cpus" },
    { "core::0", NULL, "is no list of cpus" },
    { "core:0:", NULL, "is no list of cpus" },
    { "core:-1", NULL, "is no list of cpus" },
    { "core:0;", NULL, "is no list of cpus" },
    { "pu:99999999", NULL, "is no list of cpus" },
  };
  g_autoptr (DvmdTopology) topology = dvmd_topology_new_from_synthetic ("package:2 core:4 pu:2", NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *list = dvmd_topology_choose_cpus (topology, rows[i].cpus, &error);

      g_test_message ("%s", rows[i].cpus);
      g_assert_cmpstr (list, ==, rows[i].list);
      g_assert_cmpint (error == NULL, ==, rows[i].error == NULL);
      if (error != NULL && strstr (error->message, rows[i].error) == NULL)
        g_error ("“%s” does not speak of “%s”", error->message, rows[i].error);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/topology/local", test_local);
  g_test_add_func ("/topology/affinity", test_affinity);
  g_test_add_func ("/topology/synthetic", test_synthetic);
  g_test_add_func ("/topology/synthetic-objects", test_synthetic_objects);
  g_test_add_func ("/topology/large-number", test_large_number);
  g_test_add_func ("/topology/xml", test_xml);
  g_test_add_func ("/topology/bad", test_bad);
  g_test_add_func ("/topology/inconsistent", test_inconsistent);
  g_test_add_func ("/topology/bitmap", test_bitmap);
  g_test_add_func ("/topology/neighbour", test_neighbour);
  g_test_add_func ("/topology/chosen-cpus", test_chosen_cpus);
  return g_test_run ();
}
