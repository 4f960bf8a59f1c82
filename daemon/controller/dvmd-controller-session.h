/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"
#include "dvmd-session-request.h"

G_BEGIN_DECLS

/*
 * A control says what is to be done with a session, from wherever it comes: Manager.ControlSession and the methods of a
 * session, the push of a scheduler. It is forwarded to a scheduler outside of the DVM first, if there is one and that
 * scheduler has not asked itself (S7).
 *
 * id: its number; 0 with "instantiate": any; G_MAXUINT32: all that the requester may control, but the default one
 * (S11). directives: a{sv} as of Manager.ControlSession. read (transfer full) (nullable): the same, if it was read
 * beforehand. requester (nullable): as its connection proves. scheduler: a scheduler asks, which may do all; what is
 * unknown to us is passed over then.
 */
void dvmd_controller_control_session_async (DvmdController *self, guint id, GVariant *directives,
                                            DvmdSessionRequest *read, const DvmdRequester *requester,
                                            gboolean scheduler, GCancellable *cancellable, GAsyncReadyCallback callback,
                                            gpointer user_data);
/*
 * (transfer full) a{sv}: session u, alloc-id s, req-id s if one was given, campaign u (0: nothing changes its size);
 * nspace s of a session that was instantiated with applications: they run; sessions au for all of them. Errors: nothing
 * has changed, but for applications that could not be run: their session ends.
 */
GVariant *dvmd_controller_control_session_finish (DvmdController *self, GAsyncResult *result, GError **error);

G_END_DECLS
