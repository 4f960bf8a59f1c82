/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The function by which libpmix's server begins to watch a client, which it finds before its own: what that cannot
 * watch is the host's.
 *
 * That of libpmix (4.2 to 5.0) says that it has begun whatever it was asked for: it takes "let another component do it"
 * of all its components for a yes, and never asks the host.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include <dlfcn.h>

#include "dvmd-pmix-gates.h"

/* peer: the library's notes of the client */
typedef pmix_status_t (*Start) (void *peer, pmix_status_t code, const pmix_info_t *monitor,
                                const pmix_info_t directives[], size_t n_directives);

pmix_status_t pmix_psensor_base_start (void *peer, pmix_status_t code, const pmix_info_t *monitor,
                                       const pmix_info_t directives[], size_t n_directives);

typedef pmix_status_t (*Stop) (void *peer, char *id);

static Start
find_next (void)
{
  static gsize next_once;

  if (g_once_init_enter (&next_once))
    g_once_init_leave (&next_once, (gsize)dlsym (RTLD_NEXT, "pmix_psensor_base_start"));
  return (Start)next_once;
}

/* All that it watches for this client: it gives none a name, whatever PMIX_MONITOR_ID says. */
static void
stop_all (void *peer)
{
  ((Stop)dlsym (RTLD_NEXT, "pmix_psensor_base_stop")) (peer, NULL);
}

static gboolean
is_for_all (const pmix_info_t *monitor)
{
  return monitor->value.type != PMIX_STRING || monitor->value.data.string == NULL;
}

/* On PMIx's thread. */
__attribute__ ((visibility ("default"))) pmix_status_t
pmix_psensor_base_start (void *peer, pmix_status_t code, const pmix_info_t *monitor, const pmix_info_t directives[],
                         size_t n_directives)
{
  if (PMIX_CHECK_KEY (monitor, PMIX_MONITOR_FILE) || PMIX_CHECK_KEY (monitor, PMIX_MONITOR_HEARTBEAT))
    return find_next () (peer, code, monitor, directives, n_directives);
  if (PMIX_CHECK_KEY (monitor, PMIX_MONITOR_CANCEL) && is_for_all (monitor))
    stop_all (peer);
  return PMIX_ERR_NOT_SUPPORTED;
}
