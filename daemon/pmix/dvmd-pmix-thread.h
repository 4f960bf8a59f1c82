/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * Whether the thread of this process with that number (gettid(2)) sleeps; TRUE also where that cannot be known. The
 * library answers a call before it has written what it was to tell clients: its event loop writes in a later turn. When
 * its thread sleeps, it has had that turn.
 */
gboolean dvmd_pmix_thread_is_asleep (int thread);

G_END_DECLS
