/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One srun and the agents that it has started, until all of them have ended.
 */

#include "config.h"

#include "slurm-step.h"

#include "command-launcher.h"
#include "slurm-words.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT 30
#define GRACE   5
/* Seconds until srun is killed, which has been told to end the step at once. */
#define KILL_GRACE 4

/* One srun. It is there until that has ended, and its agents at most as long. */
typedef struct
{
  DvmdLauncher *launcher;
  GHashTable *by_rank; /* rank -> SlurmAgent: of all steps of the launcher */
  GPtrArray *agents;   /* SlurmAgent */
  GHashTable *tasks;   /* number -> SlurmAgent, of those that have arrived */
  char **agent_argv;
  guint process; /* 0: does not run */
  guint timer;
  gboolean closed; /* its standard input: all agents are to end */
  gboolean given;  /* agents have their input; before that those that have arrived wait */
  gboolean fails;  /* srun ends all tasks, as some nodes have none; those of the others are started again */
} SlurmStep;

struct _SlurmAgent
{
  SlurmStep *step;
  char *name;
  guint32 rank;
  GBytes *input;
  DvmdLaunchCall *launch;  /* until its start is over */
  GPtrArray *terminations; /* DvmdLaunchCall */
  char *words;             /* (nullable): its last ones */
  guint task;              /* its number in the step, once it has arrived */
  int pid;                 /* on its node; 0: has not arrived */
  guint timer;
  gboolean is_ending;
  gboolean has_ended; /* is there still because the step is to end with it */
};

/* ---- agents ---- */

void
slurm_agent_free (gpointer data)
{
  SlurmAgent *agent = data;

  if (agent->timer != 0)
    g_source_remove (agent->timer);
  g_ptr_array_unref (agent->terminations);
  g_bytes_unref (agent->input);
  g_free (agent->words);
  g_free (agent->name);
  g_free (agent);
}

static void
start_is_over (SlurmAgent *agent)
{
  if (agent->launch != NULL)
    dvmd_launch_call_unref (g_steal_pointer (&agent->launch));
}

/* Frees the agent. */
static void
agent_gone (SlurmAgent *agent)
{
  SlurmStep *step = agent->step;
  g_autoptr (GPtrArray) calls = g_ptr_array_ref (agent->terminations);

  start_is_over (agent);
  if (agent->pid != 0)
    g_hash_table_remove (step->tasks, GUINT_TO_POINTER (agent->task));
  g_ptr_array_remove_fast (step->agents, agent);
  g_hash_table_remove (step->by_rank, GUINT_TO_POINTER (agent->rank));
  for (guint i = 0; i < calls->len; i++)
    dvmd_launch_call_unref (g_ptr_array_index (calls, i));
}

/* The receiver may want the agent to be ended, which changes nothing: it has been told that before. */
static void
tell_failed (SlurmAgent *agent, const GError *reason)
{
  dvmd_launcher_node_failed (agent->step->launcher, agent->rank, reason);
}

/* ---- the end of a step ---- */

static void
signal_step (SlurmStep *step, int signum)
{
  dvmd_plugin_host_send_signal (dvmd_plugin_get_host (step->launcher), step->process, signum);
}

static void
set_timer (SlurmStep *step, guint seconds, GSourceFunc function)
{
  if (step->timer != 0)
    g_source_remove (step->timer);
  step->timer = g_timeout_add_seconds (seconds, function, step);
}

static void kill_there (SlurmAgent *agent, gboolean at_once);

/* Slurm goes on with the step of an srun that was killed: what has come there would wait for its input for ever. */
static gboolean
on_srun_late (gpointer user_data)
{
  SlurmStep *step = user_data;

  step->timer = 0;
  for (guint i = 0; i < step->agents->len; i++)
    {
      SlurmAgent *agent = g_ptr_array_index (step->agents, i);

      if (agent->pid != 0 && !agent->has_ended)
        kill_there (agent, TRUE);
    }
  signal_step (step, SIGKILL);
  return G_SOURCE_REMOVE;
}

/* Slurm kills all that there is of a step whose srun is told to end. */
static void
kill_step (SlurmStep *step)
{
  step->closed = TRUE;
  signal_step (step, SIGTERM);
  set_timer (step, KILL_GRACE, on_srun_late);
}

static gboolean
on_step_late (gpointer user_data)
{
  SlurmStep *step = user_data;

  step->timer = 0;
  kill_step (step);
  return G_SOURCE_REMOVE;
}

static gboolean
agent_is_wanted (SlurmAgent *agent)
{
  return !agent->is_ending && !agent->has_ended;
}

static guint
count_wanted (SlurmStep *step, gboolean arrived)
{
  guint n = 0;

  for (guint i = 0; i < step->agents->len; i++)
    {
      SlurmAgent *agent = g_ptr_array_index (step->agents, i);

      if (agent_is_wanted (agent) && (!arrived || agent->pid != 0))
        n++;
    }
  return n;
}

static gboolean
is_wanted (SlurmStep *step)
{
  return count_wanted (step, FALSE) > 0;
}

static void
give_input (SlurmStep *step)
{
  g_autoptr (GPtrArray) nodes = g_ptr_array_new ();
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  g_autoptr (GBytes) table = NULL;

  for (guint i = 0; i < step->agents->len; i++)
    {
      SlurmAgent *agent = g_ptr_array_index (step->agents, i);

      if (!agent_is_wanted (agent))
        continue;
      g_ptr_array_add (nodes, agent->name);
      g_ptr_array_add (inputs, agent->input);
    }
  g_ptr_array_add (nodes, NULL);
  table = slurm_make_input ((const char *const *)nodes->pdata, (GBytes *const *)inputs->pdata);
  step->given = TRUE;
  dvmd_plugin_host_give_input (dvmd_plugin_get_host (step->launcher), step->process, table, FALSE);
  if (step->timer != 0)
    g_source_remove (step->timer);
  step->timer = 0;
}

/*
 * Agents get their input when all have arrived: an srun that cannot start one of its tasks ends all, and the others can
 * be started again as long as no agent has begun. They end with their standard input, which all of the step have
 * together.
 */
static void
check_step (SlurmStep *step)
{
  guint n_wanted = count_wanted (step, FALSE);

  if (step->process == 0 || step->closed || step->fails)
    return;
  if (n_wanted > 0)
    {
      if (!step->given && count_wanted (step, TRUE) == n_wanted)
        give_input (step);
      return;
    }
  step->closed = TRUE;
  dvmd_plugin_host_give_input (dvmd_plugin_get_host (step->launcher), step->process, NULL, TRUE);
  set_timer (step, dvmd_command_launcher_get_number (step->launcher, "grace", GRACE), on_step_late);
}

/* ---- the end of one agent among others ---- */

static gboolean
on_not_ended (gpointer user_data)
{
  SlurmAgent *agent = user_data;
  DvmdPluginHost *host = dvmd_plugin_get_host (agent->step->launcher);

  agent->timer = 0;
  if (agent->step->closed)
    return G_SOURCE_REMOVE;
  dvmd_plugin_host_log (host, G_LOG_LEVEL_MESSAGE,
                        "%s: its agent could not be ended; it ends with its step at the latest", agent->name);
  agent_gone (agent);
  return G_SOURCE_REMOVE;
}

static void
on_killed_there (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmdPluginOutcome outcome = { 0 };

  dvmd_plugin_host_spawn_finish (DVMD_PLUGIN_HOST (source), result, &outcome, NULL);
  dvmd_plugin_outcome_clear (&outcome);
}

/* It is not cancelled: Slurm would go on with the step of an srun that was killed. */
static void
kill_there (SlurmAgent *agent, gboolean at_once)
{
  DvmdPluginHost *host = dvmd_plugin_get_host (agent->step->launcher);
  g_auto (GStrv) environ = g_get_environ ();
  const char *job = slurm_find_job ((const char *const *)environ);
  g_auto (GStrv) argv = slurm_make_kill_argv (job, agent->name, agent->pid, at_once);
  g_auto (GStrv) own = slurm_make_environ ((const char *const *)environ);
  const DvmdPluginCommand command = { .argv = (const char *const *)argv, .environ = (const char *const *)own };

  dvmd_plugin_host_spawn_async (host, &command, NULL, on_killed_there, NULL);
}

static gboolean
on_grace_over (gpointer user_data)
{
  SlurmAgent *agent = user_data;

  agent->timer = 0;
  if (agent->step->closed)
    return G_SOURCE_REMOVE;
  if (agent->pid != 0)
    kill_there (agent, FALSE);
  /* A machine that cannot be reached gives no answer. */
  agent->timer = g_timeout_add_seconds (
      KILL_GRACE + dvmd_command_launcher_get_number (agent->step->launcher, "grace", GRACE), on_not_ended, agent);
  return G_SOURCE_REMOVE;
}

static void
end_agent (SlurmAgent *agent)
{
  if (agent->is_ending)
    return;
  agent->is_ending = TRUE;
  check_step (agent->step);
  if (!agent->has_ended && !agent->step->closed && agent->step->process != 0)
    agent->timer = g_timeout_add_seconds (dvmd_command_launcher_get_number (agent->step->launcher, "grace", GRACE),
                                          on_grace_over, agent);
}

/* ---- what a step says ---- */

static GError *
explain_end (SlurmAgent *agent, int status)
{
  const char *words = agent->words != NULL ? agent->words : "";
  gboolean by_signal = status > 128 && status < 128 + NSIG;
  g_autoptr (GBytes) messages = g_bytes_new (words, strlen (words));
  const DvmdPluginOutcome outcome = { .exit_code = by_signal ? -1 : status,
                                      .exit_signal = by_signal ? status - 128 : 0,
                                      .messages = messages };

  return dvmd_command_explain_exit (agent->name, &outcome);
}

/* The last one of a step is gone when Slurm knows nothing of it any more either. Takes the reason. */
static void
agent_ended (SlurmAgent *agent, GError *reason)
{
  SlurmStep *step = agent->step;

  agent->has_ended = TRUE;
  if (!agent->is_ending)
    tell_failed (agent, reason);
  g_error_free (reason);
  start_is_over (agent);
  if (step->agents->len > 1)
    agent_gone (agent);
  check_step (step);
}

/* (nullable): one that has not ended */
static SlurmAgent *
find_agent (SlurmStep *step, const char *name)
{
  for (guint i = 0; i < step->agents->len; i++)
    {
      SlurmAgent *agent = g_ptr_array_index (step->agents, i);

      if (!agent->has_ended && strcmp (agent->name, name) == 0)
        return agent;
    }
  return NULL;
}

/* "PID NODE" */
static void
agent_arrived (SlurmStep *step, guint task, const char *text)
{
  const char *name = strchr (text, ' ');
  SlurmAgent *agent = name != NULL ? find_agent (step, name + 1) : NULL;

  if (agent == NULL || agent->pid != 0 || atoi (text) <= 0)
    return;
  agent->task = task;
  agent->pid = atoi (text);
  g_hash_table_insert (step->tasks, GUINT_TO_POINTER (task), agent);
  start_is_over (agent);
  if (agent->is_ending && !step->closed)
    kill_there (agent, FALSE);
  check_step (step);
}

static void
keep_words (SlurmAgent *agent, const char *text)
{
  g_autoptr (GBytes) messages = g_bytes_new (text, strlen (text));
  const DvmdPluginOutcome outcome = { .messages = messages };
  g_autofree char *words = dvmd_command_last_words (&outcome);

  if (words[0] == '\0')
    return;
  g_free (agent->words);
  agent->words = g_steal_pointer (&words);
}

static void
read_agent_line (SlurmAgent *agent, const char *text)
{
  if (!agent->has_ended && !agent->step->fails && g_str_has_prefix (text, SLURM_ENDED))
    {
      agent_ended (agent, explain_end (agent, atoi (text + strlen (SLURM_ENDED))));
      return;
    }
  dvmd_plugin_host_log (dvmd_plugin_get_host (agent->step->launcher), G_LOG_LEVEL_MESSAGE, "%s: %s", agent->name, text);
  keep_words (agent, text);
}

/* A node that does not take its task. FALSE: the line says something else. */
static gboolean
read_refusal (SlurmStep *step, const char *line)
{
  g_autofree char *words = NULL;
  g_autofree char *node = slurm_parse_refusal (line, &words);
  SlurmAgent *agent = node != NULL ? find_agent (step, node) : NULL;

  if (agent == NULL || step->given)
    return node != NULL;
  step->fails = TRUE;
  /* From here on srun ends the others: that they do not come is not their fault. */
  set_timer (step, dvmd_command_launcher_get_number (step->launcher, "grace", GRACE), on_step_late);
  agent_ended (agent, g_error_new (DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "%s: srun says: %s", node, words));
  return TRUE;
}

/* A task that has ended in another way than with its agent: that would have said so, with the status. */
static void
read_srun_line (SlurmStep *step, const char *line)
{
  g_autofree char *words = NULL;
  g_auto (GStrv) nodes = slurm_parse_task_end (line, &words);

  dvmd_plugin_host_log (dvmd_plugin_get_host (step->launcher),
                        strstr (line, "error: ") != NULL ? G_LOG_LEVEL_MESSAGE : G_LOG_LEVEL_INFO, "%s", line);
  if (read_refusal (step, line) || step->fails)
    return;
  for (gsize i = 0; nodes != NULL && nodes[i] != NULL; i++)
    {
      SlurmAgent *agent = find_agent (step, nodes[i]);

      if (agent != NULL)
        agent_ended (agent, g_error_new (DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "%s: the task of its agent has ended: %s",
                                         agent->name, agent->words != NULL ? agent->words : words));
    }
}

/* The step, and not only one of its nodes, as far as agents leave then. */
static void
check_step_end (SlurmStep *step, const char *line)
{
  g_autofree char *words = slurm_parse_step_end (line);
  g_autofree char *reason = words != NULL ? g_strdup_printf ("Slurm ends the agents of the DVM: %s", words) : NULL;

  if (reason != NULL && !step->closed && !step->fails)
    dvmd_launcher_ends (step->launcher, reason);
}

static void
on_line (guint process, gboolean is_message, const char *line, gpointer user_data)
{
  SlurmStep *step = user_data;
  const char *text = line;
  guint task = 0;
  SlurmAgent *agent = NULL;

  if (is_message)
    check_step_end (step, line);
  if (slurm_parse_label (line, &task, &text))
    agent = g_hash_table_lookup (step->tasks, GUINT_TO_POINTER (task));
  if (agent != NULL)
    read_agent_line (agent, text);
  else if (text != line && g_str_has_prefix (text, DVMD_COMMAND_ARRIVED))
    agent_arrived (step, task, text + strlen (DVMD_COMMAND_ARRIVED));
  else
    read_srun_line (step, text);
}

static void
step_free (SlurmStep *step)
{
  if (step->timer != 0)
    g_source_remove (step->timer);
  g_hash_table_unref (step->tasks);
  g_ptr_array_unref (step->agents);
  g_strfreev (step->agent_argv);
  g_object_unref (step->launcher);
  g_free (step);
}

/* It frees the step. */
static void
end_step (SlurmStep *step, DvmError code, const char *words)
{
  step->process = 0;
  while (step->agents->len > 0)
    {
      SlurmAgent *agent = g_ptr_array_index (step->agents, 0);

      if (!agent->is_ending && !agent->has_ended)
        {
          g_autoptr (GError) reason = g_error_new (DVM_ERROR, code, "%s: %s", agent->name, words);

          agent->has_ended = TRUE;
          tell_failed (agent, reason);
        }
      agent_gone (agent);
    }
  step_free (step);
}

static gboolean start_again (SlurmStep *step);

static void
on_ended (guint process, const DvmdPluginOutcome *outcome, gpointer user_data)
{
  SlurmStep *step = user_data;
  gsize length;
  const char *bytes = g_bytes_get_data (outcome->messages, &length);
  g_autofree char *messages = g_strndup (bytes != NULL ? bytes : "", length);
  g_autofree char *words = slurm_find_words (messages);
  g_autofree char *end = outcome->exit_signal != 0 ? g_strdup_printf (
                             "was ended by signal %d (%s)", outcome->exit_signal, g_strsignal (outcome->exit_signal))
                                                   : g_strdup_printf ("has exited with status %d", outcome->exit_code);
  g_autofree char *reason = g_strdup_printf ("the srun of its agent %s%s%s", end, words[0] != '\0' ? ": " : "", words);

  step->process = 0;
  if (!start_again (step))
    end_step (step, DVM_ERROR_LAUNCH_FAILED, reason);
}

static const DvmdPluginWatch watch = { .line = on_line, .ended = on_ended };

/* ---- the start of a step ---- */

/* Agents that have not arrived end. An srun that waits for some would end the others, too, when it gives up. */
static gboolean
on_start_late (gpointer user_data)
{
  SlurmStep *step = user_data;
  g_autoptr (GPtrArray) late = g_ptr_array_new ();
  guint limit = dvmd_command_launcher_get_number (step->launcher, "timeout", TIMEOUT);

  step->timer = 0;
  step->fails = step->fails || count_wanted (step, TRUE) > 0;
  for (guint i = 0; i < step->agents->len; i++)
    {
      SlurmAgent *agent = g_ptr_array_index (step->agents, i);

      if (agent->pid == 0 && !agent->is_ending)
        g_ptr_array_add (late, agent);
    }
  for (guint i = 0; i < late->len; i++)
    {
      SlurmAgent *agent = g_ptr_array_index (late, i);
      g_autoptr (GError) reason = g_error_new (
          DVM_ERROR, DVM_ERROR_TIMEOUT, "%s: timeout: srun has not started its agent within %u s", agent->name, limit);

      end_agent (agent);
      start_is_over (agent);
      tell_failed (agent, reason);
    }
  if (step->fails)
    kill_step (step);
  return G_SOURCE_REMOVE;
}

static guint
start_process (SlurmStep *step, GError **error)
{
  DvmdPluginHost *host = dvmd_plugin_get_host (step->launcher);
  g_auto (GStrv) environ = g_get_environ ();
  g_auto (GStrv) own = slurm_make_environ ((const char *const *)environ);
  g_autoptr (GPtrArray) nodes = g_ptr_array_new ();
  g_auto (GStrv) argv = NULL;
  SlurmStepWish wish = {
    .job = slurm_find_job ((const char *const *)environ),
    .options = dvmd_plugin_host_get_setting (host, "options"),
    .prefix = dvmd_plugin_host_get_setting (host, "prefix"),
    .environ = (const char *const *)environ,
    .agent_argv = (const char *const *)step->agent_argv,
  };

  for (guint i = 0; i < step->agents->len; i++)
    g_ptr_array_add (nodes, ((SlurmAgent *)g_ptr_array_index (step->agents, i))->name);
  g_ptr_array_add (nodes, NULL);
  wish.nodes = (const char *const *)nodes->pdata;
  argv = slurm_make_argv (&wish, error);
  if (argv == NULL)
    return 0;
  return dvmd_plugin_host_start (
      host, &(DvmdPluginCommand){ .argv = (const char *const *)argv, .environ = (const char *const *)own }, &watch,
      step, error);
}

/* It frees the step if there is no srun. */
static void
begin_step (SlurmStep *step)
{
  g_autoptr (GError) error = NULL;

  step->process = start_process (step, &error);
  if (step->process != 0)
    set_timer (step, dvmd_command_launcher_get_number (step->launcher, "timeout", TIMEOUT), on_start_late);
  else
    {
      g_autofree char *reason = g_strdup_printf ("srun cannot be started: %s", error->message);

      end_step (step, DVM_ERROR_LAUNCH_FAILED, reason);
    }
}

/* The agents of all nodes that are not to blame, of which none has begun. FALSE: there are none, or srun has ended for
 * another reason. */
static gboolean
start_again (SlurmStep *step)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char *list = NULL;

  if (!step->fails || !is_wanted (step))
    return FALSE;
  for (guint i = step->agents->len; i > 0; i--)
    {
      SlurmAgent *agent = g_ptr_array_index (step->agents, i - 1);

      if (!agent_is_wanted (agent))
        {
          agent_gone (agent);
          continue;
        }
      agent->pid = 0;
      g_clear_pointer (&agent->words, g_free);
      g_ptr_array_add (names, agent->name);
    }
  g_hash_table_remove_all (step->tasks);
  step->closed = FALSE;
  step->fails = FALSE;
  list = dvm_host_list_compress ((const char *const *)names->pdata, names->len);
  dvmd_plugin_host_log (dvmd_plugin_get_host (step->launcher), G_LOG_LEVEL_MESSAGE,
                        "The other agents of that srun are started again, by one for %s", list);
  begin_step (step);
  return TRUE;
}

static SlurmStep *
make_step (DvmdLauncher *self, GHashTable *by_rank, const SlurmStart *start, guint first, guint n_nodes)
{
  SlurmStep *step = g_new0 (SlurmStep, 1);

  step->launcher = g_object_ref (self);
  step->by_rank = by_rank;
  step->agents = g_ptr_array_new ();
  step->tasks = g_hash_table_new (NULL, NULL);
  step->agent_argv = g_strdupv ((char **)start->kept->request.agent_argv);
  for (guint i = first; i < first + n_nodes; i++)
    {
      const DvmdPluginNode *node = &start->kept->request.nodes[i];
      SlurmAgent *agent;

      if (g_hash_table_contains (by_rank, GUINT_TO_POINTER (node->rank)))
        {
          g_autoptr (GError)
              error = g_error_new (DVM_ERROR, DVM_ERROR_EXISTS, "%s: its agent runs already", node->name);

          dvmd_launcher_node_failed (self, node->rank, error);
          continue;
        }
      agent = g_new0 (SlurmAgent, 1);
      agent->step = step;
      agent->name = g_strdup (node->name);
      agent->rank = node->rank;
      agent->input = g_bytes_ref (start->kept->request.node_inputs[i]);
      agent->terminations = g_ptr_array_new ();
      agent->launch = start->call;
      start->call->n_left++;
      g_ptr_array_add (step->agents, agent);
      g_hash_table_insert (by_rank, GUINT_TO_POINTER (agent->rank), agent);
    }
  return step;
}

void
slurm_step_start (DvmdLauncher *self, GHashTable *by_rank, const SlurmStart *start, guint first, guint n_nodes)
{
  SlurmStep *step = make_step (self, by_rank, start, first, n_nodes);

  if (step->agents->len > 0)
    begin_step (step);
  else
    step_free (step);
}

/* ---- what the launcher wants ---- */

void
slurm_agent_cancel (SlurmAgent *agent, DvmdLaunchCall *launch)
{
  if (agent->launch != launch || agent->step->closed)
    return;
  end_agent (agent);
  if (!is_wanted (agent->step))
    kill_step (agent->step);
}

void
slurm_agent_end (SlurmAgent *agent, DvmdLaunchCall *termination)
{
  termination->n_left++;
  g_ptr_array_add (agent->terminations, termination);
  end_agent (agent);
}

void
slurm_agent_kill (SlurmAgent *agent)
{
  end_agent (agent);
  if (agent->step->process == 0)
    return;
  if (!is_wanted (agent->step))
    kill_step (agent->step);
  else if (agent->pid != 0 && !agent->has_ended)
    kill_there (agent, TRUE);
}
