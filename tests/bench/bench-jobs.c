/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs of one /bin/true per second through one client of a running DVM, so many at a time (P5), and the floor: the same
 * number of posix_spawn and waitpid, overlapped likewise.
 */

#include "config.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dvm.h>

typedef struct
{
  DvmClient *client;
  GMainLoop *loop;
  DvmJobSpec *spec;
  guint n_jobs;
  guint n_submitted;
  guint n_done;
  guint n_failed;
  guint step;
  gint64 step_start;
} Bench;

static void submit_one (Bench *self);

static void
on_waited (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Bench *self = user_data;
  g_autoptr (GError) error = NULL;

  if (!dvm_client_wait_finish (self->client, result, &error))
    {
      g_printerr ("%s\n", error->message);
      self->n_failed++;
    }
  self->n_done++;
  if (self->step > 0 && self->n_done % self->step == 0)
    {
      gint64 now = g_get_monotonic_time ();

      printf ("%u jobs: %.0f/s\n", self->n_done, self->step * 1e6 / (now - self->step_start));
      self->step_start = now;
    }
  if (self->n_submitted < self->n_jobs)
    submit_one (self);
  else if (self->n_done == self->n_jobs)
    g_main_loop_quit (self->loop);
}

static void
on_submitted (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Bench *self = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmJob) job = dvm_client_submit_finish (self->client, result, &error);

  if (job == NULL)
    g_error ("%s", error->message);
  dvm_client_wait_async (self->client, job, 0, NULL, on_waited, self);
}

static void
submit_one (Bench *self)
{
  self->n_submitted++;
  dvm_client_submit_async (self->client, self->spec, NULL, on_submitted, self);
}

static double
run_jobs (Bench *self, guint window)
{
  gint64 start = g_get_monotonic_time ();

  self->step_start = start;
  for (guint i = 0; i < MIN (window, self->n_jobs); i++)
    submit_one (self);
  g_main_loop_run (self->loop);
  return self->n_jobs * 1e6 / (g_get_monotonic_time () - start);
}

static double
run_floor (guint n_jobs, guint window)
{
  char *argv[] = { (char *)"/bin/true", NULL };
  gint64 start = g_get_monotonic_time ();
  guint running = 0;
  pid_t pid;

  for (guint started = 0; started < n_jobs || running > 0;)
    {
      if (started < n_jobs && running < window)
        {
          if (posix_spawn (&pid, argv[0], NULL, NULL, argv, environ) != 0)
            g_error ("posix_spawn failed");
          started++;
          running++;
          continue;
        }
      wait (NULL);
      running--;
    }
  return n_jobs * 1e6 / (g_get_monotonic_time () - start);
}

int
main (int argc, char **argv)
{
  int n_jobs = 1000;
  int window = 8;
  int step = 0;
  g_autofree char *personality = g_strdup ("plain");
  gboolean floor_only = FALSE;
  const GOptionEntry entries[] = {
    { "jobs", 'n', 0, G_OPTION_ARG_INT, &n_jobs, "Number of jobs", "N" },
    { "window", 'w', 0, G_OPTION_ARG_INT, &window, "Jobs under way at a time", "N" },
    { "step", 's', 0, G_OPTION_ARG_INT, &step, "Print the rate after each so many jobs", "N" },
    { "personality", 'p', 0, G_OPTION_ARG_STRING, &personality, "plain or pmix", "WORD" },
    { "floor", 'f', 0, G_OPTION_ARG_NONE, &floor_only, "Only the bare posix_spawn loop", NULL },
    G_OPTION_ENTRY_NULL,
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("- jobs per second (P5)");
  g_autoptr (GError) error = NULL;
  const char *true_argv[] = { "/bin/true", NULL };
  Bench bench = { 0 };

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    g_error ("%s", error->message);
  if (floor_only)
    {
      printf ("floor: %.0f/s\n", run_floor (n_jobs, window));
      return EXIT_SUCCESS;
    }
  bench.client = dvm_client_new (NULL);
  if (!dvm_client_connect (bench.client, NULL, &error))
    g_error ("%s", error->message);
  bench.loop = g_main_loop_new (NULL, FALSE);
  bench.spec = dvm_job_spec_new_for_argv (true_argv);
  dvm_app_spec_set_np (dvm_job_spec_get_app (bench.spec, 0), 1);
  dvm_app_spec_set_cwd (dvm_job_spec_get_app (bench.spec, 0), "/");
  dvm_job_spec_set_personality (bench.spec, personality);
  dvm_job_spec_set_when_full (bench.spec, "oversubscribe");
  bench.n_jobs = n_jobs;
  bench.step = step;
  printf ("%s, %d at a time: %.0f/s, %u failed\n", personality, window, run_jobs (&bench, window), bench.n_failed);
  g_object_unref (bench.spec);
  g_main_loop_unref (bench.loop);
  g_object_unref (bench.client);
  return bench.n_failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
