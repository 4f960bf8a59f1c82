/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A DVM without processes on a private socket: fake-dvm PATH [NODES JOBS [VARIED]], with so many nodes, which are
 * measured, memory for so many ended jobs, and so many jobs of which each is another one. What bench-bus measures
 * against it is the bus alone.
 */

#include "config.h"

#include "dvm-records-private.h"
#include "dvmd-bus-server.h"
#include "fake-controller.h"

#include <glib-unix.h>

static gboolean
on_signal (gpointer user_data)
{
  g_main_loop_quit (user_data);
  return G_SOURCE_REMOVE;
}

static void
on_stopped (GObject *source, GAsyncResult *result, gpointer user_data)
{
  dvmd_bus_server_stop_finish (DVMD_BUS_SERVER (source), result);
  g_main_loop_quit (user_data);
}

static guint
read_number (const char *text, guint fallback)
{
  return text != NULL ? (guint)g_ascii_strtoull (text, NULL, 10) : fallback;
}

/* The first one is there. */
static void
add_nodes (DvmdController *controller, guint n_nodes)
{
  for (guint i = 1; i < n_nodes; i++)
    {
      g_autofree char *name = g_strdup_printf ("node%u", i);

      dvmd_core_add_node (dvmd_controller_get_core (controller), name, 64, 0);
    }
}

static void
submit_varied (DvmdController *controller, guint n_jobs)
{
  for (guint i = 1; i <= n_jobs; i++)
    {
      g_autofree char *program = g_strdup_printf ("/usr/local/lib/project%u/solver-%u", i % 50, i % 77);
      g_autofree char *input = g_strdup_printf ("case-%u.dat", i);
      g_autofree char *name = g_strdup_printf ("sweep-%u-of-%u", i, n_jobs);
      const char *const argv[] = { program, "--input", input, NULL };
      g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
      g_autoptr (GError) error = NULL;

      dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 1 + i % 8);
      dvm_job_spec_set_name (spec, name);
      dvm_job_spec_set_label (spec, input);
      if (dvmd_core_submit (dvmd_controller_get_core (controller), spec, NULL, &error) == NULL)
        g_error ("job %u: %s", i, error->message);
    }
}

static void
vary_record (DvmJob *record, guint id)
{
  static const char *const gates[] = { "", "slots", "", "cpus", "", "devices", "session", "limit", "jobs", "hold" };
  g_autofree char *awaited = g_strdup_printf ("/org/dvm/jobs/%u", id + 1);
  const char *const paths[] = { awaited, NULL };
  gint64 created_at = dvm_job_get_created_at (record) - (gint64)id * 1234567;

  _dvm_job_set_submitter (record, "private:1", 10000 + id % 50, 1000 + id);
  _dvm_job_set_held_at (record, gates[id % G_N_ELEMENTS (gates)]);
  _dvm_job_set_awaited_jobs (record, id % G_N_ELEMENTS (gates) == 8 ? paths : NULL);
  _dvm_job_set_paused (record, id % 11 == 0);
  _dvm_job_set_created_at (record, created_at);
  _dvm_job_set_started_at (record, created_at + id);
  _dvm_job_add_output (record, id * 321);
}

/* Of three jobs one ends, each with a status of its own, when all run. */
static gboolean
vary_jobs (gpointer user_data)
{
  DvmdController *controller = user_data;
  DvmdCore *core = dvmd_controller_get_core (controller);
  DvmdJob *job, *next;

  for (job = NULL; (job = dvmd_core_next_job (core, job, FALSE)) != NULL;)
    if (dvmd_job_get_state (job) != DVM_JOB_STATE_RUNNING)
      return G_SOURCE_CONTINUE;
  for (job = dvmd_core_next_job (core, NULL, FALSE); job != NULL; job = next)
    {
      guint id = dvmd_job_get_id (job);

      next = dvmd_core_next_job (core, job, FALSE);
      vary_record (dvmd_job_get_record (job), id);
      if (id % 3 == 0)
        fake_controller_end_job (controller, job, (int)(id % 256));
    }
  return G_SOURCE_REMOVE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  g_autoptr (DvmdController) controller = fake_controller_new (64, read_number (argc >= 4 ? argv[3] : NULL, 1000));
  g_autoptr (DvmdBusServer) server = dvmd_bus_server_new (controller, NULL);
  g_autoptr (GError) error = NULL;

  if ((argc != 2 && argc != 4 && argc != 5) || !dvmd_bus_server_listen (server, argv[1], &error))
    {
      g_printerr ("%s\n", error != NULL ? error->message : "Usage: fake-dvm PATH [NODES JOBS [VARIED]]");
      return 1;
    }
  add_nodes (controller, read_number (argc >= 4 ? argv[2] : NULL, 1));
  fake_controller_measure_all (controller);
  dvmd_controller_start (controller);
  if (argc == 5)
    {
      submit_varied (controller, read_number (argv[4], 0));
      g_timeout_add (20, vary_jobs, controller);
    }
  g_unix_signal_add (SIGTERM, on_signal, loop);
  g_unix_signal_add (SIGINT, on_signal, loop);
  g_main_loop_run (loop);
  dvmd_bus_server_stop_async (server, on_stopped, loop);
  g_main_loop_run (loop);
  return 0;
}
