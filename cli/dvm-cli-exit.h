/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the end of a job means for the exit status.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* The exit status of a job that has ended; tells the reason when it is not the program's own exit code. */
int dvm_cli_report_end (DvmCli *cli, DvmJob *job);
int dvm_cli_exit_status (DvmJob *job);
/* (transfer full): for tables: "0", "SIGKILL", "" */
char *dvm_cli_describe_exit (DvmJob *job);
char *dvm_cli_describe_exit_code (gboolean failed, DvmJobState state, int code);

G_END_DECLS
