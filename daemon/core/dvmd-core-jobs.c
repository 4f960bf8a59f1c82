/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs come to the DVM, end, and are forgotten.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvm-records-private.h"
#include "dvmd-candidates.h"
#include "dvmd-core-private.h"
#include "dvmd-job-family.h"
#include "dvmd-job-machine.h"
#include "dvmd-job-registry.h"
#include "dvmd-job-sessions.h"
#include "dvmd-log.h"
#include "dvmd-session-private.h"

static gboolean
check_placement (DvmdCore *self, DvmJobSpec *spec, GError **error)
{
  gboolean counts = FALSE;
  guint n_open = 0;

  if (self->effects->placement.check != NULL && !self->effects->placement.check (self->user_data, spec, &counts, error))
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

guint
dvmd_core_get_num_held (DvmdCore *self)
{
  return dvmd_admission_get_n_waiting (self->admission) + self->jobs.kept.length + dvmd_launch_fence_count (self->fence)
         + self->jobs.counts[DVMD_JOBS_AWAITING] + self->jobs.counts[DVMD_JOBS_PAUSED];
}
