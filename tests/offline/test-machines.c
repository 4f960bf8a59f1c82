/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Machines of which cores differ, of which some cpus are offline, and of 4,096 cpus.
 */

#include "config.h"

#include <string.h>

#include "offline-job.h"

#define LARGE   "package:64 core:64 pu:1"
#define N_LARGE 4096

typedef struct
{
  const char *machine;
  const char *map_by;
  const char *bind_to; /* (nullable) */
  guint32 np;          /* 0: not given */
  const char *expected;
} Case;

/* Cores of two threads are 0 to 2, those of one are cpus 6, 8 and 10. Of the other one cpus 3, 8 and 9 are offline. */
static const Case cases[] = {
  { "hybrid.xml", "core", "core", 6, "0:0:0-1 1:0:2-3 2:0:4-5 3:0:6 4:0:8 5:0:10" },
  { "hybrid.xml", "l2cache", "l2cache", 6, "0:0:0-1 1:0:2-3 2:0:4-5 3:0:6 4:0:8 5:0:10" },
  { "hybrid.xml", "hwthread", "hwthread", 9, "0:0:0 1:0:1 2:0:2 3:0:3 4:0:4 5:0:5 6:0:6 7:0:8 8:0:10" },
  { "hybrid.xml", "slot:PE=4", NULL, 1, "0:0:0-6" },
  { "hybrid.xml", "ppr:6:package:PE=2", "core", 0, "6 of 6 processes have no place" },
  { "hybrid.xml", "pe-list=5,7:HWTCPUS", "core", 2, "0:0:5 1:0:8" },
  { "hybrid.xml", "pe-list=1,9:HWTCPUS", "core", 2, "pe-list: " },
  { "offline.xml", "core", "core", 7, "0:0:0-1 1:0:2 2:0:4-5 3:0:6-7 4:0:10-11 5:0:12-13 6:0:14-15" },
  { "offline.xml", "core", "core", 8, "core" },
  { "offline.xml", "numa", "core", 4, "0:0:0-1 1:0:2 2:0:10-11 3:0:12-13" },
  { "offline.xml", "numa", "numa", 2, "0:0:0-2,4-7 1:0:10-15" },
  { "offline.xml", "package:PE=3", "core", 2, "0:0:0-2,4-5 1:0:10-15" },
  { "offline.xml", "hwthread", "hwthread", 4, "0:0:0 1:0:1 2:0:2 3:0:4" },
  { "offline.xml", "pe-list=3:HWTCPUS", "hwthread", 1, "0:0:4" },
};

static void
test_cases (gconstpointer mappers)
{
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const Case *given = &cases[i];
      g_auto (OfflineJob) job = { 0 };
      g_autofree char *placed = NULL;

      offline_job_init (&job, (GPtrArray *)mappers);
      offline_job_add_node (&job, "n0", given->machine, 16);
      placed = offline_job_place (&job, given->map_by, given->bind_to, NULL, given->np);
      if (g_str_has_prefix (given->expected, "0:") ? strcmp (placed, given->expected) != 0
                                                   : strstr (placed, given->expected) == NULL)
        g_error ("--map-by %s --bind-to %s on %s is \"%s\", not \"%s\"", given->map_by, given->bind_to, given->machine,
                 placed, given->expected);
    }
}

static char *
place_large (GPtrArray *mappers, const char *map_by, const char *bind_to, guint32 np)
{
  g_auto (OfflineJob) job = { 0 };

  offline_job_init (&job, mappers);
  offline_job_add_node (&job, "n0", LARGE, 2 * N_LARGE);
  return offline_job_place (&job, map_by, bind_to, NULL, np);
}

/* Each of as many processes as cpus has one for itself, in their order. */
static void
test_large (gconstpointer mappers)
{
  static const char *const words[] = { "core", "slot", "package", "pe-list=0-4095", "ppr:64:package" };
  g_autoptr (GString) expected = g_string_new ("0:0:0");

  for (guint rank = 1; rank < N_LARGE; rank++)
    g_string_append_printf (expected, " %u:0:%u", rank, rank);
  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_autofree char *placed = place_large ((GPtrArray *)mappers, words[i], "core", N_LARGE);

      if (strcmp (placed, expected->str) != 0)
        g_error ("--map-by %s: %.200s", words[i], placed);
    }
}

static void
test_large_is_full (gconstpointer mappers)
{
  g_autofree char *placed = place_large ((GPtrArray *)mappers, "core", "core", N_LARGE + 1);

  g_assert_false (g_str_has_prefix (placed, "0:"));
}

int
main (int argc, char **argv)
{
  static const OfflineTest tests[] = {
    { "/machines/cases", test_cases },
    { "/machines/large", test_large },
    { "/machines/large-is-full", test_large_is_full },
  };

  return offline_run_tests (argc, argv, tests, G_N_ELEMENTS (tests));
}
