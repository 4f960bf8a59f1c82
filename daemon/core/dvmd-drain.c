/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Running jobs have some time to end before their nodes leave.
 */

#include "config.h"

#include "dvmd-campaign-inner.h"
#include "dvmd-campaign-machine.h"
#include "dvmd-campaign-private.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core-nodes.h"
#include "dvmd-core-parts.h"
#include "dvmd-job-registry.h"
#include "dvmd-session-inner.h"
#include "dvmd-shrink.h"

static void
warn (DvmdJob *job, DvmdNode *node, gint64 when)
{
  DvmdCore *core = dvmd_job_get_core (job);

  /* The time may be over already, and its event on its way. */
  if (dvmd_core_get_effects (core)->warn_job != NULL)
    dvmd_core_get_effects (core)->warn_job (dvmd_core_get_user_data (core), job, node,
                                            MAX (when, dvmd_clock_monotonic (dvmd_core_get_clock (core))));
}

static void
on_drain_end (gpointer user_data)
{
  DvmdCampaign *self = user_data;

  self->timer = 0;
  if (!self->failure.known)
    dvmd_campaign_post (self, DVMD_CAMPAIGN_DRAINED, NULL);
}

/* A node that has been lost runs nothing any more. */
static void
check_drain (DvmdCampaign *self)
{
  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);
      DvmdNode *node = !target->gone ? dvmd_node_pool_get (dvmd_core_get_nodes (self->core), target->rank) : NULL;

      if (node != NULL && !dvmd_node_is_down (node) && g_hash_table_size (node->jobs.ids) > 0)
        return;
    }
  dvmd_campaign_post (self, DVMD_CAMPAIGN_DRAINED, NULL);
}

gboolean
dvmd_drain_is_running (DvmdJob *job)
{
  return dvmd_job_is_launched (job) && dvmd_job_get_procs (job) != NULL
         && dvmd_job_get_state (job) < DVM_JOB_STATE_UNTERMINATED;
}

void
dvmd_shrink_drain (DvmdCampaign *self)
{
  DvmdCore *core = self->core;

  if (self->failure.known)
    return;
  self->timer = dvmd_clock_add_timer (dvmd_core_get_clock (core), (gint64)self->drain.timeout * G_USEC_PER_SEC,
                                      on_drain_end, self);
  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);
      DvmdNode *node = !target->gone ? dvmd_node_pool_get (dvmd_core_get_nodes (core), target->rank) : NULL;

      for (GList *l = node != NULL ? dvmd_core_get_live_jobs (core) : NULL; l != NULL; l = l->next)
        if (dvmd_drain_is_running (l->data) && dvmd_map_count_on_node (dvmd_job_get_map (l->data), node->rank) > 0)
          warn (l->data, node, self->drain.end);
    }
  check_drain (self);
}

void
dvmd_shrink_check_drains (DvmdCore *core)
{
  for (GList *l = dvmd_campaign_registry_is_draining (dvmd_core_get_campaign_registry (core))
                      ? dvmd_core_get_live_campaigns (core)
                      : NULL;
       l != NULL; l = l->next)
    {
      DvmdCampaign *campaign = l->data;

      if (campaign->drain.state == DVMD_DRAIN_ON && !campaign->failure.known)
        check_drain (campaign);
    }
}

void
dvmd_shrink_warn (DvmdJob *job)
{
  g_autoptr (GArray) ranks = NULL;

  if (!dvmd_campaign_registry_is_draining (dvmd_core_get_campaign_registry (dvmd_job_get_core (job))))
    return;
  ranks = dvmd_map_get_nodes (dvmd_job_get_map (job));
  for (guint i = 0; i < ranks->len; i++)
    {
      DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (dvmd_job_get_core (job)),
                                           g_array_index (ranks, guint, i));

      for (guint k = 0; node != NULL && node->shrinks != NULL && k < node->shrinks->len; k++)
        {
          DvmdCampaign *campaign = g_ptr_array_index (node->shrinks, k);

          if (campaign->drain.state == DVMD_DRAIN_ON)
            warn (job, node, campaign->drain.end);
        }
    }
}

DvmdCampaign *
dvmd_shrink_find_slow (DvmdSession *session)
{
  for (GList *l = dvmd_core_get_live_campaigns (dvmd_session_get_core (session)); l != NULL; l = l->next)
    {
      DvmdCampaign *campaign = l->data;

      if (campaign->session == session && campaign->stake == DVMD_STAKE_ENDS && campaign->start != DVMD_START_BEGUN
          && !campaign->failure.known)
        return campaign;
    }
  return NULL;
}
