/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli help: the verbs, one of them, or what users of other launchers look for.
 */

#include "config.h"

#include <gio/gio.h>
#include <glib/gi18n-lib.h>

#include "dvm-cli-help.h"
#include "dvm-cli-screen.h"
#include "dvm-cli-verb.h"

static const DvmCliOption options[] = {
  { NULL },
};

/* (transfer full) (nullable) */
static char *
find_text (const char *topic, GError **error)
{
  static const char *const launchers[] = { "mpirun", "mpiexec", "prun", "prterun", "srun", "dvm-srun", "prte", NULL };
  const DvmCliVerb *verb = topic != NULL ? dvm_cli_verb_find (topic) : NULL;

  if (topic == NULL)
    return dvm_cli_help_overview ();
  if (verb != NULL)
    return dvm_cli_help_verb (verb);
  if (g_strv_contains (launchers, topic))
    return dvm_cli_help_others ();
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("there is no help on '%s': it takes a verb, mpirun, prun or srun"),
               topic);
  return NULL;
}

static int
help_verb (DvmCli *cli, GError **error)
{
  g_autofree char *text = NULL;

  if (cli->json)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --json: help is text for people"));
      return DVM_CLI_EXIT_USAGE;
    }
  text = find_text (dvm_cli_args_get_words (cli->args)[0], error);
  return text != NULL && dvm_cli_show (cli, text, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_help = {
  .name = "help",
  .synopsis = "VERB\n"
              "mpirun",
  .summary = N_ ("show the help of a verb, or what users of mpirun, prun and srun look for"),
  .options = { options },
  .max_words = 1,
  .failure = DVM_CLI_EXIT_FAILED,
  .run = help_verb,
};
