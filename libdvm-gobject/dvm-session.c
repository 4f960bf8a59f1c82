/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The record of a session.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-session"

#include "dvm-session-private.h"
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

G_DEFINE_FINAL_TYPE (DvmSession, dvm_session, G_TYPE_OBJECT)

static const DvmRecordWords state_words = { dvm_session_state_get_type, dvm_session_state_to_string,
                                            dvm_session_state_from_string };

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
  { "State", "state", DVM_RECORD_FIELD_ENUM_WORD, G_STRUCT_OFFSET (DvmSession, record.state), .words = &state_words,
    .guarded = TRUE },
  /**
   * DvmSession:reason:
   *
   * Why the session is in its state.
   *
   * Since: 0.1
   */
  { "Reason", "reason", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmSession, record.reason), .guarded = TRUE },
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
   * The namespace of its owner: a job, "bus.UID" for whoever asked on a bus, "" for the default session.
   *
   * Since: 0.1
   */
  { "Owner", "owner", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmSession, owner) },
  /**
   * DvmSession:owners:
   *
   * The namespaces of all who own it: its owner, and the jobs that were started in it.
   *
   * Since: 0.1
   */
  { "Owners", "owners", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmSession, owners) },
  /**
   * DvmSession:inheritance:
   *
   * What becomes of it when its owner ends: its nodes are given back ("none"), given back when the last descendant of
   * the owner has ended ("child"), or left to everybody, at once ("default") or when the last descendant has ended
   * ("child-default").
   *
   * Since: 0.1
   */
  { "Inheritance", "inheritance", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmSession, inheritance) },
  /**
   * DvmSession:shared:
   *
   * Whether jobs of others may use its nodes; if not, they are reserved for it.
   *
   * Since: 0.1
   */
  { "Shared", "shared", DVM_RECORD_FIELD_BOOLEAN, G_STRUCT_OFFSET (DvmSession, shared) },
  /**
   * DvmSession:separate:
   *
   * Whether it outlives its parent. One that was instantiated, or separated later, outlives its owner too, whatever its
   * inheritance says.
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

static GParamSpec *properties[sizeof (DvmSession) / sizeof (guint)][2];
static guint signals[1];

static const DvmRecordCodec codec = {
  .fields = fields,
  .n_fields = G_N_ELEMENTS (fields),
  .properties = properties,
  .states = &state_words,
  .state_changed = signals,
};

static void
dvm_session_class_init (DvmSessionClass *klass)
{
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
  _dvm_record_set_state (&self->record, &codec, state, reason);
}

void
_dvm_session_set_allocation (DvmSession *self, const char *alloc_id, const char *request_id)
{
  _dvm_record_set_string (self, &codec, &self->alloc_id, alloc_id);
  _dvm_record_set_string (self, &codec, &self->request_id, request_id);
}

void
_dvm_session_set_nodes (DvmSession *self, const char *const *nodes)
{
  _dvm_record_set_strv (self, &codec, &self->nodes, nodes);
}

void
_dvm_session_set_jobs (DvmSession *self, const char *const *jobs)
{
  _dvm_record_set_strv (self, &codec, &self->jobs, jobs);
}

void
_dvm_session_set_family (DvmSession *self, const char *parent, const char *const *children)
{
  _dvm_record_set_path (self, &codec, &self->parent, parent);
  _dvm_record_set_strv (self, &codec, &self->children, children);
}

void
_dvm_session_set_owners (DvmSession *self, const char *owner, const char *const *owners)
{
  _dvm_record_set_string (self, &codec, &self->owner, owner);
  _dvm_record_set_strv (self, &codec, &self->owners, owners);
}

void
_dvm_session_set_sharing (DvmSession *self, const char *inheritance, gboolean shared, gboolean separate)
{
  _dvm_record_set_string (self, &codec, &self->inheritance, inheritance);
  _dvm_record_set_boolean (self, &codec, &self->shared, shared);
  _dvm_record_set_boolean (self, &codec, &self->separate, separate);
}

void
_dvm_session_set_expires_at (DvmSession *self, gint64 expires_at)
{
  _dvm_record_set_time (self, &codec, &self->expires_at, expires_at);
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

  return _dvm_record_get_object_path (&self->record, "/org/dvm/sessions/", self->id);
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
 * dvm_session_new_from_variant:
 * @values: a dictionary of type a{sv}, as of [method@Session.to_variant]
 * @error: return location for an error
 *
 * A record of its own that was kept or sent: it does not change with the DVM. Names that this version does not know are
 * left aside.
 *
 * Returns: (transfer full): a session, or %NULL with @error set if a value has another type than the property
 * Since: 0.1
 */
DvmSession *
dvm_session_new_from_variant (GVariant *values, GError **error)
{
  g_return_val_if_fail (values != NULL, NULL);

  return _dvm_record_new_from_variant (DVM_TYPE_SESSION, values, error);
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
