/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * The second line, behind the door (dvmd-pmix-door.c). Whether there is a connection to this port of ours, in whatever
 * state, from a process of another user than ours and root.
 */
gboolean dvmd_pmix_peers_find_stranger (guint port, guint *uid);
/* Ends all of them, and returns how many there were. */
guint dvmd_pmix_peers_expel_strangers (guint port);

G_END_DECLS
