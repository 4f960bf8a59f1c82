/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"

G_BEGIN_DECLS

/*
 * A node that was lost comes back: its agent is started again as a new rank, after pauses that grow, so many times. The
 * row of the node is DOWN between the attempts, and that of the new rank ADDED while one is under way. An attempt is a
 * grow of one node that nobody asked for and that holds up no job: it has no number and no ticket, and nobody is told
 * of it. The sessions that have the node, its slots, and that it is drained are kept for it.
 */
typedef struct _DvmdHeal DvmdHeal;

/* The node is about to be DOWN. (transfer full): the reason, with what is done about it */
char *dvmd_heal_plan (DvmdCore *core, DvmdNode *node, const char *reason);
/* Its new agent is a member. */
void dvmd_heal_came (DvmdHeal *self);
/* The attempt is over. */
void dvmd_heal_ended (DvmdCampaign *attempt);
/* The DVM ends. */
void dvmd_heal_stop_all (DvmdCore *core);
/* The node leaves for good. */
void dvmd_heal_forget (DvmdNode *node);

/*
 * Somebody wants its agent to be started again: at once if it is DOWN, else when it has been lost, which is the
 * caller's to see to. FALSE: error says why not.
 */
gboolean dvmd_core_restart_node (DvmdCore *self, DvmdNode *node, GError **error);
/*
 * An agent of the node, which nobody has started, waits to be let in. TRUE: the node is DOWN and is brought back now,
 * also one that was given up or did not come at the start; FALSE: it is not wanted.
 */
gboolean dvmd_core_take_back_node (DvmdCore *self, DvmdNode *node);

G_END_DECLS
