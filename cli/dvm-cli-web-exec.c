/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The arguments are those of this process: dvm-web reads them as dvm-cli has.
 */

#include "config.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <string.h>
#include <unistd.h>

#include "dvm-cli-web-run.h"

#define PROGRAM "dvm-web"

/* (transfer full) (nullable) */
static char *
find_program (GError **error)
{
  const char *given = g_getenv ("DVM_LIBEXEC_DIR");
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *directory = self != NULL ? g_path_get_dirname (self) : g_strdup (DVM_BIN_DIR);
  g_autofree char *set = g_build_filename (given != NULL && given[0] != '\0' ? given : DVM_LIBEXEC_DIR, PROGRAM, NULL);
  g_autofree char *beside = g_build_filename (directory, PROGRAM, NULL);
  g_autofree char *installed = g_build_filename (directory, "..", "libexec", "dvm", PROGRAM, NULL);
  const char *const candidates[] = { set, beside, installed, DVM_LIBEXEC_DIR "/" PROGRAM };

  for (gsize i = 0; i < G_N_ELEMENTS (candidates); i++)
    if (access (candidates[i], X_OK) == 0)
      return g_strdup (candidates[i]);
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND,
               _ ("%s, which serves the page, is not in %s: it is built where libsoup 3 is (-Dweb=enabled), and may be "
                  "a package of its own"),
               PROGRAM, DVM_LIBEXEC_DIR);
  return NULL;
}

/* (transfer full) (nullable) */
static char **
read_arguments (GError **error)
{
  g_autoptr (GPtrArray) arguments = g_ptr_array_new ();
  g_autofree char *text = NULL;
  gsize length;

  if (!g_file_get_contents ("/proc/self/cmdline", &text, &length, error))
    return NULL;
  for (gsize i = 0; i < length; i += strlen (text + i) + 1)
    g_ptr_array_add (arguments, g_strdup (text + i));
  g_ptr_array_add (arguments, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&arguments), FALSE);
}

int
dvm_cli_web_run (DvmCli *cli, GError **error)
{
  g_autofree char *path = find_program (error);
  g_auto (GStrv) arguments = path != NULL ? read_arguments (error) : NULL;

  if (arguments == NULL)
    return DVM_CLI_EXIT_FAILED;
  execv (path, arguments);
  g_set_error (error, G_IO_ERROR, g_io_error_from_errno (errno), _ ("cannot start %s: %s"), path, g_strerror (errno));
  return DVM_CLI_EXIT_FAILED;
}
