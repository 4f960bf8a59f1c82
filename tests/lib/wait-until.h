/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

static inline gboolean
wait_too_long (gpointer what)
{
  g_error ("%s: waited a minute in vain", (const char *)what);
  return G_SOURCE_REMOVE;
}

static inline gboolean
wait_look_again (gpointer user_data)
{
  return G_SOURCE_CONTINUE;
}

/* Until then the default main loop runs; a minute is only there for what hangs. Not every condition wakes the
 * loop (the state of a process, a file, a socket that is not watched), so it looks by itself as well. The
 * condition may do something: it is not evaluated again once it was true. */
#define wait_until(condition)                                                                                          \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    guint wait_limit = g_timeout_add_seconds (60, wait_too_long, (gpointer)(G_STRLOC ": " #condition));                \
    guint wait_look = g_timeout_add (10, wait_look_again, NULL);                                                       \
    while (!(condition))                                                                                               \
      g_main_context_iteration (NULL, TRUE);                                                                           \
    g_source_remove (wait_look);                                                                                       \
    g_source_remove (wait_limit);                                                                                      \
  }                                                                                                                    \
  G_STMT_END

G_END_DECLS
