/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The router joins the tree, which decides where a packet goes, with the connections that bring it there.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-router"

#include "dvmd-router.h"

#include "dvmd-connector.h"
#include "dvmd-transport-error.h"
#include "dvmd-tree-link.h"

/* Bulk that waits here for one neighbour, beyond what its wire takes. What is more is dropped: its sender has kept it,
 * and sends it again. */
#define WAITING_LIMIT ((gsize)32 * 1024 * 1024)
/* A body of this size is bulk, whatever it says. */
#define LARGE_BODY ((gsize)64 * 1024)
/* How long a neighbour may take to answer when a link is made. */
#define CONNECT_LIMIT (5 * G_TIME_SPAN_SECOND)
/* How long a daemon without an uplink climbs by itself. */
#define MAX_TIMEOUT (500 * G_TIME_SPAN_MILLISECOND)

typedef struct
{
  DvmdRouter *router; /* unowned */
  guint32 rank;
  DvmdWire *wire;
  GQueue waiting; /* DvmdPacket: bulk that the wire does not take yet */
  gsize waiting_bytes;
} Neighbour;

typedef struct
{
  DvmdRouter *router; /* reffed */
  guint32 rank;
} Attempt;

struct _DvmdRouter
{
  GObject parent_instance;

  guint32 rank;
  char *name;
  DvmdClock *clock;
  GMainContext *context;
  DvmdIdentity *identity;
  gint64 heartbeat_timeout;
  const DvmdRouterFuncs *funcs;
  gpointer user_data;
  DvmdTree *tree;
  DvmdListener *listener;
  GHashTable *neighbours; /* rank -> Neighbour */
  GHashTable *links;      /* rank -> DvmdTreeLink */
  GHashTable *addresses;  /* rank -> GStrv */
  GHashTable *gone;       /* set of ranks that are no members any more, and do not leave by order */
  gboolean leaving;       /* this one does */
  GHashTable *reasons;    /* rank -> why its link has ended */
  GHashTable *silent;     /* set of ranks that were not heard for too long: not to be asked again at once */
  GQueue unknown;         /* ranks that are not connected to at all: told from the main loop */
  guint unknown_timer;
  GCancellable *connecting;
  DvmdRouterStatistics statistics;
};

G_DEFINE_FINAL_TYPE (DvmdRouter, dvmd_router, G_TYPE_OBJECT)

/* ---- wires ---- */

const GVariantType *
dvmd_router_find_body_type (DvmdPacketType type, guint16 kind)
{
  const GVariantType *own = dvmd_tree_body_type (type, kind);

  if (own != NULL || (type != DVMD_PACKET_MESSAGE && type != DVMD_PACKET_BROADCAST))
    return own;
  return dvmd_message_kind_type ((DvmdMessageKind)kind);
}

void
dvmd_router_get_wire_options (DvmdRouter *self, DvmdWireOptions *options)
{
  *options = (DvmdWireOptions){ 0 };
  options->clock = self->clock;
  options->body_type = dvmd_router_find_body_type;
  options->heartbeat_timeout = self->heartbeat_timeout;
}

static void
neighbour_free (gpointer data)
{
  Neighbour *self = data;

  g_signal_handlers_disconnect_by_data (self->wire, self);
  g_object_unref (self->wire);
  g_queue_clear_full (&self->waiting, (GDestroyNotify)dvmd_packet_unref);
  g_free (self);
}

/* A daemon that leaves waits for its connections to end, and looks again at each change. */
static void
tell_moved (DvmdRouter *self)
{
  if (self->leaving && self->tree != NULL && self->funcs->moved != NULL)
    self->funcs->moved (self->user_data);
}

static gsize
get_weight (DvmdPacket *packet)
{
  return DVMD_FRAME_HEADER_SIZE + (packet->body != NULL ? g_variant_get_size (packet->body) : 0);
}

/* FALSE: there is no room for bulk now. */
static gboolean
try_send (Neighbour *neighbour, DvmdPacket *packet)
{
  gboolean bulk = (packet->flags & DVMD_PACKET_BULK) != 0;
  g_autoptr (GError) error = NULL;

  if (dvmd_wire_send (neighbour->wire, packet, bulk ? DVMD_WIRE_BULK : DVMD_WIRE_CONTROL, &error))
    return TRUE;
  if (bulk && g_error_matches (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_RESOURCE))
    return FALSE;
  g_debug ("A packet to daemon %u is not sent: %s", neighbour->rank, error->message);
  return TRUE;
}

static void
tree_send (gpointer user_data, guint32 rank, DvmdPacket *packet)
{
  DvmdRouter *self = user_data;
  Neighbour *neighbour = g_hash_table_lookup (self->neighbours, GUINT_TO_POINTER (rank));
  gboolean bulk = (packet->flags & DVMD_PACKET_BULK) != 0;

  if (neighbour == NULL || ((!bulk || neighbour->waiting.length == 0) && try_send (neighbour, packet)))
    return;
  if (neighbour->waiting_bytes + get_weight (packet) > WAITING_LIMIT)
    {
      g_debug ("Daemon %u does not take what is sent to it: a packet is dropped", rank);
      return;
    }
  neighbour->waiting_bytes += get_weight (packet);
  g_queue_push_tail (&neighbour->waiting, dvmd_packet_ref (packet));
}

static void
on_drained (DvmdWire *wire, gpointer user_data)
{
  Neighbour *neighbour = user_data;

  while (neighbour->waiting.length > 0 && try_send (neighbour, g_queue_peek_head (&neighbour->waiting)))
    {
      g_autoptr (DvmdPacket) packet = g_queue_pop_head (&neighbour->waiting);

      neighbour->waiting_bytes -= get_weight (packet);
    }
}

static void
on_packet (DvmdWire *wire, DvmdPacket *packet, gpointer user_data)
{
  Neighbour *neighbour = user_data;
  g_autoptr (DvmdRouter) self = g_object_ref (neighbour->router);

  if (self->tree != NULL)
    dvmd_tree_receive (self->tree, neighbour->rank, packet);
  tell_moved (self);
}

static void
on_closed (DvmdWire *wire, const GError *error, gpointer user_data)
{
  Neighbour *neighbour = user_data;
  g_autoptr (DvmdRouter) self = g_object_ref (neighbour->router);
  guint32 rank = neighbour->rank;

  g_debug ("The link to daemon %u has ended: %s", rank, error != NULL ? error->message : "closed here");
  g_hash_table_insert (self->reasons, GUINT_TO_POINTER (rank),
                       g_strdup (error != NULL ? error->message : "its link was closed"));
  if (g_error_matches (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_TIMEOUT))
    g_hash_table_add (self->silent, GUINT_TO_POINTER (rank));
  self->statistics.links_lost++;
  g_hash_table_remove (self->neighbours, GUINT_TO_POINTER (rank));
  if (self->tree != NULL)
    dvmd_tree_link_down (self->tree, rank);
  tell_moved (self);
}

static void
close_wire (DvmdRouter *self, guint32 rank)
{
  Neighbour *neighbour = g_hash_table_lookup (self->neighbours, GUINT_TO_POINTER (rank));

  if (neighbour == NULL)
    return;
  dvmd_wire_close (neighbour->wire);
  g_hash_table_remove (self->neighbours, GUINT_TO_POINTER (rank));
}

void
dvmd_router_take_wire (DvmdRouter *self, DvmdWire *wire)
{
  Neighbour *neighbour = g_new0 (Neighbour, 1);

  neighbour->router = self;
  neighbour->rank = dvmd_wire_get_rank (wire);
  neighbour->wire = g_object_ref (wire);
  g_queue_init (&neighbour->waiting);
  g_signal_connect (wire, "packet", G_CALLBACK (on_packet), neighbour);
  g_signal_connect (wire, "drained", G_CALLBACK (on_drained), neighbour);
  g_signal_connect (wire, "closed", G_CALLBACK (on_closed), neighbour);
  close_wire (self, neighbour->rank);
  g_hash_table_insert (self->neighbours, GUINT_TO_POINTER (neighbour->rank), neighbour);
  g_hash_table_remove (self->reasons, GUINT_TO_POINTER (neighbour->rank));
  self->statistics.links_opened++;
  dvmd_wire_start (wire);
  dvmd_tree_link_up (self->tree, neighbour->rank);
  tell_moved (self);
}

/* ---- making links ---- */

static void tree_expelled (gpointer user_data);

static void
on_connected (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Attempt *attempt = user_data;
  g_autoptr (DvmdRouter) self = attempt->router;
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdWire) wire = dvmd_connect_finish (result, &error);
  guint32 rank = attempt->rank;

  g_free (attempt);
  if (self->tree == NULL)
    return;
  if (wire != NULL)
    {
      dvmd_router_take_wire (self, wire);
      return;
    }
  g_debug ("No link to daemon %u: %s", rank, error->message);
  g_hash_table_insert (self->reasons, GUINT_TO_POINTER (rank), g_strdup (error->message));
  /* The controller would let in any member: its refusal says that this daemon is none any more. */
  if (rank == 0 && g_error_matches (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_REFUSED))
    {
      tree_expelled (self);
      return;
    }
  dvmd_tree_connect_failed (self->tree, rank);
}

static void
on_unknown (gpointer user_data)
{
  g_autoptr (DvmdRouter) self = g_object_ref (user_data);

  self->unknown_timer = 0;
  while (self->tree != NULL && self->unknown.length > 0)
    dvmd_tree_connect_failed (self->tree, GPOINTER_TO_UINT (g_queue_pop_head (&self->unknown)));
}

static void
tree_connect (gpointer user_data, guint32 rank)
{
  DvmdRouter *self = user_data;
  char **addresses = g_hash_table_lookup (self->addresses, GUINT_TO_POINTER (rank));
  DvmdConnectOptions options = { 0 };
  Attempt *attempt;

  /* A daemon that is stopped accepts connections and says nothing: the daemon above it is tried first. */
  if (addresses == NULL || g_hash_table_remove (self->silent, GUINT_TO_POINTER (rank)))
    {
      g_queue_push_tail (&self->unknown, GUINT_TO_POINTER (rank));
      if (self->unknown_timer == 0)
        self->unknown_timer = dvmd_clock_add_timer (self->clock, 0, on_unknown, self);
      return;
    }
  options.identity = self->identity;
  options.rank = self->rank;
  options.peer_rank = rank;
  options.name = self->name;
  options.timeout = self->heartbeat_timeout > 0 ? MIN (CONNECT_LIMIT, self->heartbeat_timeout) : CONNECT_LIMIT;
  dvmd_router_get_wire_options (self, &options.wire);
  attempt = g_new0 (Attempt, 1);
  attempt->router = g_object_ref (self);
  attempt->rank = rank;
  dvmd_connect_async ((const char *const *)addresses, &options, self->connecting, on_connected, attempt);
}

static void
tree_disconnect (gpointer user_data, guint32 rank)
{
  close_wire (user_data, rank);
}

static void
on_joined (DvmdListener *listener, DvmdWire *wire, guint rank, const char *name, guint kind, gpointer user_data)
{
  DvmdRouter *self = user_data;

  dvmd_router_take_wire (self, wire);
  if (kind == DVMD_PEER_JOINER && self->funcs->joined != NULL)
    self->funcs->joined (self->user_data, rank, name);
}

void
dvmd_router_set_listener (DvmdRouter *self, DvmdListener *listener)
{
  self->listener = g_object_ref (listener);
  g_signal_connect_object (listener, "joined", G_CALLBACK (on_joined), self, 0);
}

gboolean
dvmd_router_knows (guint32 rank, gpointer router)
{
  DvmdRouter *self = router;

  return !g_hash_table_contains (self->gone, GUINT_TO_POINTER (rank))
         && (self->tree == NULL || !dvmd_tree_has_departed (self->tree, rank));
}

/* ---- messages ---- */

static void
link_send (gpointer user_data, guint32 peer, DvmdMessage *message)
{
  DvmdRouter *self = user_data;
  gboolean bulk = dvmd_message_kind_is_bulk (message->kind) || g_variant_get_size (message->body) >= LARGE_BODY;

  if (self->tree != NULL)
    dvmd_tree_post (self->tree, peer, (guint16)message->kind, message->body, bulk);
}

DvmdLink *
dvmd_router_get_link (DvmdRouter *self, guint32 rank)
{
  DvmdLink *link = g_hash_table_lookup (self->links, GUINT_TO_POINTER (rank));

  g_return_val_if_fail (rank != self->rank, NULL);

  if (link == NULL)
    {
      link = dvmd_tree_link_new (rank, link_send, self);
      g_hash_table_insert (self->links, GUINT_TO_POINTER (rank), link);
    }
  return link;
}

/* Where the members listen is the business of the router. */
static void
learn_addresses (DvmdRouter *self, DvmdMessageKind kind, GVariant *body)
{
  g_autoptr (GVariantIter) rows = NULL;
  const char *addresses;
  guint32 rank;

  if (kind == DVMD_MSG_ADDRESSES)
    {
      g_variant_get (body, "(a(us))", &rows);
      while (g_variant_iter_next (rows, "(u&s)", &rank, &addresses))
        dvmd_router_set_addresses (self, rank, addresses);
    }
  else if (kind == DVMD_MSG_MEMBERSHIP)
    {
      g_variant_get (body, "(ta(uss))", NULL, &rows);
      while (g_variant_iter_next (rows, "(u&s&s)", &rank, NULL, &addresses))
        dvmd_router_set_addresses (self, rank, addresses);
    }
}

static void
pass_to_link (DvmdRouter *self, guint32 source, guint16 kind, GVariant *body)
{
  const GVariantType *type = dvmd_message_kind_type ((DvmdMessageKind)kind);
  g_autoptr (GVariant) unit = NULL;
  g_autoptr (DvmdMessage) message = NULL;
  g_autoptr (DvmdLink) link = NULL;

  if (body == NULL)
    body = unit = g_variant_ref_sink (g_variant_new ("()"));
  if (type == NULL || !g_variant_is_of_type (body, type))
    {
      g_message ("Daemon %u sent a message of kind %u that makes no sense", source, kind);
      return;
    }
  if (source == 0)
    learn_addresses (self, (DvmdMessageKind)kind, body);
  if (kind == DVMD_MSG_ADDRESSES)
    return;
  link = g_object_ref (dvmd_router_get_link (self, source));
  message = dvmd_message_new ((DvmdMessageKind)kind, source, self->rank, body);
  dvmd_link_received (link, message);
}

static void
tree_deliver (gpointer user_data, guint32 source, guint16 kind, GVariant *body)
{
  pass_to_link (user_data, source, kind, body);
}

static void
tree_deliver_broadcast (gpointer user_data, guint64 number, guint16 kind, GVariant *body)
{
  DvmdRouter *self = user_data;

  /* The controller has said it, and knows. */
  if (self->rank != 0)
    pass_to_link (self, 0, kind, body);
}

guint64
dvmd_router_broadcast (DvmdRouter *self, DvmdMessageKind kind, GVariant *body)
{
  g_autoptr (GVariant) sunk = g_variant_ref_sink (body);

  g_return_val_if_fail (g_variant_is_of_type (sunk, dvmd_message_kind_type (kind)), 0);

  self->statistics.broadcasts++;
  self->statistics.broadcast_bytes += g_variant_get_size (sunk);
  return dvmd_tree_broadcast (self->tree, (guint16)kind, sunk);
}

/* ---- members ---- */

void
dvmd_router_set_addresses (DvmdRouter *self, guint32 rank, const char *addresses)
{
  if (addresses[0] != '\0')
    g_hash_table_insert (self->addresses, GUINT_TO_POINTER (rank), g_strsplit (addresses, " ", -1));
}

const char *const *
dvmd_router_get_addresses (DvmdRouter *self, guint32 rank)
{
  return g_hash_table_lookup (self->addresses, GUINT_TO_POINTER (rank));
}

/* A joiner knows where the controller is, and has to find its parent. */
static void
send_addresses (DvmdRouter *self, DvmdRoutes *routes, guint32 rank)
{
  GVariantBuilder rows;
  gboolean any = FALSE;

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(us)"));
  for (guint32 above = dvmd_routes_get_parent (routes, rank); above != 0 && above != DVMD_NO_RANK;
       above = dvmd_routes_get_parent (routes, above))
    {
      char **addresses = g_hash_table_lookup (self->addresses, GUINT_TO_POINTER (above));
      g_autofree char *text = addresses != NULL ? g_strjoinv (" ", addresses) : g_strdup ("");

      g_variant_builder_add (&rows, "(us)", above, text);
      any = TRUE;
    }
  if (any)
    dvmd_tree_post (self->tree, rank, DVMD_MSG_ADDRESSES, g_variant_new ("(a(us))", &rows), FALSE);
  else
    g_variant_builder_clear (&rows);
}

guint64
dvmd_router_add (DvmdRouter *self, const guint32 *ranks, guint n)
{
  g_autoptr (DvmdRoutes) next = dvmd_routes_change (dvmd_tree_get_routes (self->tree), ranks, n, NULL, 0);

  for (guint i = 0; i < n; i++)
    send_addresses (self, next, ranks[i]);
  return dvmd_tree_change (self->tree, ranks, n, NULL, 0, DVMD_LEFT_LOST);
}

void
dvmd_router_drop (DvmdRouter *self, guint32 rank)
{
  DvmdTreeLink *link = g_hash_table_lookup (self->links, GUINT_TO_POINTER (rank));

  g_hash_table_add (self->gone, GUINT_TO_POINTER (rank));
  close_wire (self, rank);
  if (link != NULL)
    dvmd_tree_link_cut (link);
  g_hash_table_remove (self->links, GUINT_TO_POINTER (rank));
  g_hash_table_remove (self->addresses, GUINT_TO_POINTER (rank));
  g_hash_table_remove (self->reasons, GUINT_TO_POINTER (rank));
  g_hash_table_remove (self->silent, GUINT_TO_POINTER (rank));
}

void
dvmd_router_remove (DvmdRouter *self, const guint32 *ranks, guint n)
{
  dvmd_tree_change (self->tree, NULL, 0, ranks, n, DVMD_LEFT_LOST);
  for (guint i = 0; i < n; i++)
    dvmd_router_drop (self, ranks[i]);
}

guint
dvmd_router_order (DvmdRouter *self, const guint32 *ranks, guint n, guint32 *parents)
{
  g_autoptr (DvmdRoutes) before = dvmd_routes_ref (dvmd_tree_get_routes (self->tree));

  for (guint i = 0; i < n; i++)
    parents[i] = dvmd_routes_get_parent (before, ranks[i]);
  dvmd_tree_change (self->tree, NULL, 0, ranks, n, DVMD_LEFT_ORDERED);
  return dvmd_routes_count_new_links (before, dvmd_tree_get_routes (self->tree));
}

void
dvmd_router_forget (DvmdRouter *self, const guint32 *ranks, guint n)
{
  dvmd_tree_forget (self->tree, ranks, n);
}

void
dvmd_router_acknowledge (DvmdRouter *self, guint32 rank)
{
  if (self->tree != NULL)
    dvmd_tree_acknowledge (self->tree, rank);
}

static gboolean
is_over (gpointer rank, gpointer what, gpointer router)
{
  DvmdRouter *self = router;

  return !dvmd_routes_contains (dvmd_tree_get_routes (self->tree), GPOINTER_TO_UINT (rank))
         && !dvmd_tree_is_leaving (self->tree, GPOINTER_TO_UINT (rank));
}

/*
 * The addresses of daemons that have left are not needed any more. The controller drops them itself, and knows joiners
 * before they are members.
 */
static void
forget_departed (DvmdRouter *self)
{
  if (self->rank == 0)
    return;
  g_hash_table_foreach_remove (self->addresses, is_over, self);
  g_hash_table_foreach_remove (self->reasons, is_over, self);
  g_hash_table_foreach_remove (self->silent, is_over, self);
}

static void
tree_routes_changed (gpointer user_data, DvmdRoutes *old_routes, DvmdRoutes *routes)
{
  DvmdRouter *self = user_data;
  guint n = dvmd_routes_get_n_members (old_routes);

  for (guint place = 0; place < n; place++)
    {
      guint32 rank = dvmd_routes_get_rank (old_routes, place);

      if (!dvmd_routes_contains (routes, rank) && !dvmd_tree_is_leaving (self->tree, rank))
        g_hash_table_add (self->gone, GUINT_TO_POINTER (rank));
    }
  forget_departed (self);
  if (self->funcs->routes_changed != NULL)
    self->funcs->routes_changed (self->user_data, routes);
}

static void
tree_completed (gpointer user_data, guint64 number)
{
  DvmdRouter *self = user_data;

  g_debug ("All members have broadcast %" G_GUINT64_FORMAT, number);
  if (self->funcs->completed != NULL)
    self->funcs->completed (self->user_data, number);
}

static void
tree_lost (gpointer user_data, guint32 rank, guint32 reporter)
{
  DvmdRouter *self = user_data;
  const char *known = g_hash_table_lookup (self->reasons, GUINT_TO_POINTER (rank));
  g_autofree char *reason = NULL;

  if (reporter == 0 && known != NULL)
    reason = g_strdup (known);
  else
    reason = g_strdup_printf ("agent %u has no link to it any more", reporter);
  if (self->funcs->lost != NULL)
    self->funcs->lost (self->user_data, rank, reporter, reason);
}

static void
tree_cut_off (gpointer user_data, gint64 since)
{
  DvmdRouter *self = user_data;

  g_debug ("The way to the controller is lost");
  if (self->funcs->cut_off != NULL)
    self->funcs->cut_off (self->user_data, since);
}

static void
tree_way_found (gpointer user_data)
{
  DvmdRouter *self = user_data;

  g_debug ("There is a way to the controller again");
  if (self->funcs->way_found != NULL)
    self->funcs->way_found (self->user_data);
}

static void
tree_expelled (gpointer user_data)
{
  DvmdRouter *self = user_data;

  if (self->funcs->expelled != NULL)
    self->funcs->expelled (self->user_data);
}

static GVariant *
tree_merge (gpointer user_data, const char *key, GPtrArray *parts)
{
  return dvmd_fence_merge (parts);
}

static void
tree_gathered (gpointer user_data, const char *key, GVariant *whole)
{
  DvmdRouter *self = user_data;

  if (self->funcs->gathered != NULL)
    self->funcs->gathered (self->user_data, key, whole);
}

void
dvmd_router_begin_leaving (DvmdRouter *self)
{
  if (self->leaving)
    return;
  self->leaving = TRUE;
  if (self->funcs->leave != NULL)
    self->funcs->leave (self->user_data);
}

void
dvmd_router_get_departure (DvmdRouter *self, DvmdRouterDeparture *departure)
{
  departure->n_below = dvmd_tree_get_n_children (self->tree);
  departure->uplink = dvmd_tree_get_uplink (self->tree);
  departure->n_unacknowledged = dvmd_tree_get_n_unacknowledged (self->tree, 0);
}

static void
tree_leave (gpointer user_data)
{
  dvmd_router_begin_leaving (user_data);
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

/* ---- fences ---- */

static void
fence_contribute (gpointer user_data, const char *key, const guint32 *agents, guint n_agents, GVariant *part)
{
  DvmdRouter *self = user_data;
  g_autoptr (GVariant) sunk = g_variant_ref_sink (part);

  if (self->tree != NULL)
    dvmd_tree_contribute (self->tree, key, agents, n_agents, sunk);
}

static void
fence_close (gpointer user_data, const char *key)
{
  DvmdRouter *self = user_data;

  if (self->tree != NULL)
    dvmd_tree_close_gather (self->tree, key);
}

static void
fence_close_all (gpointer user_data, const char *prefix)
{
  DvmdRouter *self = user_data;

  if (self->tree != NULL)
    dvmd_tree_close_gathers (self->tree, prefix);
}

static void
fence_broadcast (gpointer user_data, DvmdMessageKind kind, GVariant *body)
{
  DvmdRouter *self = user_data;
  g_autoptr (GVariant) sunk = g_variant_ref_sink (body);

  if (self->tree != NULL)
    dvmd_router_broadcast (self, kind, sunk);
}

/* A broadcast is worth it for much of the DVM, or when more have to be told than the controller has children. */
static gboolean
fence_suits (gpointer user_data, guint n_agents)
{
  DvmdRouter *self = user_data;
  DvmdRoutes *routes = self->tree != NULL ? dvmd_tree_get_routes (self->tree) : NULL;
  guint radix = routes != NULL ? dvmd_routes_get_radix (routes) : 0;

  return routes != NULL && (guint64)n_agents * (n_agents > radix ? radix : 2) >= dvmd_routes_get_n_members (routes) - 1;
}

const DvmdFenceTree *
dvmd_router_get_fence_tree (void)
{
  static const DvmdFenceTree tree = {
    .contribute = fence_contribute,
    .close = fence_close,
    .close_all = fence_close_all,
    .broadcast = fence_broadcast,
    .suits = fence_suits,
  };

  return &tree;
}

/* ---- the object ---- */

void
dvmd_router_get_statistics (DvmdRouter *self, DvmdRouterStatistics *statistics)
{
  *statistics = self->statistics;
}

DvmdRouter *
dvmd_router_new (const DvmdRouterOptions *options, const DvmdRouterFuncs *funcs, gpointer user_data,
                 GMainContext *context)
{
  DvmdRouter *self = g_object_new (DVMD_TYPE_ROUTER, NULL);

  self->rank = options->rank;
  self->name = g_strdup (options->name);
  self->clock = dvmd_clock_ref (options->clock);
  self->identity = dvmd_identity_ref (options->identity);
  self->heartbeat_timeout = options->heartbeat_timeout;
  self->funcs = funcs;
  self->user_data = user_data;
  self->context = context != NULL ? g_main_context_ref (context) : NULL;
  self->tree = dvmd_tree_new (self->rank, options->radix > 0 ? options->radix : DVMD_RADIX_DEFAULT, self->clock,
                              &tree_funcs, self);
  /* A link that stands still is found within 5/4 of its timeout, and another one is made. */
  dvmd_tree_set_attach_limit (self->tree, options->heartbeat_timeout * 3 / 2 + CONNECT_LIMIT);
  if (options->controller_grace > 0)
    dvmd_tree_set_timeout (self->tree, MIN (MAX_TIMEOUT, options->controller_grace / 10));
  return self;
}

void
dvmd_router_stop (DvmdRouter *self)
{
  GHashTableIter iter;
  gpointer link;

  if (self->tree == NULL)
    return;
  g_cancellable_cancel (self->connecting);
  if (self->listener != NULL)
    dvmd_listener_close (self->listener);
  g_clear_object (&self->listener);
  dvmd_clock_remove_timer (self->clock, self->unknown_timer);
  self->unknown_timer = 0;
  g_hash_table_iter_init (&iter, self->links);
  while (g_hash_table_iter_next (&iter, NULL, &link))
    dvmd_tree_link_cut (link);
  g_hash_table_remove_all (self->neighbours);
  g_clear_pointer (&self->tree, dvmd_tree_free);
}

static void
dvmd_router_dispose (GObject *object)
{
  DvmdRouter *self = DVMD_ROUTER (object);

  dvmd_router_stop (self);
  g_clear_object (&self->connecting);
  g_clear_pointer (&self->neighbours, g_hash_table_unref);
  g_clear_pointer (&self->links, g_hash_table_unref);
  g_clear_pointer (&self->addresses, g_hash_table_unref);
  g_clear_pointer (&self->gone, g_hash_table_unref);
  g_clear_pointer (&self->reasons, g_hash_table_unref);
  g_clear_pointer (&self->silent, g_hash_table_unref);
  g_queue_clear (&self->unknown);
  g_clear_pointer (&self->identity, dvmd_identity_unref);
  g_clear_pointer (&self->clock, dvmd_clock_unref);
  g_clear_pointer (&self->context, g_main_context_unref);
  G_OBJECT_CLASS (dvmd_router_parent_class)->dispose (object);
}

static void
dvmd_router_finalize (GObject *object)
{
  g_free (DVMD_ROUTER (object)->name);
  G_OBJECT_CLASS (dvmd_router_parent_class)->finalize (object);
}

static void
dvmd_router_class_init (DvmdRouterClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = dvmd_router_dispose;
  G_OBJECT_CLASS (klass)->finalize = dvmd_router_finalize;
}

static void
dvmd_router_init (DvmdRouter *self)
{
  self->neighbours = g_hash_table_new_full (NULL, NULL, NULL, neighbour_free);
  self->links = g_hash_table_new_full (NULL, NULL, NULL, g_object_unref);
  self->addresses = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_strfreev);
  self->gone = g_hash_table_new (NULL, NULL);
  self->reasons = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->silent = g_hash_table_new (NULL, NULL);
  g_queue_init (&self->unknown);
  self->connecting = g_cancellable_new ();
}
