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
/*
 * (nullable): the option without dashes; NAME=VALUE of the runtime. value (out) (transfer full): that of the option,
 * which is SETTING=VALUE for "set"
 */
const char *dvm_cli_parameter_to_option (const char *parameter, char **value);
gboolean dvm_cli_parameter_is_option (const char *parameter);

/* The options that --mca and --prtemca stand for are set, unless they are given themselves; a line says so. */
gboolean dvm_cli_parameters_apply (DvmCli *cli, GError **error);

/* (transfer full): SETTING=VALUE of each that is a setting of a DVM. is_private: it is for one that is made now */
char **dvm_cli_parameters_get_settings (DvmCli *cli, gboolean is_private);

/* The rows of those that are options, one after another. */
void dvm_cli_parameters_list (void (*row) (const char *there, const char *here, gpointer user_data),
                              gpointer user_data);

G_END_DECLS
