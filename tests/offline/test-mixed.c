/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs on machines that differ: those without what a job asks for are passed over, and messages name them.
 */

#include "config.h"

#include <string.h>

#include "dvmd-map-binding.h"
#include "offline-job.h"

#define WITH    "package:2 l3:1 core:2 pu:1"
#define WITHOUT "package:2 core:2 pu:1"
#define THREADS "pu:4"
#define UNKNOWN "package:1 core:4 pu:1"

typedef struct
{
  const char *nodes; /* a letter for each: "w" with a cache, "o" without, "t" of threads, "s" of one package, "u":
                        nothing is known */
  const char *map_by;
  const char *bind_to; /* (nullable) */
  const char *file;    /* (nullable) */
  guint32 np;          /* 0: not given */
  const char *expected;
} Case;

static void
load_nothing (DvmdMapTopology *into, gpointer user_data)
{
}

static const char *
machine_of (char letter)
{
  return letter == 'w' ? WITH : letter == 'o' ? WITHOUT : letter == 't' ? THREADS : UNKNOWN;
}

/* Of four slots each: n0, n1, ... */
static void
add_nodes (OfflineJob *job, const char *letters)
{
  for (guint i = 0; letters[i] != '\0'; i++)
    {
      g_autofree char *name = g_strdup_printf ("n%u", i);
      OfflineNode *node = offline_job_add_node (job, name, machine_of (letters[i]), 4);

      if (letters[i] != 'u')
        continue;
      dvmd_map_topology_free (node->objects);
      node->objects = dvmd_map_topology_new (load_nothing, NULL, NULL);
    }
}

/* (transfer full): the places, or the error */
static char *
place_case (GPtrArray *mappers, const Case *given)
{
  g_auto (OfflineJob) job = { 0 };

  offline_job_init (&job, mappers);
  add_nodes (&job, given->nodes);
  return offline_job_place (&job, given->map_by, given->bind_to, given->file, given->np);
}

static void
check_cases (gconstpointer mappers, const Case *cases, gsize n, gboolean right)
{
  for (gsize i = 0; i < n; i++)
    {
      g_autofree char *placed = place_case ((GPtrArray *)mappers, &cases[i]);

      if (right ? strcmp (placed, cases[i].expected) != 0 : strstr (placed, cases[i].expected) == NULL)
        g_error ("--map-by %s --bind-to %s on %s is \"%s\", not \"%s\"", cases[i].map_by, cases[i].bind_to,
                 cases[i].nodes, placed, cases[i].expected);
    }
}

static void
test_passed_over (gconstpointer mappers)
{
  static const Case right[] = {
    /* Some of the nodes have what the job names. */
    { "ow", "slot", "l3cache", NULL, 2, "0:1:0-1 1:1:0-1" },
    { "ow", NULL, "l3cache", NULL, 2, "0:1:0-1 1:1:2-3" },
    { "uw", "node", "core", NULL, 2, "0:1:0 1:1:1" },
    { "uw", "slot:PE=2", NULL, NULL, 2, "0:1:0-1 1:1:2-3" },
    { "wou", "l3cache", NULL, NULL, 2, "0:0:0-1 1:0:2-3" },
    { "uo", "package", NULL, NULL, 2, "0:1:0-1 1:1:2-3" },
    { "ow", "ppr:1:l3cache", NULL, NULL, 0, "0:1:0-1 1:1:2-3" },
    /* The number of processes is that of the nodes that are left. */
    { "ow", "slot", "l3cache", NULL, 0, "0:1:0-1 1:1:0-1 2:1:2-3 3:1:2-3" },
    { "ow", "ppr:2:node", "l3cache", NULL, 0, "0:1:0-1 1:1:0-1" },
    /* SPAN is taken, and changes nothing. */
    { "wsw", "slot:SPAN", "none", NULL, 5, "0:0:- 1:0:- 2:0:- 3:0:- 4:1:-" },
    { "wsw", "node:SPAN", "none", NULL, 5, "0:0:- 1:1:- 2:2:- 3:0:- 4:1:-" },
    { "wsw", "ppr:4:package", NULL, NULL, 0, "0:1:0-3 1:1:0-3 2:1:0-3 3:1:0-3" },
    /* Files count all of the job's nodes. */
    { "ow", "seq:file=/x", "l3cache", "+n1\nn1\n", 2, "0:1:0-1 1:1:0-1" },
    /* A binding that nobody has asked for is left out. */
    { "uw", NULL, NULL, NULL, 5, "0:0:- 1:0:- 2:0:- 3:0:- 4:1:-" },
    { "uw", "slot", NULL, NULL, 5, "0:0:- 1:0:- 2:0:- 3:0:- 4:1:-" },
    { "ow", "slot", "l3cache:if-supported", NULL, 1, "0:0:-" },
  };
  static const Case wrong[] = {
    { "o", "slot", "l3cache", NULL, 1, "bind-to: node n0 has no l3cache" },
    { "ou", "slot", "l3cache", NULL, 1, "bind-to: node n0 has no l3cache, nor can" },
    { "u", "slot", "core", NULL, 1, "bind-to: the hardware of node n0 is not known" },
    { "wo", "slot", "l3cache", NULL, 5,
      "slots of the job's 2 nodes; one node was passed over: node n1 has no l3cache" },
    { "ww", "ppr:4:package", NULL, NULL, 0, "16 of 16 processes have no place: 4 of each application on each package" },
    { "owu", "slot", "l3cache", NULL, 5, "; 2 nodes were passed over: node n0 has no l3cache" },
    { "ow", "seq:file=/x", "l3cache", "n1\nn0\n", 2, "where:2: node n0 takes 0 processes" },
  };

  check_cases (mappers, right, G_N_ELEMENTS (right), TRUE);
  check_cases (mappers, wrong, G_N_ELEMENTS (wrong), FALSE);
}

/* The advice of a message would be taken. */
static void
test_advice (gconstpointer mappers)
{
  static const Case right[] = {
    { "w", "slot:PE=2", "core:overload-allowed", NULL, 3, "0:0:0-1 1:0:2-3 2:0:0-1" },
    { "w", "package", "package:limit=2", NULL, 3, "0:0:0-1 1:0:0-1 2:0:2-3" },
    { "w", "package:PE=2", "core:limit=2:overload-allowed", NULL, 3, "0:0:0-1 1:0:0-1 2:0:2-3" },
  };
  static const Case wrong[] = {
    { "w", "slot:PE=2", NULL, NULL, 3,
      "2 cores of its own, and after those that have a place there is room for 2; have "
      "fewer, or let them share (bind-to core:overload-allowed)" },
    { "w", "slot:PE=3", NULL, NULL, 1,
      "no package of the job's only node has the 3 cores of a process (PE=3): give each" },
    { "w", "slot:PE=3", "core:overload-allowed", NULL, 1, "no package of the job's only node has the 3 cores" },
    { "ww", "l3cache:PE=3", "core:overload-allowed", NULL, 1, "(PE=3): give each fewer, or map by a larger object" },
    { "w", "package", "package:limit=1", NULL, 3,
      "one package takes 1 at most (bind-to limit=1), and after those that have "
      "a place there is room for 2; have fewer, or a higher limit" },
    { "w", "package:PE=2", "core:limit=1", NULL, 3,
      "or a higher limit, and let them share (bind-to core:overload-allowed)" },
  };

  check_cases (mappers, right, G_N_ELEMENTS (right), TRUE);
  check_cases (mappers, wrong, G_N_ELEMENTS (wrong), FALSE);
}

/* Where hardware shows no cores, each hardware thread is one. */
static void
test_no_cores (gconstpointer mappers)
{
  static const Case right[] = {
    { "t", NULL, NULL, NULL, 2, "0:0:0 1:0:1" },
    { "t", "core", NULL, NULL, 3, "0:0:0 1:0:1 2:0:2" },
    { "tw", "slot", "core", NULL, 5, "0:0:0 1:0:1 2:0:2 3:0:3 4:1:0" },
    { "t", "slot:PE=2", NULL, NULL, 2, "0:0:0-1 1:0:2-3" },
    { "t", "ppr:1:core", NULL, NULL, 0, "0:0:0 1:0:1 2:0:2 3:0:3" },
    { "t", "pe-list=3,1", "core", NULL, 2, "0:0:3 1:0:1" },
  };
  static const Case wrong[] = {
    { "t", "slot", "package", NULL, 1, "bind-to: node n0 has no package" },
    { "t", "slot", "core", NULL, 5, "5 processes do not fit into the 4 slots" },
  };

  check_cases (mappers, right, G_N_ELEMENTS (right), TRUE);
  check_cases (mappers, wrong, G_N_ELEMENTS (wrong), FALSE);
}

/* A job that is not bound although it would be says why. */
static void
test_why_unbound (gconstpointer mappers)
{
  static const struct
  {
    const char *nodes;
    const char *map_by;
    const char *in_use; /* (nullable): of the first node, by other jobs */
    guint32 np;
    gboolean oversubscribe; /* nobody has given the slots */
    const char *why;        /* (nullable) */
  } cases[] = {
    { "w", NULL, NULL, 4, FALSE, NULL },
    { "w", "slot:OVERSUBSCRIBE", NULL, 5, FALSE, NULL },
    { "w", "core", NULL, 5, TRUE, "more processes than slots" },
    { "w", "core", "0", 4, TRUE, "other jobs have the cpus" },
    { "wu", NULL, NULL, 4, FALSE, "the hardware of node n1 is not known" },
    { "w", "node", "0", 4, FALSE, "more slots than free cpus" },
    { "w", "core", "0", 4, FALSE, "other jobs have the cpus" },
    { "w", NULL, "0", 4, FALSE, "other jobs have the cpus" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (OfflineJob) job = { 0 };
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmdMap) map = NULL;

      offline_job_init (&job, (GPtrArray *)mappers);
      add_nodes (&job, cases[i].nodes);
      if (cases[i].in_use != NULL)
        g_array_index (job.nodes, OfflineNode, 0).in_use = dvmd_cpuset_new_from_list (cases[i].in_use);
      g_array_append_val (job.app_np, cases[i].np);
      job.wishes = (DvmdMapWishes){ .map_by = cases[i].map_by, .binds = TRUE };
      job.oversubscribe = cases[i].oversubscribe;
      job.wishes.oversubscribe = cases[i].map_by != NULL && strstr (cases[i].map_by, "OVER") != NULL;
      job.oversubscribe = job.oversubscribe || job.wishes.oversubscribe;
      map = offline_job_map (&job, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (map->unbound, ==, cases[i].why);
    }
}

/* Nodes of two kinds that take turns are bound once for each kind. */
static void
test_bound_once (gconstpointer mappers)
{
  static const guint32 np = 8;
  static const char *const ways[] = { "ppr:2:node", "core", "node" };

  for (gsize way = 0; way < G_N_ELEMENTS (ways); way++)
    {
      g_auto (OfflineJob) job = { 0 };
      g_autoptr (DvmdMap) map = NULL;
      g_autoptr (DvmdMapBinder) binder = NULL;
      GPtrArray *cpus[4];

      offline_job_init (&job, (GPtrArray *)mappers);
      add_nodes (&job, "wowo");
      for (guint i = 0; i < 4; i++)
        g_array_index (job.nodes, OfflineNode, i).slots = 2;
      g_array_append_val (job.app_np, np);
      job.wishes = (DvmdMapWishes){ .map_by = ways[way], .bind_to = "core", .binds = TRUE };
      map = offline_job_map (&job, NULL);
      binder = dvmd_map_binder_new (map);
      for (guint i = 0; i < 4; i++)
        {
          cpus[i] = dvmd_map_binder_bind (binder, i + 1, g_array_index (job.nodes, OfflineNode, i).topology, NULL);
          g_assert_nonnull (cpus[i]);
        }
      g_assert_true (cpus[0] == cpus[2] && cpus[1] == cpus[3] && cpus[0] != cpus[1]);
      for (guint i = 0; i < 4; i++)
        g_ptr_array_unref (cpus[i]);
    }
}

static const OfflineTest tests[] = {
  { "/mixed/passed-over", test_passed_over }, { "/mixed/advice", test_advice },
  { "/mixed/no-cores", test_no_cores },       { "/mixed/why-unbound", test_why_unbound },
  { "/mixed/bound-once", test_bound_once },
};

int
main (int argc, char **argv)
{
  return offline_run_tests (argc, argv, tests, G_N_ELEMENTS (tests));
}
