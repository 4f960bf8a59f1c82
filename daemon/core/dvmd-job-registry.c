/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The jobs of the DVM, by number and by namespace, live and in the history.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-job-registry.h"

#include "dvmd-core-news.h"
#include "dvmd-core-parts.h"
#include "dvmd-job-machine.h"
#include "dvmd-registry.h"

struct _DvmdJobRegistry
{
  DvmdRegistry *all;     /* of DvmdJob */
  GHashTable *by_nspace; /* namespace -> DvmdJob, live and in the history */
  GQueue kept;           /* DvmdJob that came before the DVM was ready */
  GHashTable *kept_at;   /* DvmdJob -> its link in kept: of many jobs that end each asks whether it is there */
  guint last_id;
  guint counts[DVMD_N_JOB_COUNTS];
};

static guint
get_number (gpointer job)
{
  return dvmd_job_get_id (job);
}

DvmdJobRegistry *
dvmd_job_registry_new (const DvmdCoreSettings *settings)
{
  DvmdJobRegistry *self = g_new0 (DvmdJobRegistry, 1);

  self->all = dvmd_registry_new (get_number);
  self->by_nspace = g_hash_table_new (g_str_hash, g_str_equal);
  self->kept_at = g_hash_table_new (NULL, NULL);
  dvmd_registry_set_limit (self->all, settings->history_limit);
  dvmd_registry_set_max_bytes (self->all, settings->history_bytes);
  return self;
}

void
dvmd_job_registry_free (DvmdJobRegistry *self)
{
  g_queue_clear_full (&self->kept, g_object_unref);
  g_clear_pointer (&self->kept_at, g_hash_table_unref);
  g_clear_pointer (&self->by_nspace, g_hash_table_unref);
  g_clear_pointer (&self->all, dvmd_registry_free);
  g_free (self);
}

static DvmdJobRegistry *
registry_of (DvmdCore *core)
{
  return dvmd_core_get_job_registry (core);
}

guint
dvmd_job_registry_count_waiting (DvmdJobRegistry *self)
{
  return self->kept.length + self->counts[DVMD_JOBS_AWAITING] + self->counts[DVMD_JOBS_PAUSED];
}

void
dvmd_job_registry_count (DvmdJobRegistry *self, DvmdJobCount what, int change)
{
  self->counts[what] += change;
}

void
dvmd_job_registry_keep (DvmdJobRegistry *self, DvmdJob *job)
{
  g_queue_push_tail (&self->kept, g_object_ref (job));
  g_hash_table_insert (self->kept_at, job, self->kept.tail);
}

void
dvmd_job_registry_drop (DvmdJobRegistry *self, DvmdJob *job)
{
  GList *link = g_hash_table_lookup (self->kept_at, job);

  if (link == NULL)
    return;
  g_hash_table_remove (self->kept_at, job);
  g_queue_delete_link (&self->kept, link);
  g_object_unref (job);
}

/* ---- they come ---- */

guint
dvmd_job_registry_mint_id (DvmdJobRegistry *self)
{
  return ++self->last_id;
}

void
dvmd_job_registry_return_id (DvmdJobRegistry *self, guint id)
{
  if (id != 0 && id == self->last_id)
    self->last_id--;
}

void
dvmd_job_registry_add (DvmdJobRegistry *self, DvmdJob *job)
{
  dvmd_registry_add (self->all, job);
  g_hash_table_insert (self->by_nspace, (gpointer)dvm_job_get_nspace (dvmd_job_get_record (job)), job);
}

void
dvmd_core_dispatch_kept (DvmdCore *self)
{
  DvmdJob *job;

  while ((job = g_queue_pop_head (&registry_of (self)->kept)) != NULL)
    {
      g_hash_table_remove (registry_of (self)->kept_at, job);
      dvmd_core_post (job, DVMD_JOB_DISPATCHED);
      g_object_unref (job);
    }
}

/* ---- they end ---- */

void
dvmd_job_registry_end (DvmdJobRegistry *self, DvmdJob *job)
{
  dvmd_registry_end (self->all, dvmd_job_get_id (job));
}

void
dvmd_job_registry_measure (DvmdJobRegistry *self, DvmdJob *job)
{
  dvmd_registry_set_size (self->all, dvmd_job_get_id (job), dvmd_job_get_size (job));
}

DvmdJob *
dvmd_job_registry_forget (DvmdJobRegistry *self)
{
  DvmdJob *job = dvmd_registry_forget (self->all);

  if (job != NULL)
    g_hash_table_remove (self->by_nspace, dvm_job_get_nspace (dvmd_job_get_record (job)));
  return job;
}

gboolean
dvmd_job_registry_is_full (DvmdJobRegistry *self)
{
  return dvmd_registry_is_full (self->all);
}

void
dvmd_job_registry_set_limit (DvmdJobRegistry *self, guint limit)
{
  dvmd_registry_set_limit (self->all, limit);
}

void
dvmd_core_set_history_bytes (DvmdCore *self, guint64 limit)
{
  dvmd_registry_set_max_bytes (registry_of (self)->all, limit);
}

guint
dvmd_core_get_history_limit (DvmdCore *self)
{
  return dvmd_registry_get_limit (registry_of (self)->all);
}

/* ---- they are found ---- */

GList *
dvmd_core_get_live_jobs (DvmdCore *self)
{
  return dvmd_registry_list (registry_of (self)->all, FALSE);
}

DvmdJob *
dvmd_core_get_job (DvmdCore *self, guint id)
{
  return dvmd_registry_get (registry_of (self)->all, id);
}

DvmdJob *
dvmd_core_find_job (DvmdCore *self, const char *nspace)
{
  return g_hash_table_lookup (registry_of (self)->by_nspace, nspace);
}

DvmdJob *
dvmd_core_next_job (DvmdCore *self, DvmdJob *after, gboolean ended)
{
  return dvmd_registry_next (registry_of (self)->all, after, ended);
}

GPtrArray *
dvmd_core_list_jobs (DvmdCore *self, gboolean ended)
{
  GPtrArray *list = g_ptr_array_new_with_free_func (g_object_unref);

  for (GList *l = dvmd_registry_list (registry_of (self)->all, ended); l != NULL; l = l->next)
    g_ptr_array_add (list, g_object_ref (l->data));
  return list;
}

guint
dvmd_core_get_num_running (DvmdCore *self)
{
  return registry_of (self)->counts[DVMD_JOBS_RUNNING];
}

guint
dvmd_core_get_num_live (DvmdCore *self)
{
  return dvmd_registry_count_live (registry_of (self)->all);
}

guint
dvmd_core_get_last_job_id (DvmdCore *self)
{
  return registry_of (self)->last_id;
}
