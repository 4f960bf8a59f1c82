/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>

#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>

#include "dvm.h"
#include "pmix-fixture.h"
#include "pmix-library.h"

/* libpmix lives once in a process: all tests share the server. */
static const char *
get_client (void)
{
  return g_test_get_filename (G_TEST_BUILT, "..", "lib", "pmix-client", NULL);
}

static PmixRun *
run_client (PmixFixture *fixture, const char *nspace, guint n, const char *verb)
{
  const char *argv[] = { get_client (), verb, NULL };

  memset (&fixture->host->n_connected, 0, sizeof (guint) * 5);
  return pmix_fixture_run (fixture, nspace, n, argv);
}

static void
check_all_ok (PmixRun *run, guint n)
{
  for (guint rank = 0; rank < n; rank++)
    {
      g_autofree char *expected = g_strdup_printf ("%u ok\n", rank);

      g_assert_cmpint (pmix_run_get_status (run, rank), ==, 0);
      g_assert_cmpstr (pmix_run_get_output (run, rank), ==, expected);
    }
}

static void
test_data (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  g_autoptr (PmixRun) run = run_client (fixture, "data-1", 4, "data");

  check_all_ok (run, 4);
  pmix_wait_for (&fixture->host->n_finalized, 4);
  g_assert_cmpuint (fixture->host->n_connected, ==, 4);
  g_assert_cmpuint (fixture->host->n_lost, ==, 0);
  pmix_fixture_deregister (fixture, "data-1");
}

static void
test_direct (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  g_autoptr (PmixRun) run = run_client (fixture, "direct-1", 3, "data-direct");

  check_all_ok (run, 3);
  pmix_fixture_deregister (fixture, "direct-1");
}

static void
check_fence_broken (PmixFixture *fixture, const char *nspace, const char *verb)
{
  g_autoptr (PmixRun) run = run_client (fixture, nspace, 4, verb);
  guint n_told = 0;

  g_assert_cmpint (pmix_run_get_status (run, 3), ==, 128 + 9);
  for (guint rank = 0; rank < 3; rank++)
    {
      g_assert_cmpint (pmix_run_get_status (run, rank), ==, 0);
      n_told += g_str_has_suffix (pmix_run_get_output (run, rank), ": not told\n") ? 0 : 1;
    }
  g_assert_cmpuint (n_told, >, 0);
  pmix_wait_for (&fixture->host->n_lost, 1);
  pmix_fixture_deregister (fixture, nspace);
}

static void
test_die_in_fence (gconstpointer data)
{
  check_fence_broken ((PmixFixture *)data, "die-1", "die");
}

static void
test_die_between_fences (gconstpointer data)
{
  check_fence_broken ((PmixFixture *)data, "die-2", "die-later");
}

/* libpmix then takes the job for one that has ranks elsewhere, and asks the agent, who knows better. */
static void
test_die_before_fence (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *argv[] = { get_client (), "die-first", NULL };
  g_autoptr (DvmdPmixJob) job = pmix_fixture_new_job (fixture, "die-3", 3, argv);
  g_autoptr (PmixRun) run = NULL;
  guint n_told = 0;

  fixture->host->n_fences = 0;
  g_assert_true (pmix_fixture_register (fixture, job, NULL));
  run = pmix_fixture_start (fixture, job);
  pmix_wait_for (&fixture->host->n_fences, 1);
  dvmd_pmix_complete_fence (fixture->pmix, fixture->host->fence_token, DVMD_PMIX_ERR_LOST_CONNECTION, NULL);
  pmix_run_wait (run);
  for (guint rank = 0; rank < 2; rank++)
    {
      g_autofree char *told = g_strdup_printf ("%u: LOST-CONNECTION\n", rank);

      n_told += g_str_equal (pmix_run_get_output (run, rank), told) ? 1 : 0;
    }
  g_assert_cmpuint (n_told, >=, PMIX_LIBRARY_TELLS_ALL ? 2 : 1);
  pmix_fixture_deregister (fixture, "die-3");
}

static void
test_abort (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *argv[] = { get_client (), "abort", NULL };
  g_autoptr (DvmdPmixJob) job = pmix_fixture_new_job (fixture, "abort-1", 2, argv);
  g_autoptr (PmixRun) run = NULL;

  g_assert_true (pmix_fixture_register (fixture, job, NULL));
  run = pmix_fixture_start (fixture, job);
  pmix_wait_for (&fixture->host->n_aborts, 1);
  g_assert_cmpuint (fixture->host->abort_rank, ==, 0);
  g_assert_cmpint (fixture->host->abort_status, ==, 7);
  g_assert_cmpstr (fixture->host->abort_message, ==, "no more");
  g_subprocess_force_exit (g_ptr_array_index (run->procs, 1));
  pmix_run_wait (run);
  g_assert_cmpint (pmix_run_get_status (run, 0), ==, 7);
  pmix_fixture_deregister (fixture, "abort-1");
}

static void
test_unsupported (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  g_autoptr (PmixRun) run = run_client (fixture, "unsupported-1", 1, "unsupported");
  g_auto (GStrv) lines = g_strsplit (g_strchomp ((char *)pmix_run_get_output (run, 0)), "\n", -1);

  g_assert_cmpint (pmix_run_get_status (run, 0), ==, 0);
  g_assert_cmpuint (g_strv_length (lines), ==, 5);
  for (char **line = lines; *line != NULL; line++)
    {
      g_test_message ("%s", *line);
      g_assert_nonnull (strstr (*line, "NOT-SUPPORTED"));
    }
  pmix_fixture_deregister (fixture, "unsupported-1");
}

static void
test_keys (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *first[] = {
    get_client (),     "keys",         "pmix.job.size!",   "pmix.univ.size!", "pmix.max.size!",    "pmix.num.nodes!",
    "pmix.job.napps!", "pmix.lrank",   "pmix.nrank",       "pmix.apprank",    "pmix.appnum",       "pmix.hname",
    "pmix.nodeid",     "pmix.lpeers!", "pmix.local.size!", "pmix.pdir",       "pmix.nsdir!",       "pmix.cpuset",
    "pmix.pkgrank",    "pmix.lcpus!",  "pmix.dev.id",      "OMPI_APP_SIZES!", "OMPI_FIRST_RANKS!", NULL
  };
  const char *second[] = { get_client (), "nothing", NULL };
  const char *nodes[] = { g_get_host_name (), NULL };
  const guint32 node_ids[] = { 7 };
  g_autoptr (DvmdPmixJob) job = dvmd_pmix_job_new ("keys-1", nodes, 0);
  g_autoptr (PmixRun) run = NULL;
  g_autofree char *expected = NULL;
  const char *all = dvmd_topology_get_cpuset (fixture->topology);
  /* A rank that is not bound lies in a package only where there is one. */
  guint package_rank = dvmd_topology_find_object (fixture->topology, DVMD_TOPOLOGY_PACKAGE, all) >= 0 ? 2 : 1;

  dvmd_pmix_job_add_app (job, second, "/", 1);
  dvmd_pmix_job_add_app (job, first, "/", 2);
  for (guint16 i = 0; i < 3; i++)
    dvmd_pmix_job_add_rank (job, 0, i, i + 10, i == 1 ? NULL : "0");
  dvmd_pmix_job_set_devices (job, 2, "nvml0,nvml1");
  dvmd_pmix_job_set_node_ids (job, node_ids);
  job->universe_size = 17;
  g_assert_true (pmix_fixture_register (fixture, job, NULL));
  run = pmix_fixture_start (fixture, job);
  pmix_run_wait (run);
  expected = g_strdup_printf ("pmix.job.size=3\npmix.univ.size=17\npmix.max.size=3\npmix.num.nodes=1\n"
                              "pmix.job.napps=2\npmix.lrank=2\npmix.nrank=12\npmix.apprank=1\npmix.appnum=1\n"
                              "pmix.hname=%s\npmix.nodeid=7\npmix.lpeers=0,1,2\npmix.local.size=3\n"
                              "pmix.pdir=%s/sessions/keys-1/2\npmix.nsdir=%s/sessions/keys-1\npmix.cpuset=hwloc:0\n"
                              "pmix.pkgrank=%u\npmix.lcpus=0:%s:0\npmix.dev.id=nvml0,nvml1\n"
                              "OMPI_APP_SIZES=1 2\nOMPI_FIRST_RANKS=0 1\n",
                              g_get_host_name (), fixture->runtime_dir, fixture->runtime_dir, package_rank, all);
  g_assert_cmpstr (pmix_run_get_output (run, 2), ==, expected);
  pmix_fixture_deregister (fixture, "keys-1");
}

/* The agent's part of a job on two nodes: the second one's is played here. */
static void
test_remote (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  TestHost *host = fixture->host;
  const char *argv[] = { get_client (), "remote", NULL };
  const char *nodes[] = { g_get_host_name (), "elsewhere", NULL };
  g_autoptr (DvmdPmixJob) job = dvmd_pmix_job_new ("remote-1", nodes, 0);
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) blob = NULL;
  g_autoptr (PmixRun) run = NULL;

  dvmd_pmix_job_add_app (job, argv, "/", 3);
  for (guint16 i = 0; i < 3; i++)
    dvmd_pmix_job_add_rank (job, i == 2, i % 2, i % 2, NULL);
  host->n_fences = 0;
  g_assert_true (pmix_fixture_register (fixture, job, NULL));
  run = pmix_fixture_start (fixture, job);
  pmix_wait_for (&host->n_fences, 1);
  g_assert_cmpuint (g_bytes_get_size (host->fence_data), >, 0);

  dvmd_pmix_fetch_modex_async (fixture->pmix, "remote-1", 0, pmix_store_result, &result);
  pmix_wait_result (&result);
  blob = dvmd_pmix_fetch_modex_finish (fixture->pmix, result, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_bytes_get_size (blob), >, 0);

  dvmd_pmix_complete_fence (fixture->pmix, host->fence_token, DVMD_PMIX_SUCCESS, host->fence_data);
  pmix_wait_for (&host->n_modexes, 1);
  g_assert_cmpuint (host->modex_rank, ==, 2);
  dvmd_pmix_complete_direct_modex (fixture->pmix, host->modex_token, DVMD_PMIX_ERR_NOT_FOUND, NULL);
  /* A second answer is dropped. */
  dvmd_pmix_complete_direct_modex (fixture->pmix, host->modex_token, DVMD_PMIX_SUCCESS, NULL);
  pmix_run_wait (run);
  g_assert_cmpstr (pmix_run_get_output (run, 0), ==, "fence SUCCESS\nget NOT-FOUND\n");
  g_assert_cmpstr (pmix_run_get_output (run, 1), ==, "fence SUCCESS\n");
  pmix_fixture_deregister (fixture, "remote-1");
}

/* The other node has died while ours waits in the fence. */
static void
test_remote_fails (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *argv[] = { get_client (), "remote", NULL };
  const char *nodes[] = { g_get_host_name (), "elsewhere", NULL };
  g_autoptr (DvmdPmixJob) job = dvmd_pmix_job_new ("remote-2", nodes, 0);
  g_autoptr (PmixRun) run = NULL;

  dvmd_pmix_job_add_app (job, argv, "/", 2);
  dvmd_pmix_job_add_rank (job, 0, 0, 0, NULL);
  dvmd_pmix_job_add_rank (job, 1, 0, 0, NULL);
  fixture->host->n_fences = 0;
  fixture->host->n_modexes = 0;
  g_assert_true (pmix_fixture_register (fixture, job, NULL));
  run = pmix_fixture_start (fixture, job);
  pmix_wait_for (&fixture->host->n_fences, 1);
  dvmd_pmix_complete_fence (fixture->pmix, fixture->host->fence_token, DVMD_PMIX_ERR_LOST_CONNECTION, NULL);
  pmix_wait_for (&fixture->host->n_modexes, 1);
  dvmd_pmix_complete_direct_modex (fixture->pmix, fixture->host->modex_token, DVMD_PMIX_ERR_UNREACH, NULL);
  pmix_run_wait (run);
  g_assert_cmpstr (pmix_run_get_output (run, 0), ==, "fence LOST-CONNECTION\nget UNREACH\n");
  pmix_fixture_deregister (fixture, "remote-2");
}

/* Of connections of libpmix's clients; others of this process there are none. */
static guint
count_connections (gboolean *at_once)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/fd", 0, NULL);
  const char *name;
  guint n = 0;

  *at_once = TRUE;
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      int fd = atoi (name);
      struct sockaddr_in peer;
      socklen_t length = sizeof peer;
      int option = 0;
      socklen_t size = sizeof option;

      if (getpeername (fd, (struct sockaddr *)&peer, &length) != 0 || peer.sin_family != AF_INET)
        continue;
      g_assert_cmpint (getsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &option, &size), ==, 0);
      *at_once = *at_once && option != 0;
      n++;
    }
  return n;
}

/* An answer to a client does not wait until the client has confirmed the one before. */
static void
test_at_once (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *argv[] = { get_client (), "follow", NULL };
  g_autoptr (DvmdPmixJob) job = pmix_fixture_new_job (fixture, "at-once", 2, argv);
  g_autoptr (PmixRun) run = NULL;
  gboolean at_once;

  fixture->host->n_connected = 0;
  g_assert_true (pmix_fixture_register (fixture, job, NULL));
  run = pmix_fixture_start (fixture, job);
  pmix_wait_for (&fixture->host->n_connected, 2);
  g_assert_cmpuint (count_connections (&at_once), >=, 2);
  g_assert_true (at_once);
  for (guint i = 0; i < run->procs->len; i++)
    g_subprocess_send_signal (g_ptr_array_index (run->procs, i), SIGKILL);
  pmix_run_wait (run);
  pmix_fixture_deregister (fixture, "at-once");
}

/*
 * An event reaches the ranks that it is for, once. The fence of a job that has a rank elsewhere tells when all have
 * registered for it: what comes while a client connects, libpmix may lose.
 */
static void
test_event (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *argv[] = { get_client (), "event", NULL };
  const char *nodes[] = { g_get_host_name (), "elsewhere", NULL };
  g_autoptr (DvmdPmixJob) job = dvmd_pmix_job_new ("event-1", nodes, 0);
  DvmdPmixProc target = { "event-1", DVMD_PMIX_RANK_WILDCARD };
  GVariantBuilder details;
  g_autoptr (PmixRun) run = NULL;

  dvmd_pmix_job_add_app (job, argv, "/", 3);
  for (guint16 i = 0; i < 3; i++)
    dvmd_pmix_job_add_rank (job, i == 2, i % 2, i % 2, NULL);
  fixture->host->n_fences = 0;
  g_assert_true (pmix_fixture_register (fixture, job, NULL));
  run = pmix_fixture_start (fixture, job);
  pmix_wait_for (&fixture->host->n_fences, 1);
  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", "test-detail", g_variant_new_string ("hello"));
  g_variant_builder_add (&details, "{sv}", "test-proc", g_variant_new ("(su)", "event-1", 1));
  dvmd_pmix_notify_event (fixture->pmix, DVMD_PMIX_EVENT_JOB_END, NULL, &target, 1, g_variant_builder_end (&details));
  dvmd_pmix_complete_fence (fixture->pmix, fixture->host->fence_token, DVMD_PMIX_SUCCESS, NULL);
  pmix_run_wait (run);
  for (guint rank = 0; rank < 2; rank++)
    {
      g_autofree char *expected = g_strdup_printf ("%u: event -145, hello\n", rank);

      g_assert_cmpint (pmix_run_get_status (run, rank), ==, 0);
      g_assert_nonnull (strstr (pmix_run_get_output (run, rank), expected));
    }
  pmix_fixture_deregister (fixture, "event-1");
}

/*
 * This program has no function before the library's own: events of its clients come by the way of the standard, and
 * those that the library has told are not told again.
 */
static void
test_told_event (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *client = g_test_get_filename (G_TEST_BUILT, "..", "lib", "pmix-events", NULL);
  g_auto (GStrv) words = g_strsplit (
      "on -3001,-3002 fence rank 0 tell -3001 3 tell -3001 3 tell -3002 3 all await -3002", " ", -1);
  g_autofree const char **argv = g_new0 (const char *, g_strv_length (words) + 2);
  g_autoptr (PmixRun) run = NULL;

  argv[0] = client;
  memcpy (argv + 1, words, g_strv_length (words) * sizeof *argv);
  fixture->host->n_events = 0;
  g_test_expect_message ("dvmd-pmix", G_LOG_LEVEL_MESSAGE, "The PMIx library * tells its clients of events by itself*");
  run = pmix_fixture_run (fixture, "told-1", 2, argv);
  g_test_assert_expected_messages ();
  g_assert_cmpuint (fixture->host->n_events, ==, 3);
  g_assert_cmpstr (pmix_run_get_output (run, 1), ==, "1: -3001 from 0\n1: -3001 from 0\n1: -3002 from 0\n");
  pmix_fixture_deregister (fixture, "told-1");
}

/* The one that survivors of a lost node get, with the ranks that went with it. */
static void
test_node_down (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *argv[] = { get_client (), "node-down", NULL };
  const char *nodes[] = { g_get_host_name (), "elsewhere", NULL };
  g_autoptr (DvmdPmixJob) job = dvmd_pmix_job_new ("down-1", nodes, 0);
  DvmdPmixProc target = { "down-1", DVMD_PMIX_RANK_WILDCARD };
  GVariantBuilder details;
  g_autoptr (PmixRun) run = NULL;

  dvmd_pmix_job_add_app (job, argv, "/", 3);
  for (guint16 i = 0; i < 3; i++)
    dvmd_pmix_job_add_rank (job, i > 0, i / 2, i / 2, NULL);
  fixture->host->n_fences = 0;
  g_assert_true (pmix_fixture_register (fixture, job, NULL));
  run = pmix_fixture_start (fixture, job);
  pmix_wait_for (&fixture->host->n_fences, 1);
  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_HOSTNAME, g_variant_new_string ("elsewhere"));
  g_variant_builder_add_parsed (&details, "{%s, <[(%s, uint32 1), (%s, uint32 2)]>}", DVMD_PMIX_KEY_AFFECTED_PROCS,
                                "down-1", "down-1");
  dvmd_pmix_notify_event (fixture->pmix, DVMD_PMIX_EVENT_NODE_DOWN, NULL, &target, 1, g_variant_builder_end (&details));
  dvmd_pmix_complete_fence (fixture->pmix, fixture->host->fence_token, DVMD_PMIX_SUCCESS, NULL);
  pmix_run_wait (run);
  g_assert_cmpint (pmix_run_get_status (run, 0), ==, 0);
  g_assert_nonnull (strstr (pmix_run_get_output (run, 0), "0: event -231, elsewhere\n0: without 1\n0: without 2\n"));
  pmix_fixture_deregister (fixture, "down-1");
}

static void
test_errors (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *argv[] = { "true", NULL };
  g_autoptr (DvmdPmixJob) job = pmix_fixture_new_job (fixture, "errors-1", 1, argv);
  g_autoptr (DvmdPmixJob) bad = pmix_fixture_new_job (fixture, "../errors", 1, argv);
  g_autoptr (GError) error = NULL;

  g_assert_true (pmix_fixture_register (fixture, job, NULL));
  g_assert_false (pmix_fixture_register (fixture, job, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_EXISTS);
  g_clear_error (&error);
  g_assert_false (pmix_fixture_register (fixture, bad, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_clear_error (&error);
  g_assert_null (dvmd_pmix_dup_environment (fixture->pmix, "nobody", 0, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  pmix_fixture_deregister (fixture, "errors-1");
}

/* The library is told of a job and that it is over in one go. */
static void
test_deregister_at_once (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *argv[] = { "true", NULL };

  for (guint i = 0; i < 20; i++)
    {
      g_autofree char *nspace = g_strdup_printf ("at-once-%u", i);
      g_autoptr (DvmdPmixJob) job = pmix_fixture_new_job (fixture, nspace, 4, argv);
      g_autoptr (GAsyncResult) registered = NULL;

      dvmd_pmix_register_job_async (fixture->pmix, job, pmix_store_result, &registered);
      pmix_fixture_deregister (fixture, nspace);
      pmix_wait_result (&registered);
      dvmd_pmix_register_job_finish (fixture->pmix, registered, NULL);
    }
}

int
main (int argc, char **argv)
{
  g_autoptr (PmixFixture) fixture = NULL;

  /* As the daemon: PMIx writes to clients that have gone. */
  signal (SIGPIPE, SIG_IGN);
  g_test_init (&argc, &argv, NULL);
  fixture = pmix_fixture_new (NULL);
  g_test_add_data_func ("/pmix/data", fixture, test_data);
  g_test_add_data_func ("/pmix/direct", fixture, test_direct);
  g_test_add_data_func ("/pmix/die-in-fence", fixture, test_die_in_fence);
  g_test_add_data_func ("/pmix/die-between-fences", fixture, test_die_between_fences);
  g_test_add_data_func ("/pmix/die-before-fence", fixture, test_die_before_fence);
  g_test_add_data_func ("/pmix/abort", fixture, test_abort);
  g_test_add_data_func ("/pmix/unsupported", fixture, test_unsupported);
  g_test_add_data_func ("/pmix/keys", fixture, test_keys);
  g_test_add_data_func ("/pmix/remote", fixture, test_remote);
  g_test_add_data_func ("/pmix/remote-fails", fixture, test_remote_fails);
  g_test_add_data_func ("/pmix/at-once", fixture, test_at_once);
  g_test_add_data_func ("/pmix/event", fixture, test_event);
  g_test_add_data_func ("/pmix/told-event", fixture, test_told_event);
  g_test_add_data_func ("/pmix/node-down", fixture, test_node_down);
  g_test_add_data_func ("/pmix/errors", fixture, test_errors);
  g_test_add_data_func ("/pmix/deregister-at-once", fixture, test_deregister_at_once);
  return g_test_run ();
}
