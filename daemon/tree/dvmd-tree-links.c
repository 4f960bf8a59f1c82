/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The neighbours: children that come and do not come, and the way to a parent.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-tree"

#include "dvmd-tree-private.h"

/* How long (µs) a child may take to come back when its link has ended. */
#define RETURN_LIMIT (1 * G_TIME_SPAN_SECOND)
/* µs between attempts to come to the parent that the table names, while there is another one to live with. */
#define RETRY_DELAY (200 * G_TIME_SPAN_MILLISECOND)

/* ---- children that do not come ---- */

static void on_missing (gpointer user_data);

static void
set_missing_timer (DvmdTree *self)
{
  gint64 first = G_MAXINT64;
  GHashTableIter iter;
  gpointer deadline;

  dvmd_clock_remove_timer (self->clock, self->missing_timer);
  self->missing_timer = 0;
  g_hash_table_iter_init (&iter, self->missing);
  while (g_hash_table_iter_next (&iter, NULL, &deadline))
    first = MIN (first, *(gint64 *)deadline);
  if (first < G_MAXINT64)
    self->missing_timer = dvmd_clock_add_timer (self->clock, MAX (0, first - dvmd_clock_monotonic (self->clock)),
                                                on_missing, self);
}

static void
expect_child (DvmdTree *self, guint32 rank, gint64 limit)
{
  gint64 deadline = dvmd_clock_monotonic (self->clock) + limit;

  g_hash_table_insert (self->missing, GUINT_TO_POINTER (rank), g_memdup2 (&deadline, sizeof deadline));
  set_missing_timer (self);
}

static void
on_missing (gpointer user_data)
{
  DvmdTree *self = user_data;
  g_autoptr (GPtrArray) lost = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer rank;
  gpointer deadline;

  self->missing_timer = 0;
  g_hash_table_iter_init (&iter, self->missing);
  while (g_hash_table_iter_next (&iter, &rank, &deadline))
    if (*(gint64 *)deadline <= dvmd_clock_monotonic (self->clock))
      {
        g_ptr_array_add (lost, rank);
        g_hash_table_remove (self->moved, rank);
        g_hash_table_iter_remove (&iter);
      }
  set_missing_timer (self);
  for (guint i = 0; i < lost->len; i++)
    dvmd_tree_report_lost (self, GPOINTER_TO_UINT (g_ptr_array_index (lost, i)));
}

static gboolean
is_no_child (gpointer rank, gpointer deadline, gpointer user_data)
{
  DvmdTree *self = user_data;

  return dvmd_routes_get_parent (self->routes, GPOINTER_TO_UINT (rank)) != self->rank;
}

void
dvmd_tree_expect_children (DvmdTree *self)
{
  g_hash_table_foreach_remove (self->missing, is_no_child, self);
  g_hash_table_foreach_remove (self->moved, is_no_child, self);
  for (guint i = 0; i < dvmd_routes_get_n_children (self->routes, self->rank); i++)
    {
      guint32 child = dvmd_routes_get_child (self->routes, self->rank, i);

      if (!dvmd_broadcast_is_attached (self->broadcast, child)
          && !g_hash_table_contains (self->missing, GUINT_TO_POINTER (child)))
        expect_child (self, child, self->attach_limit);
    }
  set_missing_timer (self);
}

void
dvmd_tree_child_came (DvmdTree *self, guint32 rank)
{
  g_hash_table_remove (self->moved, GUINT_TO_POINTER (rank));
  if (g_hash_table_remove (self->missing, GUINT_TO_POINTER (rank)))
    set_missing_timer (self);
}

/* ---- the uplink ---- */

static void on_retry (gpointer user_data);

/* A daemon that is attached to another parent than the table's goes on asking the table's. */
void
dvmd_tree_set_retry (DvmdTree *self)
{
  dvmd_clock_remove_timer (self->clock, self->retry_timer);
  self->retry_timer = 0;
  if (!dvmd_tree_is_settled (self) && dvmd_routes_contains (self->routes, self->rank))
    self->retry_timer = dvmd_clock_add_timer (self->clock, RETRY_DELAY, on_retry, self);
}

void
dvmd_tree_attach (DvmdTree *self, guint32 neighbour)
{
  guint32 old = self->uplink;

  self->wanted = DVMD_NO_RANK;
  self->uplink = neighbour;
  self->attached_to = neighbour;
  if (old != DVMD_NO_RANK && old != neighbour)
    dvmd_tree_send_new (self, old, DVMD_PACKET_DETACH, 0, NULL);
  dvmd_tree_send_new (self, neighbour, DVMD_PACKET_ATTACH, dvmd_broadcast_get_delivered (self->broadcast), NULL);
  dvmd_broadcast_set_uplink (self->broadcast, neighbour);
  dvmd_gather_set_uplink (self->gather, neighbour);
  dvmd_tree_resync_channels (self);
  /* The old parent may be a child by now. */
  if (old != DVMD_NO_RANK && old != neighbour && dvmd_routes_get_parent (self->routes, old) != self->rank
      && !dvmd_broadcast_is_attached (self->broadcast, old)
      && g_hash_table_remove (self->links, GUINT_TO_POINTER (old)))
    self->funcs->disconnect (self->user_data, old);
  dvmd_tree_find_way (self);
  dvmd_tree_set_retry (self);
}

static void
want (DvmdTree *self, guint32 rank)
{
  if (dvmd_tree_has_link (self, rank))
    {
      dvmd_tree_attach (self, rank);
      return;
    }
  self->wanted = rank;
  if (g_hash_table_add (self->connecting, GUINT_TO_POINTER (rank)))
    self->funcs->connect (self->user_data, rank);
}

/* Its parent by the table; those that leave have none and keep the one that they have, unless that one is below them.
 */
void
dvmd_tree_seek_parent (DvmdTree *self)
{
  guint32 parent = dvmd_routes_get_parent (self->routes, self->rank);

  if (parent == DVMD_NO_RANK && self->member && self->rank != 0 && self->uplink != DVMD_NO_RANK
      && dvmd_broadcast_is_attached (self->broadcast, self->uplink))
    parent = 0;
  if (parent == DVMD_NO_RANK || parent == self->uplink || parent == self->wanted || dvmd_tree_avoids (self, parent))
    return;
  want (self, parent);
}

void
dvmd_tree_seek_controller (DvmdTree *self)
{
  if (dvmd_tree_has_link (self, 0))
    dvmd_tree_attach (self, 0);
  else if (self->uplink == DVMD_NO_RANK && self->wanted == DVMD_NO_RANK)
    want (self, 0);
  else if (g_hash_table_add (self->connecting, GUINT_TO_POINTER (0)))
    self->funcs->connect (self->user_data, 0);
}

static void
on_retry (gpointer user_data)
{
  DvmdTree *self = user_data;

  self->retry_timer = 0;
  if (self->wanted != DVMD_NO_RANK)
    return;
  dvmd_tree_seek_parent (self);
  if (self->wanted == DVMD_NO_RANK)
    dvmd_tree_set_retry (self);
}

/*
 * The next one above rank, for those who could not come to it. The old parent will not do for long: in the new table it
 * may be below this daemon, and both would wait for each other.
 */
static void
seek_above (DvmdTree *self, guint32 rank)
{
  guint32 above = dvmd_routes_get_parent (self->routes, rank);

  if (above == DVMD_NO_RANK)
    above = 0;
  self->wanted = DVMD_NO_RANK;
  if (above == self->attached_to || (rank == 0 && self->uplink != DVMD_NO_RANK))
    dvmd_tree_set_retry (self);
  else if (rank != 0)
    want (self, above);
}

void
dvmd_tree_detach_child (DvmdTree *self, guint32 rank, gboolean said)
{
  dvmd_broadcast_detach (self->broadcast, rank);
  if (dvmd_routes_get_parent (self->routes, rank) != self->rank)
    return;
  if (said)
    g_hash_table_add (self->moved, GUINT_TO_POINTER (rank));
  else
    g_hash_table_remove (self->moved, GUINT_TO_POINTER (rank));
  expect_child (self, rank, said ? self->attach_limit : RETURN_LIMIT);
}

void
dvmd_tree_forget_link (DvmdTree *self, guint32 neighbour)
{
  g_hash_table_remove (self->links, GUINT_TO_POINTER (neighbour));
  dvmd_tree_forget_way_by (self, neighbour);
  dvmd_broadcast_detach (self->broadcast, neighbour);
}

/* Made for a table that is not in force any more. */
static void
drop_unwanted (DvmdTree *self, guint32 neighbour)
{
  if (dvmd_routes_get_parent (self->routes, neighbour) == self->rank
      || dvmd_broadcast_is_attached (self->broadcast, neighbour))
    return;
  dvmd_tree_forget_link (self, neighbour);
  self->funcs->disconnect (self->user_data, neighbour);
}

void
dvmd_tree_link_up (DvmdTree *self, guint32 neighbour)
{
  gboolean again = !g_hash_table_add (self->links, GUINT_TO_POINTER (neighbour));
  gboolean ours = g_hash_table_remove (self->connecting, GUINT_TO_POINTER (neighbour));
  DvmdPacket *owed = g_hash_table_lookup (self->welcomes, GUINT_TO_POINTER (neighbour));

  if (owed != NULL)
    dvmd_tree_send_to (self, neighbour, owed);
  if (again)
    dvmd_tree_detach_child (self, neighbour, FALSE);
  /* A joiner comes to the controller; who has it for a parent already knows more than it does. */
  if (!self->member && neighbour == 0)
    {
      self->uplink = neighbour;
      self->wanted = DVMD_NO_RANK;
      dvmd_tree_find_way (self);
    }
  else if (neighbour == self->wanted || (again && neighbour == self->uplink)
           || (neighbour == 0 && self->lost_since >= 0))
    dvmd_tree_attach (self, neighbour);
  else if (ours)
    drop_unwanted (self, neighbour);
}

static void
lose_uplink (DvmdTree *self, guint32 neighbour)
{
  self->uplink = DVMD_NO_RANK;
  self->attached_to = DVMD_NO_RANK;
  dvmd_broadcast_set_uplink (self->broadcast, DVMD_NO_RANK);
  dvmd_gather_set_uplink (self->gather, DVMD_NO_RANK);
  dvmd_tree_lose_way (self);
  /* The same one once more: it may have been the link alone. */
  if (self->wanted == DVMD_NO_RANK)
    want (self, dvmd_routes_contains (self->routes, neighbour) ? neighbour : 0);
}

void
dvmd_tree_link_down (DvmdTree *self, guint32 neighbour)
{
  gboolean is_child = dvmd_routes_get_parent (self->routes, neighbour) == self->rank;
  gboolean is_leaver = dvmd_leavers_contains (self->leavers, neighbour, NULL);
  gboolean is_joiner = self->rank == 0 && !is_leaver && !dvmd_routes_contains (self->routes, neighbour);
  gboolean was_attached = dvmd_broadcast_is_attached (self->broadcast, neighbour);

  if (!dvmd_tree_has_link (self, neighbour))
    return;
  dvmd_tree_forget_link (self, neighbour);
  if (neighbour == self->uplink)
    lose_uplink (self, neighbour);
  if (is_child)
    {
      if (!g_hash_table_contains (self->moved, GUINT_TO_POINTER (neighbour)))
        expect_child (self, neighbour, RETURN_LIMIT);
    }
  /* The controller also hears of joiners and leavers, which are nobody's children. */
  else if (is_joiner || (is_leaver && was_attached))
    dvmd_tree_report_lost (self, neighbour);
}

void
dvmd_tree_connect_failed (DvmdTree *self, guint32 rank)
{
  g_hash_table_remove (self->connecting, GUINT_TO_POINTER (rank));
  if (rank == self->wanted)
    seek_above (self, rank);
  if (rank == 0)
    dvmd_tree_way_attempt_failed (self);
}
