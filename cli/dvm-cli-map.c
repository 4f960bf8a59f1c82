/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The map of a job is shown, as text and as JSON.
 */

#include "config.h"

#include "dvm-cli-map.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-output.h"
#include "dvm-cli-records.h"

static const DvmCliColumn columns[] = {
  { "rank", N_ ("RANK"), DVM_CLI_KIND_NUMBER },        { "app", N_ ("APP"), DVM_CLI_KIND_NUMBER },
  { "local-rank", N_ ("LOCAL"), DVM_CLI_KIND_NUMBER }, { "node", N_ ("NODE"), DVM_CLI_KIND_TEXT },
  { "cpuset", N_ ("CPUS"), DVM_CLI_KIND_TEXT },        { "object", N_ ("OBJECT"), DVM_CLI_KIND_TEXT },
  { "note", N_ ("NOTE"), DVM_CLI_KIND_TEXT },          { NULL, NULL, 0 },
};

gboolean
dvm_cli_print_map (DvmCli *cli, GVariant *map, GError **error)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);

  for (gsize i = 0; i < g_variant_n_children (map); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (map, i);
      GVariant *values[7];

      for (gsize k = 0; k < G_N_ELEMENTS (values); k++)
        values[k] = g_variant_get_child_value (row, k);
      dvm_cli_table_add (table, values);
      for (gsize k = 0; k < G_N_ELEMENTS (values); k++)
        g_variant_unref (values[k]);
    }
  return dvm_cli_print_table (cli, table, error);
}

static const DvmCliColumn binding_columns[] = {
  { "rank", N_ ("RANK"), DVM_CLI_KIND_NUMBER },
  { "node", N_ ("NODE"), DVM_CLI_KIND_TEXT },
  { "cpuset", N_ ("BOUND TO CPUS"), DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

gboolean
dvm_cli_print_bindings (DvmCli *cli, GVariant *map, GError **error)
{
  static const guint shown[] = { 0, 3, 4 };
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (binding_columns);

  for (gsize i = 0; i < g_variant_n_children (map); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (map, i);
      GVariant *values[G_N_ELEMENTS (shown)];

      for (gsize k = 0; k < G_N_ELEMENTS (shown); k++)
        values[k] = g_variant_get_child_value (row, shown[k]);
      dvm_cli_table_add (table, values);
      for (gsize k = 0; k < G_N_ELEMENTS (shown); k++)
        g_variant_unref (values[k]);
    }
  return dvm_cli_print_table (cli, table, error);
}

/* How many of them are in use, and how they are, changes while it is printed. */
static const DvmCliColumn allocation_columns[] = {
  { "node", N_ ("NODE"), DVM_CLI_KIND_TEXT },
  { "slots", N_ ("SLOTS"), DVM_CLI_KIND_NUMBER },
  { "slots-max", N_ ("MAX"), DVM_CLI_KIND_NUMBER },
  { NULL, NULL, 0 },
};

gboolean
dvm_cli_print_allocation (DvmCli *cli, GPtrArray *nodes, GError **error)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (allocation_columns);

  for (guint i = 0; i < nodes->len; i++)
    {
      DvmNode *node = g_ptr_array_index (nodes, i);
      GVariant *values[G_N_ELEMENTS (allocation_columns) - 1];

      /* The controller has no processes. */
      if (dvm_node_get_rank (node) == 0)
        continue;
      values[0] = dvm_cli_text (dvm_node_get_name (node));
      values[1] = g_variant_new_uint32 (dvm_node_get_slots (node));
      values[2] = g_variant_new_uint32 (dvm_node_get_slots_max (node));
      dvm_cli_table_add (table, values);
    }
  return dvm_cli_print_table (cli, table, error);
}
