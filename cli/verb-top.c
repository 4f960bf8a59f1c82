/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli top: a live view of jobs, nodes and campaigns; as plain pictures where there is no screen.
 */

#include "config.h"

#include <glib-unix.h>
#include <glib/gi18n-lib.h>
#include <unistd.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-output.h"
#include "dvm-cli-screen.h"
#include "dvm-cli-watch-feed.h"
#include "dvm-cli-top-lines.h"
#ifdef HAVE_NCURSESW
#include "dvm-cli-top-screen.h"
#endif

#define DEFAULT_DELAY 2

static const DvmCliOption options[] = {
  { "batch", 'b', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("print plain pictures, also on a terminal") },
  { "count", 'n', NULL, DVM_CLI_ARG_COUNT, N_ ("N"), NULL,
    N_ ("end after so many pictures (default: one where they are printed)") },
  { "delay", 'd', NULL, DVM_CLI_ARG_TIME, N_ ("TIME"), "1", N_ ("time between two pictures (default: 2s)") },
  { "all", 'a', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("ended jobs and campaigns too") },
  { "panel", 'p', NULL, DVM_CLI_ARG_CHOICE, N_ ("PANEL"), "jobs|nodes|campaigns",
    N_ ("what is shown first, sorted and filtered (default: jobs)") },
  { "sort", 's', NULL, DVM_CLI_ARG_STRING, N_ ("COLUMN"), NULL,
    N_ ("sort by this column of the panel, such as time or load; -COLUMN: the other way round") },
  { "filter", 'f', NULL, DVM_CLI_ARG_STRING, N_ ("TEXT"), NULL, N_ ("rows of the panel alone that have this text") },
  { NULL },
};

static gboolean
set_order (DvmCliWatchModel *model, DvmCliWatchPanel panel, const char *sort, GError **error)
{
  const DvmCliWatchColumn *columns = dvm_cli_watch_columns (panel);
  gboolean turned = sort != NULL && sort[0] == '-';
  g_autoptr (GString) known = g_string_new (NULL);
  gboolean descending;
  guint column;

  if (sort == NULL)
    return TRUE;
  if (dvm_cli_watch_model_sort_by (model, panel, sort + turned))
    {
      column = dvm_cli_watch_model_get_sort (model, panel, &descending);
      dvm_cli_watch_model_set_sort (model, panel, column, descending != turned);
      return TRUE;
    }
  for (guint i = 0; columns[i].key != NULL; i++)
    g_string_append_printf (known, "%s%s", i > 0 ? ", " : "", columns[i].key);
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --sort: %s have no column '%s'; there are %s"),
               dvm_cli_watch_panel_name (panel), sort + turned, known->str);
  return FALSE;
}

static gboolean
set_up_model (DvmCli *cli, DvmCliWatchModel *model, DvmCliWatchPanel *panel, GError **error)
{
  const char *name = dvm_cli_args_get (cli->args, "panel");
  const char *filter = dvm_cli_args_get (cli->args, "filter");

  if (name != NULL)
    dvm_cli_watch_panel_parse (name, panel);
  if (filter != NULL && !g_utf8_validate (filter, -1, NULL))
    {
      g_autofree char *shown = dvm_cli_escape (filter);

      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --%s: '%s' is not UTF-8"), "filter", shown);
      return FALSE;
    }
  if (filter != NULL)
    dvm_cli_watch_model_set_filter (model, *panel, filter);
  dvm_cli_watch_model_set_all (model, dvm_cli_args_has (cli->args, "all"));
  return set_order (model, *panel, dvm_cli_args_get (cli->args, "sort"), error);
}

/* ---- plain pictures ---- */

typedef struct
{
  DvmCli *cli;
  DvmClient *client;
  DvmCliWatchModel *model;
  DvmCliWatchFeed *feed;
  guint n_left;
  gboolean is_due;    /* the next picture */
  gboolean has_asked; /* for it */
  gboolean reader_gone;
  GError *failure;
} Batch;

static void
print_picture (Batch *batch)
{
  const char *name = batch->cli->name != NULL ? batch->cli->name : "dvm";
  gint64 now = g_get_real_time ();
  g_autofree char *text = NULL;

  if (batch->cli->json)
    text = dvm_cli_watch_model_to_json (batch->model, name, now);
  else
    text = dvm_cli_top_print (batch->model, name, dvm_cli_terminal_width (), dvm_cli_may_use_colour (batch->cli), now);
  if (!dvm_cli_print_line (text, &batch->reader_gone, &batch->failure))
    return;
  batch->n_left--;
  if (batch->n_left > 0 && !batch->cli->json)
    dvm_cli_print_line ("\n", &batch->reader_gone, &batch->failure);
}

static void
on_fed (const GError *error, gpointer user_data)
{
  Batch *batch = user_data;

  if (error != NULL && batch->failure == NULL)
    batch->failure = g_error_copy (error);
  if (!dvm_client_get_connected (batch->client) && batch->failure == NULL)
    {
      g_set_error (&batch->failure, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, _ ("the DVM has gone"));
      return;
    }
  if (batch->failure != NULL || !batch->has_asked || !dvm_cli_watch_feed_is_idle (batch->feed))
    return;
  batch->has_asked = FALSE;
  print_picture (batch);
}

static gboolean
on_time (gpointer user_data)
{
  ((Batch *)user_data)->is_due = TRUE;
  return G_SOURCE_CONTINUE;
}

/* Also between two pictures. */
static gboolean
on_reader_gone (int fd, GIOCondition condition, gpointer user_data)
{
  ((Batch *)user_data)->reader_gone = TRUE;
  return G_SOURCE_REMOVE;
}

static int
print_pictures (DvmCli *cli, DvmClient *client, DvmCliWatchModel *model, GError **error)
{
  Batch batch = { .cli = cli, .client = client, .model = model, .is_due = TRUE };
  guint timer = g_timeout_add (dvm_cli_args_get_seconds (cli->args, "delay", DEFAULT_DELAY) * 1000, on_time, &batch);
  guint reader = 0;

  batch.n_left = dvm_cli_args_get_uint (cli->args, "count", 1);
  /* A file is always ready, and never closed by a reader. */
  if (dvm_cli_is_pipe (STDOUT_FILENO))
    reader = g_unix_fd_add (STDOUT_FILENO, G_IO_ERR, on_reader_gone, &batch);
  batch.feed = dvm_cli_watch_feed_new (client, model, on_fed, &batch);
  while (batch.n_left > 0 && batch.failure == NULL && !batch.reader_gone)
    {
      if (batch.is_due && !batch.has_asked)
        {
          batch.is_due = FALSE;
          batch.has_asked = TRUE;
          dvm_cli_watch_feed_refresh (batch.feed, DVM_CLI_WATCH_N_PANELS, NULL);
          dvm_cli_watch_feed_measure_all (batch.feed);
        }
      g_main_context_iteration (NULL, TRUE);
    }
  if (reader != 0 && g_main_context_find_source_by_id (NULL, reader) != NULL)
    g_source_remove (reader);
  g_source_remove (timer);
  dvm_cli_watch_feed_free (batch.feed);
  if (batch.failure != NULL)
    g_propagate_error (error, batch.failure);
  return *error == NULL ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

/* ---- the verb ---- */

static gboolean
is_for_screen (DvmCli *cli)
{
#ifdef HAVE_NCURSESW
  return !cli->json && !dvm_cli_args_has (cli->args, "batch") && dvm_cli_top_screen_is_possible ();
#else
  return FALSE;
#endif
}

static int
show_screen (DvmCli *cli, DvmCliWatchModel *model, DvmCliWatchPanel panel, GError **error)
{
#ifdef HAVE_NCURSESW
  const DvmCliTopScreenSetup setup = {
    .cli = cli,
    .model = model,
    .panel = panel,
    .delay = dvm_cli_args_get_seconds (cli->args, "delay", DEFAULT_DELAY),
    .n_rounds = dvm_cli_args_get_uint (cli->args, "count", 0),
  };

  return dvm_cli_top_screen_run (&setup, error);
#else
  g_assert_not_reached ();
#endif
}

static int
show_top (DvmCli *cli, GError **error)
{
  g_autoptr (DvmCliWatchModel) model = dvm_cli_watch_model_new ();
  DvmCliWatchPanel panel = DVM_CLI_WATCH_JOBS;
  g_autoptr (DvmClient) client = NULL;

  if (!set_up_model (cli, model, &panel, error))
    return DVM_CLI_EXIT_USAGE;
  if (is_for_screen (cli))
    return show_screen (cli, model, panel, error);
  client = dvm_cli_connect (cli, error);
  return client != NULL ? print_pictures (cli, client, model, error) : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_top = {
  .name = "top",
  .synopsis = "[OPTION...]",
  .summary = N_ ("watch jobs, nodes and campaigns live, and act on them by keys"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = show_top,
};
