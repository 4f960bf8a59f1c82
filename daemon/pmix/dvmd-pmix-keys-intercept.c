/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The function by which libpmix 4.2 finds the number of a key, which it finds before its own.
 *
 * The library compares the key with each of some 500 in turn, for each value that it stores or reads: a tenth of the
 * processor time of a server in a job that only starts and ends (4.2.2). Its entries of reserved keys are made once,
 * in static memory, so they are kept here by key. All others, and those not found, are asked of the library.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include <dlfcn.h>
#include <string.h>

#include <pmix_server.h>

#include "src/util/pmix_hash.h"

#include "dvmd-pmix-groups.h"

#define EXPORTED __attribute__ ((visibility ("default")))

typedef pmix_regattr_input_t *(*LookupKey) (uint32_t number, const char *key);

static LookupKey
find_next (void)
{
  static gsize next_once;

  if (g_once_init_enter (&next_once))
    g_once_init_leave (&next_once, (gsize)dlsym (RTLD_NEXT, "pmix_hash_lookup_key"));
  return (LookupKey)next_once;
}

/* The library's own thread calls, and whichever thread calls the library. */
typedef struct
{
  GMutex lock;
  GHashTable *entries;
} Kept;

static Kept *
get_kept (void)
{
  static gsize kept_once;

  if (g_once_init_enter (&kept_once))
    {
      Kept *kept = g_new0 (Kept, 1);

      g_mutex_init (&kept->lock);
      kept->entries = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      g_once_init_leave (&kept_once, (gsize)kept);
    }
  return (Kept *)kept_once;
}

EXPORTED pmix_regattr_input_t *
pmix_hash_lookup_key (uint32_t number, const char *key)
{
  pmix_regattr_input_t *entry;
  Kept *kept;

  if (number != UINT32_MAX || key == NULL || !PMIX_CHECK_RESERVED_KEY (key) || !dvmd_pmix_groups_are_served ())
    return find_next () (number, key);
  kept = get_kept ();
  g_mutex_lock (&kept->lock);
  entry = g_hash_table_lookup (kept->entries, key);
  g_mutex_unlock (&kept->lock);
  if (entry != NULL)
    return entry;
  entry = find_next () (number, key);
  if (entry != NULL)
    {
      g_mutex_lock (&kept->lock);
      g_hash_table_replace (kept->entries, g_strdup (key), entry);
      g_mutex_unlock (&kept->lock);
    }
  return entry;
}
