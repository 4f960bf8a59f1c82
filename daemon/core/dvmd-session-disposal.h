/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"
#include "dvmd-inheritance.h"
#include "dvmd-session.h"

G_BEGIN_DECLS

/* Of a session that nobody knows yet */
void dvmd_session_init_inheritance (DvmdSession *self, DvmdInheritance inheritance);
void dvmd_session_set_inheritance (DvmdSession *self, DvmdInheritance inheritance);
/* After the answer to the request: sessions whose owners have ended, and that have another inheritance now, go. */
void dvmd_core_dispose_sessions (DvmdCore *self);

G_END_DECLS
