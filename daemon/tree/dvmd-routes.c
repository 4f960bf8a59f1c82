/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table of routes says for one epoch which daemon is the parent of which.
 */

#include "config.h"

#include "dvmd-routes.h"

#include "dvm-error.h"

#define NO_PLACE G_MAXUINT32

struct _DvmdRoutes
{
  gatomicrefcount ref_count;
  guint64 epoch;
  guint radix;
  guint n;
  guint32 *ranks;     /* by place */
  GHashTable *places; /* rank -> place */
};

static DvmdRoutes *
routes_new (guint64 epoch, guint radix, guint32 *ranks, guint n)
{
  DvmdRoutes *self = g_new0 (DvmdRoutes, 1);

  g_atomic_ref_count_init (&self->ref_count);
  self->epoch = epoch;
  self->radix = radix;
  self->ranks = ranks;
  self->n = n;
  self->places = g_hash_table_new (NULL, NULL);
  for (guint place = 0; place < n; place++)
    g_hash_table_insert (self->places, GUINT_TO_POINTER (ranks[place]), GUINT_TO_POINTER (place));
  return self;
}

DvmdRoutes *
dvmd_routes_new (guint radix)
{
  g_return_val_if_fail (radix >= 1 && radix <= DVMD_RADIX_MAX, NULL);

  return routes_new (0, radix, g_new0 (guint32, 1), 1);
}

DvmdRoutes *
dvmd_routes_ref (DvmdRoutes *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
dvmd_routes_unref (DvmdRoutes *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_hash_table_unref (self->places);
  g_free (self->ranks);
  g_free (self);
}

static guint
find_place (DvmdRoutes *self, guint32 rank)
{
  gpointer place;

  if (!g_hash_table_lookup_extended (self->places, GUINT_TO_POINTER (rank), NULL, &place))
    return NO_PLACE;
  return GPOINTER_TO_UINT (place);
}

/* ---- the next epoch ---- */

static int
compare_numbers (gconstpointer a, gconstpointer b)
{
  guint32 one = *(const guint32 *)a;
  guint32 other = *(const guint32 *)b;

  return (one > other) - (one < other);
}

/* The joiners that are not in yet, by rank, each once. */
static GArray *
sort_joiners (DvmdRoutes *self, const guint32 *joined, guint n_joined)
{
  GArray *sorted = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint n = 0;

  for (guint i = 0; i < n_joined; i++)
    if (!dvmd_routes_contains (self, joined[i]))
      g_array_append_val (sorted, joined[i]);
  g_array_sort (sorted, compare_numbers);
  for (guint i = 0; i < sorted->len; i++)
    if (i == 0 || g_array_index (sorted, guint32, i) != g_array_index (sorted, guint32, i - 1))
      g_array_index (sorted, guint32, n++) = g_array_index (sorted, guint32, i);
  g_array_set_size (sorted, n);
  return sorted;
}

/* The places that become free, by place, each once. */
static GArray *
sort_holes (DvmdRoutes *self, const guint32 *left, guint n_left)
{
  GArray *sorted = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint n = 0;

  for (guint i = 0; i < n_left; i++)
    {
      guint32 place = find_place (self, left[i]);

      if (place != NO_PLACE && place != 0)
        g_array_append_val (sorted, place);
    }
  g_array_sort (sorted, compare_numbers);
  for (guint i = 0; i < sorted->len; i++)
    if (i == 0 || g_array_index (sorted, guint32, i) != g_array_index (sorted, guint32, i - 1))
      g_array_index (sorted, guint32, n++) = g_array_index (sorted, guint32, i);
  g_array_set_size (sorted, n);
  return sorted;
}

/* Holes are closed from the front by those who have the last places. */
static guint
close_holes (guint32 *ranks, guint n, const guint32 *holes, guint n_holes)
{
  guint last_hole = n_holes;
  guint end = n;

  for (guint i = 0; i < n_holes && holes[i] < end;)
    {
      end--;
      if (last_hole > 0 && holes[last_hole - 1] == end)
        last_hole--;
      else
        ranks[holes[i++]] = ranks[end];
    }
  return end;
}

DvmdRoutes *
dvmd_routes_change (DvmdRoutes *self, const guint32 *joined, guint n_joined, const guint32 *left, guint n_left)
{
  g_autoptr (GArray) joiners = sort_joiners (self, joined, n_joined);
  g_autoptr (GArray) holes = sort_holes (self, left, n_left);
  guint32 *ranks = g_new (guint32, self->n + joiners->len);
  guint n = self->n;
  guint filled = MIN (joiners->len, holes->len);

  memcpy (ranks, self->ranks, self->n * sizeof (guint32));
  for (guint i = 0; i < filled; i++)
    ranks[g_array_index (holes, guint32, i)] = g_array_index (joiners, guint32, i);
  for (guint i = filled; i < joiners->len; i++)
    ranks[n++] = g_array_index (joiners, guint32, i);
  if (filled < holes->len)
    n = close_holes (ranks, n, &g_array_index (holes, guint32, filled), holes->len - filled);
  return routes_new (self->epoch + 1, self->radix, ranks, n);
}

/* ---- as others see it ---- */

GVariant *
dvmd_routes_to_variant (DvmdRoutes *self)
{
  return g_variant_new ("(tu@au)", self->epoch, self->radix,
                        g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, self->ranks, self->n, sizeof (guint32)));
}

static gboolean
check (DvmdRoutes *self, GError **error)
{
  if (self->radix < 1 || self->radix > DVMD_RADIX_MAX)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "A routing table of radix %u: the radix is 1 to %u",
                   self->radix, DVMD_RADIX_MAX);
      return FALSE;
    }
  if (self->n == 0 || self->ranks[0] != 0 || g_hash_table_size (self->places) != self->n)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "A routing table of %u places without the controller at its root, or with a rank twice", self->n);
      return FALSE;
    }
  return TRUE;
}

DvmdRoutes *
dvmd_routes_new_from_variant (GVariant *variant, GError **error)
{
  g_autoptr (DvmdRoutes) self = NULL;
  g_autoptr (GVariant) array = NULL;
  const guint32 *ranks;
  guint64 epoch;
  guint32 radix;
  gsize n;

  g_variant_get (variant, "(tu@au)", &epoch, &radix, &array);
  ranks = g_variant_get_fixed_array (array, &n, sizeof (guint32));
  self = routes_new (epoch, radix, g_memdup2 (ranks, n * sizeof (guint32)), n);
  return check (self, error) ? g_steal_pointer (&self) : NULL;
}

guint64
dvmd_routes_get_epoch (DvmdRoutes *self)
{
  return self->epoch;
}

guint
dvmd_routes_get_radix (DvmdRoutes *self)
{
  return self->radix;
}

guint
dvmd_routes_get_n_members (DvmdRoutes *self)
{
  return self->n;
}

gboolean
dvmd_routes_contains (DvmdRoutes *self, guint32 rank)
{
  return find_place (self, rank) != NO_PLACE;
}

guint32
dvmd_routes_get_rank (DvmdRoutes *self, guint place)
{
  return place < self->n ? self->ranks[place] : DVMD_NO_RANK;
}

guint32
dvmd_routes_get_parent (DvmdRoutes *self, guint32 rank)
{
  guint place = find_place (self, rank);

  return place == NO_PLACE || place == 0 ? DVMD_NO_RANK : self->ranks[(place - 1) / self->radix];
}

static guint
depth_of_place (DvmdRoutes *self, guint place)
{
  guint depth = 0;

  for (; place > 0; place = (place - 1) / self->radix)
    depth++;
  return depth;
}

guint
dvmd_routes_get_depth (DvmdRoutes *self, guint32 rank)
{
  guint place = find_place (self, rank);

  return place == NO_PLACE ? 0 : depth_of_place (self, place);
}

guint
dvmd_routes_get_max_depth (DvmdRoutes *self)
{
  return depth_of_place (self, self->n - 1);
}

guint
dvmd_routes_get_n_children (DvmdRoutes *self, guint32 rank)
{
  guint place = find_place (self, rank);
  guint64 first;

  if (place == NO_PLACE)
    return 0;
  first = (guint64)place * self->radix + 1;
  return first < self->n ? MIN (self->radix, self->n - first) : 0;
}

guint32
dvmd_routes_get_child (DvmdRoutes *self, guint32 rank, guint i)
{
  g_return_val_if_fail (i < dvmd_routes_get_n_children (self, rank), DVMD_NO_RANK);

  return self->ranks[(gsize)find_place (self, rank) * self->radix + 1 + i];
}

guint32
dvmd_routes_next_hop (DvmdRoutes *self, guint32 from, guint32 to)
{
  guint here = find_place (self, from);
  guint place = find_place (self, to);

  if (here == NO_PLACE || place == NO_PLACE || here == place)
    return DVMD_NO_RANK;
  while (place > here)
    {
      guint above = (place - 1) / self->radix;

      if (above == here)
        return self->ranks[place];
      place = above;
    }
  return self->ranks[(here - 1) / self->radix];
}

guint
dvmd_routes_count_new_links (DvmdRoutes *self, DvmdRoutes *next)
{
  guint n = 0;

  for (guint place = 1; place < next->n; place++)
    n += dvmd_routes_get_parent (self, next->ranks[place]) != next->ranks[(place - 1) / next->radix];
  return n;
}
