/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The map of a job is shown, as text and as JSON.
 */

#include "config.h"

#include "dvm-cli-map.h"

#include <errno.h>
#include <glib/gi18n-lib.h>
#include <stdio.h>
#include <string.h>

#include "dvm-cli-output.h"
#include "dvm-cli-picture.h"
#include "dvm-cli-records.h"
#include "dvm-cli-screen.h"
#include "dvm-cli-svg.h"

/* More nodes than this are not drawn, on the screen and in a file. */
#define MAX_ON_SCREEN 16
#define MAX_IN_FILE   64

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

      dvm_cli_table_add_tuple (table, row);
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

/* ---- pictures ---- */

const DvmCliOption dvm_cli_picture_options[] = {
  { "picture", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL,
    N_ ("draw the nodes: packages, NUMA nodes, cores, and the ranks that are bound to these") },
  { "svg", 0, NULL, DVM_CLI_ARG_STRING, N_ ("FILE"), NULL,
    N_ ("write that picture to a file, as SVG; - is standard output") },
  { NULL },
};

gboolean
dvm_cli_check_picture (DvmCli *cli, GError **error)
{
  gboolean picture = dvm_cli_args_has (cli->args, "picture");
  gboolean svg = dvm_cli_args_has (cli->args, "svg");

  if (picture + svg + cli->json <= 1)
    return TRUE;
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
               _ ("--picture, --svg and --json exclude each other: they are three ways to show a map"));
  return FALSE;
}

GStrv
dvm_cli_list_map_nodes (GVariant *map, guint limit)
{
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (gsize i = 0; i < g_variant_n_children (map) && g_hash_table_size (seen) < limit; i++)
    {
      const char *name;

      g_variant_get_child (map, i, "(uuu&s&s&s&s)", NULL, NULL, NULL, &name, NULL, NULL, NULL);
      if (g_hash_table_add (seen, (gpointer)name))
        g_strv_builder_add (names, name);
    }
  return g_strv_builder_end (names);
}

/* Of Query, for what nodes are made of */
static const char *const machine_keys[] = { "topologies", NULL };

static GPtrArray *
read_machines (GVariant *answer)
{
  g_autoptr (GVariant) topologies = g_variant_lookup_value (answer, machine_keys[0], G_VARIANT_TYPE ("a(sasa{sas})"));

  return topologies != NULL ? dvm_cli_machines_new (topologies) : g_ptr_array_new ();
}

static DvmCliStyle
get_style (DvmCli *cli)
{
  return (DvmCliStyle){ .width = dvm_cli_terminal_width (),
                        .ascii = !g_get_charset (NULL),
                        .colour = dvm_cli_may_use_colour (cli) };
}

GPtrArray *
dvm_cli_ask_machines (DvmClient *client, const char *const *names, GVariant *question, GError **error)
{
  static const char *const of_question[] = { "topology", "nodes", NULL };
  g_auto (GVariantDict) dict = G_VARIANT_DICT_INIT (NULL);
  g_autoptr (GVariant) answer = NULL;

  if (names != NULL)
    g_variant_dict_insert (&dict, "names", "^as", names);
  for (gsize i = 0; question != NULL && of_question[i] != NULL; i++)
    {
      g_autoptr (GVariant) value = g_variant_lookup_value (question, of_question[i], NULL);

      if (value != NULL)
        g_variant_dict_insert_value (&dict, of_question[i], value);
    }
  answer = dvm_client_query (client, machine_keys, g_variant_dict_end (&dict), NULL, error);
  return answer != NULL ? read_machines (answer) : NULL;
}

void
dvm_cli_ask_machines_async (DvmClient *client, GCancellable *cancellable, GAsyncReadyCallback callback,
                            gpointer user_data)
{
  dvm_client_query_async (client, machine_keys, NULL, cancellable, callback, user_data);
}

GPtrArray *
dvm_cli_ask_machines_finish (DvmClient *client, GAsyncResult *result, GError **error)
{
  g_autoptr (GVariant) answer = dvm_client_query_finish (client, result, error);

  return answer != NULL ? read_machines (answer) : NULL;
}

char *
dvm_cli_draw_pictures (DvmCli *cli, GPtrArray *pictures)
{
  DvmCliStyle style = get_style (cli);
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < pictures->len; i++)
    {
      g_autofree char *picture = dvm_cli_picture_to_text (pictures->pdata[i], &style);

      g_string_append_printf (text, "%s\n", picture);
    }
  return g_string_free (text, FALSE);
}

static gboolean
show_pictures (DvmCli *cli, GPtrArray *pictures, guint n_left, GError **error)
{
  DvmCliStyle style = get_style (cli);
  g_autofree char *drawn = dvm_cli_draw_pictures (cli, pictures);
  g_autofree char *cells = dvm_cli_picture_describe_cells (&style);
  g_autoptr (GString) text = g_string_new (drawn);

  if (n_left > 0)
    g_string_append_printf (
        text,
        g_dngettext (GETTEXT_PACKAGE, "%u more node has processes; --ranks chooses those that are drawn\n",
                     "%u more nodes have processes; --ranks chooses those that are drawn\n", n_left),
        n_left);
  g_string_append (text, cells);
  return dvm_cli_show (cli, text->str, error);
}

/* In place: g_file_set_contents() would put a file where a device, a pipe or a link is. */
static gboolean
write_file (const char *path, const char *text, GError **error)
{
  FILE *file = fopen (path, "we");
  gboolean written = file != NULL && fputs (text, file) >= 0 && fflush (file) == 0;
  int why = errno;

  if (file != NULL && fclose (file) != 0 && written)
    {
      written = FALSE;
      why = errno;
    }
  if (!written)
    g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (why), _ ("cannot write '%s': %s"), path,
                 g_strerror (why));
  return written;
}

static gboolean
write_svg (const char *path, GPtrArray *pictures, guint n_left, GError **error)
{
  g_autofree char *svg = dvm_cli_pictures_to_svg (pictures, n_left);

  return strcmp (path, "-") == 0 ? dvm_cli_print (svg, error) : write_file (path, svg, error);
}

gboolean
dvm_cli_show_map (DvmCli *cli, DvmClient *client, GVariant *map, GVariant *question, GError **error)
{
  const char *path = dvm_cli_args_get (cli->args, "svg");
  guint limit = path != NULL ? MAX_IN_FILE : MAX_ON_SCREEN;
  g_auto (GStrv) names = NULL;
  g_autoptr (GPtrArray) machines = NULL;
  g_autoptr (GPtrArray) pictures = NULL;
  guint n_left;

  if (path == NULL && !dvm_cli_args_has (cli->args, "picture"))
    return dvm_cli_print_map (cli, map, error);
  names = dvm_cli_list_map_nodes (map, limit);
  machines = dvm_cli_ask_machines (client, (const char *const *)names, question, error);
  if (machines == NULL)
    return FALSE;
  pictures = dvm_cli_pictures_new (map, machines, limit, &n_left);
  return path != NULL ? write_svg (path, pictures, n_left, error) : show_pictures (cli, pictures, n_left, error);
}
