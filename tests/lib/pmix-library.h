/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <malloc.h>
#include <pmix_version.h>

/*
 * The differences between releases of libpmix, as far as tests see them. No header of the library says it, so the
 * release does: that of the headers is the one that is run. `pmix-library` prints the names of those that hold.
 */

/* A fence that fails is told to all ranks of a node, and not to the first one alone, with success to the others. */
#define PMIX_LIBRARY_TELLS_ALL (PMIX_NUMERIC_VERSION < 0x00040209)
/* The host is asked for keys of PMIx's own about a job that the server does not know. */
#define PMIX_LIBRARY_ASKS_FOR_JOBS (PMIX_NUMERIC_VERSION < 0x00050000)
/* A question for attributes of which there are none is answered by an empty list; its pattrs falls over that. */
#define PMIX_LIBRARY_LISTS_NOTHING (PMIX_NUMERIC_VERSION >= 0x00050000)
/* A client asks for the attributes of functions without their names, and its server finds those of none. */
#define PMIX_LIBRARY_LEAVES_OUT_NAMES (PMIX_NUMERIC_VERSION >= 0x00050007)
/* Peers of a job on a node that it is not on, or that is not there, are none, which is no error. */
#define PMIX_LIBRARY_FINDS_NO_PEERS (PMIX_NUMERIC_VERSION >= 0x00050007)
/* Values that are to be fresh come from what the server of the node has had, also those of ranks of other nodes. */
#define PMIX_LIBRARY_REFRESHES_NEARBY (PMIX_NUMERIC_VERSION >= 0x00050000)
/* A client knows the address of its server, and says it when its own job is asked for that. */
#define PMIX_LIBRARY_KNOWS_SERVER (PMIX_NUMERIC_VERSION >= 0x00050003)
/*
 * A client that wants fresh values asks its server at once. Later ones look into what they have first, and write to
 * an address that nothing has set if there is a rank without a namespace.
 */
#define PMIX_LIBRARY_ASKS_AT_ONCE (PMIX_NUMERIC_VERSION < 0x00040205)

/* The DVM marks the output that is pulled, and says that a pull has ended. */
#define PMIX_LIBRARY_MARKS (PMIX_NUMERIC_VERSION < 0x00050000)

/* The DVM serves groups, where its part of that was built. */
#define PMIX_LIBRARY_HAS_GROUPS (PMIX_NUMERIC_VERSION < 0x00060000)
/*
 * A client ends no groups but those that it has constructed, and has forgotten each when it has tried to; it falls
 * over PMIx_Group_leave().
 */
#define PMIX_LIBRARY_FORGETS_GROUPS (PMIX_NUMERIC_VERSION >= 0x00040204)

/* PMIx_tool_finalize() of 5.0 reads an event base that it has freed, which MALLOC_PERTURB_ would have overwritten. */
#define PMIX_LIBRARY_READS_FREED (PMIX_NUMERIC_VERSION >= 0x00050000)

static inline void
pmix_begin_tool (void)
{
  if (PMIX_LIBRARY_READS_FREED)
    mallopt (M_PERTURB, 0);
}
