/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"

G_BEGIN_DECLS

/* The job is over: out of the live ones, into the history. */
void dvmd_core_end_job (DvmdJob *job);

G_END_DECLS
