/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes that a job brings along: its own grow, and how it waits for that.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-size.h"

#include "dvm-job-spec-private.h"
#include "dvm-records-private.h"
#include "dvmd-job-machine.h"

static void
read_hosts (DvmHosts *hosts, GArray *into)
{
  for (guint i = 0; i < _dvm_hosts_get_n (hosts); i++)
    {
      const DvmHost *host = _dvm_hosts_get (hosts, i);
      DvmdGrowHost added = {
        .name = host->name,
        .slots = host->slots > 0                            ? host->slots
                 : host->n_mentions > 1 && !host->all_slots ? host->n_mentions
                                                            : 0,
        .slots_max = host->slots_max,
        .address = g_strcmp0 (host->address, host->name) != 0 ? host->address : NULL,
      };

      g_array_append_val (into, added);
    }
}

static void
publish_waits (DvmdJob *job)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new ();

  for (guint i = 0; i < job->own_grows->len; i++)
    {
      DvmdCampaign *campaign = g_ptr_array_index (job->own_grows, i);

      if (!dvmd_campaign_get_ended (campaign))
        g_ptr_array_add (paths, (gpointer)dvm_campaign_get_object_path (campaign->record));
    }
  g_ptr_array_add (paths, NULL);
  _dvm_job_set_held_at (job->record, "map");
  _dvm_job_set_waits_for (job->record, (const char *const *)paths->pdata);
}

void
dvmd_grow_for_job (DvmdJob *job)
{
  DvmdCore *core = job->core;
  g_autoptr (GArray) hosts = g_array_new (FALSE, FALSE, sizeof (DvmdGrowHost));
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdGrowRequest request = { .requester = job->requester, .share = TRUE, .job = job };

  job->grown = TRUE;
  read_hosts (_dvm_job_spec_get_additions (job->spec), hosts);
  request.hosts = (const DvmdGrowHost *)hosts->data;
  request.n_hosts = hosts->len;
  if (!dvmd_core_grow (core, &request, &answer, &error))
    {
      dvmd_core_post_failure (job, DVM_JOB_STATE_ALLOC_FAILED, error->message);
      return;
    }
  dvmd_job_sessions_see (job, answer.session);
  if (job->own_grows == NULL)
    {
      dvmd_core_post (job, DVMD_JOB_AGENTS_REPORTED);
      return;
    }
  core->n_own_waiting++;
  job->waits_for_own = TRUE;
  publish_waits (job);
  dvmd_core_post (job, DVMD_JOB_AGENTS_LAUNCHED);
}

static gboolean
has_come (DvmdCampaign *campaign)
{
  return dvmd_campaign_get_ended (campaign)
         || (campaign->n_reported > 0 && campaign->n_reported == campaign->targets->len);
}

void
dvmd_grow_check_job (DvmdJob *job)
{
  if (!job->waits_for_own)
    return;
  for (guint i = 0; i < job->own_grows->len; i++)
    {
      DvmdCampaign *campaign = g_ptr_array_index (job->own_grows, i);

      if (!campaign->failing && has_come (campaign))
        continue;
      publish_waits (job);
      return;
    }
  job->waits_for_own = FALSE;
  job->core->n_own_waiting--;
  _dvm_job_set_held_at (job->record, "");
  _dvm_job_set_waits_for (job->record, NULL);
  dvmd_core_post (job, DVMD_JOB_AGENTS_REPORTED);
}

void
dvmd_grow_forget_job (DvmdJob *job)
{
  if (job->waits_for_own)
    {
      job->waits_for_own = FALSE;
      job->core->n_own_waiting--;
      _dvm_job_set_waits_for (job->record, NULL);
    }
  for (guint i = 0; job->own_grows != NULL && i < job->own_grows->len; i++)
    {
      DvmdCampaign *campaign = g_ptr_array_index (job->own_grows, i);

      g_ptr_array_remove (campaign->own_jobs, job);
      dvmd_campaign_held_changed (campaign);
    }
  g_clear_pointer (&job->own_grows, g_ptr_array_unref);
}
