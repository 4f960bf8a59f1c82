/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A tree of dvm that has been moved since it was installed finds its own files: settings, plugins and translations.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-installation"

#include "dvm-installation-private.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The rest of a path below the prefix; NULL if it is elsewhere, as /etc is for /usr. */
static const char *
skip_prefix (const char *path)
{
  gsize length = strlen (DVM_PREFIX);

  return g_str_has_prefix (path, DVM_PREFIX) && path[length] == '/' ? path + length : NULL;
}

/* The prefix of the tree that this library lies in; NULL if it lies in none, as in a build tree. */
static char *
find_prefix (void)
{
  const char *below = skip_prefix (DVM_LIB_DIR);
  g_autofree char *library = NULL;
  g_autofree char *directory = NULL;
  Dl_info info;

  if (below == NULL || dladdr (find_prefix, &info) == 0)
    return NULL;
  library = realpath (info.dli_fname, NULL);
  directory = library != NULL ? g_path_get_dirname (library) : NULL;
  if (directory == NULL || !g_str_has_suffix (directory, below))
    return NULL;
  return g_strndup (directory, strlen (directory) - strlen (below));
}

char *
_dvm_installation_find (const char *path)
{
  const char *below = skip_prefix (path);
  g_autofree char *prefix = below != NULL ? find_prefix () : NULL;
  g_autofree char *moved = prefix != NULL ? g_strconcat (prefix, below, NULL) : NULL;

  return moved != NULL && access (moved, F_OK) == 0 ? g_steal_pointer (&moved) : g_strdup (path);
}
