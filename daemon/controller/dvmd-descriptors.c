/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A request that needs more descriptors than there are is refused before it begins.
 */

#include "config.h"

#include "dvmd-descriptors.h"

#include <sys/resource.h>

#include <dvm.h>

/* For those that are open for a moment. */
#define SPARE 32

static guint
count_open (void)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/fd", 0, NULL);
  guint n = 0;

  while (dir != NULL && g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

gboolean
dvmd_descriptors_check (guint64 n, const char *what, GError **error)
{
  guint n_open = count_open ();
  struct rlimit limit;

  if (getrlimit (RLIMIT_NOFILE, &limit) != 0 || n + n_open + SPARE <= limit.rlim_cur)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE,
               "Too many open files: %s would take %" G_GUINT64_FORMAT
               ", %u are open, %u are kept free, and the limit of dvmd is %" G_GUINT64_FORMAT
               " (ulimit -n, LimitNOFILE)",
               what, n, n_open, SPARE, (guint64)limit.rlim_cur);
  return FALSE;
}
