/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "pmix-fixture.h"

/*
 * Figures of the PMIx server alone: start, registrations, N local clients from start to exit (P17).
 *
 *   bench-pmix [hash|ds21] [JOBS] [CLIENTS] [ROUNDS] [PROGRAM]
 */

static double
ms_since (gint64 start)
{
  return (double)(g_get_monotonic_time () - start) / 1000;
}

static guint
get_rss_kib (void)
{
  g_autofree char *text = NULL;
  const char *line;

  if (!g_file_get_contents ("/proc/self/status", &text, NULL, NULL))
    return 0;
  line = strstr (text, "VmRSS:");
  return line != NULL ? (guint)strtoul (line + 6, NULL, 10) : 0;
}

static void
bench_jobs (PmixFixture *fixture, guint n_jobs, guint n_procs)
{
  const char *argv[] = { "/bin/true", NULL };
  guint before = get_rss_kib ();
  gint64 start = g_get_monotonic_time ();

  for (guint i = 0; i < n_jobs; i++)
    {
      g_autofree char *nspace = g_strdup_printf ("bench-%u-%u", n_procs, i);
      g_autoptr (DvmdPmixJob) job = pmix_fixture_new_job (fixture, nspace, n_procs, argv);
      g_autoptr (GError) error = NULL;
      g_auto (GStrv) environment = NULL;

      pmix_fixture_register (fixture, job, &error);
      g_assert_no_error (error);
      environment = dvmd_pmix_dup_environment (fixture->pmix, nspace, 0, &error);
      pmix_fixture_deregister (fixture, nspace);
    }
  g_print ("register + environment + deregister, %u ranks: %.0f jobs/s; grew by %d KiB in %u jobs\n", n_procs,
           n_jobs * 1000 / ms_since (start), (int)(get_rss_kib () - before), n_jobs);
}

/* One of many nodes of a large job. */
static void
bench_large (PmixFixture *fixture, guint n_nodes, guint per_node)
{
  g_autoptr (GPtrArray) nodes = g_ptr_array_new_with_free_func (g_free);
  const char *argv[] = { "/bin/true", NULL };
  g_autoptr (DvmdPmixJob) job = NULL;
  g_autoptr (GError) error = NULL;
  guint before = get_rss_kib ();
  gint64 start = g_get_monotonic_time ();

  g_ptr_array_add (nodes, g_strdup (g_get_host_name ()));
  for (guint i = 1; i < n_nodes; i++)
    g_ptr_array_add (nodes, g_strdup_printf ("node%05u", i));
  g_ptr_array_add (nodes, NULL);
  job = dvmd_pmix_job_new ("large", (const char *const *)nodes->pdata, 0);
  dvmd_pmix_job_add_app (job, argv, "/", n_nodes * per_node);
  for (guint i = 0; i < n_nodes * per_node; i++)
    dvmd_pmix_job_add_rank (job, i / per_node, (guint16)(i % per_node), (guint16)(i % per_node), NULL);
  pmix_fixture_register (fixture, job, &error);
  g_assert_no_error (error);
  g_print ("%u x %u ranks registered: %.0f ms, %d KiB\n", n_nodes, per_node, ms_since (start),
           (int)(get_rss_kib () - before));
  pmix_fixture_deregister (fixture, "large");
}

static void
bench_clients (PmixFixture *fixture, guint n_clients, guint round, const char *program)
{
  const char *argv[] = { program, "nothing", NULL };
  g_autofree char *nspace = g_strdup_printf ("clients-%u", round);
  g_autoptr (DvmdPmixJob) job = pmix_fixture_new_job (fixture, nspace, n_clients, argv);
  g_autoptr (PmixRun) run = NULL;
  gint64 start = g_get_monotonic_time ();
  guint before = get_rss_kib ();
  double registered;

  g_assert_true (pmix_fixture_register (fixture, job, NULL));
  registered = ms_since (start);
  run = pmix_fixture_start (fixture, job);
  pmix_run_wait (run);
  g_print ("%u clients: registered %.1f ms, all ended %.1f ms; grew by %d KiB\n", n_clients, registered,
           ms_since (start), (int)(get_rss_kib () - before));
  for (guint i = 0; i < n_clients; i++)
    g_assert_cmpint (pmix_run_get_status (run, i), ==, 0);
  pmix_fixture_deregister (fixture, nspace);
}

int
main (int argc, char **argv)
{
  const char *gds = argc > 1 ? argv[1] : "hash";
  guint n_jobs = argc > 2 ? (guint)atoi (argv[2]) : 1000;
  guint n_clients = argc > 3 ? (guint)atoi (argv[3]) : 64;
  guint n_rounds = argc > 4 ? (guint)atoi (argv[4]) : 5;
  g_autoptr (PmixFixture) fixture = NULL;
  g_autoptr (DvmdTopology) topology = NULL;
  gint64 start = g_get_monotonic_time ();

  topology = dvmd_topology_new_local (NULL);
  g_print ("topology: %.2f ms (first)\n", ms_since (start));
  start = g_get_monotonic_time ();
  fixture = pmix_fixture_new (gds);
  g_print ("topology and PMIx server start: %.2f ms, %u KiB\n", ms_since (start), get_rss_kib ());
  fixture->quick = TRUE;
  bench_jobs (fixture, n_jobs, 1);
  bench_jobs (fixture, n_jobs / 10, 64);
  for (guint i = 0; i < n_rounds && argc > 5; i++)
    bench_clients (fixture, n_clients, i, argv[5]);
  bench_large (fixture, 100, 100);
  start = g_get_monotonic_time ();
  g_clear_pointer (&fixture, pmix_fixture_free);
  g_print ("stop: %.2f ms\n", ms_since (start));
  return 0;
}
