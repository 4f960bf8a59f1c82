/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"
#include "dvmd-session.h"

G_BEGIN_DECLS

/* Sessions of the namespace, which has ended, go or stay, as their inheritance says. */
void dvmd_core_namespace_ended (DvmdCore *self, const char *nspace);
/* After the answer to the request: sessions whose owners have ended, and that have another inheritance now, go. */
void dvmd_core_dispose_sessions (DvmdCore *self);

G_END_DECLS
