/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Launchers that start each agent by a command of its own have this in common.
 */

#include "config.h"

#include "command-launcher.h"
#include "command-tree.h"
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
/* Of a tree: how many agents each starts where nothing else is said; how long one that is to start others, and one that
 * another is to start, may take, as a part of the timeout: the launcher itself has all of it afterwards. */
#define TREE_RADIX    32
#define TREE_PATIENCE 3
/* Agents that one was to start and did not: so many, and it is the one that is wrong. Likewise of all of them together,
 * if none has started any. */
#define SUSPECT  2
#define HOPELESS 8

typedef enum
{
  AGENT_OURS,  /* the launcher starts it */
  AGENT_WAITS, /* until its parent has come, which is to start it */
  AGENT_BELOW, /* its command runs on the node of its parent */
  AGENT_ALONE, /* it has come, and its command has gone with the parent: it needs none */
} AgentPlace;

typedef struct
{
  AgentPlace place;
  guint32 parent; /* rank: of one that waits or is below */
  guint patience; /* the timer of one that is to start others */
  guint n_failed; /* of those */
  gboolean came;
  gboolean again; /* its parent could not start it */
} AgentTree;

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
  AgentTree tree;
  gboolean counted; /* among those that are starting */
  gboolean arrived;
  gboolean is_ending;
  gboolean late; /* its start has taken too long */
} Agent;

typedef struct
{
  GQueue waiting;        /* Agent */
  GHashTable *agents;    /* rank -> Agent, all */
  GHashTable *processes; /* number -> Agent, unowned: others are not listened to any more */
  guint n_starting;
  guint n_below;        /* that others have started */
  guint n_failed_below; /* and have not */
} DvmdCommandLauncherPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (DvmdCommandLauncher, dvmd_command_launcher, DVMD_TYPE_LAUNCHER)

static void start_next (DvmdCommandLauncher *self);
static void take_children (Agent *parent, gboolean all);

const DvmdPluginSetting dvmd_command_launcher_settings[] = {
  { .key = "concurrency", .least = 1, .most = DVMD_COMMAND_LAUNCHER_MOST },
  { .key = "timeout", .least = 1, .most = DVMD_COMMAND_LAUNCHER_MOST },
  { .key = "grace", .least = 1, .most = DVMD_COMMAND_LAUNCHER_MOST },
  { .key = NULL },
};

static DvmdCommandLauncherPrivate *
get_private (DvmdCommandLauncher *self)
{
  return dvmd_command_launcher_get_instance_private (self);
}

static guint
get_number (gpointer self, const char *key, guint minimum, guint standard)
{
  const char *text = dvmd_plugin_host_get_setting (dvmd_plugin_get_host (self), key);
  guint64 number;

  if (text == NULL)
    return standard;
  if (g_ascii_string_to_unsigned (text, 10, minimum, DVMD_COMMAND_LAUNCHER_MOST, &number, NULL))
    return (guint)number;
  dvmd_plugin_host_log (dvmd_plugin_get_host (self), G_LOG_LEVEL_MESSAGE,
                        "the setting \"%s\" is \"%s\", and must be a number from %u to %u: it is taken as %u", key,
                        text, minimum, DVMD_COMMAND_LAUNCHER_MOST, standard);
  return standard;
}

guint
dvmd_command_launcher_get_number (gpointer self, const char *key, guint standard)
{
  return get_number (self, key, 1, standard);
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
  if (agent->tree.patience != 0)
    g_source_remove (agent->tree.patience);
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
  if (agent->counted)
    get_private (agent->launcher)->n_starting--;
  agent->counted = FALSE;
  if (launch != NULL)
    dvmd_launch_call_unref (launch);
}

/* Its command is not listened to any more. */
static void
forget_process (Agent *agent)
{
  g_hash_table_remove (get_private (agent->launcher)->processes, GUINT_TO_POINTER (agent->process));
  agent->process = 0;
}

/* Frees the agent. */
static void
agent_gone (Agent *agent)
{
  DvmdCommandLauncher *self = agent->launcher;
  g_autoptr (GPtrArray) calls = g_ptr_array_ref (agent->terminations);

  start_is_over (agent);
  take_children (agent, FALSE);
  forget_process (agent);
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

/* ---- trees of agents ---- */

static guint
get_timeout (Agent *agent)
{
  return dvmd_command_launcher_get_number (agent->launcher, "timeout", TIMEOUT);
}

/* The launcher starts it itself, when its turn comes. */
static void
take_agent (Agent *agent)
{
  DvmdCommandLauncherPrivate *priv = get_private (agent->launcher);
  gboolean again = agent->tree.place == AGENT_BELOW;

  if (agent->process != 0)
    kill_process (agent, SIGKILL);
  forget_process (agent);
  g_clear_handle_id (&agent->timer, g_source_remove);
  agent->tree.place = AGENT_OURS;
  agent->tree.again = again;
  agent->arrived = FALSE;
  agent->pid = 0;
  /* Those that nobody has tried yet are more likely to come. */
  if (again)
    g_queue_push_tail (&priv->waiting, agent);
  else
    g_queue_push_head (&priv->waiting, agent);
}

/* Takes what an agent has not started yet; all: and what it has begun to. */
static void
take_children (Agent *parent, gboolean all)
{
  g_autoptr (GList) agents = NULL;

  if (!DVMD_COMMAND_LAUNCHER_GET_CLASS (parent->launcher)->is_tree)
    return;
  agents = g_hash_table_get_values (get_private (parent->launcher)->agents);
  for (GList *each = agents; each != NULL; each = each->next)
    {
      Agent *agent = each->data;
      gboolean begun = agent->tree.place == AGENT_BELOW && !agent->arrived && !agent->is_ending;

      if (agent->tree.parent == parent->rank && (agent->tree.place == AGENT_WAITS || (all && begun)))
        take_agent (agent);
    }
}

/* An agent was not started by its parent. certain: that one cannot start any */
static void
fail_below (Agent *agent, const char *words, gboolean certain)
{
  DvmdCommandLauncher *self = agent->launcher;
  DvmdCommandLauncherPrivate *priv = get_private (self);
  Agent *parent = g_hash_table_lookup (priv->agents, GUINT_TO_POINTER (agent->tree.parent));

  dvmd_plugin_host_log (dvmd_plugin_get_host (self), G_LOG_LEVEL_INFO,
                        "%s: %s has not started its agent, which is started from here: %s", agent->name,
                        parent != NULL ? parent->name : "an agent that has gone", words);
  take_agent (agent);
  priv->n_failed_below++;
  if (parent != NULL && (++parent->tree.n_failed >= SUSPECT || certain))
    take_children (parent, TRUE);
  start_next (self);
}

/* Its parent has gone, or its command, and it is part of the DVM. */
static void
leave_alone (Agent *agent)
{
  start_is_over (agent);
  forget_process (agent);
  agent->tree.place = AGENT_ALONE;
}

static gboolean
has_lost_connection (Agent *agent, const DvmdPluginOutcome *outcome)
{
  return outcome->exit_signal != 0
         || outcome->exit_code == DVMD_COMMAND_LAUNCHER_GET_CLASS (agent->launcher)->lost_status;
}

/* The end of a command that another agent has run, or that was a second attempt. FALSE: it is as any other */
static gboolean
outlive_command (Agent *agent, const DvmdPluginOutcome *outcome)
{
  gboolean below = agent->tree.place == AGENT_BELOW;
  gboolean refused = outcome->exit_code == DVMD_AGENT_EXIT_CONNECT
                     || outcome->exit_code == DVMD_AGENT_EXIT_AUTHENTICATION;
  g_autofree char *words = NULL;

  if (agent->is_ending)
    return FALSE;
  /* The first attempt has come after all, and the agent of the second one is not let in. */
  if (agent->tree.came && (below ? has_lost_connection (agent, outcome) : agent->tree.again && refused))
    {
      leave_alone (agent);
      return TRUE;
    }
  if (!below || agent->tree.came || (agent->arrived && !has_lost_connection (agent, outcome)))
    return FALSE;
  words = dvmd_command_last_words (outcome);
  fail_below (agent, words, FALSE);
  return TRUE;
}

static gboolean
on_no_patience (gpointer user_data)
{
  Agent *agent = user_data;

  agent->tree.patience = 0;
  take_children (agent, FALSE);
  start_next (agent->launcher);
  return G_SOURCE_REMOVE;
}

/* (transfer full) (element-type guint32): those that wait for it */
static GArray *
list_children (Agent *parent)
{
  GArray *ranks = g_array_new (FALSE, FALSE, sizeof (guint32));
  GHashTableIter iter;
  gpointer value;

  if (!DVMD_COMMAND_LAUNCHER_GET_CLASS (parent->launcher)->is_tree)
    return ranks;
  g_hash_table_iter_init (&iter, get_private (parent->launcher)->agents);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Agent *agent = value;

      if (agent->tree.place == AGENT_WAITS && agent->tree.parent == parent->rank)
        g_array_append_val (ranks, agent->rank);
    }
  return ranks;
}

/* One that is to start others is waited for. */
static void
await_parent (Agent *parent)
{
  g_autoptr (GArray) ranks = list_children (parent);

  if (ranks->len > 0 && parent->tree.patience == 0)
    parent->tree.patience = g_timeout_add_seconds (MAX (get_timeout (parent) / TREE_PATIENCE, 1), on_no_patience,
                                                   parent);
}

/* ---- the start of one ---- */

static gboolean
on_start_timeout (gpointer user_data)
{
  Agent *agent = user_data;

  agent->timer = 0;
  if (agent->tree.place == AGENT_BELOW)
    {
      fail_below (agent, "it takes too long", FALSE);
      return G_SOURCE_REMOVE;
    }
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
  if (agent->tree.place == AGENT_BELOW)
    get_private (agent->launcher)->n_below++;
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

/* (nullable) */
static Agent *
find_by_process (gpointer launcher, guint process)
{
  return g_hash_table_lookup (get_private (launcher)->processes, GUINT_TO_POINTER (process));
}

static void
on_line (guint process, gboolean is_message, const char *line, gpointer user_data)
{
  DvmdPluginHost *host = dvmd_plugin_get_host (user_data);
  Agent *agent = find_by_process (user_data, process);

  if (agent == NULL)
    return;
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
                        agent->name, get_timeout (agent), words[0] != '\0' ? ": " : "", words);
  return klass->explain (agent->launcher, agent->name, agent->arrived, outcome);
}

static void
on_ended (guint process, const DvmdPluginOutcome *outcome, gpointer user_data)
{
  g_autoptr (DvmdCommandLauncher) self = g_object_ref (user_data);
  Agent *agent = find_by_process (self, process);

  if (agent == NULL || outlive_command (agent, outcome))
    return;
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

/* Nothing is known any more of a command that an agent was to run. */
static void
on_lost (guint process, const char *reason, gpointer user_data)
{
  Agent *agent = find_by_process (user_data, process);
  g_autoptr (DvmdCommandLauncher) self = g_object_ref (user_data);

  if (agent == NULL)
    return;
  if (agent->is_ending)
    agent_gone (agent);
  else if (agent->tree.came)
    leave_alone (agent);
  else
    fail_below (agent, reason, TRUE);
  start_next (self);
}

static const DvmdPluginWatch watch = { .line = on_line, .ended = on_ended, .lost = on_lost };

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

/* (transfer full): one that another agent starts does not end with that one */
static char **
make_agent_argv (Agent *agent)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  g_strv_builder_addv (builder, (const char **)agent->agent_argv);
  if (agent->tree.place == AGENT_BELOW)
    g_strv_builder_add (builder, "--stay");
  return g_strv_builder_end (builder);
}

static guint
run_command (Agent *agent, const DvmdPluginCommand *command, GError **error)
{
  DvmdPluginHost *host = dvmd_plugin_get_host (agent->launcher);

  if (agent->tree.place == AGENT_BELOW)
    return dvmd_plugin_host_start_at (host, agent->tree.parent, command, &watch, agent->launcher, error);
  return dvmd_plugin_host_start (host, command, &watch, agent->launcher, error);
}

static gboolean
start_process (Agent *agent, GError **error)
{
  GError *cause = NULL;
  DvmdCommandLauncherClass *klass = DVMD_COMMAND_LAUNCHER_GET_CLASS (agent->launcher);
  g_auto (GStrv) agent_argv = make_agent_argv (agent);
  g_auto (GStrv) argv = NULL;
  DvmdPluginCommand command = { 0 };

  if (!make_file (agent, error))
    return FALSE;
  argv = klass->make_argv (agent->launcher, agent->address, (const char *const *)agent_argv,
                           agent->file != NULL ? dvmd_input_file_get_path (agent->file) : NULL, error);
  if (argv == NULL)
    return FALSE;
  command.argv = (const char *const *)argv;
  if (!klass->waits)
    command.input = agent->input;
  agent->process = run_command (agent, &command, &cause);
  if (agent->process == 0)
    explain_no_start (agent, error, cause);
  else
    g_hash_table_insert (get_private (agent->launcher)->processes, GUINT_TO_POINTER (agent->process), agent);
  return agent->process != 0;
}

/* A failure of others may have ended its wait, or it. */
static void
start_below (DvmdCommandLauncher *self, guint32 rank)
{
  Agent *agent = g_hash_table_lookup (get_private (self)->agents, GUINT_TO_POINTER (rank));
  g_autoptr (GError) error = NULL;

  if (agent == NULL || agent->tree.place != AGENT_WAITS)
    return;
  agent->tree.place = AGENT_BELOW;
  if (!start_process (agent, &error))
    {
      fail_below (agent, error->message, TRUE);
      return;
    }
  await_parent (agent);
  agent->timer = g_timeout_add_seconds (MAX (get_timeout (agent) / TREE_PATIENCE, 1), on_start_timeout, agent);
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
  /* The one that its parent had begun has come after all. */
  if (agent->tree.again && agent->tree.came)
    {
      leave_alone (agent);
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
  agent->counted = TRUE;
  await_parent (agent);
  if (agent->file != NULL)
    agent->look = g_timeout_add (LOOK_AGAIN, on_look, agent);
  if (DVMD_COMMAND_LAUNCHER_GET_CLASS (agent->launcher)->waits)
    agent->timer = g_timeout_add_seconds (get_timeout (agent), on_start_timeout, agent);
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
      if (agent->tree.place == AGENT_WAITS)
        take_agent (agent);
      agent->is_ending = TRUE;
      if (agent->process != 0)
        kill_process (agent, SIGKILL);
    }
}

/* Of a tree, or of all that wait for their turn. radix: 0: there is no tree */
static void
place_agent (Agent *agent, const DvmdLaunchRequest *request, guint32 i, guint radix)
{
  DvmdCommandLauncherPrivate *priv = get_private (agent->launcher);
  guint above = radix > 0 ? command_tree_find_parent (i, request->n_nodes, radix) : COMMAND_TREE_ROOT;
  Agent *parent = NULL;

  if (above != COMMAND_TREE_ROOT)
    parent = g_hash_table_lookup (priv->agents, GUINT_TO_POINTER (request->nodes[above].rank));
  /* One that was there before does not come again. */
  if (parent == NULL || parent->launch != agent->launch)
    {
      g_queue_push_tail (&priv->waiting, agent);
      return;
    }
  agent->tree.place = AGENT_WAITS;
  agent->tree.parent = parent->rank;
}

static void
add_agent (DvmdCommandLauncher *self, const DvmdLaunchRequest *request, guint32 i, guint radix, DvmdLaunchCall *call)
{
  DvmdCommandLauncherPrivate *priv = get_private (self);
  const DvmdPluginNode *node = &request->nodes[i];
  GBytes *input = request->node_inputs != NULL ? request->node_inputs[i] : request->agent_input;
  Agent *agent = g_hash_table_lookup (priv->agents, GUINT_TO_POINTER (node->rank));

  if (agent != NULL && agent->tree.place != AGENT_ALONE)
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
  agent->tree.place = AGENT_OURS;
  g_hash_table_insert (priv->agents, GUINT_TO_POINTER (agent->rank), agent);
  place_agent (agent, request, i, radix);
}

/* 0: the launcher starts all of them itself. */
static guint
choose_radix (DvmdCommandLauncher *self, guint n_agents)
{
  guint radix = TREE_RADIX;

  if (!DVMD_COMMAND_LAUNCHER_GET_CLASS (self)->is_tree)
    return 0;
  radix = get_number (self, "tree-radix", 0, TREE_RADIX);
  if (radix <= 1 || n_agents <= radix)
    return 0;
  return command_tree_widen (n_agents, radix, get_number (self, "tree-depth", 0, 0));
}

static void
dvmd_command_launcher_launch_async (DvmdLauncher *launcher, const DvmdLaunchRequest *request, GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdCommandLauncher *self = DVMD_COMMAND_LAUNCHER (launcher);
  DvmdLaunchCall *call = dvmd_launch_call_new (launcher, cancellable, callback, user_data);
  guint radix = choose_radix (self, request->n_nodes);

  if (request->logical != DVMD_COMMAND_LAUNCHER_GET_CLASS (self)->logical)
    {
      dvmd_launch_call_decline (call);
      return;
    }
  for (guint i = 0; i < request->n_nodes; i++)
    add_agent (self, request, i, radix, call);
  if (cancellable != NULL)
    call->cancel_id = g_cancellable_connect (cancellable, G_CALLBACK (on_launch_cancelled), call, NULL);
  start_next (self);
  dvmd_launch_call_unref (call);
}

/* Agents that others of a tree wait for. */
static void
dvmd_command_launcher_came (DvmdLauncher *launcher, guint32 rank)
{
  DvmdCommandLauncher *self = DVMD_COMMAND_LAUNCHER (launcher);
  DvmdCommandLauncherPrivate *priv = get_private (self);
  Agent *parent = g_hash_table_lookup (priv->agents, GUINT_TO_POINTER (rank));
  g_autoptr (GArray) ranks = NULL;

  if (parent == NULL || parent->is_ending)
    return;
  parent->tree.came = TRUE;
  g_clear_handle_id (&parent->tree.patience, g_source_remove);
  /* Agents that have no key, or no way to each other: there is no tree for them. */
  if (priv->n_below == 0 && priv->n_failed_below >= HOPELESS)
    take_children (parent, FALSE);
  ranks = list_children (parent);
  for (guint i = 0; i < ranks->len; i++)
    start_below (self, g_array_index (ranks, guint32, i));
  start_next (self);
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
  /* The parent may hear nothing any more. */
  if (agent->tree.place == AGENT_BELOW)
    agent_gone (agent);
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
  start_next (DVMD_COMMAND_LAUNCHER (launcher));
  dvmd_launch_call_unref (call);
}

/* Those of this machine are ended by their guard; what there is elsewhere is sent for, and not waited for long. */
static void
kill_agent (Agent *agent)
{
  gboolean is_here = DVMD_COMMAND_LAUNCHER_GET_CLASS (agent->launcher)->make_kill_argv == NULL;
  gboolean runs = agent->process != 0;

  if (!agent->is_ending)
    end_agent (agent);
  if (!runs)
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
  g_hash_table_unref (priv->processes);
  g_hash_table_unref (priv->agents);
  G_OBJECT_CLASS (dvmd_command_launcher_parent_class)->finalize (object);
}

static void
dvmd_command_launcher_class_init (DvmdCommandLauncherClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_command_launcher_finalize;
  DVMD_LAUNCHER_CLASS (klass)->launch_async = dvmd_command_launcher_launch_async;
  DVMD_LAUNCHER_CLASS (klass)->terminate_async = dvmd_command_launcher_terminate_async;
  DVMD_LAUNCHER_CLASS (klass)->came = dvmd_command_launcher_came;
  DVMD_LAUNCHER_CLASS (klass)->kill = dvmd_command_launcher_kill;
}

static void
dvmd_command_launcher_init (DvmdCommandLauncher *self)
{
  DvmdCommandLauncherPrivate *priv = get_private (self);

  g_queue_init (&priv->waiting);
  priv->agents = g_hash_table_new_full (NULL, NULL, NULL, agent_free);
  priv->processes = g_hash_table_new (NULL, NULL);
}
