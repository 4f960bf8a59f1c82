/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"

G_BEGIN_DECLS

/*
 * The DVM tells these jobs (element-type DvmdJob), as far as they have been launched, and all tools of an event.
 * status: of PMIx; details: a{sv}, taken if floating.
 */
void dvmd_controller_tell_jobs (DvmdController *controller, GPtrArray *jobs, int status, GVariant *details);

G_END_DECLS
