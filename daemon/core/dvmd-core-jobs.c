/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs come to the DVM, end, and are forgotten.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-core-jobs.h"

#include "dvm-job-spec-private.h"
#include "dvm-records-private.h"
#include "dvmd-arrays.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-candidates.h"
#include "dvmd-colocation.h"
#include "dvmd-core-campaigns.h"
#include "dvmd-core-news.h"
#include "dvmd-core-parts.h"
#include "dvmd-core-sessions.h"
#include "dvmd-dependencies.h"
#include "dvmd-gates.h"
#include "dvmd-job-family.h"
#include "dvmd-job-machine.h"
#include "dvmd-job-registry.h"
#include "dvmd-job-sessions.h"
#include "dvmd-log.h"
#include "dvmd-registry.h"
#include "dvmd-requester.h"
#include "dvmd-rights.h"
#include "dvmd-session-holds.h"
#include "dvmd-vm-machine.h"
#include "dvmd-vm.h"

static gboolean
check_placement (DvmdCore *self, DvmJobSpec *spec, GError **error)
{
  gboolean counts = FALSE;
  guint n_open = 0;
  guint n_anywhere = 0;

  if (dvmd_core_get_effects (self)->placement.check != NULL
      && !dvmd_core_get_effects (self)->placement.check (dvmd_core_get_user_data (self), spec, &counts, error))
    return FALSE;
  /* The placement says how many ranks each node has. */
  if (counts)
    return TRUE;
  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    {
      DvmAppSpec *app = dvm_job_spec_get_app (spec, i);
      gboolean is_open = dvm_app_spec_get_np (app) == 0;

      n_open += is_open;
      n_anywhere += is_open && _dvm_app_spec_get_choice (app) == NULL;
    }
  /* Each takes the slots of its own hosts. Whether it is alone there is known when the job has its nodes. */
  if (n_open <= 1 || n_anywhere == 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "“np” is missing for %u applications of the job: one of them at most may go without, it takes what is "
               "left, or each has hosts of its own",
               n_open);
  return FALSE;
}

/* A job is placed beside one that its requester may control. */
static gboolean
check_beside (DvmdCore *self, DvmJobSpec *spec, const DvmdRequester *requester, GError **error)
{
  g_autoptr (GPtrArray) jobs = NULL;

  if (!dvmd_colocation_list_jobs (self, spec, &jobs, error))
    return FALSE;
  for (guint i = 0; jobs != NULL && i < jobs->len; i++)
    if (!dvmd_core_may (self, requester, DVMD_RIGHT_JOB, NULL, jobs->pdata[i], error))
      return FALSE;
  return dvmd_colocation_check (self, spec, error);
}

static gboolean
check_one_job (DvmJobSpec *spec, GError **error)
{
  if (dvm_job_spec_get_array (spec) == NULL)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "array: the description stands for many jobs, and this call is about one; SubmitMany takes it, and "
               "dvm-cli submit");
  return FALSE;
}

guint
dvmd_core_reserve (DvmdCore *self, DvmJobSpec *spec, const DvmdRequester *requester, GError **error)
{
  const DvmArrayPlace *place = _dvm_job_spec_get_place (spec);
  g_autoptr (GArray) sessions = NULL;
  guint id;

  if (!dvmd_vm_check_open (self, error) || !check_one_job (spec, error) || !dvm_job_spec_validate (spec, error)
      || !check_placement (self, spec, error) || !check_beside (self, spec, requester, error)
      || !dvmd_dependencies_check (self, spec, error))
    return 0;
  sessions = dvmd_job_sessions_choose (self, spec, requester, error);
  if (sessions == NULL)
    return 0;
  id = dvmd_job_registry_mint_id (dvmd_core_get_job_registry (self));
  if (place != NULL && place->id == 0)
    _dvm_job_spec_set_array_id (spec, id);
  return id;
}

void
dvmd_core_lose_job (DvmdCore *self, DvmJobSpec *spec)
{
  dvmd_arrays_lose (self, spec);
  dvmd_dependencies_lost (self, spec);
}

void
dvmd_core_unreserve (DvmdCore *self, guint id)
{
  dvmd_job_registry_return_id (dvmd_core_get_job_registry (self), id);
}

DvmdJob *
dvmd_core_submit_reserved (DvmdCore *self, guint id, DvmJobSpec *spec, const DvmdRequester *requester, GError **error)
{
  g_autofree char *nspace = g_strdup_printf ("%s@%u", dvmd_core_get_settings (self)->nspace, id);
  DvmdJob *parent = dvmd_core_find_requesting_job (self, requester);
  g_autoptr (GArray) sessions = NULL;
  DvmdJob *job;

  if (!dvmd_vm_check_open (self, error) || !dvmd_job_family_check (self, requester, spec, error)
      || !dvmd_dependencies_check (self, spec, error))
    return NULL;
  /* Its sessions may have ended since its number was reserved. */
  sessions = dvmd_job_sessions_choose (self, spec, requester, error);
  if (sessions == NULL)
    return NULL;
  job = dvmd_job_new (self, id, nspace, spec, requester);
  dvmd_job_sessions_set (job, sessions);
  dvmd_candidates_begin (dvmd_core_get_nodes (self), job);
  dvmd_job_registry_add (dvmd_core_get_job_registry (self), job);
  dvmd_job_sessions_enter (job);
  dvmd_session_hold_job (job);
  if (parent != NULL)
    dvmd_job_family_join (job, parent);
  dvmd_core_get_counters (self)->jobs_submitted++;
  dvmd_core_tell_job (job, DVMD_NEWS_ADDED);
  dvmd_core_post (job, DVMD_JOB_CREATED);
  dvmd_arrays_begin (job);
  dvmd_dependencies_begin (job);
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
dvmd_core_map (DvmdCore *self, DvmJobSpec *spec, const DvmdRequester *requester, const char **awaited, GError **error)
{
  g_autoptr (GArray) sessions = NULL;
  g_autoptr (DvmdJob) job = NULL;

  if (!dvmd_vm_check_open (self, error) || !check_one_job (spec, error) || !dvm_job_spec_validate (spec, error)
      || !check_placement (self, spec, error))
    return NULL;
  if (!dvmd_core_get_ready (self))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "The DVM has no nodes yet to place processes on");
      return NULL;
    }
  sessions = dvmd_job_sessions_choose (self, spec, requester, error);
  if (sessions == NULL || !check_beside (self, spec, requester, error))
    return NULL;
  job = dvmd_job_new (self, 0, dvmd_core_get_settings (self)->nspace, spec, requester);
  dvmd_job_sessions_set (job, sessions);
  dvmd_candidates_begin (dvmd_core_get_nodes (self), job);
  return dvmd_admission_try (dvmd_core_get_admission (self), job, awaited, error);
}

gboolean
dvmd_core_trim_history (DvmdCore *self)
{
  DvmdJobRegistry *jobs = dvmd_core_get_job_registry (self);
  DvmdJob *forgotten;

  for (guint n = 0; n < DVMD_TRIM_AT_ONCE && (forgotten = dvmd_job_registry_forget (jobs)) != NULL; n++)
    {
      g_autoptr (DvmdJob) job = forgotten;

      dvmd_job_family_forget (job);
      dvmd_arrays_forget (job);
      dvmd_core_tell_job (job, DVMD_NEWS_FORGOTTEN);
    }
  dvmd_core_trim_campaigns (self);
  return dvmd_job_registry_is_full (jobs) || dvmd_campaign_registry_is_full (dvmd_core_get_campaign_registry (self));
}

void
dvmd_core_set_queue (DvmdCore *self, gboolean queue, guint max_running)
{
  DvmdAdmission *admission = dvmd_core_get_admission (self);

  if (dvmd_admission_change_policy (admission, queue, max_running))
    dvmd_admission_nodes_changed (admission);
}

void
dvmd_core_set_history_limit (DvmdCore *self, guint limit)
{
  if (dvmd_core_get_history_limit (self) == limit)
    return;
  dvmd_job_registry_set_limit (dvmd_core_get_job_registry (self), limit);
  dvmd_campaign_registry_set_limit (dvmd_core_get_campaign_registry (self), limit);
  dvmd_core_changed (self);
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
  _dvm_job_set_ended (record, dvmd_clock_now (dvmd_core_get_clock (self)));
  dvmd_job_registry_end (dvmd_core_get_job_registry (self), job);
  dvmd_core_get_counters (self)->jobs_ended++;
  log_end (job);
  dvmd_job_family_ended (job);
  dvmd_arrays_ended (job);
  dvmd_dependencies_ended (job);
  dvmd_core_tell_job (job, DVMD_NEWS_ENDED);
  dvmd_job_release_spec (job);
  dvmd_job_sessions_leave (job);
  dvmd_core_namespace_ended (self, dvm_job_get_nspace (record));
  dvmd_job_registry_measure (dvmd_core_get_job_registry (self), job);
  dvmd_core_changed (self);
  dvmd_core_trim_history (self);
  if (dvmd_core_get_num_live (self) == 0)
    dvmd_vm_jobs_ended (self);
}

guint
dvmd_core_get_num_held (DvmdCore *self)
{
  return dvmd_admission_get_n_waiting (dvmd_core_get_admission (self))
         + dvmd_launch_fence_count (dvmd_core_get_fence (self))
         + dvmd_job_registry_count_waiting (dvmd_core_get_job_registry (self));
}
