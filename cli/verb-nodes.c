/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli nodes: the table of nodes.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"

static const DvmCliOption options[] = {
  { NULL },
};

static const DvmCliColumn columns[] = {
  { NULL, N_ ("RANK"), DVM_CLI_KIND_NUMBER }, { NULL, N_ ("NAME"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("STATE"), DVM_CLI_KIND_STATE }, { NULL, N_ ("SLOTS"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("USED"), DVM_CLI_KIND_NUMBER }, { NULL, N_ ("PID"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("REASON"), DVM_CLI_KIND_TEXT }, { NULL, NULL, 0 },
};

static const char *
or_empty (const char *text)
{
  return text != NULL ? text : "";
}

static void
add_node (DvmCliTable *table, DvmNode *node)
{
  GVariant *const values[] = {
    g_variant_new_uint32 (dvm_node_get_rank (node)),
    g_variant_new_string (or_empty (dvm_node_get_name (node))),
    g_variant_new_string (or_empty (dvm_node_state_to_string (dvm_node_get_state (node)))),
    g_variant_new_uint32 (dvm_node_get_slots (node)),
    g_variant_new_uint32 (dvm_node_get_slots_in_use (node)),
    g_variant_new_int32 (dvm_node_get_pid (node)),
    g_variant_new_string (or_empty (dvm_node_get_reason (node))),
  };

  dvm_cli_table_add (table, values);
}

static gboolean
print_json (GPtrArray *nodes, GError **error)
{
  g_autoptr (GString) json = g_string_new ("[");

  for (guint i = 0; i < nodes->len; i++)
    {
      g_autofree char *text = dvm_node_to_json (g_ptr_array_index (nodes, i));

      g_string_append_printf (json, "%s%s", i > 0 ? ",\n " : "", g_strchomp (text));
    }
  g_string_append (json, "]\n");
  return dvm_cli_print (json->str, error);
}

static int
list_nodes (DvmCli *cli, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_connect (cli, error);
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);
  g_autoptr (GPtrArray) nodes = client != NULL ? dvm_client_list_nodes (client, NULL, error) : NULL;
  gboolean ok;

  if (nodes == NULL)
    return DVM_CLI_EXIT_FAILED;
  for (guint i = 0; i < nodes->len; i++)
    add_node (table, g_ptr_array_index (nodes, i));
  ok = cli->json ? print_json (nodes, error) : dvm_cli_print_table (cli, table, error);
  return ok ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_nodes = {
  .name = "nodes",
  .synopsis = N_ ("[OPTION...]"),
  .summary = N_ ("list the nodes of the DVM; rank 0 is its controller"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = list_nodes,
};
