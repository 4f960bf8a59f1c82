/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Launchers that start agents by the command that a scheduler has for the nodes of its jobs.
 */

#include "config.h"

#include "job-launcher.h"
#include "kept-request.h"
#include "launch-words.h"

#include <string.h>

#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

typedef struct
{
  GHashTable *targets; /* name in lower case -> what the command calls it, of all nodes that were asked for */
  GPtrArray *asking;   /* Start */
} DvmdJobLauncherPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (DvmdJobLauncher, dvmd_job_launcher, DVMD_TYPE_COMMAND_LAUNCHER)

const DvmdPluginSetting dvmd_job_launcher_settings[] = {
  { .key = "command" },
  { .key = "directory" },
  { .key = "prefix" },
  { .key = "concurrency", .least = 1, .most = DVMD_COMMAND_LAUNCHER_MOST },
  { .key = "timeout", .least = 1, .most = DVMD_COMMAND_LAUNCHER_MOST },
  { .key = "grace", .least = 1, .most = DVMD_COMMAND_LAUNCHER_MOST },
  { .key = NULL },
};

/* A launch that waits for the nodes of the job. */
typedef struct
{
  DvmdKeptRequest *kept;
  GTask *task;
} Start;

static DvmdJobLauncherPrivate *
get_private (gpointer self)
{
  return dvmd_job_launcher_get_instance_private (DVMD_JOB_LAUNCHER (self));
}

static const char *
get_setting (gpointer self, const char *key)
{
  return dvmd_plugin_host_get_setting (dvmd_plugin_get_host (self), key);
}

GHashTable *
dvmd_job_launcher_list_targets (DvmdAllocation *allocation)
{
  GHashTable *targets = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  guint n;
  const DvmdPluginNode *nodes = dvmd_allocation_get_nodes (allocation, &n);

  for (guint i = 0; i < n; i++)
    g_hash_table_replace (targets, g_ascii_strdown (nodes[i].name, -1), g_strdup (nodes[i].name));
  return targets;
}

/* ---- the command ---- */

static char **
make_argv (DvmdCommandLauncher *self, const char *name, char **what, GError **error)
{
  const JobCommand *command = DVMD_JOB_LAUNCHER_GET_CLASS (self)->find_command (DVMD_JOB_LAUNCHER (self));
  g_autofree char *key = g_ascii_strdown (name, -1);
  const char *target = g_hash_table_lookup (get_private (self)->targets, key);

  return job_words_make_argv (command, get_setting (self, "command"), target != NULL ? target : name, what, error);
}

static char **
dvmd_job_launcher_make_argv (DvmdCommandLauncher *self, const char *name, const char *const *agent_argv,
                             const char *input_file, GError **error)
{
  g_auto (GStrv) what = job_words_make_agent (agent_argv, get_setting (self, "prefix"), name, input_file);

  return make_argv (self, name, what, error);
}

static char **
dvmd_job_launcher_make_kill_argv (DvmdCommandLauncher *self, const char *name, int pid)
{
  g_auto (GStrv) what = job_words_make_kill (pid);

  return make_argv (self, name, what, NULL);
}

/* Users of a cluster have one home directory. */
static char *
dvmd_job_launcher_find_input_directory (DvmdCommandLauncher *self, char **place)
{
  const char *setting = get_setting (self, "directory");

  if (!DVMD_JOB_LAUNCHER_GET_CLASS (self)->by_file)
    return NULL;
  *place = g_strdup_printf ("launcher-%s.directory", dvmd_plugin_get_info (self)->name);
  return setting != NULL ? g_strdup (setting) : g_build_filename (g_get_user_cache_dir (), "dvm", "agents", NULL);
}

static GError *
dvmd_job_launcher_explain (DvmdCommandLauncher *self, const char *name, gboolean arrived,
                           const DvmdPluginOutcome *outcome)
{
  g_autofree char *words = dvmd_command_last_words (outcome);
  g_autofree char *messages = NULL;
  const char *reason;
  gsize length;
  const char *bytes = g_bytes_get_data (outcome->messages, &length);

  if (arrived)
    return dvmd_command_explain_exit (name, outcome);
  if (outcome->exit_signal != 0)
    return g_error_new (DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "%s: the launcher's command was ended by signal %d (%s)",
                        name, outcome->exit_signal, g_strsignal (outcome->exit_signal));
  if (DVMD_JOB_LAUNCHER_GET_CLASS (self)->by_file && outcome->exit_code == JOB_NO_FILE)
    return g_error_new (DVM_ERROR, DVM_ERROR_LAUNCH_FAILED,
                        "%s: not reached: the file with its token is not there: launcher-%s.directory must name a "
                        "directory that all nodes have",
                        name, dvmd_plugin_get_info (self)->name);
  messages = g_strndup (bytes != NULL ? bytes : "", length);
  reason = dvmd_launch_find_reason (messages);
  if (words[0] != '\0')
    return g_error_new (DVM_ERROR, dvmd_launch_find_code (reason), "%s: %s: %s", name,
                        reason != NULL ? reason : "not reached", words);
  return g_error_new (DVM_ERROR, DVM_ERROR_LAUNCH_FAILED,
                      "%s: not reached: the launcher's command has exited with status %d", name, outcome->exit_code);
}

/* ---- launching ---- */

static void
start_free (Start *start)
{
  g_clear_pointer (&start->kept, dvmd_kept_request_free);
  g_clear_object (&start->task);
  g_free (start);
}

static void
on_launched (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;
  DvmdPluginVerdict verdict = dvmd_launcher_launch_finish (DVMD_LAUNCHER (source), result, &error);

  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_boolean (task, verdict == DVMD_PLUGIN_DONE);
}

/* Whether these are all nodes of the start, which the command calls so from now on. */
static gboolean
take_targets (DvmdJobLauncher *self, const DvmdLaunchRequest *request, GHashTable *targets)
{
  for (guint i = 0; i < request->n_nodes; i++)
    {
      g_autofree char *key = g_ascii_strdown (request->nodes[i].name, -1);
      const char *target = g_hash_table_lookup (targets, key);

      if (target == NULL)
        return FALSE;
      g_hash_table_replace (get_private (self)->targets, g_steal_pointer (&key), g_strdup (target));
    }
  return TRUE;
}

/* Nodes that the job had at an earlier start: without the scheduler nobody may start anything there. */
static gboolean
had_targets (DvmdJobLauncher *self, const DvmdLaunchRequest *request)
{
  for (guint i = 0; i < request->n_nodes; i++)
    {
      g_autofree char *key = g_ascii_strdown (request->nodes[i].name, -1);

      if (!g_hash_table_contains (get_private (self)->targets, key))
        return FALSE;
    }
  return TRUE;
}

/* Other characters have a meaning in lists of nodes, and so has a dash at the beginning. (transfer full): the nodes
 * with names of hosts */
static GHashTable *
list_hosts (const DvmdLaunchRequest *request)
{
  GHashTable *targets = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);

  for (guint i = 0; i < request->n_nodes; i++)
    {
      const char *name = request->nodes[i].name;

      if (g_ascii_isalnum (name[0]) && name[strspn (name, HOST_CHARACTERS)] == '\0')
        g_hash_table_replace (targets, g_ascii_strdown (name, -1), g_strdup (name));
    }
  return targets;
}

/* It frees the start. targets: (transfer full) (nullable); error: (transfer full) (nullable) */
static void
go_on (DvmdJobLauncher *self, Start *start, GHashTable *targets, GError *error)
{
  if (g_task_return_error_if_cancelled (start->task))
    ;
  else if (targets != NULL && take_targets (self, &start->kept->request, targets))
    DVMD_LAUNCHER_CLASS (dvmd_job_launcher_parent_class)
        ->launch_async (DVMD_LAUNCHER (self), &start->kept->request, g_task_get_cancellable (start->task), on_launched,
                        g_object_ref (start->task));
  else if (error != NULL && had_targets (self, &start->kept->request))
    g_task_return_new_error (start->task, DVM_ERROR, DVM_ERROR_LAUNCH_FAILED,
                             "the nodes of the job cannot be told any more, and so nothing is started: %s",
                             error->message);
  else
    {
      if (error != NULL)
        dvmd_plugin_host_log (dvmd_plugin_get_host (self), G_LOG_LEVEL_MESSAGE,
                              "the nodes of the job cannot be told, and so another launcher has the start: %s",
                              error->message);
      g_task_return_boolean (start->task, FALSE);
    }
  g_clear_pointer (&targets, g_hash_table_unref);
  g_clear_error (&error);
  start_free (start);
}

static void
on_targets (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Start *start = user_data;
  g_autoptr (DvmdJobLauncher) self = g_object_ref (g_task_get_source_object (start->task));
  GError *error = NULL;
  GHashTable *targets = DVMD_JOB_LAUNCHER_GET_CLASS (self)->ask_targets_finish (self, result, &error);

  g_ptr_array_remove_fast (get_private (self)->asking, start);
  go_on (self, start, targets, error);
}

/* An address is another way than the scheduler's. */
static gboolean
has_addresses (const DvmdLaunchRequest *request)
{
  for (guint i = 0; i < request->n_nodes; i++)
    if (request->nodes[i].address != NULL && strcmp (request->nodes[i].address, request->nodes[i].name) != 0)
      return TRUE;
  return FALSE;
}

static GBytes *
add_variables (GBytes *input)
{
  g_auto (GStrv) environ = g_get_environ ();

  return job_words_make_input ((const char *const *)environ, input);
}

static void
dvmd_job_launcher_launch_async (DvmdLauncher *launcher, const DvmdLaunchRequest *request, GCancellable *cancellable,
                                GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdJobLauncher *self = DVMD_JOB_LAUNCHER (launcher);
  DvmdJobLauncherClass *klass = DVMD_JOB_LAUNCHER_GET_CLASS (self);
  g_autoptr (GTask) task = g_task_new (launcher, cancellable, callback, user_data);
  g_auto (GStrv) environ = g_get_environ ();
  GError *error = NULL;
  GHashTable *targets;
  Start *start;

  if (request->logical || has_addresses (request))
    {
      g_task_return_boolean (task, FALSE);
      return;
    }
  start = g_new0 (Start, 1);
  start->kept = dvmd_kept_request_new (request, add_variables);
  start->task = g_steal_pointer (&task);
  if (klass->ask_targets_async != NULL)
    {
      g_ptr_array_add (get_private (self)->asking, start);
      klass->ask_targets_async (self, (const char *const *)environ, cancellable, on_targets, start);
      return;
    }
  if (klass->read_targets != NULL)
    targets = klass->read_targets (self, (const char *const *)environ, &error);
  else
    targets = list_hosts (request);
  go_on (self, start, targets, error);
}

/* ---- ending ---- */

/* Nodes that are not started yet are not started any more. (transfer full): the others; n_dropped: how many those were
 */
static DvmdPluginNode *
drop_asked (DvmdLauncher *launcher, const DvmdPluginNode *nodes, guint32 n_nodes, guint32 *n_dropped)
{
  DvmdPluginNode *others = g_new (DvmdPluginNode, n_nodes + 1);
  GPtrArray *asking = get_private (launcher)->asking;

  *n_dropped = 0;
  for (guint i = 0; i < n_nodes; i++)
    {
      gboolean dropped = FALSE;

      for (guint k = 0; k < asking->len && !dropped; k++)
        dropped = dvmd_kept_request_drop (((Start *)g_ptr_array_index (asking, k))->kept, nodes[i].rank);
      if (dropped)
        ++*n_dropped;
      else
        others[i - *n_dropped] = nodes[i];
    }
  return others;
}

static void
dvmd_job_launcher_terminate_async (DvmdLauncher *launcher, const DvmdPluginNode *nodes, guint32 n_nodes,
                                   GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  guint32 n_dropped;
  g_autofree DvmdPluginNode *others = drop_asked (launcher, nodes, n_nodes, &n_dropped);
  g_autoptr (GTask) task = NULL;

  if (n_nodes == 0 || n_dropped < n_nodes)
    {
      DVMD_LAUNCHER_CLASS (dvmd_job_launcher_parent_class)
          ->terminate_async (launcher, others, n_nodes - n_dropped, cancellable, callback, user_data);
      return;
    }
  task = g_task_new (launcher, cancellable, callback, user_data);
  g_task_return_boolean (task, TRUE);
}

static void
dvmd_job_launcher_kill (DvmdLauncher *launcher, const DvmdPluginNode *nodes, guint32 n_nodes)
{
  guint32 n_dropped;
  g_autofree DvmdPluginNode *others = drop_asked (launcher, nodes, n_nodes, &n_dropped);

  DVMD_LAUNCHER_CLASS (dvmd_job_launcher_parent_class)->kill (launcher, others, n_nodes - n_dropped);
}

/* ---- the class ---- */

static void
dvmd_job_launcher_finalize (GObject *object)
{
  DvmdJobLauncherPrivate *priv = get_private (object);

  g_hash_table_unref (priv->targets);
  g_ptr_array_unref (priv->asking);
  G_OBJECT_CLASS (dvmd_job_launcher_parent_class)->finalize (object);
}

static void
dvmd_job_launcher_class_init (DvmdJobLauncherClass *klass)
{
  DvmdCommandLauncherClass *command_class = DVMD_COMMAND_LAUNCHER_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = dvmd_job_launcher_finalize;
  DVMD_LAUNCHER_CLASS (klass)->launch_async = dvmd_job_launcher_launch_async;
  DVMD_LAUNCHER_CLASS (klass)->terminate_async = dvmd_job_launcher_terminate_async;
  DVMD_LAUNCHER_CLASS (klass)->kill = dvmd_job_launcher_kill;
  command_class->waits = TRUE;
  command_class->find_input_directory = dvmd_job_launcher_find_input_directory;
  command_class->make_argv = dvmd_job_launcher_make_argv;
  command_class->make_kill_argv = dvmd_job_launcher_make_kill_argv;
  command_class->explain = dvmd_job_launcher_explain;
}

static void
dvmd_job_launcher_init (DvmdJobLauncher *self)
{
  DvmdJobLauncherPrivate *priv = get_private (self);

  priv->targets = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  priv->asking = g_ptr_array_new ();
}
