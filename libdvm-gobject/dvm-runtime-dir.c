/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-runtime-dir"

#include <sys/stat.h>
#include <unistd.h>

#include "dvm-records-private.h"

#define DEFAULT_NAME "default"

static gboolean
is_directory_of_ours (const char *path)
{
  struct stat st;

  return path[0] == '/' && stat (path, &st) == 0 && S_ISDIR (st.st_mode) && st.st_uid == geteuid ();
}

char *
_dvm_runtime_dir (const char *name)
{
  /* Not g_get_user_runtime_dir(): that falls back to the cache directory, which may be on a shared file system. */
  const char *runtime_dir = g_getenv ("XDG_RUNTIME_DIR");

  if (name == NULL || name[0] == '\0')
    name = DEFAULT_NAME;
  if (runtime_dir != NULL && is_directory_of_ours (runtime_dir))
    return g_build_filename (runtime_dir, "dvm", name, NULL);
  return g_strdup_printf ("/tmp/dvm-%u/%s", (guint)geteuid (), name);
}
