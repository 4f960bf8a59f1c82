/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Requests whose files and long texts are read beside the main loop: the nodes that send heartbeats do not wait for it.
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* Whether what the request says, in any of its dictionaries, names files of hosts, or is long. */
gboolean dvmd_reading_takes_long (GVariant *request);

/* In a thread: it touches its data alone. */
typedef gboolean (*DvmdReadFunc) (gpointer data, GError **error);
/* Takes the data and the error, which is NULL when all is read. */
typedef void (*DvmdReadDone) (gpointer data, GError *error);

/* context (nullable): where done is called; the default one of this thread */
void dvmd_reading_begin (GMainContext *context, DvmdReadFunc read, DvmdReadDone done, gpointer data);

G_END_DECLS
