/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent-bootstrap.h"

G_BEGIN_DECLS

/*
 * An agent that is a process of its own: joins the DVM, has a place in its tree, and runs a DvmdAgent until the
 * controller lets it go or is lost. Then it ends the processes of its node, and has ended itself within
 * "controller-grace".
 */

typedef struct _DvmdAgentProgram DvmdAgentProgram;

typedef struct
{
  const char *const *controller; /* addresses */
  const char *instance;          /* of the DVM, from the same line */
  const char *token;             /* from the line on standard input */
  DvmdAgentBootstrap *bootstrap; /* (nullable): by which it has joined already, in place of these two */
  const char *node;              /* the node's name */
  const char *runtime_dir;       /* (nullable): of the controller, on its machine; its own is made below */
  const char *topology;          /* (nullable): file with the topology of this machine */
  gboolean logical;              /* the node is a part of this machine, under a name of its own */
  DvmdConfig *config;
} DvmdAgentProgramSettings;

/* Once, from the main loop: the process may end with this status. */
typedef void (*DvmdAgentProgramEnded) (int status, gpointer user_data);

/* NULL: what was given is not usable. */
DvmdAgentProgram *dvmd_agent_program_new (const DvmdAgentProgramSettings *settings, DvmdAgentProgramEnded ended,
                                          gpointer user_data, GError **error);
void dvmd_agent_program_free (DvmdAgentProgram *self);
/* Comes to the controller, or goes on with it: bootstrap (nullable) is that of the settings. */
void dvmd_agent_program_start (DvmdAgentProgram *self, DvmdAgentBootstrap *bootstrap);
/* It has ended because it was ordered to leave: its links stay open, and the process is to end with them (D1). */
gboolean dvmd_agent_program_has_departed (DvmdAgentProgram *self);
/* The process that started the agent has gone, or wants it to go: everything is ended. */
void dvmd_agent_program_leave (DvmdAgentProgram *self, const char *reason);

G_END_DECLS
