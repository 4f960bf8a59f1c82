/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * A source without descriptors, attached to context: add and change them by g_source_add_unix_fd() and the like, or
 * make it run by g_source_set_ready_time(). func is called for either; the ready time has been taken back then.
 */
GSource *dvmd_fd_source_new (GMainContext *context, const char *name, GSourceFunc func, gpointer user_data);

/* g_source_destroy() and g_source_unref() */
void dvmd_fd_source_free (GSource *source);

G_END_DECLS
