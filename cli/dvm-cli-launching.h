/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

typedef struct _DvmCliLaunching DvmCliLaunching;

/* Tells on standard error how many processes of the job have been started, until all have. The job has to be watched.
 */
DvmCliLaunching *dvm_cli_launching_new (DvmCli *cli, DvmJob *job);
/* The job has ended: the number is told that it came to. */
void dvm_cli_launching_finish (DvmCliLaunching *self);
void dvm_cli_launching_free (DvmCliLaunching *self);

G_END_DECLS
