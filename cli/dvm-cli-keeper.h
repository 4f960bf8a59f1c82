/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A dvmd in the background has a parent that does nothing but wait for its end, and writes down how it ended: nobody
 * else is told by which signal.
 */

#pragma once

#include <sys/types.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

typedef struct
{
  pid_t pid; /* of dvmd */
  int pidfd;
  pid_t keeper; /* our child */
  int line;     /* to the keeper */
} DvmCliKeeper;

/* become: is called in the new process, and does not return; state_fd: of the state directory, or -1 */
gboolean dvm_cli_keep (DvmCliKeeper *self, int state_fd, void (*become) (gpointer), gpointer user_data, GError **error);
/* Tells the keeper that the DVM is ready, so that it records an end that is not a good one. Returns when it does. */
void dvm_cli_keeper_is_ready (DvmCliKeeper *self);
/* Waits for the end of both. Returns what waitpid() says of dvmd */
int dvm_cli_keeper_wait (DvmCliKeeper *self);
void dvm_cli_keeper_clear (DvmCliKeeper *self);

G_END_DECLS
