/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How long an instance or a job of Flux lasts: its resource set has the end, also after "flux update" has moved that.
 */

#include "config.h"

#include "flux-job.h"
#include "job-time.h"
#include "resource-set.h"

static char **
make_argv (const char *id)
{
  g_auto (GStrv) environ = g_get_environ ();

  return flux_job_make_argv (flux_job_find_id ((const char *const *)environ));
}

static gboolean
read_left (const char *text, const char *id, gint64 *left, GError **error)
{
  g_autoptr (DvmdNodeTable) table = dvmd_node_table_new ();
  g_autoptr (GHashTable) ranks = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  gint64 expiration;

  if (!dvmd_resource_set_read (text, "the answer of flux", table, ranks, FALSE, &expiration, error))
    return FALSE;
  *left = expiration > 0 ? MAX (expiration - g_get_real_time () / G_USEC_PER_SEC, 0) : -1;
  return TRUE;
}

const DvmdTimeQuestion flux_time_question = {
  .plugin = "allocator-flux",
  .scheduler = "Flux",
  .make_argv = make_argv,
  .read = read_left,
};
