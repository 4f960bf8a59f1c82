/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"
#include "dvm-hosts-private.h"

G_BEGIN_DECLS

/*
 * Requests to change the size of the DVM, from wherever they come: Manager.Grow, Shrink and Allocate, an allocation
 * request of PMIx, the push of a scheduler, a job that brings its own nodes. There is this one function for all of them
 * (spec: E70); it reads the request, asks the allocators for nodes where none are named, and hands over to the core,
 * which decides.
 *
 * directive: "new", "extend", "release", "reaquire" or "cancel"; request: a{sv} with the keys of Manager.Allocate.
 * "grow" is new, or extend where alloc-id or of-req-id is given. hosts (transfer full) (nullable): what the request
 * names, if that was read beforehand (dvmd_size_request_read_hosts()). requester: (nullable): nobody is told at the
 * end; what its connection proves, never what the request says. scheduler: a scheduler asks, which may do all, and is
 * never held back by park-limit. The request is checked when this returns, but for what allocators say; one that a
 * scheduler outside of the DVM decides of is forwarded to it then. The answer comes from the main loop, and before
 * anything else becomes known of it.
 */
void dvmd_controller_change_size_async (DvmdController *self, const char *directive, GVariant *request, DvmHosts *hosts,
                                        const DvmdRequester *requester, gboolean scheduler, GCancellable *cancellable,
                                        GAsyncReadyCallback callback, gpointer user_data);
/*
 * The same for sessions that are instantiated, which a scheduler has granted already: it is not forwarded.
 * wanted_session, detached: of a new allocation: its number, 0: any; and whether it outlives its owner.
 */
void dvmd_controller_change_granted_async (DvmdController *self, const char *directive, GVariant *request,
                                           DvmHosts *hosts, guint wanted_session, gboolean detached,
                                           const DvmdRequester *requester, gboolean scheduler,
                                           GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
/*
 * (transfer full) a{sv}: alloc-id s, req-id s if one was given, session u, campaign u: 0: nothing changes. Errors are
 * those of phase one (E48): nothing has begun, and nobody will be told anything.
 */
GVariant *dvmd_controller_change_size_finish (DvmdController *self, GAsyncResult *result, GError **error);

G_END_DECLS
