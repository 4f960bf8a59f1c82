/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Processes of any jobs as numbers, and sets of them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-member-set.h"

guint64
dvmd_member_new (guint job, guint32 rank)
{
  return (guint64)job << 32 | rank;
}

guint
dvmd_member_get_job (guint64 member)
{
  return (guint)(member >> 32);
}

guint32
dvmd_member_get_rank (guint64 member)
{
  return (guint32)member;
}

gint
dvmd_member_compare (gconstpointer a, gconstpointer b)
{
  guint64 one = *(const guint64 *)a;
  guint64 other = *(const guint64 *)b;

  return (one > other) - (one < other);
}

GHashTable *
dvmd_member_set_new (void)
{
  return g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
}

void
dvmd_member_set_add (GHashTable *self, guint64 member)
{
  if (!g_hash_table_contains (self, &member))
    g_hash_table_add (self, g_memdup2 (&member, sizeof member));
}

GHashTable *
dvmd_member_set_copy (GHashTable *self)
{
  GHashTable *copy = dvmd_member_set_new ();
  GHashTableIter iter;
  gpointer member;

  g_hash_table_iter_init (&iter, self);
  while (g_hash_table_iter_next (&iter, &member, NULL))
    dvmd_member_set_add (copy, *(guint64 *)member);
  return copy;
}

gboolean
dvmd_member_set_equal (GHashTable *self, GHashTable *other)
{
  GHashTableIter iter;
  gpointer member;

  g_hash_table_iter_init (&iter, self);
  while (g_hash_table_iter_next (&iter, &member, NULL))
    if (!g_hash_table_contains (other, member))
      return FALSE;
  return g_hash_table_size (self) == g_hash_table_size (other);
}
