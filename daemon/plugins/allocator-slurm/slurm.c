/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of the Slurm job that the DVM is in, and those by which it makes the job larger; those that leave the DVM
 * are given back to Slurm. Its setting:
 * "release" (false: they are kept until the job ends).
 */

#include "config.h"

#include "environment-allocator.h"
#include "slurm-grow.h"
#include "slurm-job.h"

#define DVMD_TYPE_SLURM_ALLOCATOR (dvmd_slurm_allocator_get_type ())
G_DECLARE_FINAL_TYPE (DvmdSlurmAllocator, dvmd_slurm_allocator, DVMD, SLURM_ALLOCATOR, DvmdEnvironmentAllocator)

struct _DvmdSlurmAllocator
{
  DvmdEnvironmentAllocator parent_instance;

  SlurmJob *job;    /* (nullable): the DVM was started in it */
  GPtrArray *held;  /* names of the nodes that it has */
  GPtrArray *spare; /* those of them that have left the DVM, and that Slurm has not taken back */
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

/* ---- more nodes ---- */

typedef struct
{
  guint32 slots;
  GPtrArray *spare; /* names: those that the job has already */
} Wish;

static void give_back (DvmdSlurmAllocator *self, const char *const *names, GTask *task);

static void
wish_free (gpointer data)
{
  Wish *self = data;

  g_ptr_array_unref (self->spare);
  g_free (self);
}

static void
add_node (Wish *wish, DvmdAllocation *allocation, const char *name)
{
  dvmd_allocation_add_node (allocation, name, wish->slots, 0);
}

/* task is taken. names: (nullable): those that the job has got now */
static void
answer (GTask *task, char **names)
{
  DvmdSlurmAllocator *self = g_task_get_source_object (task);
  Wish *wish = g_task_get_task_data (task);
  DvmdAllocation *allocation = dvmd_allocation_new (NULL);

  for (guint i = 0; i < wish->spare->len; i++)
    add_node (wish, allocation, wish->spare->pdata[i]);
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      add_node (wish, allocation, names[i]);
      g_ptr_array_add (self->held, g_strdup (names[i]));
    }
  /* Nobody waits for them any more. */
  if (names != NULL && g_cancellable_is_cancelled (g_task_get_cancellable (task)))
    give_back (self, (const char *const *)names, g_task_new (self, NULL, NULL, NULL));
  g_task_return_pointer (task, allocation, (GDestroyNotify)dvmd_allocation_unref);
  g_object_unref (task);
}

static void
on_grown (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  DvmdSlurmAllocator *self = g_task_get_source_object (task);
  Wish *wish = g_task_get_task_data (task);
  GError *error = NULL;
  g_auto (GStrv) names = slurm_grow_finish (result, &error);

  if (names != NULL)
    {
      answer (task, names);
      return;
    }
  g_ptr_array_extend_and_steal (self->spare, g_ptr_array_ref (wish->spare));
  g_task_return_error (task, error);
  g_object_unref (task);
}

/* As many slots as the nodes that the job has had: its tasks have been counted before. */
static guint32
find_slots (DvmdSlurmAllocator *self, const DvmdAllocationRequest *request)
{
  guint n_nodes;
  const DvmdPluginNode *nodes = dvmd_allocation_get_nodes (self->job->allocation, &n_nodes);

  return request->slots > 0 ? request->slots : n_nodes > 0 ? nodes[0].slots : 0;
}

/* -1: it is none */
static int
find_spare (DvmdSlurmAllocator *self, const char *name)
{
  for (guint i = 0; i < self->spare->len; i++)
    if (g_ascii_strcasecmp (self->spare->pdata[i], name) == 0)
      return (int)i;
  return -1;
}

/* Nodes that are named are asked for here if all of them are the job's, and have been in the DVM. */
static gboolean
is_for_job (DvmdSlurmAllocator *self, const DvmdAllocationRequest *request)
{
  if (self->job == NULL || request->n_logical > 0)
    return FALSE;
  for (guint i = 0; request->hosts != NULL && request->hosts[i] != NULL; i++)
    if (find_spare (self, request->hosts[i]) < 0)
      return FALSE;
  return request->hosts != NULL || request->count > 0;
}

static void
find_more (DvmdSlurmAllocator *self, const DvmdAllocationRequest *request, GTask *task)
{
  const char *id = dvmd_allocation_get_id (self->job->allocation);
  Wish *wish = g_new0 (Wish, 1);

  wish->slots = find_slots (self, request);
  wish->spare = g_ptr_array_new_with_free_func (g_free);
  g_task_set_task_data (task, wish, wish_free);
  for (guint i = 0; request->hosts != NULL && request->hosts[i] != NULL; i++)
    {
      int at = find_spare (self, request->hosts[i]);

      if (at >= 0)
        g_ptr_array_add (wish->spare, g_ptr_array_steal_index (self->spare, (guint)at));
    }
  while (wish->spare->len < request->count && self->spare->len > 0)
    g_ptr_array_add (wish->spare, g_ptr_array_steal_index (self->spare, 0));
  if (wish->spare->len >= request->count)
    answer (task, NULL);
  else
    slurm_grow_async (dvmd_plugin_get_host (self), id, request->count - wish->spare->len, g_task_get_cancellable (task),
                      on_grown, task);
}

static void
dvmd_slurm_allocator_allocate_async (DvmdAllocator *allocator, const DvmdAllocationRequest *request,
                                     GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdSlurmAllocator *self = DVMD_SLURM_ALLOCATOR (allocator);

  if (!is_for_job (self, request))
    DVMD_ALLOCATOR_CLASS (dvmd_slurm_allocator_parent_class)
        ->allocate_async (allocator, request, cancellable, callback, user_data);
  else if (self->job->heterogeneous)
    g_task_report_new_error (allocator, callback, user_data, NULL, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                             "Job %s of Slurm is heterogeneous, and dvm does not make such a job larger",
                             dvmd_allocation_get_id (self->job->allocation));
  else
    find_more (self, request, g_task_new (self, cancellable, callback, user_data));
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
      if (leaves && has_script)
        g_ptr_array_add (self->spare, g_strdup (held->pdata[i]));
      g_ptr_array_add (leaves && !has_script ? released : self->held, g_steal_pointer (&held->pdata[i]));
    }
  return released;
}

/* The job has the nodes as before; the next grow gets them. */
static void
hold_again (DvmdSlurmAllocator *self, GPtrArray *released)
{
  for (guint i = 0; i < released->len; i++)
    g_ptr_array_add (self->spare, g_strdup (released->pdata[i]));
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
      words = slurm_get_words (&outcome);
      error = g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "job %s of Slurm keeps them; scontrol says: %s",
                           dvmd_allocation_get_id (self->job->allocation), words);
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
spawn_scontrol (DvmdSlurmAllocator *self, GTask *task)
{
  g_autofree char *job = g_strconcat ("JobId=", dvmd_allocation_get_id (self->job->allocation), NULL);
  g_autoptr (GString) nodes = g_string_new ("NodeList=");
  const char *argv[] = { "scontrol", "update", job, NULL, NULL };
  DvmdPluginCommand command = { .argv = argv };
  g_auto (GStrv) environ = slurm_get_environ ();

  for (guint i = 0; i < self->held->len; i++)
    g_string_append_printf (nodes, "%s%s", i > 0 ? "," : "", (char *)self->held->pdata[i]);
  /* In a job scontrol writes scripts into its directory, by which a shell would learn of its new size. */
  argv[3] = nodes->str;
  command.environ = (const char *const *)environ;
  dvmd_plugin_host_spawn_async (dvmd_plugin_get_host (self), &command, g_task_get_cancellable (task), on_released,
                                task);
}

/* asked is taken */
static void
give_back (DvmdSlurmAllocator *self, const char *const *names, GTask *asked)
{
  g_autoptr (GTask) task = asked;
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
      spawn_scontrol (self, g_steal_pointer (&task));
      return;
    }
  hold_again (self, released);
  g_task_return_error (task, error);
}

static void
dvmd_slurm_allocator_give_back_async (DvmdAllocator *allocator, const char *alloc_id, const char *const *names,
                                      GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  give_back (DVMD_SLURM_ALLOCATOR (allocator), names, g_task_new (allocator, cancellable, callback, user_data));
}

/* ---- the class ---- */

static void
dvmd_slurm_allocator_finalize (GObject *object)
{
  DvmdSlurmAllocator *self = DVMD_SLURM_ALLOCATOR (object);

  g_clear_pointer (&self->job, slurm_job_free);
  g_ptr_array_unref (self->held);
  g_ptr_array_unref (self->spare);
  G_OBJECT_CLASS (dvmd_slurm_allocator_parent_class)->finalize (object);
}

static void
dvmd_slurm_allocator_class_init (DvmdSlurmAllocatorClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_slurm_allocator_finalize;
  DVMD_ENVIRONMENT_ALLOCATOR_CLASS (klass)->read = dvmd_slurm_allocator_read;
  DVMD_ALLOCATOR_CLASS (klass)->allocate_async = dvmd_slurm_allocator_allocate_async;
  DVMD_ALLOCATOR_CLASS (klass)->give_back_async = dvmd_slurm_allocator_give_back_async;
}

static void
dvmd_slurm_allocator_init (DvmdSlurmAllocator *self)
{
  self->held = g_ptr_array_new_with_free_func (g_free);
  self->spare = g_ptr_array_new_with_free_func (g_free);
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
