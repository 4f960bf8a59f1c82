/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-tree"

#include "dvmd-tree.h"

#include "dvmd-broadcast.h"
#include "dvmd-channel.h"
#include "dvmd-gather.h"

/* Kinds of the tree itself. */
enum
{
  KIND_ROUTES = 1, /* broadcast: (epoch, joined, left, how) */
  KIND_LOST = 2,   /* to the controller: (rank) */
  KIND_GONE = 3,   /* broadcast: ([rank]) */
};

#define ROUTES_CHANGE_TYPE "(tauauu)"
/* (table, ranks that were ordered to leave and are not known to have gone) */
#define WELCOME_TYPE "(" DVMD_ROUTES_TYPE "au)"

/* How long (µs) a child may take to come back when its link has ended, and to come to a new parent. */
#define RETURN_LIMIT (1 * G_TIME_SPAN_SECOND)
#define ATTACH_LIMIT (10 * G_TIME_SPAN_SECOND)
/* µs between attempts to come to the parent that the table names, while there is another one to live with. */
#define RETRY_DELAY (200 * G_TIME_SPAN_MILLISECOND)
/* Epochs for which those that are no members any more are remembered. */
#define REMEMBERED_EPOCHS 1000

struct _DvmdTree
{
  guint32 rank;
  DvmdClock *clock;
  const DvmdTreeFuncs *funcs;
  gpointer world;

  DvmdRoutes *routes;
  gboolean member; /* the table is known */
  DvmdBroadcast *broadcast;
  DvmdGather *gather;
  GHashTable *channels; /* rank -> DvmdChannel */

  GHashTable *links;      /* set of neighbours */
  GHashTable *leaving;    /* rank that was ordered to leave -> epoch (low half) */
  GHashTable *departed;   /* rank that is spoken to no more -> epoch: late packets of it do not open a channel again */
  GHashTable *learned;    /* rank -> neighbour from which its packets come, where the table says something else */
  gboolean ordered;       /* to leave */
  guint32 uplink;         /* the neighbour whose child this daemon says that it is */
  guint32 attached_to;    /* the uplink, when it has been told */
  guint32 wanted;         /* who shall become the uplink when there is a link to it */
  GHashTable *connecting; /* set of ranks to which links are being made */
  guint retry_timer;
  GHashTable *welcomes; /* the controller: rank of joiner -> DvmdPacket, until it is wired */
  GHashTable *missing;  /* rank of child -> gint64 *, when it is given up */
  guint missing_timer;
};

/* ---- where packets go ---- */

static gboolean
has_link (DvmdTree *self, guint32 rank)
{
  return g_hash_table_contains (self->links, GUINT_TO_POINTER (rank));
}

static void
send_to (DvmdTree *self, guint32 neighbour, DvmdPacket *packet)
{
  if (has_link (self, neighbour))
    self->funcs->send (self->world, neighbour, packet);
}

static void
send_new (DvmdTree *self, guint32 neighbour, DvmdPacketType type, guint64 ack, GVariant *body)
{
  g_autoptr (DvmdPacket) packet = dvmd_packet_new (type, self->rank, neighbour, 0, body);

  packet->ack = ack;
  packet->epoch = dvmd_routes_get_epoch (self->routes);
  send_to (self, neighbour, packet);
}

static guint32
find_learned (DvmdTree *self, guint32 rank)
{
  gpointer neighbour;

  if (!g_hash_table_lookup_extended (self->learned, GUINT_TO_POINTER (rank), NULL, &neighbour))
    return DVMD_NO_RANK;
  return has_link (self, GPOINTER_TO_UINT (neighbour)) ? GPOINTER_TO_UINT (neighbour) : DVMD_NO_RANK;
}

static guint32
find_hop (DvmdTree *self, guint32 destination)
{
  guint32 hop;

  if (has_link (self, destination))
    return destination;
  hop = dvmd_routes_next_hop (self->routes, self->rank, destination);
  if (hop != DVMD_NO_RANK && has_link (self, hop))
    return hop;
  hop = find_learned (self, destination);
  return hop != DVMD_NO_RANK ? hop : self->uplink;
}

/* The packets of those who are not where the table says come by the way that leads to them. */
static void
learn (DvmdTree *self, guint32 neighbour, guint32 source)
{
  if (source == neighbour || source == self->rank)
    return;
  if (dvmd_routes_next_hop (self->routes, self->rank, source) == neighbour)
    g_hash_table_remove (self->learned, GUINT_TO_POINTER (source));
  else
    g_hash_table_insert (self->learned, GUINT_TO_POINTER (source), GUINT_TO_POINTER (neighbour));
}

static void
forward (DvmdTree *self, guint32 from, DvmdPacket *packet)
{
  g_autoptr (DvmdPacket) copy = NULL;
  guint32 hop = find_hop (self, packet->destination);

  if (hop == DVMD_NO_RANK || hop == from || packet->hops >= DVMD_PACKET_MAX_HOPS)
    {
      g_debug ("A packet from %u to %u finds no way from here; its sender sends it again", packet->source,
               packet->destination);
      return;
    }
  copy = dvmd_packet_copy (packet);
  copy->hops++;
  send_to (self, hop, copy);
}

/* ---- messages ---- */

static void
channel_send (gpointer world, DvmdPacket *packet)
{
  DvmdTree *self = world;
  guint32 hop = find_hop (self, packet->destination);

  if (hop != DVMD_NO_RANK)
    send_to (self, hop, packet);
}

static void
deliver (gpointer world, guint32 source, guint16 kind, GVariant *body)
{
  DvmdTree *self = world;
  guint32 rank;

  if (kind > DVMD_TREE_KIND_LAST)
    {
      self->funcs->deliver (self->world, source, kind, body);
      return;
    }
  if (kind != KIND_LOST || self->rank != 0 || body == NULL || !g_variant_is_of_type (body, G_VARIANT_TYPE ("(u)")))
    {
      g_message ("Daemon %u sent a message of kind %u that it may not send", source, kind);
      return;
    }
  g_variant_get (body, "(u)", &rank);
  self->funcs->lost (self->world, rank, source);
}

static const DvmdChannelFuncs channel_funcs = { .send = channel_send, .deliver = deliver };

static DvmdChannel *
find_channel (DvmdTree *self, guint32 peer)
{
  DvmdChannel *channel = g_hash_table_lookup (self->channels, GUINT_TO_POINTER (peer));

  if (channel == NULL)
    {
      channel = dvmd_channel_new (self->clock, self->rank, peer, &channel_funcs, self);
      g_hash_table_insert (self->channels, GUINT_TO_POINTER (peer), channel);
    }
  return channel;
}

static void
resync_channels (DvmdTree *self)
{
  GHashTableIter iter;
  gpointer channel;

  g_hash_table_iter_init (&iter, self->channels);
  while (g_hash_table_iter_next (&iter, NULL, &channel))
    dvmd_channel_resync (channel);
}

void
dvmd_tree_post (DvmdTree *self, guint32 destination, guint16 kind, GVariant *body)
{
  g_return_if_fail (destination != self->rank);

  if (g_hash_table_contains (self->departed, GUINT_TO_POINTER (destination)))
    {
      g_variant_unref (g_variant_ref_sink (body != NULL ? body : g_variant_new ("()")));
      return;
    }
  dvmd_channel_post (find_channel (self, destination), kind, body);
}

static void
report_lost (DvmdTree *self, guint32 rank)
{
  if (self->rank == 0)
    self->funcs->lost (self->world, rank, 0);
  else
    dvmd_tree_post (self, 0, KIND_LOST, g_variant_new ("(u)", rank));
}

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
        g_hash_table_iter_remove (&iter);
      }
  set_missing_timer (self);
  for (guint i = 0; i < lost->len; i++)
    report_lost (self, GPOINTER_TO_UINT (g_ptr_array_index (lost, i)));
}

static gboolean
is_no_child (gpointer rank, gpointer deadline, gpointer user_data)
{
  DvmdTree *self = user_data;

  return dvmd_routes_get_parent (self->routes, GPOINTER_TO_UINT (rank)) != self->rank;
}

static void
expect_children (DvmdTree *self)
{
  g_hash_table_foreach_remove (self->missing, is_no_child, self);
  for (guint i = 0; i < dvmd_routes_get_n_children (self->routes, self->rank); i++)
    {
      guint32 child = dvmd_routes_get_child (self->routes, self->rank, i);

      if (!dvmd_broadcast_is_attached (self->broadcast, child)
          && !g_hash_table_contains (self->missing, GUINT_TO_POINTER (child)))
        expect_child (self, child, ATTACH_LIMIT);
    }
  set_missing_timer (self);
}

/* ---- the uplink ---- */

static void on_retry (gpointer user_data);

/* Whoever lives with another parent than the table's goes on asking at that one's. */
static void
set_retry (DvmdTree *self)
{
  dvmd_clock_remove_timer (self->clock, self->retry_timer);
  self->retry_timer = 0;
  if (!dvmd_tree_is_settled (self) && dvmd_routes_contains (self->routes, self->rank))
    self->retry_timer = dvmd_clock_add_timer (self->clock, RETRY_DELAY, on_retry, self);
}

static void
attach (DvmdTree *self, guint32 neighbour)
{
  guint32 old = self->uplink;

  self->wanted = DVMD_NO_RANK;
  self->uplink = neighbour;
  self->attached_to = neighbour;
  if (old != DVMD_NO_RANK && old != neighbour)
    send_new (self, old, DVMD_PACKET_DETACH, 0, NULL);
  send_new (self, neighbour, DVMD_PACKET_ATTACH, dvmd_broadcast_get_delivered (self->broadcast), NULL);
  dvmd_broadcast_set_uplink (self->broadcast, neighbour);
  dvmd_gather_set_uplink (self->gather, neighbour);
  resync_channels (self);
  /* The old parent may be a child by now. */
  if (old != DVMD_NO_RANK && old != neighbour && dvmd_routes_get_parent (self->routes, old) != self->rank
      && !dvmd_broadcast_is_attached (self->broadcast, old)
      && g_hash_table_remove (self->links, GUINT_TO_POINTER (old)))
    self->funcs->disconnect (self->world, old);
  set_retry (self);
}

static void
want (DvmdTree *self, guint32 rank)
{
  if (has_link (self, rank))
    {
      attach (self, rank);
      return;
    }
  self->wanted = rank;
  if (g_hash_table_add (self->connecting, GUINT_TO_POINTER (rank)))
    self->funcs->connect (self->world, rank);
}

/* Its parent by the table; those that leave have none and keep the one that they have. */
static void
seek_parent (DvmdTree *self)
{
  guint32 parent = dvmd_routes_get_parent (self->routes, self->rank);

  if (parent == DVMD_NO_RANK || parent == self->uplink || parent == self->wanted)
    return;
  want (self, parent);
}

static void
on_retry (gpointer user_data)
{
  DvmdTree *self = user_data;

  self->retry_timer = 0;
  if (self->wanted == DVMD_NO_RANK)
    seek_parent (self);
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
    set_retry (self);
  else if (rank == 0)
    self->funcs->cut_off (self->world);
  else
    want (self, above);
}

void
dvmd_tree_retry (DvmdTree *self)
{
  if (self->rank != 0 && self->uplink == DVMD_NO_RANK && self->wanted == DVMD_NO_RANK)
    want (self, 0);
}

static void
detach_child (DvmdTree *self, guint32 rank, gint64 limit)
{
  dvmd_broadcast_detach (self->broadcast, rank);
  if (dvmd_routes_get_parent (self->routes, rank) == self->rank)
    expect_child (self, rank, limit);
}

/* Who could still be sent something by this link, and is not where the table says. */
static gboolean
leads_to (gpointer rank, gpointer neighbour, gpointer user_data)
{
  return neighbour == user_data;
}

static void
forget_link (DvmdTree *self, guint32 neighbour)
{
  g_hash_table_remove (self->links, GUINT_TO_POINTER (neighbour));
  g_hash_table_foreach_remove (self->learned, leads_to, GUINT_TO_POINTER (neighbour));
  dvmd_broadcast_detach (self->broadcast, neighbour);
}

/* Made for a table that is not in force any more. */
static void
drop_unwanted (DvmdTree *self, guint32 neighbour)
{
  if (dvmd_routes_get_parent (self->routes, neighbour) == self->rank
      || dvmd_broadcast_is_attached (self->broadcast, neighbour))
    return;
  forget_link (self, neighbour);
  self->funcs->disconnect (self->world, neighbour);
}

void
dvmd_tree_link_up (DvmdTree *self, guint32 neighbour)
{
  gboolean again = !g_hash_table_add (self->links, GUINT_TO_POINTER (neighbour));
  gboolean ours = g_hash_table_remove (self->connecting, GUINT_TO_POINTER (neighbour));
  DvmdPacket *owed = g_hash_table_lookup (self->welcomes, GUINT_TO_POINTER (neighbour));

  if (owed != NULL)
    send_to (self, neighbour, owed);
  if (again)
    detach_child (self, neighbour, RETURN_LIMIT);
  /* A joiner comes to the controller; who has it for a parent already knows more than it does. */
  if (!self->member && neighbour == 0)
    {
      self->uplink = neighbour;
      self->wanted = DVMD_NO_RANK;
    }
  else if (neighbour == self->wanted || (again && neighbour == self->uplink))
    attach (self, neighbour);
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
  /* The same one once more: it may have been the link alone. */
  if (self->wanted == DVMD_NO_RANK)
    want (self, dvmd_routes_contains (self->routes, neighbour) ? neighbour : 0);
}

static void
bury (DvmdTree *self, guint32 rank)
{
  g_hash_table_remove (self->channels, GUINT_TO_POINTER (rank));
  g_hash_table_remove (self->learned, GUINT_TO_POINTER (rank));
  g_hash_table_remove (self->leaving, GUINT_TO_POINTER (rank));
  g_hash_table_insert (self->departed, GUINT_TO_POINTER (rank),
                       GUINT_TO_POINTER ((guint)dvmd_routes_get_epoch (self->routes)));
}

void
dvmd_tree_link_down (DvmdTree *self, guint32 neighbour)
{
  gboolean is_child = dvmd_routes_get_parent (self->routes, neighbour) == self->rank;
  gboolean is_leaver = g_hash_table_contains (self->leaving, GUINT_TO_POINTER (neighbour));
  gboolean is_joiner = self->rank == 0 && !is_leaver && !dvmd_routes_contains (self->routes, neighbour);
  gboolean was_attached = dvmd_broadcast_is_attached (self->broadcast, neighbour);

  if (!has_link (self, neighbour))
    return;
  forget_link (self, neighbour);
  if (neighbour == self->uplink)
    lose_uplink (self, neighbour);
  if (is_child)
    expect_child (self, neighbour, RETURN_LIMIT);
  /* The controller also hears of joiners and leavers, which are nobody's children. */
  else if (is_joiner || (is_leaver && was_attached))
    report_lost (self, neighbour);
}

void
dvmd_tree_connect_failed (DvmdTree *self, guint32 rank)
{
  g_hash_table_remove (self->connecting, GUINT_TO_POINTER (rank));
  if (rank != self->wanted)
    return;
  seek_above (self, rank);
}

/* ---- a new epoch ---- */

static void
set_children (DvmdTree *self)
{
  guint n = dvmd_routes_get_n_children (self->routes, self->rank);
  g_autofree guint32 *children = g_new (guint32, n + 1);

  for (guint i = 0; i < n; i++)
    children[i] = dvmd_routes_get_child (self->routes, self->rank, i);
  dvmd_broadcast_set_children (self->broadcast, dvmd_routes_get_epoch (self->routes), children, n);
  expect_children (self);
}

static void
leave (DvmdTree *self)
{
  if (self->ordered)
    return;
  self->ordered = TRUE;
  self->funcs->leave (self->world);
}

static void
apply_routes (DvmdTree *self, DvmdRoutes *routes)
{
  g_autoptr (DvmdRoutes) old = g_steal_pointer (&self->routes);

  self->routes = dvmd_routes_ref (routes);
  self->member = TRUE;
  set_children (self);
  dvmd_gather_set_routes (self->gather, routes);
  if (self->wanted != DVMD_NO_RANK && self->uplink != DVMD_NO_RANK)
    self->wanted = DVMD_NO_RANK;
  seek_parent (self);
  set_retry (self);
  resync_channels (self);
  self->funcs->routes_changed (self->world, old, routes);
}

/* Those that leave by order stay where they were until they have gone. */
static void
keep_leavers (DvmdTree *self, const guint32 *left, gsize n)
{
  guint epoch = (guint)dvmd_routes_get_epoch (self->routes);

  for (gsize i = 0; i < n; i++)
    {
      guint32 hop = dvmd_routes_next_hop (self->routes, self->rank, left[i]);

      g_hash_table_insert (self->leaving, GUINT_TO_POINTER (left[i]), GUINT_TO_POINTER (epoch));
      if (hop != DVMD_NO_RANK && hop != left[i])
        g_hash_table_insert (self->learned, GUINT_TO_POINTER (left[i]), GUINT_TO_POINTER (hop));
    }
}

static gboolean
is_long_ago (gpointer rank, gpointer epoch, gpointer user_data)
{
  DvmdTree *self = user_data;

  return (guint)dvmd_routes_get_epoch (self->routes) - GPOINTER_TO_UINT (epoch) > REMEMBERED_EPOCHS;
}

/* No packet takes so long. */
static void
forget_departed (DvmdTree *self)
{
  g_hash_table_foreach_remove (self->leaving, is_long_ago, self);
  g_hash_table_foreach_remove (self->departed, is_long_ago, self);
}

static void
drop_lost (DvmdTree *self, const guint32 *left, gsize n)
{
  for (gsize i = 0; i < n; i++)
    {
      if (left[i] == self->rank)
        self->funcs->expelled (self->world);
      bury (self, left[i]);
      if (left[i] != self->rank && has_link (self, left[i]))
        {
          send_new (self, left[i], DVMD_PACKET_EXPELLED, 0, NULL);
          forget_link (self, left[i]);
          self->funcs->disconnect (self->world, left[i]);
        }
    }
}

static GVariant *
describe_membership (DvmdTree *self)
{
  GVariantBuilder leaving;
  GHashTableIter iter;
  gpointer rank;

  g_variant_builder_init (&leaving, G_VARIANT_TYPE ("au"));
  g_hash_table_iter_init (&iter, self->leaving);
  while (g_hash_table_iter_next (&iter, &rank, NULL))
    g_variant_builder_add (&leaving, "u", GPOINTER_TO_UINT (rank));
  return g_variant_new ("(@" DVMD_ROUTES_TYPE "au)", dvmd_routes_to_variant (self->routes), &leaving);
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
      packet = dvmd_packet_new (DVMD_PACKET_WELCOME, self->rank, joined[i], 0, g_variant_ref (body));
      packet->ack = number;
      packet->epoch = dvmd_routes_get_epoch (self->routes);
      g_hash_table_insert (self->welcomes, GUINT_TO_POINTER (joined[i]), packet);
      send_to (self, joined[i], packet);
    }
}

static gboolean
is_wired (gpointer rank, gpointer packet, gpointer number)
{
  return ((DvmdPacket *)packet)->ack <= *(guint64 *)number;
}

static void
change_routes (DvmdTree *self, guint64 number, GVariant *body)
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
    keep_leavers (self, left_ranks, n_left);
  routes = dvmd_routes_change (self->routes, joined_ranks, n_joined, left_ranks, n_left);
  if (how == DVMD_LEFT_LOST)
    drop_lost (self, left_ranks, n_left);
  apply_routes (self, routes);
  if (how == DVMD_LEFT_ORDERED && !dvmd_routes_contains (routes, self->rank))
    leave (self);
  forget_departed (self);
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
                     g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, left, n_left, sizeof (guint32)), (guint32)how));
}

static void
bury_gone (DvmdTree *self, GVariant *body)
{
  g_autoptr (GVariant) array = NULL;
  const guint32 *ranks;
  gsize n;

  g_variant_get (body, "(@au)", &array);
  ranks = g_variant_get_fixed_array (array, &n, sizeof (guint32));
  for (gsize i = 0; i < n; i++)
    if (!dvmd_routes_contains (self->routes, ranks[i]))
      bury (self, ranks[i]);
}

guint64
dvmd_tree_forget (DvmdTree *self, const guint32 *ranks, guint n)
{
  g_return_val_if_fail (self->rank == 0, 0);

  return dvmd_broadcast_post (
      self->broadcast, KIND_GONE,
      g_variant_new ("(@au)", g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, ranks, n, sizeof (guint32))));
}

/* ---- broadcasts and gathers ---- */

static void
on_broadcast (gpointer world, guint64 number, guint16 kind, GVariant *body)
{
  DvmdTree *self = world;

  if (kind > DVMD_TREE_KIND_LAST)
    self->funcs->deliver_broadcast (self->world, number, kind, body);
  else if (kind == KIND_ROUTES && body != NULL && g_variant_is_of_type (body, G_VARIANT_TYPE (ROUTES_CHANGE_TYPE)))
    change_routes (self, number, body);
  else if (kind == KIND_GONE && body != NULL && g_variant_is_of_type (body, G_VARIANT_TYPE ("(au)")))
    bury_gone (self, body);
  else
    g_message ("A broadcast of kind %u is not known here", kind);
}

static void
on_completed (gpointer world, guint64 number)
{
  DvmdTree *self = world;

  g_hash_table_foreach_remove (self->welcomes, is_wired, &number);
  if (self->funcs->completed != NULL)
    self->funcs->completed (self->world, number);
}

static void
on_send (gpointer world, guint32 neighbour, DvmdPacket *packet)
{
  send_to (world, neighbour, packet);
}

static GVariant *
on_merge (gpointer world, const char *key, GPtrArray *parts)
{
  DvmdTree *self = world;

  return self->funcs->merge (self->world, key, parts);
}

static void
on_gathered (gpointer world, const char *key, GVariant *result)
{
  DvmdTree *self = world;

  self->funcs->gathered (self->world, key, result);
}

static const DvmdBroadcastFuncs broadcast_funcs = {
  .send = on_send,
  .deliver = on_broadcast,
  .completed = on_completed,
};

static const DvmdGatherFuncs gather_funcs = { .send = on_send, .merge = on_merge, .gathered = on_gathered };

guint64
dvmd_tree_broadcast (DvmdTree *self, guint16 kind, GVariant *body)
{
  return dvmd_broadcast_post (self->broadcast, kind, body);
}

void
dvmd_tree_contribute (DvmdTree *self, const char *key, const guint32 *participants, guint n_participants,
                      GVariant *part)
{
  dvmd_gather_contribute (self->gather, key, participants, n_participants, part);
}

void
dvmd_tree_close_gather (DvmdTree *self, const char *key)
{
  dvmd_gather_close (self->gather, key);
}

/* ---- what neighbours send ---- */

static void
receive_attach (DvmdTree *self, guint32 neighbour, DvmdPacket *packet)
{
  guint64 stable = dvmd_broadcast_get_stable (self->broadcast);
  gboolean known = dvmd_routes_contains (self->routes, neighbour)
                   || g_hash_table_contains (self->leaving, GUINT_TO_POINTER (neighbour));

  /* Of an epoch that has not come here yet: its rank will be known then. */
  if (!known && packet->epoch <= dvmd_routes_get_epoch (self->routes))
    {
      send_new (self, neighbour, DVMD_PACKET_EXPELLED, 0, NULL);
      forget_link (self, neighbour);
      self->funcs->disconnect (self->world, neighbour);
      return;
    }
  if (g_hash_table_remove (self->missing, GUINT_TO_POINTER (neighbour)))
    set_missing_timer (self);
  if (packet->ack < stable)
    /* A leaver that was on its way here when the order came: nobody has waited for it. Those below it are not behind.
     */
    send_new (self, neighbour, DVMD_PACKET_LEAVE, stable, NULL);
  dvmd_broadcast_attach (self->broadcast, neighbour, MAX (packet->ack, stable));
}

static void
receive_leave (DvmdTree *self, DvmdPacket *packet)
{
  if (packet->ack <= dvmd_broadcast_get_delivered (self->broadcast))
    return;
  dvmd_broadcast_start (self->broadcast, packet->ack);
  /* Whoever is below and has not got that far leaves too: members have. */
  dvmd_broadcast_pass_down (self->broadcast, packet);
  leave (self);
}

static void
receive_welcome (DvmdTree *self, DvmdPacket *packet)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) table = NULL;
  g_autoptr (GVariantIter) leaving = NULL;
  g_autoptr (DvmdRoutes) routes = NULL;
  guint32 rank;

  if (self->member || packet->body == NULL || !g_variant_is_of_type (packet->body, G_VARIANT_TYPE (WELCOME_TYPE)))
    return;
  g_variant_get (packet->body, "(@" DVMD_ROUTES_TYPE "au)", &table, &leaving);
  routes = dvmd_routes_new_from_variant (table, &error);
  if (routes == NULL)
    {
      g_message ("The table of members is not usable: %s", error->message);
      return;
    }
  while (g_variant_iter_next (leaving, "u", &rank))
    g_hash_table_insert (self->leaving, GUINT_TO_POINTER (rank),
                         GUINT_TO_POINTER ((guint)dvmd_routes_get_epoch (routes)));
  dvmd_broadcast_start (self->broadcast, packet->ack);
  apply_routes (self, routes);
  if (dvmd_routes_get_parent (routes, self->rank) == self->uplink)
    attach (self, self->uplink);
}

static void
receive_for_us (DvmdTree *self, guint32 neighbour, DvmdPacket *packet)
{
  switch (packet->type)
    {
    case DVMD_PACKET_MESSAGE:
    case DVMD_PACKET_ACK:
    case DVMD_PACKET_PROBE:
      if (g_hash_table_contains (self->departed, GUINT_TO_POINTER (packet->source)))
        break;
      learn (self, neighbour, packet->source);
      dvmd_channel_receive (find_channel (self, packet->source), packet);
      break;
    case DVMD_PACKET_ATTACH:
      receive_attach (self, neighbour, packet);
      break;
    case DVMD_PACKET_DETACH:
      detach_child (self, neighbour, ATTACH_LIMIT);
      break;
    case DVMD_PACKET_LEAVE:
      receive_leave (self, packet);
      break;
    case DVMD_PACKET_WELCOME:
      receive_welcome (self, packet);
      break;
    case DVMD_PACKET_EXPELLED:
      self->funcs->expelled (self->world);
      break;
    case DVMD_PACKET_GATHER:
      if (packet->body != NULL && g_variant_is_of_type (packet->body, G_VARIANT_TYPE (DVMD_GATHER_TYPE)))
        dvmd_gather_receive (self->gather, neighbour, packet);
      break;
    case DVMD_PACKET_BROADCAST:
    case DVMD_PACKET_BROADCAST_ACK:
    case DVMD_PACKET_STABLE:
      dvmd_broadcast_receive (self->broadcast, neighbour, packet);
      break;
    }
}

static gboolean
is_end_to_end (DvmdPacket *packet)
{
  return packet->type == DVMD_PACKET_MESSAGE || packet->type == DVMD_PACKET_ACK || packet->type == DVMD_PACKET_PROBE;
}

void
dvmd_tree_receive (DvmdTree *self, guint32 neighbour, DvmdPacket *packet)
{
  if (!has_link (self, neighbour))
    return;
  if (is_end_to_end (packet) && packet->destination != self->rank)
    {
      learn (self, neighbour, packet->source);
      forward (self, neighbour, packet);
    }
  else
    receive_for_us (self, neighbour, packet);
}

/* ---- the object ---- */

DvmdTree *
dvmd_tree_new (guint32 rank, guint radix, DvmdClock *clock, const DvmdTreeFuncs *funcs, gpointer world)
{
  DvmdTree *self = g_new0 (DvmdTree, 1);

  self->rank = rank;
  self->clock = dvmd_clock_ref (clock);
  self->funcs = funcs;
  self->world = world;
  self->uplink = DVMD_NO_RANK;
  self->wanted = DVMD_NO_RANK;
  self->links = g_hash_table_new (NULL, NULL);
  self->connecting = g_hash_table_new (NULL, NULL);
  self->attached_to = DVMD_NO_RANK;
  self->leaving = g_hash_table_new (NULL, NULL);
  self->welcomes = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)dvmd_packet_unref);
  self->departed = g_hash_table_new (NULL, NULL);
  self->missing = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->learned = g_hash_table_new (NULL, NULL);
  self->channels = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)dvmd_channel_free);
  self->routes = dvmd_routes_new (radix);
  self->broadcast = dvmd_broadcast_new (rank, &broadcast_funcs, self);
  self->gather = dvmd_gather_new (rank, &gather_funcs, self);
  self->member = rank == 0;
  if (rank == 0)
    dvmd_gather_set_routes (self->gather, self->routes);
  return self;
}

void
dvmd_tree_free (DvmdTree *self)
{
  dvmd_clock_remove_timer (self->clock, self->retry_timer);
  dvmd_clock_remove_timer (self->clock, self->missing_timer);
  g_hash_table_unref (self->channels);
  g_hash_table_unref (self->missing);
  g_hash_table_unref (self->welcomes);
  dvmd_gather_free (self->gather);
  dvmd_broadcast_free (self->broadcast);
  dvmd_routes_unref (self->routes);
  g_hash_table_unref (self->links);
  g_hash_table_unref (self->connecting);
  g_hash_table_unref (self->leaving);
  g_hash_table_unref (self->departed);
  g_hash_table_unref (self->learned);
  dvmd_clock_unref (self->clock);
  g_free (self);
}

DvmdRoutes *
dvmd_tree_get_routes (DvmdTree *self)
{
  return self->routes;
}

guint64
dvmd_tree_get_delivered (DvmdTree *self)
{
  return dvmd_broadcast_get_delivered (self->broadcast);
}

guint32
dvmd_tree_get_uplink (DvmdTree *self)
{
  return self->uplink;
}

gboolean
dvmd_tree_is_settled (DvmdTree *self)
{
  return self->rank == 0
         || (self->member && self->uplink != DVMD_NO_RANK && self->uplink == self->attached_to
             && self->uplink == dvmd_routes_get_parent (self->routes, self->rank));
}

guint
dvmd_tree_get_n_children (DvmdTree *self)
{
  return dvmd_broadcast_get_n_attached (self->broadcast);
}

guint
dvmd_tree_get_n_unacknowledged (DvmdTree *self, guint32 peer)
{
  GHashTableIter iter;
  gpointer channel = g_hash_table_lookup (self->channels, GUINT_TO_POINTER (peer));
  guint n = 0;

  if (peer != DVMD_NO_RANK)
    return channel != NULL ? dvmd_channel_get_n_unacknowledged (channel) : 0;

  g_hash_table_iter_init (&iter, self->channels);
  while (g_hash_table_iter_next (&iter, NULL, &channel))
    n += dvmd_channel_get_n_unacknowledged (channel);
  return n;
}

guint
dvmd_tree_get_n_kept (DvmdTree *self)
{
  return dvmd_broadcast_get_n_kept (self->broadcast);
}
