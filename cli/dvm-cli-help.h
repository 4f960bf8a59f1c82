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

G_END_DECLS
