/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-elastic.h"

G_BEGIN_DECLS

/* The session's limit is as the request that makes or extends it says, if that says anything. */
void dvmd_session_set_limit (DvmdSession *self, const DvmdGrowRequest *request);
void dvmd_session_stop_timers (DvmdSession *self);
/* Seconds that it has, at most so many */
guint dvmd_session_limit_time (DvmdSession *self, guint seconds);

G_END_DECLS
