/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The getters of a session's properties.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-session"

#include "dvm-session-private.h"

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

  return self->record.state;
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

  return self->record.reason != NULL ? self->record.reason : "";
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
 * The namespace of its owner: a job, "bus.UID" for whoever asked on a bus, "" for the default session.
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
 * The namespaces of all who own it: its owner, and the jobs that were started in it.
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
 * What becomes of it when its owner ends: its nodes are given back ("none"), given back when the last descendant of
 * the owner has ended ("child"), or left to everybody, at once ("default") or when the last descendant has ended
 * ("child-default").
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
 * Whether jobs of others may use its nodes; if not, they are reserved for it.
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
 * Whether it outlives its parent. One that was instantiated, or separated later, outlives its owner too, whatever its
 * inheritance says.
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
