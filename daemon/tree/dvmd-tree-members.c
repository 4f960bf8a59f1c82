/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tables of members: changes, joiners, and those that leave.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-tree"

#include "dvmd-tree-private.h"

/* An old table is kept for those that leave by it, if it is no larger than so many times their number. */
#define KEPT_TABLE 4

/* ---- a new epoch ---- */

static void
set_children (DvmdTree *self)
{
  guint n = dvmd_routes_get_n_children (self->routes, self->rank);
  g_autofree guint32 *children = g_new (guint32, n + 1);

  for (guint i = 0; i < n; i++)
    children[i] = dvmd_routes_get_child (self->routes, self->rank, i);
  dvmd_broadcast_set_children (self->broadcast, dvmd_routes_get_epoch (self->routes), children, n);
  dvmd_tree_expect_children (self);
}

static void
leave (DvmdTree *self)
{
  if (self->ordered)
    return;
  self->ordered = TRUE;
  self->funcs->leave (self->user_data);
}

/*
 * Ordered to leave while on its way from another one that leaves: it goes on to its new parent, so that the other need
 * not wait for it.
 */
static gboolean
is_on_its_way (DvmdTree *self, DvmdRoutes *old, DvmdRoutes *routes)
{
  guint64 epoch;

  return !dvmd_routes_contains (routes, self->rank) && dvmd_leavers_contains (self->leavers, self->uplink, &epoch)
         && epoch != dvmd_routes_get_epoch (old);
}

static void
apply_routes (DvmdTree *self, DvmdRoutes *routes)
{
  g_autoptr (DvmdRoutes) old = g_steal_pointer (&self->routes);

  self->routes = dvmd_routes_ref (routes);
  self->member = TRUE;
  set_children (self);
  dvmd_gather_set_routes (self->gather, routes);
  if (self->wanted != DVMD_NO_RANK && self->uplink != DVMD_NO_RANK && !is_on_its_way (self, old, routes))
    self->wanted = DVMD_NO_RANK;
  dvmd_tree_seek_parent (self);
  dvmd_tree_set_retry (self);
  dvmd_tree_resync_channels (self);
  self->funcs->routes_changed (self->user_data, old, routes);
}

/* The rank has just been ordered to leave: it stays where the table has it, whatever was learned before. */
static gboolean
has_old_place (gpointer rank, gpointer neighbour, gpointer user_data)
{
  DvmdTree *self = user_data;
  guint64 epoch;

  return dvmd_leavers_contains (self->leavers, GPOINTER_TO_UINT (rank), &epoch)
         && epoch == dvmd_routes_get_epoch (self->routes)
         && dvmd_leavers_get_hop (self->leavers, GPOINTER_TO_UINT (rank)) != DVMD_NO_RANK;
}

/* Ranks that leave by order stay where they were until they have gone. */
static void
keep_leavers (DvmdTree *self, GVariant *left, const guint32 *ranks, gsize n)
{
  gboolean many = n >= dvmd_routes_get_n_members (self->routes) / KEPT_TABLE;

  if (n == 0)
    return;
  dvmd_leavers_order (self->leavers, left, dvmd_routes_get_epoch (self->routes), many ? self->routes : NULL);
  if (many)
    g_hash_table_foreach_remove (self->learned, has_old_place, self);
  for (gsize i = 0; i < n && !many; i++)
    {
      guint32 hop = dvmd_routes_next_hop (self->routes, self->rank, ranks[i]);

      if (hop != DVMD_NO_RANK && hop != ranks[i])
        g_hash_table_insert (self->learned, GUINT_TO_POINTER (ranks[i]), GUINT_TO_POINTER (hop));
    }
}

static void
drop_lost (DvmdTree *self, GVariant *lost, const guint32 *left, gsize n)
{
  if (n > 0)
    dvmd_leavers_bury (self->leavers, lost, dvmd_routes_get_epoch (self->routes));
  for (gsize i = 0; i < n; i++)
    {
      if (left[i] == self->rank)
        self->funcs->expelled (self->user_data);
      g_hash_table_remove (self->channels, GUINT_TO_POINTER (left[i]));
      g_hash_table_remove (self->learned, GUINT_TO_POINTER (left[i]));
      if (left[i] != self->rank && dvmd_tree_has_link (self, left[i]))
        {
          dvmd_tree_send_new (self, left[i], DVMD_PACKET_EXPELLED, 0, NULL);
          dvmd_tree_forget_link (self, left[i]);
          self->funcs->disconnect (self->user_data, left[i]);
        }
    }
}

static GVariant *
describe_membership (DvmdTree *self)
{
  return g_variant_new ("(@" DVMD_ROUTES_TYPE "@au)", dvmd_routes_to_variant (self->routes),
                        dvmd_leavers_to_variant (self->leavers));
}

/*
 * A welcome that is lost with its link is given again as it was: others may be children of the joiner by then, and
 * count on what it keeps from that number on.
 */
static void
welcome (DvmdTree *self, guint64 number, const guint32 *joined, gsize n)
{
  g_autoptr (GVariant) body = g_variant_ref_sink (describe_membership (self));

  for (gsize i = 0; i < n; i++)
    {
      DvmdPacket *packet;

      if (g_hash_table_contains (self->welcomes, GUINT_TO_POINTER (joined[i])))
        continue;
      packet = dvmd_packet_new (DVMD_PACKET_WELCOME, self->rank, joined[i], 0, body);
      packet->ack = number;
      packet->epoch = dvmd_routes_get_epoch (self->routes);
      g_hash_table_insert (self->welcomes, GUINT_TO_POINTER (joined[i]), packet);
      dvmd_tree_send_to (self, joined[i], packet);
    }
}

static gboolean
is_wired (gpointer rank, gpointer packet, gpointer number)
{
  return ((DvmdPacket *)packet)->ack <= *(guint64 *)number;
}

void
dvmd_tree_drop_welcomes (DvmdTree *self, guint64 number)
{
  g_hash_table_foreach_remove (self->welcomes, is_wired, &number);
}

void
dvmd_tree_change_routes (DvmdTree *self, guint64 number, GVariant *body)
{
  g_autoptr (GVariant) joined = NULL;
  g_autoptr (GVariant) left = NULL;
  g_autoptr (DvmdRoutes) routes = NULL;
  const guint32 *joined_ranks;
  const guint32 *left_ranks;
  guint64 epoch;
  guint32 how;
  gsize n_joined;
  gsize n_left;

  g_variant_get (body, "(t@au@auu)", &epoch, &joined, &left, &how);
  joined_ranks = g_variant_get_fixed_array (joined, &n_joined, sizeof (guint32));
  left_ranks = g_variant_get_fixed_array (left, &n_left, sizeof (guint32));
  if (epoch != dvmd_routes_get_epoch (self->routes) + 1)
    {
      /* A leaver that has missed its order has missed its epoch. */
      g_debug ("A change to epoch %" G_GUINT64_FORMAT " came in epoch %" G_GUINT64_FORMAT "; it is passed over", epoch,
               dvmd_routes_get_epoch (self->routes));
      return;
    }
  if (how == DVMD_LEFT_ORDERED)
    keep_leavers (self, left, left_ranks, n_left);
  routes = dvmd_routes_change (self->routes, joined_ranks, n_joined, left_ranks, n_left);
  if (how == DVMD_LEFT_LOST)
    drop_lost (self, left, left_ranks, n_left);
  apply_routes (self, routes);
  if (how == DVMD_LEFT_ORDERED && !dvmd_routes_contains (routes, self->rank))
    leave (self);
  dvmd_leavers_forget (self->leavers, dvmd_routes_get_epoch (routes));
  if (self->rank == 0)
    welcome (self, number, joined_ranks, n_joined);
}

guint64
dvmd_tree_change (DvmdTree *self, const guint32 *joined, guint n_joined, const guint32 *left, guint n_left,
                  DvmdLeftHow how)
{
  g_return_val_if_fail (self->rank == 0, 0);

  return dvmd_broadcast_post (
      self->broadcast, KIND_ROUTES,
      g_variant_new ("(t@au@auu)", dvmd_routes_get_epoch (self->routes) + 1,
                     g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, joined, n_joined, sizeof (guint32)),
                     dvmd_leavers_describe (left, n_left), (guint32)how));
}

static gboolean
has_departed (gpointer rank, gpointer value, gpointer user_data)
{
  return dvmd_tree_has_departed (user_data, GPOINTER_TO_UINT (rank));
}

/* Whichever are fewer are gone through: all agents hear of all leavers, and have spoken to few of them. */
static void
drop_departed (DvmdTree *self, GHashTable *by_rank, const guint32 *ranks, gsize n)
{
  if (n > g_hash_table_size (by_rank))
    g_hash_table_foreach_remove (by_rank, has_departed, self);
  else
    for (gsize i = 0; i < n; i++)
      if (dvmd_tree_has_departed (self, ranks[i]))
        g_hash_table_remove (by_rank, GUINT_TO_POINTER (ranks[i]));
}

void
dvmd_tree_bury_gone (DvmdTree *self, GVariant *body)
{
  g_autoptr (GVariant) array = NULL;
  const guint32 *ranks;
  gsize n;

  g_variant_get (body, "(@au)", &array);
  ranks = g_variant_get_fixed_array (array, &n, sizeof (guint32));
  if (n == 0)
    return;
  dvmd_leavers_bury (self->leavers, array, dvmd_routes_get_epoch (self->routes));
  drop_departed (self, self->channels, ranks, n);
  drop_departed (self, self->learned, ranks, n);
}

guint64
dvmd_tree_forget (DvmdTree *self, const guint32 *ranks, guint n)
{
  g_return_val_if_fail (self->rank == 0, 0);

  return dvmd_broadcast_post (self->broadcast, KIND_GONE, g_variant_new ("(@au)", dvmd_leavers_describe (ranks, n)));
}

/* ---- what neighbours send ---- */

void
dvmd_tree_receive_attach (DvmdTree *self, guint32 neighbour, DvmdPacket *packet)
{
  guint64 stable = dvmd_broadcast_get_stable (self->broadcast);
  gboolean known = dvmd_routes_contains (self->routes, neighbour)
                   || dvmd_leavers_contains (self->leavers, neighbour, NULL);

  /* Of an epoch that has not come here yet: its rank will be known then. */
  if (!known && packet->epoch <= dvmd_routes_get_epoch (self->routes))
    {
      dvmd_tree_send_new (self, neighbour, DVMD_PACKET_EXPELLED, 0, NULL);
      dvmd_tree_forget_link (self, neighbour);
      self->funcs->disconnect (self->user_data, neighbour);
      return;
    }
  dvmd_tree_child_came (self, neighbour);
  if (packet->ack < stable)
    /* A leaver that was on its way here when the order came: nobody has waited for it. Those below it are not behind.
     */
    dvmd_tree_send_new (self, neighbour, DVMD_PACKET_LEAVE, stable, NULL);
  dvmd_broadcast_attach (self->broadcast, neighbour, MAX (packet->ack, stable));
  dvmd_tree_tell_way (self, neighbour);
  /* Two that leave may have been on their way to each other. */
  if (neighbour == self->uplink)
    dvmd_tree_seek_parent (self);
}

void
dvmd_tree_receive_leave (DvmdTree *self, DvmdPacket *packet)
{
  if (packet->ack <= dvmd_broadcast_get_delivered (self->broadcast))
    return;
  dvmd_broadcast_start (self->broadcast, packet->ack);
  /* Daemons below that have not got that far leave too: those that are members have. */
  dvmd_broadcast_pass_down (self->broadcast, packet);
  leave (self);
}

void
dvmd_tree_receive_welcome (DvmdTree *self, DvmdPacket *packet)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) table = NULL;
  g_autoptr (GVariant) leaving = NULL;
  g_autoptr (DvmdRoutes) routes = NULL;

  if (self->member || packet->body == NULL || !g_variant_is_of_type (packet->body, G_VARIANT_TYPE (WELCOME_TYPE)))
    return;
  g_variant_get (packet->body, "(@" DVMD_ROUTES_TYPE "@au)", &table, &leaving);
  routes = dvmd_routes_new_from_variant (table, &error);
  if (routes == NULL)
    {
      g_message ("The table of members is not usable: %s", error->message);
      return;
    }
  if (g_variant_n_children (leaving) > 0)
    dvmd_leavers_order (self->leavers, leaving, dvmd_routes_get_epoch (routes), NULL);
  dvmd_broadcast_start (self->broadcast, packet->ack);
  apply_routes (self, routes);
  if (dvmd_routes_get_parent (routes, self->rank) == self->uplink)
    dvmd_tree_attach (self, self->uplink);
}
