/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Commands of plugins that run on the nodes of agents.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-plugins.h"
#include "dvmd-services.h"

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *runs;           /* token -> Run */
  guint64 last_token;
  GPtrArray *lost; /* Run: to be told */
  guint timer;
} Runs;

typedef struct
{
  guint64 token;
  guint32 rank;
  DvmdHost *host;
  guint number;
} Run;

static void
run_free (gpointer data)
{
  Run *self = data;

  g_object_unref (self->host);
  g_free (self);
}

/* ---- what plugins ask for ---- */

static guint64
start (gpointer user_data, guint32 rank, const char *const *argv, DvmdHost *host, guint number, GError **error)
{
  Runs *self = user_data;
  Run *run;

  if (!dvmd_controller_has_link (self->controller, rank))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "there is no agent of rank %u", rank);
      return 0;
    }
  run = g_new0 (Run, 1);
  run->token = ++self->last_token;
  run->rank = rank;
  run->host = g_object_ref (host);
  run->number = number;
  g_hash_table_insert (self->runs, &run->token, run);
  dvmd_controller_send (self->controller, rank, DVMD_MSG_RUN,
                        g_variant_new ("(t@aay)", run->token, dvmd_variant_new_bytes_array (argv)));
  return run->token;
}

static void
give_input (gpointer user_data, guint64 token, GBytes *input, gboolean last)
{
  Runs *self = user_data;
  Run *run = g_hash_table_lookup (self->runs, &token);
  gsize size = 0;
  const void *data = input != NULL ? g_bytes_get_data (input, &size) : NULL;

  if (run != NULL)
    dvmd_controller_send (
        self->controller, run->rank, DVMD_MSG_RUN_INPUT,
        g_variant_new ("(t@ayb)", token, g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, data, size, 1), last));
}

static void
send_signal (gpointer user_data, guint64 token, int signum)
{
  Runs *self = user_data;
  Run *run = g_hash_table_lookup (self->runs, &token);

  if (run != NULL)
    dvmd_controller_send (self->controller, run->rank, DVMD_MSG_RUN_SIGNAL, g_variant_new ("(ti)", token, signum));
}

static const DvmdHostElsewhere elsewhere = {
  .start = start,
  .give_input = give_input,
  .send_signal = send_signal,
};

/* ---- what agents tell ---- */

/* (nullable): this agent runs none of that token */
static Run *
find_run (Runs *self, guint64 token, guint source)
{
  Run *run = g_hash_table_lookup (self->runs, &token);

  return run != NULL && run->rank == source ? run : NULL;
}

static void
handle_run_line (gpointer service, guint source, GVariant *body)
{
  Runs *self = service;
  gboolean is_message;
  const char *line;
  guint64 token;
  Run *run;

  g_variant_get (body, "(tb&s)", &token, &is_message, &line);
  run = find_run (self, token, source);
  if (run == NULL)
    return;
  dvmd_controller_enter (self->controller);
  dvmd_host_tell_line (run->host, run->number, is_message, line);
  dvmd_controller_leave (self->controller);
}

static void
handle_run_ended (gpointer service, guint source, GVariant *body)
{
  Runs *self = service;
  DvmdPluginOutcome outcome = { 0 };
  const char *words;
  const char *problem;
  guint64 token;
  Run *run;

  g_variant_get (body, "(tii&s&s)", &token, &outcome.exit_code, &outcome.exit_signal, &words, &problem);
  run = find_run (self, token, source);
  if (run == NULL)
    return;
  g_hash_table_steal (self->runs, &token);
  outcome.output = g_bytes_new (NULL, 0);
  outcome.messages = g_bytes_new (words, strlen (words));
  dvmd_controller_enter (self->controller);
  if (problem[0] != '\0')
    dvmd_host_tell_lost (run->host, run->number, problem);
  else
    dvmd_host_tell_end (run->host, run->number, &outcome);
  dvmd_controller_leave (self->controller);
  dvmd_plugin_outcome_clear (&outcome);
  run_free (run);
}

/* ---- an agent has gone ---- */

static void
on_lost (gpointer user_data)
{
  Runs *self = user_data;
  g_autoptr (GPtrArray) lost = g_steal_pointer (&self->lost);

  self->timer = 0;
  self->lost = g_ptr_array_new_with_free_func (run_free);
  dvmd_controller_enter (self->controller);
  for (guint i = 0; i < lost->len; i++)
    {
      Run *run = g_ptr_array_index (lost, i);

      dvmd_host_tell_lost (run->host, run->number, "the agent that ran it has gone");
    }
  dvmd_controller_leave (self->controller);
}

/* Plugins hear of it later: what they do about it is no part of this end. */
static void
agent_gone (gpointer service, guint rank)
{
  Runs *self = service;
  GHashTableIter iter;
  gpointer run;

  g_hash_table_iter_init (&iter, self->runs);
  while (g_hash_table_iter_next (&iter, NULL, &run))
    if (((Run *)run)->rank == rank)
      {
        g_hash_table_iter_steal (&iter);
        g_ptr_array_add (self->lost, run);
      }
  if (self->lost->len > 0 && self->timer == 0)
    self->timer = dvmd_clock_add_timer (dvmd_controller_get_parts (self->controller)->clock, 0, on_lost, self);
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Runs *self = g_new0 (Runs, 1);

  self->controller = controller;
  self->runs = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, run_free);
  self->lost = g_ptr_array_new_with_free_func (run_free);
  dvmd_plugins_set_elsewhere (dvmd_controller_get_parts (controller)->plugins, &elsewhere, self);
  return self;
}

static void
runs_free (gpointer service)
{
  Runs *self = service;
  const DvmdControllerParts *parts = dvmd_controller_get_parts (self->controller);

  dvmd_plugins_set_elsewhere (parts->plugins, NULL, NULL);
  dvmd_clock_remove_timer (parts->clock, self->timer);
  g_ptr_array_unref (self->lost);
  g_hash_table_unref (self->runs);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_RUN_LINE, handle_run_line },
  { DVMD_MSG_RUN_ENDED, handle_run_ended },
  { 0 },
};

const DvmdService dvmd_runs_service = {
  .name = "runs",
  .create = create,
  .free = runs_free,
  .handlers = handlers,
  .agent_gone = agent_gone,
};
