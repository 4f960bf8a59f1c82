/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli node: one node looked at, drained, resumed and started again.
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-suggest.h"
#include "dvm-cli-screen.h"

static const DvmCliOption options[] = {
  { "force", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("restart: also if jobs have processes there, which end") },
  { "reason", 0, NULL, DVM_CLI_ARG_STRING, N_ ("TEXT"), NULL, N_ ("drain: why, for those who look") },
  { NULL },
};

static const DvmCliColumn columns[] = {
  { NULL, N_ ("Node"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Rank"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("State"), DVM_CLI_KIND_STATE },
  { NULL, N_ ("Reason"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Slots"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Used"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Jobs"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Devices"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Sessions"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Names"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Process"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Parent"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Depth"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Topology"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Memory allotted"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Last seen"), DVM_CLI_KIND_TIME },
  { NULL, NULL, 0 },
};

static GVariant *
text (const char *value)
{
  return g_variant_new_string (value != NULL ? value : "");
}

static GVariant *
list (const char *const *values)
{
  return g_variant_new_take_string (values != NULL ? g_strjoinv (",", (char **)values) : g_strdup (""));
}

static gboolean
show_node (DvmCli *cli, DvmClient *client, DvmNode *node, GError **error)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);
  g_autofree char *shown = NULL;
  GVariant *values[] = {
    text (dvm_node_get_name (node)),
    g_variant_new_uint32 (dvm_node_get_rank (node)),
    text (dvm_node_state_to_string (dvm_node_get_state (node))),
    text (dvm_node_get_reason (node)),
    g_variant_new_uint32 (dvm_node_get_slots (node)),
    g_variant_new_uint32 (dvm_node_get_slots_in_use (node)),
    dvm_cli_take_text (dvm_cli_join_ids (dvm_node_get_jobs (node))),
    dvm_cli_take_text (dvm_cli_describe_devices (dvm_node_get_devices (node))),
    dvm_cli_take_text (dvm_cli_join_ids (dvm_node_get_sessions (node))),
    list (dvm_node_get_aliases (node)),
    g_variant_new_int32 (dvm_node_get_pid (node)),
    g_variant_new_uint32 (dvm_node_get_parent_rank (node)),
    g_variant_new_uint32 (dvm_node_get_depth (node)),
    text (dvm_node_get_topology (node)),
    dvm_cli_take_text (dvm_cli_describe_memory (dvm_node_get_memory_allotted (node))),
    g_variant_new_uint64 ((guint64)dvm_node_get_last_seen (node)),
  };

  dvm_cli_table_add (table, values);
  if (cli->json)
    shown = dvm_node_to_json (node);
  else
    shown = dvm_cli_table_to_list (table, dvm_cli_may_use_colour (cli));
  return dvm_cli_print (shown, error) && (!cli->json || g_str_has_suffix (shown, "\n") || dvm_cli_print ("\n", error));
}

static gboolean
drain (DvmCli *cli, DvmClient *client, DvmNode *node, GError **error)
{
  return dvm_client_drain_node (client, node, dvm_cli_args_get (cli->args, "reason"), NULL, error);
}

static gboolean
resume_node (DvmCli *cli, DvmClient *client, DvmNode *node, GError **error)
{
  return dvm_client_resume_node (client, node, NULL, error);
}

static gboolean
restart (DvmCli *cli, DvmClient *client, DvmNode *node, GError **error)
{
  return dvm_client_restart_node (client, node, dvm_cli_args_has (cli->args, "force"), NULL, error);
}

static gboolean
topology (DvmCli *cli, DvmClient *client, DvmNode *node, GError **error)
{
  g_autofree char *xml = dvm_client_get_topology (client, node, NULL, error);

  return xml != NULL && dvm_cli_print (xml, error);
}

typedef gboolean (*Action) (DvmCli *cli, DvmClient *client, DvmNode *node, GError **error);

static Action
find_action (const char *name, GError **error)
{
  static const char *const names[] = { "show", "drain", "resume", "restart", "topology", NULL };
  static const Action actions[] = { show_node, drain, resume_node, restart, topology };
  const char *near = dvm_cli_suggest (name, names);

  for (gsize i = 0; names[i] != NULL; i++)
    if (strcmp (names[i], name) == 0)
      return actions[i];
  if (near != NULL)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a node cannot be told to '%s'; did you mean '%s'?"), name, near);
  else
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                 _ ("a node cannot be told to '%s': there are show, drain, resume, restart and topology"), name);
  return NULL;
}

static const char *
get_action_options (const char *name)
{
  if (strcmp (name, "drain") == 0)
    return "reason";
  if (strcmp (name, "restart") == 0)
    return "force";
  return find_action (name, NULL) != NULL ? "" : NULL;
}

static int
node_verb (DvmCli *cli, GError **error)
{
  const char *const *words = dvm_cli_args_get_words (cli->args);
  Action action = find_action (words[0], error);
  g_autoptr (DvmClient) client = NULL;
  g_autoptr (DvmNode) node = NULL;

  if (action == NULL || !dvm_cli_verb_check_options (cli->verb, cli->args, words[0], error))
    return DVM_CLI_EXIT_USAGE;
  if (words[1] == NULL)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a node is missing: dvm-cli node %s NODE"), words[0]);
      return DVM_CLI_EXIT_USAGE;
    }
  client = dvm_cli_connect (cli, error);
  if (client == NULL)
    return DVM_CLI_EXIT_FAILED;
  node = dvm_client_find_node (client, words[1], NULL, error);
  return node != NULL && action (cli, client, node, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_node = {
  .name = "node",
  .synopsis = "show [OPTION...] NODE\ndrain [OPTION...] NODE\nresume [OPTION...] NODE\nrestart [OPTION...] "
              "NODE\ntopology [OPTION...] NODE",
  .summary = N_ ("look at a node, let it take no new jobs or jobs again, start its agent again"),
  .options = { options },
  .min_words = 1,
  .max_words = 2,
  .failure = DVM_CLI_EXIT_FAILED,
  .run = node_verb,
  .get_action_options = get_action_options,
};
