/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-config.h"

G_BEGIN_DECLS

/*
 * An agent that nobody has started looks for its controller: at the place that its settings name, with the secret in
 * the file that they name, again and again with pauses that grow, until it is let in. The controller may come later,
 * may have no place for this node yet, or may end and come back.
 */

typedef struct _DvmdAgentBootstrap DvmdAgentBootstrap;

/* Once, from the main loop. arguments: what an agent that is started would have on its command line. */
typedef void (*DvmdAgentBootstrapJoined) (char **arguments, gpointer user_data);

/* node: what this machine is called. NULL: the settings do not do, which is DVM_ERROR_BAD_PARAM. */
DvmdAgentBootstrap *dvmd_agent_bootstrap_new (DvmdConfig *config, const char *node, DvmdAgentBootstrapJoined joined,
                                              gpointer user_data, GError **error);
void dvmd_agent_bootstrap_start (DvmdAgentBootstrap *self);
void dvmd_agent_bootstrap_free (DvmdAgentBootstrap *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdAgentBootstrap, dvmd_agent_bootstrap_free)

G_END_DECLS
