/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-bus-changes.h"
#include "dvmd-bus-watched.h"

G_BEGIN_DECLS

/*
 * What a connection has not been told of, because it reads more slowly than things happen, or is being given a list.
 * Of each object the last state is kept and no history: so it is bounded by what there is. When the connection can take
 * it, it is told of everything at once: an object that came and went meanwhile is named in JobsChanged alone once it is
 * forgotten.
 */

DvmdBusBehind *dvmd_bus_behind_new (void);
void dvmd_bus_behind_free (DvmdBusBehind *self);
/* The job as it would be told of now: fields, states and processes that changed (those to followers alone). */
void dvmd_bus_behind_miss_job (DvmdBusBehind *self, const DvmdBusLiveJob *live, gboolean added, guint64 fields,
                               gboolean follows);
/* what: DvmdBusNodeWhat */
void dvmd_bus_behind_miss_node (DvmdBusBehind *self, guint rank, guint what);
void dvmd_bus_behind_miss_object (DvmdBusBehind *self, const DvmdBusWatched *watched, gboolean added, gboolean changed);
/* It is sent to the destination (nullable) when all else has been told. */
void dvmd_bus_behind_miss_directed (DvmdBusBehind *self, const char *destination, const char *signal, GVariant *body);
/* Objects that it will be told of, nodes excepted. */
guint dvmd_bus_behind_get_size (DvmdBusBehind *self);
/* Sends until everything is told (TRUE), the backlog has so many bytes, or the time (monotonic) has come. */
gboolean dvmd_bus_behind_send (DvmdBusBehind *self, DvmdBusPeer *peer, gsize most, gint64 until);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdBusBehind, dvmd_bus_behind_free)

G_END_DECLS
