/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * (transfer full): "(vector,(0,4,2))": from node 0 on, 4 nodes with 2 ranks each; what follows begins anew, as often as
 * there are ranks. nodes: by rank; they may have any numbers.
 */
char *dvmd_pmi_mapping_build (const guint32 *nodes, gsize n_ranks);

G_END_DECLS
