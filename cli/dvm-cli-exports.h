/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Options that change the environment of programs: -x, --mca, --prepend-env, --path and the like.
 */

#pragma once

#include "dvm-cli-environment.h"
#include "dvm-cli-options.h"

G_BEGIN_DECLS

/* job: options of all programs; app: those of this one, which may be the same */
gboolean dvm_cli_exports_apply (DvmCliArgs *job, DvmCliArgs *app, DvmCliEnvironment *environment, GError **error);

/* --with-ft asks for the fault tolerance of Open MPI. */
gboolean dvm_cli_exports_want_ft (DvmCliArgs *job);

/*
 * (transfer full) (nullable): the words of each line of such a file, "-x NAME=VALUE" or "--mca NAME VALUE"; "NAME =
 * VALUE" is a parameter of MCA. Comments begin with "#".
 */
char **dvm_cli_exports_read_tune (const char *path, GError **error);

G_END_DECLS
