/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli map: where the processes of a job would go; nothing is started. Without a DVM a private one is asked.
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-daemon.h"
#include "dvm-cli-display.h"
#include "dvm-cli-file.h"
#include "dvm-cli-map.h"
#include "dvm-cli-old.h"
#include "dvm-cli-output.h"
#include "dvm-cli-spec.h"

static const DvmCliOption options[] = {
  { "ranks", 'r', NULL, DVM_CLI_ARG_STRING, N_ ("RANKS"), NULL, N_ ("these ranks alone, such as 0-3,7") },
  { "topology", 0, NULL, DVM_CLI_ARG_STRING, N_ ("MACHINE"), NULL,
    N_ ("nodes that are only described: 'package:2 core:8 pu:2', or a file of lstopo; once for each kind") },
  { "nodes", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("N"), "100000", N_ ("how many of these nodes there are") },
  { "slots", 0, NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, N_ ("slots of each of them, such as 16 or 16,16,6") },
  { "display", 0, NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL,
    N_ ("what to show: map (ranks, the default), bindings (their cpus), or both") },
  { NULL },
};

static gboolean
is_described (DvmCli *cli)
{
  return dvm_cli_args_has (cli->args, "topology");
}

static gboolean
is_file (const char *text)
{
  return g_str_has_suffix (text, ".xml") || strchr (text, '/') != NULL;
}

/* A description, or the file that has one. */
static gboolean
add_topology (GStrvBuilder *topologies, const char *text, GError **error)
{
  g_autofree char *content = NULL;
  gsize length;

  if (!is_file (text))
    {
      g_strv_builder_add (topologies, text);
      return TRUE;
    }
  if (!g_file_test (text, G_FILE_TEST_IS_REGULAR))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("%s is not a file, as 'lstopo FILE.xml' writes it"), text);
      return FALSE;
    }
  if (!dvm_cli_read_file (text, &content, &length, error))
    return FALSE;
  if (!g_utf8_validate (content, (gssize)length, NULL) || content[strspn (content, " \t\r\n")] != '<')
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("%s is not the XML of a machine, as 'lstopo FILE.xml' writes it"),
                   text);
      return FALSE;
    }
  g_strv_builder_add (topologies, content);
  return TRUE;
}

/* (transfer full) (nullable): a{sv} */
static GVariant *
describe_question (DvmCli *cli, GError **error)
{
  g_autofree const char **texts = dvm_cli_args_get_all (cli->args, "topology");
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GVariantDict) dict = G_VARIANT_DICT_INIT (NULL);
  g_auto (GStrv) topologies = NULL;

  for (gsize i = 0; texts[i] != NULL; i++)
    if (!add_topology (builder, texts[i], error))
      return NULL;
  topologies = g_strv_builder_end (builder);
  if (topologies[0] != NULL)
    g_variant_dict_insert (&dict, "topology", "^as", topologies);
  if (dvm_cli_args_has (cli->args, "nodes"))
    g_variant_dict_insert (&dict, "nodes", "u", dvm_cli_args_get_uint (cli->args, "nodes", 0));
  if (dvm_cli_args_has (cli->args, "slots"))
    g_variant_dict_insert (&dict, "slots", "s", dvm_cli_args_get (cli->args, "slots"));
  if (dvm_cli_args_has (cli->args, "ranks"))
    g_variant_dict_insert (&dict, "ranks", "s", dvm_cli_args_get (cli->args, "ranks"));
  return g_variant_ref_sink (g_variant_dict_end (&dict));
}

/* (transfer full): the DVM has got what is in files, and not their names: "topology[1]: ..." */
static GError *
name_file (DvmCli *cli, GError *given)
{
  g_autoptr (GError) error = given;
  g_autofree const char **texts = dvm_cli_args_get_all (cli->args, "topology");
  const char *rest = g_str_has_prefix (error->message, "topology[") ? strchr (error->message, ']') : NULL;
  guint64 index = rest != NULL ? g_ascii_strtoull (error->message + strlen ("topology["), NULL, 10) : 0;

  if (rest == NULL || index >= g_strv_length ((char **)texts))
    return g_steal_pointer (&error);
  return g_error_new (DVM_CLI_USAGE_ERROR, 0, "%s%s", is_file (texts[index]) ? texts[index] : "topology", rest + 1);
}

/* The words of --display choose among the tables; pictures and JSON have all of it. */
static gboolean
print (DvmCli *cli, DvmClient *client, guint what, GVariant *map, GVariant *question, GError **error)
{
  gboolean is_table = !cli->json && !dvm_cli_args_has (cli->args, "picture") && !dvm_cli_args_has (cli->args, "svg");

  if (!is_table || (what & DVM_CLI_DISPLAY_BINDINGS) == 0)
    return dvm_cli_show_map (cli, client, map, question, error);
  return ((what & DVM_CLI_DISPLAY_MAP) == 0 || dvm_cli_print_map (cli, map, error))
         && dvm_cli_print_bindings (cli, map, error);
}

/* what: bits of DvmCliDisplayWhat */
static gboolean
show (DvmCli *cli, DvmClient *client, guint what, GError **error)
{
  g_autoptr (DvmJobSpec) spec = dvm_cli_spec_new (cli, NULL, error);
  g_autoptr (GVariant) question = spec != NULL ? describe_question (cli, error) : NULL;
  g_autoptr (GVariant) map = NULL;
  g_autoptr (GError) local = NULL;

  if (question == NULL || !dvm_cli_spec_find_sessions (spec, cli->args, client, NULL, error))
    return FALSE;
  map = dvm_client_map_with_options (client, spec, question, NULL, &local);
  if (map == NULL)
    g_propagate_error (error, name_file (cli, g_steal_pointer (&local)));
  return map != NULL && print (cli, client, what, map, question, error);
}

static gboolean
show_embedded (DvmCli *cli, guint what, GError **error)
{
  int fd;
  /* Machines that are described need no others, not even those of a scheduler's job. */
  const char *const nodes[] = { is_described (cli) ? "--host=localhost" : NULL, NULL };
  g_autoptr (DvmCliEmbedded) embedded = dvm_cli_embedded_new (nodes, 0, &fd, error);
  g_autoptr (DvmClient) client = embedded != NULL ? dvm_client_new_for_fd (fd) : NULL;

  if (!is_described (cli))
    dvm_cli_tell (cli, _ ("no DVM is running: a private one is asked"));
  if (client == NULL)
    return FALSE;
  if (dvm_client_connect (client, NULL, error))
    return show (cli, client, what, error);
  dvm_cli_embedded_explain (embedded, error);
  return FALSE;
}

static gboolean
show_map (DvmCli *cli, guint what, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_client_new (cli);
  g_autoptr (GError) local_error = NULL;

  /* Machines that one does not have are no matter of the DVM that one has. */
  if ((is_described (cli) || cli->foreign != NULL) && !dvm_cli_is_chosen (cli))
    return show_embedded (cli, what, error);
  if (dvm_client_connect (client, NULL, &local_error))
    return show (cli, client, what, error);
  if (!dvm_cli_is_chosen (cli) && g_error_matches (local_error, DVM_ERROR, DVM_ERROR_NOT_FOUND))
    return show_embedded (cli, what, error);
  g_propagate_error (error, g_steal_pointer (&local_error));
  dvm_cli_explain_connect (cli, error);
  return FALSE;
}

static int
map_verb (DvmCli *cli, GError **error)
{
  g_auto (DvmCliDisplay) display = { 0 };

  if (!dvm_cli_check_picture (cli, error) || !dvm_cli_display_parse_of_map (cli, &display, error))
    return DVM_CLI_EXIT_USAGE;
  return show_map (cli, display.what, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_map = {
  .name = "map",
  .synopsis = "[OPTION...] PROGRAM [ARGUMENT...] [: [OPTION...] PROGRAM [ARGUMENT...]]...",
  .summary = N_ ("show where the processes of a job would go; nothing is started"),
  .options = { dvm_cli_app_options, dvm_cli_job_options, options, dvm_cli_picture_options, dvm_cli_old_app_options,
               dvm_cli_old_options, dvm_cli_old_display_options },
  .foreign = &dvm_cli_srun,
  .min_words = 1,
  .max_words = G_MAXUINT,
  .flags = DVM_CLI_PARSE_STOP_AT_WORD,
  .failure = DVM_CLI_EXIT_FAILED,
  .run = map_verb,
};
