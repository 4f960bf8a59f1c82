/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

static inline gboolean
wait_too_long (gpointer user_data)
{
  g_error ("waited for a minute");
  return G_SOURCE_REMOVE;
}

/* Until then the main loop runs; a minute is only there for what hangs. */
#define wait_until(condition)                                                                                          \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    guint guard = g_timeout_add_seconds (60, wait_too_long, NULL);                                                     \
    while (!(condition))                                                                                               \
      g_main_context_iteration (NULL, TRUE);                                                                           \
    g_source_remove (guard);                                                                                           \
  }                                                                                                                    \
  G_STMT_END

G_END_DECLS
