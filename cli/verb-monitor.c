/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli monitor: the desktop program, which is one of its own, takes the place of this one.
 */

#include "config.h"

#include <errno.h>
#include <glib/gi18n-lib.h>
#include <unistd.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-output.h"

static const DvmCliOption options[] = {
  { "style", 0, NULL, DVM_CLI_ARG_CHOICE, N_ ("STYLE"), "default|light|dark",
    N_ ("light or dark, whatever the desktop is") },
  { NULL },
};

/* (transfer full) (nullable) */
static char *
find_monitor (GError **error)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *directory = self != NULL ? g_path_get_dirname (self) : g_strdup (DVM_BIN_DIR);
  g_autofree char *beside = g_build_filename (directory, "dvm-monitor", NULL);
  g_autofree char *in_build_tree = g_build_filename (directory, "..", "introspection", "monitor", "dvm-monitor", NULL);
  const char *const candidates[] = { beside, in_build_tree, DVM_BIN_DIR "/dvm-monitor" };
  g_autofree char *in_path = g_find_program_in_path ("dvm-monitor");

  for (gsize i = 0; i < G_N_ELEMENTS (candidates); i++)
    if (access (candidates[i], X_OK) == 0)
      return g_strdup (candidates[i]);
  if (in_path != NULL)
    return g_steal_pointer (&in_path);
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
               _ ("dvm-monitor is not installed: it is a package of its own, and 'dvm-cli top' needs none"));
  return NULL;
}

static gboolean
check_options (DvmCli *cli, GError **error)
{
  if (cli->json)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                 _ ("option --json: the monitor is a window; 'dvm-cli top --json' prints"));
  else if (cli->bus != NULL && g_strcmp0 (cli->bus, "none") != 0)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                 _ ("option --bus: the monitor looks at all usual places; --name or --socket says which DVM"));
  else
    return TRUE;
  return FALSE;
}

static void
start_monitor (DvmCli *cli, const char *path, GError **error)
{
  const char *style = dvm_cli_args_get (cli->args, "style");
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);
  int saved_errno;

  g_ptr_array_add (argv, g_strdup (path));
  if (cli->socket != NULL || cli->bus != NULL)
    {
      g_autofree char *socket = dvm_cli_socket_path (cli);

      g_ptr_array_add (argv, g_strconcat ("--socket=", socket, NULL));
    }
  else if (cli->name != NULL)
    g_ptr_array_add (argv, g_strconcat ("--name=", cli->name, NULL));
  if (style != NULL)
    g_ptr_array_add (argv, g_strconcat ("--style=", style, NULL));
  g_ptr_array_add (argv, NULL);
  execv (path, (char **)argv->pdata);
  saved_errno = errno;
  g_set_error (error, G_IO_ERROR, g_io_error_from_errno (saved_errno), _ ("cannot start %s: %s"), path,
               g_strerror (saved_errno));
}

static int
monitor_verb (DvmCli *cli, GError **error)
{
  g_autofree char *path = NULL;

  if (!check_options (cli, error))
    return DVM_CLI_EXIT_USAGE;
  path = find_monitor (error);
  if (path != NULL)
    start_monitor (cli, path, error);
  return DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_monitor = {
  .name = "monitor",
  .synopsis = "[OPTION...]",
  .summary = N_ ("watch a DVM in a window of the desktop, and act on it there"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = monitor_verb,
};
