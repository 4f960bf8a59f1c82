/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* The parts of "user@host:port", "[address]:port"; NULL with an error for what cannot be one. */
typedef struct
{
  char *target; /* user@host, for ssh */
  char *host;   /* the name of the node */
  char *port;   /* NULL: none was given */
} SshAddress;

gboolean ssh_address_parse (const char *name, SshAddress *address, GError **error);
void ssh_address_clear (SshAddress *address);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SshAddress, ssh_address_clear)

/* The line for the remote shell: says "MARK PID" on standard error, and becomes the agent. */
char *ssh_remote_line (const char *mark, const char *const *agent_argv, const char *node);

G_END_DECLS
