/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"
#include "dvmd-session.h"

G_BEGIN_DECLS

/* After the answer to the request that ended them: clients that want to hear of ended sessions do. */
void dvmd_core_tell_ended_sessions (DvmdCore *self);

G_END_DECLS
