/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Commands of plugins are run on this node for the controller: a launcher has agents start other ones.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include <signal.h>

#include "dvmd-agent-services.h"
#include "dvmd-host-process.h"

typedef struct
{
  DvmdAgent *agent;  /* unowned */
  GHashTable *runs;  /* token -> Run */
  GHashTable *names; /* number of its process -> Run, unowned */
  guint last_number;
  gboolean closing;
} Runs;

typedef struct
{
  guint64 token;
  DvmdHostProcess *process;
} Run;

static void
run_free (gpointer data)
{
  Run *self = data;

  dvmd_host_process_free (self->process);
  g_free (self);
}

static void
on_line (guint number, gboolean is_message, const char *line, gpointer user_data)
{
  Runs *self = user_data;
  Run *run = g_hash_table_lookup (self->names, GUINT_TO_POINTER (number));

  if (!self->closing)
    dvmd_agent_send (self->agent, DVMD_MSG_RUN_LINE, g_variant_new ("(tbs)", run->token, is_message, line));
}

static void
send_end (Runs *self, guint64 token, const DvmdPluginOutcome *outcome, const char *problem)
{
  gsize length = 0;
  const char *bytes = outcome->messages != NULL ? g_bytes_get_data (outcome->messages, &length) : NULL;
  g_autofree char *words = g_utf8_make_valid (bytes != NULL ? bytes : "", (gssize)length);

  if (!self->closing)
    dvmd_agent_send (self->agent, DVMD_MSG_RUN_ENDED,
                     g_variant_new ("(tiiss)", token, outcome->exit_code, outcome->exit_signal, words, problem));
}

static void
on_ended (guint number, const DvmdPluginOutcome *outcome, gpointer user_data)
{
  Runs *self = user_data;
  Run *run = g_hash_table_lookup (self->names, GUINT_TO_POINTER (number));

  send_end (self, run->token, outcome, "");
}

static const DvmdPluginWatch watch = { .line = on_line, .ended = on_ended };

static void
on_gone (guint number, gpointer user_data)
{
  Runs *self = user_data;
  Run *run = g_hash_table_lookup (self->names, GUINT_TO_POINTER (number));

  g_hash_table_remove (self->names, GUINT_TO_POINTER (number));
  g_hash_table_remove (self->runs, &run->token);
}

static void
handle_run (gpointer service, guint source, GVariant *body)
{
  Runs *self = service;
  const DvmdAgentParts *parts = dvmd_agent_get_parts (self->agent);
  g_autoptr (GVariant) words = NULL;
  g_auto (GStrv) argv = NULL;
  g_autoptr (GError) error = NULL;
  DvmdPluginCommand command = { 0 };
  DvmdHostProcess *process = NULL;
  guint64 token;
  Run *run;

  g_variant_get (body, "(t@aay)", &token, &words);
  argv = dvmd_variant_dup_bytes_array (words);
  if (argv[0] == NULL || g_hash_table_contains (self->runs, &token))
    return;
  command.argv = (const char *const *)argv;
  process = dvmd_host_process_new (parts->spawner, parts->reaper, &command, ++self->last_number, &error);
  if (process == NULL)
    {
      const DvmdPluginOutcome none = { .exit_code = -1 };

      send_end (self, token, &none, error->message);
      return;
    }
  run = g_new0 (Run, 1);
  run->token = token;
  run->process = process;
  g_hash_table_insert (self->runs, &run->token, run);
  g_hash_table_insert (self->names, GUINT_TO_POINTER (self->last_number), run);
  dvmd_host_process_watch (process, &watch, self, on_gone, self);
}

/* One that has ended is not there any more: the controller hears of that, and its order is too late. */
static void
handle_run_input (gpointer service, guint source, GVariant *body)
{
  Runs *self = service;
  g_autoptr (GVariant) bytes = NULL;
  g_autoptr (GBytes) input = NULL;
  gboolean last;
  guint64 token;
  Run *run;

  g_variant_get (body, "(t@ayb)", &token, &bytes, &last);
  run = g_hash_table_lookup (self->runs, &token);
  if (run == NULL)
    return;
  input = g_variant_get_data_as_bytes (bytes);
  dvmd_host_process_give_input (run->process, input, last);
}

static void
handle_run_signal (gpointer service, guint source, GVariant *body)
{
  Runs *self = service;
  gint32 signum;
  guint64 token;
  Run *run;

  g_variant_get (body, "(ti)", &token, &signum);
  run = g_hash_table_lookup (self->runs, &token);
  if (run != NULL && signum > 0 && signum < NSIG)
    dvmd_host_process_send_signal (run->process, signum);
}

static gpointer
create (DvmdAgent *agent, const DvmdAgentSettings *settings)
{
  Runs *self = g_new0 (Runs, 1);

  self->agent = agent;
  self->runs = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, run_free);
  self->names = g_hash_table_new (NULL, NULL);
  return self;
}

/* The controller does not hear of their ends: it knows that the agent has gone. */
static void
runs_free (gpointer service)
{
  Runs *self = service;
  g_autoptr (GList) all = g_hash_table_get_values (self->runs);

  self->closing = TRUE;
  for (GList *each = all; each != NULL; each = each->next)
    dvmd_host_process_give_up (((Run *)each->data)->process);
  g_hash_table_unref (self->names);
  g_hash_table_unref (self->runs);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_RUN, handle_run },
  { DVMD_MSG_RUN_INPUT, handle_run_input },
  { DVMD_MSG_RUN_SIGNAL, handle_run_signal },
  { 0 },
};

const DvmdAgentService dvmd_agent_runs_service = {
  .name = "runs",
  .create = create,
  .free = runs_free,
  .handlers = handlers,
};
