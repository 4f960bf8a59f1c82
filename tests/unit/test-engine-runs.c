/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Plugins run commands on the nodes of agents: a controller with two agents in one process. One of the agents may go.
 */

#include "config.h"

#include <signal.h>

#include "dvmd-controller-private.h"
#include "dvmd-plugins.h"
#include "dvmd-services.h"
#include "engine-fixture.h"
#include "wait-until.h"

typedef struct
{
  EngineFixture engine;
  DvmdPluginHost *host;
  GString *lines;
  char *messages;
  char *lost;
  guint n_ends;
  int exit_code;
  int exit_signal;
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  DvmdControllerSettings settings = { 0 };
  GPtrArray *launchers;

  engine_fixture_start (&self->engine, &settings);
  launchers = dvmd_plugins_get_active (dvmd_controller_get_parts (self->engine.controller)->plugins,
                                       DVMD_PLUGIN_LAUNCHER);
  self->host = dvmd_plugin_get_host (g_ptr_array_index (launchers, 0));
  self->lines = g_string_new (NULL);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  engine_fixture_end (&self->engine, TRUE);
  engine_fixture_clear (&self->engine);
  g_string_free (self->lines, TRUE);
  g_free (self->messages);
  g_free (self->lost);
}

static void
on_line (guint process, gboolean is_message, const char *line, gpointer user_data)
{
  Fixture *self = user_data;

  g_assert_cmpuint (self->n_ends, ==, 0);
  g_string_append_printf (self->lines, "%s%s;", is_message ? "2 " : "", line);
}

static void
on_ended (guint process, const DvmdPluginOutcome *outcome, gpointer user_data)
{
  Fixture *self = user_data;

  self->n_ends++;
  self->exit_code = outcome->exit_code;
  self->exit_signal = outcome->exit_signal;
  self->messages = g_strndup (g_bytes_get_data (outcome->messages, NULL), g_bytes_get_size (outcome->messages));
}

static void
on_lost (guint process, const char *reason, gpointer user_data)
{
  Fixture *self = user_data;

  self->n_ends++;
  self->lost = g_strdup (reason);
}

static const DvmdPluginWatch watch = { .line = on_line, .ended = on_ended, .lost = on_lost };

static guint
start (Fixture *self, guint32 rank, const char *program, const char *script, GError **error)
{
  const char *const argv[] = { program, "-c", script, NULL };
  const DvmdPluginCommand command = { .argv = argv };

  return dvmd_plugin_host_start_at (self->host, rank, &command, &watch, self, error);
}

static void
give (Fixture *self, guint process, const char *text, gboolean last)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));

  dvmd_plugin_host_give_input (self->host, process, bytes, last);
}

static void
test_talk (Fixture *self, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  guint process = start (self, 2, "sh", "read -r line; echo \"got $line\" >&2; cat; exit 7", &error);

  g_assert_no_error (error);
  give (self, process, "one\n", FALSE);
  wait_until (self->lines->len > 0);
  g_assert_cmpstr (self->lines->str, ==, "2 got one;");
  give (self, process, "two\n", TRUE);
  wait_until (self->n_ends > 0);
  g_assert_cmpstr (self->lines->str, ==, "2 got one;two;");
  g_assert_cmpint (self->exit_code, ==, 7);
  g_assert_cmpint (self->exit_signal, ==, 0);
  g_assert_cmpstr (self->messages, ==, "got one\n");
  /* One that has ended is given nothing more. */
  give (self, process, "three\n", TRUE);
  dvmd_plugin_host_send_signal (self->host, process, SIGTERM);
}

static void
test_signal (Fixture *self, gconstpointer data)
{
  guint process = start (self, 1, "sh", "echo here; sleep 1000 & wait", NULL);

  wait_until (self->lines->len > 0);
  dvmd_plugin_host_send_signal (self->host, process, SIGTERM);
  wait_until (self->n_ends > 0);
  g_assert_cmpint (self->exit_signal, ==, SIGTERM);
}

static void
test_no_start (Fixture *self, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (start (self, 1, "/nonexistent/program", "", NULL), !=, 0);
  wait_until (self->n_ends > 0);
  g_assert_nonnull (strstr (self->lost, "/nonexistent/program"));
  g_assert_cmpuint (start (self, 77, "sh", "true", &error), ==, 0);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_READY);
}

/* Words of another agent are not heard. */
static void
test_other_agent (Fixture *self, gconstpointer data)
{
  guint process = start (self, 1, "sh", "cat", NULL);

  engine_tell (self->engine.controller, DVMD_MSG_RUN_LINE, 2, g_variant_new ("(tbs)", (guint64)1, TRUE, "false"));
  engine_tell (self->engine.controller, DVMD_MSG_RUN_ENDED, 2, g_variant_new ("(tiiss)", (guint64)1, 0, 0, "", ""));
  engine_tell (self->engine.controller, DVMD_MSG_RUN_ENDED, 1, g_variant_new ("(tiiss)", (guint64)99, 0, 0, "", ""));
  give (self, process, "true\n", TRUE);
  wait_until (self->n_ends > 0);
  g_assert_cmpstr (self->lines->str, ==, "true;");
}

static void
test_agent_goes (Fixture *self, gconstpointer data)
{
  start (self, 1, "sh", "echo here; cat", NULL);
  wait_until (self->lines->len > 0);
  dvmd_services_agent_gone (self->engine.controller, 1);
  /* The plugin hears of it later. */
  g_assert_cmpuint (self->n_ends, ==, 0);
  wait_until (self->n_ends > 0);
  g_assert_nonnull (strstr (self->lost, "has gone"));
}

static void
test_end (Fixture *self, gconstpointer data)
{
  start (self, 1, "sh", "echo here; cat", NULL);
  wait_until (self->lines->len > 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, func) g_test_add ("/engine-runs/" name, Fixture, NULL, set_up, func, tear_down)
  ADD ("talk", test_talk);
  ADD ("signal", test_signal);
  ADD ("no-start", test_no_start);
  ADD ("other-agent", test_other_agent);
  ADD ("agent-goes", test_agent_goes);
  ADD ("end", test_end);
#undef ADD
  return g_test_run ();
}
