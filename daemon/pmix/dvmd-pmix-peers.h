/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * libpmix believes the user that a peer claims to be, and shows no socket; the kernel knows who has connected. Whether
 * there is a connection to this port of ours from a process of another user than ours and root.
 */
gboolean dvmd_pmix_peers_find_stranger (guint port, guint *uid);
/* Ends all of them, and returns how many there were. */
guint dvmd_pmix_peers_expel_strangers (guint port);
/* Who holds the end at local_port of a connection of this machine to remote_port; FALSE: nobody, or not any more. */
gboolean dvmd_pmix_peers_find_user (guint local_port, guint remote_port, guint *uid);

G_END_DECLS
