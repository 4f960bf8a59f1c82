/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parameters of MCA that steer the runtime of mpirun: those that are an option here, and those that have no effect.
 */

#pragma once

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* Whether it is one of the runtime, which does not run here. parameter: "NAME=VALUE" */
gboolean dvm_cli_parameter_is_of_runtime (const char *parameter);
/* Whether it is an option here, and no variable of the programs. */
gboolean dvm_cli_parameter_is_option (const char *parameter);

/* The options that --mca and --prtemca stand for are set, unless they are given themselves; a line says so. */
gboolean dvm_cli_parameters_apply (DvmCli *cli, GError **error);

/* The rows of those that are options, one after another. */
void dvm_cli_parameters_list (void (*row) (const char *there, const char *here, gpointer user_data),
                              gpointer user_data);

G_END_DECLS
