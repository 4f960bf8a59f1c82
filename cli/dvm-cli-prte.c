/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The options of prte, which is dvm-cli start here.
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-foreign.h"
#include "dvm-cli-parameters.h"

#define OF_JOBS N_ ("that is for a job: 'dvm-cli run' takes it, and so do prun and mpirun here")

static const DvmCliOption options[] = {
  { "default-hostfile", 0, "-default-hostfile", DVM_CLI_ARG_STRING, N_ ("FILE"), NULL, NULL, "--hostfile %" },
  { "prefix", 0, NULL, DVM_CLI_ARG_STRING, N_ ("DIR"), NULL, NULL, "--set launcher-prefix=%" },
  { "launch-agent", 0, "-launch-agent", DVM_CLI_ARG_STRING, N_ ("PROGRAM"), NULL,
    N_ ("the settings launcher-command and launcher-prefix say how agents are started; --set gives one") },
  { "no-ready-msg", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--quiet" },
  { "prtemca", 0, "-prtemca --gprtemca", DVM_CLI_ARG_PAIR, N_ ("NAME VALUE"), NULL, NULL, "--set SETTING=VALUE" },
  { "mca", 0, "-mca --gmca -gmca --omca", DVM_CLI_ARG_PAIR, N_ ("NAME VALUE"), NULL, NULL, "--set SETTING=VALUE" },
  { "daemonize", 0, "-daemonize", DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "show-progress", 0, "-show-progress", DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "allow-run-as-root", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "hetero-nodes", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "uniform-nodes", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "set-sid", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "leave-session-attached", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "noprefix", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "personality", 0, "-personality", DVM_CLI_ARG_CHOICE, N_ ("KIND"), "prte|ompi|pmix", NULL, DVM_CLI_NOT_NEEDED },
  { "pmixmca", 0, "-pmixmca --gpmixmca", DVM_CLI_ARG_PAIR, N_ ("NAME VALUE"), NULL,
    N_ ("PMIX_MCA_NAME=VALUE in the environment of 'dvm-cli start' is for the libpmix of the DVM; run --pmixmca is for "
        "that of a job") },
  { "tune", 0, "-tune --am", DVM_CLI_ARG_STRING, N_ ("FILE"), NULL,
    N_ ("the settings of a DVM are in dvm.conf, and --set gives one; run --tune is for a job") },
  { "keepalive", 0, "-keepalive", DVM_CLI_ARG_STRING, N_ ("PIPE"), NULL,
    N_ ("'dvm-cli stop' ends a DVM, and so does a signal to 'dvm-cli start --foreground'; run --keepalive is for a "
        "job") },
  { "forward-signals", 0, "-forward-signals", DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, OF_JOBS },
  { "runtime-options", 0, "--rtos", DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, OF_JOBS },
  { "singleton", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL,
    N_ ("a program that has started itself finds a running DVM, and needs no other") },
  { NULL },
};

/* A setting that was typed, too, would be lost to the parameter, or the other way round. */
static gboolean
check_settings (DvmCliForeign *self, const char *setting, GError **error)
{
  g_autofree const char **typed = dvm_cli_args_get_all (self->args, "set");
  gsize length = strcspn (setting, "=") + 1;

  for (gsize i = 0; typed[i] != NULL; i++)
    if (strncmp (typed[i], setting, length) == 0 && strcmp (typed[i], setting) != 0)
      {
        g_autofree char *other = g_strconcat ("--set ", typed[i], NULL);

        g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("'%s' and '%s' contradict each other"), other, self->shown);
        return FALSE;
      }
  return TRUE;
}

/* A parameter is an option or a setting of the DVM, or has nothing to steer here. */
static gboolean
convert (DvmCliForeign *self, const DvmCliOption *option, const char *value, gboolean *done, GError **error)
{
  const char *name;
  g_autofree char *text = NULL;

  if (option->arg != DVM_CLI_ARG_PAIR)
    return TRUE;
  *done = TRUE;
  name = dvm_cli_parameter_to_option (value, &text);
  if (name == NULL || dvm_cli_option_find (self->lists, name) == NULL)
    {
      g_set_error (
          error, DVM_CLI_USAGE_ERROR, 0,
          _ ("option %s: a DVM has no such parameter; dvm.conf has settings, --set gives one, and run --mca is "
             "for programs"),
          self->shown);
      return FALSE;
    }
  return (strcmp (name, "set") != 0 || check_settings (self, text, error))
         && dvm_cli_foreign_add (self, name, text, error);
}

const DvmCliDialect dvm_cli_prte = {
  .title = N_ ("Options of prte, which start takes:"),
  .options = options,
  .convert = convert,
};
