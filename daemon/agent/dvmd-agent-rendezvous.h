/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent-frame.h"

G_BEGIN_DECLS

/*
 * The rendezvous files of a node: PMIx tools that are told nothing search the directory for temporary files of the
 * machine for them. They are in a directory of the agent alone, TMP/dvm-pmix-UID/agent-INSTANCE-RANK:
 *
 *   pmix.HOST.tool           for whoever is this user
 *   pmix.HOST.tool.PID       by the pid of the PMIx server, of the agent, and on the controller's machine of dvmd
 *   pmix.HOST.tool.NSPACE    by the namespace of the DVM
 *
 * and TMP/pmix.sys.HOST where the DVM is the system-level server of the machine. HOST is the name of the node, and the
 * machine's where the node is the whole machine, or the first of its parts.
 */

typedef struct _DvmdAgentRendezvous DvmdAgentRendezvous;

/* agent: unowned. system: the DVM is the system-level server of its machines. */
DvmdAgentRendezvous *dvmd_agent_rendezvous_new (DvmdAgent *agent, gboolean system);
/* Removes the files. */
void dvmd_agent_rendezvous_free (DvmdAgentRendezvous *self);
/*
 * address (nullable): the contents of the files; NULL: there is none at present. for_machine: tools are let in under
 * the name of the machine, too.
 */
void dvmd_agent_rendezvous_show (DvmdAgentRendezvous *self, const char *address, gboolean for_machine);

/* Removes the files of agents of this machine that were killed: tools would take them for a second server. */
void dvmd_agent_rendezvous_sweep (DvmdAgentRendezvous *self);
/* The same for a program that is no agent, with the file of a system-level server that was killed. */
void dvmd_agent_rendezvous_clear (void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdAgentRendezvous, dvmd_agent_rendezvous_free)

G_END_DECLS
