/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"
#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* The cpus and the memory that a scheduler gives of nodes. */

/* Nodes that come: their agents keep to what is said here, or to nothing, whatever was said before. */
void dvmd_controller_note_allotments (DvmdController *self, const DvmdPluginNode *nodes, guint n_nodes);

/* a{sa{sv}}: name of a node, and what is given of it from now on: memory t, 0 for no word of it. A key that is not
 * there changes nothing. FALSE: nothing is changed, as DVM_ERROR_BAD_PARAM says. */
gboolean dvmd_controller_change_allotments (DvmdController *self, GVariant *nodes, GError **error);

/* Whether the agent of that rank, which reports, keeps to what is given of its node. cpus, memory: what it has been
 * told; else it is told now, and reports again. */
gboolean dvmd_controller_keeps_to_allotment (DvmdController *self, guint rank, const char *cpus, guint64 memory);

G_END_DECLS
