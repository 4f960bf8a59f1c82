/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/*
 * Says what the libpmix at hand does, for tests that are not in C: one name of pmix-library.h a line.
 */

#include <stdio.h>

#include "pmix-library.h"

int
main (void)
{
  if (PMIX_LIBRARY_TELLS_ALL)
    puts ("tells-all");
  if (PMIX_LIBRARY_ASKS_FOR_JOBS)
    puts ("asks-for-jobs");
  if (PMIX_LIBRARY_LISTS_NOTHING)
    puts ("lists-nothing");
  if (PMIX_LIBRARY_LEAVES_OUT_NAMES)
    puts ("leaves-out-names");
  if (PMIX_LIBRARY_FINDS_NO_PEERS)
    puts ("finds-no-peers");
  if (PMIX_LIBRARY_REFRESHES_NEARBY)
    puts ("refreshes-nearby");
  if (PMIX_LIBRARY_KNOWS_SERVER)
    puts ("knows-server");
  if (PMIX_LIBRARY_ASKS_AT_ONCE)
    puts ("asks-at-once");
  if (PMIX_LIBRARY_MARKS)
    puts ("marks");
  if (PMIX_LIBRARY_HAS_GROUPS)
    puts ("groups");
  if (PMIX_LIBRARY_FORGETS_GROUPS)
    puts ("forgets-groups");
  if (PMIX_LIBRARY_READS_FREED)
    puts ("reads-freed");
  return 0;
}
