/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tree of daemons under random histories of joins, departures by order, deaths and broken links: everybody that
 * lives is reached, everything arrives once and in order, and what is called complete is. A history that fails names
 * its seed (sim-seeds.h).
 */

#include "config.h"

#include "dvmd-tree.h"
#include "sim-net.h"
#include "sim-seeds.h"

#define KIND_MESSAGE     20
#define KIND_NUMBER      21 /* broadcast: (index) */
#define KIND_GATHER      22 /* broadcast: (key, participants) */
#define KIND_GATHER_DONE 23 /* broadcast: (key, whether all that begin so) */
#define KIND_LEFT        24 /* to the controller: () */

/* µs, within which a daemon that has lost its way finds another one, or leaves. */
#define SEARCH_LIMIT (2500 * G_TIME_SPAN_MILLISECOND)

typedef struct _World World;

typedef struct
{
  World *world;
  guint32 rank;
  DvmdTree *tree;
  guint64 first; /* number of the first broadcast that it may expect */
  guint64 next;  /* index of the next broadcast */
  gboolean joined;
  gboolean ordered; /* to leave */
  gboolean leaving; /* and knows it */
  gboolean left_said;
  gint64 lost_since;    /* the way to the controller; -1: there is one */
  GHashTable *sent;     /* rank -> messages posted to it */
  GHashTable *received; /* rank -> messages that came from it */
} Daemon;

typedef struct
{
  char *key;
  GArray *participants;
  guint n_results;
  gboolean given_up;
} Gather;

struct _World
{
  guint seed;
  GRand *rand;
  DvmdClock *clock;
  SimNet *net;
  GPtrArray *daemons;   /* by rank; NULL: none yet */
  GHashTable *declared; /* set of ranks that the controller has put out as lost */
  GArray *pending;      /* ranks that wait for their admission */
  GArray *lost;         /* ranks of which the controller has heard */
  GArray *numbers;      /* guint64: the broadcasts of the test, by index */
  GHashTable *tables;   /* epoch -> text of the table */
  GPtrArray *gathers;
  guint gather_group;
  guint64 completed;
  guint64 posted;
  gboolean cuts;  /* links may break while both ends live */
  gboolean parts; /* some cannot reach others */
  gsize window;   /* of messages; 0: that of channels */
};

typedef enum
{
  ACT_ADMIT = 1,
  ACT_DROP_LOST,
  ACT_CHECK_LEAVERS,
} Act;

static Daemon *
get (World *world, guint32 rank)
{
  return rank < world->daemons->len ? g_ptr_array_index (world->daemons, rank) : NULL;
}

#define check(world, condition)                                                                                        \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    if (!(condition))                                                                                                  \
      g_error ("DVM_SIM_SEED=%u: %s does not hold (line %d)", (world)->seed, #condition, __LINE__);                    \
  }                                                                                                                    \
  G_STMT_END

static guint
count (GHashTable *table, guint32 rank)
{
  return GPOINTER_TO_UINT (g_hash_table_lookup (table, GUINT_TO_POINTER (rank)));
}

static void
set_count (GHashTable *table, guint32 rank, guint n)
{
  g_hash_table_insert (table, GUINT_TO_POINTER (rank), GUINT_TO_POINTER (n));
}

static guint
chance (World *world, guint n)
{
  return g_rand_int_range (world->rand, 0, n);
}

static DvmdRoutes *
get_routes (World *world)
{
  return dvmd_tree_get_routes (get (world, 0)->tree);
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
  Daemon *self = data;
  guint n;

  if (kind == KIND_LEFT)
    return;
  check (self->world, kind == KIND_MESSAGE);
  g_variant_get (body, "(u)", &n);
  check (self->world, n == count (self->received, source) + 1);
  set_count (self->received, source, n);
}

static guint64
broadcast (World *world, guint16 kind, GVariant *body)
{
  guint64 index = world->numbers->len;
  guint64 number;

  /* It is delivered here before its number is known. */
  number = dvmd_tree_get_delivered (get (world, 0)->tree) + 1;
  g_array_append_val (world->numbers, number);
  check (world, dvmd_tree_broadcast (get (world, 0)->tree, kind, g_variant_new ("(tv)", index, body)) == number);
  world->posted = MAX (world->posted, number);
  return number;
}

static void
contribute (Daemon *self, GVariant *body)
{
  g_autoptr (GVariant) array = NULL;
  const guint32 *participants;
  const char *key;
  gsize n;

  g_variant_get (body, "(&s@au)", &key, &array);
  participants = g_variant_get_fixed_array (array, &n, sizeof (guint32));
  for (gsize i = 0; i < n; i++)
    if (participants[i] == self->rank)
      dvmd_tree_contribute (self->tree, key, participants, n,
                            g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, &self->rank, 1, sizeof (guint32)));
}

static void
close_gather (Daemon *self, const char *key, gboolean all)
{
  if (all)
    dvmd_tree_close_gathers (self->tree, key);
  else
    dvmd_tree_close_gather (self->tree, key);
}

static void
tree_deliver_broadcast (gpointer data, guint64 number, guint16 kind, GVariant *body)
{
  Daemon *self = data;
  World *world = self->world;
  g_autoptr (GVariant) inner = NULL;
  guint64 index;

  g_variant_get (body, "(tv)", &index, &inner);
  check (world, index < world->numbers->len && g_array_index (world->numbers, guint64, index) == number);
  /* A joiner begins with the first after its admission; a leaver may miss some. */
  if (self->ordered)
    check (world, index + 2 > self->next);
  else if (self->next == 0 && self->rank != 0)
    check (world, index == 0 || g_array_index (world->numbers, guint64, index - 1) < self->first);
  else
    check (world, index == self->next - 1);
  self->next = index + 2;
  if (kind == KIND_GATHER)
    contribute (self, inner);
  else if (kind == KIND_GATHER_DONE && self->rank != 0)
    {
      gboolean all;
      const char *key;

      g_variant_get (inner, "(&sb)", &key, &all);
      close_gather (self, key, all);
    }
}

static void
tree_completed (gpointer data, guint64 number)
{
  World *world = ((Daemon *)data)->world;
  DvmdRoutes *routes = get_routes (world);

  check (world, number == world->completed + 1);
  world->completed = number;
  for (guint i = 0; i < dvmd_routes_get_n_members (routes); i++)
    {
      guint32 rank = dvmd_routes_get_rank (routes, i);

      if (sim_net_is_alive (world->net, rank))
        check (world, dvmd_tree_get_delivered (get (world, rank)->tree) >= number);
    }
}

static void
tree_routes_changed (gpointer data, DvmdRoutes *old, DvmdRoutes *routes)
{
  Daemon *self = data;
  World *world = self->world;
  gint64 epoch = (gint64)dvmd_routes_get_epoch (routes);
  g_autoptr (GVariant) variant = g_variant_ref_sink (dvmd_routes_to_variant (routes));
  g_autofree char *text = g_variant_print (variant, FALSE);

  if (self->rank == 0)
    g_hash_table_insert (world->tables, g_memdup2 (&epoch, sizeof epoch), g_steal_pointer (&text));
  else
    check (world, g_strcmp0 (text, g_hash_table_lookup (world->tables, &epoch)) == 0);
  self->joined = TRUE;
}

static void
tree_lost (gpointer data, guint32 rank, guint32 reporter)
{
  World *world = ((Daemon *)data)->world;
  Daemon *daemon = get (world, rank);

  if (sim_seeds_is_traced ())
    g_printerr ("%d: %u is lost, says %u\n", (int)dvmd_clock_monotonic (world->clock), rank, reporter);
  check (world, daemon != NULL);
  /* A leaver whose link has broken comes again; one that has missed changes waits for children that are elsewhere. */
  if (!world->cuts && !daemon->ordered)
    check (world, !sim_net_is_alive (world->net, rank));
  if (g_hash_table_contains (world->declared, GUINT_TO_POINTER (rank))
      || (daemon->ordered && sim_net_is_alive (world->net, rank)))
    return;
  g_array_append_val (world->lost, rank);
  sim_net_add_action (world->net, chance (world, 3000), GUINT_TO_POINTER (ACT_DROP_LOST));
}

static void
tree_cut_off (gpointer data, gint64 since)
{
  Daemon *self = data;

  check (self->world, since <= dvmd_clock_monotonic (self->world->clock));
  check (self->world, self->lost_since < 0 || since < self->lost_since);
  self->lost_since = since;
}

/* Where all can reach each other the way is never lost for long. */
static void
tree_way_found (gpointer data)
{
  Daemon *self = data;
  gint64 time = dvmd_clock_monotonic (self->world->clock) - self->lost_since;

  check (self->world, self->lost_since >= 0);
  check (self->world, self->world->parts || time < SEARCH_LIMIT);
  self->lost_since = -1;
}

static void
tree_leave (gpointer data)
{
  Daemon *self = data;

  check (self->world, self->ordered && !self->leaving);
  self->leaving = TRUE;
}

static void
tree_expelled (gpointer data)
{
  Daemon *self = data;

  check (self->world, g_hash_table_contains (self->world->declared, GUINT_TO_POINTER (self->rank)));
  sim_net_remove (self->world->net, self->rank);
}

static int
compare_ranks (gconstpointer a, gconstpointer b)
{
  guint32 one = *(const guint32 *)a;
  guint32 other = *(const guint32 *)b;

  return (one > other) - (one < other);
}

static void
end_gather (World *world, const char *key, gboolean all)
{
  broadcast (world, KIND_GATHER_DONE, g_variant_new ("(sb)", key, all));
  close_gather (get (world, 0), key, all);
}

static GVariant *
tree_merge (gpointer data, const char *key, GPtrArray *parts)
{
  World *world = ((Daemon *)data)->world;
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 0; i < parts->len; i++)
    {
      gsize n;
      const guint32 *ranks = g_variant_get_fixed_array (g_ptr_array_index (parts, i), &n, sizeof (guint32));

      g_array_append_vals (all, ranks, n);
    }
  g_array_sort (all, compare_ranks);
  for (guint i = 1; i < all->len; i++)
    check (world, g_array_index (all, guint32, i) != g_array_index (all, guint32, i - 1));
  return g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, all->data, all->len, sizeof (guint32));
}

static gboolean
contains (const guint32 *ranks, gsize n, guint32 rank)
{
  for (gsize i = 0; i < n; i++)
    if (ranks[i] == rank)
      return TRUE;
  return FALSE;
}

static void
tree_gathered (gpointer data, const char *key, GVariant *result)
{
  World *world = ((Daemon *)data)->world;
  gsize n;
  const guint32 *ranks = g_variant_get_fixed_array (result, &n, sizeof (guint32));
  Gather *gather = NULL;

  for (guint i = 0; i < world->gathers->len; i++)
    if (g_str_equal (((Gather *)g_ptr_array_index (world->gathers, i))->key, key))
      gather = g_ptr_array_index (world->gathers, i);
  check (world, gather != NULL && !gather->given_up && ++gather->n_results == 1);
  for (guint i = 0; i < gather->participants->len; i++)
    {
      guint32 rank = g_array_index (gather->participants, guint32, i);

      if (dvmd_routes_contains (get_routes (world), rank))
        check (world, contains (ranks, n, rank));
    }
  for (gsize i = 0; i < n; i++)
    check (world, contains ((guint32 *)gather->participants->data, gather->participants->len, ranks[i]));
  end_gather (world, key, FALSE);
}

static const DvmdTreeFuncs tree_funcs = {
  .send = tree_send,
  .connect = tree_connect,
  .disconnect = tree_disconnect,
  .deliver = tree_deliver,
  .deliver_broadcast = tree_deliver_broadcast,
  .completed = tree_completed,
  .routes_changed = tree_routes_changed,
  .lost = tree_lost,
  .cut_off = tree_cut_off,
  .way_found = tree_way_found,
  .leave = tree_leave,
  .expelled = tree_expelled,
  .merge = tree_merge,
  .gathered = tree_gathered,
};

/* ---- what the network tells ---- */

static void
add_pending (World *world, guint32 rank)
{
  if (contains ((guint32 *)world->pending->data, world->pending->len, rank))
    return;
  g_array_append_val (world->pending, rank);
  sim_net_add_action (world->net, chance (world, 5000), GUINT_TO_POINTER (ACT_ADMIT));
}

static void
net_link_up (gpointer data, guint32 rank, guint32 neighbour)
{
  World *world = data;

  dvmd_tree_link_up (get (world, rank)->tree, neighbour);
  if (rank != 0 || get (world, neighbour)->joined || dvmd_routes_contains (get_routes (world), neighbour))
    return;
  if (g_hash_table_contains (world->declared, GUINT_TO_POINTER (neighbour)))
    sim_net_remove (world->net, neighbour);
  else
    add_pending (world, neighbour);
}

static void
net_link_down (gpointer data, guint32 rank, guint32 neighbour)
{
  dvmd_tree_link_down (get (data, rank)->tree, neighbour);
}

static void
net_connect_failed (gpointer data, guint32 rank, guint32 neighbour)
{
  dvmd_tree_connect_failed (get (data, rank)->tree, neighbour);
}

static void
net_receive (gpointer data, guint32 rank, guint32 neighbour, DvmdPacket *packet)
{
  dvmd_tree_receive (get (data, rank)->tree, neighbour, packet);
}

/* ---- the controller of the test ---- */

static void
change (World *world, GArray *joined, GArray *left, DvmdLeftHow how)
{
  g_autoptr (DvmdRoutes) old = dvmd_routes_ref (get_routes (world));
  DvmdRoutes *routes;
  guint n_children = 0;
  guint n_left = 0;

  for (guint i = 0; i < left->len; i++)
    if (dvmd_routes_contains (old, g_array_index (left, guint32, i)))
      {
        n_children += dvmd_routes_get_n_children (old, g_array_index (left, guint32, i));
        n_left++;
      }
  /* By now the joiners know from which broadcast on they belong to it. */
  for (guint i = 0; i < joined->len; i++)
    get (world, g_array_index (joined, guint32, i))->first = dvmd_tree_get_delivered (get (world, 0)->tree) + 1;
  world->posted = dvmd_tree_get_delivered (get (world, 0)->tree) + 1;
  dvmd_tree_change (get (world, 0)->tree, (guint32 *)joined->data, joined->len, (guint32 *)left->data, left->len, how);
  routes = get_routes (world);
  if (joined->len == 0)
    check (world, dvmd_routes_count_new_links (old, routes) <= n_children + 2 * n_left);
  for (guint depth = 0, reach = 1;; depth++, reach *= dvmd_routes_get_radix (routes))
    if (reach >= dvmd_routes_get_n_members (routes))
      {
        check (world, dvmd_routes_get_max_depth (routes) <= depth + 1);
        break;
      }
}

static void
admit (World *world)
{
  g_autoptr (GArray) joined = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) nobody = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 0; i < world->pending->len; i++)
    if (!g_hash_table_contains (world->declared, GUINT_TO_POINTER (g_array_index (world->pending, guint32, i))))
      g_array_append_val (joined, g_array_index (world->pending, guint32, i));
  g_array_set_size (world->pending, 0);
  if (joined->len > 0)
    change (world, joined, nobody, DVMD_LEFT_LOST);
}

static void
drop_lost (World *world)
{
  g_autoptr (GArray) left = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) gone = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) nobody = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 0; i < world->lost->len; i++)
    {
      guint32 rank = g_array_index (world->lost, guint32, i);

      g_hash_table_add (world->declared, GUINT_TO_POINTER (rank));
      if (dvmd_routes_contains (get_routes (world), rank))
        g_array_append_val (left, rank);
      else if (get (world, rank)->ordered)
        g_array_append_val (gone, rank);
    }
  g_array_set_size (world->lost, 0);
  if (gone->len > 0)
    {
      world->posted = dvmd_tree_get_delivered (get (world, 0)->tree) + 1;
      dvmd_tree_forget (get (world, 0)->tree, (guint32 *)gone->data, gone->len);
    }
  if (left->len > 0)
    change (world, nobody, left, DVMD_LEFT_LOST);
}

/* Those that were ordered to leave go when nobody lives below them any more. */
static void
check_leavers (World *world)
{
  gboolean more = FALSE;

  for (guint32 rank = 1; rank < world->daemons->len; rank++)
    {
      Daemon *daemon = get (world, rank);

      /* The launcher tells of those whose end nobody has seen, because their parents ended with them. */
      if (daemon->ordered && !sim_net_is_alive (world->net, rank)
          && !g_hash_table_contains (world->declared, GUINT_TO_POINTER (rank)))
        tree_lost (get (world, 0), rank, 0);
      if (!daemon->ordered || !sim_net_is_alive (world->net, rank))
        continue;
      more = TRUE;
      if (!daemon->leaving || dvmd_tree_get_n_children (daemon->tree) > 0)
        continue;
      if (!daemon->left_said)
        dvmd_tree_post (daemon->tree, 0, KIND_LEFT, NULL, FALSE);
      else if (dvmd_tree_get_n_unacknowledged (daemon->tree, 0) == 0)
        sim_net_remove (world->net, rank);
      daemon->left_said = TRUE;
    }
  if (more)
    sim_net_add_action (world->net, 1000, GUINT_TO_POINTER (ACT_CHECK_LEAVERS));
}

static void
net_act (gpointer data, gpointer action)
{
  if (GPOINTER_TO_UINT (action) == ACT_ADMIT)
    admit (data);
  else if (GPOINTER_TO_UINT (action) == ACT_DROP_LOST)
    drop_lost (data);
  else
    check_leavers (data);
}

static const SimNetFuncs net_funcs = {
  .link_up = net_link_up,
  .link_down = net_link_down,
  .connect_failed = net_connect_failed,
  .receive = net_receive,
  .act = net_act,
};

/* ---- a history ---- */

static void
add_daemon (World *world, guint radix)
{
  Daemon *self = g_new0 (Daemon, 1);

  self->world = world;
  self->rank = world->daemons->len;
  self->sent = g_hash_table_new (NULL, NULL);
  self->received = g_hash_table_new (NULL, NULL);
  self->tree = dvmd_tree_new (self->rank, radix, world->clock, &tree_funcs, self);
  if (world->window > 0)
    dvmd_tree_set_window (self->tree, world->window);
  self->joined = self->rank == 0;
  self->lost_since = -1;
  self->next = self->rank == 0;
  g_ptr_array_add (world->daemons, self);
  sim_net_add (world->net, self->rank);
  if (self->rank != 0)
    sim_net_connect (world->net, self->rank, 0);
}

static void
daemon_free (gpointer data)
{
  Daemon *self = data;

  dvmd_tree_free (self->tree);
  g_hash_table_unref (self->sent);
  g_hash_table_unref (self->received);
  g_free (self);
}

static void
gather_free (gpointer data)
{
  Gather *self = data;

  g_array_unref (self->participants);
  g_free (self->key);
  g_free (self);
}

/* DVMD_NO_RANK: nobody. */
static guint32
choose_member (World *world)
{
  DvmdRoutes *routes = get_routes (world);
  guint n = dvmd_routes_get_n_members (routes);

  return n > 1 ? dvmd_routes_get_rank (routes, 1 + chance (world, n - 1)) : DVMD_NO_RANK;
}

static void
start_gather (World *world)
{
  DvmdRoutes *routes = get_routes (world);
  Gather *gather = g_new0 (Gather, 1);

  gather->key = g_strdup_printf ("%u/%u", world->gather_group, world->gathers->len);
  gather->participants = g_array_new (FALSE, FALSE, sizeof (guint32));
  for (guint i = 0; i < dvmd_routes_get_n_members (routes); i++)
    {
      guint32 rank = dvmd_routes_get_rank (routes, i);

      if (i == 0 || chance (world, 2))
        g_array_append_val (gather->participants, rank);
    }
  g_ptr_array_add (world->gathers, gather);
  broadcast (world, KIND_GATHER,
             g_variant_new ("(s@au)", gather->key,
                            g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, gather->participants->data,
                                                       gather->participants->len, sizeof (guint32))));
}

/* One that has no result yet, or all of a group. */
static void
give_up_gathers (World *world)
{
  g_autofree char *prefix = g_strdup_printf ("%u/", world->gather_group);
  gboolean all = chance (world, 2);

  for (guint i = 0; i < world->gathers->len; i++)
    {
      Gather *gather = g_ptr_array_index (world->gathers, i);

      if (gather->n_results > 0 || gather->given_up || !g_str_has_prefix (gather->key, prefix))
        continue;
      gather->given_up = TRUE;
      if (all)
        continue;
      end_gather (world, gather->key, FALSE);
      return;
    }
  if (!all)
    return;
  end_gather (world, prefix, TRUE);
  world->gather_group++;
}

static void
send_message (World *world, guint32 from, guint32 to)
{
  Daemon *daemon = get (world, from);
  guint n;

  if (from == to || from == DVMD_NO_RANK || to == DVMD_NO_RANK || !sim_net_is_alive (world->net, from))
    return;
  if (!dvmd_routes_contains (dvmd_tree_get_routes (daemon->tree), to))
    return; /* it does not know it yet */
  for (guint i = chance (world, 4) > 0 ? 1 : 1 + chance (world, 50); i > 0; i--)
    {
      n = count (daemon->sent, to) + 1;
      set_count (daemon->sent, to, n);
      dvmd_tree_post (daemon->tree, to, KIND_MESSAGE, g_variant_new ("(u)", n), chance (world, 3) == 0);
    }
}

static void
order_to_leave (World *world)
{
  g_autoptr (GArray) left = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) nobody = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 1 + chance (world, 4); i > 0; i--)
    {
      guint32 rank = choose_member (world);

      if (rank != DVMD_NO_RANK && !contains ((guint32 *)left->data, left->len, rank))
        g_array_append_val (left, rank);
    }
  if (left->len == 0)
    return;
  for (guint i = 0; i < left->len; i++)
    get (world, g_array_index (left, guint32, i))->ordered = TRUE;
  change (world, nobody, left, DVMD_LEFT_ORDERED);
  sim_net_add_action (world->net, 1000, GUINT_TO_POINTER (ACT_CHECK_LEAVERS));
}

static void
cut_some_link (World *world)
{
  guint32 rank = choose_member (world);

  if (rank != DVMD_NO_RANK && dvmd_tree_get_uplink (get (world, rank)->tree) != DVMD_NO_RANK)
    sim_net_cut (world->net, rank, dvmd_tree_get_uplink (get (world, rank)->tree));
}

static void
kill_some (World *world)
{
  for (guint i = 1 + chance (world, 3); i > 0; i--)
    {
      guint32 rank = choose_member (world);

      if (rank != DVMD_NO_RANK)
        sim_net_remove (world->net, rank);
    }
}

static void
step (World *world)
{
  switch (chance (world, world->cuts ? 13 : 12))
    {
    case 0:
    case 1:
      for (guint i = 1 + chance (world, 5); i > 0; i--)
        add_daemon (world, 2);
      break;
    case 2:
      order_to_leave (world);
      break;
    case 3:
      kill_some (world);
      break;
    case 4:
    case 5:
      broadcast (world, KIND_NUMBER, g_variant_new ("(s)", "text"));
      break;
    case 6:
      send_message (world, choose_member (world), 0);
      break;
    case 7:
      send_message (world, 0, choose_member (world));
      break;
    case 8:
    case 9:
      send_message (world, choose_member (world), choose_member (world));
      break;
    case 10:
      start_gather (world);
      break;
    case 11:
      give_up_gathers (world);
      break;
    case 12:
      cut_some_link (world);
      break;
    }
}

static gboolean
is_quiet (World *world)
{
  DvmdRoutes *routes = get_routes (world);

  if (world->pending->len > 0 || world->lost->len > 0 || world->completed < world->posted)
    return FALSE;
  for (guint32 rank = 0; rank < world->daemons->len; rank++)
    {
      Daemon *daemon = get (world, rank);

      if (!sim_net_is_alive (world->net, rank)
              ? dvmd_routes_contains (routes, rank)
              : !dvmd_routes_contains (routes, rank) || !dvmd_tree_is_settled (daemon->tree)
                    || dvmd_tree_get_n_unacknowledged (daemon->tree, DVMD_NO_RANK) > 0)
        return FALSE;
    }
  for (guint i = 0; i < world->gathers->len; i++)
    {
      Gather *gather = g_ptr_array_index (world->gathers, i);

      if (gather->n_results == 0 && !gather->given_up)
        return FALSE;
    }
  return TRUE;
}

static void
check_end (World *world)
{
  for (guint32 rank = 0; rank < world->daemons->len; rank++)
    {
      Daemon *daemon = get (world, rank);
      GHashTableIter iter;
      gpointer peer;
      gpointer n;

      if (!sim_net_is_alive (world->net, rank))
        continue;
      check (world, dvmd_tree_get_delivered (daemon->tree) == world->posted);
      check (world, dvmd_tree_get_n_gathers (daemon->tree) == 0);
      g_hash_table_iter_init (&iter, daemon->sent);
      while (g_hash_table_iter_next (&iter, &peer, &n))
        if (sim_net_is_alive (world->net, GPOINTER_TO_UINT (peer)))
          check (world, count (get (world, GPOINTER_TO_UINT (peer))->received, rank) == GPOINTER_TO_UINT (n));
    }
}

static void
explain (World *world)
{
  for (guint32 rank = 0; rank < world->daemons->len; rank++)
    {
      Daemon *daemon = get (world, rank);

      g_printerr ("%u: %s%s%s epoch %d uplink %d parent %d settled %d unacknowledged %u delivered %d\n", rank,
                  sim_net_is_alive (world->net, rank) ? "alive" : "dead", daemon->leaving ? " leaving" : "",
                  dvmd_routes_contains (get_routes (world), rank) ? " member" : "",
                  (int)dvmd_routes_get_epoch (dvmd_tree_get_routes (daemon->tree)),
                  (int)dvmd_tree_get_uplink (daemon->tree), (int)dvmd_routes_get_parent (get_routes (world), rank),
                  dvmd_tree_is_settled (daemon->tree), dvmd_tree_get_n_unacknowledged (daemon->tree, DVMD_NO_RANK),
                  (int)dvmd_tree_get_delivered (daemon->tree));
    }
  g_printerr ("posted %d completed %d pending %u lost %u\n", (int)world->posted, (int)world->completed,
              world->pending->len, world->lost->len);
}

static World *
world_new (guint seed)
{
  static const gsize windows[] = { 0, 1, 200, 1000 };
  World *self = g_new0 (World, 1);

  self->seed = seed;
  self->rand = g_rand_new_with_seed (seed);
  self->clock = dvmd_clock_new_manual (0);
  self->net = sim_net_new (self->rand, self->clock, chance (self, 2) ? 200 : 5000, &net_funcs, self);
  self->daemons = g_ptr_array_new_with_free_func (daemon_free);
  self->declared = g_hash_table_new (NULL, NULL);
  self->pending = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->lost = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->numbers = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->tables = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  self->gathers = g_ptr_array_new_with_free_func (gather_free);
  self->cuts = chance (self, 3) == 0;
  self->window = windows[chance (self, G_N_ELEMENTS (windows))];
  return self;
}

static void
world_free (World *self)
{
  g_ptr_array_unref (self->daemons);
  sim_net_free (self->net);
  dvmd_clock_unref (self->clock);
  g_hash_table_unref (self->declared);
  g_hash_table_unref (self->tables);
  g_array_unref (self->pending);
  g_array_unref (self->lost);
  g_array_unref (self->numbers);
  g_ptr_array_unref (self->gathers);
  g_rand_free (self->rand);
  g_free (self);
}

static void
run_history (guint seed)
{
  World *world = world_new (seed);
  static const guint radixes[] = { 2, 2, 3, 4, 32 };
  guint n_steps;

  add_daemon (world, radixes[chance (world, G_N_ELEMENTS (radixes))]);
  for (guint i = chance (world, 24); i > 0; i--)
    add_daemon (world, 2);
  n_steps = 5 + chance (world, 40);
  for (guint i = 0; i < n_steps; i++)
    {
      step (world);
      if (chance (world, 3) > 0)
        sim_net_run (world->net, chance (world, 4) == 0 ? 50000 : chance (world, 2000));
    }
  for (guint i = 0; !is_quiet (world); i++)
    {
      sim_net_run (world->net, 100 * G_TIME_SPAN_MILLISECOND);
      if (i == 3000)
        {
          explain (world);
          check (world, !"quiet after five minutes");
        }
    }
  check_end (world);
  world_free (world);
}

static void
test_histories (void)
{
  sim_seeds_run (run_history);
}

int
main (int argc, char **argv)
{
  sim_seeds_init (&argc, &argv);
  g_test_add_func ("/tree/D1-D12-E64-E65-E69-histories", test_histories);
  return g_test_run ();
}
