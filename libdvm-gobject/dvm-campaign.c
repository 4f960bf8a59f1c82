/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The record of a campaign, which grows or shrinks the DVM.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-campaign"

#include "dvm-campaign-private.h"
#include "dvm-enum-types.h"

/**
 * DvmCampaign:
 *
 * What is known of a campaign: one change of the size of the DVM, from the request to its end.
 *
 * A record: it is read, and changes by itself while its client follows the DVM.
 *
 * Since: 0.1
 */

G_DEFINE_FINAL_TYPE (DvmCampaign, dvm_campaign, G_TYPE_OBJECT)

static const DvmRecordWords state_words = { dvm_campaign_state_get_type, dvm_campaign_state_to_string,
                                            dvm_campaign_state_from_string };
static const DvmRecordWords kind_words = { dvm_campaign_kind_get_type, dvm_campaign_kind_to_string,
                                           dvm_campaign_kind_from_string };

/* In the order of the properties. */
static const DvmRecordField fields[] = {
  /**
   * DvmCampaign:id:
   *
   * The number of the campaign.
   *
   * Since: 0.1
   */
  { "Id", "id", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmCampaign, id) },
  /**
   * DvmCampaign:kind:
   *
   * Whether the DVM grows or shrinks.
   *
   * Since: 0.1
   */
  { "Kind", "kind", DVM_RECORD_FIELD_ENUM_WORD, G_STRUCT_OFFSET (DvmCampaign, kind), .words = &kind_words },
  /**
   * DvmCampaign:state:
   *
   * The state.
   *
   * Since: 0.1
   */
  { "State", "state", DVM_RECORD_FIELD_ENUM_WORD, G_STRUCT_OFFSET (DvmCampaign, record.state), .words = &state_words,
    .guarded = TRUE },
  /**
   * DvmCampaign:alloc-id:
   *
   * The id of the allocation that changes.
   *
   * Since: 0.1
   */
  { "AllocId", "alloc-id", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmCampaign, alloc_id) },
  /**
   * DvmCampaign:request-id:
   *
   * The id of the request.
   *
   * Since: 0.1
   */
  { "RequestId", "request-id", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmCampaign, request_id) },
  /**
   * DvmCampaign:requester:
   *
   * Who asked for it.
   *
   * Since: 0.1
   */
  { "Requester", "requester", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmCampaign, requester) },
  /**
   * DvmCampaign:targets:
   *
   * The ranks of the agents that come or go; a list of type au.
   *
   * Since: 0.1
   */
  { "Targets", "targets", DVM_RECORD_FIELD_RANKS, G_STRUCT_OFFSET (DvmCampaign, targets) },
  /**
   * DvmCampaign:hosts:
   *
   * The names of the nodes that come or go.
   *
   * Since: 0.1
   */
  { "Hosts", "hosts", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmCampaign, hosts) },
  /**
   * DvmCampaign:pending:
   *
   * How many targets have not come or gone yet.
   *
   * Since: 0.1
   */
  { "Pending", "pending", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmCampaign, pending) },
  /**
   * DvmCampaign:status:
   *
   * The PMIx status of its end.
   *
   * Since: 0.1
   */
  { "Status", "status", DVM_RECORD_FIELD_INT, G_STRUCT_OFFSET (DvmCampaign, status) },
  /**
   * DvmCampaign:cause:
   *
   * What made it fail.
   *
   * Since: 0.1
   */
  { "Cause", "cause", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmCampaign, cause) },
  /**
   * DvmCampaign:reason:
   *
   * Why the campaign is in its state.
   *
   * Since: 0.1
   */
  { "Reason", "reason", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmCampaign, record.reason), .guarded = TRUE },
  /**
   * DvmCampaign:started-at:
   *
   * When it began, in microseconds since the epoch; 0 if there is no such time.
   *
   * Since: 0.1
   */
  { "StartedAt", "started-at", DVM_RECORD_FIELD_TIME, G_STRUCT_OFFSET (DvmCampaign, started_at) },
  /**
   * DvmCampaign:ended-at:
   *
   * When it ended, in microseconds since the epoch; 0 if there is no such time.
   *
   * Since: 0.1
   */
  { "EndedAt", "ended-at", DVM_RECORD_FIELD_TIME, G_STRUCT_OFFSET (DvmCampaign, ended_at) },
  /**
   * DvmCampaign:tree-repairs:
   *
   * How often the tree was repaired for it.
   *
   * Since: 0.1
   */
  { "TreeRepairs", "tree-repairs", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmCampaign, tree_repairs) },
  /**
   * DvmCampaign:links-changed:
   *
   * How many links of the tree it changed.
   *
   * Since: 0.1
   */
  { "LinksChanged", "links-changed", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmCampaign, links_changed) },
  /**
   * DvmCampaign:held-jobs:
   *
   * The object paths of the jobs that wait for it.
   *
   * Since: 0.1
   */
  { "HeldJobs", "held-jobs", DVM_RECORD_FIELD_PATHS, G_STRUCT_OFFSET (DvmCampaign, held_jobs) },
};

static GParamSpec *properties[sizeof (DvmCampaign) / sizeof (guint)][2];
static guint signals[1];

static const DvmRecordCodec codec = {
  .fields = fields,
  .n_fields = G_N_ELEMENTS (fields),
  .properties = properties,
  .states = &state_words,
  .state_changed = signals,
};

static void
dvm_campaign_class_init (DvmCampaignClass *klass)
{
  /**
   * DvmCampaign::state-changed:
   * @self: the campaign
   * @old_state: the state before
   * @new_state: the state now
   * @reason: why, "" if there is nothing to say
   *
   * The state has changed. The properties have their new values already. The detail is the name of the new state, such
   * as in "state-changed::completed".
   *
   * Since: 0.1
   */
  _dvm_record_class_install (klass, &codec);
}

static void
dvm_campaign_init (DvmCampaign *self)
{
}

DvmCampaign *
_dvm_campaign_new (guint id)
{
  DvmCampaign *self = g_object_new (DVM_TYPE_CAMPAIGN, NULL);

  self->id = id;
  return self;
}

void
_dvm_campaign_set_state (DvmCampaign *self, DvmCampaignState state, const char *reason)
{
  _dvm_record_set_state (&self->record, &codec, state, reason);
}

void
_dvm_campaign_set_request (DvmCampaign *self, DvmCampaignKind kind, const char *alloc_id, const char *request_id,
                           const char *requester)
{
  _dvm_record_set_uint (self, &codec, (guint *)&self->kind, kind);
  _dvm_record_set_string (self, &codec, &self->alloc_id, alloc_id);
  _dvm_record_set_string (self, &codec, &self->request_id, request_id);
  _dvm_record_set_string (self, &codec, &self->requester, requester);
}

void
_dvm_campaign_set_targets (DvmCampaign *self, const guint32 *targets, gsize n_targets, const char *const *hosts)
{
  g_autoptr (GVariant) value = g_variant_ref_sink (
      g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, targets, n_targets, sizeof *targets));

  _dvm_record_set_variant (self, &codec, &self->targets, value);
  _dvm_record_set_strv (self, &codec, &self->hosts, hosts);
}

void
_dvm_campaign_set_pending (DvmCampaign *self, guint pending)
{
  _dvm_record_set_uint (self, &codec, &self->pending, pending);
}

void
_dvm_campaign_set_outcome (DvmCampaign *self, int status, const char *cause)
{
  _dvm_record_set_int (self, &codec, &self->status, status);
  _dvm_record_set_string (self, &codec, &self->cause, cause);
}

void
_dvm_campaign_set_started_at (DvmCampaign *self, gint64 started_at)
{
  _dvm_record_set_time (self, &codec, &self->started_at, started_at);
}

void
_dvm_campaign_set_ended_at (DvmCampaign *self, gint64 ended_at)
{
  _dvm_record_set_time (self, &codec, &self->ended_at, ended_at);
}

void
_dvm_campaign_set_repairs (DvmCampaign *self, guint tree_repairs, guint links_changed)
{
  _dvm_record_set_uint (self, &codec, &self->tree_repairs, tree_repairs);
  _dvm_record_set_uint (self, &codec, &self->links_changed, links_changed);
}

void
_dvm_campaign_set_held_jobs (DvmCampaign *self, const char *const *held_jobs)
{
  _dvm_record_set_strv (self, &codec, &self->held_jobs, held_jobs);
}

/**
 * dvm_campaign_get_object_path:
 * @self: a campaign
 *
 * The D-Bus object path of the campaign, such as "/org/dvm/campaigns/3".
 *
 * Returns: (transfer none): the object path
 * Since: 0.1
 */
const char *
dvm_campaign_get_object_path (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), NULL);

  return _dvm_record_get_object_path (&self->record, "/org/dvm/campaigns/", self->id);
}

/**
 * dvm_campaign_to_variant:
 * @self: a campaign
 *
 * All properties under their D-Bus names, as the bus shows them.
 *
 * Returns: (transfer full): a dictionary of type a{sv}
 * Since: 0.1
 */
GVariant *
dvm_campaign_to_variant (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), NULL);

  return _dvm_record_to_variant (self);
}

/**
 * dvm_campaign_new_from_variant:
 * @values: a dictionary of type a{sv}, as of [method@Campaign.to_variant]
 * @error: return location for an error
 *
 * A record of its own that was kept or sent: it does not change with the DVM. Names that this version does not know are
 * left aside.
 *
 * Returns: (transfer full): a campaign, or %NULL with @error set if a value has another type than the property
 * Since: 0.1
 */
DvmCampaign *
dvm_campaign_new_from_variant (GVariant *values, GError **error)
{
  g_return_val_if_fail (values != NULL, NULL);

  return _dvm_record_new_from_variant (DVM_TYPE_CAMPAIGN, values, error);
}

/**
 * dvm_campaign_to_json:
 * @self: a campaign
 *
 * All properties as a JSON object on one line: keys in kebab case, times as ISO 8601 in UTC.
 *
 * Returns: (transfer full): the text
 * Since: 0.1
 */
char *
dvm_campaign_to_json (DvmCampaign *self)
{
  g_return_val_if_fail (DVM_IS_CAMPAIGN (self), NULL);

  return _dvm_record_to_json (self);
}
