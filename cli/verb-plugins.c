/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli plugins: the table of plugins.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-json.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"

static const DvmCliOption options[] = {
  { NULL },
};

static const DvmCliColumn columns[] = {
  { NULL, N_ ("KIND"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("NAME"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("ACTIVE"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("DESCRIPTION"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("WORDS"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("PATH"), DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static void
add_plugin (DvmCliTable *table, GVariant *plugin)
{
  const char *kind = "";
  const char *name = "";
  const char *description = "";
  const char *path = "";
  g_autofree const char **words = NULL;
  g_autofree char *map_by = NULL;
  gboolean active = FALSE;

  g_variant_lookup (plugin, "kind", "&s", &kind);
  g_variant_lookup (plugin, "name", "&s", &name);
  g_variant_lookup (plugin, "active", "b", &active);
  g_variant_lookup (plugin, "description", "&s", &description);
  g_variant_lookup (plugin, "path", "&s", &path);
  if (g_variant_lookup (plugin, "words", "^a&s", &words))
    map_by = g_strjoinv (" ", (char **)words);
  dvm_cli_table_add (
      table, (GVariant *[]){ g_variant_new_string (kind), g_variant_new_string (name),
                             g_variant_new_string (active ? _ ("yes") : _ ("no")), g_variant_new_string (description),
                             g_variant_new_string (map_by != NULL ? map_by : ""), g_variant_new_string (path) });
}

static gboolean
print_json (GVariant *plugins, GError **error)
{
  g_autoptr (GString) json = g_string_new (NULL);

  dvm_cli_json_append_value (json, plugins);
  g_string_append_c (json, '\n');
  return dvm_cli_print (json->str, error);
}

static int
list_plugins (DvmCli *cli, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_connect (cli, error);
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);
  g_autoptr (GVariant) plugins = client != NULL ? dvm_client_list_plugins (client, NULL, error) : NULL;
  gboolean ok;

  if (plugins == NULL)
    return DVM_CLI_EXIT_FAILED;
  for (gsize i = 0; i < g_variant_n_children (plugins); i++)
    {
      g_autoptr (GVariant) plugin = g_variant_get_child_value (plugins, i);

      add_plugin (table, plugin);
    }
  ok = cli->json ? print_json (plugins, error) : dvm_cli_print_table (cli, table, error);
  return ok ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_plugins = {
  .name = "plugins",
  .synopsis = "[OPTION...]",
  .summary = N_ ("list the plugins of the DVM, in the order in which they are asked"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = list_plugins,
};
