/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-requesters.h"

G_BEGIN_DECLS

/*
 * The caller has spawned the job: a tool writes to it from now on, if the job reads, so that the job finds the end of
 * its input when the tool has gone, whether that has written anything or not.
 */
void dvmd_controller_open_input (DvmdController *self, const DvmdCall *call, DvmdJob *job);

G_END_DECLS
