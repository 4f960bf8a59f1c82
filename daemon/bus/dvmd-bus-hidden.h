/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs are hidden from other users in part.
 */

#pragma once

#include "dvmd-bus-caller.h"

G_BEGIN_DECLS

/* caller: (nullable): a stranger then */
gboolean dvmd_bus_hides_from (DvmdBusServer *server, const DvmdBusCaller *caller);
gboolean dvmd_bus_is_hidden (const char *name);
/* The empty one of its type, or that there is an output error; takes a floating one, (transfer floating) */
GVariant *dvmd_bus_hide_value (const char *name, GVariant *value);
/* a{sv} of a job, with empty values for the hidden ones; takes a floating one, (transfer floating) */
GVariant *dvmd_bus_hide_values (GVariant *dict);
/* The result is the part of this signal's body that everybody may get: body itself, or a floating one */
GVariant *dvmd_bus_hide_signal (const char *interface, const char *signal, GVariant *body);

G_END_DECLS
