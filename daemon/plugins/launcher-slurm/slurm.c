/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents of the nodes of an allocation of Slurm, by one srun for all that are started together. Its settings: "prefix"
 * (where dvm is installed on the nodes), "options" (more of srun's), and "timeout" and "grace" as other launchers have
 * them.
 */

#include "config.h"

#include "command-launcher.h"
#include "slurm-step.h"
#include "slurm-words.h"
#include "timed-command.h"

#include <string.h>

#define TIMEOUT 30
/* Nodes of one step. Each gets the tokens of all, and the list of them is one argument. */
#define MOST_NODES 1000

#define DVMD_TYPE_SLURM_LAUNCHER (dvmd_slurm_launcher_get_type ())
G_DECLARE_FINAL_TYPE (DvmdSlurmLauncher, dvmd_slurm_launcher, DVMD, SLURM_LAUNCHER, DvmdLauncher)

struct _DvmdSlurmLauncher
{
  DvmdLauncher parent_instance;

  GHashTable *agents; /* rank -> SlurmAgent, all that were started */
  GPtrArray *asking;  /* SlurmStart: those that wait for the answer of squeue */
};

G_DEFINE_FINAL_TYPE (DvmdSlurmLauncher, dvmd_slurm_launcher, DVMD_TYPE_LAUNCHER)

static void
start_free (SlurmStart *start)
{
  dvmd_kept_request_free (start->kept);
  g_free (start);
}

static void
on_launch_cancelled (GCancellable *cancellable, gpointer user_data)
{
  DvmdLaunchCall *call = user_data;
  DvmdSlurmLauncher *self = g_task_get_source_object (call->task);
  g_autoptr (GList) all = g_hash_table_get_values (self->agents);

  for (GList *each = all; each != NULL; each = each->next)
    slurm_agent_cancel (each->data, call);
}

/* It frees the start. */
static void
begin_steps (DvmdSlurmLauncher *self, SlurmStart *start)
{
  guint n_nodes = start->kept->request.n_nodes;
  DvmdLaunchCall *call = start->call;
  GCancellable *cancellable = g_task_get_cancellable (call->task);

  for (guint first = 0; first < n_nodes; first += MOST_NODES)
    slurm_step_start (DVMD_LAUNCHER (self), self->agents, start, first, MIN (MOST_NODES, n_nodes - first));
  if (cancellable != NULL)
    call->cancel_id = g_cancellable_connect (cancellable, G_CALLBACK (on_launch_cancelled), call, NULL);
  dvmd_launch_call_unref (call);
  start_free (start);
}

/* ---- whether the nodes are in the allocation ---- */

/* list: (nullable) */
static gboolean
are_in_list (const DvmdLaunchRequest *request, const char *list)
{
  g_auto (GStrv) names = list != NULL ? dvm_host_list_expand (list, "", NULL) : NULL;
  g_autoptr (GHashTable) known = g_hash_table_new (g_str_hash, g_str_equal);

  for (gsize i = 0; names != NULL && names[i] != NULL; i++)
    g_hash_table_add (known, names[i]);
  for (guint i = 0; i < request->n_nodes; i++)
    if (!g_hash_table_contains (known, request->nodes[i].name))
      return FALSE;
  return TRUE;
}

static gboolean
are_in_environment (const DvmdLaunchRequest *request)
{
  const char *list = g_getenv ("SLURM_JOB_NODELIST");

  return are_in_list (request, list != NULL ? list : g_getenv ("SLURM_NODELIST"));
}

static guint
get_timeout (DvmdSlurmLauncher *self)
{
  return dvmd_command_launcher_get_number (self, "timeout", TIMEOUT);
}

/* (nullable) (transfer full): the nodes that squeue has said; NULL: it has not, and the log says why */
static char *
read_answer (DvmdSlurmLauncher *self, const SlurmStart *start, const DvmdPluginOutcome *outcome, const GError *failed)
{
  g_autofree char *reason = NULL;

  if (failed == NULL && outcome->exit_code == 0)
    return slurm_get_last_line (outcome->output);
  if (g_cancellable_is_cancelled (g_task_get_cancellable (start->call->task)))
    return NULL;
  if (failed == NULL)
    {
      g_autofree char *words = dvmd_command_last_words (outcome);

      reason = g_strdup_printf ("it has ended with status %d, and said: %s", outcome->exit_code, words);
    }
  else if (g_error_matches (failed, DVM_ERROR, DVM_ERROR_TIMEOUT))
    reason = g_strdup_printf ("it has not answered within %u s", get_timeout (self));
  else
    reason = g_strdup (failed->message);
  dvmd_plugin_host_log (dvmd_plugin_get_host (self), G_LOG_LEVEL_MESSAGE,
                        "squeue does not say which nodes the job has, and so another launcher has the start: %s",
                        reason);
  return NULL;
}

static void
on_nodes_told (const DvmdPluginOutcome *outcome, const GError *failed, gpointer user_data)
{
  SlurmStart *start = user_data;
  DvmdSlurmLauncher *self = g_task_get_source_object (start->call->task);
  g_autofree char *list = read_answer (self, start, outcome, failed);

  g_ptr_array_remove_fast (self->asking, start);
  /* None is left if all of them were ended meanwhile. */
  if (are_in_list (&start->kept->request, list))
    {
      begin_steps (self, start);
      return;
    }
  dvmd_launch_call_decline (start->call);
  start_free (start);
}

/* The allocation may have grown since the DVM was started in it. */
static void
ask_for_nodes (DvmdSlurmLauncher *self, SlurmStart *start)
{
  g_auto (GStrv) environ = g_get_environ ();
  g_auto (GStrv) own = slurm_make_environ ((const char *const *)environ);
  g_auto (GStrv) argv = slurm_make_squeue_argv ((const char *const *)environ, "%N", FALSE);
  const DvmdPluginCommand command = { .argv = (const char *const *)argv, .environ = (const char *const *)own };

  g_ptr_array_add (self->asking, start);
  dvmd_timed_command_run (dvmd_plugin_get_host (self), &command, get_timeout (self), "launcher-slurm.timeout",
                          g_task_get_cancellable (start->call->task), on_nodes_told, start);
}

/* Takes the node out of a start that has not begun. FALSE: it is in none. */
static gboolean
drop_asked (DvmdSlurmLauncher *self, guint32 rank)
{
  for (guint k = 0; k < self->asking->len; k++)
    if (dvmd_kept_request_drop (((SlurmStart *)g_ptr_array_index (self->asking, k))->kept, rank))
      return TRUE;
  return FALSE;
}

/* ---- the class ---- */

/* An address is another way than Slurm's. */
static gboolean
is_for_slurm (const DvmdLaunchRequest *request)
{
  g_auto (GStrv) environ = g_get_environ ();

  for (guint i = 0; i < request->n_nodes; i++)
    if (request->nodes[i].address != NULL && strcmp (request->nodes[i].address, request->nodes[i].name) != 0)
      return FALSE;
  return !request->logical && slurm_find_job ((const char *const *)environ) != NULL;
}

static void
dvmd_slurm_launcher_launch_async (DvmdLauncher *launcher, const DvmdLaunchRequest *request, GCancellable *cancellable,
                                  GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdSlurmLauncher *self = DVMD_SLURM_LAUNCHER (launcher);
  DvmdLaunchCall *call = dvmd_launch_call_new (launcher, cancellable, callback, user_data);
  SlurmStart *start;

  if (!is_for_slurm (request))
    {
      dvmd_launch_call_decline (call);
      return;
    }
  start = g_new0 (SlurmStart, 1);
  start->call = call;
  start->kept = dvmd_kept_request_new (request, NULL);
  if (are_in_environment (request))
    begin_steps (self, start);
  else
    ask_for_nodes (self, start);
}

static void
dvmd_slurm_launcher_terminate_async (DvmdLauncher *launcher, const DvmdPluginNode *nodes, guint32 n_nodes,
                                     GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdSlurmLauncher *self = DVMD_SLURM_LAUNCHER (launcher);
  DvmdLaunchCall *call = dvmd_launch_call_new (launcher, cancellable, callback, user_data);
  guint n_found = 0;

  for (guint i = 0; i < n_nodes; i++)
    {
      SlurmAgent *agent = g_hash_table_lookup (self->agents, GUINT_TO_POINTER (nodes[i].rank));

      if (agent != NULL)
        slurm_agent_end (agent, call);
      if (agent != NULL || drop_asked (self, nodes[i].rank))
        n_found++;
    }
  if (n_found == 0)
    dvmd_launch_call_decline (call);
  else
    dvmd_launch_call_unref (call);
}

static void
dvmd_slurm_launcher_kill (DvmdLauncher *launcher, const DvmdPluginNode *nodes, guint32 n_nodes)
{
  DvmdSlurmLauncher *self = DVMD_SLURM_LAUNCHER (launcher);

  for (guint i = 0; i < n_nodes; i++)
    {
      SlurmAgent *agent = g_hash_table_lookup (self->agents, GUINT_TO_POINTER (nodes[i].rank));

      if (agent != NULL)
        slurm_agent_kill (agent);
      else
        drop_asked (self, nodes[i].rank);
    }
}

static void
dvmd_slurm_launcher_finalize (GObject *object)
{
  g_hash_table_unref (DVMD_SLURM_LAUNCHER (object)->agents);
  g_ptr_array_unref (DVMD_SLURM_LAUNCHER (object)->asking);
  G_OBJECT_CLASS (dvmd_slurm_launcher_parent_class)->finalize (object);
}

static void
dvmd_slurm_launcher_class_init (DvmdSlurmLauncherClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_slurm_launcher_finalize;
  DVMD_LAUNCHER_CLASS (klass)->launch_async = dvmd_slurm_launcher_launch_async;
  DVMD_LAUNCHER_CLASS (klass)->terminate_async = dvmd_slurm_launcher_terminate_async;
  DVMD_LAUNCHER_CLASS (klass)->kill = dvmd_slurm_launcher_kill;
}

static void
dvmd_slurm_launcher_init (DvmdSlurmLauncher *self)
{
  self->agents = g_hash_table_new_full (NULL, NULL, NULL, slurm_agent_free);
  self->asking = g_ptr_array_new ();
}

static const char *const variables[] = { "SLURM_JOB_ID", "SLURM_JOBID", NULL };

static const DvmdPluginSetting settings[] = {
  { .key = "options" },
  { .key = "prefix" },
  { .key = "timeout", .least = 1, .most = DVMD_COMMAND_LAUNCHER_MOST },
  { .key = "grace", .least = 1, .most = DVMD_COMMAND_LAUNCHER_MOST },
  { .key = NULL },
};

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_LAUNCHER,
  .name = "slurm",
  .description = "starts the agents of an allocation of Slurm by srun",
  .get_type = dvmd_slurm_launcher_get_type,
  .variables = variables,
  .settings = settings,
};
