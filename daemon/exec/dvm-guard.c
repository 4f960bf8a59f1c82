/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs an agent so that nothing is left of it when it ends, however it ends. Usage: dvm-guard COMMAND [ARGUMENT...]
 */

#include "config.h"

#include <stdio.h>

#include "dvmd-guard.h"

int
main (int argc, char *argv[])
{
  if (argc >= 2 && argv[1][0] != '-')
    dvmd_guard_run (argv + 1);
  fprintf (stderr, "usage: dvm-guard COMMAND [ARGUMENT...]\n");
  return 2;
}
