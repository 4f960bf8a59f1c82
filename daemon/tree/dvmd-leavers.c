/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ranks that leave and that have left are kept in the batches in which the controller told of them.
 */

#include "config.h"

#include "dvmd-leavers.h"

/* Epochs for which those that are no members any more are remembered. */
#define REMEMBERED_EPOCHS 1000
/* Small batches of the departed are joined up to so many ranks, so that a rank is looked for in few batches. */
#define SMALL_BATCH 256

typedef struct
{
  guint64 epoch;
  GVariant *array;
  const guint32 *ranks; /* of array: rising */
  gsize n;
  /* Of a batch that was ordered to leave: */
  DvmdRoutes *routes; /* (nullable) */
  GArray *cut;        /* neighbours that lead to none of them any more */
  guint8 *gone;       /* a bit for each */
  gsize n_gone;
} Batch;

struct _DvmdLeavers
{
  guint32 rank;
  GPtrArray *ordered;
  GPtrArray *departed;
};

static void
batch_free (gpointer data)
{
  Batch *self = data;

  g_variant_unref (self->array);
  g_clear_pointer (&self->routes, dvmd_routes_unref);
  g_clear_pointer (&self->cut, g_array_unref);
  g_free (self->gone);
  g_free (self);
}

static gboolean
is_rising (const guint32 *ranks, gsize n)
{
  for (gsize i = 1; i < n; i++)
    if (ranks[i - 1] >= ranks[i])
      return FALSE;
  return TRUE;
}

static int
compare_ranks (gconstpointer a, gconstpointer b)
{
  guint32 one = *(const guint32 *)a;
  guint32 other = *(const guint32 *)b;

  return (one > other) - (one < other);
}

GVariant *
dvmd_leavers_describe (const guint32 *ranks, gsize n)
{
  guint32 *sorted = g_memdup2 (ranks, n * sizeof (guint32));
  gsize n_sorted = 0;

  if (!is_rising (ranks, n))
    qsort (sorted, n, sizeof (guint32), compare_ranks);
  for (gsize i = 0; i < n; i++)
    if (n_sorted == 0 || sorted[n_sorted - 1] != sorted[i])
      sorted[n_sorted++] = sorted[i];
  return g_variant_new_from_data (G_VARIANT_TYPE ("au"), sorted, n_sorted * sizeof (guint32), TRUE, g_free, sorted);
}

static Batch *
batch_new (GVariant *array, guint64 epoch)
{
  Batch *self = g_new0 (Batch, 1);

  self->epoch = epoch;
  self->array = g_variant_ref_sink (array);
  self->ranks = g_variant_get_fixed_array (array, &self->n, sizeof (guint32));
  if (!is_rising (self->ranks, self->n))
    {
      g_autoptr (GVariant) unsorted = g_steal_pointer (&self->array);

      self->array = g_variant_ref_sink (dvmd_leavers_describe (self->ranks, self->n));
      self->ranks = g_variant_get_fixed_array (self->array, &self->n, sizeof (guint32));
    }
  return self;
}

static gboolean
batch_find (const Batch *self, guint32 rank, gsize *place)
{
  gsize first = 0;
  gsize end = self->n;

  while (first < end)
    {
      gsize middle = first + (end - first) / 2;

      if (self->ranks[middle] < rank)
        first = middle + 1;
      else
        end = middle;
    }
  *place = first;
  return first < self->n && self->ranks[first] == rank;
}

/* (nullable) The last order that the rank has got, unless it has gone since. */
static Batch *
find_order (DvmdLeavers *self, guint32 rank)
{
  for (guint i = self->ordered->len; i > 0; i--)
    {
      Batch *batch = g_ptr_array_index (self->ordered, i - 1);
      gsize place;

      if (batch_find (batch, rank, &place) && !(batch->gone[place / 8] & 1u << place % 8))
        return batch;
    }
  return NULL;
}

void
dvmd_leavers_order (DvmdLeavers *self, GVariant *ranks, guint64 epoch, DvmdRoutes *routes)
{
  Batch *batch = batch_new (ranks, epoch);

  batch->routes = routes != NULL ? dvmd_routes_ref (routes) : NULL;
  batch->cut = g_array_new (FALSE, FALSE, sizeof (guint32));
  batch->gone = g_malloc0 (batch->n / 8 + 1);
  g_ptr_array_add (self->ordered, batch);
}

static void
mark_gone (Batch *self, const Batch *departed)
{
  gsize place = 0;

  for (gsize i = 0; i < departed->n && place < self->n;)
    if (self->ranks[place] < departed->ranks[i])
      place++;
    else if (self->ranks[place] > departed->ranks[i])
      i++;
    else
      {
        guint8 bit = (guint8)(1u << place % 8);

        self->n_gone += !(self->gone[place / 8] & bit);
        self->gone[place / 8] |= bit;
        place++;
        i++;
      }
}

/* Both in one. */
static GVariant *
join (const Batch *one, const Batch *other)
{
  g_autoptr (GArray) ranks = g_array_new (FALSE, FALSE, sizeof (guint32));

  g_array_append_vals (ranks, one->ranks, (guint)one->n);
  g_array_append_vals (ranks, other->ranks, (guint)other->n);
  return dvmd_leavers_describe ((const guint32 *)ranks->data, ranks->len);
}

void
dvmd_leavers_bury (DvmdLeavers *self, GVariant *ranks, guint64 epoch)
{
  Batch *batch = batch_new (ranks, epoch);
  Batch *last = self->departed->len > 0 ? g_ptr_array_index (self->departed, self->departed->len - 1) : NULL;

  for (guint i = self->ordered->len; i > 0; i--)
    {
      Batch *order = g_ptr_array_index (self->ordered, i - 1);

      mark_gone (order, batch);
      if (order->n_gone == order->n)
        g_ptr_array_remove_index (self->ordered, i - 1);
    }
  if (last != NULL && last->n + batch->n <= SMALL_BATCH)
    {
      Batch *both = batch_new (join (last, batch), epoch);

      batch_free (batch);
      g_ptr_array_remove_index (self->departed, self->departed->len - 1);
      batch = both;
    }
  g_ptr_array_add (self->departed, batch);
}

static void
forget (GPtrArray *batches, guint64 epoch)
{
  guint n = 0;

  while (n < batches->len && ((Batch *)g_ptr_array_index (batches, n))->epoch + REMEMBERED_EPOCHS < epoch)
    n++;
  if (n > 0)
    g_ptr_array_remove_range (batches, 0, n);
}

void
dvmd_leavers_forget (DvmdLeavers *self, guint64 epoch)
{
  forget (self->ordered, epoch);
  forget (self->departed, epoch);
}

gboolean
dvmd_leavers_contains (DvmdLeavers *self, guint32 rank, guint64 *epoch)
{
  Batch *batch = find_order (self, rank);

  if (batch != NULL && epoch != NULL)
    *epoch = batch->epoch;
  return batch != NULL;
}

gboolean
dvmd_leavers_has_departed (DvmdLeavers *self, guint32 rank)
{
  gsize place;

  for (guint i = self->departed->len; i > 0; i--)
    if (batch_find (g_ptr_array_index (self->departed, i - 1), rank, &place))
      return TRUE;
  return FALSE;
}

static gboolean
is_cut (const Batch *self, guint32 neighbour)
{
  for (guint i = 0; i < self->cut->len; i++)
    if (g_array_index (self->cut, guint32, i) == neighbour)
      return TRUE;
  return FALSE;
}

guint32
dvmd_leavers_get_hop (DvmdLeavers *self, guint32 rank)
{
  Batch *batch = find_order (self, rank);
  guint32 hop;

  if (batch == NULL || batch->routes == NULL)
    return DVMD_NO_RANK;
  hop = dvmd_routes_next_hop (batch->routes, self->rank, rank);
  return hop == rank || is_cut (batch, hop) ? DVMD_NO_RANK : hop;
}

void
dvmd_leavers_forget_hop (DvmdLeavers *self, guint32 neighbour)
{
  for (guint i = 0; i < self->ordered->len; i++)
    {
      Batch *batch = g_ptr_array_index (self->ordered, i);

      if (batch->routes != NULL && dvmd_routes_next_hop (batch->routes, self->rank, neighbour) == neighbour
          && !is_cut (batch, neighbour))
        g_array_append_val (batch->cut, neighbour);
    }
}

GVariant *
dvmd_leavers_to_variant (DvmdLeavers *self)
{
  g_autoptr (GArray) ranks = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 0; i < self->ordered->len; i++)
    {
      const Batch *batch = g_ptr_array_index (self->ordered, i);

      for (gsize place = 0; place < batch->n; place++)
        if (!(batch->gone[place / 8] & 1u << place % 8))
          g_array_append_val (ranks, batch->ranks[place]);
    }
  return dvmd_leavers_describe ((const guint32 *)ranks->data, ranks->len);
}

DvmdLeavers *
dvmd_leavers_new (guint32 rank)
{
  DvmdLeavers *self = g_new0 (DvmdLeavers, 1);

  self->rank = rank;
  self->ordered = g_ptr_array_new_with_free_func (batch_free);
  self->departed = g_ptr_array_new_with_free_func (batch_free);
  return self;
}

void
dvmd_leavers_free (DvmdLeavers *self)
{
  g_ptr_array_unref (self->ordered);
  g_ptr_array_unref (self->departed);
  g_free (self);
}
