/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether the library's thread has done all that it had to do.
 */

#include "config.h"

#include "dvmd-pmix-thread.h"

#include <string.h>

gboolean
dvmd_pmix_thread_is_asleep (int thread)
{
  g_autofree char *path = g_strdup_printf ("/proc/self/task/%d/stat", thread);
  g_autofree char *text = NULL;
  const char *state;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return TRUE;
  /* "NUMBER (NAME) STATE ...": the name may have any character (proc_pid_stat(5)). */
  state = strrchr (text, ')');
  return state == NULL || state[1] != ' ' || state[2] != 'R';
}
