/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "sim-net.h"

/* Timers fire between two events that are further apart than this. */
#define QUANTUM (5 * G_TIME_SPAN_MILLISECOND)
/* The time between two attempts to connect to an end that does not answer. */
#define KNOCK_DELAY (500 * G_TIME_SPAN_MILLISECOND)

typedef enum
{
  LINK_UP,
  LINK_DOWN,
  CONNECT,
  CONNECT_FAILED,
  PACKET,
  ACTION,
} What;

typedef struct
{
  gint64 time;
  guint64 number; /* those of one time keep their order */
  What what;
  guint64 link; /* 0: any */
  guint32 from;
  guint32 to;
  DvmdPacket *packet;
  gpointer data;
} Event;

/* The one link of a pair of daemons; a new one takes the place of the old. */
typedef struct
{
  guint64 id;
  guint32 ends[2];  /* the smaller rank first */
  gboolean open[2]; /* that end has been told of it, and has not closed it */
  gboolean cut;     /* nothing gets through any more */
  gboolean parted;  /* nor that one end has closed it */
  gint64 last[2];   /* when the last packet to that end arrives */
  gint64 bulk[2];   /* the last that lets others pass */
} Link;

struct _SimNet
{
  GRand *rand;
  DvmdClock *clock;
  gint64 max_delay;
  const SimNetFuncs *funcs;
  gpointer world;
  GSequence *events;
  guint64 next_number;
  guint64 next_link;
  GHashTable *alive;
  GHashTable *links;      /* key of the pair -> Link */
  GHashTable *neighbours; /* rank -> set of the ranks that it has had a link to */
  GHashTable *parts;      /* set of keys */
  guint64 n_packets;
};

static void
event_free (gpointer data)
{
  Event *self = data;

  g_clear_pointer (&self->packet, dvmd_packet_unref);
  g_free (self);
}

SimNet *
sim_net_new (GRand *rand, DvmdClock *clock, gint64 max_delay, const SimNetFuncs *funcs, gpointer world)
{
  SimNet *self = g_new0 (SimNet, 1);

  self->rand = rand;
  self->clock = clock;
  self->max_delay = max_delay;
  self->funcs = funcs;
  self->world = world;
  self->events = g_sequence_new (event_free);
  self->alive = g_hash_table_new (NULL, NULL);
  self->links = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  self->neighbours = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_hash_table_unref);
  self->parts = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  return self;
}

void
sim_net_free (SimNet *self)
{
  g_sequence_free (self->events);
  g_hash_table_unref (self->alive);
  g_hash_table_unref (self->links);
  g_hash_table_unref (self->neighbours);
  g_hash_table_unref (self->parts);
  g_free (self);
}

static int
compare_events (gconstpointer a, gconstpointer b, gpointer user_data)
{
  const Event *one = a;
  const Event *other = b;

  if (one->time != other->time)
    return one->time < other->time ? -1 : 1;
  return one->number < other->number ? -1 : one->number > other->number;
}

static Event *
add_event (SimNet *self, gint64 time, What what, guint32 from, guint32 to)
{
  Event *event = g_new0 (Event, 1);

  event->time = time;
  event->number = self->next_number++;
  event->what = what;
  event->from = from;
  event->to = to;
  g_sequence_insert_sorted (self->events, event, compare_events, NULL);
  return event;
}

static gint64
soon (SimNet *self)
{
  return dvmd_clock_monotonic (self->clock) + g_rand_int_range (self->rand, 1, self->max_delay);
}

/* A function evaluates its arguments once: MAX would draw a time twice. */
static gint64
later_of (gint64 one, gint64 other)
{
  return MAX (one, other);
}

static gint64
make_key (guint32 one, guint32 other)
{
  return (gint64)((guint64)MIN (one, other) << 32 | MAX (one, other));
}

static Link *
find_link (SimNet *self, guint32 one, guint32 other)
{
  gint64 key = make_key (one, other);

  return g_hash_table_lookup (self->links, &key);
}

static guint
end_of (Link *link, guint32 rank)
{
  return link->ends[1] == rank;
}

void
sim_net_add (SimNet *self, guint32 rank)
{
  g_hash_table_add (self->alive, GUINT_TO_POINTER (rank));
}

gboolean
sim_net_is_alive (SimNet *self, guint32 rank)
{
  return g_hash_table_contains (self->alive, GUINT_TO_POINTER (rank));
}

/* Packets that are still on their way to the other end arrive there first. */
static void
tell_down (SimNet *self, Link *link, guint32 rank)
{
  guint32 other = link->ends[!end_of (link, rank)];
  guint end = end_of (link, rank);
  gint64 time = later_of (soon (self), later_of (link->last[end], link->bulk[end]) + 1);

  if (link->open[end] && !link->parted)
    add_event (self, time, LINK_DOWN, other, rank)->link = link->id;
}

void
sim_net_disconnect (SimNet *self, guint32 from, guint32 to)
{
  Link *link = find_link (self, from, to);

  if (link == NULL)
    return;
  link->open[end_of (link, from)] = FALSE;
  tell_down (self, link, to);
}

void
sim_net_remove (SimNet *self, guint32 rank)
{
  GHashTable *others = g_hash_table_lookup (self->neighbours, GUINT_TO_POINTER (rank));
  GHashTableIter iter;
  gpointer other;

  g_hash_table_remove (self->alive, GUINT_TO_POINTER (rank));
  if (others == NULL)
    return;
  g_hash_table_iter_init (&iter, others);
  while (g_hash_table_iter_next (&iter, &other, NULL))
    sim_net_disconnect (self, rank, GPOINTER_TO_UINT (other));
}

gboolean
sim_net_cut (SimNet *self, guint32 one, guint32 other)
{
  Link *link = find_link (self, one, other);

  if (link == NULL || !link->open[0] || !link->open[1])
    return FALSE;
  /* Packets that are under way do not belong to the link under its new id. */
  link->id = ++self->next_link;
  link->cut = TRUE;
  tell_down (self, link, one);
  tell_down (self, link, other);
  return TRUE;
}

void
sim_net_part (SimNet *self, guint32 one, guint32 other)
{
  gint64 key = make_key (one, other);
  Link *link = find_link (self, one, other);

  if (!g_hash_table_add (self->parts, g_memdup2 (&key, sizeof key)) || link == NULL || link->cut)
    return;
  link->id = ++self->next_link;
  link->cut = link->parted = TRUE;
  for (guint end = 0; end < 2; end++)
    if (link->open[end])
      add_event (self,
                 dvmd_clock_monotonic (self->clock) + SIM_NET_SILENCE
                     + g_rand_int_range (self->rand, 0, SIM_NET_SILENCE / 4),
                 LINK_DOWN, link->ends[!end], link->ends[end])
          ->link = link->id;
}

void
sim_net_mend (SimNet *self, guint32 one, guint32 other)
{
  gint64 key = make_key (one, other);

  g_hash_table_remove (self->parts, &key);
}

void
sim_net_connect (SimNet *self, guint32 from, guint32 to)
{
  add_event (self, soon (self), CONNECT, from, to);
}

static void
add_neighbour (SimNet *self, guint32 rank, guint32 other)
{
  GHashTable *others = g_hash_table_lookup (self->neighbours, GUINT_TO_POINTER (rank));

  if (others == NULL)
    {
      others = g_hash_table_new (NULL, NULL);
      g_hash_table_insert (self->neighbours, GUINT_TO_POINTER (rank), others);
    }
  g_hash_table_add (others, GUINT_TO_POINTER (other));
}

static void
make_link (SimNet *self, guint32 from, guint32 to)
{
  gint64 key = make_key (from, to);
  Link *link = g_new0 (Link, 1);
  gint64 now = dvmd_clock_monotonic (self->clock);

  link->id = ++self->next_link;
  link->ends[0] = MIN (from, to);
  link->ends[1] = MAX (from, to);
  link->open[0] = link->open[1] = TRUE;
  g_hash_table_insert (self->links, g_memdup2 (&key, sizeof key), link);
  add_neighbour (self, from, to);
  add_neighbour (self, to, from);
  link->last[end_of (link, from)] = soon (self);
  link->last[end_of (link, to)] = now;
  link->bulk[end_of (link, to)] = now;
  link->bulk[end_of (link, from)] = link->last[end_of (link, from)];
  add_event (self, now, LINK_UP, from, to)->link = link->id;
  add_event (self, link->last[end_of (link, from)], LINK_UP, to, from)->link = link->id;
}

void
sim_net_send (SimNet *self, guint32 from, guint32 to, DvmdPacket *packet)
{
  Link *link = find_link (self, from, to);
  Event *event;
  gint64 *last;
  guint end;

  if (link == NULL || link->cut || !link->open[end_of (link, from)])
    return;
  end = end_of (link, to);
  last = packet->flags & DVMD_PACKET_BULK ? &link->bulk[end] : &link->last[end];
  /* Bulk packets do not overtake others either. */
  *last = later_of (soon (self), later_of (*last, link->last[end]) + 1);
  event = add_event (self, *last, PACKET, from, to);
  event->link = link->id;
  event->packet = dvmd_packet_copy (packet);
  self->n_packets++;
}

void
sim_net_add_action (SimNet *self, gint64 delay, gpointer data)
{
  add_event (self, dvmd_clock_monotonic (self->clock) + delay, ACTION, 0, 0)->data = data;
}

static void
handle_connect (SimNet *self, Event *event)
{
  gint64 key = make_key (event->from, event->to);
  guint knocks = GPOINTER_TO_UINT (event->data);
  gint64 now = dvmd_clock_monotonic (self->clock);

  if (!sim_net_is_alive (self, event->from))
    return;
  if (g_hash_table_contains (self->parts, &key) && knocks >= SIM_NET_CONNECT / KNOCK_DELAY)
    add_event (self, now, CONNECT_FAILED, event->to, event->from);
  else if (g_hash_table_contains (self->parts, &key))
    add_event (self, now + KNOCK_DELAY, CONNECT, event->from, event->to)->data = GUINT_TO_POINTER (knocks + 1);
  else if (sim_net_is_alive (self, event->to))
    make_link (self, event->from, event->to);
  else
    add_event (self, soon (self), CONNECT_FAILED, event->to, event->from);
}

static void
handle (SimNet *self, Event *event)
{
  Link *link = event->link != 0 ? find_link (self, event->from, event->to) : NULL;

  if (g_getenv ("DVM_SIM_TRACE") != NULL)
    g_printerr ("%d %s %u -> %u type %d seq %d ack %d epoch %d\n", (int)dvmd_clock_monotonic (self->clock),
                (const char *[]){ "up", "down", "connect", "failed", "packet", "action" }[event->what], event->from,
                event->to, event->packet ? event->packet->type : 0, event->packet ? (int)event->packet->sequence : 0,
                event->packet ? (int)event->packet->ack : 0, event->packet ? (int)event->packet->epoch : 0);
  if (event->what == ACTION)
    self->funcs->act (self->world, event->data);
  else if (event->what == CONNECT)
    handle_connect (self, event);
  else if (!sim_net_is_alive (self, event->to))
    return;
  else if (event->what == CONNECT_FAILED)
    self->funcs->connect_failed (self->world, event->to, event->from);
  else if (link == NULL || link->id != event->link || !link->open[end_of (link, event->to)])
    return;
  else if (event->what == LINK_UP)
    self->funcs->link_up (self->world, event->to, event->from);
  else if (event->what == PACKET)
    self->funcs->receive (self->world, event->to, event->from, event->packet);
  else
    {
      link->open[end_of (link, event->to)] = FALSE;
      self->funcs->link_down (self->world, event->to, event->from);
    }
}

gboolean
sim_net_run (SimNet *self, gint64 time)
{
  gint64 end = dvmd_clock_monotonic (self->clock) + time;
  gboolean any = FALSE;

  for (;;)
    {
      GSequenceIter *first = g_sequence_get_begin_iter (self->events);
      gint64 now = dvmd_clock_monotonic (self->clock);
      Event *event = g_sequence_iter_is_end (first) ? NULL : g_sequence_get (first);

      if (event != NULL && event->time <= now)
        {
          g_autofree Event *taken = g_memdup2 (event, sizeof *event);

          event->packet = NULL;
          g_sequence_remove (first);
          handle (self, taken);
          g_clear_pointer (&taken->packet, dvmd_packet_unref);
          any = TRUE;
        }
      else if (now >= end)
        return any;
      else
        dvmd_clock_advance (self->clock, MIN (MIN (QUANTUM, end - now), event != NULL ? event->time - now : QUANTUM));
    }
}

guint64
sim_net_get_n_packets (SimNet *self)
{
  return self->n_packets;
}
