/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranks of a job that run in a terminal of their own, as --xterm of mpirun names them.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-environment.h"

G_BEGIN_DECLS

/* The program of app runs in an xterm where it is one of the ranks. FALSE: text names none, or there is no display. */
gboolean dvm_cli_xterm_wrap (DvmAppSpec *app, const char *text, DvmCliEnvironment *environment, GError **error);

/* Whether all the ranks that text names are of the job, where it says how many it has. */
gboolean dvm_cli_xterm_check (DvmJobSpec *spec, const char *text, GError **error);

G_END_DECLS
