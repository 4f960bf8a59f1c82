/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <string.h>
#include <sys/types.h>

#include <glib.h>

G_BEGIN_DECLS

/* The letter of /proc/PID/stat ('T' is stopped); '-' when there is no such process. */
static inline char
get_process_state (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/stat", pid);
  g_autofree char *text = NULL;

  /* The text before the last bracket is the program's name, whatever is in it. */
  return g_file_get_contents (path, &text, NULL, NULL) ? strrchr (text, ')')[2] : '-';
}

/* For those who have no main loop to run meanwhile. */
static inline void
await_process_state (pid_t pid, char state)
{
  gint64 limit = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;

  while (get_process_state (pid) != state)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, limit);
      g_usleep (1000);
    }
}

G_END_DECLS
