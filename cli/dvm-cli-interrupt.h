/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A verb that waits says, before a signal ends it, what goes on without it.
 */

#pragma once

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

typedef struct _DvmCliInterrupt DvmCliInterrupt;

/*
 * SIGINT, SIGTERM and SIGHUP print a sentence, and then end the process as they always do, until the result is freed.
 * Works while the main loop runs. said: (transfer full)
 */
DvmCliInterrupt *dvm_cli_interrupt_new (DvmCli *cli, char *said);
void dvm_cli_interrupt_free (DvmCliInterrupt *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliInterrupt, dvm_cli_interrupt_free)

G_END_DECLS
