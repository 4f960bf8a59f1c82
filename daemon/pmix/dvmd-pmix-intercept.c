/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The function by which libpmix's server tells its clients of events, which it finds before its own: what a client
 * tells goes to the agent and comes back from there for those whom it concerns.
 *
 * libpmix (4.1 to 7.0) would tell each of its clients that have registered, of whatever job, and after that ask its
 * host to tell the others; it takes values without a look at their types, and says of a range of one node nothing to
 * the host, which may have several servers there.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include <dlfcn.h>
#include <string.h>

#include "dvmd-pmix-events.h"

typedef pmix_status_t (*NotifyClients) (pmix_status_t status, const pmix_proc_t *source, pmix_data_range_t range,
                                        const pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t callback,
                                        void *callback_data);

pmix_status_t pmix_server_notify_client_of_event (pmix_status_t status, const pmix_proc_t *source,
                                                  pmix_data_range_t range, const pmix_info_t info[], size_t n_info,
                                                  pmix_op_cbfunc_t callback, void *callback_data);

/* Versions of the library whose function is this one; events of clients of others go the way of
 * dvmd_pmix_upcall_told_event(). */
#define FIRST_VERSION 4
#define LAST_VERSION  7

static NotifyClients
find_next (void)
{
  static gsize next_once;

  if (g_once_init_enter (&next_once))
    g_once_init_leave (&next_once, (gsize)dlsym (RTLD_NEXT, "pmix_server_notify_client_of_event"));
  return (NotifyClients)next_once;
}

/* PMIx_Get_version() is a text with the number somewhere, as in "OpenPMIx 4.2.2 (PMIx Standard: 4.1, ...)". */
static gboolean
is_known_version (void)
{
  static gsize answer_once;

  if (g_once_init_enter (&answer_once))
    {
      const char *version = PMIx_Get_version ();
      guint64 major = g_ascii_strtoull (version + strcspn (version, "0123456789"), NULL, 10);

      g_once_init_leave (&answer_once, major >= FIRST_VERSION && major <= LAST_VERSION ? TRUE : 2);
    }
  return answer_once == TRUE;
}

/*
 * For a handler of ours, and for no client. The library calls back for an event of that range only if it need not keep
 * it.
 */
static pmix_status_t
tell_server (NotifyClients next, pmix_status_t status, const pmix_proc_t *source, const pmix_info_t *mark,
             pmix_op_cbfunc_t callback, void *callback_data)
{
  pmix_info_t directives[2] = { 0 };

  PMIX_INFO_LOAD (&directives[0], PMIX_EVENT_DO_NOT_CACHE, NULL, PMIX_BOOL);
  directives[1] = *mark;
  return next (status, source, PMIX_RANGE_RM, directives, G_N_ELEMENTS (directives), callback, callback_data);
}

/* The library watches heartbeats and files of clients by itself, and tells in their name, without details. */
static gboolean
is_alert (pmix_status_t status, size_t n_info)
{
  return (status == PMIX_MONITOR_HEARTBEAT_ALERT || status == PMIX_MONITOR_FILE_ALERT) && n_info == 0;
}

__attribute__ ((visibility ("default"))) pmix_status_t
pmix_server_notify_client_of_event (pmix_status_t status, const pmix_proc_t *source, pmix_data_range_t range,
                                    const pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t callback,
                                    void *callback_data)
{
  NotifyClients next = find_next ();

  if (is_alert (status, n_info) && is_known_version ())
    return dvmd_pmix_upcall_event (status, source, range, info, n_info, callback, callback_data);
  if (!dvmd_pmix_event_is_of_client (info, n_info) || !is_known_version ())
    return next (status, source, range, info, n_info, callback, callback_data);
  if (status == PMIX_READY_FOR_DEBUG)
    return tell_server (next, status, source, &info[n_info - 1], callback, callback_data);
  return dvmd_pmix_upcall_event (status, source, range, info, n_info - 1, callback, callback_data);
}
