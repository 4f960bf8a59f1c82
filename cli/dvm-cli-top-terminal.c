/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terminal is asked here alone for its abilities: term.h makes macros of words such as "lines" and "columns".
 */

#include "config.h"

#include "dvm-cli-top-terminal.h"

#include <curses.h>
#include <term.h>
#include <unistd.h>

gboolean
dvm_cli_top_terminal_is_able (void)
{
  const char *cursor;
  int result;

  if (!isatty (STDIN_FILENO) || !isatty (STDOUT_FILENO) || setupterm (NULL, STDOUT_FILENO, &result) != OK)
    return FALSE;
  cursor = tigetstr ("cup");
  return cursor != NULL && cursor != (const char *)-1;
}
