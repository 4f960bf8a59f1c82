/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Submits a job to a running DVM and prints its states as they change, until it ends.
 *
 *     submit-and-follow [-n NP] [--name DVM] PROGRAM [ARGUMENTS]
 *
 * The exit status is the job's: its exit code, 128 + the signal that ended it, 125 if the DVM failed it.
 * To compile it: cc submit-and-follow.c $(pkg-config --cflags --libs dvm-gobject-1.0) -o submit-and-follow
 */

#include <dvm.h>
#include <signal.h>

typedef struct
{
  int np;
  char *name;
  char **command;
} Options;

static gboolean
parse (Options *options, int *argc, char ***argv, GError **error)
{
  const GOptionEntry entries[] = {
    { "np", 'n', 0, G_OPTION_ARG_INT, &options->np, "number of processes", "NP" },
    { "name", 0, 0, G_OPTION_ARG_STRING, &options->name, "name of the DVM", "DVM" },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->command, NULL, "PROGRAM [ARGUMENTS]" },
    { NULL },
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);

  g_option_context_set_strict_posix (context, TRUE);
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, argc, argv, error))
    return FALSE;
  if (options->command == NULL)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "the program is missing");
  return options->command != NULL;
}

static int
get_exit_status (DvmJob *job)
{
  if (dvm_job_get_exit_signal (job) != 0)
    return 128 + dvm_job_get_exit_signal (job);
  if (dvm_job_get_exit_code (job) != 0)
    return dvm_job_get_exit_code (job);
  return dvm_job_get_failed (job) ? 125 : 0;
}

static void
on_state_changed (DvmJob *job, DvmJobState old_state, DvmJobState new_state, const char *reason, gpointer user_data)
{
  g_print ("%s -> %s%s%s\n", dvm_job_state_to_string (old_state), dvm_job_state_to_string (new_state),
           reason[0] != '\0' ? ": " : "", reason);
}

static void
on_ended (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GAsyncResult **ended = user_data;

  *ended = g_object_ref (result);
}

static DvmJobSpec *
make_spec (const Options *options)
{
  g_autoptr (DvmAppSpec) app = dvm_app_spec_new ((const char *const *)options->command);
  g_autofree char *cwd = g_get_current_dir ();
  DvmJobSpec *spec = dvm_job_spec_new ();

  dvm_app_spec_set_np (app, options->np);
  dvm_app_spec_set_cwd (app, cwd);
  dvm_job_spec_add_app (spec, app);
  return spec;
}

static gboolean
run (const Options *options, int *status, GError **error)
{
  g_autoptr (DvmClient) client = dvm_client_new (options->name);
  g_autoptr (DvmJobSpec) spec = make_spec (options);
  g_autoptr (DvmJob) job = NULL;
  g_autoptr (GAsyncResult) ended = NULL;

  /* Subscribed before the job is there, so that none of its states is missed. */
  if (!dvm_client_connect (client, NULL, error) || !dvm_client_subscribe (client, NULL, error))
    return FALSE;
  /* A reader that goes ends this program, and not the job. GLib has just had the signal ignored. */
  signal (SIGPIPE, SIG_DFL);
  job = dvm_client_submit (client, spec, NULL, error);
  if (job == NULL)
    return FALSE;
  g_signal_connect (job, "state-changed", G_CALLBACK (on_state_changed), NULL);
  if (!dvm_client_watch_job (client, job, NULL, error))
    return FALSE;
  g_print ("submitted %s\n", dvm_job_get_object_path (job));
  dvm_client_wait_async (client, job, 0, NULL, on_ended, &ended);
  while (ended == NULL)
    g_main_context_iteration (NULL, TRUE);
  if (!dvm_client_wait_finish (client, ended, error))
    return FALSE;
  *status = get_exit_status (job);
  g_print ("%s ended as %s, exit status %d\n", dvm_job_get_nspace (job), dvm_job_get_state_name (job), *status);
  return TRUE;
}

int
main (int argc, char **argv)
{
  Options options = { .np = 1 };
  g_autoptr (GError) error = NULL;
  int status = 125;

  if (!parse (&options, &argc, &argv, &error) || !run (&options, &status, &error))
    g_printerr ("submit-and-follow: %s\n", error->message);
  g_free (options.name);
  g_strfreev (options.command);
  return status;
}
