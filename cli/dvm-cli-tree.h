/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes as the tree that their daemons are.
 */

#pragma once

#include <dvm.h>

G_BEGIN_DECLS

/*
 * nodes: (element-type DvmNode) (inout): sorted so that each stands below its parent. Returns the lines that go before
 * the name of each, "│  ├─ " for instance; whoever hangs on none of them has an empty one. (transfer full)
 * plain: in ASCII
 */
GPtrArray *dvm_cli_tree_sort (GPtrArray *nodes, gboolean plain);

G_END_DECLS
