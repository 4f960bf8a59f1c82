/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli info: everything that the DVM tells about itself.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-info.h"
#include "dvm-cli-output.h"

static const DvmCliOption options[] = {
  { NULL },
};

/* Its properties, and where we found it. */
static GVariant *
complete (DvmClient *client, GVariant *properties)
{
  g_autoptr (GVariantDict) dict = g_variant_dict_new (properties);
  const char *address = dvm_client_get_address (client);

  if (address != NULL)
    g_variant_dict_insert (dict, "Address", "s", address);
  return g_variant_ref_sink (g_variant_dict_end (dict));
}

static int
show_info (DvmCli *cli, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_connect (cli, error);
  g_autoptr (GVariant) properties = client != NULL ? dvm_client_get_info (client, NULL, error) : NULL;
  g_autoptr (GVariant) all = NULL;
  g_autofree char *text = NULL;

  if (properties == NULL)
    return DVM_CLI_EXIT_FAILED;
  all = complete (client, properties);
  text = cli->json ? dvm_cli_info_to_json (all) : dvm_cli_info_to_text (all);
  return dvm_cli_print (text, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_info = {
  .name = "info",
  .synopsis = "[OPTION...]",
  .summary = N_ ("show all properties of the DVM"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = show_info,
};
