/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whose sessions are, and what becomes of them when their owners, or the sessions that they came from, end.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-session-private.h"

#include "dvm-records-private.h"
#include "dvmd-core-private.h"
#include "dvmd-job-sessions.h"
#include "dvmd-vm-machine.h"

#include <string.h>

/* ---- the record ---- */

/* Those of jobs in the order of their numbers */
static int
compare_nspaces (gconstpointer a, gconstpointer b)
{
  const char *left = *(const char *const *)a;
  const char *right = *(const char *const *)b;
  gsize n_left = strlen (left);
  gsize n_right = strlen (right);

  if (n_left != n_right)
    return n_left < n_right ? -1 : 1;
  return strcmp (left, right);
}

void
dvmd_session_publish_owners (DvmdSession *self)
{
  g_autoptr (GPtrArray) owners = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer nspace;

  g_hash_table_iter_init (&iter, self->owners);
  while (g_hash_table_iter_next (&iter, &nspace, NULL))
    if (g_strcmp0 (nspace, self->owner) != 0)
      g_ptr_array_add (owners, nspace);
  g_ptr_array_sort (owners, compare_nspaces);
  if (self->owner != NULL)
    g_ptr_array_insert (owners, 0, self->owner);
  g_ptr_array_add (owners, NULL);
  _dvm_session_set_owners (self->record, self->owner, (const char *const *)owners->pdata);
}

void
dvmd_session_publish_sharing (DvmdSession *self)
{
  _dvm_session_set_sharing (self->record, dvmd_inheritance_to_string (self->inheritance), self->shared,
                            self->family.separate);
}

static void
publish_family (DvmdSession *self)
{
  DvmdSession *parent = self->family.parent != 0 ? dvmd_core_get_session (self->core, self->family.parent) : NULL;
  g_autoptr (GPtrArray) paths = g_ptr_array_new ();

  for (guint i = 0; i < self->family.children->len; i++)
    {
      DvmdSession *child = dvmd_core_get_session (self->core, g_array_index (self->family.children, guint, i));

      if (child != NULL)
        g_ptr_array_add (paths, (gpointer)dvm_session_get_object_path (child->record));
    }
  g_ptr_array_add (paths, NULL);
  _dvm_session_set_family (self->record, parent != NULL ? dvm_session_get_object_path (parent->record) : NULL,
                           (const char *const *)paths->pdata);
  dvmd_session_changed (self);
}

/* ---- owners ---- */

void
dvmd_session_owners_init (DvmdSessionOwners *self)
{
  self->owned = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

void
dvmd_session_owners_clear (DvmdSessionOwners *self)
{
  g_clear_pointer (&self->owned, g_hash_table_unref);
}

/* Most namespaces that end own nothing. */
static void
count_owned (DvmdCore *core, const char *nspace, int change)
{
  guint n = GPOINTER_TO_UINT (g_hash_table_lookup (core->owners.owned, nspace)) + change;

  if (n > 0)
    g_hash_table_replace (core->owners.owned, g_strdup (nspace), GUINT_TO_POINTER (n));
  else
    g_hash_table_remove (core->owners.owned, nspace);
}

gboolean
dvmd_session_owns (DvmdSession *self, const char *nspace)
{
  return nspace != NULL && g_hash_table_contains (self->owners, nspace);
}

void
dvmd_session_set_owner (DvmdSession *self, const char *nspace, const DvmdRequester *requester)
{
  g_return_if_fail (self->owner == NULL);

  if (requester != NULL)
    self->owner_uid = requester->uid;
  if (nspace == NULL || nspace[0] == '\0')
    return;
  self->owner = g_strdup (nspace);
  count_owned (self->core, nspace, 1);
  g_hash_table_add (self->owners, g_strdup (nspace));
  dvmd_session_publish_owners (self);
  dvmd_session_changed (self);
}

void
dvmd_session_add_owner (DvmdSession *self, const char *nspace)
{
  if (dvmd_session_get_id (self) == 0 || dvmd_session_owns (self, nspace))
    return;
  g_hash_table_add (self->owners, g_strdup (nspace));
  dvmd_session_changed (self);
}

/* The one that it belongs to for life stays in the set. */
void
dvmd_session_remove_owner (DvmdSession *self, const char *nspace)
{
  if (g_strcmp0 (self->owner, nspace) != 0 && g_hash_table_remove (self->owners, nspace))
    dvmd_session_changed (self);
}

/* ---- inheritance ---- */

/* As a scheduler would. */
static void
release (DvmdSession *self, guint drain_timeout, const char *cause)
{
  const DvmdShrinkRequest request = {
    .scheduler = TRUE, .session = dvmd_session_get_id (self), .drain_timeout = drain_timeout, .cause = cause
  };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  if (!dvmd_core_shrink (self->core, &request, &answer, &error))
    g_info ("Session %u is not released: %s", dvmd_session_get_id (self), error->message);
}

/* Descendants of the owner by spawn; of an owner that is a tool also those of the session's jobs (RP4). */
static gboolean
has_children (DvmdSession *self)
{
  guint id = dvmd_session_get_id (self);
  gboolean is_job = dvmd_core_is_job_nspace (self->core, self->owner);

  for (DvmdJob *job = NULL; (job = dvmd_core_next_job (self->core, job, FALSE)) != NULL;)
    if (dvmd_lineage_descends_from (dvmd_job_get_lineage (job), self->owner)
        || (!is_job && dvmd_lineage_has_session (dvmd_job_get_lineage (job), id)))
      return TRUE;
  return FALSE;
}

static void
dispose_of (DvmdSession *self)
{
  gboolean waits = self->inheritance == DVMD_INHERIT_CHILD || self->inheritance == DVMD_INHERIT_CHILD_DEFAULT;
  gboolean stays = self->inheritance == DVMD_INHERIT_DEFAULT || self->inheritance == DVMD_INHERIT_CHILD_DEFAULT;
  g_autofree char *cause = NULL;

  if (!self->owner_ended || self->family.detached || self->disposed || dvmd_session_is_ending (self)
      || (waits && has_children (self)))
    return;
  cause = g_strdup_printf ("Its owner, %s, has ended", self->owner);
  self->disposed = TRUE;
  self->core->owners.n_ended--;
  g_info ("The owner of session %u, %s, has ended: inheritance %s", dvmd_session_get_id (self), self->owner,
          dvmd_inheritance_to_string (self->inheritance));
  if (stays)
    dvmd_session_unreserve (self);
  else
    release (self, 0, cause);
}

/* (element-type DvmdSession): releases change the list */
static GPtrArray *
list_sessions (DvmdCore *core)
{
  GPtrArray *sessions = g_ptr_array_new_with_free_func (g_object_unref);

  for (DvmdSession *session = NULL; (session = dvmd_core_next_session (core, session)) != NULL;)
    if (dvmd_session_get_id (session) != 0)
      g_ptr_array_add (sessions, g_object_ref (session));
  return sessions;
}

void
dvmd_core_namespace_ended (DvmdCore *self, const char *nspace)
{
  gboolean owns = g_hash_table_contains (self->owners.owned, nspace);
  g_autoptr (GPtrArray) sessions = NULL;

  if (!owns && self->owners.n_ended == 0)
    return;
  sessions = list_sessions (self);
  for (guint i = 0; i < sessions->len; i++)
    {
      DvmdSession *session = g_ptr_array_index (sessions, i);

      /* It may have gone with one before it. */
      if (dvm_session_get_state (session->record) == DVM_SESSION_STATE_ENDED)
        continue;
      if (owns && !session->owner_ended && g_strcmp0 (session->owner, nspace) == 0)
        {
          session->owner_ended = TRUE;
          self->owners.n_ended++;
        }
      dispose_of (session);
    }
}

void
dvmd_session_forget_owner (DvmdSession *self)
{
  if (self->owner != NULL)
    count_owned (self->core, self->owner, -1);
  if (self->owner_ended && !self->disposed)
    self->core->owners.n_ended--;
}

void
dvmd_core_dispose_sessions (DvmdCore *self)
{
  g_autoptr (GPtrArray) sessions = list_sessions (self);

  for (guint i = 0; i < sessions->len; i++)
    dispose_of (g_ptr_array_index (sessions, i));
}

void
dvmd_session_tie (DvmdSession *self, gboolean separate, gboolean detached)
{
  self->family.separate = separate;
  self->family.detached = detached;
}

void
dvmd_core_separate_session (DvmdCore *self, DvmdSession *session, gboolean separate)
{
  dvmd_session_tie (session, separate, separate);
  dvmd_session_publish_sharing (session);
  dvmd_session_changed (session);
  if (session->owner_ended)
    dvmd_core_post_vm (self, DVMD_VM_SESSIONS_CHANGED, 0, NULL);
}

void
dvmd_session_set_inheritance (DvmdSession *self, DvmdInheritance inheritance)
{
  self->inheritance = inheritance;
  dvmd_session_publish_sharing (self);
  dvmd_session_changed (self);
  /* It does not end again. */
  if (self->owner_ended)
    dvmd_core_post_vm (self->core, DVMD_VM_SESSIONS_CHANGED, 0, NULL);
}

/* ---- parent and children ---- */

static void
forget_child (DvmdSession *parent, guint child)
{
  for (guint i = 0; i < parent->family.children->len; i++)
    if (g_array_index (parent->family.children, guint, i) == child)
      {
        g_array_remove_index (parent->family.children, i);
        break;
      }
  publish_family (parent);
}

void
dvmd_session_set_parent (DvmdSession *self, guint parent)
{
  guint id = dvmd_session_get_id (self);
  DvmdSession *old = self->family.parent != 0 ? dvmd_core_get_session (self->core, self->family.parent) : NULL;
  DvmdSession *new = parent != 0 ? dvmd_core_get_session (self->core, parent) : NULL;

  self->family.parent = new != NULL ? parent : 0;
  if (old != NULL)
    forget_child (old, id);
  if (new != NULL)
    {
      g_array_append_val (new->family.children, id);
      publish_family (new);
    }
  if (old != new)
    publish_family (self);
}

static guint
get_seconds_left (DvmdSession *self)
{
  return MAX (self->limit.expires - dvmd_clock_monotonic (self->core->clock), 0) / G_USEC_PER_SEC;
}

void
dvmd_session_end_children (DvmdSession *self, guint drain_timeout)
{
  g_autoptr (GArray) ids = g_array_copy (self->family.children);
  g_autofree char *cause = g_strdup_printf ("Session %u, whose child it is, has ended", dvmd_session_get_id (self));

  /* No longer than it has itself. */
  if (self->limit.expires != 0)
    drain_timeout = MIN (drain_timeout, get_seconds_left (self));
  for (guint i = 0; i < ids->len; i++)
    {
      DvmdSession *child = dvmd_core_get_session (self->core, g_array_index (ids, guint, i));

      if (child == NULL)
        continue;
      dvmd_session_set_parent (child, 0);
      if (!child->family.separate && !dvmd_session_is_ending (child))
        release (child, drain_timeout, cause);
    }
}
