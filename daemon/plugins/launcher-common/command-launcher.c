/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Launchers that start each agent by a command of its own have this in common.
 */

#include "config.h"

#include "command-launcher.h"
#include "input-file.h"
#include "launch-call.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define CONCURRENCY 16
#define TIMEOUT     30
#define GRACE       5
/* Seconds until what is to end at once is killed; elsewhere it has to be sent for. */
#define KILL_GRACE       1
#define KILL_THERE_GRACE 4
/* Milliseconds between looks at what another machine has written: no file system tells that. */
#define LOOK_AGAIN 200

typedef struct
{
  DvmdCommandLauncher *launcher; /* unowned */
  char *name;
  char *address; /* what the command is told; the name, if nothing else is known */
  guint32 rank;
  char **agent_argv;
  GBytes *input;
  DvmdLaunchCall *launch;  /* until its start is over */
  GPtrArray *terminations; /* DvmdLaunchCall */
  guint process;           /* 0: does not run yet */
  guint timer;
  DvmdInputFile *file; /* (nullable): its input, until it has arrived */
  guint look;          /* the timer that looks at it */
  GCancellable *killing;
  int pid; /* where it lives, 0: not known */
  gboolean arrived;
  gboolean is_ending;
  gboolean late; /* its start has taken too long */
} Agent;

typedef struct
{
  GQueue waiting;     /* Agent */
  GHashTable *agents; /* rank -> Agent, all */
  guint n_starting;
} DvmdCommandLauncherPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (DvmdCommandLauncher, dvmd_command_launcher, DVMD_TYPE_LAUNCHER)

static void start_next (DvmdCommandLauncher *self);

static DvmdCommandLauncherPrivate *
get_private (DvmdCommandLauncher *self)
{
  return dvmd_command_launcher_get_instance_private (self);
}

guint
dvmd_command_launcher_get_number (gpointer self, const char *key, guint standard)
{
  const char *text = dvmd_plugin_host_get_setting (dvmd_plugin_get_host (self), key);
  guint64 number;

  if (text == NULL)
    return standard;
  if (g_ascii_string_to_unsigned (text, 10, 1, 1000000, &number, NULL))
    return (guint)number;
  dvmd_plugin_host_log (dvmd_plugin_get_host (self), G_LOG_LEVEL_MESSAGE,
                        "the setting \"%s\" is \"%s\", and must be a number from 1 to 1000000: it is taken as %u", key,
                        text, standard);
  return standard;
}

/* "dvm-agent[123]: message: dvmd-agent: " before what an agent says: it differs where the cause is the same. */
static const char *
skip_log_prefix (const char *line)
{
  const char *at = line;

  if (!g_str_has_prefix (line, "dvm-agent[") && !g_str_has_prefix (line, "dvm-guard["))
    return line;
  for (guint i = 0; i < 3 && at != NULL; i++)
    at = strstr (at, ": ") != NULL ? strstr (at, ": ") + 2 : NULL;
  return at != NULL ? at : line;
}

/* A line of the log of an agent's PMIx server is no word of the agent. */
#define PMIX_SERVER_LINE "dvm-pmix["

char *
dvmd_command_last_words (const DvmdPluginOutcome *outcome)
{
  gsize length;
  const char *bytes = g_bytes_get_data (outcome->messages, &length);
  g_autofree char *text = g_strndup (bytes != NULL ? bytes : "", length);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = g_strv_length (lines); i > 0; i--)
    if (g_strstrip (lines[i - 1])[0] != '\0' && !g_str_has_prefix (lines[i - 1], DVMD_COMMAND_ARRIVED)
        && !g_str_has_prefix (lines[i - 1], PMIX_SERVER_LINE))
      return g_strdup (skip_log_prefix (lines[i - 1]));
  return g_strdup ("");
}

GError *
dvmd_command_explain_exit (const char *name, const DvmdPluginOutcome *outcome)
{
  g_autofree char *words = dvmd_command_last_words (outcome);
  const char *colon = words[0] != '\0' ? ": " : "";

  if (outcome->exit_signal != 0)
    return g_error_new (DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "%s: the agent was ended by signal %d (%s)%s%s", name,
                        outcome->exit_signal, g_strsignal (outcome->exit_signal), colon, words);
  switch (outcome->exit_code)
    {
    case 127:
      return g_error_new (DVM_ERROR, DVM_ERROR_NOT_FOUND, "%s: agent missing: there is no such program%s%s", name,
                          colon, words);
    case 126:
      return g_error_new (DVM_ERROR, DVM_ERROR_NOT_FOUND, "%s: agent missing: it cannot be executed%s%s", name, colon,
                          words);
    case DVMD_AGENT_EXIT_VERSION:
      return g_error_new (DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "%s: version: the agent is of another version%s%s", name,
                          colon, words);
    case DVMD_AGENT_EXIT_CONNECT:
      return g_error_new (DVM_ERROR, DVM_ERROR_NOT_READY, "%s: connection: the agent has not reached the DVM%s%s", name,
                          colon, words);
    case DVMD_AGENT_EXIT_AUTHENTICATION:
      return g_error_new (DVM_ERROR, DVM_ERROR_NO_PERMISSIONS, "%s: authentication: the agent was not let in%s%s", name,
                          colon, words);
    default:
      return g_error_new (DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "%s: the agent has exited with status %d%s%s", name,
                          outcome->exit_code, colon, words);
    }
}

/* ---- the agents ---- */

static void
agent_free (gpointer data)
{
  Agent *agent = data;

  if (agent->timer != 0)
    g_source_remove (agent->timer);
  if (agent->look != 0)
    g_source_remove (agent->look);
  g_clear_pointer (&agent->file, dvmd_input_file_free);
  if (agent->killing != NULL)
    g_cancellable_cancel (agent->killing);
  g_clear_object (&agent->killing);
  g_ptr_array_unref (agent->terminations);
  g_strfreev (agent->agent_argv);
  g_clear_pointer (&agent->input, g_bytes_unref);
  g_free (agent->name);
  g_free (agent->address);
  g_free (agent);
}

static void
start_is_over (Agent *agent)
{
  DvmdLaunchCall *launch = g_steal_pointer (&agent->launch);

  if (agent->timer != 0 && !agent->is_ending)
    {
      g_source_remove (agent->timer);
      agent->timer = 0;
    }
  if (launch == NULL)
    return;
  if (agent->process != 0)
    get_private (agent->launcher)->n_starting--;
  dvmd_launch_call_unref (launch);
}

/* Frees the agent. */
static void
agent_gone (Agent *agent)
{
  DvmdCommandLauncher *self = agent->launcher;
  g_autoptr (GPtrArray) calls = g_ptr_array_ref (agent->terminations);

  start_is_over (agent);
  g_hash_table_remove (get_private (self)->agents, GUINT_TO_POINTER (agent->rank));
  for (guint i = 0; i < calls->len; i++)
    dvmd_launch_call_unref (g_ptr_array_index (calls, i));
}

/* ---- one agent ---- */

static void
kill_process (Agent *agent, int signum)
{
  dvmd_plugin_host_send_signal (dvmd_plugin_get_host (agent->launcher), agent->process, signum);
}

static gboolean
on_start_timeout (gpointer user_data)
{
  Agent *agent = user_data;

  agent->timer = 0;
  agent->late = TRUE;
  kill_process (agent, SIGKILL);
  return G_SOURCE_REMOVE;
}

/* pid: where it lives */
static void
arrive (Agent *agent, int pid)
{
  agent->arrived = TRUE;
  agent->pid = pid;
  g_clear_pointer (&agent->file, dvmd_input_file_free);
  start_is_over (agent);
}

static gboolean
on_look (gpointer user_data)
{
  Agent *agent = user_data;
  int pid = dvmd_input_file_find_pid (agent->file);

  if (pid == 0)
    return G_SOURCE_CONTINUE;
  agent->look = 0;
  arrive (agent, pid);
  start_next (agent->launcher);
  return G_SOURCE_REMOVE;
}

static void
on_line (guint process, gboolean is_message, const char *line, gpointer user_data)
{
  Agent *agent = user_data;
  DvmdPluginHost *host = dvmd_plugin_get_host (agent->launcher);

  if (agent->arrived || agent->file != NULL || !is_message || !g_str_has_prefix (line, DVMD_COMMAND_ARRIVED))
    {
      dvmd_plugin_host_log (host, G_LOG_LEVEL_MESSAGE, "%s: %s", agent->name, line);
      return;
    }
  dvmd_plugin_host_give_input (host, process, agent->input, agent->is_ending);
  arrive (agent, atoi (line + strlen (DVMD_COMMAND_ARRIVED)));
  start_next (agent->launcher);
}

static GError *
explain (Agent *agent, const DvmdPluginOutcome *outcome)
{
  DvmdCommandLauncherClass *klass = DVMD_COMMAND_LAUNCHER_GET_CLASS (agent->launcher);
  g_autofree char *words = dvmd_command_last_words (outcome);

  if (agent->late)
    return g_error_new (DVM_ERROR, DVM_ERROR_TIMEOUT, "%s: timeout: its agent has not started within %u s%s%s",
                        agent->name, dvmd_command_launcher_get_number (agent->launcher, "timeout", TIMEOUT),
                        words[0] != '\0' ? ": " : "", words);
  return klass->explain (agent->launcher, agent->name, agent->arrived, outcome);
}

static void
on_ended (guint process, const DvmdPluginOutcome *outcome, gpointer user_data)
{
  Agent *agent = user_data;
  g_autoptr (DvmdCommandLauncher) self = g_object_ref (agent->launcher);

  /* It may have come and gone since the last look. */
  agent->arrived = agent->arrived || (agent->file != NULL && dvmd_input_file_find_pid (agent->file) != 0);
  if (!agent->is_ending)
    {
      g_autoptr (GError) reason = explain (agent, outcome);

      dvmd_launcher_node_failed (DVMD_LAUNCHER (agent->launcher), agent->rank, reason);
    }
  agent_gone (agent);
  start_next (self);
}

static const DvmdPluginWatch watch = { .line = on_line, .ended = on_ended };

/*
 * The process is the agent itself, or a command that is to start it elsewhere: the message says which of the two
 * failed.
 */
static void
explain_no_start (Agent *agent, GError **error, GError *cause)
{
  if (DVMD_COMMAND_LAUNCHER_GET_CLASS (agent->launcher)->waits)
    g_set_error (error, DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "%s: the launcher's command cannot be started: %s",
                 agent->name, cause->message);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "%s: agent missing: %s", agent->name, cause->message);
  g_error_free (cause);
}

/* FALSE: its input is to be in a file, and that cannot be. */
static gboolean
make_file (Agent *agent, GError **error)
{
  DvmdCommandLauncherClass *klass = DVMD_COMMAND_LAUNCHER_GET_CLASS (agent->launcher);
  g_autofree char *place = NULL;
  g_autofree char *directory = NULL;

  if (klass->find_input_directory != NULL)
    directory = klass->find_input_directory (agent->launcher, &place);
  if (directory == NULL)
    return TRUE;
  agent->file = dvmd_input_file_new (directory, place, agent->input, error);
  if (agent->file == NULL)
    g_prefix_error (error, "%s: ", agent->name);
  return agent->file != NULL;
}

static gboolean
start_process (Agent *agent, GError **error)
{
  GError *cause = NULL;
  DvmdCommandLauncherClass *klass = DVMD_COMMAND_LAUNCHER_GET_CLASS (agent->launcher);
  g_auto (GStrv) argv = NULL;
  DvmdPluginCommand command = { 0 };

  if (!make_file (agent, error))
    return FALSE;
  argv = klass->make_argv (agent->launcher, agent->address, (const char *const *)agent->agent_argv,
                           agent->file != NULL ? dvmd_input_file_get_path (agent->file) : NULL, error);
  if (argv == NULL)
    return FALSE;
  command.argv = (const char *const *)argv;
  if (!klass->waits)
    command.input = agent->input;
  agent->process = dvmd_plugin_host_start (dvmd_plugin_get_host (agent->launcher), &command, &watch, agent, &cause);
  if (agent->process == 0)
    explain_no_start (agent, error, cause);
  return agent->process != 0;
}

static void
start_agent (Agent *agent)
{
  DvmdCommandLauncherPrivate *priv = get_private (agent->launcher);
  g_autoptr (GError) error = NULL;

  if (agent->is_ending)
    {
      agent_gone (agent);
      return;
    }
  if (!start_process (agent, &error))
    {
      /* The receiver of node_failed() may end the agent, which is done here: is_ending makes that a no-op. */
      agent->is_ending = TRUE;
      dvmd_launcher_node_failed (DVMD_LAUNCHER (agent->launcher), agent->rank, error);
      agent_gone (agent);
      return;
    }
  priv->n_starting++;
  if (agent->file != NULL)
    agent->look = g_timeout_add (LOOK_AGAIN, on_look, agent);
  if (DVMD_COMMAND_LAUNCHER_GET_CLASS (agent->launcher)->waits)
    agent->timer = g_timeout_add_seconds (dvmd_command_launcher_get_number (agent->launcher, "timeout", TIMEOUT),
                                          on_start_timeout, agent);
  else
    start_is_over (agent);
}

static void
start_next (DvmdCommandLauncher *self)
{
  DvmdCommandLauncherPrivate *priv = get_private (self);
  guint limit = dvmd_command_launcher_get_number (self, "concurrency", CONCURRENCY);
  Agent *agent;

  while (priv->n_starting < limit && (agent = g_queue_pop_head (&priv->waiting)) != NULL)
    start_agent (agent);
}

/* ---- launching ---- */

static void
on_launch_cancelled (GCancellable *cancellable, gpointer user_data)
{
  DvmdLaunchCall *call = user_data;
  DvmdCommandLauncherPrivate *priv = get_private (g_task_get_source_object (call->task));
  g_autoptr (GList) all = g_hash_table_get_values (priv->agents);

  /* Those that wait for their turn are dropped when it comes, which is when one of these has ended. */
  for (GList *each = all; each != NULL; each = each->next)
    {
      Agent *agent = each->data;

      if (agent->launch != call)
        continue;
      agent->is_ending = TRUE;
      if (agent->process != 0)
        kill_process (agent, SIGKILL);
    }
}

static void
add_agent (DvmdCommandLauncher *self, const DvmdLaunchRequest *request, guint32 i, DvmdLaunchCall *call)
{
  DvmdCommandLauncherPrivate *priv = get_private (self);
  const DvmdPluginNode *node = &request->nodes[i];
  GBytes *input = request->node_inputs != NULL ? request->node_inputs[i] : request->agent_input;
  Agent *agent;

  if (g_hash_table_contains (priv->agents, GUINT_TO_POINTER (node->rank)))
    {
      g_autoptr (GError) error = g_error_new (DVM_ERROR, DVM_ERROR_EXISTS, "%s: its agent runs already", node->name);

      dvmd_launcher_node_failed (DVMD_LAUNCHER (self), node->rank, error);
      return;
    }
  agent = g_new0 (Agent, 1);
  agent->launcher = self;
  agent->name = g_strdup (node->name);
  agent->address = g_strdup (node->address != NULL ? node->address : node->name);
  agent->rank = node->rank;
  agent->agent_argv = g_strdupv ((char **)request->agent_argv);
  agent->input = input != NULL ? g_bytes_ref (input) : NULL;
  agent->terminations = g_ptr_array_new ();
  agent->launch = call;
  call->n_left++;
  g_hash_table_insert (priv->agents, GUINT_TO_POINTER (agent->rank), agent);
  g_queue_push_tail (&priv->waiting, agent);
}

static void
dvmd_command_launcher_launch_async (DvmdLauncher *launcher, const DvmdLaunchRequest *request, GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdCommandLauncher *self = DVMD_COMMAND_LAUNCHER (launcher);
  DvmdLaunchCall *call = dvmd_launch_call_new (launcher, cancellable, callback, user_data);

  if (request->logical != DVMD_COMMAND_LAUNCHER_GET_CLASS (self)->logical)
    {
      dvmd_launch_call_decline (call);
      return;
    }
  for (guint i = 0; i < request->n_nodes; i++)
    add_agent (self, request, i, call);
  if (cancellable != NULL)
    call->cancel_id = g_cancellable_connect (cancellable, G_CALLBACK (on_launch_cancelled), call, NULL);
  start_next (self);
  dvmd_launch_call_unref (call);
}

/* ---- ending ---- */

static void
on_killed_there (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (DvmdCommandLauncher) self = DVMD_COMMAND_LAUNCHER (g_object_ref (((gpointer *)user_data)[0]));
  guint32 rank = GPOINTER_TO_UINT (((gpointer *)user_data)[1]);
  Agent *agent = g_hash_table_lookup (get_private (self)->agents, GUINT_TO_POINTER (rank));
  DvmdPluginOutcome outcome = { 0 };

  dvmd_plugin_host_spawn_finish (DVMD_PLUGIN_HOST (source), result, &outcome, NULL);
  dvmd_plugin_outcome_clear (&outcome);
  if (agent != NULL)
    kill_process (agent, SIGKILL);
  g_object_unref (self);
  g_free (user_data);
}

static gboolean
on_still_there (gpointer user_data)
{
  Agent *agent = user_data;

  agent->timer = 0;
  kill_process (agent, SIGKILL);
  return G_SOURCE_REMOVE;
}

/* A guard that is told so twice ends all below it, and is there until that is done. */
static gboolean
on_killing_late (gpointer user_data)
{
  Agent *agent = user_data;

  agent->timer = g_timeout_add_seconds (dvmd_command_launcher_get_number (agent->launcher, "grace", GRACE),
                                        on_still_there, agent);
  kill_process (agent, SIGTERM);
  return G_SOURCE_REMOVE;
}

static gboolean
on_grace_over (gpointer user_data)
{
  Agent *agent = user_data;
  DvmdCommandLauncherClass *klass = DVMD_COMMAND_LAUNCHER_GET_CLASS (agent->launcher);
  g_auto (GStrv) argv = NULL;
  DvmdPluginCommand command = { 0 };
  gpointer *data;

  agent->timer = g_timeout_add_seconds (dvmd_command_launcher_get_number (agent->launcher, "grace", GRACE),
                                        on_killing_late, agent);
  if (klass->make_kill_argv != NULL && agent->pid > 0)
    argv = klass->make_kill_argv (agent->launcher, agent->address, agent->pid);
  if (argv == NULL)
    {
      kill_process (agent, SIGTERM);
      return G_SOURCE_REMOVE;
    }
  /*
   * The timeout is the grace of the kill there and the time to reach that machine; the end of the agent's own command
   * ends it early.
   */
  g_source_remove (agent->timer);
  agent->timer = g_timeout_add_seconds (
      KILL_THERE_GRACE + dvmd_command_launcher_get_number (agent->launcher, "grace", GRACE), on_killing_late, agent);
  command.argv = (const char *const *)argv;
  data = g_new (gpointer, 2);
  data[0] = g_object_ref (agent->launcher);
  data[1] = GUINT_TO_POINTER (agent->rank);
  agent->killing = g_cancellable_new ();
  dvmd_plugin_host_spawn_async (dvmd_plugin_get_host (agent->launcher), &command, agent->killing, on_killed_there,
                                data);
  return G_SOURCE_REMOVE;
}

/* One that has not read its input finds none any more. */
static void
drop_file (Agent *agent)
{
  int pid = agent->file != NULL ? dvmd_input_file_find_pid (agent->file) : 0;

  g_clear_handle_id (&agent->look, g_source_remove);
  if (pid != 0)
    arrive (agent, pid);
  g_clear_pointer (&agent->file, dvmd_input_file_free);
}

static void
end_agent (Agent *agent)
{
  if (agent->is_ending)
    return;
  agent->is_ending = TRUE;
  if (agent->timer != 0)
    g_source_remove (agent->timer);
  agent->timer = 0;
  if (agent->process == 0)
    {
      g_queue_remove (&get_private (agent->launcher)->waiting, agent);
      agent_gone (agent);
      return;
    }
  drop_file (agent);
  /* An agent ends when its standard input is closed; one with a file leaves when its controller says so. */
  dvmd_plugin_host_give_input (dvmd_plugin_get_host (agent->launcher), agent->process, NULL, TRUE);
  agent->timer = g_timeout_add_seconds (dvmd_command_launcher_get_number (agent->launcher, "grace", GRACE),
                                        on_grace_over, agent);
}

static void
dvmd_command_launcher_terminate_async (DvmdLauncher *launcher, const DvmdPluginNode *nodes, guint32 n_nodes,
                                       GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdCommandLauncherPrivate *priv = get_private (DVMD_COMMAND_LAUNCHER (launcher));
  DvmdLaunchCall *call = dvmd_launch_call_new (launcher, cancellable, callback, user_data);
  g_autoptr (GPtrArray) agents = g_ptr_array_new ();

  for (guint i = 0; i < n_nodes; i++)
    {
      Agent *agent = g_hash_table_lookup (priv->agents, GUINT_TO_POINTER (nodes[i].rank));

      if (agent != NULL)
        g_ptr_array_add (agents, agent);
    }
  if (agents->len == 0)
    {
      dvmd_launch_call_decline (call);
      return;
    }
  call->n_left += agents->len;
  for (guint i = 0; i < agents->len; i++)
    {
      Agent *agent = g_ptr_array_index (agents, i);

      g_ptr_array_add (agent->terminations, call);
      end_agent (agent);
    }
  dvmd_launch_call_unref (call);
}

/* Those of this machine are ended by their guard; what there is elsewhere is sent for, and not waited for long. */
static void
kill_agent (Agent *agent)
{
  gboolean is_here = DVMD_COMMAND_LAUNCHER_GET_CLASS (agent->launcher)->make_kill_argv == NULL;

  if (!agent->is_ending)
    end_agent (agent);
  if (agent->process == 0)
    return;
  if (agent->timer != 0)
    g_source_remove (agent->timer);
  agent->timer = 0;
  if (!is_here && agent->killing == NULL)
    on_grace_over (agent);
  if (agent->timer != 0)
    g_source_remove (agent->timer);
  /* As SIGQUIT, for a guard; and no core dump if its program is being loaded yet. */
  if (is_here)
    kill_process (agent, SIGALRM);
  agent->timer = g_timeout_add_seconds (is_here ? KILL_GRACE : KILL_THERE_GRACE, on_still_there, agent);
}

static void
dvmd_command_launcher_kill (DvmdLauncher *launcher, const DvmdPluginNode *nodes, guint32 n_nodes)
{
  DvmdCommandLauncherPrivate *priv = get_private (DVMD_COMMAND_LAUNCHER (launcher));

  for (guint i = 0; i < n_nodes; i++)
    {
      Agent *agent = g_hash_table_lookup (priv->agents, GUINT_TO_POINTER (nodes[i].rank));

      if (agent != NULL)
        kill_agent (agent);
    }
}

static void
dvmd_command_launcher_finalize (GObject *object)
{
  DvmdCommandLauncherPrivate *priv = get_private (DVMD_COMMAND_LAUNCHER (object));

  g_queue_clear (&priv->waiting);
  g_hash_table_unref (priv->agents);
  G_OBJECT_CLASS (dvmd_command_launcher_parent_class)->finalize (object);
}

static void
dvmd_command_launcher_class_init (DvmdCommandLauncherClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_command_launcher_finalize;
  DVMD_LAUNCHER_CLASS (klass)->launch_async = dvmd_command_launcher_launch_async;
  DVMD_LAUNCHER_CLASS (klass)->terminate_async = dvmd_command_launcher_terminate_async;
  DVMD_LAUNCHER_CLASS (klass)->kill = dvmd_command_launcher_kill;
}

static void
dvmd_command_launcher_init (DvmdCommandLauncher *self)
{
  DvmdCommandLauncherPrivate *priv = get_private (self);

  g_queue_init (&priv->waiting);
  priv->agents = g_hash_table_new_full (NULL, NULL, NULL, agent_free);
}
