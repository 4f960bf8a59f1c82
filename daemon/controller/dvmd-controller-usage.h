/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller-frame.h"

G_BEGIN_DECLS

/* rows: (nullable): aa{sv} as the agents have measured them, by node as they were listed; NULL: status says why */
typedef void (*DvmdMeasured) (gpointer user_data, int status, GVariant *rows);

/*
 * The agents of these nodes (element-type guint) measure what a rank of that job uses, all of its ranks
 * (DVMD_ALL_RANKS) or, with nspace NULL, the nodes themselves. measured is called once and later, unless the controller
 * is freed before; free_data (nullable) in any case.
 */
void dvmd_controller_measure (DvmdController *self, const GArray *nodes, const char *nspace, guint32 rank,
                              DvmdMeasured measured, gpointer user_data, GDestroyNotify free_data);

G_END_DECLS
