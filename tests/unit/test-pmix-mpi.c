/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <signal.h>

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "pmix-fixture.h"

static const char *
get_program (void)
{
  return g_test_get_filename (G_TEST_BUILT, "..", "lib", "mpi-exchange", NULL);
}

/* Open MPI may leave such files, in places where other programs are at work too. */
static GHashTable *
list_leftovers (void)
{
  static const char *const places[] = { "/tmp", "/dev/shm" };
  static const char *const prefixes[] = {
    "vader_segment", "sm_segment", "osc_", "ompi.", "openmpi", "pmix", "ucx_shm"
  };
  GHashTable *found = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_autoptr (GDir) dir = g_dir_open (places[i], 0, NULL);
      const char *name;

      while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
        for (gsize j = 0; j < G_N_ELEMENTS (prefixes); j++)
          if (g_str_has_prefix (name, prefixes[j]))
            g_hash_table_add (found, g_build_filename (places[i], name, NULL));
    }
  return found;
}

/* (transfer full) (nullable) */
static char *
find_new (GHashTable *before)
{
  g_autoptr (GHashTable) after = list_leftovers ();
  GHashTableIter iter;
  gpointer path;

  g_hash_table_iter_init (&iter, after);
  while (g_hash_table_iter_next (&iter, &path, NULL))
    if (!g_hash_table_contains (before, path))
      return g_strdup (path);
  return NULL;
}

/* Other programs that run beside this one remove their files when they end. */
static void
assert_nothing_new (GHashTable *before)
{
  gint64 end = g_get_monotonic_time () + 60 * G_TIME_SPAN_SECOND;
  g_autofree char *path = NULL;

  while ((path = find_new (before)) != NULL && g_get_monotonic_time () < end)
    {
      g_clear_pointer (&path, g_free);
      g_usleep (10000);
    }
  if (path != NULL)
    g_error ("Left behind: %s", path);
}

static void
check_size (PmixFixture *fixture, guint n)
{
  const char *argv[] = { get_program (), NULL };
  g_autofree char *nspace = g_strdup_printf ("mpi-%u", n);
  g_autoptr (GHashTable) before = list_leftovers ();
  g_autoptr (PmixRun) run = pmix_fixture_run (fixture, nspace, n, argv);

  for (guint rank = 0; rank < n; rank++)
    {
      g_autofree char *expected = g_strdup_printf ("%u of %u: token %u sum %u large right\n", rank, n,
                                                   rank == 0 ? 1000 + n - 1 : 1000, n * (n - 1) / 2);

      g_assert_cmpint (pmix_run_get_status (run, rank), ==, 0);
      g_assert_cmpstr (pmix_run_get_output (run, rank), ==, expected);
    }
  pmix_fixture_deregister (fixture, nspace);
  assert_nothing_new (before);
}

static void
test_sizes (gconstpointer data)
{
  check_size ((PmixFixture *)data, 1);
  check_size ((PmixFixture *)data, 2);
  check_size ((PmixFixture *)data, 4);
}

/* The agent's part is played here: it ends the job when a rank was killed. */
static void
test_killed (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *argv[] = { get_program (), "die", NULL };
  g_autoptr (DvmdPmixJob) job = pmix_fixture_new_job (fixture, "mpi-killed", 3, argv);
  g_autoptr (GHashTable) before = list_leftovers ();
  g_autoptr (PmixRun) run = NULL;

  fixture->host->n_lost = 0;
  g_assert_true (pmix_fixture_register (fixture, job, NULL));
  run = pmix_fixture_start (fixture, job);
  pmix_wait_for (&fixture->host->n_lost, 1);
  for (guint rank = 0; rank < 2; rank++)
    g_subprocess_force_exit (g_ptr_array_index (run->procs, rank));
  pmix_run_wait (run);
  g_assert_cmpint (pmix_run_get_status (run, 2), ==, 128 + 9);
  pmix_fixture_deregister (fixture, "mpi-killed");
  assert_nothing_new (before);
}

int
main (int argc, char **argv)
{
  g_autoptr (PmixFixture) fixture = NULL;

  /* As the daemon: PMIx writes to clients that have gone. */
  signal (SIGPIPE, SIG_IGN);
  g_test_init (&argc, &argv, NULL);
  fixture = pmix_fixture_new (NULL);
  g_test_add_data_func ("/pmix-mpi/sizes", fixture, test_sizes);
  g_test_add_data_func ("/pmix-mpi/killed", fixture, test_killed);
  return g_test_run ();
}
