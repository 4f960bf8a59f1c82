/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"

G_BEGIN_DECLS

/*
 * Whether a scheduler outside of the DVM grants what somebody asks for, who has the right to it: allocators that decide
 * are asked one after another, each for allocator-timeout at most, and the first one that does not decline has decided.
 * What a scheduler asks for itself is not forwarded.
 *
 * directive: "new", "extend", "release", "reaquire", "cancel" or "control-session"; session: "control-session": its
 * number; request: a{sv} as it was given. The answer comes from the main loop.
 */
/* Whether there is anybody who might decide; if not, nobody need be asked. */
gboolean dvmd_controller_forwards (DvmdController *self);
void dvmd_controller_forward_async (DvmdController *self, const char *directive, guint session, GVariant *request,
                                    const DvmdRequester *requester, GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data);
/*
 * answer: (out) (nullable) (transfer full): a{sv} with hosts as, alloc-id s, session u, time u at most; NULL: nobody
 * decides but the DVM. allocator: (out) (nullable) (transfer full): DvmdAllocator that has answered. FALSE: refused, or
 * not answered.
 */
gboolean dvmd_controller_forward_finish (DvmdController *self, GAsyncResult *result, GVariant **answer,
                                         gpointer *allocator, GError **error);

G_END_DECLS
