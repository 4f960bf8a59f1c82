/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The campaigns of the DVM: which there are, what they bring, which wait for jobs that have been parked for long.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-campaign-registry.h"

#include "dvm-hosts-private.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-parts.h"
#include "dvmd-registry.h"
#include "dvmd-target.h"

struct _DvmdCampaignRegistry
{
  DvmdRegistry *all; /* of DvmdCampaign */
  guint last_id;
  GQueue held_back;    /* DvmdCampaign that begin when no job has been parked for too long, in their order */
  GHashTable *coming;  /* name -> DvmdCampaign that brings the node, or would */
  GPtrArray *to_offer; /* (element-type DvmdTarget) (nullable): nodes that were down and have been released */
  guint n_draining;    /* shrinks that wait for running jobs */
};

static guint
get_number (gpointer campaign)
{
  return dvmd_campaign_get_id (campaign);
}

DvmdCampaignRegistry *
dvmd_campaign_registry_new (const DvmdCoreSettings *settings)
{
  DvmdCampaignRegistry *self = g_new0 (DvmdCampaignRegistry, 1);

  self->all = dvmd_registry_new (get_number);
  self->coming = g_hash_table_new_full (_dvm_host_name_hash, _dvm_host_name_equal, g_free, NULL);
  dvmd_registry_set_limit (self->all, settings->history_limit);
  return self;
}

void
dvmd_campaign_registry_free (DvmdCampaignRegistry *self)
{
  g_queue_clear (&self->held_back);
  g_clear_pointer (&self->to_offer, g_ptr_array_unref);
  g_clear_pointer (&self->coming, g_hash_table_unref);
  g_clear_pointer (&self->all, dvmd_registry_free);
  g_free (self);
}

guint
dvmd_campaign_registry_mint_id (DvmdCampaignRegistry *self)
{
  return ++self->last_id;
}

void
dvmd_campaign_registry_add (DvmdCampaignRegistry *self, DvmdCampaign *campaign)
{
  dvmd_registry_add (self->all, campaign);
}

void
dvmd_campaign_registry_end (DvmdCampaignRegistry *self, DvmdCampaign *campaign)
{
  dvmd_registry_end (self->all, dvmd_campaign_get_id (campaign));
}

DvmdCampaign *
dvmd_campaign_registry_forget (DvmdCampaignRegistry *self)
{
  return dvmd_registry_forget (self->all);
}

gboolean
dvmd_campaign_registry_is_full (DvmdCampaignRegistry *self)
{
  return dvmd_registry_is_full (self->all);
}

void
dvmd_campaign_registry_set_limit (DvmdCampaignRegistry *self, guint limit)
{
  dvmd_registry_set_limit (self->all, limit);
}

GList *
dvmd_campaign_registry_get_held (DvmdCampaignRegistry *self)
{
  return self->held_back.head;
}

void
dvmd_campaign_registry_hold (DvmdCampaignRegistry *self, DvmdCampaign *campaign, gboolean held)
{
  if (held)
    g_queue_push_tail (&self->held_back, campaign);
  else
    g_queue_remove (&self->held_back, campaign);
}

gboolean
dvmd_core_holds_back (DvmdCore *self)
{
  gint64 limit = (gint64)dvmd_core_get_settings (self)->park_limit * G_USEC_PER_SEC;

  return dvmd_launch_fence_has_since (dvmd_core_get_fence (self),
                                      dvmd_clock_monotonic (dvmd_core_get_clock (self)) - limit);
}

/* ---- the nodes that they bring, and that have gone ---- */

DvmdCampaign *
dvmd_campaign_registry_find_coming (DvmdCampaignRegistry *self, const char *name)
{
  return g_hash_table_lookup (self->coming, name);
}

void
dvmd_campaign_registry_add_coming (DvmdCampaignRegistry *self, const char *name, DvmdCampaign *campaign)
{
  g_hash_table_insert (self->coming, g_strdup (name), campaign);
}

void
dvmd_campaign_registry_remove_coming (DvmdCampaignRegistry *self, const char *name, DvmdCampaign *campaign)
{
  if (g_hash_table_lookup (self->coming, name) == campaign)
    g_hash_table_remove (self->coming, name);
}

GPtrArray *
dvmd_campaign_registry_open_offer (DvmdCampaignRegistry *self, gboolean *is_new)
{
  *is_new = self->to_offer == NULL;
  if (self->to_offer == NULL)
    self->to_offer = dvmd_targets_new ();
  return self->to_offer;
}

GPtrArray *
dvmd_campaign_registry_take_offer (DvmdCampaignRegistry *self)
{
  return g_steal_pointer (&self->to_offer);
}

void
dvmd_campaign_registry_count_draining (DvmdCampaignRegistry *self, int change)
{
  self->n_draining += change;
}

gboolean
dvmd_campaign_registry_is_draining (DvmdCampaignRegistry *self)
{
  return self->n_draining > 0;
}

/* ---- they are found ---- */

GList *
dvmd_core_get_live_campaigns (DvmdCore *self)
{
  return dvmd_registry_list (dvmd_core_get_campaign_registry (self)->all, FALSE);
}

guint
dvmd_core_get_campaigns_running (DvmdCore *self)
{
  return dvmd_registry_count_live (dvmd_core_get_campaign_registry (self)->all);
}

DvmdCampaign *
dvmd_core_get_campaign (DvmdCore *self, guint id)
{
  return dvmd_registry_get (dvmd_core_get_campaign_registry (self)->all, id);
}

DvmdCampaign *
dvmd_core_next_campaign (DvmdCore *self, DvmdCampaign *after, gboolean ended)
{
  return dvmd_registry_next (dvmd_core_get_campaign_registry (self)->all, after, ended);
}

guint
dvmd_core_get_last_campaign_id (DvmdCore *self)
{
  return dvmd_core_get_campaign_registry (self)->last_id;
}
