/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents of the nodes of an allocation of Slurm, by one srun for all that are started together. Its settings: "prefix"
 * (where dvm is installed on the nodes), "options" (more of srun's), and "timeout" and "grace" as other launchers have
 * them.
 */

#include "config.h"

#include "host-list.h"
#include "slurm-step.h"

#include <string.h>

/* Nodes of one step. Each gets the tokens of all, and the list of them is one argument. */
#define MOST_NODES 1000

#define DVMD_TYPE_SLURM_LAUNCHER (dvmd_slurm_launcher_get_type ())
G_DECLARE_FINAL_TYPE (DvmdSlurmLauncher, dvmd_slurm_launcher, DVMD, SLURM_LAUNCHER, DvmdLauncher)

struct _DvmdSlurmLauncher
{
  DvmdLauncher parent_instance;

  GHashTable *agents; /* rank -> SlurmAgent, all */
};

G_DEFINE_FINAL_TYPE (DvmdSlurmLauncher, dvmd_slurm_launcher, DVMD_TYPE_LAUNCHER)

static void
start_free (SlurmStart *start)
{
  g_strfreev (start->nodes);
  g_free (start->ranks);
  g_ptr_array_unref (start->inputs);
  g_strfreev (start->agent_argv);
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
  guint n_nodes = g_strv_length (start->nodes);
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
are_in_list (char **nodes, const char *list)
{
  g_auto (GStrv) names = list != NULL ? dvmd_host_list_expand (list, "", NULL) : NULL;
  g_autoptr (GHashTable) known = g_hash_table_new (g_str_hash, g_str_equal);

  for (gsize i = 0; names != NULL && names[i] != NULL; i++)
    g_hash_table_add (known, names[i]);
  for (gsize i = 0; nodes[i] != NULL; i++)
    if (!g_hash_table_contains (known, nodes[i]))
      return FALSE;
  return TRUE;
}

static gboolean
are_in_environment (char **nodes)
{
  const char *list = g_getenv ("SLURM_JOB_NODELIST");

  return are_in_list (nodes, list != NULL ? list : g_getenv ("SLURM_NODELIST"));
}

static void
on_nodes_told (GObject *source, GAsyncResult *result, gpointer user_data)
{
  SlurmStart *start = user_data;
  DvmdSlurmLauncher *self = g_task_get_source_object (start->call->task);
  DvmdPluginOutcome outcome = { 0 };
  g_autofree char *list = NULL;

  if (dvmd_plugin_host_spawn_finish (DVMD_PLUGIN_HOST (source), result, &outcome, NULL) && outcome.exit_code == 0)
    {
      gsize length;
      const char *bytes = g_bytes_get_data (outcome.output, &length);

      list = g_strstrip (g_strndup (bytes != NULL ? bytes : "", length));
    }
  dvmd_plugin_outcome_clear (&outcome);
  if (are_in_list (start->nodes, list))
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
  g_autofree char *jobs = g_strdup_printf ("--jobs=%s", slurm_get_job ());
  const char *argv[] = { "squeue", "--noheader", jobs, "--format=%N", NULL };
  const DvmdPluginCommand command = { .argv = argv };

  dvmd_plugin_host_spawn_async (dvmd_plugin_get_host (self), &command, g_task_get_cancellable (start->call->task),
                                on_nodes_told, start);
}

/* ---- the class ---- */

/* An address is another way than Slurm's. */
static gboolean
is_for_slurm (const DvmdLaunchRequest *request)
{
  for (guint i = 0; i < request->n_nodes; i++)
    if (request->nodes[i].address != NULL && strcmp (request->nodes[i].address, request->nodes[i].name) != 0)
      return FALSE;
  return !request->logical && slurm_get_job () != NULL;
}

static SlurmStart *
copy_request (const DvmdLaunchRequest *request, DvmdLaunchCall *call)
{
  SlurmStart *start = g_new0 (SlurmStart, 1);

  start->call = call;
  start->nodes = g_new0 (char *, request->n_nodes + 1);
  start->ranks = g_new (guint32, request->n_nodes);
  start->inputs = g_ptr_array_new_with_free_func ((GDestroyNotify)g_bytes_unref);
  start->agent_argv = g_strdupv ((char **)request->agent_argv);
  for (guint i = 0; i < request->n_nodes; i++)
    {
      start->nodes[i] = g_strdup (request->nodes[i].name);
      start->ranks[i] = request->nodes[i].rank;
      g_ptr_array_add (start->inputs,
                       g_bytes_ref (request->node_inputs != NULL ? request->node_inputs[i] : request->agent_input));
    }
  return start;
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
  start = copy_request (request, call);
  if (are_in_environment (start->nodes))
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

      if (agent == NULL)
        continue;
      n_found++;
      slurm_agent_end (agent, call);
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
    }
}

static void
dvmd_slurm_launcher_finalize (GObject *object)
{
  g_hash_table_unref (DVMD_SLURM_LAUNCHER (object)->agents);
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
}

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_LAUNCHER,
  .name = "slurm",
  .description = "starts the agents of an allocation of Slurm by srun",
  .get_type = dvmd_slurm_launcher_get_type,
};
