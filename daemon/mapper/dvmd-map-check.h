/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-map.h"
#include "dvmd-mapper.h"

G_BEGIN_DECLS

/* DVMD_OBJECT_NODE: nothing */
DvmdObjectKind dvmd_map_check_kind_of (DvmdBindTo bind_to);
guint64 dvmd_map_check_sum_of_np (const DvmdMapRequest *request);
/* (transfer full): NULL: DVM_ERROR_MAP_FAILED says what is wrong with the answer of that mapper */
DvmdMap *dvmd_map_check_answer (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement,
                                GError **error);

G_END_DECLS
