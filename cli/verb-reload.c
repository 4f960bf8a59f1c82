/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli reload: has the DVM read its settings again.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-output.h"

static const DvmCliOption options[] = {
  { NULL },
};

static int
reload_settings (DvmCli *cli, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_connect (cli, error);

  if (client == NULL || !dvm_client_reload (client, NULL, error))
    return DVM_CLI_EXIT_FAILED;
  if (cli->json && !dvm_cli_print ("{\"reloaded\":true}\n", error))
    return DVM_CLI_EXIT_FAILED;
  return DVM_CLI_EXIT_OK;
}

const DvmCliVerb dvm_cli_verb_reload = {
  .name = "reload",
  .synopsis = "[OPTION...]",
  .summary = N_ ("have the DVM read its settings again"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = reload_settings,
};
