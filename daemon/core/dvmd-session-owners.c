/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The owners of sessions, and their places among other sessions.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-session-private.h"

#include "dvmd-session-owners.h"

#include "dvm-records-private.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-parts.h"
#include "dvmd-core-sessions.h"
#include "dvmd-session-inner.h"

/* ---- the record ---- */

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

struct _DvmdSessionOwners
{
  GHashTable *owned; /* namespace -> number of sessions that it owns for life */
  guint n_ended;
};

DvmdSessionOwners *
dvmd_session_owners_new (void)
{
  DvmdSessionOwners *self = g_new0 (DvmdSessionOwners, 1);

  self->owned = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return self;
}

void
dvmd_session_owners_free (DvmdSessionOwners *self)
{
  g_clear_pointer (&self->owned, g_hash_table_unref);
  g_free (self);
}

gboolean
dvmd_session_owners_contain (DvmdSessionOwners *self, const char *nspace)
{
  return g_hash_table_contains (self->owned, nspace);
}

guint
dvmd_session_owners_count_ended (DvmdSessionOwners *self, int change)
{
  return self->n_ended += change;
}

/* Most namespaces that end own nothing. */
static void
count_owned (DvmdCore *core, const char *nspace, int change)
{
  GHashTable *owned = dvmd_core_get_owners (core)->owned;
  guint n = GPOINTER_TO_UINT (g_hash_table_lookup (owned, nspace)) + change;

  if (n > 0)
    g_hash_table_replace (owned, g_strdup (nspace), GUINT_TO_POINTER (n));
  else
    g_hash_table_remove (owned, nspace);
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

void
dvmd_session_forget_owner (DvmdSession *self)
{
  if (self->owner != NULL)
    count_owned (self->core, self->owner, -1);
  if (self->owner_ended && !self->disposed)
    dvmd_session_owners_count_ended (dvmd_core_get_owners (self->core), -1);
}

void
dvmd_session_tie (DvmdSession *self, gboolean separate, gboolean detached)
{
  self->family.separate = separate;
  self->family.detached = detached;
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
