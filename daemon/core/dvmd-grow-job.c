/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes that a job brings along: its own grow, and how it waits for that.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-grow-job.h"

#include "dvm-job-spec-private.h"
#include "dvm-records-private.h"
#include "dvmd-job-machine.h"
#include "dvmd-job-parts.h"
#include "dvmd-job-sessions.h"
#include "dvmd-size.h"

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
  OwnNodes *self = own_nodes_of (job);
  DvmJob *record = dvmd_job_get_record (job);
  g_autoptr (GPtrArray) paths = g_ptr_array_new ();

  for (guint i = 0; i < self->grows->len; i++)
    {
      DvmdCampaign *campaign = g_ptr_array_index (self->grows, i);

      if (!dvmd_campaign_get_ended (campaign))
        g_ptr_array_add (paths, (gpointer)dvm_campaign_get_object_path (campaign->record));
    }
  g_ptr_array_add (paths, NULL);
  _dvm_job_set_held_at (record, "map");
  _dvm_job_set_waits_for (record, (const char *const *)paths->pdata);
}

gboolean
dvmd_grow_for_job (DvmdJob *job)
{
  OwnNodes *self = own_nodes_of (job);
  DvmdCore *core = dvmd_job_get_core (job);
  DvmHosts *additions = _dvm_job_spec_get_additions (dvmd_job_get_spec (job));
  g_autoptr (GArray) hosts = g_array_new (FALSE, FALSE, sizeof (DvmdGrowHost));
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdGrowRequest request = { .requester = dvmd_job_get_requester (job), .share = TRUE, .job = job };

  if (self->asked || additions == NULL)
    return FALSE;
  self->asked = TRUE;
  read_hosts (additions, hosts);
  request.hosts = (const DvmdGrowHost *)hosts->data;
  request.n_hosts = hosts->len;
  if (!dvmd_core_grow (core, &request, &answer, &error))
    {
      dvmd_core_post_failure (job, DVM_JOB_STATE_ALLOC_FAILED, error->message);
      return TRUE;
    }
  dvmd_job_sessions_see (job, answer.session);
  if (self->grows == NULL)
    return FALSE;
  dvmd_job_registry_count (&core->jobs, DVMD_JOBS_AWAITING, 1);
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
  return dvmd_campaign_get_ended (campaign)
         || (campaign->n_reported > 0 && campaign->n_reported == campaign->targets->len);
}

static void
stop_waiting (DvmdJob *job)
{
  own_nodes_of (job)->waits = FALSE;
  dvmd_job_registry_count (&dvmd_job_get_core (job)->jobs, DVMD_JOBS_AWAITING, -1);
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

      if (!campaign->failure.known && has_come (campaign))
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

      g_ptr_array_remove (campaign->own_jobs, job);
      dvmd_campaign_held_changed (campaign);
    }
  dvmd_grow_drop_own (job);
}

void
dvmd_grow_drop_own (DvmdJob *job)
{
  g_clear_pointer (&own_nodes_of (job)->grows, g_ptr_array_unref);
}
