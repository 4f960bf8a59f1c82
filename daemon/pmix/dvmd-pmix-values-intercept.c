/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The function by which libpmix 5.0 finds a value, which it finds before its own.
 *
 * A client that asks for one of PMIx's own keys is sent that value alone, and without the qualifiers by which it was
 * found (5.0.7): the client then has a value without any, and does not find what it has asked for. So it keeps them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <pmix_server.h>

#include "src/include/pmix_globals.h"
#include "src/util/pmix_hash.h"

#include "dvmd-pmix-groups.h"

#define EXPORTED __attribute__ ((visibility ("default")))

typedef pmix_status_t (*FetchValue) (pmix_hash_table_t *table, pmix_rank_t rank, const char *key, pmix_info_t *info,
                                     size_t n_info, pmix_list_t *values, pmix_keyindex_t *keys);

static FetchValue
find_next (void)
{
  static gsize next_once;

  if (g_once_init_enter (&next_once))
    g_once_init_leave (&next_once, (gsize)dlsym (RTLD_NEXT, "pmix_hash_fetch"));
  return (FetchValue)next_once;
}

static size_t
count_qualifiers (const pmix_info_t *info, size_t n_info)
{
  size_t n = 0;

  for (size_t i = 0; info != NULL && i < n_info; i++)
    n += PMIX_INFO_IS_QUALIFIER (&info[i]) ? 1 : 0;
  return n;
}

/* As the library sends those that nobody has asked for by name: the value, and its qualifiers behind it. */
static void
qualify (pmix_kval_t *found, const pmix_info_t *info, size_t n_info, size_t n_qualifiers)
{
  pmix_data_array_t *array;
  pmix_info_t *entry;

  PMIX_DATA_ARRAY_CREATE (array, n_qualifiers + 1, PMIX_INFO);
  entry = array->array;
  PMIX_LOAD_KEY (entry->key, found->key);
  entry->value = *found->value;
  for (size_t i = 0; i < n_info; i++)
    if (PMIX_INFO_IS_QUALIFIER (&info[i]))
      PMIX_INFO_XFER (++entry, &info[i]);
  found->value->type = PMIX_DATA_ARRAY;
  found->value->data.darray = array;
  free (found->key);
  found->key = strdup (PMIX_QUALIFIED_VALUE);
}

EXPORTED pmix_status_t
pmix_hash_fetch (pmix_hash_table_t *table, pmix_rank_t rank, const char *key, pmix_info_t *info, size_t n_info,
                 pmix_list_t *values, pmix_keyindex_t *keys)
{
  pmix_status_t status = find_next () (table, rank, key, info, n_info, values, keys);
  size_t n = status == PMIX_SUCCESS && key != NULL ? count_qualifiers (info, n_info) : 0;

  if (n > 0 && dvmd_pmix_groups_are_served ())
    qualify ((pmix_kval_t *)pmix_list_get_last (values), info, n_info, n);
  return status;
}
