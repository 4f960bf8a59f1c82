/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A binary heap of indexes by their loads.
 */

#include "config.h"

#include "dvmd-unit-heap.h"

#define KEY(self, i) g_array_index ((self)->keys, guint64, i)

void
dvmd_unit_heap_init (DvmdUnitHeap *self)
{
  self->keys = g_array_new (FALSE, FALSE, sizeof (guint64));
}

void
dvmd_unit_heap_clear (DvmdUnitHeap *self)
{
  g_clear_pointer (&self->keys, g_array_unref);
}

static void
swap (DvmdUnitHeap *self, guint i, guint k)
{
  guint64 key = KEY (self, i);

  KEY (self, i) = KEY (self, k);
  KEY (self, k) = key;
}

void
dvmd_unit_heap_push (DvmdUnitHeap *self, guint load, guint index)
{
  guint64 key = (guint64)load << 32 | index;
  guint i = self->keys->len;

  g_array_append_val (self->keys, key);
  for (; i > 0 && KEY (self, i) < KEY (self, (i - 1) / 2); i = (i - 1) / 2)
    swap (self, i, (i - 1) / 2);
}

static void
sink_first (DvmdUnitHeap *self)
{
  guint i = 0;
  guint least = 0;

  do
    {
      swap (self, i, least);
      i = least;
      for (guint child = 2 * i + 1; child <= 2 * i + 2 && child < self->keys->len; child++)
        if (KEY (self, child) < KEY (self, least))
          least = child;
    }
  while (least != i);
}

gboolean
dvmd_unit_heap_pop (DvmdUnitHeap *self, guint *load, guint *index)
{
  guint n = self->keys->len;

  if (n == 0)
    return FALSE;
  *load = (guint)(KEY (self, 0) >> 32);
  *index = (guint)KEY (self, 0);
  swap (self, 0, n - 1);
  g_array_set_size (self->keys, n - 1);
  if (n > 1)
    sink_first (self);
  return TRUE;
}
