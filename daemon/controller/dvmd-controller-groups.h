/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"
#include "dvmd-requesters.h"

G_BEGIN_DECLS

/* (transfer container): the names of all groups that have been formed; one may be there several times */
GPtrArray *dvmd_controller_list_groups (DvmdController *controller);
/* (transfer full) (nullable): guint64, id of the job << 32 | rank, sorted; NULL: there is no such group */
GArray *dvmd_controller_list_group_members (DvmdController *controller, const char *name);

/*
 * A process tells of an invitation into a group (name (nullable), procs), of its answer to one, or that all have
 * accepted: whether that may be told to procs.
 */
int dvmd_controller_check_group_event (DvmdController *controller, const DvmdCall *call, int status, const char *name,
                                       GVariant *procs);

G_END_DECLS
