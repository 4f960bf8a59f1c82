/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli events: follows a DVM, one line for each change of state.
 */

#include "config.h"

#include <glib-unix.h>
#include <glib/gi18n-lib.h>
#include <string.h>
#include <unistd.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-events.h"
#include "dvm-cli-json.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-screen.h"
#include "dvm-cli-table.h"

static const DvmCliOption options[] = {
  { "kind", 'k', NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL,
    N_ ("these kinds alone: dvm, job, proc, node, session, campaign") },
  { "procs", 'p', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("processes too") },
  { "current", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("show first how things are now") },
  { "until-idle", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("end when no job, or none of those named, is left") },
  { "count", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("N"), NULL, N_ ("end after N events") },
  { "reconnect", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("when the DVM goes, wait for the next one") },
  { NULL },
};

typedef struct
{
  DvmCli *cli;
  DvmClient *client;
  DvmCliEvents *events; /* (nullable): while there is a DVM */
  guint kinds;
  GHashTable *jobs; /* (nullable): numbers of the only jobs to tell of */
  guint n_left;     /* events to print before the end; G_MAXUINT: no limit */
  gboolean colour;
  gboolean reader_gone;
  GError *failure;
} Follow;

static gboolean
is_wanted (Follow *follow, const DvmCliEvent *event)
{
  if (event->is_current && !dvm_cli_args_has (follow->cli->args, "current"))
    return FALSE;
  return follow->jobs == NULL || g_hash_table_contains (follow->jobs, GUINT_TO_POINTER (event->id));
}

static void
append_member (GString *json, const char *key, const char *value)
{
  g_string_append_printf (json, ",\"%s\":", key);
  dvm_cli_json_append_string (json, value != NULL ? value : "");
}

static char *
event_to_json (const DvmCliEvent *event, gint64 now)
{
  g_autofree char *time = dvm_cli_format_time (now);
  GString *json = g_string_new (NULL);

  g_string_append_printf (json, "{\"time\":\"%s\",\"kind\":\"%s\"", time, dvm_cli_event_kind_to_string (event->kind));
  append_member (json, "object", event->path);
  append_member (json, "name", event->name);
  if (event->kind != DVM_CLI_EVENT_DVM)
    g_string_append_printf (json, ",\"id\":%u", event->id);
  if (event->kind == DVM_CLI_EVENT_PROC)
    g_string_append_printf (json, ",\"rank\":%u", event->rank);
  append_member (json, "old", event->old_state);
  append_member (json, "new", event->new_state);
  append_member (json, "reason", event->reason);
  g_string_append_printf (json, ",\"current\":%s}\n", event->is_current ? "true" : "false");
  return g_string_free (json, FALSE);
}

static char *
describe_object (const DvmCliEvent *event)
{
  g_autofree char *name = dvm_cli_escape (event->name);

  switch (event->kind)
    {
    case DVM_CLI_EVENT_DVM:
      return g_strdup (_ ("DVM"));
    case DVM_CLI_EVENT_JOB:
      return g_strdup_printf (_ ("job %s"), name);
    case DVM_CLI_EVENT_PROC:
      return g_strdup_printf (_ ("job %s rank %u"), name, event->rank);
    case DVM_CLI_EVENT_NODE:
      return g_strdup_printf (_ ("node %s"), name);
    case DVM_CLI_EVENT_SESSION:
      return g_strdup_printf (_ ("session %s"), name);
    case DVM_CLI_EVENT_CAMPAIGN:
    default:
      return g_strdup_printf (_ ("campaign %s"), name);
    }
}

/* "12:34:56.789 job default-3: RUNNING -> TERMINATED (why)" */
static char *
event_to_text (Follow *follow, const DvmCliEvent *event, gint64 now)
{
  g_autoptr (GDateTime) time = g_date_time_new_from_unix_local (now / G_USEC_PER_SEC);
  g_autofree char *clock = g_date_time_format (time, "%H:%M:%S");
  g_autofree char *object = describe_object (event);
  const char *start = follow->colour ? dvm_cli_state_colour (event->new_state) : NULL;
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "%s.%03d %s: ", clock, (int)(now % G_USEC_PER_SEC / 1000), object);
  if (event->old_state != NULL && event->old_state[0] != '\0')
    g_string_append_printf (text, "%s -> ", event->old_state);
  g_string_append_printf (text, "%s%s%s", start != NULL ? start : "", event->new_state, start != NULL ? "\033[0m" : "");
  if (event->reason != NULL && event->reason[0] != '\0')
    {
      g_autofree char *reason = dvm_cli_escape (event->reason);

      g_string_append_printf (text, " (%s)", reason);
    }
  g_string_append_c (text, '\n');
  return g_string_free (text, FALSE);
}

/* One write for each: whoever reads a pipe gets whole lines, at once. */
static void
on_event (const DvmCliEvent *event, gpointer user_data)
{
  Follow *follow = user_data;
  gint64 now = g_get_real_time ();
  g_autofree char *line = NULL;

  if (follow->n_left == 0 || follow->reader_gone || follow->failure != NULL || !is_wanted (follow, event))
    return;
  line = follow->cli->json ? event_to_json (event, now) : event_to_text (follow, event, now);
  if (!dvm_cli_print_line (line, &follow->reader_gone, &follow->failure))
    return;
  if (follow->n_left != G_MAXUINT)
    follow->n_left--;
}

/* Also when nothing is to be printed. */
static gboolean
on_reader_gone (int fd, GIOCondition condition, gpointer user_data)
{
  Follow *follow = user_data;

  follow->reader_gone = TRUE;
  return G_SOURCE_REMOVE;
}

/* The presence of the DVM is an event that the client makes itself. */
static void
tell_presence (Follow *follow, const char *old_state, const char *new_state)
{
  const DvmCliEvent event = { .kind = DVM_CLI_EVENT_DVM,
                              .path = "/org/dvm/Manager",
                              .name = "",
                              .old_state = old_state,
                              .new_state = new_state,
                              .reason = "" };

  if ((follow->kinds & DVM_CLI_EVENT_DVM) != 0)
    on_event (&event, follow);
}

static gboolean
start_following (Follow *follow, GError **error)
{
  follow->events = dvm_cli_events_new (follow->client, follow->kinds, on_event, follow);
  if (!dvm_cli_events_start (follow->events, error))
    return FALSE;
  dvm_cli_tell (follow->cli, _ ("following the DVM at %s"), dvm_client_get_address (follow->client));
  return TRUE;
}

/* FALSE: this was the end */
static gboolean
check_connection (Follow *follow)
{
  gboolean connected = dvm_client_get_connected (follow->client);
  g_autoptr (GError) error = NULL;

  if (!connected && follow->events != NULL)
    {
      g_clear_pointer (&follow->events, dvm_cli_events_free);
      if (!dvm_cli_args_has (follow->cli->args, "reconnect"))
        {
          g_set_error (&follow->failure, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, _ ("the DVM has gone"));
          return FALSE;
        }
      tell_presence (follow, "connected", "gone");
    }
  else if (connected && follow->events == NULL)
    {
      tell_presence (follow, "gone", "connected");
      if (!start_following (follow, &error))
        {
          /* The DVM has gone again; the next one is waited for. */
          dvm_cli_tell (follow->cli, "%s", error->message);
          g_clear_pointer (&follow->events, dvm_cli_events_free);
        }
    }
  return TRUE;
}

static gboolean
is_over (Follow *follow)
{
  if (follow->reader_gone || follow->n_left == 0 || follow->failure != NULL)
    return TRUE;
  return dvm_cli_args_has (follow->cli->args, "until-idle") && follow->events != NULL
         && dvm_cli_events_get_n_jobs (follow->events, follow->jobs) == 0;
}

static int
follow_dvm (Follow *follow, GError **error)
{
  guint source = 0;

  /* A file is always ready, and never closed by a reader. */
  if (dvm_cli_is_pipe (STDOUT_FILENO))
    source = g_unix_fd_add (STDOUT_FILENO, G_IO_ERR, on_reader_gone, follow);
  if (!start_following (follow, error))
    g_clear_pointer (&follow->events, dvm_cli_events_free);
  while (*error == NULL && !is_over (follow) && check_connection (follow))
    g_main_context_iteration (NULL, TRUE);
  if (source != 0 && !follow->reader_gone)
    g_source_remove (source);
  if (follow->failure != NULL)
    g_propagate_error (error, g_steal_pointer (&follow->failure));
  return *error == NULL ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

static gboolean
choose_kinds (Follow *follow, GError **error)
{
  const char *list = dvm_cli_args_get (follow->cli->args, "kind");
  const guint of_jobs = DVM_CLI_EVENT_JOB | DVM_CLI_EVENT_PROC;

  follow->kinds = G_MAXUINT & ~(guint)DVM_CLI_EVENT_PROC;
  if (list != NULL && !dvm_cli_event_kinds_parse (list, &follow->kinds, error))
    return FALSE;
  if (dvm_cli_args_has (follow->cli->args, "procs"))
    follow->kinds |= DVM_CLI_EVENT_PROC;
  if (dvm_cli_args_get_n_words (follow->cli->args) == 0)
    return TRUE;
  if (list != NULL && (follow->kinds & of_jobs) == 0)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a JOB has events of the kinds job and proc alone, not of '%s'"),
                   list);
      return FALSE;
    }
  follow->kinds &= of_jobs;
  return TRUE;
}

static gboolean
choose_jobs (Follow *follow, GError **error)
{
  g_autoptr (GPtrArray) jobs = NULL;

  if (dvm_cli_args_get_n_words (follow->cli->args) == 0)
    return TRUE;
  jobs = dvm_cli_find_jobs (follow->client, dvm_cli_args_get_words (follow->cli->args), error);
  if (jobs == NULL)
    return FALSE;
  follow->jobs = g_hash_table_new (NULL, NULL);
  for (guint i = 0; i < jobs->len; i++)
    g_hash_table_add (follow->jobs, GUINT_TO_POINTER (dvm_job_get_id (g_ptr_array_index (jobs, i))));
  return TRUE;
}

static int
events_verb (DvmCli *cli, GError **error)
{
  Follow follow = { .cli = cli };
  int status = DVM_CLI_EXIT_FAILED;

  follow.n_left = dvm_cli_args_get_uint (cli->args, "count", G_MAXUINT);
  follow.colour = dvm_cli_may_use_colour (cli);
  if (!choose_kinds (&follow, error))
    return DVM_CLI_EXIT_USAGE;
  follow.client = dvm_cli_connect (cli, error);
  if (follow.client == NULL)
    return DVM_CLI_EXIT_FAILED;
  dvm_client_set_reconnect (follow.client, dvm_cli_args_has (cli->args, "reconnect"));
  if (choose_jobs (&follow, error))
    status = follow_dvm (&follow, error);
  g_clear_pointer (&follow.events, dvm_cli_events_free);
  g_clear_pointer (&follow.jobs, g_hash_table_unref);
  g_clear_object (&follow.client);
  return status;
}

const DvmCliVerb dvm_cli_verb_events = {
  .name = "events",
  .synopsis = "[OPTION...] [JOB...]",
  .summary = N_ ("follow what happens: one line for each change of state"),
  .options = { options },
  .max_words = G_MAXUINT,
  .failure = DVM_CLI_EXIT_FAILED,
  .run = events_verb,
};
