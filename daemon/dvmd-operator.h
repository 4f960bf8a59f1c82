/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"

G_BEGIN_DECLS

/* From now on jobs that fail and campaigns are told, as nodes that are lost are in any case. */
void dvmd_operator_listen (DvmdController *controller);

void dvmd_operator_tell_ready (DvmdController *controller);
/* reason: (nullable) */
void dvmd_operator_tell_end (DvmdController *controller, const char *reason);

G_END_DECLS
