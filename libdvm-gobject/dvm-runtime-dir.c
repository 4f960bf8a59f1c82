/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the DVMs of a user have their sockets and files.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-runtime-dir"

#include <errno.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dvm-client.h"
#include "dvm-records-private.h"

#define DEFAULT_NAME "default"

static gboolean
is_directory_of_ours (const char *path)
{
  struct stat st;

  return path[0] == '/' && stat (path, &st) == 0 && S_ISDIR (st.st_mode) && st.st_uid == geteuid ();
}

/* /tmp is everybody's: somebody else may have taken that name. */
static gboolean
is_ours_or_free (const char *path)
{
  struct stat st;

  if (lstat (path, &st) != 0)
    return errno == ENOENT;
  return S_ISDIR (st.st_mode) && st.st_uid == geteuid ();
}

/* One that several machines may share has a place for each. NULL: a user whom the system does not know has none. */
static char *
build_home_place (const char *name)
{
  g_autofree char *place = g_strdup_printf (".dvm-%s", g_get_host_name ());

  if (g_getenv ("HOME") == NULL && getpwuid (getuid ()) == NULL)
    return NULL;
  return g_build_filename (g_get_home_dir (), place, name, NULL);
}

char *
_dvm_runtime_dir (const char *name)
{
  /* Not g_get_user_runtime_dir(): that falls back to the cache directory, which may be on a shared file system. */
  const char *runtime_dir = g_getenv ("XDG_RUNTIME_DIR");
  g_autofree char *shared = g_strdup_printf ("/tmp/dvm-%u", (guint)geteuid ());
  g_autofree char *own = NULL;

  if (name == NULL || name[0] == '\0')
    name = DEFAULT_NAME;
  if (runtime_dir != NULL && is_directory_of_ours (runtime_dir))
    return g_build_filename (runtime_dir, "dvm", name, NULL);
  own = build_home_place (name);
  /* A DVM that is there stays to be found when the name in /tmp becomes free. */
  if (own != NULL && (is_directory_of_ours (own) || !is_ours_or_free (shared)))
    return g_steal_pointer (&own);
  return g_build_filename (shared, name, NULL);
}

/**
 * dvm_client_build_runtime_dir:
 * @name: (nullable): the name of a DVM of this user, or %NULL for that without one
 *
 * Tells where a DVM of that name has its socket ("bus") and files: "dvm/NAME" in XDG_RUNTIME_DIR, else
 * /tmp/dvm-UID/NAME, or, where that belongs to somebody else, ".dvm-HOST/NAME" in the home directory. Nothing is made,
 * and there may be no such DVM.
 *
 * Returns: (transfer full) (type filename): the path
 * Since: 0.1
 */
char *
dvm_client_build_runtime_dir (const char *name)
{
  return _dvm_runtime_dir (name);
}
