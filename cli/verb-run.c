/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli run: a job attached to us. The DVM gets our own standard descriptors, so its output takes no detour; only a
 * terminal is read by us. Without a DVM a private one lives for the time of the job.
 */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n-lib.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "dvm-cli-await.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-daemon.h"
#include "dvm-cli-display.h"
#include "dvm-cli-exit.h"
#include "dvm-cli-input.h"
#include "dvm-cli-keepalive.h"
#include "dvm-cli-old.h"
#include "dvm-cli-output.h"
#include "dvm-cli-private.h"
#include "dvm-cli-launching.h"
#include "dvm-cli-proctable.h"
#include "dvm-cli-reader.h"
#include "dvm-cli-records.h"
#include "dvm-cli-report.h"
#include "dvm-cli-signals.h"
#include "dvm-cli-sockets.h"
#include "dvm-cli-spec.h"
#include "dvm-cli-state.h"
#include "dvm-cli-which.h"

/* A job that has not got its slots by then has to wait, and its user wants to know. */
#define HELD_NOTE_MS 1000

/* Signals that the job gets */
typedef struct
{
  int *which;    /* and 0 behind them */
  GArray *early; /* int: those from before the job was known */
} Passing;

typedef struct
{
  DvmCli *cli;
  DvmCliKeepalive *keepalive; /* (nullable) */
  DvmClient *client;
  DvmJobSpec *spec;
  DvmJob *job;              /* NULL until the DVM has accepted it */
  DvmCliEmbedded *embedded; /* NULL when a DVM was there */
  DvmCliInput *input;       /* NULL unless we read a terminal */
  DvmCliReader *reader;     /* of our standard output */
  guint held_timer;
  DvmCliDisplay display;  /* what is to be shown */
  GAsyncResult *defaults; /* (nullable): of the question for the defaults of the DVM */
  gboolean knows_display;
  DvmCliReport *report; /* that is done when the job has its map */
  gulong map_handler;
  gboolean tells_processes;
  DvmCliProctable *proctable; /* (nullable) */
  gboolean shows_progress;
  DvmCliLaunching *progress; /* (nullable) */
  gboolean lost_proctable;   /* it was asked for, and could not be written */
  GCancellable *connecting;
  int stdin_fd;    /* what the job gets; ours to close if it is not 0 */
  int interrupted; /* the first signal that asked us to end */
  guint n_interrupts;
  gboolean is_suspended;
  Passing passing;
  gboolean has_terminal; /* the job, as large as ours */
} Run;

static void
on_ordered (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;

  if (!dvm_client_cancel_job_finish (DVM_CLIENT (source), result, &error)
      && !g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_FOUND))
    dvm_cli_complain (_ ("the job cannot be cancelled: %s"), error->message);
}

static void
on_killed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;

  if (!dvm_client_send_signal_finish (DVM_CLIENT (source), result, &error)
      && !g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_FOUND))
    dvm_cli_complain (_ ("the job cannot be killed: %s"), error->message);
}

static void
cancel_job (Run *run)
{
  g_autofree char *name = dvm_cli_job_name (run->job);

  dvm_cli_note (run->cli, _ ("cancelling job %s; interrupt again to kill it"), name);
  dvm_client_cancel_job_async (run->client, run->job, NULL, on_ordered, NULL);
}

static void
kill_job (Run *run)
{
  g_autofree char *name = dvm_cli_job_name (run->job);

  dvm_cli_note (run->cli, _ ("killing job %s"), name);
  dvm_client_send_signal_async (run->client, run->job, SIGKILL, NULL, NULL, on_killed, NULL);
}

/* The third time somebody wants out, whatever becomes of the job. */
static void
leave_at_once (Run *run)
{
  g_clear_pointer (&run->input, dvm_cli_input_free);
  _exit (128 + run->interrupted);
}

static void
interrupt (Run *run, int signum)
{
  if (run->interrupted == 0)
    run->interrupted = signum;
  run->n_interrupts++;
  g_cancellable_cancel (run->connecting);
  if (run->n_interrupts > 2)
    leave_at_once (run);
  else if (run->job == NULL)
    return;
  else if (run->n_interrupts == 1)
    cancel_job (run);
  else
    kill_job (run);
}

/* Only when the order has reached the DVM may we stop ourselves. */
static void
on_suspended (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Run *run = user_data;

  dvm_client_send_signal_finish (DVM_CLIENT (source), result, NULL);
  if (run->is_suspended)
    dvm_cli_signals_stop ();
}

/* Ctrl-Z stops the job, as it would a program of ours. Processes have process groups without a shell: they ignore
 * SIGTSTP. */
static void
suspend (Run *run)
{
  run->is_suspended = TRUE;
  /* The processes of the job may run already; SIGSTOP follows as soon as the answer names the job. */
  if (run->job == NULL)
    return;
  dvm_client_send_signal_async (run->client, run->job, SIGSTOP, NULL, NULL, on_suspended, run);
}

static void
resume_job (Run *run)
{
  if (run->input != NULL)
    dvm_cli_input_check_foreground (run->input);
  if (!run->is_suspended)
    return;
  run->is_suspended = FALSE;
  if (run->job == NULL)
    return;
  /* One that waits for slots, or has ended, has no processes to go on. */
  dvm_client_send_signal_async (run->client, run->job, SIGCONT, NULL, NULL, NULL, NULL);
}

static void
resize (Run *run)
{
  if (run->has_terminal && run->job != NULL)
    dvm_cli_pass_terminal_size (run->client, run->job);
}

/* Signals that a program may handle, as from a scheduler that will take its nodes away soon. */
#define PASSED_ON "USR1,USR2"

static void
on_passed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;

  if (!dvm_client_send_signal_finish (DVM_CLIENT (source), result, &error))
    dvm_cli_complain (_ ("a signal was not passed on: %s"), error->message);
}

/* The processes may run already while the answer that names the job is not read yet: until then signals wait. */
static void
pass_on (Run *run, int signum)
{
  if (run->job == NULL)
    g_array_append_val (run->passing.early, signum);
  else
    dvm_client_send_signal_async (run->client, run->job, signum, NULL, NULL, on_passed, NULL);
}

static void
pass_early_on (Run *run)
{
  for (guint i = 0; i < run->passing.early->len; i++)
    pass_on (run, g_array_index (run->passing.early, int, i));
  g_array_set_size (run->passing.early, 0);
}

static gboolean
is_passed_on (Run *run, int signum)
{
  for (const int *other = run->passing.which; *other != 0; other++)
    if (*other == signum)
      return TRUE;
  return FALSE;
}

static void
on_signal (int signum, gpointer user_data)
{
  Run *run = user_data;

  if (is_passed_on (run, signum))
    pass_on (run, signum);
  else if (signum == SIGTSTP)
    suspend (run);
  else if (signum == SIGCONT)
    resume_job (run);
  else if (signum == SIGWINCH)
    resize (run);
  else if (signum != SIGTTIN)
    interrupt (run, signum);
}

/* ---- the DVM ---- */

static gboolean
write_to (const char *where, const char *text, const char *option, GError **error)
{
  if (dvm_cli_write_to (where, text, error))
    return TRUE;
  g_prefix_error (error, "--%s: ", option);
  return FALSE;
}

/* The address of the DVM is told, for others who are to find it. name (nullable): of a private one */
static gboolean
tell_uri (Run *run, const char *name, GError **error)
{
  const char *where = dvm_cli_args_get (run->cli->args, "report-uri");
  DvmCli private = { .name = name, .args = run->cli->args };
  g_autofree char *socket = NULL;
  g_autofree char *uri = NULL;
  g_autofree char *line = NULL;

  if (where == NULL)
    return TRUE;
  socket = dvm_cli_socket_path (name != NULL ? &private : run->cli);
  /* One that was found on a message bus may have its socket elsewhere, or be another user's. */
  if (dvm_cli_find_listener (socket) > 0)
    uri = dvm_cli_which_uri (socket);
  else
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, _ ("--report-uri: nobody listens at the socket %s"), socket);
      return FALSE;
    }
  line = g_strconcat (uri, "\n", NULL);
  return write_to (where, line, "report-uri", error);
}

/* The private dvmd may take its time to start. */
static gboolean
await_embedded (Run *run, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  dvm_client_connect_async (run->client, run->connecting, dvm_cli_ready, &result);
  return dvm_client_connect_finish (run->client, dvm_cli_await (&result), error);
}

static gboolean
connect_embedded (Run *run, DvmJobSpec *spec, GError **error)
{
  g_auto (GStrv) options = dvm_cli_private_get_options (run->cli, spec, error);
  g_autofree char *how = dvm_cli_state_describe_end (run->cli);
  int fd;

  if (options == NULL)
    return FALSE;
  dvm_cli_tell (run->cli, _ ("no DVM is running: a private one is started for this job"));
  if (run->cli->foreign != NULL)
    dvm_cli_note (run->cli, _ ("%s; this run has a private DVM"), run->cli->foreign);
  else if (how != NULL)
    dvm_cli_note (run->cli, _ ("no DVM is running, and this job has a private one: %s"), how);
  run->embedded = dvm_cli_embedded_new ((const char *const *)options,
                                        dvm_cli_args_has (run->cli->args, "report-uri") ? DVM_CLI_EMBEDDED_LISTENS : 0,
                                        &fd, error);
  if (run->embedded == NULL)
    return FALSE;
  g_clear_object (&run->client);
  run->client = dvm_client_new_for_fd (fd);
  if (await_embedded (run, error))
    return tell_uri (run, dvm_cli_embedded_get_name (run->embedded), error);
  if (!dvm_cli_embedded_explain (run->embedded, error))
    g_prefix_error (error, _ ("the private DVM does not answer: "));
  return FALSE;
}

/* A DVM that the caller has named is not replaced by a private one. */
static gboolean
reach_dvm (Run *run, DvmJobSpec *spec, GError **error)
{
  g_autoptr (GError) local_error = NULL;

  run->client = dvm_cli_reach (run->cli, run->connecting, &local_error);
  if (run->client != NULL)
    return dvm_cli_private_check_unused (run->cli, error) && tell_uri (run, NULL, error);
  if (!dvm_cli_is_chosen (run->cli) && g_error_matches (local_error, DVM_ERROR, DVM_ERROR_NOT_FOUND))
    return connect_embedded (run, spec, error);
  g_propagate_error (error, g_steal_pointer (&local_error));
  dvm_cli_explain_connect (run->cli, error);
  return FALSE;
}

static gboolean
open_terminal (Run *run, gboolean raw, GError **error)
{
  int ends[2];

  if (pipe2 (ends, O_CLOEXEC) != 0)
    {
      int saved_errno = errno;

      g_set_error (error, G_IO_ERROR, g_io_error_from_errno (saved_errno), _ ("cannot make a pipe: %s"),
                   g_strerror (saved_errno));
      return FALSE;
    }
  run->stdin_fd = ends[0];
  run->input = dvm_cli_input_new (STDIN_FILENO, ends[1]);
  if (raw)
    dvm_cli_input_make_raw (run->input);
  return TRUE;
}

static gboolean
prepare_input (Run *run, DvmJobSpec *spec, GError **error)
{
  run->stdin_fd = -1;
  if (g_strcmp0 (dvm_job_spec_get_stdin_target (spec), "none") == 0)
    return TRUE;
  if (isatty (STDIN_FILENO))
    return open_terminal (run, dvm_job_spec_get_pty (spec) && isatty (STDOUT_FILENO), error);
  run->stdin_fd = STDIN_FILENO;
  return TRUE;
}

/* The job's end of the pipe has to be closed here, so that we learn when the job closes its own. */
static void
drop_input_end (Run *run)
{
  if (run->stdin_fd > STDERR_FILENO)
    close (run->stdin_fd);
  run->stdin_fd = -1;
}

/* The DVM may have something that is to be shown where nobody says it: it is asked while it takes the job. */
static void
ask_for_default_display (Run *run)
{
  if (!run->cli->json && !dvm_cli_display_is_given (run->cli))
    dvm_client_get_defaults_async (run->client, NULL, dvm_cli_ready, &run->defaults);
  else
    run->knows_display = TRUE;
}

static void
take_default_display (Run *run)
{
  g_autoptr (GVariant) defaults = NULL;
  g_auto (DvmCliDisplay) display = { 0 };
  g_autoptr (GError) error = NULL;
  const char *text = NULL;

  if (run->knows_display)
    return;
  defaults = dvm_client_get_defaults_finish (run->client, dvm_cli_await (&run->defaults), NULL);
  if (defaults == NULL || !g_variant_lookup (defaults, "display", "&s", &text))
    return;
  if (dvm_cli_display_read (text, &display, &error))
    {
      display.what |= run->display.what;
      run->display = display;
      display = (DvmCliDisplay){ 0 };
    }
  else
    dvm_cli_note (run->cli, _ ("the setting display of the DVM is not heeded: %s"), error->message);
}

static gboolean
submit_job (Run *run, DvmJobSpec *spec, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  if (!prepare_input (run, spec, error))
    return FALSE;
  /* Whatever becomes of us, nobody has to look for what we have left running. */
  dvm_client_set_jobs_end_with_client (run->client, TRUE);
  dvm_client_submit_with_fds_async (run->client, spec, run->stdin_fd, STDOUT_FILENO, STDERR_FILENO, NULL, dvm_cli_ready,
                                    &result);
  ask_for_default_display (run);
  /* Before the job is known: signals that come while something is waited for are kept until it is. */
  take_default_display (run);
  run->job = dvm_client_submit_finish (run->client, dvm_cli_await (&result), error);
  drop_input_end (run);
  if (run->job == NULL)
    {
      dvm_cli_spec_name_place (run->cli, spec, error);
      return FALSE;
    }
  dvm_cli_tell (run->cli, _ ("job %u is submitted"), dvm_job_get_id (run->job));
  if (run->interrupted != 0)
    cancel_job (run);
  else if (run->is_suspended)
    suspend (run);
  pass_early_on (run);
  /* The size of the terminal may have changed since the description was made. */
  run->has_terminal = dvm_job_spec_get_pty (spec);
  resize (run);
  return TRUE;
}

/* As a program in a pipeline that writes to nobody. */
static void
on_missed (gpointer user_data)
{
  Run *run = user_data;

  if (run->interrupted != 0)
    return;
  run->interrupted = SIGPIPE;
  dvm_client_cancel_job_async (run->client, run->job, NULL, on_ordered, NULL);
}

/* (nullable): nodes that give no slots as long as they are drained, and what gives them back */
static char *
list_drained (Run *run)
{
  g_autoptr (GPtrArray) nodes = dvm_client_list_nodes (run->client, NULL, NULL);
  g_autoptr (GString) names = g_string_new (NULL);

  for (guint i = 0; nodes != NULL && i < nodes->len; i++)
    {
      DvmNode *node = g_ptr_array_index (nodes, i);

      if (dvm_node_get_state (node) == DVM_NODE_STATE_DO_NOT_USE)
        g_string_append_printf (names, "%s%s (dvm-cli node resume %s)", names->len > 0 ? ", " : "",
                                dvm_node_get_name (node), dvm_node_get_name (node));
    }
  return names->len > 0 ? g_string_free (g_steal_pointer (&names), FALSE) : NULL;
}

/* FALSE: it is something else that the job waits for. */
static gboolean
note_order (Run *run, const char *held_at, const char *name)
{
  g_autofree char *jobs = dvm_cli_join_ids (dvm_job_get_awaited_jobs (run->job));

  if (strcmp (held_at, "limit") == 0)
    dvm_cli_note (run->cli,
                  _ ("job %s waits: as many jobs run as the setting queue-max-running allows; interrupt to give up"),
                  name);
  else if (strcmp (held_at, "hold") == 0)
    dvm_cli_note (run->cli, _ ("job %s waits until 'dvm-cli job release %s'; interrupt to give up"), name, name);
  else if (strcmp (held_at, "jobs") == 0 && jobs[0] != '\0')
    dvm_cli_note (run->cli, _ ("job %s waits for other jobs (%s); interrupt to give up"), name, jobs);
  else if (strcmp (held_at, "jobs") == 0)
    dvm_cli_note (run->cli, _ ("job %s waits until earlier jobs of its name have ended; interrupt to give up"), name);
  else
    return FALSE;
  return TRUE;
}

/* A job that does not start gets a note for the user that says why. */
static void
on_refreshed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Run *run = user_data;
  g_autofree char *name = NULL;
  g_autofree char *campaigns = NULL;
  g_autofree char *drained = NULL;
  const char *held_at;

  if (!dvm_client_refresh_job_finish (DVM_CLIENT (source), result, NULL))
    return;
  held_at = dvm_job_get_held_at (run->job);
  campaigns = dvm_cli_join_ids (dvm_job_get_waits_for (run->job));
  name = dvm_cli_job_name (run->job);
  if (note_order (run, held_at, name))
    return;
  drained = g_strcmp0 (held_at, "slots") == 0 ? list_drained (run) : NULL;
  if (drained != NULL)
    dvm_cli_note (run->cli,
                  _ ("job %s waits for slots that other jobs have, or that are on drained nodes: %s; interrupt to give "
                     "up"),
                  name, drained);
  else if (g_strcmp0 (held_at, "slots") == 0)
    dvm_cli_note (run->cli, _ ("job %s waits for slots that other jobs have; interrupt to give up"), name);
  else if (g_strcmp0 (held_at, "cpus") == 0)
    dvm_cli_note (run->cli, _ ("job %s waits for cpus that other jobs have; interrupt to give up"), name);
  else if (g_strcmp0 (held_at, "devices") == 0)
    dvm_cli_note (run->cli,
                  _ ("job %s waits for devices that other jobs have, or whose cpus they have; interrupt to give up"),
                  name);
  else if (g_strcmp0 (held_at, "session") == 0)
    dvm_cli_note (run->cli, _ ("job %s waits, for its session is paused; interrupt to give up"), name);
  else if (campaigns[0] != '\0')
    dvm_cli_note (run->cli, _ ("job %s waits until the DVM has changed its size (campaign %s); interrupt to give up"),
                  name, campaigns);
}

static gboolean
look_whether_held (gpointer user_data)
{
  Run *run = user_data;

  run->held_timer = 0;
  dvm_client_refresh_job_async (run->client, run->job, NULL, on_refreshed, run);
  return G_SOURCE_REMOVE;
}

static void
begin_report (Run *run)
{
  g_clear_pointer (&run->report, dvm_cli_report_free);
  run->report = dvm_cli_report_new (run->cli, run->client, run->job, &run->display);
}

static gboolean
needs_report (Run *run)
{
  return run->display.what != 0 && (run->report == NULL || dvm_cli_report_is_early (run->report))
         && dvm_job_get_num_procs (run->job) > 0;
}

static void
on_mapped (DvmJob *job, GParamSpec *pspec, gpointer user_data)
{
  Run *run = user_data;

  if (needs_report (run))
    begin_report (run);
}

static void
await_report (Run *run)
{
  while (run->report != NULL && !dvm_cli_report_is_done (run->report))
    g_main_context_iteration (NULL, TRUE);
}

/* The one that was asked for first may have come before the map, also where that is known since. */
static void
finish_report (Run *run)
{
  await_report (run);
  if (!needs_report (run))
    return;
  begin_report (run);
  await_report (run);
}

/* A job that is not to be launched has nothing but its map. */
static gboolean
is_map_only (Run *run)
{
  return dvm_client_refresh_job (run->client, run->job, NULL, NULL) && !dvm_job_get_failed (run->job)
         && dvm_job_get_num_launched (run->job) == 0 && dvm_job_get_num_procs (run->job) > 0;
}

/* For --json: a private DVM leaves with its job, so the record has to be complete by then. */
static gboolean
follow (Run *run, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  run->reader = dvm_cli_reader_new (run->client, run->job, on_missed, run);
  run->held_timer = g_timeout_add (HELD_NOTE_MS, look_whether_held, run);
  if (run->display.what != 0)
    run->map_handler = g_signal_connect (run->job, "notify::num-procs", G_CALLBACK (on_mapped), run);
  if (!run->cli->json && run->display.what == 0 && !run->tells_processes && !run->shows_progress)
    return TRUE;
  /* The processes are about to write: the map is asked for at once, and again if it was not there yet. */
  if (run->display.what != 0)
    begin_report (run);
  if (run->tells_processes)
    run->proctable = dvm_cli_proctable_new (run->cli, run->client, run->job, run->spec);
  if (run->shows_progress)
    run->progress = dvm_cli_launching_new (run->cli, run->job);
  dvm_client_watch_job_async (run->client, run->job, NULL, dvm_cli_ready, &result);
  return dvm_client_watch_job_finish (run->client, dvm_cli_await (&result), error);
}

/* The loss of the connection alone says little: the error gets the end of the DVM, if it is known. */
static void
explain_loss (Run *run, GError **error)
{
  g_autofree char *how = run->embedded != NULL ? dvm_cli_embedded_describe_end (run->embedded) : NULL;

  if (how != NULL)
    g_prefix_error (error, _ ("the private dvmd was ended by %s: "), how);
  else if (run->embedded == NULL)
    dvm_cli_explain_end (run->cli, error);
}

/* The job may run, and print, before the answer has been read that says which one it is. */
static gboolean
submit_and_follow (Run *run, DvmJobSpec *spec, GError **error)
{
  if (submit_job (run, spec, error) && follow (run, error))
    return TRUE;
  if (error != NULL && g_error_matches (*error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN))
    explain_loss (run, error);
  return FALSE;
}

static gboolean
wait_for_end (Run *run, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  dvm_client_wait_async (run->client, run->job, 0, NULL, dvm_cli_ready, &result);
  if (dvm_client_wait_finish (run->client, dvm_cli_await (&result), error))
    {
      finish_report (run);
      if (run->progress != NULL)
        dvm_cli_launching_finish (run->progress);
      run->lost_proctable = run->proctable != NULL && !dvm_cli_proctable_finish (run->proctable);
      return TRUE;
    }
  g_prefix_error (error, _ ("the end of job %u is not known: "), dvm_job_get_id (run->job));
  explain_loss (run, error);
  return FALSE;
}

static gboolean
read_proctable (Run *run, GError **error)
{
  g_autoptr (GError) local_error = NULL;

  run->tells_processes = dvm_cli_proctable_is_given (run->cli, &local_error);
  if (local_error == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&local_error));
  return FALSE;
}

static gboolean
read_progress (Run *run, GError **error)
{
  return dvm_cli_args_move_words (run->cli->args, "runtime-options",
                                  dvm_cli_option_find (run->cli->verb->options, "show-progress"), error)
         && dvm_cli_args_get_flag (run->cli->args, "show-progress", FALSE, &run->shows_progress, error);
}

static gboolean
run_job (Run *run, GError **error)
{
  if (!dvm_cli_display_parse (run->cli, &run->display, error) || !read_proctable (run, error)
      || !read_progress (run, error))
    return FALSE;
  run->spec = dvm_cli_spec_choose (run->cli, NULL, error);
  if (run->spec == NULL || !reach_dvm (run, run->spec, error))
    return FALSE;
  if (!dvm_cli_spec_find_sessions (run->spec, run->cli->args, run->client, run->connecting, error)
      || !dvm_cli_report_check_nodes (run->client, &run->display, run->spec, run->embedded != NULL, run->connecting,
                                      error)
      || !submit_and_follow (run, run->spec, error) || !wait_for_end (run, error))
    return FALSE;
  if (run->cli->json || dvm_job_spec_get_runtime_options (run->spec) == NULL || !is_map_only (run))
    return TRUE;
  if (run->display.what == 0)
    run->display.what = DVM_CLI_DISPLAY_MAP;
  finish_report (run);
  return TRUE;
}

static void
clear_run (Run *run)
{
  g_clear_pointer (&run->input, dvm_cli_input_free);
  g_clear_pointer (&run->reader, dvm_cli_reader_free);
  g_clear_handle_id (&run->held_timer, g_source_remove);
  if (run->job != NULL)
    g_clear_signal_handler (&run->map_handler, run->job);
  g_clear_pointer (&run->report, dvm_cli_report_free);
  g_clear_pointer (&run->proctable, dvm_cli_proctable_free);
  g_clear_pointer (&run->progress, dvm_cli_launching_free);
  dvm_cli_display_clear (&run->display);
  g_clear_object (&run->spec);
  g_clear_object (&run->job);
  g_clear_object (&run->client);
  g_clear_pointer (&run->embedded, dvm_cli_embedded_free);
  g_clear_object (&run->connecting);
  g_clear_object (&run->defaults);
  g_clear_pointer (&run->passing.early, g_array_unref);
  g_clear_pointer (&run->keepalive, dvm_cli_keepalive_free);
}

/* Waiting has told how the job ended; the rest of the record is asked for, unless a private DVM has left already. */
static gboolean
print_record (Run *run, GError **error)
{
  dvm_client_refresh_job (run->client, run->job, NULL, NULL);
  return dvm_cli_print_job_json (run->job, error);
}

static int
finish_run (Run *run, GError **error)
{
  int status;

  g_clear_pointer (&run->input, dvm_cli_input_free);
  /* A user who has cancelled the job by a signal gets no message that it was cancelled. */
  status = run->interrupted != 0 ? 128 + run->interrupted : dvm_cli_report_end (run->cli, run->job);
  if (run->cli->json && !print_record (run, error))
    return DVM_CLI_EXIT_DVM_FAILED;
  if (status == 0 && (run->lost_proctable || (run->report != NULL && dvm_cli_report_is_lost (run->report))))
    return DVM_CLI_EXIT_DVM_FAILED;
  return status;
}

/* The other end of the pipe has been closed. */
static void
on_keepalive_closed (gpointer user_data)
{
  Run *run = user_data;

  dvm_cli_note (run->cli, _ ("the pipe of --keepalive has been closed"));
  interrupt (run, SIGHUP);
}

static gboolean
watch_keepalive (Run *run, GError **error)
{
  const char *text = dvm_cli_args_get (run->cli->args, "keepalive");

  if (text != NULL)
    run->keepalive = dvm_cli_keepalive_new (text, on_keepalive_closed, run, error);
  return text == NULL || run->keepalive != NULL;
}

static gboolean
check_uri (Run *run, GError **error)
{
  const char *where = dvm_cli_args_get (run->cli->args, "report-uri");

  return where == NULL || dvm_cli_check_place ("report-uri", where, error);
}

/* Signals are sent to this process. */
static gboolean
report_pid (Run *run, GError **error)
{
  const char *where = dvm_cli_args_get (run->cli->args, "report-pid");
  g_autofree char *text = g_strdup_printf ("%d\n", getpid ());

  return where == NULL
         || (dvm_cli_check_place ("report-pid", where, error) && write_to (where, text, "report-pid", error));
}

static int *
read_passed_on (DvmCli *cli, GError **error)
{
  const char *list = dvm_cli_args_get (cli->args, "forward-signals");

  return dvm_cli_signal_read_list ("--forward-signals", list != NULL ? list : PASSED_ON, error);
}

static int
run_verb (DvmCli *cli, GError **error)
{
  g_autofree int *passed_on = read_passed_on (cli, error);
  Run run = { .cli = cli, .stdin_fd = -1, .passing.which = passed_on };
  g_autoptr (DvmCliSignals) signals = NULL;
  int status = DVM_CLI_EXIT_DVM_FAILED;

  if (passed_on == NULL)
    return status;
  run.connecting = g_cancellable_new ();
  run.passing.early = g_array_new (FALSE, FALSE, sizeof (int));
  /* Before the first thread: they inherit what is blocked. */
  signals = dvm_cli_signals_new (passed_on, on_signal, &run);
  if (watch_keepalive (&run, error) && check_uri (&run, error) && report_pid (&run, error) && run_job (&run, error))
    status = finish_run (&run, error);
  if (run.interrupted != 0)
    {
      g_clear_error (error);
      status = 128 + run.interrupted;
    }
  clear_run (&run);
  return status;
}

static const DvmCliOption run_options[] = {
  { "display", 0, NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL,
    N_ ("what to show of the job: map or map-devel (its ranks), bindings (their cpus), allocation (nodes), topo and "
        "cpus "
        "(what nodes have); with :parseable and :physical") },
  { "output-proctable", 0, NULL, DVM_CLI_ARG_OPTIONAL, N_ ("FILE"), NULL,
    N_ ("tell rank, node, program and pid of each process when all have started, for debuggers: here (-), on standard "
        "error (+) or in FILE") },
  { "show-progress", 0, "-show-progress", DVM_CLI_ARG_OPTIONAL, N_ ("yes|no"), NULL,
    N_ ("tell on standard error how many processes have been started, until all have") },
  { "forward-signals", 0, "-forward-signals", DVM_CLI_ARG_STRING, N_ ("LIST"), NULL,
    N_ ("signals that go on to the job, besides those that end, suspend and continue it (default: USR1,USR2)") },
  { "report-pid", 0, "-report-pid", DVM_CLI_ARG_STRING, N_ ("FILE"), NULL,
    N_ ("tell the pid of this dvm-cli: here (-), on standard error (+) or in FILE") },
  { "report-uri", 0, "-report-uri", DVM_CLI_ARG_STRING, N_ ("FILE"), NULL,
    N_ ("tell the address of the DVM, for --dvm-uri: here (-), on standard error (+) or in FILE") },
  { "keepalive", 0, "-keepalive", DVM_CLI_ARG_STRING, N_ ("PIPE"), NULL,
    N_ ("end the job when the other end of a pipe is closed: an open descriptor, or the path of a named pipe") },
  { NULL },
};

const DvmCliVerb dvm_cli_verb_run = {
  .name = "run",
  .synopsis = "[OPTION...] PROGRAM [ARGUMENT...] [: [OPTION...] PROGRAM [ARGUMENT...]]...\n"
              "[OPTION...] --file JOB.json",
  .summary = N_ ("run a job and wait for it, with its input and output here"),
  .options = { dvm_cli_file_options, dvm_cli_app_options, dvm_cli_add_options, dvm_cli_job_options, run_options,
               dvm_cli_private_options, dvm_cli_which_options, dvm_cli_old_app_options, dvm_cli_old_options,
               dvm_cli_old_display_options, dvm_cli_old_add_options },
  .foreign = &dvm_cli_srun,
  .max_words = G_MAXUINT,
  .flags = DVM_CLI_PARSE_STOP_AT_WORD,
  .failure = DVM_CLI_EXIT_DVM_FAILED,
  .run = run_verb,
};
