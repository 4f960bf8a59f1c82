/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The private sockets of the user's DVMs.
 */

#pragma once

#include <glib.h>
#include <sys/types.h>

G_BEGIN_DECLS

/* The process that listens at a socket, 0 if there is none. */
pid_t dvm_cli_find_listener (const char *path);
/* (transfer full) (element-type filename): where DVMs of this user listen, or have listened */
GPtrArray *dvm_cli_list_sockets (void);

G_END_DECLS
