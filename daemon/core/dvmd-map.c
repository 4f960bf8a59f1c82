/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-map.h"

DvmdMap *
dvmd_map_new (void)
{
  DvmdMap *self = g_new0 (DvmdMap, 1);

  self->runs = g_array_new (FALSE, FALSE, sizeof (DvmdMapRun));
  return self;
}

void
dvmd_map_free (DvmdMap *self)
{
  g_array_unref (self->runs);
  g_free (self);
}

void
dvmd_map_add_run (DvmdMap *self, guint node, guint app, guint first_rank, guint count, guint stride)
{
  DvmdMapRun run = { .node = node, .app = app, .first_rank = first_rank, .count = count, .stride = stride };

  g_array_append_val (self->runs, run);
  self->num_procs += count;
}

GVariant *
dvmd_map_to_variant (DvmdMap *self)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE (DVMD_MAP_VARIANT_TYPE));
  for (guint i = 0; i < self->runs->len; i++)
    {
      const DvmdMapRun *run = &g_array_index (self->runs, DvmdMapRun, i);

      g_variant_builder_add (&builder, "(uuuuu)", run->node, run->app, run->first_rank, run->count, run->stride);
    }
  return g_variant_builder_end (&builder);
}

static gboolean
covers_every_rank_once (DvmdMap *self)
{
  g_autofree guint8 *seen = g_malloc0 (self->num_procs + 1);

  for (guint i = 0; i < self->runs->len; i++)
    {
      const DvmdMapRun *run = &g_array_index (self->runs, DvmdMapRun, i);

      for (guint k = 0; k < run->count; k++)
        {
          guint64 rank = run->first_rank + (guint64)k * run->stride;

          if (rank >= self->num_procs || seen[rank])
            return FALSE;
          seen[rank] = 1;
        }
    }
  return TRUE;
}

DvmdMap *
dvmd_map_new_from_variant (GVariant *variant, GError **error)
{
  g_autoptr (DvmdMap) self = dvmd_map_new ();
  GVariantIter iter;
  DvmdMapRun run;
  guint64 total = 0;

  g_variant_iter_init (&iter, variant);
  while (g_variant_iter_next (&iter, "(uuuuu)", &run.node, &run.app, &run.first_rank, &run.count, &run.stride))
    {
      total += run.count;
      if (total > DVMD_MAP_MAX_PROCS)
        break;
      dvmd_map_add_run (self, run.node, run.app, run.first_rank, run.count, run.stride);
    }
  if (total > DVMD_MAP_MAX_PROCS || !covers_every_rank_once (self))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
                   "The map of %" G_GUINT64_FORMAT " processes does not give each rank exactly one place", total);
      return NULL;
    }
  return g_steal_pointer (&self);
}

DvmdProcTable *
dvmd_map_expand (DvmdMap *self)
{
  DvmdProcTable *table = dvmd_proc_table_new (self->num_procs);
  g_autoptr (GHashTable) used = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < self->runs->len; i++)
    {
      const DvmdMapRun *run = &g_array_index (self->runs, DvmdMapRun, i);

      for (guint k = 0; k < run->count; k++)
        {
          DvmdProcRow *row = dvmd_proc_table_row (table, run->first_rank + k * run->stride);

          row->node = run->node;
          row->app = run->app;
        }
    }
  /* Local ranks follow the ranks, whatever order the runs have. */
  for (guint rank = 0; rank < table->n_rows; rank++)
    {
      DvmdProcRow *row = dvmd_proc_table_row (table, rank);
      guint n = GPOINTER_TO_UINT (g_hash_table_lookup (used, GUINT_TO_POINTER (row->node)));

      row->local_rank = n;
      row->node_rank = n;
      g_hash_table_insert (used, GUINT_TO_POINTER (row->node), GUINT_TO_POINTER (n + 1));
    }
  return table;
}

static int
compare_guint (gconstpointer a, gconstpointer b)
{
  guint left = *(const guint *)a;
  guint right = *(const guint *)b;

  return left < right ? -1 : left > right;
}

GArray *
dvmd_map_get_nodes (DvmdMap *self)
{
  GArray *nodes = g_array_new (FALSE, FALSE, sizeof (guint));
  guint n = 0;

  for (guint i = 0; i < self->runs->len; i++)
    {
      guint node = g_array_index (self->runs, DvmdMapRun, i).node;

      g_array_append_val (nodes, node);
    }
  g_array_sort (nodes, compare_guint);
  for (guint i = 0; i < nodes->len; i++)
    if (i == 0 || g_array_index (nodes, guint, i) != g_array_index (nodes, guint, n - 1))
      g_array_index (nodes, guint, n++) = g_array_index (nodes, guint, i);
  g_array_set_size (nodes, n);
  return nodes;
}

guint
dvmd_map_count_on_node (DvmdMap *self, guint node)
{
  guint count = 0;

  for (guint i = 0; i < self->runs->len; i++)
    {
      const DvmdMapRun *run = &g_array_index (self->runs, DvmdMapRun, i);

      if (run->node == node)
        count += run->count;
    }
  return count;
}
