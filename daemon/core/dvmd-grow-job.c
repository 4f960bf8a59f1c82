/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How a job waits for the nodes that it brings along.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-grow-job.h"

#include "dvm-records-private.h"
#include "dvmd-campaign-inner.h"
#include "dvmd-core-news.h"
#include "dvmd-core-parts.h"
#include "dvmd-job-machine.h"
#include "dvmd-job-parts.h"
#include "dvmd-job-registry.h"

typedef struct
{
  gboolean asked;
  gboolean waits;   /* for some that have not reported */
  GPtrArray *grows; /* (element-type DvmdCampaign) (nullable): that bring them */
} OwnNodes;

static void
own_nodes_clear (gpointer part)
{
  g_clear_pointer (&((OwnNodes *)part)->grows, g_ptr_array_unref);
}

static OwnNodes *
own_nodes_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_OWN_NODES, sizeof (OwnNodes), own_nodes_clear);
}

gboolean
dvmd_grow_job_ask (DvmdJob *job)
{
  OwnNodes *self = own_nodes_of (job);
  gboolean asked = self->asked;

  self->asked = TRUE;
  return !asked;
}

static void
publish_waits (DvmdJob *job)
{
  OwnNodes *self = own_nodes_of (job);
  DvmJob *record = dvmd_job_get_record (job);
  g_autoptr (GPtrArray) paths = g_ptr_array_new ();

  for (guint i = 0; i < self->grows->len; i++)
    {
      DvmdCampaign *campaign = g_ptr_array_index (self->grows, i);

      if (!dvmd_campaign_get_ended (campaign))
        g_ptr_array_add (paths, (gpointer)dvm_campaign_get_object_path (dvmd_campaign_get_record (campaign)));
    }
  g_ptr_array_add (paths, NULL);
  _dvm_job_set_held_at (record, "map");
  _dvm_job_set_waits_for (record, (const char *const *)paths->pdata);
}

gboolean
dvmd_grow_job_wait (DvmdJob *job)
{
  OwnNodes *self = own_nodes_of (job);

  if (self->grows == NULL)
    return FALSE;
  dvmd_job_registry_count (dvmd_core_get_job_registry (dvmd_job_get_core (job)), DVMD_JOBS_AWAITING, 1);
  self->waits = TRUE;
  publish_waits (job);
  dvmd_core_post (job, DVMD_JOB_AGENTS_LAUNCHED);
  return TRUE;
}

void
dvmd_grow_add_own (DvmdJob *job, DvmdCampaign *campaign)
{
  OwnNodes *self = own_nodes_of (job);

  if (self->grows == NULL)
    self->grows = g_ptr_array_new_with_free_func (g_object_unref);
  g_ptr_array_add (self->grows, g_object_ref (campaign));
}

gboolean
dvmd_grow_job_waits (DvmdJob *job)
{
  return own_nodes_of (job)->waits;
}

static gboolean
has_come (DvmdCampaign *campaign)
{
  return dvmd_campaign_get_ended (campaign) || dvmd_campaign_has_reported (campaign);
}

static void
stop_waiting (DvmdJob *job)
{
  own_nodes_of (job)->waits = FALSE;
  dvmd_job_registry_count (dvmd_core_get_job_registry (dvmd_job_get_core (job)), DVMD_JOBS_AWAITING, -1);
  _dvm_job_set_waits_for (dvmd_job_get_record (job), NULL);
}

void
dvmd_grow_check_job (DvmdJob *job)
{
  OwnNodes *self = own_nodes_of (job);

  if (!self->waits)
    return;
  for (guint i = 0; i < self->grows->len; i++)
    {
      DvmdCampaign *campaign = g_ptr_array_index (self->grows, i);

      if (!dvmd_campaign_has_failed (campaign) && has_come (campaign))
        continue;
      publish_waits (job);
      return;
    }
  _dvm_job_set_held_at (dvmd_job_get_record (job), "");
  stop_waiting (job);
  dvmd_core_post (job, DVMD_JOB_AGENTS_REPORTED);
}

void
dvmd_grow_forget_job (DvmdJob *job)
{
  OwnNodes *self = own_nodes_of (job);

  if (self->waits)
    stop_waiting (job);
  for (guint i = 0; self->grows != NULL && i < self->grows->len; i++)
    {
      DvmdCampaign *campaign = g_ptr_array_index (self->grows, i);

      g_ptr_array_remove (dvmd_campaign_get_own_jobs (campaign), job);
      dvmd_campaign_held_changed (campaign);
    }
  dvmd_grow_drop_own (job);
}

void
dvmd_grow_drop_own (DvmdJob *job)
{
  g_clear_pointer (&own_nodes_of (job)->grows, g_ptr_array_unref);
}

static void
add_paths (GPtrArray *paths, GPtrArray *jobs)
{
  for (guint i = 0; i < jobs->len; i++)
    g_ptr_array_add (paths, (gpointer)dvm_job_get_object_path (dvmd_job_get_record (g_ptr_array_index (jobs, i))));
}

void
dvmd_campaign_publish_held_jobs (DvmdCampaign *self)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new ();
  g_autoptr (GPtrArray) own = g_ptr_array_new ();

  if (!dvmd_campaign_take_held_changed (self))
    return;
  for (guint i = 0; i < dvmd_campaign_get_own_jobs (self)->len; i++)
    if (dvmd_grow_job_waits (g_ptr_array_index (dvmd_campaign_get_own_jobs (self), i)))
      g_ptr_array_add (own, g_ptr_array_index (dvmd_campaign_get_own_jobs (self), i));
  add_paths (paths, own);
  for (guint gate = DVMD_GATE_MAP; gate < DVMD_N_GATES; gate++)
    if (dvmd_campaign_has_ticket (self)
        && (gate == DVMD_GATE_MAP || dvmd_campaign_get_kind (self) == DVM_CAMPAIGN_KIND_SHRINK))
      {
        g_autoptr (GPtrArray) jobs = dvmd_launch_fence_list (dvmd_core_get_fence (dvmd_campaign_get_core (self)), gate);

        add_paths (paths, jobs);
      }
  g_ptr_array_add (paths, NULL);
  _dvm_campaign_set_held_jobs (dvmd_campaign_get_record (self), (const char *const *)paths->pdata);
}

void
dvmd_campaign_forget_jobs (DvmdCampaign *self)
{
  for (guint i = 0; i < dvmd_campaign_get_own_jobs (self)->len; i++)
    dvmd_grow_drop_own (g_ptr_array_index (dvmd_campaign_get_own_jobs (self), i));
  g_ptr_array_set_size (dvmd_campaign_get_own_jobs (self), 0);
  dvmd_campaign_forget_job (self);
}
