/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The cpus that processes get on machines of many shapes.
 */

#include "config.h"

#include <string.h>

#include <hwloc.h>

#include "dvm.h"
#include "dvmd-binding.h"

#define A "package:2 numa:1 core:8 pu:2"
#define B "package:2 numa:2 l3:2 core:4 pu:1"
#define C "package:1 core:6 pu:1"
/* The system numbers the hardware threads in another order than they have. */
#define E "package:2 core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)"

enum
{
  NODE,
  PACKAGE,
  NUMA,
  L3,
  L2,
  L1,
  CORE,
  HWTHREAD
};

typedef struct
{
  const char *machine;
  DvmdBindingPolicy policy;
  guint kind; /* of the places */
  const char *objects;
  const char *excluded;
  const char *cpus; /* NULL: an error */
} Case;

static const Case cases[] = {
  { A, { CORE, 0, 1, 0 }, CORE, "0 1 9", NULL, "0-1 2-3 18-19" },
  { A, { CORE, 0, 0, 0 }, NODE, "0 0 0", NULL, "0-1 2-3 4-5" },
  { A, { CORE, 0, 1, 0 }, PACKAGE, "0 1 0 1 0", NULL, "0-1 16-17 2-3 18-19 4-5" },
  { A, { CORE, 0, 4, 0 }, NODE, "0 0 0 0", NULL, "0-7 8-15 16-23 24-31" },
  { A, { CORE, 0, 4, 0 }, NODE, "0 0 0 0 0", NULL, NULL },
  { A, { CORE, 0, 9, 0 }, NODE, "0", NULL, NULL },
  { A, { CORE, DVMD_BINDING_HWTHREADS, 1, 0 }, PACKAGE, "0 0 0 1 1", NULL, "0-1 0-1 2-3 16-17 16-17" },
  { A, { HWTHREAD, DVMD_BINDING_HWTHREADS, 2, 0 }, NODE, "0 0 0", NULL, "0-1 2-3 4-5" },
  { A, { HWTHREAD, 0, 1, 0 }, CORE, "0 1 0", NULL, "0 2 1" },
  { A, { CORE, 0, 1, 0 }, NODE, "0 0", "0,2-5,40", "6-7 8-9" },
  { A, { PACKAGE, 0, 1, 0 }, NODE, "0 0 0 0 0 0 0 0 0", NULL, "0-15 0-15 0-15 0-15 0-15 0-15 0-15 0-15 16-31" },
  { A, { NUMA, 0, 1, 3 }, NODE, "0 0 0 0 0", NULL, "0-15 0-15 0-15 16-31 16-31" },
  { A, { NUMA, 0, 1, 1 }, NODE, "0 0 0", NULL, NULL },
  { A, { L3, 0, 1, 0 }, NODE, "0", NULL, NULL },
  { B, { CORE, 0, 6, 0 }, NODE, "0 0 0 0", NULL, "0-5 6-11 16-21 22-27" },
  { B, { L3, 0, 1, 0 }, NUMA, "0 0 1 2 3", NULL, "0-3 0-3 8-11 16-19 24-27" },
  { B, { L3, 0, 1, 0 }, PACKAGE, "0 0 0 0 0", NULL, "0-3 0-3 0-3 0-3 4-7" },
  { C, { CORE, 0, 1, 0 }, NODE, "0 0 0 0 0 0 0", NULL, NULL },
  { C, { CORE, DVMD_BINDING_OVERLOAD, 1, 0 }, NODE, "0 0 0 0 0 0 0 0", NULL, "0 1 2 3 4 5 0 1" },
  { C, { CORE, DVMD_BINDING_OVERLOAD, 1, 1 }, NODE, "0 0 0 0 0 0 0", NULL, NULL },
  { C, { CORE, DVMD_BINDING_OVERLOAD, 1, 0 }, CORE, "2 2", NULL, "2 2" },
  { C, { CORE, 0, 1, 0 }, CORE, "6", NULL, NULL },
  { E, { CORE, 0, 1, 0 }, CORE, "0 1 2", NULL, "0,8 1,9 2,10" },
  { E, { HWTHREAD, 0, 1, 0 }, HWTHREAD, "0 1 2", NULL, "0 8 1" },
  /* A hardware thread that was asked for is not widened to its core. */
  { A, { CORE, DVMD_BINDING_HWTHREADS, 1, 0 }, HWTHREAD, "1 0 3", NULL, "1 0 3" },
  { A, { CORE, DVMD_BINDING_HWTHREADS | DVMD_BINDING_OVERLOAD, 1, 0 }, HWTHREAD, "1 0 1", NULL, "1 0 1" },
  { A, { CORE, DVMD_BINDING_HWTHREADS, 1, 1 }, HWTHREAD, "1 2", NULL, "1 2" },
  { E, { CORE, DVMD_BINDING_HWTHREADS, 1, 0 }, HWTHREAD, "1 0", NULL, "8 0" },
};

static DvmdTopology *
new_synthetic (const char *description)
{
  hwloc_topology_t topology;
  DvmdTopology *self;
  char *xml;
  int size;

  hwloc_topology_init (&topology);
  g_assert_cmpint (hwloc_topology_set_synthetic (topology, description), ==, 0);
  g_assert_cmpint (hwloc_topology_load (topology), ==, 0);
  g_assert_cmpint (hwloc_topology_export_xmlbuffer (topology, &xml, &size, 0), ==, 0);
  self = dvmd_topology_new_from_xml (xml, strlen (xml), NULL);
  g_assert_nonnull (self);
  hwloc_free_xmlbuffer (topology, xml);
  hwloc_topology_destroy (topology);
  return self;
}

static GArray *
read_places (const Case *c)
{
  GArray *places = g_array_new (FALSE, FALSE, sizeof (DvmdBindingPlace));
  g_auto (GStrv) words = g_strsplit (c->objects, " ", -1);

  for (gsize i = 0; words[i] != NULL; i++)
    {
      DvmdBindingPlace place = { c->kind, (guint32)g_ascii_strtoull (words[i], NULL, 10) };

      g_array_append_val (places, place);
    }
  return places;
}

static void
check_case (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (DvmdTopology) topology = new_synthetic (c->machine);
  g_autoptr (GArray) places = read_places (c);
  const DvmdBindingRequest request = {
    .topology = topology,
    .policy = &c->policy,
    .excluded = c->excluded,
    .places = (const DvmdBindingPlace *)places->data,
    .n_places = places->len,
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) lists = dvmd_binding_compute (&request, NULL, &error);
  g_autofree char *joined = NULL;

  if (c->cpus == NULL)
    {
      g_assert_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED);
      return;
    }
  g_assert_no_error (error);
  g_ptr_array_add (lists, NULL);
  joined = g_strjoinv (" ", (char **)lists->pdata);
  g_assert_cmpstr (joined, ==, c->cpus);
}

static void
test_none (void)
{
  g_autoptr (DvmdTopology) topology = new_synthetic (A);
  const DvmdBindingPolicy policy = { NODE, 0, 1, 0 };
  const DvmdBindingPlace places[2] = { { CORE, 0 }, { CORE, 99 } };
  const DvmdBindingRequest request = { .topology = topology, .policy = &policy, .places = places, .n_places = 2 };
  g_autoptr (GPtrArray) lists = dvmd_binding_compute (&request, NULL, NULL);

  g_assert_cmpuint (lists->len, ==, 2);
  g_assert_null (lists->pdata[0]);
  g_assert_null (lists->pdata[1]);
}

/* Sets that the user has given; the others keep out of them. */
static void
test_given (void)
{
  g_autoptr (DvmdTopology) topology = new_synthetic (A);
  const DvmdBindingPolicy policy = { CORE, 0, 1, 0 };
  const DvmdBindingPlace places[3] = { { DVMD_KIND_CPUS, 1 }, { NODE, 0 }, { DVMD_KIND_CPUS, 2 } };
  const char *const sets[2] = { "9", "0-1,4" };
  DvmdBindingRequest request = {
    .topology = topology, .policy = &policy, .places = places, .n_places = 2, .cpusets = sets, .n_cpusets = 2
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) lists = dvmd_binding_compute (&request, NULL, NULL);

  g_assert_cmpstr (lists->pdata[0], ==, "0-1,4");
  g_assert_cmpstr (lists->pdata[1], ==, "2-3");
  request.n_places = 3;
  g_assert_null (dvmd_binding_compute (&request, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED);
}

/* A set that is none, or not of the node, is an error: else the process would run unbound. */
static void
test_unreadable (void)
{
  static const char *const wrong[] = { "", "x", "0-", "64", "4096-4097" };
  g_autoptr (DvmdTopology) topology = new_synthetic (A);
  const DvmdBindingPolicy policy = { CORE, 0, 1, 0 };
  const DvmdBindingPlace place = { DVMD_KIND_CPUS, 0 };

  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      const DvmdBindingRequest request = {
        .topology = topology, .policy = &policy, .places = &place, .n_places = 1, .cpusets = &wrong[i], .n_cpusets = 1
      };
      g_autoptr (GError) error = NULL;

      g_assert_null (dvmd_binding_compute (&request, NULL, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED);
      g_assert_nonnull (strstr (error->message, "is no list of cpus of the node"));
    }
}

/* Places that follow each other with another policy keep off the cpus of those before them. */
static void
test_policies (void)
{
  static const struct
  {
    const char *machine;
    DvmdBindingPolicy policies[2];
    guint n_first;
    guint n;
    const char *excluded;
    const char *cpus; /* NULL: an error */
    const char *claimed;
  } tries[] = {
    { A, { { CORE, 0, 1, 0 }, { CORE, 0, 2, 0 } }, 2, 4, NULL, "0-1 2-3 4-7 8-11", "0-11" },
    { A, { { CORE, 0, 1, 0 }, { CORE, 0, 2, 0 } }, 2, 4, "2-3", "0-1 4-5 6-9 10-13", "0-1,4-13" },
    /* Of a large object a process takes one core, and the next program has the others. */
    { A, { { PACKAGE, 0, 1, 0 }, { CORE, 0, 1, 0 } }, 2, 4, NULL, "0-15 0-15 4-5 6-7", "0-7" },
    /* A core that is one process's is so with both of its threads. */
    { A, { { CORE, DVMD_BINDING_HWTHREADS, 1, 0 }, { HWTHREAD, 0, 1, 0 } }, 1, 3, NULL, "0-1 2 3", "0-3" },
    { A, { { CORE, DVMD_BINDING_HWTHREADS, 1, 1 }, { HWTHREAD, 0, 1, 0 } }, 1, 3, NULL, "0-1 2 3", "0-3" },
    /* One of which another program has a thread is so as far as it is free. */
    { A, { { HWTHREAD, 0, 1, 0 }, { CORE, DVMD_BINDING_HWTHREADS, 1, 0 } }, 1, 3, NULL, "0 1 2-3", "0-3" },
    { A, { { NODE, 0, 1, 0 }, { CORE, 0, 1, 0 } }, 2, 4, NULL, "- - 0-1 2-3", "0-3" },
    { A, { { CORE, 0, 1, 0 }, { NODE, 0, 1, 0 } }, 2, 4, NULL, "0-1 2-3 - -", "0-3" },
    { C, { { CORE, 0, 1, 0 }, { CORE, 0, 1, 2 } }, 4, 7, NULL, NULL, NULL },
    { C, { { CORE, 0, 1, 0 }, { CORE, DVMD_BINDING_OVERLOAD, 1, 0 } }, 4, 7, NULL, "0 1 2 3 4 5 0", "0-5" },
    /* With overload a process counts for its part of the object, also where others have all of it. */
    { C, { { PACKAGE, DVMD_BINDING_OVERLOAD, 1, 0 } }, 1, 1, "0-3", "0-5", "4" },
    { C, { { PACKAGE, DVMD_BINDING_OVERLOAD, 1, 0 } }, 2, 2, "0-3,5", "0-5 0-5", "0,4" },
    { C, { { PACKAGE, DVMD_BINDING_OVERLOAD, 2, 0 } }, 1, 1, "0-5", "0-5", "0-1" },
  };
  static const DvmdBindingPlace places[7] = { 0 };

  for (gsize i = 0; i < G_N_ELEMENTS (tries); i++)
    {
      g_autoptr (DvmdTopology) topology = new_synthetic (tries[i].machine);
      const DvmdBindingPolicy *policies[7];
      const DvmdBindingRequest request = { .topology = topology,
                                           .excluded = tries[i].excluded,
                                           .places = places,
                                           .policies = policies,
                                           .n_places = tries[i].n };
      g_autoptr (GPtrArray) lists = NULL;
      g_autoptr (GString) shown = g_string_new (NULL);
      g_autoptr (GError) error = NULL;
      char *claimed = NULL;

      for (guint k = 0; k < tries[i].n; k++)
        policies[k] = &tries[i].policies[k >= tries[i].n_first];
      lists = dvmd_binding_compute (&request, &claimed, &error);
      if (tries[i].cpus == NULL)
        {
          g_assert_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED);
          continue;
        }
      g_assert_no_error (error);
      for (guint k = 0; k < lists->len; k++)
        g_string_append_printf (shown, "%s%s", k > 0 ? " " : "",
                                lists->pdata[k] != NULL ? (const char *)lists->pdata[k] : "-");
      g_assert_cmpstr (shown->str, ==, tries[i].cpus);
      g_assert_cmpstr (claimed, ==, tries[i].claimed);
      g_ref_string_release (claimed);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *name = g_strdup_printf ("/binding/case/%zu", i);

      g_test_add_data_func (name, &cases[i], check_case);
    }
  g_test_add_func ("/binding/none", test_none);
  g_test_add_func ("/binding/given", test_given);
  g_test_add_func ("/binding/unreadable", test_unreadable);
  g_test_add_func ("/binding/policies", test_policies);
  return g_test_run ();
}
