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

gboolean
dvm_cli_parse_display (DvmCli *cli, gboolean *map, GError **error)
{
  const char *text = dvm_cli_args_get (cli->args, "display");
  g_auto (GStrv) words = g_strsplit (text != NULL ? text : "", ",", -1);

  *map = FALSE;
  for (gsize i = 0; words[i] != NULL; i++)
    {
      if (g_ascii_strcasecmp (words[i], "map") != 0)
        {
          g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --display cannot show '%s' yet: it can show map"),
                       words[i]);
          return FALSE;
        }
      *map = TRUE;
    }
  if (!*map || !cli->json)
    return TRUE;
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
               _ ("--display and --json exclude each other: --json prints one object; see dvm-cli job map"));
  return FALSE;
}
