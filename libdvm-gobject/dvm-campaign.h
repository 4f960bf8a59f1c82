/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#if !defined(DVM_INSIDE) && !defined(DVM_COMPILATION)
#error "Only <dvm.h> can be included directly."
#endif

#include "dvm-enums.h"

G_BEGIN_DECLS

#define DVM_TYPE_CAMPAIGN (dvm_campaign_get_type ())
G_DECLARE_FINAL_TYPE (DvmCampaign, dvm_campaign, DVM, CAMPAIGN, GObject)
guint dvm_campaign_get_id (DvmCampaign *self);
DvmCampaignKind dvm_campaign_get_kind (DvmCampaign *self);
DvmCampaignState dvm_campaign_get_state (DvmCampaign *self);
const char *dvm_campaign_get_alloc_id (DvmCampaign *self);
const char *dvm_campaign_get_request_id (DvmCampaign *self);
const char *dvm_campaign_get_requester (DvmCampaign *self);
const guint32 *dvm_campaign_get_targets (DvmCampaign *self, gsize *n_targets);
const char *const *dvm_campaign_get_hosts (DvmCampaign *self);
guint dvm_campaign_get_pending (DvmCampaign *self);
int dvm_campaign_get_status (DvmCampaign *self);
const char *dvm_campaign_get_cause (DvmCampaign *self);
const char *dvm_campaign_get_reason (DvmCampaign *self);
gint64 dvm_campaign_get_started_at (DvmCampaign *self);
gint64 dvm_campaign_get_ended_at (DvmCampaign *self);
guint dvm_campaign_get_tree_repairs (DvmCampaign *self);
guint dvm_campaign_get_links_changed (DvmCampaign *self);
const char *const *dvm_campaign_get_held_jobs (DvmCampaign *self);
const char *dvm_campaign_get_object_path (DvmCampaign *self);

DvmCampaign *dvm_campaign_new_from_variant (GVariant *values, GError **error);
GVariant *dvm_campaign_to_variant (DvmCampaign *self);
char *dvm_campaign_to_json (DvmCampaign *self);

G_END_DECLS
