/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller-frame.h"

G_BEGIN_DECLS

/* result, error: one of them, the other NULL */
typedef void (*DvmdAnswered) (DvmdController *self, DvmdAllocator *allocator, GAsyncResult *result, const GError *error,
                              gpointer data);
/*
 * Somebody asks the allocator something: its function is called with cancellable (out) (transfer full), with
 * dvmd_controller_answered() and with what this returns. answered is called once: with the answer; with
 * DVM_ERROR_TIMEOUT after allocator-timeout, if limited; when stop (nullable) is cancelled; when the DVM has ended.
 */
gsize dvmd_controller_ask (DvmdController *self, DvmdAllocator *allocator, gboolean limited, GCancellable *stop,
                           DvmdAnswered answered, gpointer data, GCancellable **cancellable);
void dvmd_controller_answered (GObject *source, GAsyncResult *result, gpointer id);

G_END_DECLS
