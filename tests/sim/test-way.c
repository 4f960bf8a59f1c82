/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Trees of daemons of which some cannot reach others, and are not told so. Whoever cannot reach the controller leaves,
 * at whatever depth it is, within half of the grace from when that could first be noticed; whoever can reach it stays.
 */

#include "config.h"

#include "dvmd-tree.h"
#include "sim-net.h"
#include "sim-seeds.h"

#define SEARCH_LIMIT (2500 * G_TIME_SPAN_MILLISECOND)
/* The time that messages take on their way down. */
#define SLACK (100 * G_TIME_SPAN_MILLISECOND)

typedef struct _World World;

typedef struct
{
  World *world;
  guint32 rank;
  DvmdTree *tree;
  gint64 lost_since; /* -1: there is a way */
  gint64 left;       /* when it left because there was none; -1: it has not */
  gboolean isolated; /* it may be lost, and leave */
} Daemon;

struct _World
{
  guint seed;
  GRand *rand;
  DvmdClock *clock;
  SimNet *net;
  guint n;
  guint n_joined;
  Daemon *daemons;
  GArray *lost; /* ranks of which the controller has heard */
  gboolean dropping;
};

static void
check_holds (World *world, gboolean condition, const char *what, int line)
{
  if (!condition)
    g_error ("DVM_SIM_SEED=%u: %s does not hold (line %d)", world->seed, what, line);
}

#define check(world, condition) check_holds (world, condition, #condition, __LINE__)

static guint
chance (World *world, guint n)
{
  return (guint)g_rand_int_range (world->rand, 0, (gint32)n);
}

static gint64
now (World *world)
{
  return dvmd_clock_monotonic (world->clock);
}

static DvmdRoutes *
get_routes (World *world)
{
  return dvmd_tree_get_routes (world->daemons[0].tree);
}

/* ---- what a tree asks and tells ---- */

static void
tree_send (gpointer data, guint32 neighbour, DvmdPacket *packet)
{
  Daemon *self = data;

  sim_net_send (self->world->net, self->rank, neighbour, packet);
}

static void
tree_connect (gpointer data, guint32 rank)
{
  Daemon *self = data;

  sim_net_connect (self->world->net, self->rank, rank);
}

static void
tree_disconnect (gpointer data, guint32 rank)
{
  Daemon *self = data;

  sim_net_disconnect (self->world->net, self->rank, rank);
}

static void
tree_deliver (gpointer data, guint32 source, guint16 kind, GVariant *body)
{
}

static void
tree_deliver_broadcast (gpointer data, guint64 number, guint16 kind, GVariant *body)
{
}

static void
tree_routes_changed (gpointer data, DvmdRoutes *old, DvmdRoutes *routes)
{
}

static void
tree_lost (gpointer data, guint32 rank, guint32 reporter)
{
  World *world = ((Daemon *)data)->world;

  check (world, world->daemons[rank].isolated);
  g_array_append_val (world->lost, rank);
  if (!world->dropping)
    sim_net_add_action (world->net, 1000, NULL);
  world->dropping = TRUE;
}

static void
tree_cut_off (gpointer data, gint64 since)
{
  Daemon *self = data;

  check (self->world, self->lost_since < 0 || since < self->lost_since);
  self->lost_since = since;
  sim_net_add_action (self->world->net, MAX (0, since + SEARCH_LIMIT - now (self->world)), self);
}

static void
tree_way_found (gpointer data)
{
  Daemon *self = data;

  check (self->world, self->lost_since >= 0);
  self->lost_since = -1;
}

static void
tree_expelled (gpointer data)
{
  Daemon *self = data;

  check (self->world, self->isolated);
  if (self->left < 0)
    self->left = now (self->world);
  sim_net_remove (self->world->net, self->rank);
}

static void
tree_leave (gpointer data)
{
  check (((Daemon *)data)->world, !"ordered to leave");
}

static GVariant *
tree_merge (gpointer data, const char *key, GPtrArray *parts)
{
  g_assert_not_reached ();
}

static const DvmdTreeFuncs tree_funcs = {
  .send = tree_send,
  .connect = tree_connect,
  .disconnect = tree_disconnect,
  .deliver = tree_deliver,
  .deliver_broadcast = tree_deliver_broadcast,
  .routes_changed = tree_routes_changed,
  .lost = tree_lost,
  .cut_off = tree_cut_off,
  .way_found = tree_way_found,
  .leave = tree_leave,
  .expelled = tree_expelled,
  .merge = tree_merge,
};

/* ---- what the network tells ---- */

static void
net_link_up (gpointer data, guint32 rank, guint32 neighbour)
{
  World *world = data;

  dvmd_tree_link_up (world->daemons[rank].tree, neighbour);
  if (rank == 0 && world->n_joined < world->n && ++world->n_joined == world->n)
    {
      g_autofree guint32 *joined = g_new (guint32, world->n);

      for (guint32 i = 1; i < world->n; i++)
        joined[i - 1] = i;
      dvmd_tree_change (world->daemons[0].tree, joined, world->n - 1, NULL, 0, DVMD_LEFT_LOST);
    }
}

static void
net_link_down (gpointer data, guint32 rank, guint32 neighbour)
{
  dvmd_tree_link_down (((World *)data)->daemons[rank].tree, neighbour);
}

static void
net_connect_failed (gpointer data, guint32 rank, guint32 neighbour)
{
  dvmd_tree_connect_failed (((World *)data)->daemons[rank].tree, neighbour);
}

static void
net_receive (gpointer data, guint32 rank, guint32 neighbour, DvmdPacket *packet)
{
  dvmd_tree_receive (((World *)data)->daemons[rank].tree, neighbour, packet);
}

static void
drop_lost (World *world)
{
  world->dropping = FALSE;
  dvmd_tree_change (world->daemons[0].tree, NULL, 0, (guint32 *)world->lost->data, world->lost->len, DVMD_LEFT_LOST);
  g_array_set_size (world->lost, 0);
}

/* The search of the daemon may be over; NULL: the controller expels the daemons that are lost. */
static void
net_act (gpointer data, gpointer action)
{
  World *world = data;
  Daemon *daemon = action;

  if (daemon == NULL)
    drop_lost (world);
  else if (daemon->lost_since >= 0 && now (world) >= daemon->lost_since + SEARCH_LIMIT
           && sim_net_is_alive (world->net, daemon->rank))
    {
      check (world, daemon->isolated);
      daemon->left = now (world);
      sim_net_remove (world->net, daemon->rank);
    }
}

static const SimNetFuncs net_funcs = {
  .link_up = net_link_up,
  .link_down = net_link_down,
  .connect_failed = net_connect_failed,
  .receive = net_receive,
  .act = net_act,
};

/* ---- a world ---- */

static gboolean
is_settled (World *world)
{
  for (guint32 rank = 0; rank < world->n; rank++)
    if (sim_net_is_alive (world->net, rank)
        && (!dvmd_routes_contains (get_routes (world), rank) || !dvmd_tree_is_settled (world->daemons[rank].tree)
            || dvmd_routes_get_epoch (dvmd_tree_get_routes (world->daemons[rank].tree))
                   != dvmd_routes_get_epoch (get_routes (world))))
      return FALSE;
  return TRUE;
}

static void
run_until_settled (World *world)
{
  for (guint i = 0; !is_settled (world); i++)
    {
      sim_net_run (world->net, 50 * G_TIME_SPAN_MILLISECOND);
      check (world, i < 2000);
    }
}

static World *
world_new (guint seed)
{
  static const guint radixes[] = { 2, 2, 3, 4 };
  World *self = g_new0 (World, 1);
  guint radix;

  self->seed = seed;
  self->rand = g_rand_new_with_seed (seed);
  self->clock = dvmd_clock_new_manual (0);
  self->net = sim_net_new (self->rand, self->clock, 5000, &net_funcs, self);
  self->lost = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->n = 8 + chance (self, 40);
  self->n_joined = 1;
  self->daemons = g_new0 (Daemon, self->n);
  radix = radixes[chance (self, G_N_ELEMENTS (radixes))];
  for (guint32 rank = 0; rank < self->n; rank++)
    {
      self->daemons[rank].world = self;
      self->daemons[rank].rank = rank;
      self->daemons[rank].lost_since = self->daemons[rank].left = -1;
      self->daemons[rank].tree = dvmd_tree_new (rank, radix, self->clock, &tree_funcs, &self->daemons[rank]);
      sim_net_add (self->net, rank);
      if (rank != 0)
        sim_net_connect (self->net, rank, 0);
    }
  run_until_settled (self);
  sim_net_run (self->net, chance (self, 1000000));
  return self;
}

static void
world_free (World *self)
{
  for (guint32 rank = 0; rank < self->n; rank++)
    dvmd_tree_free (self->daemons[rank].tree);
  sim_net_free (self->net);
  dvmd_clock_unref (self->clock);
  g_array_unref (self->lost);
  g_rand_free (self->rand);
  g_free (self->daemons);
  g_free (self);
}

/* ---- what is parted ---- */

static void
part_all (World *world, guint32 rank)
{
  for (guint32 other = 0; other < world->n; other++)
    if (other != rank)
      sim_net_part (world->net, rank, other);
}

/* Daemons that luck chooses are isolated, at least one. */
static void
isolate_some (World *world, guint32 first_alone)
{
  world->daemons[1 + chance (world, first_alone)].isolated = TRUE;
  for (guint i = chance (world, world->n / 3); i > 0; i--)
    world->daemons[1 + chance (world, world->n - 1)].isolated = TRUE;
}

static void
check_others_stay (World *world, gint64 parted)
{
  gint64 end = parted + SIM_NET_SILENCE * 5 / 4 + SEARCH_LIMIT + SLACK;

  sim_net_run (world->net, end - now (world));
  for (guint32 rank = 1; rank < world->n; rank++)
    check (world, sim_net_is_alive (world->net, rank) == !world->daemons[rank].isolated);
  run_until_settled (world);
}

/* No daemon reaches the controller, all reach each other: all leave, no level of the tree later than another. */
static void
run_frozen_controller (guint seed)
{
  World *world = world_new (seed);
  gint64 parted = now (world);

  for (guint32 rank = 1; rank < world->n; rank++)
    world->daemons[rank].isolated = TRUE;
  part_all (world, 0);
  sim_net_run (world->net, SIM_NET_SILENCE + SEARCH_LIMIT - 1);
  for (guint32 rank = 1; rank < world->n; rank++)
    check (world, sim_net_is_alive (world->net, rank));
  sim_net_run (world->net, parted + SIM_NET_SILENCE * 5 / 4 + SEARCH_LIMIT + SLACK - now (world));
  for (guint32 rank = 1; rank < world->n; rank++)
    check (world, !sim_net_is_alive (world->net, rank));
  world_free (world);
}

/* The controller is there again before the links to it are given up: they are made again, and nobody is lost. */
static void
run_moment (guint seed)
{
  World *world = world_new (seed);
  gint64 parted = now (world);

  part_all (world, 0);
  sim_net_run (world->net, 1 + chance (world, SIM_NET_SILENCE));
  for (guint32 rank = 1; rank < world->n; rank++)
    sim_net_mend (world->net, 0, rank);
  check_others_stay (world, parted);
  world_free (world);
}

/* A child of the controller that cannot reach it, but all other daemons: these stay. */
static void
run_lame_relay (guint seed)
{
  World *world = world_new (seed);
  gint64 parted = now (world);
  guint n_children = dvmd_routes_get_n_children (get_routes (world), 0);
  guint32 relay = dvmd_routes_get_child (get_routes (world), 0, chance (world, n_children));

  world->daemons[relay].isolated = TRUE;
  sim_net_part (world->net, 0, relay);
  check_others_stay (world, parted);
  world_free (world);
}

/* Daemons that reach no other, and that no other reaches: daemons below them find another way. */
static void
run_frozen_relays (guint seed)
{
  World *world = world_new (seed);
  gint64 parted = now (world);

  isolate_some (world, 4);
  for (guint32 rank = 1; rank < world->n; rank++)
    if (world->daemons[rank].isolated)
      part_all (world, rank);
  check_others_stay (world, parted);
  world_free (world);
}

/* The switch between two parts of a machine fails: the part without the controller leaves, all of it. */
static void
run_split (guint seed)
{
  World *world = world_new (seed);
  gint64 parted = now (world);

  isolate_some (world, world->n - 1);
  for (guint32 one = 0; one < world->n; one++)
    for (guint32 other = one + 1; other < world->n; other++)
      if (world->daemons[one].isolated != world->daemons[other].isolated)
        sim_net_part (world->net, one, other);
  check_others_stay (world, parted);
  world_free (world);
}

static void
run_each (gconstpointer run)
{
  guint seed;

  if (sim_seeds_get_one (&seed))
    ((void (*) (guint))run) (seed);
  for (guint i = 1; i <= sim_seeds_get_n () / 20 && !sim_seeds_get_one (&seed); i++)
    ((void (*) (guint))run) (i);
}

int
main (int argc, char **argv)
{
  sim_seeds_init (&argc, &argv);
  g_test_add_data_func ("/way/frozen-controller", run_frozen_controller, run_each);
  g_test_add_data_func ("/way/frozen-relays", run_frozen_relays, run_each);
  g_test_add_data_func ("/way/lame-relay", run_lame_relay, run_each);
  g_test_add_data_func ("/way/moment", run_moment, run_each);
  g_test_add_data_func ("/way/split", run_split, run_each);
  return g_test_run ();
}
