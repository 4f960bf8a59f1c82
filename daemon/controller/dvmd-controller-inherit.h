/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-requesters.h"

G_BEGIN_DECLS

/*
 * Children do what their parent job does when there are no slots. A job that does not say so and does not fit now is
 * refused, as mpirun has it: a process that waits here for a job holds slots that the job may be waiting for.
 * with_environment: the variables that were given to the parent are those of the children as well.
 */
void dvmd_controller_inherit (DvmdController *self, DvmJobSpec *spec, const DvmdCall *call, gboolean with_environment);

G_END_DECLS
