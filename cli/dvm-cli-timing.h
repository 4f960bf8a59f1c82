/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How long the phases of jobs took, from their traces.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* jobs: (element-type DvmJob): with several of them the medians are printed */
gboolean dvm_cli_print_timing (DvmCli *cli, DvmClient *client, GPtrArray *jobs, GError **error);

G_END_DECLS
