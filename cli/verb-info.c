/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli info: everything that the DVM tells about itself.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-daemon.h"
#include "dvm-cli-info.h"
#include "dvm-cli-output.h"

static const DvmCliOption options[] = {
  { "query", 0, NULL, DVM_CLI_ARG_STRING, N_ ("KEY,..."), NULL,
    N_ ("ask for these keys instead; query-keys shows those that there are") },
  { "nspace", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NSPACE"), NULL, N_ ("of which job (with --query)") },
  { "node", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NODE"), NULL, N_ ("of which node (with --query)") },
  { "rank", 0, NULL, DVM_CLI_ARG_NUMBER, N_ ("RANK"), NULL, N_ ("of which rank (with --query)") },
  { "alloc-id", 0, NULL, DVM_CLI_ARG_STRING, N_ ("ID"), NULL, N_ ("of which allocation (with --query)") },
  { "of-req-id", 0, NULL, DVM_CLI_ARG_STRING, N_ ("ID"), NULL,
    N_ ("of the allocation that this request made (with --query)") },
  { "property", 0, NULL, DVM_CLI_ARG_STRING, N_ ("PROPERTY"), NULL,
    N_ ("which property of the allocation (with --query)") },
  { "group", 0, NULL, DVM_CLI_ARG_STRING, N_ ("GROUP"), NULL, N_ ("of which PMIx group (with --query)") },
  { "pset", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL, N_ ("of which process set (with --query)") },
  { "state-machines", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL,
    N_ ("the state machines of this version instead, as text for Graphviz; no DVM is asked") },
  { "pmix", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL,
    N_ ("the PMIx library of this version instead, and what of it is compiled in; no DVM is asked") },
  { NULL },
};

/* Options that narrow a query, apart from the rank */
static const struct
{
  const char *option;
  const char *qualifier;
} texts[] = {
  { "nspace", "nspace" },     { "node", "node" },   { "alloc-id", "alloc-id" }, { "of-req-id", "request-id" },
  { "property", "property" }, { "group", "group" }, { "pset", "pset" },
};

/* The properties of the DVM, and where we found it. */
static GVariant *
complete_properties (DvmClient *client, GVariant *properties)
{
  g_autoptr (GVariantDict) dict = g_variant_dict_new (properties);
  const char *address = dvm_client_get_address (client);

  if (address != NULL)
    g_variant_dict_insert (dict, "Address", "s", address);
  return g_variant_ref_sink (g_variant_dict_end (dict));
}

static GVariant *
query (DvmCli *cli, DvmClient *client, GError **error)
{
  g_auto (GStrv) keys = g_strsplit (dvm_cli_args_get (cli->args, "query"), ",", -1);
  GVariantDict qualifiers;

  g_variant_dict_init (&qualifiers, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    if (dvm_cli_args_has (cli->args, texts[i].option))
      g_variant_dict_insert (&qualifiers, texts[i].qualifier, "s", dvm_cli_args_get (cli->args, texts[i].option));
  if (dvm_cli_args_has (cli->args, "rank"))
    g_variant_dict_insert (&qualifiers, "rank", "u", dvm_cli_args_get_uint (cli->args, "rank", 0));
  return dvm_client_query (client, (const char *const *)keys, g_variant_dict_end (&qualifiers), NULL, error);
}

static gboolean
check_options (DvmCli *cli, GError **error)
{
  const char *narrows = dvm_cli_args_has (cli->args, "rank") ? "rank" : NULL;

  for (gsize i = 0; narrows == NULL && i < G_N_ELEMENTS (texts); i++)
    narrows = dvm_cli_args_has (cli->args, texts[i].option) ? texts[i].option : NULL;
  if (narrows != NULL && !dvm_cli_args_has (cli->args, "query"))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("--%s goes with --query"), narrows);
      return FALSE;
    }
  if (dvm_cli_args_has (cli->args, "state-machines") && (dvm_cli_args_has (cli->args, "query") || cli->json))
    {
      g_set_error_literal (error, DVM_CLI_USAGE_ERROR, 0, _ ("--state-machines goes with neither --query nor --json"));
      return FALSE;
    }
  if (dvm_cli_args_has (cli->args, "pmix")
      && (dvm_cli_args_has (cli->args, "query") || dvm_cli_args_has (cli->args, "state-machines")))
    {
      g_set_error_literal (error, DVM_CLI_USAGE_ERROR, 0, _ ("--pmix goes with neither --query nor --state-machines"));
      return FALSE;
    }
  return TRUE;
}

static int
show_machines (GError **error)
{
  static const char *const asked[] = { "--state-machines", NULL };
  g_autofree char *text = dvm_cli_ask_dvmd (asked, error);

  return text != NULL && dvm_cli_print (text, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

static gboolean
print_info (DvmCli *cli, GVariant *info, GError **error)
{
  g_autofree char *text = cli->json ? dvm_cli_info_to_json (info) : dvm_cli_info_to_text (info);

  return dvm_cli_print (text, error);
}

static int
show_pmix (DvmCli *cli, GError **error)
{
  static const char *const asked[] = { "--pmix", NULL };
  g_autofree char *text = dvm_cli_ask_dvmd (asked, error);
  g_autoptr (GVariant) info = text != NULL ? g_variant_parse (G_VARIANT_TYPE_VARDICT, text, NULL, NULL, error) : NULL;

  return info != NULL && print_info (cli, info, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

static int
show_info (DvmCli *cli, GError **error)
{
  g_autoptr (DvmClient) client = NULL;
  g_autoptr (GVariant) properties = NULL;
  g_autoptr (GVariant) all = NULL;
  gboolean has_keys;

  if (!check_options (cli, error))
    return DVM_CLI_EXIT_USAGE;
  if (dvm_cli_args_has (cli->args, "state-machines"))
    return show_machines (error);
  if (dvm_cli_args_has (cli->args, "pmix"))
    return show_pmix (cli, error);
  client = dvm_cli_connect (cli, error);
  if (client == NULL)
    return DVM_CLI_EXIT_FAILED;
  has_keys = dvm_cli_args_has (cli->args, "query");
  properties = has_keys ? query (cli, client, error) : dvm_client_get_info (client, NULL, error);
  if (properties == NULL)
    return DVM_CLI_EXIT_FAILED;
  all = has_keys ? g_variant_ref (properties) : complete_properties (client, properties);
  return print_info (cli, all, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_info = {
  .name = "info",
  .synopsis = "[OPTION...]",
  .summary = N_ ("show all properties of the DVM"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = show_info,
};
