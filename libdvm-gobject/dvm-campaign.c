/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-campaign"

#include "dvm-record-codec-private.h"
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

enum
{
  PROP_0,
  PROP_ID,
  PROP_KIND,
  PROP_STATE,
  PROP_ALLOC_ID,
  PROP_REQUEST_ID,
  PROP_REQUESTER,
  PROP_TARGETS,
  PROP_HOSTS,
  PROP_PENDING,
  PROP_STATUS,
  PROP_CAUSE,
  PROP_REASON,
  PROP_STARTED_AT,
  PROP_ENDED_AT,
  PROP_TREE_REPAIRS,
  PROP_LINKS_CHANGED,
  PROP_HELD_JOBS,
  N_PROPS
};

enum
{
  SIGNAL_STATE_CHANGED,
  N_SIGNALS
};

static GParamSpec *properties[N_PROPS];
static guint signals[N_SIGNALS];

struct _DvmCampaign
{
  GObject parent_instance;

  guint id;
  DvmCampaignKind kind;
  DvmCampaignState state;
  char *alloc_id;
  char *request_id;
  char *requester;
  GVariant *targets; /* au, (nullable): none */
  char **hosts;
  guint pending;
  int status;
  char *cause;
  char *reason;
  gint64 started_at;
  gint64 ended_at;
  guint tree_repairs;
  guint links_changed;
  char **held_jobs;
  char *object_path; /* made when it is asked for */
};

G_DEFINE_FINAL_TYPE (DvmCampaign, dvm_campaign, G_TYPE_OBJECT)

static const char *
state_to_string (guint state)
{
  return dvm_campaign_state_to_string ((DvmCampaignState)state);
}

static guint
state_from_string (const char *word)
{
  return dvm_campaign_state_from_string (word);
}

static const DvmRecordWords state_words = { dvm_campaign_state_get_type, state_to_string, state_from_string };

static const char *
kind_to_string (guint kind)
{
  return dvm_campaign_kind_to_string ((DvmCampaignKind)kind);
}

static guint
kind_from_string (const char *word)
{
  return dvm_campaign_kind_from_string (word);
}

static const DvmRecordWords kind_words = { dvm_campaign_kind_get_type, kind_to_string, kind_from_string };

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
  { "State", "state", DVM_RECORD_FIELD_ENUM_WORD, G_STRUCT_OFFSET (DvmCampaign, state), .words = &state_words,
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
  { "Reason", "reason", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmCampaign, reason), .guarded = TRUE },
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

G_STATIC_ASSERT (G_N_ELEMENTS (fields) == N_PROPS - 1);

const DvmRecordField *
_dvm_campaign_get_fields (guint *n_fields)
{
  if (n_fields != NULL)
    *n_fields = G_N_ELEMENTS (fields);
  return fields;
}

static void
set_state (gpointer record, guint state, const char *reason)
{
  _dvm_campaign_set_state (record, state, reason);
}

static const DvmRecordCodec codec = {
  .fields = fields,
  .n_fields = G_N_ELEMENTS (fields),
  .properties = properties,
  .set_state = set_state,
};

static void
dvm_campaign_get_property (GObject *object, guint prop_id, GValue *value, GParamSpec *pspec)
{
  _dvm_record_get_property (object, &codec, prop_id, value);
}

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

  return self->state;
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

  return self->reason != NULL ? self->reason : "";
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

static void
dvm_campaign_finalize (GObject *object)
{
  DvmCampaign *self = DVM_CAMPAIGN (object);

  _dvm_record_clear (self, &codec);
  g_free (self->object_path);
  G_OBJECT_CLASS (dvm_campaign_parent_class)->finalize (object);
}

static void
dvm_campaign_class_init (DvmCampaignClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = dvm_campaign_get_property;
  object_class->finalize = dvm_campaign_finalize;
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
  signals[SIGNAL_STATE_CHANGED] = g_signal_new (
      "state-changed", DVM_TYPE_CAMPAIGN, G_SIGNAL_RUN_LAST | G_SIGNAL_DETAILED, 0, NULL, NULL, NULL, G_TYPE_NONE, 3,
      DVM_TYPE_CAMPAIGN_STATE, DVM_TYPE_CAMPAIGN_STATE, G_TYPE_STRING | G_SIGNAL_TYPE_STATIC_SCOPE);
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
  DvmCampaignState old_state = self->state;

  _dvm_record_set_string (self, &self->reason, reason, properties[PROP_REASON]);
  if (state == old_state)
    return;
  self->state = state;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE]);
  g_signal_emit (self, signals[SIGNAL_STATE_CHANGED], g_quark_from_static_string (dvm_campaign_state_to_string (state)),
                 old_state, state, reason != NULL ? reason : "");
}

void
_dvm_campaign_set_request (DvmCampaign *self, DvmCampaignKind kind, const char *alloc_id, const char *request_id,
                           const char *requester)
{
  _dvm_record_set_uint (self, (guint *)&self->kind, kind, properties[PROP_KIND]);
  _dvm_record_set_string (self, &self->alloc_id, alloc_id, properties[PROP_ALLOC_ID]);
  _dvm_record_set_string (self, &self->request_id, request_id, properties[PROP_REQUEST_ID]);
  _dvm_record_set_string (self, &self->requester, requester, properties[PROP_REQUESTER]);
}

void
_dvm_campaign_set_targets (DvmCampaign *self, const guint32 *targets, gsize n_targets, const char *const *hosts)
{
  g_autoptr (GVariant) value = g_variant_ref_sink (
      g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, targets, n_targets, sizeof *targets));

  _dvm_record_set_variant (self, &self->targets, value, properties[PROP_TARGETS]);
  _dvm_record_set_strv (self, &self->hosts, hosts, properties[PROP_HOSTS]);
}

void
_dvm_campaign_set_pending (DvmCampaign *self, guint pending)
{
  _dvm_record_set_uint (self, &self->pending, pending, properties[PROP_PENDING]);
}

void
_dvm_campaign_set_outcome (DvmCampaign *self, int status, const char *cause)
{
  _dvm_record_set_int (self, &self->status, status, properties[PROP_STATUS]);
  _dvm_record_set_string (self, &self->cause, cause, properties[PROP_CAUSE]);
}

void
_dvm_campaign_set_started_at (DvmCampaign *self, gint64 started_at)
{
  _dvm_record_set_time (self, &self->started_at, started_at, properties[PROP_STARTED_AT]);
}

void
_dvm_campaign_set_ended_at (DvmCampaign *self, gint64 ended_at)
{
  _dvm_record_set_time (self, &self->ended_at, ended_at, properties[PROP_ENDED_AT]);
}

void
_dvm_campaign_set_repairs (DvmCampaign *self, guint tree_repairs, guint links_changed)
{
  _dvm_record_set_uint (self, &self->tree_repairs, tree_repairs, properties[PROP_TREE_REPAIRS]);
  _dvm_record_set_uint (self, &self->links_changed, links_changed, properties[PROP_LINKS_CHANGED]);
}

void
_dvm_campaign_set_held_jobs (DvmCampaign *self, const char *const *held_jobs)
{
  _dvm_record_set_strv (self, &self->held_jobs, held_jobs, properties[PROP_HELD_JOBS]);
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

  if (self->object_path == NULL)
    self->object_path = g_strdup_printf ("/org/dvm/campaigns/%u", self->id);
  return self->object_path;
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
