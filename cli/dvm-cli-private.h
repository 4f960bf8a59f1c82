/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The private DVM of a job: where it is to be, as what the job says of its nodes.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* Options of `run` that mean the private DVM */
extern const DvmCliOption dvm_cli_private_options[];

/* FALSE with an error when one of them is given, though a DVM is there */
gboolean dvm_cli_private_check_unused (DvmCli *cli, GError **error);

/* (transfer full) (nullable): options of dvmd. The job does not name nodes that the DVM will not have. */
char **dvm_cli_private_get_options (DvmCli *cli, DvmJobSpec *spec, GError **error);

G_END_DECLS
