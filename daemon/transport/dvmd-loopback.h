/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-link.h"

G_BEGIN_DECLS

#define DVMD_TYPE_LOOPBACK (dvmd_loopback_get_type ())
G_DECLARE_FINAL_TYPE (DvmdLoopback, dvmd_loopback, DVMD, LOOPBACK, DvmdLink)

/* Two ends in one process; both deliver on context. */
void dvmd_loopback_new_pair (GMainContext *context, DvmdLink **one, DvmdLink **other);

G_END_DECLS
