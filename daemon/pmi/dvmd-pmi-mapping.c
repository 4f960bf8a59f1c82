/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of all ranks, as short as PMI_process_mapping allows.
 */

#include "config.h"

#include "dvmd-pmi-mapping.h"

/* n_nodes of consecutive numbers have n_ranks each. */
typedef struct
{
  guint first;
  guint n_nodes;
  guint n_ranks;
} Block;

static void
add_run (GArray *blocks, guint node, guint n_ranks)
{
  Block *last = blocks->len > 0 ? &g_array_index (blocks, Block, blocks->len - 1) : NULL;
  const Block block = { node, 1, n_ranks };

  if (last != NULL && last->n_ranks == n_ranks && last->first + last->n_nodes == node)
    last->n_nodes++;
  else
    g_array_append_val (blocks, block);
}

/* Nodes count from 0, in the order in which their first ranks come. */
static GArray *
make_blocks (const guint32 *nodes, gsize n_ranks)
{
  GArray *blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  g_autoptr (GHashTable) numbers = g_hash_table_new (NULL, NULL); /* node -> number + 1 */
  gsize first = 0;

  for (gsize rank = 1; rank <= n_ranks; rank++)
    {
      gpointer node = GUINT_TO_POINTER (nodes[first]);

      if (rank < n_ranks && nodes[rank] == nodes[first])
        continue;
      if (!g_hash_table_contains (numbers, node))
        g_hash_table_insert (numbers, node, GUINT_TO_POINTER (g_hash_table_size (numbers) + 1));
      add_run (blocks, GPOINTER_TO_UINT (g_hash_table_lookup (numbers, node)) - 1, (guint)(rank - first));
      first = rank;
    }
  return blocks;
}

static gboolean
repeats_after (const GArray *blocks, guint period)
{
  for (guint i = period; i < blocks->len; i++)
    {
      const Block *a = &g_array_index (blocks, Block, i);
      const Block *b = &g_array_index (blocks, Block, i - period);

      if (a->first != b->first || a->n_nodes != b->n_nodes || a->n_ranks != b->n_ranks)
        return FALSE;
    }
  return TRUE;
}

char *
dvmd_pmi_mapping_build (const guint32 *nodes, gsize n_ranks)
{
  g_autoptr (GArray) blocks = make_blocks (nodes, n_ranks);
  GString *text = g_string_new ("(vector");
  guint period = 1;

  while (period < blocks->len && (blocks->len % period != 0 || !repeats_after (blocks, period)))
    period++;
  for (guint i = 0; i < MIN (period, blocks->len); i++)
    {
      const Block *block = &g_array_index (blocks, Block, i);

      g_string_append_printf (text, ",(%u,%u,%u)", block->first, block->n_nodes, block->n_ranks);
    }
  g_string_append_c (text, ')');
  return g_string_free (text, FALSE);
}
