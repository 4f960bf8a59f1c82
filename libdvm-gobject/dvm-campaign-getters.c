/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The getters of a campaign's properties.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-campaign"

#include "dvm-campaign-private.h"

/**
 * dvm_campaign_get_id:
 * @self: a campaign
 *
 * The number of the campaign.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_campaign_get_id (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), 0);

  return self->id;
}

/**
 * dvm_campaign_get_kind:
 * @self: a campaign
 *
 * Whether the DVM grows or shrinks.
 *
 * Returns: the kind
 * Since: 0.1
 */
DvmCampaignKind
dvm_campaign_get_kind (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), DVM_CAMPAIGN_KIND_UNDEF);

  return self->kind;
}

/**
 * dvm_campaign_get_state:
 * @self: a campaign
 *
 * The state.
 *
 * Returns: the state
 * Since: 0.1
 */
DvmCampaignState
dvm_campaign_get_state (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), DVM_CAMPAIGN_STATE_UNDEF);

  return self->record.state;
}

/**
 * dvm_campaign_get_alloc_id:
 * @self: a campaign
 *
 * The id of the allocation that changes.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_campaign_get_alloc_id (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), NULL);

  return self->alloc_id != NULL ? self->alloc_id : "";
}

/**
 * dvm_campaign_get_request_id:
 * @self: a campaign
 *
 * The id of the request.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_campaign_get_request_id (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), NULL);

  return self->request_id != NULL ? self->request_id : "";
}

/**
 * dvm_campaign_get_requester:
 * @self: a campaign
 *
 * Who asked for it.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_campaign_get_requester (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), NULL);

  return self->requester != NULL ? self->requester : "";
}

/**
 * dvm_campaign_get_targets:
 * @self: a campaign
 * @n_targets: (out): return location for their number
 *
 * The ranks of the agents that come or go.
 *
 * Returns: (transfer none) (array length=n_targets) (nullable): the ranks; %NULL if there is none
 * Since: 0.1
 */
const guint32 *
dvm_campaign_get_targets (DvmCampaign *self, gsize *n_targets)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), NULL);
  g_return_val_if_fail (n_targets != NULL, NULL);

  *n_targets = 0;
  return self->targets != NULL ? g_variant_get_fixed_array (self->targets, n_targets, sizeof (guint32)) : NULL;
}

/**
 * dvm_campaign_get_hosts:
 * @self: a campaign
 *
 * The names of the nodes that come or go.
 *
 * Returns: (transfer none) (array zero-terminated=1): the list
 * Since: 0.1
 */
const char *const *
dvm_campaign_get_hosts (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), NULL);

  return _dvm_record_get_strv (self->hosts);
}

/**
 * dvm_campaign_get_pending:
 * @self: a campaign
 *
 * How many targets have not come or gone yet.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_campaign_get_pending (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), 0);

  return self->pending;
}

/**
 * dvm_campaign_get_status:
 * @self: a campaign
 *
 * The PMIx status of its end.
 *
 * Returns: the number
 * Since: 0.1
 */
int
dvm_campaign_get_status (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), 0);

  return self->status;
}

/**
 * dvm_campaign_get_cause:
 * @self: a campaign
 *
 * What made it fail.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_campaign_get_cause (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), NULL);

  return self->cause != NULL ? self->cause : "";
}

/**
 * dvm_campaign_get_reason:
 * @self: a campaign
 *
 * Why the campaign is in its state.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_campaign_get_reason (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), NULL);

  return self->record.reason != NULL ? self->record.reason : "";
}

/**
 * dvm_campaign_get_started_at:
 * @self: a campaign
 *
 * When it began.
 *
 * Returns: microseconds since the epoch, 0 if there is no such time
 * Since: 0.1
 */
gint64
dvm_campaign_get_started_at (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), 0);

  return self->started_at;
}

/**
 * dvm_campaign_get_ended_at:
 * @self: a campaign
 *
 * When it ended.
 *
 * Returns: microseconds since the epoch, 0 if there is no such time
 * Since: 0.1
 */
gint64
dvm_campaign_get_ended_at (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), 0);

  return self->ended_at;
}

/**
 * dvm_campaign_get_tree_repairs:
 * @self: a campaign
 *
 * How often the tree was repaired for it.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_campaign_get_tree_repairs (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), 0);

  return self->tree_repairs;
}

/**
 * dvm_campaign_get_links_changed:
 * @self: a campaign
 *
 * How many links of the tree it changed.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_campaign_get_links_changed (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), 0);

  return self->links_changed;
}

/**
 * dvm_campaign_get_held_jobs:
 * @self: a campaign
 *
 * The object paths of the jobs that wait for it.
 *
 * Returns: (transfer none) (array zero-terminated=1): the object paths
 * Since: 0.1
 */
const char *const *
dvm_campaign_get_held_jobs (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), NULL);

  return _dvm_record_get_strv (self->held_jobs);
}
