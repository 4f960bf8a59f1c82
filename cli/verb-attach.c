/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli attach: the streams of a job that runs already. An interrupt leaves the job, and the job goes on.
 */

#include "config.h"

#include <errno.h>
#include <glib-unix.h>
#include <glib/gi18n-lib.h>
#include <signal.h>
#include <unistd.h>

#include "dvm-cli-await.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-exit.h"
#include "dvm-cli-input.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-signals.h"

static const DvmCliOption options[] = {
  { "no-stdin", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("leave the job's standard input alone") },
  { NULL },
};

typedef struct
{
  DvmCli *cli;
  DvmClient *client;
  DvmJob *job;
  DvmCliInput *input;
  GCancellable *cancellable;
  int interrupted;
  guint n_open; /* streams of output that have not ended */
} Attach;

/* One stream of output on its way to a descriptor of ours. */
typedef struct
{
  Attach *attach;
  int from;
  int to;
  guint source;
} Stream;

static void
interrupt (Attach *attach, int signum)
{
  attach->interrupted = signum;
  g_cancellable_cancel (attach->cancellable);
}

static void
on_signal (int signum, gpointer user_data)
{
  Attach *attach = user_data;

  if (signum == SIGCONT && attach->input != NULL)
    dvm_cli_input_check_foreground (attach->input);
  else if (signum == SIGWINCH && attach->input != NULL)
    dvm_cli_pass_terminal_size (attach->client, attach->job);
  else if (signum == SIGTSTP)
    dvm_cli_signals_stop ();
  else if (signum == SIGINT || signum == SIGTERM || signum == SIGHUP)
    interrupt (attach, signum);
}

static void
close_stream (Stream *stream)
{
  if (stream->from < 0)
    return;
  g_clear_handle_id (&stream->source, g_source_remove);
  close (stream->from);
  stream->from = -1;
  stream->attach->n_open--;
}

static gboolean
on_output (int fd, GIOCondition condition, gpointer user_data)
{
  Stream *stream = user_data;
  char buffer[65536];
  gssize n = read (fd, buffer, sizeof buffer);
  int failure = 0;

  if (n < 0 && (errno == EINTR || errno == EAGAIN))
    return G_SOURCE_CONTINUE;
  if (n > 0)
    failure = dvm_cli_write_all (stream->to, buffer, (gsize)n);
  if (n > 0 && failure == 0)
    return G_SOURCE_CONTINUE;
  /* Without a reader of the output there is nothing left to do here; the DVM drains what nobody reads. */
  if (failure != 0 && stream->to == STDOUT_FILENO)
    {
      if (failure != EPIPE)
        dvm_cli_complain (_ ("cannot write to standard output: %s"), g_strerror (failure));
      interrupt (stream->attach, SIGPIPE);
    }
  stream->source = 0;
  close_stream (stream);
  return G_SOURCE_REMOVE;
}

static void
open_stream (Stream *stream, Attach *attach, int from, int to)
{
  *stream = (Stream){ .attach = attach, .from = from, .to = to };
  if (from < 0)
    return;
  stream->source = g_unix_fd_add (from, G_IO_IN | G_IO_HUP | G_IO_ERR, on_output, stream);
  attach->n_open++;
}

static gboolean
attach_streams (Attach *attach, DvmStreams streams, int *fds, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  dvm_client_attach_async (attach->client, attach->job, streams, attach->cancellable, dvm_cli_ready, &result);
  return dvm_client_attach_finish (attach->client, dvm_cli_await (&result), &fds[0], &fds[1], &fds[2], error);
}

/* Standard input is its first reader's: when another has it, output alone is worth attaching to. */
static gboolean
attach_to_job (Attach *attach, int *fds, GError **error)
{
  const DvmStreams output = DVM_STREAMS_STDOUT | DVM_STREAMS_STDERR;
  g_autoptr (GError) local_error = NULL;

  if (dvm_cli_args_has (attach->cli->args, "no-stdin"))
    return attach_streams (attach, output, fds, error);
  if (attach_streams (attach, output | DVM_STREAMS_STDIN, fds, &local_error))
    return TRUE;
  if (attach->interrupted == 0 && attach_streams (attach, output, fds, NULL))
    {
      dvm_cli_note (attach->cli, _ ("without standard input: %s"), local_error->message);
      return TRUE;
    }
  g_propagate_error (error, g_steal_pointer (&local_error));
  return FALSE;
}

static void
copy_streams (Attach *attach, const int *fds)
{
  Stream out;
  Stream err;

  if (fds[0] >= 0)
    {
      attach->input = dvm_cli_input_new (STDIN_FILENO, fds[0]);
      /* The terminal whose keys the job gets sets the size of the job's terminal. */
      dvm_cli_pass_terminal_size (attach->client, attach->job);
    }
  open_stream (&out, attach, fds[1], STDOUT_FILENO);
  open_stream (&err, attach, fds[2], STDERR_FILENO);
  while (attach->n_open > 0 && attach->interrupted == 0)
    g_main_context_iteration (NULL, TRUE);
  close_stream (&out);
  close_stream (&err);
}

static int
wait_for_end (Attach *attach, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  dvm_client_wait_async (attach->client, attach->job, 0, attach->cancellable, dvm_cli_ready, &result);
  if (!dvm_client_wait_finish (attach->client, dvm_cli_await (&result), error))
    return DVM_CLI_EXIT_DVM_FAILED;
  return dvm_cli_report_end (attach->cli, attach->job);
}

static int
follow (Attach *attach, GError **error)
{
  int fds[3] = { -1, -1, -1 };
  int status = DVM_CLI_EXIT_DVM_FAILED;

  attach->job = dvm_client_find_job (attach->client, dvm_cli_args_get_words (attach->cli->args)[0], NULL, error);
  if (attach->job == NULL)
    return DVM_CLI_EXIT_DVM_FAILED;
  if (attach_to_job (attach, fds, error))
    {
      copy_streams (attach, fds);
      if (attach->interrupted == 0)
        status = wait_for_end (attach, error);
    }
  g_clear_pointer (&attach->input, dvm_cli_input_free);
  if (attach->interrupted != 0)
    {
      g_clear_error (error);
      dvm_cli_note (attach->cli, _ ("detached; job %s goes on"), dvm_job_get_nspace (attach->job));
      return 128 + attach->interrupted;
    }
  if (attach->cli->json && *error == NULL)
    dvm_cli_print_job_json (attach->job, error);
  return status;
}

static int
attach_verb (DvmCli *cli, GError **error)
{
  Attach attach = { .cli = cli, .cancellable = g_cancellable_new () };
  g_autoptr (DvmCliSignals) signals = dvm_cli_signals_new (NULL, on_signal, &attach);
  int status = DVM_CLI_EXIT_DVM_FAILED;

  attach.client = dvm_cli_connect (cli, error);
  if (attach.client != NULL)
    status = follow (&attach, error);
  g_clear_object (&attach.job);
  g_clear_object (&attach.client);
  g_clear_object (&attach.cancellable);
  return status;
}

const DvmCliVerb dvm_cli_verb_attach = {
  .name = "attach",
  .synopsis = "[OPTION...] JOB",
  .summary = N_ ("see the output of a running job; Ctrl-C leaves it running"),
  .options = { options },
  .min_words = 1,
  .max_words = 1,
  .failure = DVM_CLI_EXIT_DVM_FAILED,
  .run = attach_verb,
};
