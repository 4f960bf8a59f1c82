/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Indexes with a load each: the one of the least load comes first, and of equal loads the smallest index. */
typedef struct
{
  GArray *keys; /* guint64: the load before the index */
} DvmdUnitHeap;

void dvmd_unit_heap_init (DvmdUnitHeap *self);
void dvmd_unit_heap_clear (DvmdUnitHeap *self);
void dvmd_unit_heap_push (DvmdUnitHeap *self, guint load, guint index);
/* FALSE: it is empty */
gboolean dvmd_unit_heap_pop (DvmdUnitHeap *self, guint *load, guint *index);

G_END_DECLS
