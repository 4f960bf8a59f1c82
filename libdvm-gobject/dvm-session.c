/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-session"

#include "dvm-record-codec-private.h"
#include "dvm-enum-types.h"

/**
 * DvmSession:
 *
 * What is known of a session: a set of nodes, and the jobs on them.
 *
 * A record: it is read, and changes by itself while its client follows the DVM.
 *
 * Since: 0.1
 */

enum
{
  PROP_0,
  PROP_ID,
  PROP_ALLOC_ID,
  PROP_REQUEST_ID,
  PROP_STATE,
  PROP_REASON,
  PROP_NODES,
  PROP_JOBS,
  PROP_PARENT,
  PROP_CHILDREN,
  PROP_OWNER,
  PROP_OWNERS,
  PROP_INHERITANCE,
  PROP_SHARED,
  PROP_SEPARATE,
  PROP_EXPIRES_AT,
  N_PROPS
};

enum
{
  SIGNAL_STATE_CHANGED,
  N_SIGNALS
};

static GParamSpec *properties[N_PROPS];
static guint signals[N_SIGNALS];

struct _DvmSession
{
  GObject parent_instance;

  guint id;
  char *alloc_id;
  char *request_id;
  DvmSessionState state;
  char *reason;
  char **nodes;
  char **jobs;
  char *parent;
  char **children;
  char *owner;
  char **owners;
  char *inheritance;
  gboolean shared;
  gboolean separate;
  gint64 expires_at;
  char *object_path; /* made when it is asked for */
};

G_DEFINE_FINAL_TYPE (DvmSession, dvm_session, G_TYPE_OBJECT)

static const char *
state_to_string (guint state)
{
  return dvm_session_state_to_string ((DvmSessionState)state);
}

static guint
state_from_string (const char *word)
{
  return dvm_session_state_from_string (word);
}

static const DvmRecordWords state_words = { dvm_session_state_get_type, state_to_string, state_from_string };

/* In the order of the properties. */
static const DvmRecordField fields[] = {
  /**
   * DvmSession:id:
   *
   * The number of the session; 0 is the default one.
   *
   * Since: 0.1
   */
  { "Id", "id", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmSession, id) },
  /**
   * DvmSession:alloc-id:
   *
   * The id of its allocation.
   *
   * Since: 0.1
   */
  { "AllocId", "alloc-id", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmSession, alloc_id) },
  /**
   * DvmSession:request-id:
   *
   * The id of the request that made it.
   *
   * Since: 0.1
   */
  { "RequestId", "request-id", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmSession, request_id) },
  /**
   * DvmSession:state:
   *
   * The state.
   *
   * Since: 0.1
   */
  { "State", "state", DVM_RECORD_FIELD_ENUM_WORD, G_STRUCT_OFFSET (DvmSession, state), .words = &state_words,
    .guarded = TRUE },
  /**
   * DvmSession:reason:
   *
   * Why the session is in its state.
   *
   * Since: 0.1
   */
  { "Reason", "reason", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmSession, reason), .guarded = TRUE },
  /**
   * DvmSession:nodes:
   *
   * The names of its nodes.
   *
   * Since: 0.1
   */
  { "Nodes", "nodes", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmSession, nodes) },
  /**
   * DvmSession:jobs:
   *
   * The object paths of its live jobs.
   *
   * Since: 0.1
   */
  { "Jobs", "jobs", DVM_RECORD_FIELD_PATHS, G_STRUCT_OFFSET (DvmSession, jobs) },
  /**
   * DvmSession:parent:
   *
   * The object path of the session that it came from.
   *
   * Since: 0.1
   */
  { "Parent", "parent", DVM_RECORD_FIELD_PATH, G_STRUCT_OFFSET (DvmSession, parent) },
  /**
   * DvmSession:children:
   *
   * The object paths of the sessions that came from it.
   *
   * Since: 0.1
   */
  { "Children", "children", DVM_RECORD_FIELD_PATHS, G_STRUCT_OFFSET (DvmSession, children) },
  /**
   * DvmSession:owner:
   *
   * The namespace of its owner.
   *
   * Since: 0.1
   */
  { "Owner", "owner", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmSession, owner) },
  /**
   * DvmSession:owners:
   *
   * The namespaces of all who own it.
   *
   * Since: 0.1
   */
  { "Owners", "owners", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmSession, owners) },
  /**
   * DvmSession:inheritance:
   *
   * Which sessions the children of its jobs get: "none", "child", "default" or "child-default".
   *
   * Since: 0.1
   */
  { "Inheritance", "inheritance", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmSession, inheritance) },
  /**
   * DvmSession:shared:
   *
   * Whether others may use its nodes.
   *
   * Since: 0.1
   */
  { "Shared", "shared", DVM_RECORD_FIELD_BOOLEAN, G_STRUCT_OFFSET (DvmSession, shared) },
  /**
   * DvmSession:separate:
   *
   * Whether it outlives its parent.
   *
   * Since: 0.1
   */
  { "Separate", "separate", DVM_RECORD_FIELD_BOOLEAN, G_STRUCT_OFFSET (DvmSession, separate) },
  /**
   * DvmSession:expires-at:
   *
   * When its time is over, in microseconds since the epoch; 0 if there is no such time.
   *
   * Since: 0.1
   */
  { "ExpiresAt", "expires-at", DVM_RECORD_FIELD_TIME, G_STRUCT_OFFSET (DvmSession, expires_at) },
};

G_STATIC_ASSERT (G_N_ELEMENTS (fields) == N_PROPS - 1);

const DvmRecordField *
_dvm_session_get_fields (guint *n_fields)
{
  if (n_fields != NULL)
    *n_fields = G_N_ELEMENTS (fields);
  return fields;
}

static void
set_state (gpointer record, guint state, const char *reason)
{
  _dvm_session_set_state (record, state, reason);
}

static const DvmRecordCodec codec = {
  .fields = fields,
  .n_fields = G_N_ELEMENTS (fields),
  .properties = properties,
  .set_state = set_state,
};

static void
dvm_session_get_property (GObject *object, guint prop_id, GValue *value, GParamSpec *pspec)
{
  _dvm_record_get_property (object, &codec, prop_id, value);
}

/**
 * dvm_session_get_id:
 * @self: a session
 *
 * The number of the session; 0 is the default one.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_session_get_id (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), 0);

  return self->id;
}

/**
 * dvm_session_get_alloc_id:
 * @self: a session
 *
 * The id of its allocation.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_session_get_alloc_id (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), NULL);

  return self->alloc_id != NULL ? self->alloc_id : "";
}

/**
 * dvm_session_get_request_id:
 * @self: a session
 *
 * The id of the request that made it.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_session_get_request_id (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), NULL);

  return self->request_id != NULL ? self->request_id : "";
}

/**
 * dvm_session_get_state:
 * @self: a session
 *
 * The state.
 *
 * Returns: the state
 * Since: 0.1
 */
DvmSessionState
dvm_session_get_state (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), DVM_SESSION_STATE_UNDEF);

  return self->state;
}

/**
 * dvm_session_get_reason:
 * @self: a session
 *
 * Why the session is in its state.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_session_get_reason (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), NULL);

  return self->reason != NULL ? self->reason : "";
}

/**
 * dvm_session_get_nodes:
 * @self: a session
 *
 * The names of its nodes.
 *
 * Returns: (transfer none) (array zero-terminated=1): the list
 * Since: 0.1
 */
const char *const *
dvm_session_get_nodes (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), NULL);

  return _dvm_record_get_strv (self->nodes);
}

/**
 * dvm_session_get_jobs:
 * @self: a session
 *
 * The object paths of its live jobs.
 *
 * Returns: (transfer none) (array zero-terminated=1): the object paths
 * Since: 0.1
 */
const char *const *
dvm_session_get_jobs (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), NULL);

  return _dvm_record_get_strv (self->jobs);
}

/**
 * dvm_session_get_parent:
 * @self: a session
 *
 * The object path of the session that it came from.
 *
 * Returns: (transfer none): the object path, "/" if there is none
 * Since: 0.1
 */
const char *
dvm_session_get_parent (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), NULL);

  return self->parent != NULL ? self->parent : "/";
}

/**
 * dvm_session_get_children:
 * @self: a session
 *
 * The object paths of the sessions that came from it.
 *
 * Returns: (transfer none) (array zero-terminated=1): the object paths
 * Since: 0.1
 */
const char *const *
dvm_session_get_children (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), NULL);

  return _dvm_record_get_strv (self->children);
}

/**
 * dvm_session_get_owner:
 * @self: a session
 *
 * The namespace of its owner.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_session_get_owner (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), NULL);

  return self->owner != NULL ? self->owner : "";
}

/**
 * dvm_session_get_owners:
 * @self: a session
 *
 * The namespaces of all who own it.
 *
 * Returns: (transfer none) (array zero-terminated=1): the list
 * Since: 0.1
 */
const char *const *
dvm_session_get_owners (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), NULL);

  return _dvm_record_get_strv (self->owners);
}

/**
 * dvm_session_get_inheritance:
 * @self: a session
 *
 * Which sessions the children of its jobs get: "none", "child", "default" or "child-default".
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_session_get_inheritance (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), NULL);

  return self->inheritance != NULL ? self->inheritance : "";
}

/**
 * dvm_session_get_shared:
 * @self: a session
 *
 * Whether others may use its nodes.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_session_get_shared (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), FALSE);

  return self->shared;
}

/**
 * dvm_session_get_separate:
 * @self: a session
 *
 * Whether it outlives its parent.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_session_get_separate (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), FALSE);

  return self->separate;
}

/**
 * dvm_session_get_expires_at:
 * @self: a session
 *
 * When its time is over.
 *
 * Returns: microseconds since the epoch, 0 if there is no such time
 * Since: 0.1
 */
gint64
dvm_session_get_expires_at (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), 0);

  return self->expires_at;
}

static void
dvm_session_finalize (GObject *object)
{
  DvmSession *self = DVM_SESSION (object);

  _dvm_record_clear (self, &codec);
  g_free (self->object_path);
  G_OBJECT_CLASS (dvm_session_parent_class)->finalize (object);
}

static void
dvm_session_class_init (DvmSessionClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = dvm_session_get_property;
  object_class->finalize = dvm_session_finalize;
  /**
   * DvmSession::state-changed:
   * @self: the session
   * @old_state: the state before
   * @new_state: the state now
   * @reason: why, "" if there is nothing to say
   *
   * The state has changed. The properties have their new values already. The detail is the name of the new state, such
   * as in "state-changed::ended".
   *
   * Since: 0.1
   */
  signals[SIGNAL_STATE_CHANGED] = g_signal_new (
      "state-changed", DVM_TYPE_SESSION, G_SIGNAL_RUN_LAST | G_SIGNAL_DETAILED, 0, NULL, NULL, NULL, G_TYPE_NONE, 3,
      DVM_TYPE_SESSION_STATE, DVM_TYPE_SESSION_STATE, G_TYPE_STRING | G_SIGNAL_TYPE_STATIC_SCOPE);
  _dvm_record_class_install (klass, &codec);
}

static void
dvm_session_init (DvmSession *self)
{
}

DvmSession *
_dvm_session_new (guint id)
{
  DvmSession *self = g_object_new (DVM_TYPE_SESSION, NULL);

  self->id = id;
  return self;
}

void
_dvm_session_set_state (DvmSession *self, DvmSessionState state, const char *reason)
{
  DvmSessionState old_state = self->state;

  _dvm_record_set_string (self, &self->reason, reason, properties[PROP_REASON]);
  if (state == old_state)
    return;
  self->state = state;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE]);
  g_signal_emit (self, signals[SIGNAL_STATE_CHANGED], g_quark_from_static_string (dvm_session_state_to_string (state)),
                 old_state, state, reason != NULL ? reason : "");
}

void
_dvm_session_set_allocation (DvmSession *self, const char *alloc_id, const char *request_id)
{
  _dvm_record_set_string (self, &self->alloc_id, alloc_id, properties[PROP_ALLOC_ID]);
  _dvm_record_set_string (self, &self->request_id, request_id, properties[PROP_REQUEST_ID]);
}

void
_dvm_session_set_nodes (DvmSession *self, const char *const *nodes)
{
  _dvm_record_set_strv (self, &self->nodes, nodes, properties[PROP_NODES]);
}

void
_dvm_session_set_jobs (DvmSession *self, const char *const *jobs)
{
  _dvm_record_set_strv (self, &self->jobs, jobs, properties[PROP_JOBS]);
}

void
_dvm_session_set_family (DvmSession *self, const char *parent, const char *const *children)
{
  _dvm_record_set_path (self, &self->parent, parent, properties[PROP_PARENT]);
  _dvm_record_set_strv (self, &self->children, children, properties[PROP_CHILDREN]);
}

void
_dvm_session_set_owners (DvmSession *self, const char *owner, const char *const *owners)
{
  _dvm_record_set_string (self, &self->owner, owner, properties[PROP_OWNER]);
  _dvm_record_set_strv (self, &self->owners, owners, properties[PROP_OWNERS]);
}

void
_dvm_session_set_sharing (DvmSession *self, const char *inheritance, gboolean shared, gboolean separate)
{
  _dvm_record_set_string (self, &self->inheritance, inheritance, properties[PROP_INHERITANCE]);
  _dvm_record_set_boolean (self, &self->shared, shared, properties[PROP_SHARED]);
  _dvm_record_set_boolean (self, &self->separate, separate, properties[PROP_SEPARATE]);
}

void
_dvm_session_set_expires_at (DvmSession *self, gint64 expires_at)
{
  _dvm_record_set_time (self, &self->expires_at, expires_at, properties[PROP_EXPIRES_AT]);
}

/**
 * dvm_session_get_object_path:
 * @self: a session
 *
 * The D-Bus object path of the session, such as "/org/dvm/sessions/3".
 *
 * Returns: (transfer none): the object path
 * Since: 0.1
 */
const char *
dvm_session_get_object_path (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), NULL);

  if (self->object_path == NULL)
    self->object_path = g_strdup_printf ("/org/dvm/sessions/%u", self->id);
  return self->object_path;
}

/**
 * dvm_session_to_variant:
 * @self: a session
 *
 * All properties under their D-Bus names, as the bus shows them.
 *
 * Returns: (transfer full): a dictionary of type a{sv}
 * Since: 0.1
 */
GVariant *
dvm_session_to_variant (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), NULL);

  return _dvm_record_to_variant (self);
}

/**
 * dvm_session_to_json:
 * @self: a session
 *
 * All properties as a JSON object on one line: keys in kebab case, times as ISO 8601 in UTC.
 *
 * Returns: (transfer full): the text
 * Since: 0.1
 */
char *
dvm_session_to_json (DvmSession *self)
{
  g_return_val_if_fail (DVM_IS_SESSION (self), NULL);

  return _dvm_record_to_json (self);
}
