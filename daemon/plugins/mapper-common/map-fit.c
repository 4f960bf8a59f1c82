/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The processes of one node on its objects: how many each object takes, and who comes where.
 */

#include "config.h"

#include "map-fit.h"

#include <string.h>

#include "map-words.h"

#define ANY G_MAXUINT32

/* ---- what the objects take ---- */

/* The limit of the binding counts processes of a cpu, or of a larger object. */
static guint32
limit_of_object (DvmdMapRoom *room, DvmdObjectKind kind, guint32 place, const DvmdMapRequest *request)
{
  guint32 n;

  if (request->bind_to > DVMD_BIND_TO_CORE
      || (request->bind_to == DVMD_BIND_TO_CORE && request->cpus == DVMD_CPUS_HWTHREAD))
    {
      n = dvmd_map_room_count_inside (room, kind, place, dvmd_map_words_kind_of (request->bind_to));
      /* An object that is larger than what is near a device is refused where the process is bound. */
      return request->bind_limit * MAX (n, kind == DVMD_OBJECT_DEVICE);
    }
  return request->bind_limit * dvmd_map_room_get_objects (room, kind, &n)[place].n_cpus / MAX (request->pe, 1);
}

static guint32
most_of_object (DvmdMapRoom *room, DvmdObjectKind kind, guint32 place, const DvmdMapRequest *request)
{
  guint32 most = ANY;

  if (request->bind_to <= DVMD_BIND_TO_NONE)
    return ANY;
  if ((request->bind_flags & DVMD_BIND_OVERLOAD) == 0)
    most = dvmd_map_room_count (room, kind, place, request->pe);
  else if (!dvmd_map_room_holds (room, kind, place, request->pe))
    return 0;
  if ((request->bind_flags & DVMD_BIND_LIMIT) != 0)
    most = MIN (most, limit_of_object (room, kind, place, request));
  return most;
}

/* A device is for one process, unless the job says that it is shared, or how many each has. */
static guint32
most_of_device (DvmdMapFit *self, const DvmdMapRequest *request)
{
  if (self->quota > 0 || dvmd_map_words_has_qualifier (request, "shared=true"))
    return ANY;
  return 1;
}

/* ---- what they take together ---- */

/* Whether the cpus near the device are near the other one, too. Devices that are near no cpu are no places. */
static gboolean
is_inside (const DvmdMapFit *self, guint32 place, guint32 other)
{
  const DvmdCpuset *cpus = dvmd_map_topology_get_cpus (self->topology, self->kind, self->objects[place].index);

  return place == other
         || dvmd_cpuset_is_within (cpus,
                                   dvmd_map_topology_get_cpus (self->topology, self->kind, self->objects[other].index));
}

/* How many more processes the device may have: its cpus are some of those near each device around it. */
static guint32
count_near (const DvmdMapFit *self, const guint32 *near, guint32 place)
{
  guint32 least = ANY;

  for (guint32 i = 0; i < self->n; i++)
    if (near[i] < least && is_inside (self, place, i))
      least = near[i];
  return least;
}

static void
use_near (const DvmdMapFit *self, guint32 *near, guint32 place, guint32 count)
{
  for (guint32 i = 0; i < self->n; i++)
    if (near[i] != ANY && is_inside (self, place, i))
      near[i] -= MIN (near[i], count);
}

/* How many rounds the devices that take more go together. */
static guint32
count_rounds (const DvmdMapFit *self, const guint32 *near, const guint32 *open)
{
  guint32 rounds = ANY;

  for (guint32 i = 0; i < self->n; i++)
    {
      guint32 n_inside = 0;

      if (open[i] > 0)
        rounds = MIN (rounds, open[i]);
      for (guint32 k = 0; near[i] != ANY && k < self->n; k++)
        n_inside += open[k] > 0 && is_inside (self, k, i);
      if (n_inside > 0)
        rounds = MIN (rounds, near[i] / n_inside);
    }
  return rounds;
}

/* As they are taken: one process on each in turn, or the whole quota. One that can have no more is left out then, or
 * ends the row: no device gets what another one would have without a binding that nobody has asked for. */
static void
share_devices (DvmdMapFit *self)
{
  g_autofree guint32 *near = g_memdup2 (self->near, self->n * sizeof (guint32));
  g_autofree guint32 *open = g_memdup2 (self->most, self->n * sizeof (guint32));
  guint32 least = MAX (self->quota, 1);
  gboolean more = self->n > 0;

  memset (self->shares, 0, self->n * sizeof (guint32));
  while (more)
    {
      guint32 step = self->quota > 0 ? self->quota : MAX (count_rounds (self, near, open), 1);

      more = FALSE;
      for (guint32 i = 0; i < self->n; i++)
        {
          guint32 count = MIN (open[i], MIN (step, count_near (self, near, i)));

          if (count < least && open[i] >= least && self->near[i] >= least && !self->skips)
            return;
          if (count < least)
            count = open[i] = 0;
          self->shares[i] = count == ANY ? ANY : self->shares[i] + count;
          use_near (self, near, i, count);
          if (self->quota > 0 || count == ANY)
            open[i] = 0;
          else if (open[i] != ANY)
            open[i] -= count;
          more = more || open[i] > 0;
        }
    }
}

static void
find_shares (DvmdMapFit *self)
{
  if (self->near != NULL)
    share_devices (self);
  for (guint32 i = 0; self->near == NULL && i < self->n; i++)
    self->shares[i] = self->quota == 0 ? self->most[i] : self->most[i] >= self->quota ? self->quota : 0;
  self->total = 0;
  for (guint32 i = 0; i < self->n; i++)
    self->total += self->shares[i];
}

/* ---- making ---- */

static void
pattern_free (gpointer data)
{
  DvmdMapPattern *self = data;

  g_free (self->of_object);
  g_array_unref (self->in_order);
  g_array_unref (self->by_object);
  g_free (self);
}

static DvmdMapFit *
make_fit (DvmdMapRoom *room, DvmdMapTopology *topology, DvmdObjectKind kind, guint32 quota)
{
  DvmdMapFit *self = g_new0 (DvmdMapFit, 1);

  self->room = room != NULL ? dvmd_map_room_ref (room) : NULL;
  self->topology = topology;
  self->kind = kind;
  self->quota = quota;
  if (room != NULL)
    self->objects = dvmd_map_room_get_objects (room, kind, &self->n);
  else if (kind == DVMD_OBJECT_NODE)
    self->n = 1;
  self->most = g_new0 (guint32, 4 * (gsize)self->n + 1);
  self->shares = self->most + self->n;
  if (kind == DVMD_OBJECT_DEVICE)
    {
      self->near = self->shares + self->n;
      self->used = self->near + self->n;
    }
  self->patterns = g_hash_table_new_full (NULL, NULL, NULL, pattern_free);
  return self;
}

DvmdMapFit *
dvmd_map_fit_new (DvmdMapRoom *room, DvmdMapTopology *topology, DvmdObjectKind kind, guint32 quota,
                  const DvmdMapRequest *request)
{
  DvmdMapFit *self = make_fit (room, topology, kind, quota);

  self->skips = !request->bind_is_default || dvmd_map_words_has_pe (request);
  for (guint32 i = 0; i < self->n; i++)
    {
      guint32 most = room != NULL ? most_of_object (room, kind, i, request) : ANY;

      self->most[i] = self->near != NULL ? most_of_device (self, request) : most;
      if (self->near != NULL)
        self->near[i] = most;
    }
  find_shares (self);
  self->whole = self->total;
  return self;
}

void
dvmd_map_fit_free (DvmdMapFit *self)
{
  g_clear_pointer (&self->room, dvmd_map_room_unref);
  g_hash_table_unref (self->patterns);
  g_free (self->most);
  g_free (self);
}

static guint32
used_of (const DvmdMapFit *self, guint32 place)
{
  return self->used != NULL ? self->used[place] : 0;
}

static gboolean
is_open (const DvmdMapFit *self, guint32 place, guint32 n_rounds)
{
  guint32 used = used_of (self, place);

  return used <= n_rounds && self->shares[place] > n_rounds - used;
}

guint32
dvmd_map_fit_count_open (DvmdMapFit *self, guint32 n_rounds)
{
  guint32 n = 0;

  for (guint32 i = 0; i < self->n; i++)
    n += is_open (self, i, n_rounds);
  return n;
}

guint32
dvmd_map_fit_get_level (DvmdMapFit *self)
{
  guint32 level = 0;

  for (guint32 i = 0; i < self->n; i++)
    level = MAX (level, used_of (self, i));
  return level;
}

/* ---- how many on each object ---- */

/* How many rounds pass before another object takes more, or one takes no more. */
static guint32
count_like_rounds (const DvmdMapFit *self, guint32 n_rounds)
{
  guint32 rounds = ANY;

  for (guint32 i = 0; i < self->n; i++)
    if (is_open (self, i, n_rounds) && self->shares[i] != ANY)
      rounds = MIN (rounds, self->shares[i] - (n_rounds - used_of (self, i)));
    else if (self->shares[i] > 0 && used_of (self, i) > n_rounds)
      rounds = MIN (rounds, used_of (self, i) - n_rounds);
  return rounds;
}

/* Whole rounds over those that take more, then one each for the first of them. */
static void
deal_evenly (DvmdMapFit *self, guint32 *of_object, guint32 n)
{
  guint32 n_rounds = 0;

  while (n > 0)
    {
      guint32 n_open = dvmd_map_fit_count_open (self, n_rounds);
      guint32 rounds = count_like_rounds (self, n_rounds);

      g_return_if_fail (n_open > 0 || rounds != ANY);

      if (n_open > 0)
        rounds = MIN (rounds, MAX (n / n_open, 1));
      for (guint32 i = 0; i < self->n && n > 0; i++)
        if (is_open (self, i, n_rounds))
          {
            of_object[i] += rounds;
            n -= rounds;
          }
      n_rounds += rounds;
    }
}

static void
fill_objects (DvmdMapFit *self, guint32 *of_object, guint32 n)
{
  for (guint32 i = 0; i < self->n && n > 0; i++)
    {
      of_object[i] = MIN (self->shares[i], n);
      n -= of_object[i];
    }
}

/* ---- segments ---- */

/* The next object has so many: a segment of equal ones goes on, or another begins. */
static void
append_object (GArray *segments, guint32 object, guint32 count)
{
  DvmdMapSegment *last = segments->len > 0 ? &g_array_index (segments, DvmdMapSegment, segments->len - 1) : NULL;
  DvmdMapSegment added = { .count = count, .per_object = count, .object = object };
  guint32 n = last != NULL ? last->count / last->per_object : 0;

  if (last != NULL)
    added.offset = last->offset + last->count;
  if (last != NULL && last->per_object == count && object > last->object
      && (n == 1 || last->object + n * last->object_stride == object))
    {
      if (n == 1)
        last->object_stride = object - last->object;
      last->count += count;
      return;
    }
  g_array_append_val (segments, added);
}

static guint32
index_of_object (DvmdMapFit *self, guint32 place)
{
  return self->objects != NULL && self->kind != DVMD_OBJECT_NODE ? self->objects[place].index : 0;
}

static void
append_round (DvmdMapFit *self, GArray *segments, const guint32 *of_object, guint32 round)
{
  for (guint32 i = 0; i < self->n; i++)
    if (of_object[i] > round)
      append_object (segments, index_of_object (self, i), 1);
}

GArray *
dvmd_map_fit_list_round (DvmdMapFit *self, const DvmdMapPattern *pattern, guint32 round)
{
  GArray *segments = g_array_new (FALSE, FALSE, sizeof (DvmdMapSegment));

  append_round (self, segments, pattern->of_object, round);
  return segments;
}

/* ---- patterns ---- */

/* The rest of what the node takes when these are there, too. */
static DvmdMapFit *
take_away (DvmdMapFit *self, const DvmdMapPattern *pattern)
{
  DvmdMapFit *rest = make_fit (self->room, self->topology, self->kind, self->quota);

  rest->skips = self->skips;
  if (self->near != NULL)
    memcpy (rest->near, self->near, self->n * sizeof (guint32));
  rest->whole = self->whole;
  for (guint32 i = 0; i < self->n; i++)
    {
      rest->most[i] = self->most[i] == ANY ? ANY : self->most[i] - pattern->of_object[i];
      if (rest->near != NULL)
        use_near (rest, rest->near, i, pattern->of_object[i]);
      if (rest->used != NULL)
        rest->used[i] = self->used[i] + pattern->of_object[i];
    }
  find_shares (rest);
  return rest;
}

static void
list_segments (DvmdMapFit *self, DvmdMapPattern *pattern)
{
  pattern->in_order = g_array_new (FALSE, FALSE, sizeof (DvmdMapSegment));
  pattern->by_object = g_array_new (FALSE, FALSE, sizeof (DvmdMapSegment));
  for (guint32 i = 0; i < self->n; i++)
    {
      pattern->n_rounds = MAX (pattern->n_rounds, pattern->of_object[i]);
      if (pattern->of_object[i] > 0)
        append_object (pattern->by_object, index_of_object (self, i), pattern->of_object[i]);
    }
  if (self->quota > 0 || self->n == 1)
    g_array_append_vals (pattern->in_order, pattern->by_object->data, pattern->by_object->len);
  else
    for (guint32 round = 0; round < pattern->n_rounds; round++)
      append_round (self, pattern->in_order, pattern->of_object, round);
}

const DvmdMapPattern *
dvmd_map_fit_get_pattern (DvmdMapFit *self, guint32 n, GPtrArray *fits)
{
  DvmdMapPattern *pattern = g_hash_table_lookup (self->patterns, GUINT_TO_POINTER (n));

  if (pattern != NULL)
    return pattern;
  pattern = g_new0 (DvmdMapPattern, 1);
  pattern->of_object = g_new0 (guint32, self->n + 1);
  if (self->quota > 0)
    fill_objects (self, pattern->of_object, n);
  else
    deal_evenly (self, pattern->of_object, n);
  list_segments (self, pattern);
  pattern->after = take_away (self, pattern);
  g_ptr_array_add (fits, pattern->after);
  g_hash_table_insert (self->patterns, GUINT_TO_POINTER (n), pattern);
  return pattern;
}
