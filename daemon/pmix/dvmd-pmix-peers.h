/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * libpmix believes the user that a peer claims to be, and shows no socket; the kernel knows who has connected. Ends the
 * connections to this port of ours that come from processes of other users than ours and root, and returns how many
 * there were.
 */
guint dvmd_pmix_peers_expel_strangers (guint port);

G_END_DECLS
