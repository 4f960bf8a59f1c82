/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * A source of the main loop that runs func in the next turn when it was asked for, or when one of its descriptors is
 * ready (g_source_add_unix_fd() and the like; there are none at first). g_source_set_ready_time() would do the same,
 * but writes to the loop's wake-up descriptor each time, and the loop goes round once in vain for it. Therefore from
 * the thread that runs the context alone.
 */

/* (transfer full): attached to context (nullable: the default one). name is static. func goes on as GSourceFuncs do. */
GSource *dvmd_turn_source_new (GMainContext *context, const char *name, GSourceFunc func, gpointer user_data);
/* Once for all requests until it runs; what is asked for while it runs counts for the turn after. */
void dvmd_turn_source_request (GSource *source);
/* g_source_destroy() and g_source_unref() */
void dvmd_turn_source_free (GSource *source);

G_END_DECLS
