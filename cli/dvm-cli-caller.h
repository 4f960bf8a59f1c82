/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Names of other launchers that dvm-cli may be called by: each is one verb of it.
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct
{
  const char *name; /* of the program that was called */
  const char *verb;
  gboolean needs_dvm;  /* without a DVM that is there it does nothing */
  gboolean is_foreign; /* options of that launcher go before those of the verb */
} DvmCliCaller;

/* (nullable): NULL for dvm-cli itself. argv0: its path; "mpirun.dvm", as alternatives are called, is mpirun. */
const DvmCliCaller *dvm_cli_caller_find (const char *argv0);

/* Messages speak of the name that was called. */
const char *dvm_cli_caller_name (void);
/* (transfer full): what is typed for the verb: "dvm-cli run", or "mpirun" */
char *dvm_cli_caller_command (const char *verb);

G_END_DECLS
