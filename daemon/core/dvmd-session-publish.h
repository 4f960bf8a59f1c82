/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-session.h"

G_BEGIN_DECLS

/* Its inheritance, whether it reserves its nodes, and whether it is separate have changed. */
void dvmd_session_publish_sharing (DvmdSession *self);

G_END_DECLS
