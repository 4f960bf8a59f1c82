/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The jobs of the DVM: how they come, are found, end, and are forgotten.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-job-registry.h"

#include "dvm-records-private.h"
#include "dvmd-candidates.h"
#include "dvmd-core-private.h"
#include "dvmd-job-family.h"
#include "dvmd-job-machine.h"
#include "dvmd-job-sessions.h"
#include "dvmd-log.h"
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

static gboolean
check_placement (DvmdCore *self, DvmJobSpec *spec, GError **error)
{
  gboolean counts = FALSE;
  guint n_open = 0;

  if (self->effects->check_placement != NULL && !self->effects->check_placement (self->user_data, spec, &counts, error))
    return FALSE;
  /* The placement says how many ranks each node has. */
  if (counts)
    return TRUE;
  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    if (dvm_app_spec_get_np (dvm_job_spec_get_app (spec, i)) == 0)
      n_open++;
  if (n_open <= 1)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "“np” is missing for %u applications of the job: one of them at most may go without, it takes what is "
               "left",
               n_open);
  return FALSE;
}

guint
dvmd_core_reserve (DvmdCore *self, DvmJobSpec *spec, const DvmdRequester *requester, GError **error)
{
  g_autoptr (GArray) sessions = NULL;

  if (!dvmd_vm_check_open (self, error) || !dvm_job_spec_validate (spec, error) || !check_placement (self, spec, error))
    return 0;
  sessions = dvmd_job_sessions_choose (self, spec, requester, error);
  if (sessions == NULL)
    return 0;
  return ++self->jobs.last_id;
}

void
dvmd_core_unreserve (DvmdCore *self, guint id)
{
  if (id != 0 && id == self->jobs.last_id)
    self->jobs.last_id--;
}

DvmdJob *
dvmd_core_submit_reserved (DvmdCore *self, guint id, DvmJobSpec *spec, const DvmdRequester *requester, GError **error)
{
  g_autofree char *nspace = g_strdup_printf ("%s@%u", self->settings.nspace, id);
  DvmdJob *parent = dvmd_core_find_requesting_job (self, requester);
  g_autoptr (GArray) sessions = NULL;
  DvmdJob *job;

  if (!dvmd_vm_check_open (self, error) || !dvmd_job_family_check (self, requester, spec, error))
    return NULL;
  /* Its sessions may have ended since its number was reserved. */
  sessions = dvmd_job_sessions_choose (self, spec, requester, error);
  if (sessions == NULL)
    return NULL;
  job = dvmd_job_new (self, id, nspace, spec, requester);
  dvmd_job_sessions_set (job, sessions);
  dvmd_candidates_begin (self->nodes, job);
  dvmd_registry_add (self->jobs.all, job);
  g_hash_table_insert (self->jobs.by_nspace, (gpointer)dvm_job_get_nspace (dvmd_job_get_record (job)), job);
  dvmd_job_sessions_enter (job);
  dvmd_session_hold_job (job);
  if (parent != NULL)
    dvmd_job_family_join (job, parent);
  self->statistics.jobs_submitted++;
  dvmd_core_tell_job (job, DVMD_NEWS_ADDED);
  dvmd_core_post (job, DVMD_JOB_CREATED);
  dvmd_core_changed (self);
  return job;
}

DvmdJob *
dvmd_core_submit (DvmdCore *self, DvmJobSpec *spec, const DvmdRequester *requester, GError **error)
{
  guint id = dvmd_core_reserve (self, spec, requester, error);

  return id != 0 ? dvmd_core_submit_reserved (self, id, spec, requester, error) : NULL;
}

DvmdMap *
dvmd_core_map (DvmdCore *self, DvmJobSpec *spec, const DvmdRequester *requester, gboolean *waits, GError **error)
{
  g_autoptr (GArray) sessions = NULL;
  g_autoptr (DvmdJob) job = NULL;

  if (!dvmd_vm_check_open (self, error) || !dvm_job_spec_validate (spec, error) || !check_placement (self, spec, error))
    return NULL;
  if (!self->vm.ready)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "The DVM has no nodes yet to place processes on");
      return NULL;
    }
  sessions = dvmd_job_sessions_choose (self, spec, requester, error);
  if (sessions == NULL)
    return NULL;
  job = dvmd_job_new (self, 0, self->settings.nspace, spec, requester);
  dvmd_job_sessions_set (job, sessions);
  dvmd_candidates_begin (self->nodes, job);
  return dvmd_admission_try (self->admission, job, waits, error);
}

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

gboolean
dvmd_core_trim_history (DvmdCore *self)
{
  gpointer forgotten;

  for (guint n = 0; n < DVMD_TRIM_AT_ONCE && (forgotten = dvmd_registry_forget (self->jobs.all)) != NULL; n++)
    {
      g_autoptr (DvmdJob) job = forgotten;

      dvmd_job_family_forget (job);
      g_hash_table_remove (self->jobs.by_nspace, dvm_job_get_nspace (dvmd_job_get_record (job)));
      dvmd_core_tell_job (job, DVMD_NEWS_FORGOTTEN);
    }
  dvmd_core_trim_campaigns (self);
  return dvmd_registry_is_full (self->jobs.all) || dvmd_registry_is_full (self->campaigns.all);
}

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

static void
log_end (DvmdJob *job)
{
  DvmJob *record = dvmd_job_get_record (job);
  const char *nspace = dvm_job_get_nspace (record);
  const char *state = dvm_job_state_to_string (dvmd_job_get_state (job));
  const char *reason = dvm_job_get_reason (record);

  if (reason != NULL && reason[0] != '\0')
    dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_INFO, nspace, "ended: %s: %s", state, reason);
  else
    dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_INFO, nspace, "ended: %s", state);
}

void
dvmd_core_end_job (DvmdJob *job)
{
  DvmdCore *self = dvmd_job_get_core (job);
  DvmJob *record = dvmd_job_get_record (job);

  dvmd_gate_forget (job);
  _dvm_job_set_ended (record, dvmd_clock_now (self->clock));
  dvmd_registry_end (self->jobs.all, dvmd_job_get_id (job));
  self->statistics.jobs_ended++;
  log_end (job);
  dvmd_job_family_ended (job);
  dvmd_core_tell_job (job, DVMD_NEWS_ENDED);
  dvmd_job_release_spec (job);
  dvmd_job_sessions_leave (job);
  dvmd_core_namespace_ended (self, dvm_job_get_nspace (record));
  dvmd_registry_set_size (self->jobs.all, dvmd_job_get_id (job), dvmd_job_get_size (job));
  dvmd_core_changed (self);
  dvmd_core_trim_history (self);
  if (dvmd_registry_count_live (self->jobs.all) == 0)
    dvmd_vm_jobs_ended (self);
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
dvmd_core_get_num_held (DvmdCore *self)
{
  return dvmd_admission_get_n_waiting (self->admission) + self->jobs.kept.length + dvmd_launch_fence_count (self->fence)
         + self->jobs.counts[DVMD_JOBS_AWAITING] + self->jobs.counts[DVMD_JOBS_PAUSED];
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
