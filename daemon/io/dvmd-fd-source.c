/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-fd-source.h"

static gboolean
fd_source_dispatch (GSource *source, GSourceFunc callback, gpointer user_data)
{
  if (g_source_get_ready_time (source) >= 0)
    g_source_set_ready_time (source, -1);
  return callback (user_data);
}

static GSourceFuncs fd_source_funcs = { .dispatch = fd_source_dispatch };

GSource *
dvmd_fd_source_new (GMainContext *context, const char *name, GSourceFunc func, gpointer user_data)
{
  GSource *source = g_source_new (&fd_source_funcs, sizeof (GSource));

  g_source_set_static_name (source, name);
  g_source_set_callback (source, func, user_data, NULL);
  g_source_attach (source, context);
  return source;
}

void
dvmd_fd_source_free (GSource *source)
{
  g_source_destroy (source);
  g_source_unref (source);
}
