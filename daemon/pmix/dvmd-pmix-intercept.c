/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The function by which libpmix's server tells its clients of events, which it finds before its own: what a client
 * tells goes to the agent and comes back from there for those whom it concerns.
 *
 * libpmix (4.1 to 6.0) would tell each of its clients that have registered, of whatever job, and after that ask its
 * host to tell the others; it takes values without a look at their types, and says of a range of one node nothing to
 * the host, which may have several servers there.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include <dlfcn.h>

#include "dvmd-pmix-events.h"

typedef pmix_status_t (*NotifyClients) (pmix_status_t status, const pmix_proc_t *source, pmix_data_range_t range,
                                        const pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t callback,
                                        void *callback_data);

pmix_status_t pmix_server_notify_client_of_event (pmix_status_t status, const pmix_proc_t *source,
                                                  pmix_data_range_t range, const pmix_info_t info[], size_t n_info,
                                                  pmix_op_cbfunc_t callback, void *callback_data);

/* The server itself puts this behind what comes from one of its clients, and drops what has it already. */
#define OF_CLIENT "pmix.srvr.internal.notify"

static NotifyClients
find_next (void)
{
  return (NotifyClients)dlsym (RTLD_NEXT, "pmix_server_notify_client_of_event");
}

__attribute__ ((visibility ("default"))) pmix_status_t
pmix_server_notify_client_of_event (pmix_status_t status, const pmix_proc_t *source, pmix_data_range_t range,
                                    const pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t callback,
                                    void *callback_data)
{
  const pmix_info_t *last = n_info > 0 ? &info[n_info - 1] : NULL;

  if (last == NULL || !PMIX_CHECK_KEY (last, OF_CLIENT))
    return find_next () (status, source, range, info, n_info, callback, callback_data);
  /* For a handler of ours, and for no client. */
  if (status == PMIX_READY_FOR_DEBUG)
    return find_next () (status, source, PMIX_RANGE_RM, last, 1, callback, callback_data);
  return dvmd_pmix_upcall_event (status, source, range, info, n_info - 1, callback, callback_data);
}
