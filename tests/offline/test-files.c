/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rankfiles, sequences and lists of cpus: all forms that they have, and each mistake with its place.
 */

#include "config.h"

#include <string.h>

#include "offline-job.h"

#define MACHINE "package:2 core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)"

typedef struct
{
  const char *map_by;
  const char *bind_to;  /* (nullable) */
  const char *file;     /* (nullable) */
  guint32 np;           /* 0: not given */
  const char *expected; /* the places, or what the error mentions */
} Case;

/* Two nodes of four slots; on the second one the first core is another job's. */
static void
add_nodes (OfflineJob *job)
{
  static const char *const aliases[] = { "n1", "localhost", "ib1.cluster", NULL };

  offline_job_add_node (job, "n1", MACHINE, 4)->aliases = aliases;
  offline_job_add_node (job, "n2.cluster", MACHINE, 4)->in_use = dvmd_cpuset_new_from_list ("0");
}

/* (transfer full): the places, or the error */
static char *
place_case (GPtrArray *mappers, const Case *given)
{
  g_auto (OfflineJob) job = { 0 };

  offline_job_init (&job, mappers);
  add_nodes (&job);
  return offline_job_place (&job, given->map_by, given->bind_to, given->file, given->np);
}

static void
check_cases (gconstpointer mappers, const Case *cases, gsize n, gboolean right)
{
  for (gsize i = 0; i < n; i++)
    {
      g_autofree char *placed = place_case ((GPtrArray *)mappers, &cases[i]);

      if (right ? strcmp (placed, cases[i].expected) != 0 : strstr (placed, cases[i].expected) == NULL)
        g_error ("%s with \"%s\" is \"%s\", not \"%s\"", cases[i].map_by, cases[i].file, placed, cases[i].expected);
    }
}

static void
test_rankfile (gconstpointer mappers)
{
  static const Case right[] = {
    { "rankfile:file=/x", NULL, "rank 1=n2 slot=1\nrank 0 = n1 slots = 0-1 # ours\n\n", 0, "0:0:0-1,8-9 1:1:1,9" },
    { "rankfile:file=/x", NULL, "rank 0=n1 slot=1:0,2\nRANK 1=+n1 slot=0:1;1:3", 2, "0:0:4,6,12,14 1:1:1,7,9,15" },
    { "rankfile:file=/x", NULL, "rank 0=N1.elsewhere slot=P1\nrank 1=n1 slot=s0", 2, "0:0:4-7,12-15 1:0:0-3,8-11" },
    { "rankfile:file=/x:HWTCPUS", NULL, "rank 0=n1 slot=1\nrank 1=n1 slot=0,2", 2, "0:0:8 1:0:0-1" },
    { "rankfile:file=/x", "core:overload", "rank 0=n1 slot=1\nrank 1=n1 slot=1", 2, "0:0:1,9 1:0:1,9" },
    { "rankfile:file=/x", "none", "rank 0=n1 slot=1\nrank 1=n1 slot=1", 2, "0:0:- 1:0:-" },
    { "rankfile:file=/x", NULL, "rank 0=localhost slot=1\nrank 1=IB1.cluster slot=0", 2, "0:0:1,9 1:0:0,8" },
    /* Lines without cpus are bound as any job. */
    { "rankfile:file=/x", NULL, "rank 0=n1\nrank 1=n2", 2, "0:0:0,8 1:1:1,9" },
    { "rankfile:file=/x", "package", "rank 0=n1\nrank 1=n2", 2, "0:0:0-3,8-11 1:1:0-3,8-11" },
    { "rankfile:file=/x", "none", "rank 0=n1\nrank 1=n2 slot=1", 2, "0:0:- 1:1:-" },
    /* Lines of ranks that the job does not have are for larger jobs. */
    { "rankfile:file=/x", NULL, "rank 0=n1 slot=0\n# none\nrank 2=n1 slot=2\nrank 1=n1 slot=1", 2, "0:0:0,8 1:0:1,9" },
    /* A core by its number in a package is no hardware thread. */
    { "rankfile:file=/x:HWTCPUS", NULL, "rank 0=n1 slot=1:3\nrank 1=n1 slot=1", 2, "0:0:7,15 1:0:8" },
  };
  static const Case wrong[] = {
    { "rankfile:file=/x", NULL, "rank 0=n1 slot=1\n\nrank 0=n2 slot=1", 1,
      "where:3: rank 0 has a place already, at where:1" },
    { "rankfile:file=/x", NULL, "rank 0=n1 slot=1\nrank 2=n1 slot=2", 3, "where: there is no line for rank 1" },
    { "rankfile:file=/x", NULL, "rank 0=n1 slot=1\nrank 1=n7 slot=2", 2, "where:2: “n7” is none of the job's 2 nodes" },
    { "rankfile:file=/x", NULL, "rank 0=+n2 slot=1", 1,
      "where:1: “+n2” is none of the job's 2 nodes: the first is +n0" },
    { "rankfile:file=/x", NULL, "rank 99999999999=n1 slot=1", 1,
      "the rank is too large, the last one can be 67108863" },
    { "rankfile:file=/x", NULL, "rank 0=n1 slot=0\nrank 1=n1 slot=1\nrank 2=n1 slot=0", 3,
      "where:3: one of the cpus 0 of node n1 has a process already: bind-to core:overload-allowed" },
    { "rankfile:file=/x", NULL, "rank 0=n1 slot=1-", 1, "where:1: “1-” is no list of cpus" },
    { "rankfile:file=/x", NULL, "rank 0=n1 slot=3-1", 1, "“3-1” is no list of cpus" },
    { "rankfile:file=/x", NULL, "rank 0=n1 slot=8", 1,
      "where:1: node n1 has no core 8: they are numbered from 0 to 7" },
    { "rankfile:file=/x", NULL, "rank 0=n1 slot=2:0", 1, "node n1 has no package 2" },
    { "rankfile:file=/x", NULL, "rank 0=n1 slot=1:4", 1, "package 1 of node n1 has no core 4" },
    { "rankfile:file=/x", NULL, "rank 0=n1 slot=0\nrank 1=n1 slot=0-1", 2, "where:2: one of the cpus 0-1 of node n1" },
    { "rankfile:file=/x", NULL, "rank 0=n2 slot=0", 1, "where:1: one of the cpus 0 of node n2" },
    { "rankfile:file=/x", NULL, "rank 0 n1 slot=0", 1, "where:1: “rank 0 n1 slot=0” is not written as it must be" },
    { "rankfile:file=/x", NULL, "rank 0=n1 slot=", 1, "where:1: “rank 0=n1 slot=” is not written as it must be" },
    { "rankfile:file=/x", NULL, "rank 0=n1 slots = # none", 1, "is not written as it must be" },
    { "rankfile:file=/x", NULL, "rank 1=n1 slot=1", 1, "there is no line for rank 0, and the job has 1 process" },
    { "rankfile:file=/x", NULL, "rank x=n1", 1, "is not written as it must be" },
    { "rankfile:file=/x", NULL,
      "rank 0=n1 slot=0\nrank 1=n1 slot=1\nrank 2=n1 slot=2\nrank 3=n1 slot=3\nrank 4=n1 slot=4", 5,
      "where:5: node n1 takes 4 processes of the job" },
    { "rankfile:file=/x", "package", "rank 0=n1 slot=1", 1, "bind-to: “package” contradicts “rankfile” at where:1" },
    { "rankfile:file=/x", "numa", "rank 0=n1 slot=P1", 1, "it can be core, hwthread or none" },
    { "rankfile:file=/x", NULL, "rank 1=n1 slot=1\nrank 0=n1", 2, "where:2: no cpus are named here, but at where:1" },
  };

  check_cases (mappers, right, G_N_ELEMENTS (right), TRUE);
  check_cases (mappers, wrong, G_N_ELEMENTS (wrong), FALSE);
}

static void
test_sequence (gconstpointer mappers)
{
  static const Case right[] = {
    { "seq:file=/x", NULL, "n2\nn1\n# nobody\nn2.cluster\n", 0, "0:1:1,9 1:0:0,8 2:1:2,10" },
    { "seq:file=/x", NULL, "n2\nn1\nn2", 3, "0:1:0-15 1:0:0-15 2:1:0-15" },
    { "seq:file=/x", NULL, "n2 3\nn1 0-1\nn2 4,6", 3, "0:1:3,11 1:0:0-1,8-9 2:1:4,6,12,14" },
    /* The lines behind those of the processes are for larger jobs. */
    { "seq:file=/x", NULL, "n1\nn1\nn2", 2, "0:0:0,8 1:0:1,9" },
    { "seq:file=/x", "package", "n1\nn1\nn2", 2, "0:0:0-3,8-11 1:0:0-3,8-11" },
    { "seq:file=/x", "core", "n1 2,3\nn1 1", 2, "0:0:2-3,10-11 1:0:1,9" },
    /* Without a file the hosts of the job are the sequence. */
    { "seq", NULL, NULL, 0, "0:0:0,8 1:1:1,9" },
    { "seq", NULL, NULL, 1, "0:0:0,8" },
    { "seq", "none", NULL, 3, "0:0:- 1:1:- 2:0:-" },
  };
  static const Case wrong[] = {
    { "seq:file=/x", NULL, "n1\n", 2, "where has 1 line, each for one process, and the job has 2 processes" },
    { "seq:file=/x", NULL, "n1\nn9\n", 0, "where:2: “n9” is none of the job's 2 nodes" },
    { "seq:file=/x", NULL, "n1\nn1\nn1\nn1\nn1\n", 0, "where:5: node n1 takes 4 processes" },
    { "seq:file=/x", NULL, "n1 0,x", 1, "where:1: “0,x” is no list of cpus" },
    { "seq:file=/x", "package", "n1 0", 1, "bind-to: “package” contradicts “seq” at where:1, which names the cpus 0" },
    { "seq:file=/x", "core", "n1\nn1 0", 2, "where:1: no cpus are named here, but at where:2" },
    { "seq:file=/x", NULL, NULL, 1, "“seq” is without its file" },
  };

  check_cases (mappers, right, G_N_ELEMENTS (right), TRUE);
  check_cases (mappers, wrong, G_N_ELEMENTS (wrong), FALSE);
}

static void
test_list (gconstpointer mappers)
{
  static const Case right[] = {
    { "pe-list=1,3,5-6:ORDERED", NULL, NULL, 0, "0:0:1,9 1:0:3,11 2:0:5,13 3:0:6,14" },
    { "pe-list=5,1:ORDERED", NULL, NULL, 3, "0:0:5,13 1:0:1,9 2:1:5,13" },
    { "pe-list=1,3", NULL, NULL, 3, "0:0:1,3,9,11 1:0:1,3,9,11 2:1:1,3,9,11" },
    /* Each has its own. */
    { "pe-list=1,3", "core", NULL, 3, "0:0:1,9 1:0:3,11 2:1:1,9" },
    { "pe-list=1,3:HWTCPUS:ORDERED", NULL, NULL, 2, "0:0:8 1:0:9" },
    { "pe-list=1,3", "none", NULL, 2, "0:0:- 1:0:-" },
    /* Processes that may share begin with the list again, as long as there are slots. */
    { "pe-list=1", "core:overload-allowed", NULL, 2, "0:0:1,9 1:0:1,9" },
    { "pe-list=5,1:ORDERED", ":overload-allowed", NULL, 5, "0:0:5,13 1:0:1,9 2:0:5,13 3:0:1,9 4:1:5,13" },
    { "pe-list=1", ":overload-allowed", NULL, 3, "0:0:1,9 1:0:1,9 2:0:1,9" },
  };
  static const Case wrong[] = {
    { "pe-list=1,9:ORDERED", NULL, NULL, 1, "node n1 has no core 9" },
    { "pe-list=1,2:ORDERED", NULL, NULL, 5, "1 process has no place" },
    { "pe-list=1", NULL, NULL, 3, "or let them share (bind-to core:overload-allowed)" },
    { "pe-list=1,2", "package", NULL, 1, "bind-to: “package” contradicts map-by “pe-list”" },
    { "pe-list=1,2:HWTCPUS", "l2cache", NULL, 1, "bind-to: “l2cache” contradicts map-by “pe-list”" },
    { "pe-list=1-3,2:ORDERED", NULL, NULL, 1, "map-by: pe-list: cpu 2 is named twice" },
    { "pe-list=3,4", NULL, NULL, 1, "are of several packages" },
    { "pe-list=0:ORDERED", NULL, NULL, 2,
      "one of the cpus 0 of node n2.cluster has a process of another job, or program" },
  };

  check_cases (mappers, right, G_N_ELEMENTS (right), TRUE);
  check_cases (mappers, wrong, G_N_ELEMENTS (wrong), FALSE);
}

/* Files that name no cpus, of more processes than a node has cpus: it has slots for all of them, or may be shared. */
static void
test_more_than_cpus (gconstpointer mappers)
{
  static const struct
  {
    const char *map_by;
    const char *file;
  } cases[] = {
    { "rankfile:file=/x", "rank 0=n\nrank 1=n\nrank 2=n\n" },
    { "rankfile:file=/x:OVERSUBSCRIBE", "rank 0=n\nrank 1=n\nrank 2=n\n" },
    { "seq:file=/x", "n\nn\nn\n" },
    { "seq:file=/x:OVERSUBSCRIBE", "n\nn\nn\n" },
    { "seq", NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (OfflineJob) job = { 0 };
      g_autofree char *placed = NULL;

      offline_job_init (&job, (GPtrArray *)mappers);
      offline_job_add_node (&job, "n", "package:1 numa:1 core:2 pu:1", 8);
      placed = offline_job_place (&job, cases[i].map_by, NULL, cases[i].file, 3);
      if (strcmp (placed, "0:0:- 1:0:- 2:0:-") != 0)
        g_error ("%s is \"%s\"", cases[i].map_by, placed);
    }
}

/* A node of more slots than cpus, given or not: an object that is asked for is for processes that have cpus there. */
static void
test_more_slots_than_cpus (gconstpointer mappers)
{
  static const struct
  {
    const char *map_by;
    const char *bind_to;
    guint32 np;
    const char *expected;
  } cases[] = {
    { "core", NULL, 0, "0:0:0-1 1:0:2-3" },
    { NULL, "core", 0, "0:0:0-1 1:0:2-3" },
    { "core", "none", 0, "0:0:- 1:0:- 2:0:- 3:0:-" },
    { "core", NULL, 3, "3 processes do not fit onto the job's only node: each has 1 core of its own" },
    { NULL, NULL, 0, "0:0:- 1:0:- 2:0:- 3:0:-" },
    { NULL, NULL, 3, "0:0:- 1:0:- 2:0:-" },
  };

  for (gsize i = 0; i < 2 * G_N_ELEMENTS (cases); i++)
    {
      g_auto (OfflineJob) job = { 0 };
      g_autofree char *placed = NULL;

      offline_job_init (&job, (GPtrArray *)mappers);
      offline_job_add_node (&job, "n", "package:1 core:2 pu:2", 4);
      job.oversubscribe = i % 2 == 1;
      placed = offline_job_place (&job, cases[i / 2].map_by, cases[i / 2].bind_to, NULL, cases[i / 2].np);
      if (strstr (placed, cases[i / 2].expected) == NULL)
        g_error ("%s %s is \"%s\", not \"%s\"", cases[i / 2].map_by, cases[i / 2].bind_to, placed,
                 cases[i / 2].expected);
    }
}

/* A program without a number has the cpus of the list that the others leave. */
static void
test_list_of_programs (gconstpointer mappers)
{
  static const struct
  {
    guint n_nodes;
    guint32 np[2];
    const char *expected;
  } cases[] = {
    { 1, { 0, 1 }, "0:0:0 1:0:1 2:0:2" },
    { 1, { 1, 0 }, "0:0:0 1:0:1 2:0:2" },
    { 2, { 0, 1 }, "0:0:0 1:0:1 2:0:2 3:1:0" },
    { 1, { 0, 3 }, "1 process has no place" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (OfflineJob) job = { 0 };
      g_autofree char *placed = NULL;

      offline_job_init (&job, (GPtrArray *)mappers);
      for (guint k = 0; k < cases[i].n_nodes; k++)
        offline_job_add_node (&job, "n", "package:1 core:4 pu:1", 4);
      g_array_append_val (job.app_np, cases[i].np[0]);
      placed = offline_job_place (&job, "pe-list=0-2:ORDERED", NULL, NULL, cases[i].np[1]);
      if (strstr (placed, cases[i].expected) == NULL)
        g_error ("%u and %u are \"%s\", not \"%s\"", cases[i].np[0], cases[i].np[1], placed, cases[i].expected);
    }
}

/* Without a number there are as many processes as have their cpus, or slots. */
static void
test_number (gconstpointer mappers)
{
  static const Case right[] = {
    { "slot:PE=2", NULL, NULL, 0,
      "0:0:0-1,8-9 1:0:2-3,10-11 2:0:4-5,12-13 3:0:6-7,14-15 4:1:1-2,9-10 5:1:4-5,12-13 6:1:6-7,14-15" },
    { "package:PE=4", NULL, NULL, 0, "0:0:0-3,8-11 1:0:4-7,12-15 2:1:4-7,12-15" },
    { "ppr:1:package", NULL, NULL, 0, "0:0:0-3,8-11 1:0:4-7,12-15 2:1:0-3,8-11 3:1:4-7,12-15" },
  };

  check_cases (mappers, right, G_N_ELEMENTS (right), TRUE);
}

/* A program without a number has what the nodes have room for that are its own, whatever others have elsewhere. */
static void
test_number_of_programs (gconstpointer mappers)
{
  static const guint32 limits[] = { G_MAXUINT32, 0, 0, G_MAXUINT32 };

  for (guint32 np = 0; np <= 2; np++)
    {
      g_auto (OfflineJob) job = { 0 };
      g_autofree char *placed = NULL;

      offline_job_init (&job, (GPtrArray *)mappers);
      for (guint k = 0; k < 2; k++)
        offline_job_add_node (&job, "n", "package:1 core:4 pu:1", 4);
      job.app_limits = g_array_new (FALSE, FALSE, sizeof (guint32));
      g_array_append_vals (job.app_limits, limits, G_N_ELEMENTS (limits));
      g_array_append_val (job.app_np, np);
      placed = offline_job_place (&job, "slot:PE=2", NULL, NULL, 0);
      g_assert_cmpstr (placed, ==, np == 1 ? "0:0:0-1 1:1:0-1 2:1:2-3" : "0:0:0-1 1:0:2-3 2:1:0-1 3:1:2-3");
    }
}

/* A number of cpus that the job has said is heeded or refused, one as well as two. */
static void
test_cpus_of_each (gconstpointer mappers)
{
  static const Case cases[] = {
    { "slot:PE=1", NULL, NULL, 2, "0:0:0 1:0:1" },
    { "slot:PE=1", NULL, NULL, 0, "0:0:0 1:0:1" },
    { ":PE=1", NULL, NULL, 0, "0:0:0 1:0:1" },
    { "core:PE=1", NULL, NULL, 0, "0:0:0 1:0:1" },
    { "slot", NULL, NULL, 2, "0:0:- 1:0:-" },
    { "slot:PE=1", "core:overload-allowed", NULL, 3, "0:0:0 1:0:1 2:0:0" },
    { "slot:PE=1", NULL, NULL, 3, "3 processes do not fit onto the job's only node: each has 1 core of its own" },
    { ":PE=1", NULL, NULL, 3, "each has 1 core of its own" },
    { "slot:PE=1:OVERSUBSCRIBE", NULL, NULL, 3, "each has 1 core of its own" },
    { "slot:PE=2", NULL, NULL, 2, "each has 2 cores of its own" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (OfflineJob) job = { 0 };
      g_autofree char *placed = NULL;

      offline_job_init (&job, (GPtrArray *)mappers);
      offline_job_add_node (&job, "n1", "package:1 core:2 pu:1", 4);
      placed = offline_job_place (&job, cases[i].map_by, cases[i].bind_to, NULL, cases[i].np);
      if (strstr (placed, cases[i].expected) == NULL)
        g_error ("%s is \"%s\", not \"%s\"", cases[i].map_by, placed, cases[i].expected);
    }
}

static const OfflineTest tests[] = {
  { "/files/rankfile", test_rankfile },
  { "/files/sequence", test_sequence },
  { "/files/list", test_list },
  { "/files/list-of-programs", test_list_of_programs },
  { "/files/more-than-cpus", test_more_than_cpus },
  { "/files/more-slots-than-cpus", test_more_slots_than_cpus },
  { "/files/number", test_number },
  { "/files/number-of-programs", test_number_of_programs },
  { "/files/cpus-of-each", test_cpus_of_each },
};

int
main (int argc, char **argv)
{
  return offline_run_tests (argc, argv, tests, G_N_ELEMENTS (tests));
}
