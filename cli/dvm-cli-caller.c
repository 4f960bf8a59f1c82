/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Under the name of another launcher the program is the verb that this launcher is here.
 */

#include "config.h"

#include "dvm-cli-caller.h"

#include <string.h>

static const DvmCliCaller callers[] = {
  { "dvm-mpirun", "run", FALSE },   { "mpirun", "run", FALSE },
  { "mpiexec", "run", FALSE },      { "prterun", "run", FALSE },
  { "prun", "run", TRUE },          { "pterm", "stop", TRUE },
  { "prte", "start", FALSE, TRUE }, { "dvm-srun", "run", FALSE, TRUE },
  { "srun", "run", FALSE, TRUE },
};

const DvmCliCaller *
dvm_cli_caller_find (const char *argv0)
{
  g_autofree char *name = argv0 != NULL ? g_path_get_basename (argv0) : g_strdup ("");

  name[strcspn (name, ".")] = '\0';
  for (gsize i = 0; i < G_N_ELEMENTS (callers); i++)
    if (strcmp (callers[i].name, name) == 0)
      return &callers[i];
  return NULL;
}

/* main() has set the name of the program. */
const char *
dvm_cli_caller_name (void)
{
  const DvmCliCaller *caller = dvm_cli_caller_find (g_get_prgname ());

  return caller != NULL ? caller->name : "dvm-cli";
}

char *
dvm_cli_caller_command (const char *verb)
{
  const DvmCliCaller *caller = dvm_cli_caller_find (g_get_prgname ());

  return caller != NULL ? g_strdup (caller->name) : g_strdup_printf ("dvm-cli %s", verb);
}
