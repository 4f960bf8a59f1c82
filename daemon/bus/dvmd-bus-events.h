/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Events that are told to whoever asked.
 */

#pragma once

#include "dvmd-bus-caller.h"

G_BEGIN_DECLS

typedef struct _DvmdBusEvents DvmdBusEvents;

DvmdBusEvents *dvmd_bus_events_new (void);
void dvmd_bus_events_free (DvmdBusEvents *self);
/* A request about this session has begun, and is answered: what is known of both is told after that. */
void dvmd_bus_events_asking (DvmdBusServer *server, DvmdSession *session);
/* Numbers of sessions and campaigns, 0 for none. about: what was said by _asking() */
void dvmd_bus_events_answered (DvmdBusServer *server, DvmdBusCaller *caller, guint about, guint session,
                               guint campaign);
void dvmd_bus_events_not_answered (DvmdBusServer *server, guint about);
/* The core says so. */
void dvmd_bus_events_warned (DvmdBusServer *server, DvmdSession *session, guint seconds_left);
void dvmd_bus_events_session_gone (DvmdBusServer *server, DvmdSession *session);
/* The values that have changed before have been sent. The campaign has ended: those who wait for that are answered too.
 */
void dvmd_bus_events_tell_end (DvmdBusServer *server, DvmdCampaign *campaign);
void dvmd_bus_events_tell_warning (DvmdBusServer *server, DvmdSession *session);

G_END_DECLS
