/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The texts of --help, made of the tables.
 */

#pragma once

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* (transfer full) */
char *dvm_cli_help_overview (void);
char *dvm_cli_help_verb (const DvmCliVerb *verb);

/* (transfer full): what options and programs of mpirun, prun and srun are here */
char *dvm_cli_help_others (void);

G_END_DECLS
