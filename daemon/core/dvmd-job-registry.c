/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The jobs of the DVM, by number and by namespace, live and in the history.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-job-registry.h"

#include "dvmd-core-private.h"
#include "dvmd-job-machine.h"
#include "dvmd-session-private.h"

static guint
get_number (gpointer job)
{
  return dvmd_job_get_id (job);
}

void
dvmd_job_registry_init (DvmdJobRegistry *self, const DvmdCoreSettings *settings)
{
  self->all = dvmd_registry_new (get_number);
  self->by_nspace = g_hash_table_new (g_str_hash, g_str_equal);
  dvmd_registry_set_limit (self->all, settings->history_limit);
  dvmd_registry_set_max_bytes (self->all, settings->history_bytes);
}

void
dvmd_job_registry_clear (DvmdJobRegistry *self)
{
  g_queue_clear_full (&self->kept, g_object_unref);
  g_clear_pointer (&self->by_nspace, g_hash_table_unref);
  g_clear_pointer (&self->all, dvmd_registry_free);
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
}

void
dvmd_job_registry_drop (DvmdJobRegistry *self, DvmdJob *job)
{
  if (g_queue_remove (&self->kept, job))
    g_object_unref (job);
}

/* ---- they come ---- */

void
dvmd_core_dispatch_kept (DvmdCore *self)
{
  DvmdJob *job;

  while ((job = g_queue_pop_head (&self->jobs.kept)) != NULL)
    {
      dvmd_core_post (job, DVMD_JOB_DISPATCHED);
      g_object_unref (job);
    }
}

/* ---- they end ---- */

void
dvmd_core_set_history_limit (DvmdCore *self, guint limit)
{
  if (dvmd_registry_get_limit (self->jobs.all) == limit)
    return;
  dvmd_registry_set_limit (self->jobs.all, limit);
  dvmd_registry_set_limit (self->campaigns.all, limit);
  dvmd_core_changed (self);
}

void
dvmd_core_set_history_bytes (DvmdCore *self, guint64 limit)
{
  dvmd_registry_set_max_bytes (self->jobs.all, limit);
}

guint
dvmd_core_get_history_limit (DvmdCore *self)
{
  return dvmd_registry_get_limit (self->jobs.all);
}

/* ---- they are found ---- */

DvmdJob *
dvmd_core_get_job (DvmdCore *self, guint id)
{
  return dvmd_registry_get (self->jobs.all, id);
}

DvmdJob *
dvmd_core_find_job (DvmdCore *self, const char *nspace)
{
  return g_hash_table_lookup (self->jobs.by_nspace, nspace);
}

DvmdJob *
dvmd_core_next_job (DvmdCore *self, DvmdJob *after, gboolean ended)
{
  return dvmd_registry_next (self->jobs.all, after, ended);
}

GPtrArray *
dvmd_core_list_jobs (DvmdCore *self, gboolean ended)
{
  GPtrArray *list = g_ptr_array_new_with_free_func (g_object_unref);

  for (GList *l = dvmd_registry_list (self->jobs.all, ended); l != NULL; l = l->next)
    g_ptr_array_add (list, g_object_ref (l->data));
  return list;
}

guint
dvmd_core_get_num_running (DvmdCore *self)
{
  return self->jobs.counts[DVMD_JOBS_RUNNING];
}

guint
dvmd_core_get_num_live (DvmdCore *self)
{
  return dvmd_registry_count_live (self->jobs.all);
}

guint
dvmd_core_get_last_job_id (DvmdCore *self)
{
  return self->jobs.last_id;
}
