/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent-bootstrap.h"
#include "dvmd-identity.h"
#include "dvmd-wire.h"

G_BEGIN_DECLS

/* (transfer full), once each: who the agent is since it has joined, and the link to its controller, not yet started. */
DvmdIdentity *dvmd_agent_bootstrap_take_identity (DvmdAgentBootstrap *self);
DvmdWire *dvmd_agent_bootstrap_take_wire (DvmdAgentBootstrap *self);

G_END_DECLS
