/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli map: where the processes of a job would go; nothing is started. Without a DVM a private one is asked.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-daemon.h"
#include "dvm-cli-map.h"
#include "dvm-cli-old.h"
#include "dvm-cli-output.h"
#include "dvm-cli-spec.h"

static const DvmCliOption options[] = {
  { "ranks", 'r', NULL, DVM_CLI_ARG_STRING, N_ ("RANKS"), NULL, N_ ("these ranks alone, such as 0-3,7") },
  { NULL },
};

/* (transfer full) (nullable) */
static GVariant *
ask (DvmCli *cli, DvmClient *client, GError **error)
{
  g_autoptr (DvmJobSpec) spec = dvm_cli_spec_new (cli, NULL, error);

  if (spec == NULL || !dvm_cli_spec_find_sessions (spec, cli->args, client, NULL, error))
    return NULL;
  return dvm_client_map (client, spec, dvm_cli_args_get (cli->args, "ranks"), NULL, error);
}

static GVariant *
ask_embedded (DvmCli *cli, GError **error)
{
  int fd;
  const char *none = NULL;
  g_autoptr (DvmCliEmbedded) embedded = dvm_cli_embedded_new (&none, &fd, error);
  g_autoptr (DvmClient) client = embedded != NULL ? dvm_client_new_for_fd (fd) : NULL;

  dvm_cli_tell (cli, _ ("no DVM is running: a private one is asked"));
  return client != NULL && dvm_client_connect (client, NULL, error) ? ask (cli, client, error) : NULL;
}

static GVariant *
get_map (DvmCli *cli, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_client_new (cli);
  g_autoptr (GError) local_error = NULL;

  if (dvm_client_connect (client, NULL, &local_error))
    return ask (cli, client, error);
  if (!dvm_cli_is_chosen (cli) && g_error_matches (local_error, DVM_ERROR, DVM_ERROR_NOT_FOUND))
    return ask_embedded (cli, error);
  g_propagate_error (error, g_steal_pointer (&local_error));
  dvm_cli_explain_connect (cli, error);
  return NULL;
}

static int
map_verb (DvmCli *cli, GError **error)
{
  g_autoptr (GVariant) map = get_map (cli, error);

  return map != NULL && dvm_cli_print_map (cli, map, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_map = {
  .name = "map",
  .synopsis = "[OPTION...] PROGRAM [ARGUMENT...] [: [OPTION...] PROGRAM [ARGUMENT...]]...",
  .summary = N_ ("show where the processes of a job would go; nothing is started"),
  .options = { dvm_cli_app_options, dvm_cli_job_options, options, dvm_cli_old_options },
  .min_words = 1,
  .max_words = G_MAXUINT,
  .flags = DVM_CLI_PARSE_STOP_AT_WORD,
  .failure = DVM_CLI_EXIT_FAILED,
  .run = map_verb,
};
