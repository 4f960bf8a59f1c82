/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"
#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* The cpus of nodes that a scheduler has named. */

/* Nodes that come: their agents keep to what is said here, or to nothing, whatever was said before. */
void dvmd_controller_note_cpus (DvmdController *self, const DvmdPluginNode *nodes, guint n_nodes);

/* Whether the agent of that rank, which reports, keeps to the cpus of its node. cpus: what it has been told; else it is
 * told now, and reports again. */
gboolean dvmd_controller_keeps_to_cpus (DvmdController *self, guint rank, const char *cpus);

G_END_DECLS
