/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The description of a job that a PMIx server must know: nodes, applications, ranks.
 */

#include "config.h"

#include "dvmd-pmix-job.h"

#include <string.h>
#include <unistd.h>

#include "dvm.h"
#include "dvmd-pmix-host.h"

/* PMIX_MAX_NSLEN */
#define MAX_NSPACE 255

G_DEFINE_BOXED_TYPE (DvmdPmixJob, dvmd_pmix_job, dvmd_pmix_job_ref, dvmd_pmix_job_unref)

static void
app_free (gpointer data)
{
  DvmdPmixApp *app = data;

  g_strfreev (app->argv);
  g_free (app->cwd);
  g_free (app->map_by);
  g_free (app->rank_by);
  g_free (app->bind_to);
  g_free (app->pset);
  g_free (app);
}

static void
rank_clear (gpointer data)
{
  DvmdPmixRank *rank = data;

  g_free (rank->cpuset);
  g_free (rank->devices);
}

DvmdPmixJob *
dvmd_pmix_job_new (const char *nspace, const char *const *nodes, guint32 my_node)
{
  DvmdPmixJob *self = g_new0 (DvmdPmixJob, 1);

  g_atomic_ref_count_init (&self->ref_count);
  self->nspace = g_strdup (nspace);
  self->nodes = g_strdupv ((char **)nodes);
  self->n_nodes = g_strv_length (self->nodes);
  self->my_node = my_node;
  self->ids = g_new (guint32, self->n_nodes);
  for (guint32 i = 0; i < self->n_nodes; i++)
    self->ids[i] = i;
  self->apps = g_ptr_array_new_with_free_func (app_free);
  self->ranks = g_array_new (FALSE, TRUE, sizeof (DvmdPmixRank));
  g_array_set_clear_func (self->ranks, rank_clear);
  self->uid = getuid ();
  self->gid = getgid ();
  return self;
}

DvmdPmixJob *
dvmd_pmix_job_ref (DvmdPmixJob *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
dvmd_pmix_job_unref (DvmdPmixJob *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_free (self->nspace);
  g_strfreev (self->nodes);
  g_free (self->ids);
  g_ptr_array_unref (self->apps);
  g_array_unref (self->ranks);
  g_free (self->parent_nspace);
  g_free (self->alloc_id);
  g_clear_pointer (&self->info, g_variant_unref);
  g_free (self);
}

void
dvmd_pmix_job_set_node_ids (DvmdPmixJob *self, const guint32 *ids)
{
  for (guint32 i = 0; i < self->n_nodes; i++)
    self->ids[i] = ids[i];
}

void
dvmd_pmix_job_add_app (DvmdPmixJob *self, const char *const *argv, const char *cwd, guint32 n_procs)
{
  DvmdPmixApp *app = g_new0 (DvmdPmixApp, 1);

  app->argv = g_strdupv ((char **)argv);
  app->cwd = g_strdup (cwd);
  app->n_procs = n_procs;
  if (self->apps->len > 0)
    {
      const DvmdPmixApp *last = g_ptr_array_index (self->apps, self->apps->len - 1);

      app->first_rank = last->first_rank + last->n_procs;
    }
  g_ptr_array_add (self->apps, app);
}

void
dvmd_pmix_job_set_policies (DvmdPmixJob *self, guint32 app, const char *map_by, const char *rank_by,
                            const char *bind_to)
{
  DvmdPmixApp *row = g_ptr_array_index (self->apps, app);

  row->map_by = g_strdup (map_by);
  row->rank_by = g_strdup (rank_by);
  row->bind_to = g_strdup (bind_to);
}

void
dvmd_pmix_job_set_pset (DvmdPmixJob *self, guint32 app, const char *pset)
{
  DvmdPmixApp *row = g_ptr_array_index (self->apps, app);

  row->pset = pset != NULL && pset[0] != '\0' ? g_strdup (pset) : NULL;
}

/* Ranks come in order, so the application is that of the rank before, or one of the next. */
static guint32
find_app (DvmdPmixJob *self, guint32 rank)
{
  guint32 app = rank > 0 ? g_array_index (self->ranks, DvmdPmixRank, rank - 1).app : 0;

  while (app < self->apps->len)
    {
      const DvmdPmixApp *candidate = g_ptr_array_index (self->apps, app);

      if (rank - candidate->first_rank < candidate->n_procs)
        break;
      app++;
    }
  return app;
}

void
dvmd_pmix_job_add_rank (DvmdPmixJob *self, guint32 node, guint16 local_rank, guint16 node_rank, const char *cpuset)
{
  guint32 rank = self->ranks->len;
  DvmdPmixRank row = {
    .app = find_app (self, rank),
    .node = node,
    .local_rank = local_rank,
    .node_rank = node_rank,
    .cpuset = g_strdup (cpuset),
  };

  if (row.app < self->apps->len)
    row.app_rank = rank - ((DvmdPmixApp *)g_ptr_array_index (self->apps, row.app))->first_rank;
  g_array_append_val (self->ranks, row);
}

void
dvmd_pmix_job_set_devices (DvmdPmixJob *self, guint32 rank, const char *devices)
{
  DvmdPmixRank *row;

  g_return_if_fail (rank < self->ranks->len);

  row = &g_array_index (self->ranks, DvmdPmixRank, rank);
  g_free (row->devices);
  row->devices = g_strdup (devices);
}

guint32
dvmd_pmix_job_get_size (DvmdPmixJob *self)
{
  return self->ranks->len;
}

const DvmdPmixRank *
dvmd_pmix_job_get_rank (DvmdPmixJob *self, guint32 rank)
{
  g_return_val_if_fail (rank < self->ranks->len, NULL);
  return &g_array_index (self->ranks, DvmdPmixRank, rank);
}

guint32
dvmd_pmix_job_count_on_node (DvmdPmixJob *self, guint32 node)
{
  guint32 count = 0;

  for (guint32 i = 0; i < self->ranks->len; i++)
    count += g_array_index (self->ranks, DvmdPmixRank, i).node == node;
  return count;
}

gboolean
dvmd_pmix_job_has_local_rank (DvmdPmixJob *self, guint32 rank)
{
  if (rank == DVMD_PMIX_RANK_WILDCARD)
    return dvmd_pmix_job_count_on_node (self, self->my_node) > 0;
  return rank < self->ranks->len && g_array_index (self->ranks, DvmdPmixRank, rank).node == self->my_node;
}

static gboolean
validate_ranks (DvmdPmixJob *self, GError **error)
{
  for (guint32 i = 0; i < self->ranks->len; i++)
    {
      const DvmdPmixRank *rank = &g_array_index (self->ranks, DvmdPmixRank, i);

      if (rank->node < self->n_nodes && rank->app < self->apps->len)
        continue;
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "Rank %u of job %s is on node %u of %u and in application %u of %u", i, self->nspace, rank->node,
                   self->n_nodes, rank->app, self->apps->len);
      return FALSE;
    }
  return TRUE;
}

static gboolean
validate_nspace (const char *nspace, GError **error)
{
  /* The namespace is the name of a directory below sessions/ as well. */
  if (nspace != NULL && nspace[0] != '\0' && nspace[0] != '.' && strchr (nspace, '/') == NULL
      && strlen (nspace) <= MAX_NSPACE)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "“%s” is not a namespace: 1 to %d bytes without “/” and not beginning with “.” are wanted",
               nspace != NULL ? nspace : "", MAX_NSPACE);
  return FALSE;
}

gboolean
dvmd_pmix_job_validate (DvmdPmixJob *self, GError **error)
{
  guint32 n_procs = 0;

  if (!validate_nspace (self->nspace, error))
    return FALSE;
  for (guint i = 0; i < self->apps->len; i++)
    {
      const DvmdPmixApp *app = g_ptr_array_index (self->apps, i);

      if (app->argv == NULL || app->argv[0] == NULL)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "Application %u of job %s has no program", i,
                       self->nspace);
          return FALSE;
        }
      n_procs += app->n_procs;
    }
  if (n_procs == 0 || n_procs != self->ranks->len)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "Job %s has %u ranks, but its applications have %u",
                   self->nspace, self->ranks->len, n_procs);
      return FALSE;
    }
  return validate_ranks (self, error);
}
