/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fences that go by the tree: the controller gets what was merged on the way up, and tells the result to all.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-private.h"

typedef struct
{
  guint64 last;   /* sequence of the last fence that has ended */
  gboolean ended; /* none goes by the tree any more */
  gboolean failed;
} JobFences;

void
dvmd_controller_set_fence_tree (DvmdController *self, const DvmdFenceTree *tree, gpointer world)
{
  self->fence_tree = tree;
  self->fence_world = world;
}

gboolean
dvmd_controller_choose_tree_fences (DvmdController *self, DvmdJob *job)
{
  g_autoptr (GArray) agents = dvmd_map_get_nodes (dvmd_job_get_map (job));

  if (self->fence_tree == NULL || agents->len < 2 || !self->fence_tree->suits (self->fence_world, agents->len))
    return FALSE;
  g_hash_table_insert (self->tree_fences, GUINT_TO_POINTER (dvmd_job_get_id (job)), g_new0 (JobFences, 1));
  return TRUE;
}

static void
tell_result (DvmdController *self, guint32 job, guint64 sequence, int status, GVariant *data)
{
  g_autoptr (GVariant) sunk = g_variant_ref_sink (data);
  g_autofree char *key = NULL;

  if (self->fence_tree == NULL)
    return;
  g_debug ("Fence %u/%" G_GUINT64_FORMAT " has ended: status %d, %" G_GSIZE_FORMAT " bytes", job, sequence, status,
           g_variant_get_size (sunk));
  self->fence_tree->broadcast (self->fence_world, DVMD_MSG_FENCE_RESULT,
                               g_variant_new ("(uti@ay)", job, sequence, status, sunk));
  if (sequence == DVMD_FENCE_ALL)
    {
      key = dvmd_fence_make_prefix (job);
      self->fence_tree->close_all (self->fence_world, key);
      return;
    }
  key = dvmd_fence_make_key (job, sequence);
  self->fence_tree->close (self->fence_world, key);
}

/* NULL: it has ended. */
static JobFences *
find_open (DvmdController *self, guint32 job, guint64 sequence)
{
  JobFences *fences = g_hash_table_lookup (self->tree_fences, GUINT_TO_POINTER (job));

  return fences != NULL && !fences->ended && sequence > fences->last ? fences : NULL;
}

void
dvmd_controller_gathered (DvmdController *self, const char *key, GVariant *whole)
{
  g_autoptr (GVariant) data = NULL;
  JobFences *fences;
  guint64 sequence;
  guint32 job;
  int status;

  if (!dvmd_fence_parse_key (key, &job, &sequence) || (fences = find_open (self, job, sequence)) == NULL)
    {
      self->fence_tree->close (self->fence_world, key);
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

void
dvmd_controller_handle_fence_given_up (DvmdController *self, guint source, GVariant *body)
{
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

void
dvmd_controller_end_tree_fences (DvmdController *self, DvmdJob *job)
{
  JobFences *fences = g_hash_table_lookup (self->tree_fences, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  if (fences != NULL)
    fences->ended = fences->failed = TRUE;
}

/* The survivors go on without the tree: fences of all are refused then, and those of others are not. */
void
dvmd_controller_break_tree_fences (DvmdController *self, guint rank)
{
  GHashTableIter iter;
  gpointer id;
  gpointer value;

  g_hash_table_iter_init (&iter, self->tree_fences);
  while (g_hash_table_iter_next (&iter, &id, &value))
    {
      JobFences *fences = value;
      DvmdJob *job = dvmd_core_get_job (self->core, GPOINTER_TO_UINT (id));

      if (fences->ended || job == NULL || dvmd_job_get_map (job) == NULL
          || dvmd_map_count_on_node (dvmd_job_get_map (job), rank) == 0)
        continue;
      fences->ended = TRUE;
      tell_result (self, GPOINTER_TO_UINT (id), DVMD_FENCE_ALL, DVMD_PMIX_ERR_LOST_CONNECTION, no_data ());
    }
}

gboolean
dvmd_controller_has_failed_fences (DvmdController *self, DvmdJob *job)
{
  JobFences *fences = g_hash_table_lookup (self->tree_fences, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  return fences != NULL && fences->failed;
}

void
dvmd_controller_forget_tree_fences (DvmdController *self, DvmdJob *job)
{
  /* Whoever has contributed had registered. */
  if (g_hash_table_remove (self->tree_fences, GUINT_TO_POINTER (dvmd_job_get_id (job)))
      && dvm_job_get_num_registered (dvmd_job_get_record (job)) > 0)
    tell_result (self, dvmd_job_get_id (job), DVMD_FENCE_ALL, DVMD_PMIX_ERR_LOST_CONNECTION, no_data ());
}
