/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * In the job of a scheduler the DVM that nobody names is that of the job.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* Before a DVM is looked for: the one that has the name of the job is taken where the unnamed one is not of the job,
 * and where there is none of the job cli->foreign says so. */
void dvm_cli_scheduler_choose (DvmCli *cli);

/* Before a DVM is started: it gets the name of the job where the unnamed one is not of the job. TRUE: it does */
gboolean dvm_cli_scheduler_name (DvmCli *cli);

/* Whether we are the command of salloc, which ends the job when we end. */
gboolean dvm_cli_scheduler_ends_with_us (void);

/* FALSE with an error: there is no DVM of the job that we are in, but one that has no name. */
gboolean dvm_cli_scheduler_find (DvmCli *cli, GError **error);

/* FALSE: client (connected) is of another job than we are; cli->foreign says so. */
gboolean dvm_cli_scheduler_check (DvmCli *cli, DvmClient *client, GCancellable *cancellable);

G_END_DECLS
