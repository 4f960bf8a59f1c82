/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fences that go by the tree: the controller gets what was merged on the way up, and tells the result to all.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-services.h"
#include "dvmd-controller-fences.h"

typedef struct
{
  DvmdController *controller; /* unowned */
  const DvmdFenceTree *tree;  /* (nullable) */
  gpointer user_data;         /* of the tree */
  GHashTable *jobs;           /* job id -> JobFences, of jobs whose fences go by the tree */
} TreeFences;

typedef struct
{
  guint64 last;   /* sequence of the last fence that has ended */
  gboolean ended; /* none goes by the tree any more */
  gboolean failed;
} JobFences;

static TreeFences *
get_fences (DvmdController *controller)
{
  return dvmd_services_get (controller, &dvmd_tree_fences_service);
}

void
dvmd_controller_set_fence_tree (DvmdController *controller, const DvmdFenceTree *tree, gpointer user_data)
{
  TreeFences *self = get_fences (controller);

  self->tree = tree;
  self->user_data = user_data;
}

gboolean
dvmd_controller_choose_tree_fences (DvmdController *controller, DvmdJob *job)
{
  TreeFences *self = get_fences (controller);
  g_autoptr (GArray) agents = dvmd_map_get_nodes (dvmd_job_get_map (job));

  if (self->tree == NULL || agents->len < 2 || !self->tree->suits (self->user_data, agents->len))
    return FALSE;
  /* Fences that go by the tree are counted, and a process that comes back would begin anew. */
  if (dvmd_job_get_max_restarts (job) > 0)
    return FALSE;
  g_hash_table_insert (self->jobs, GUINT_TO_POINTER (dvmd_job_get_id (job)), g_new0 (JobFences, 1));
  return TRUE;
}

static void
tell_result (TreeFences *self, guint32 job, guint64 sequence, int status, GVariant *data)
{
  g_autoptr (GVariant) sunk = g_variant_ref_sink (data);
  g_autofree char *key = NULL;

  if (self->tree == NULL)
    return;
  g_debug ("Fence %u/%" G_GUINT64_FORMAT " has ended: status %d, %" G_GSIZE_FORMAT " bytes", job, sequence, status,
           g_variant_get_size (sunk));
  self->tree->broadcast (self->user_data, DVMD_MSG_FENCE_RESULT,
                         g_variant_new ("(uti@ay)", job, sequence, status, sunk));
  if (sequence == DVMD_FENCE_ALL)
    {
      key = dvmd_fence_make_prefix (job);
      self->tree->close_all (self->user_data, key);
      return;
    }
  key = dvmd_fence_make_key (job, sequence);
  self->tree->close (self->user_data, key);
}

/* NULL: it has ended. */
static JobFences *
find_open (TreeFences *self, guint32 job, guint64 sequence)
{
  JobFences *fences = g_hash_table_lookup (self->jobs, GUINT_TO_POINTER (job));

  return fences != NULL && !fences->ended && sequence > fences->last ? fences : NULL;
}

void
dvmd_controller_gathered (DvmdController *controller, const char *key, GVariant *whole)
{
  TreeFences *self = get_fences (controller);
  g_autoptr (GVariant) data = NULL;
  JobFences *fences;
  guint64 sequence;
  guint32 job;
  int status;

  if (!dvmd_fence_parse_key (key, &job, &sequence) || (fences = find_open (self, job, sequence)) == NULL)
    {
      self->tree->close (self->user_data, key);
      return;
    }
  fences->last = sequence;
  status = dvmd_fence_read (whole, &data);
  if (status == DVMD_PMIX_ERROR)
    g_message ("Fence %s: what its ranks contribute is more than %d MiB, or makes no sense", key,
               (int)(DVMD_FENCE_LIMIT / 1024 / 1024));
  tell_result (self, job, sequence, status, data);
}

static GVariant *
no_data (void)
{
  return g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, NULL, 0, 1);
}

static void
handle_given_up (gpointer service, guint source, GVariant *body)
{
  TreeFences *self = service;
  JobFences *fences;
  guint64 sequence;
  guint32 job;
  gint32 status;

  g_variant_get (body, "(uti)", &job, &sequence, &status);
  fences = find_open (self, job, sequence);
  if (fences == NULL || sequence == DVMD_FENCE_ALL)
    return;
  fences->last = sequence;
  tell_result (self, job, sequence, status, no_data ());
}

/* Its agents end what waits there. */
static void
job_killed (gpointer service, DvmdJob *job)
{
  JobFences *fences = g_hash_table_lookup (((TreeFences *)service)->jobs, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  if (fences != NULL)
    fences->ended = fences->failed = TRUE;
}

/* The survivors go on without the tree: fences of all are refused then, and those of others are not. */
static void
leave_tree (TreeFences *self, guint32 job, JobFences *fences)
{
  fences->ended = TRUE;
  tell_result (self, job, DVMD_FENCE_ALL, DVMD_PMIX_ERR_LOST_CONNECTION, no_data ());
}

/* A rank that was alone on its node, or has never connected there, is missed by nobody else. */
static void
proc_ended (gpointer service, DvmdJob *job, guint32 rank)
{
  JobFences *fences = g_hash_table_lookup (((TreeFences *)service)->jobs, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  if (fences == NULL || fences->ended)
    return;
  /* That is how each rank of a job ends that needs all of them. */
  if (dvmd_job_is_recoverable (job)
      || dvmd_proc_table_row (dvmd_job_get_procs (job), rank)->state != DVM_PROC_STATE_TERMINATED)
    leave_tree (service, dvmd_job_get_id (job), fences);
}

static void
agent_gone (gpointer service, guint rank)
{
  TreeFences *self = service;
  GHashTableIter iter;
  gpointer id;
  gpointer value;

  g_hash_table_iter_init (&iter, self->jobs);
  while (g_hash_table_iter_next (&iter, &id, &value))
    {
      JobFences *fences = value;
      DvmdJob *job = dvmd_core_get_job (dvmd_controller_get_core (self->controller), GPOINTER_TO_UINT (id));

      if (fences->ended || job == NULL || dvmd_job_get_map (job) == NULL
          || dvmd_map_count_on_node (dvmd_job_get_map (job), rank) == 0)
        continue;
      leave_tree (self, GPOINTER_TO_UINT (id), fences);
    }
}

gboolean
dvmd_controller_has_failed_fences (DvmdController *controller, DvmdJob *job)
{
  JobFences *fences = g_hash_table_lookup (get_fences (controller)->jobs, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  return fences != NULL && fences->failed;
}

/* Nothing of its fences is kept anywhere. */
static void
job_ended (gpointer service, DvmdJob *job)
{
  TreeFences *self = service;

  /* A process that has contributed had registered before. */
  if (g_hash_table_remove (self->jobs, GUINT_TO_POINTER (dvmd_job_get_id (job)))
      && dvm_job_get_num_registered (dvmd_job_get_record (job)) > 0)
    tell_result (self, dvmd_job_get_id (job), DVMD_FENCE_ALL, DVMD_PMIX_ERR_LOST_CONNECTION, no_data ());
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  TreeFences *self = service;

  dvmd_services_add_number (statistics, "tree-fence-jobs", g_hash_table_size (self->jobs));
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  TreeFences *self = g_new0 (TreeFences, 1);

  self->controller = controller;
  self->jobs = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  return self;
}

static void
tree_fences_free (gpointer service)
{
  TreeFences *self = service;

  g_hash_table_unref (self->jobs);
  g_free (self);
}

static const DvmdHandler handlers[] = { { DVMD_MSG_FENCE_GIVEN_UP, handle_given_up }, { 0 } };

const DvmdService dvmd_tree_fences_service = {
  .name = "tree-fences",
  .create = create,
  .free = tree_fences_free,
  .handlers = handlers,
  .job_killed = job_killed,
  .job_ended = job_ended,
  .proc_ended = proc_ended,
  .agent_gone = agent_gone,
  .add_statistics = add_statistics,
};
