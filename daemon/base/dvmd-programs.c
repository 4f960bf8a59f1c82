/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The other programs of this build are found, installed or in the build tree.
 */

#include "config.h"

#include "dvmd-programs.h"

#include <unistd.h>

#include <dvm.h>

#include "dvm-installation-private.h"

static char *
find_file (const char *name, int mode, GError **error)
{
  const char *given = g_getenv ("DVM_LIBEXEC_DIR");
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *directory = self != NULL ? g_path_get_dirname (self) : g_strdup (DVM_BIN_DIR);
  g_autofree char *beside = g_build_filename (directory, name, NULL);
  g_autofree char *installed = g_build_filename (directory, "..", "libexec", "dvm", name, NULL);
  g_autofree char *built = g_build_filename (directory, "..", "cli", name, NULL);
  g_autofree char *set = given != NULL && given[0] != '\0' ? g_build_filename (given, name, NULL) : NULL;
  const char *const candidates[] = { set, beside, installed, built, DVM_LIBEXEC_DIR, DVM_BIN_DIR };

  for (gsize i = 0; i < G_N_ELEMENTS (candidates); i++)
    {
      g_autofree char *path = NULL;

      if (candidates[i] == NULL)
        continue;
      path = i < 4 ? g_canonicalize_filename (candidates[i], "/") : g_build_filename (candidates[i], name, NULL);
      if (access (path, mode) == 0)
        return g_steal_pointer (&path);
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
               "%s is neither in %s nor in %s nor in %s: the installation is not whole; DVM_LIBEXEC_DIR may name its "
               "directory",
               name, directory, DVM_LIBEXEC_DIR, DVM_BIN_DIR);
  return NULL;
}

char *
dvmd_programs_find (const char *name, GError **error)
{
  return find_file (name, X_OK, error);
}

char *
dvmd_programs_find_part (const char *name, GError **error)
{
  return find_file (name, R_OK, error);
}

char *
dvmd_programs_find_folder (const char *path)
{
  return _dvm_installation_find (path);
}
