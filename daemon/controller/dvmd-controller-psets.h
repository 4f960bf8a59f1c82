/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"

G_BEGIN_DECLS

/*
 * (transfer container) (element-type utf8): the names of the process sets of jobs that live and have been placed, each
 * once; they are of the jobs and sets. only (nullable): those with members of that job
 */
GPtrArray *dvmd_controller_list_psets (DvmdController *controller, DvmdJob *only);
/* Adds "(su)" for at most limit members of the set; returns how many there are. only (nullable): of that job */
guint64 dvmd_controller_list_pset_members (DvmdController *controller, const char *name, DvmdJob *only,
                                           GVariantBuilder *members, guint64 limit);

G_END_DECLS
