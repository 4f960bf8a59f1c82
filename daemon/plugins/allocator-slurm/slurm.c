/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of the Slurm job that the DVM is in; those that leave the DVM are given back to Slurm. Its setting:
 * "release" (false: they are kept until the job ends).
 */

#include "config.h"

#include "environment-allocator.h"
#include "slurm-job.h"

/* Bytes of what scontrol says that are shown. */
#define SHOWN 300

#define DVMD_TYPE_SLURM_ALLOCATOR (dvmd_slurm_allocator_get_type ())
G_DECLARE_FINAL_TYPE (DvmdSlurmAllocator, dvmd_slurm_allocator, DVMD, SLURM_ALLOCATOR, DvmdEnvironmentAllocator)

struct _DvmdSlurmAllocator
{
  DvmdEnvironmentAllocator parent_instance;

  SlurmJob *job;   /* (nullable): the DVM was started in it */
  GPtrArray *held; /* names of the nodes that it has */
};

G_DEFINE_FINAL_TYPE (DvmdSlurmAllocator, dvmd_slurm_allocator, DVMD_TYPE_ENVIRONMENT_ALLOCATOR)

/* ---- the start ---- */

static DvmdAllocation *
dvmd_slurm_allocator_read (DvmdEnvironmentAllocator *allocator, const char *const *environ, GError **error)
{
  DvmdSlurmAllocator *self = DVMD_SLURM_ALLOCATOR (allocator);
  SlurmJob *job = slurm_job_read (environ, error);
  const DvmdPluginNode *nodes;
  guint n_nodes;

  if (job == NULL)
    return NULL;
  g_clear_pointer (&self->job, slurm_job_free);
  self->job = job;
  g_ptr_array_set_size (self->held, 0);
  nodes = dvmd_allocation_get_nodes (job->allocation, &n_nodes);
  for (guint i = 0; i < n_nodes; i++)
    g_ptr_array_add (self->held, g_strdup (nodes[i].name));
  dvmd_plugin_host_log (dvmd_plugin_get_host (self), G_LOG_LEVEL_INFO, "job %s of Slurm has %u node%s",
                        dvmd_allocation_get_id (job->allocation), n_nodes, n_nodes == 1 ? "" : "s");
  return dvmd_allocation_ref (job->allocation);
}

/* ---- nodes are given back ---- */

/* (transfer full): those of the names that the job has and can do without, which are no longer held */
static GPtrArray *
take_released (DvmdSlurmAllocator *self, const char *const *names, gboolean *stays)
{
  g_autoptr (GHashTable) leaving = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray) held = g_steal_pointer (&self->held);
  GPtrArray *released = g_ptr_array_new_with_free_func (g_free);
  const char *script_node = self->job->script_node;

  self->held = g_ptr_array_new_with_free_func (g_free);
  for (; *names != NULL; names++)
    g_hash_table_add (leaving, g_ascii_strdown (*names, -1));
  for (guint i = 0; i < held->len; i++)
    {
      g_autofree char *key = g_ascii_strdown (held->pdata[i], -1);
      gboolean leaves = g_hash_table_contains (leaving, key);
      gboolean has_script = script_node != NULL && g_ascii_strcasecmp (script_node, held->pdata[i]) == 0;

      *stays |= leaves && has_script;
      g_ptr_array_add (leaves && !has_script ? released : self->held, g_steal_pointer (&held->pdata[i]));
    }
  return released;
}

/* The nodes are held as before. */
static void
hold_again (DvmdSlurmAllocator *self, GPtrArray *released)
{
  g_ptr_array_extend_and_steal (self->held, g_ptr_array_ref (released));
}

/* (nullable): why Slurm is not asked */
static GError *
find_obstacle (DvmdSlurmAllocator *self, GPtrArray *released, gboolean stays)
{
  const char *id = dvmd_allocation_get_id (self->job->allocation);
  const char *setting = dvmd_plugin_host_get_setting (dvmd_plugin_get_host (self), "release");

  if (setting != NULL && g_ascii_strcasecmp (setting, "false") == 0)
    return g_error_new (DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                        "job %s of Slurm keeps them: the setting allocator-slurm.release is false", id);
  if (setting != NULL && g_ascii_strcasecmp (setting, "true") != 0)
    return g_error_new (DVM_ERROR, DVM_ERROR_BAD_PARAM, "allocator-slurm.release is “%s”: it is true or false",
                        setting);
  if (self->job->heterogeneous)
    return g_error_new (DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                        "job %s of Slurm is heterogeneous, and dvm does not make such a job smaller", id);
  if (released->len == 0 && stays)
    return g_error_new (DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                        "%s stays in job %s of Slurm: what has started the DVM runs on it", self->job->script_node, id);
  if (self->held->len == 0)
    return g_error_new (DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                        "job %s of Slurm would have no node left; \"scancel %s\" ends it", id, id);
  return NULL;
}

static void
on_released (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  DvmdSlurmAllocator *self = g_task_get_source_object (task);
  DvmdPluginOutcome outcome = { 0 };
  g_autofree char *words = NULL;
  GError *error = NULL;

  if (dvmd_plugin_host_spawn_finish (DVMD_PLUGIN_HOST (source), result, &outcome, &error) && outcome.exit_code != 0)
    {
      gsize length;
      const char *bytes = g_bytes_get_data (outcome.messages, &length);
      g_autofree char *start = g_strndup (bytes != NULL ? bytes : "", MIN (length, SHOWN));

      words = g_strdelimit (g_strstrip (g_utf8_make_valid (start, -1)), "\n", ' ');
      error = g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "job %s of Slurm keeps them; scontrol says: %s",
                           dvmd_allocation_get_id (self->job->allocation), words[0] != '\0' ? words : "nothing");
    }
  dvmd_plugin_outcome_clear (&outcome);
  if (error != NULL)
    {
      hold_again (self, g_task_get_task_data (task));
      g_task_return_error (task, error);
      return;
    }
  g_task_return_boolean (task, TRUE);
}

/* Slurm takes the nodes that a job keeps, not those that it gives back. */
static void
spawn_scontrol (DvmdSlurmAllocator *self, GCancellable *cancellable, GTask *task)
{
  g_autofree char *job = g_strconcat ("JobId=", dvmd_allocation_get_id (self->job->allocation), NULL);
  g_autoptr (GString) nodes = g_string_new ("NodeList=");
  const char *argv[] = { "scontrol", "update", job, NULL, NULL };
  DvmdPluginCommand command = { .argv = argv };
  g_auto (GStrv) environ = g_get_environ ();

  for (guint i = 0; i < self->held->len; i++)
    g_string_append_printf (nodes, "%s%s", i > 0 ? "," : "", (char *)self->held->pdata[i]);
  /* In a job scontrol writes scripts into its directory, by which a shell would learn of its new size. */
  environ = g_environ_unsetenv (environ, "SLURM_JOBID");
  argv[3] = nodes->str;
  command.environ = (const char *const *)environ;
  dvmd_plugin_host_spawn_async (dvmd_plugin_get_host (self), &command, cancellable, on_released, task);
}

static void
dvmd_slurm_allocator_give_back_async (DvmdAllocator *allocator, const char *alloc_id, const char *const *names,
                                      GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdSlurmAllocator *self = DVMD_SLURM_ALLOCATOR (allocator);
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  gboolean stays = FALSE;
  GPtrArray *released;
  GError *error;

  released = self->job != NULL ? take_released (self, names, &stays) : g_ptr_array_new ();
  g_task_set_task_data (task, released, (GDestroyNotify)g_ptr_array_unref);
  if (released->len == 0 && !stays)
    {
      g_task_return_boolean (task, FALSE);
      return;
    }
  error = find_obstacle (self, released, stays);
  if (error == NULL)
    {
      spawn_scontrol (self, cancellable, g_steal_pointer (&task));
      return;
    }
  hold_again (self, released);
  g_task_return_error (task, error);
}

/* ---- the class ---- */

static void
dvmd_slurm_allocator_finalize (GObject *object)
{
  DvmdSlurmAllocator *self = DVMD_SLURM_ALLOCATOR (object);

  g_clear_pointer (&self->job, slurm_job_free);
  g_ptr_array_unref (self->held);
  G_OBJECT_CLASS (dvmd_slurm_allocator_parent_class)->finalize (object);
}

static void
dvmd_slurm_allocator_class_init (DvmdSlurmAllocatorClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_slurm_allocator_finalize;
  DVMD_ENVIRONMENT_ALLOCATOR_CLASS (klass)->read = dvmd_slurm_allocator_read;
  DVMD_ALLOCATOR_CLASS (klass)->give_back_async = dvmd_slurm_allocator_give_back_async;
}

static void
dvmd_slurm_allocator_init (DvmdSlurmAllocator *self)
{
  self->held = g_ptr_array_new_with_free_func (g_free);
}

static const char *const variables[] = { "SLURM_JOB_ID", "SLURM_JOBID", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_ALLOCATOR,
  .name = "slurm",
  .description = "takes the nodes of the Slurm job that the DVM is in",
  .get_type = dvmd_slurm_allocator_get_type,
  .variables = variables,
};
