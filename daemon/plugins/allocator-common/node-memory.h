/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* How a scheduler writes sizes: case counts. The last one has no suffix, which is what a bare number means. */
typedef struct
{
  const char *suffix;
  guint64 factor;
} DvmdSizeUnit;

/* "8388608kb", "23.4G": whole bytes, at most DVMD_NODE_TABLE_MOST_MEMORY. FALSE: it is no size */
gboolean dvmd_size_parse (const char *text, const DvmdSizeUnit *units, guint64 *bytes);

/* Whether a scheduler means the same machine by both: in full, or one of them without its domain. */
gboolean dvmd_node_is_same_host (const char *a, const char *b);

/* An answer about memory, for "allotted" of dvmd_allocator_push(): an a{sa{sv}}, which is floating. memory: of each
 * node of the allocation, in bytes; 0: nothing is said */
GVariant *dvmd_node_memory_describe (DvmdAllocation *allocation, const guint64 *memory);

G_END_DECLS
