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

/* In the order of the properties. */
static const DvmRecordField fields[] = {
  { "Id", "id", "u", DVM_RECORD_FIELD_PLAIN, NULL, { "Id" } },
  { "Kind", "kind", "s", DVM_RECORD_FIELD_PLAIN, NULL, { "Kind" } },
  { "State", "state", "s", DVM_RECORD_FIELD_PLAIN, NULL, { "State" } },
  { "AllocId", "alloc-id", "s", DVM_RECORD_FIELD_PLAIN, NULL, { "AllocId" } },
  { "RequestId", "request-id", "s", DVM_RECORD_FIELD_PLAIN, NULL, { "RequestId" } },
  { "Requester", "requester", "s", DVM_RECORD_FIELD_PLAIN, NULL, { "Requester" } },
  { "Targets", "targets", "au", DVM_RECORD_FIELD_PLAIN, NULL, { "Targets" } },
  { "Hosts", "hosts", "as", DVM_RECORD_FIELD_PLAIN, NULL, { "Hosts" } },
  { "Pending", "pending", "u", DVM_RECORD_FIELD_PLAIN, NULL, { "Pending" } },
  { "Status", "status", "i", DVM_RECORD_FIELD_PLAIN, NULL, { "Status" } },
  { "Cause", "cause", "s", DVM_RECORD_FIELD_PLAIN, NULL, { "Cause" } },
  { "Reason", "reason", "s", DVM_RECORD_FIELD_PLAIN, NULL, { "Reason" } },
  { "StartedAt", "started-at", "t", DVM_RECORD_FIELD_TIME, NULL, { "StartedAt" } },
  { "EndedAt", "ended-at", "t", DVM_RECORD_FIELD_TIME, NULL, { "EndedAt" } },
  { "TreeRepairs", "tree-repairs", "u", DVM_RECORD_FIELD_PLAIN, NULL, { "TreeRepairs" } },
  { "LinksChanged", "links-changed", "u", DVM_RECORD_FIELD_PLAIN, NULL, { "LinksChanged" } },
  { "HeldJobs", "held-jobs", "ao", DVM_RECORD_FIELD_PLAIN, NULL, { "HeldJobs" } },
};

G_STATIC_ASSERT (G_N_ELEMENTS (fields) == N_PROPS - 1);

const DvmRecordField *
_dvm_campaign_get_fields (guint *n_fields)
{
  if (n_fields != NULL)
    *n_fields = G_N_ELEMENTS (fields);
  return fields;
}

static GVariant *
get_field (gpointer record, guint index)
{
  DvmCampaign *self = record;

  switch (index + 1)
    {
    case PROP_ID:
      return g_variant_new_uint32 (self->id);
    case PROP_KIND:
      return g_variant_new_string (dvm_campaign_kind_to_string (self->kind));
    case PROP_STATE:
      return g_variant_new_string (dvm_campaign_state_to_string (self->state));
    case PROP_ALLOC_ID:
      return _dvm_record_string_variant (self->alloc_id);
    case PROP_REQUEST_ID:
      return _dvm_record_string_variant (self->request_id);
    case PROP_REQUESTER:
      return _dvm_record_string_variant (self->requester);
    case PROP_TARGETS:
      return self->targets != NULL ? g_variant_ref (self->targets) : g_variant_new ("au", NULL);
    case PROP_HOSTS:
      return _dvm_record_strv_variant (self->hosts);
    case PROP_PENDING:
      return g_variant_new_uint32 (self->pending);
    case PROP_STATUS:
      return g_variant_new_int32 (self->status);
    case PROP_CAUSE:
      return _dvm_record_string_variant (self->cause);
    case PROP_REASON:
      return _dvm_record_string_variant (self->reason);
    case PROP_STARTED_AT:
      return g_variant_new_uint64 (self->started_at);
    case PROP_ENDED_AT:
      return g_variant_new_uint64 (self->ended_at);
    case PROP_TREE_REPAIRS:
      return g_variant_new_uint32 (self->tree_repairs);
    case PROP_LINKS_CHANGED:
      return g_variant_new_uint32 (self->links_changed);
    case PROP_HELD_JOBS:
      return _dvm_record_paths_variant (self->held_jobs);
    default:
      g_assert_not_reached ();
    }
}

static void
set_targets (DvmCampaign *self, GVariant *value)
{
  if (g_variant_n_children (value) == 0)
    value = NULL;
  if (self->targets == NULL ? value == NULL : value != NULL && g_variant_equal (self->targets, value))
    return;
  g_clear_pointer (&self->targets, g_variant_unref);
  if (value != NULL)
    self->targets = g_variant_ref (value);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TARGETS]);
}

static void
set_kind (DvmCampaign *self, DvmCampaignKind kind)
{
  if (self->kind == kind)
    return;
  self->kind = kind;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_KIND]);
}

static void
set_field (gpointer record, guint index, GVariant *value)
{
  DvmCampaign *self = record;

  switch (index + 1)
    {
    case PROP_ID:
      _dvm_record_set_uint (self, &self->id, g_variant_get_uint32 (value), properties[PROP_ID]);
      break;
    case PROP_KIND:
      set_kind (self, dvm_campaign_kind_from_string (g_variant_get_string (value, NULL)));
      break;
    case PROP_ALLOC_ID:
      _dvm_record_set_string (self, &self->alloc_id, g_variant_get_string (value, NULL), properties[PROP_ALLOC_ID]);
      break;
    case PROP_REQUEST_ID:
      _dvm_record_set_string (self, &self->request_id, g_variant_get_string (value, NULL), properties[PROP_REQUEST_ID]);
      break;
    case PROP_REQUESTER:
      _dvm_record_set_string (self, &self->requester, g_variant_get_string (value, NULL), properties[PROP_REQUESTER]);
      break;
    case PROP_TARGETS:
      set_targets (self, value);
      break;
    case PROP_HOSTS:
      _dvm_record_set_strv_variant (self, &self->hosts, value, properties[PROP_HOSTS]);
      break;
    case PROP_PENDING:
      _dvm_record_set_uint (self, &self->pending, g_variant_get_uint32 (value), properties[PROP_PENDING]);
      break;
    case PROP_STATUS:
      _dvm_record_set_int (self, &self->status, g_variant_get_int32 (value), properties[PROP_STATUS]);
      break;
    case PROP_CAUSE:
      _dvm_record_set_string (self, &self->cause, g_variant_get_string (value, NULL), properties[PROP_CAUSE]);
      break;
    case PROP_STARTED_AT:
      _dvm_record_set_time (self, &self->started_at, g_variant_get_uint64 (value), properties[PROP_STARTED_AT]);
      break;
    case PROP_ENDED_AT:
      _dvm_record_set_time (self, &self->ended_at, g_variant_get_uint64 (value), properties[PROP_ENDED_AT]);
      break;
    case PROP_TREE_REPAIRS:
      _dvm_record_set_uint (self, &self->tree_repairs, g_variant_get_uint32 (value), properties[PROP_TREE_REPAIRS]);
      break;
    case PROP_LINKS_CHANGED:
      _dvm_record_set_uint (self, &self->links_changed, g_variant_get_uint32 (value), properties[PROP_LINKS_CHANGED]);
      break;
    case PROP_HELD_JOBS:
      _dvm_record_set_strv_variant (self, &self->held_jobs, value, properties[PROP_HELD_JOBS]);
      break;
    default: /* the state and what follows from it */
      break;
    }
}

static void
dvm_campaign_get_property (GObject *object, guint prop_id, GValue *value, GParamSpec *pspec)
{
  DvmCampaign *self = DVM_CAMPAIGN (object);

  switch (prop_id)
    {
    case PROP_ID:
      g_value_set_uint (value, dvm_campaign_get_id (self));
      break;
    case PROP_KIND:
      g_value_set_enum (value, dvm_campaign_get_kind (self));
      break;
    case PROP_STATE:
      g_value_set_enum (value, dvm_campaign_get_state (self));
      break;
    case PROP_ALLOC_ID:
      g_value_set_string (value, dvm_campaign_get_alloc_id (self));
      break;
    case PROP_REQUEST_ID:
      g_value_set_string (value, dvm_campaign_get_request_id (self));
      break;
    case PROP_REQUESTER:
      g_value_set_string (value, dvm_campaign_get_requester (self));
      break;
    case PROP_TARGETS:
      g_value_take_variant (value, g_variant_ref_sink (get_field (self, PROP_TARGETS - 1)));
      break;
    case PROP_HOSTS:
      g_value_set_boxed (value, dvm_campaign_get_hosts (self));
      break;
    case PROP_PENDING:
      g_value_set_uint (value, dvm_campaign_get_pending (self));
      break;
    case PROP_STATUS:
      g_value_set_int (value, dvm_campaign_get_status (self));
      break;
    case PROP_CAUSE:
      g_value_set_string (value, dvm_campaign_get_cause (self));
      break;
    case PROP_REASON:
      g_value_set_string (value, dvm_campaign_get_reason (self));
      break;
    case PROP_STARTED_AT:
      g_value_set_int64 (value, dvm_campaign_get_started_at (self));
      break;
    case PROP_ENDED_AT:
      g_value_set_int64 (value, dvm_campaign_get_ended_at (self));
      break;
    case PROP_TREE_REPAIRS:
      g_value_set_uint (value, dvm_campaign_get_tree_repairs (self));
      break;
    case PROP_LINKS_CHANGED:
      g_value_set_uint (value, dvm_campaign_get_links_changed (self));
      break;
    case PROP_HELD_JOBS:
      g_value_set_boxed (value, dvm_campaign_get_held_jobs (self));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
      break;
    }
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
install_properties (GObjectClass *object_class)
{
  const GParamFlags flags = G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS;

  /**
   * DvmCampaign:id:
   *
   * The number of the campaign.
   *
   * Since: 0.1
   */
  properties[PROP_ID] = g_param_spec_uint ("id", NULL, NULL, 0, G_MAXUINT, 0, flags);
  /**
   * DvmCampaign:kind:
   *
   * Whether the DVM grows or shrinks.
   *
   * Since: 0.1
   */
  properties[PROP_KIND] = g_param_spec_enum ("kind", NULL, NULL, DVM_TYPE_CAMPAIGN_KIND, DVM_CAMPAIGN_KIND_UNDEF,
                                             flags);
  /**
   * DvmCampaign:state:
   *
   * The state.
   *
   * Since: 0.1
   */
  properties[PROP_STATE] = g_param_spec_enum ("state", NULL, NULL, DVM_TYPE_CAMPAIGN_STATE, DVM_CAMPAIGN_STATE_UNDEF,
                                              flags);
  /**
   * DvmCampaign:alloc-id:
   *
   * The id of the allocation that changes.
   *
   * Since: 0.1
   */
  properties[PROP_ALLOC_ID] = g_param_spec_string ("alloc-id", NULL, NULL, "", flags);
  /**
   * DvmCampaign:request-id:
   *
   * The id of the request.
   *
   * Since: 0.1
   */
  properties[PROP_REQUEST_ID] = g_param_spec_string ("request-id", NULL, NULL, "", flags);
  /**
   * DvmCampaign:requester:
   *
   * Who asked for it.
   *
   * Since: 0.1
   */
  properties[PROP_REQUESTER] = g_param_spec_string ("requester", NULL, NULL, "", flags);
  /**
   * DvmCampaign:targets:
   *
   * The ranks of the agents that come or go; a list of type au.
   *
   * Since: 0.1
   */
  properties[PROP_TARGETS] = g_param_spec_variant ("targets", NULL, NULL, G_VARIANT_TYPE ("au"), NULL, flags);
  /**
   * DvmCampaign:hosts:
   *
   * The names of the nodes that come or go.
   *
   * Since: 0.1
   */
  properties[PROP_HOSTS] = g_param_spec_boxed ("hosts", NULL, NULL, G_TYPE_STRV, flags);
  /**
   * DvmCampaign:pending:
   *
   * How many targets have not come or gone yet.
   *
   * Since: 0.1
   */
  properties[PROP_PENDING] = g_param_spec_uint ("pending", NULL, NULL, 0, G_MAXUINT, 0, flags);
  /**
   * DvmCampaign:status:
   *
   * The PMIx status of its end.
   *
   * Since: 0.1
   */
  properties[PROP_STATUS] = g_param_spec_int ("status", NULL, NULL, G_MININT, G_MAXINT, 0, flags);
  /**
   * DvmCampaign:cause:
   *
   * What made it fail.
   *
   * Since: 0.1
   */
  properties[PROP_CAUSE] = g_param_spec_string ("cause", NULL, NULL, "", flags);
  /**
   * DvmCampaign:reason:
   *
   * Why the campaign is in its state.
   *
   * Since: 0.1
   */
  properties[PROP_REASON] = g_param_spec_string ("reason", NULL, NULL, "", flags);
  /**
   * DvmCampaign:started-at:
   *
   * When it began, in microseconds since the epoch; 0 if there is no such time.
   *
   * Since: 0.1
   */
  properties[PROP_STARTED_AT] = g_param_spec_int64 ("started-at", NULL, NULL, 0, G_MAXINT64, 0, flags);
  /**
   * DvmCampaign:ended-at:
   *
   * When it ended, in microseconds since the epoch; 0 if there is no such time.
   *
   * Since: 0.1
   */
  properties[PROP_ENDED_AT] = g_param_spec_int64 ("ended-at", NULL, NULL, 0, G_MAXINT64, 0, flags);
  /**
   * DvmCampaign:tree-repairs:
   *
   * How often the tree was repaired for it.
   *
   * Since: 0.1
   */
  properties[PROP_TREE_REPAIRS] = g_param_spec_uint ("tree-repairs", NULL, NULL, 0, G_MAXUINT, 0, flags);
  /**
   * DvmCampaign:links-changed:
   *
   * How many links of the tree it changed.
   *
   * Since: 0.1
   */
  properties[PROP_LINKS_CHANGED] = g_param_spec_uint ("links-changed", NULL, NULL, 0, G_MAXUINT, 0, flags);
  /**
   * DvmCampaign:held-jobs:
   *
   * The object paths of the jobs that wait for it.
   *
   * Since: 0.1
   */
  properties[PROP_HELD_JOBS] = g_param_spec_boxed ("held-jobs", NULL, NULL, G_TYPE_STRV, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
set_state_variants (gpointer record, GVariant *state, GVariant *reason)
{
  DvmCampaign *self = record;

  _dvm_campaign_set_state (
      self, state != NULL ? dvm_campaign_state_from_string (g_variant_get_string (state, NULL)) : self->state,
      reason != NULL ? g_variant_get_string (reason, NULL) : self->reason);
}

static const DvmRecordCodec codec = {
  .fields = fields,
  .n_fields = G_N_ELEMENTS (fields),
  .get = get_field,
  .set = set_field,
  .set_state = set_state_variants,
};

static void
dvm_campaign_finalize (GObject *object)
{
  DvmCampaign *self = DVM_CAMPAIGN (object);

  g_free (self->alloc_id);
  g_free (self->request_id);
  g_free (self->requester);
  g_clear_pointer (&self->targets, g_variant_unref);
  g_strfreev (self->hosts);
  g_free (self->cause);
  g_free (self->reason);
  g_strfreev (self->held_jobs);
  g_free (self->object_path);
  G_OBJECT_CLASS (dvm_campaign_parent_class)->finalize (object);
}

static void
dvm_campaign_class_init (DvmCampaignClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = dvm_campaign_get_property;
  object_class->finalize = dvm_campaign_finalize;
  install_properties (object_class);
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
  _dvm_record_class_set_codec (klass, &codec);
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
  set_kind (self, kind);
  _dvm_record_set_string (self, &self->alloc_id, alloc_id, properties[PROP_ALLOC_ID]);
  _dvm_record_set_string (self, &self->request_id, request_id, properties[PROP_REQUEST_ID]);
  _dvm_record_set_string (self, &self->requester, requester, properties[PROP_REQUESTER]);
}

void
_dvm_campaign_set_targets (DvmCampaign *self, const guint32 *targets, gsize n_targets, const char *const *hosts)
{
  g_autoptr (GVariant) value = g_variant_ref_sink (
      g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, targets, n_targets, sizeof *targets));

  set_targets (self, value);
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
