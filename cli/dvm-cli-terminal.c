/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terminal is asked here alone for its abilities: term.h makes macros of words such as "lines" and "columns".
 */

#include "config.h"

#include "dvm-cli-terminal.h"

#include <string.h>
#include <unistd.h>

#ifdef HAVE_NCURSESW
#include <curses.h>
#include <term.h>
#endif

static const char *
get_name (void)
{
  const char *name = g_getenv ("TERM");

  return name != NULL ? name : "";
}

gboolean
dvm_cli_terminal_is_known (void)
{
#ifdef HAVE_NCURSESW
  int result;

  return get_name ()[0] != '\0' && setupterm (NULL, STDOUT_FILENO, &result) == OK;
#else
  return get_name ()[0] != '\0';
#endif
}

gboolean
dvm_cli_terminal_has_colours (void)
{
#ifdef HAVE_NCURSESW
  return dvm_cli_terminal_is_known () && tigetnum ("colors") > 0;
#else
  return dvm_cli_terminal_is_known () && strcmp (get_name (), "dumb") != 0;
#endif
}

#ifdef HAVE_NCURSESW
gboolean
dvm_cli_terminal_is_able (void)
{
  const char *cursor;

  if (!isatty (STDIN_FILENO) || !isatty (STDOUT_FILENO) || !dvm_cli_terminal_is_known ())
    return FALSE;
  cursor = tigetstr ("cup");
  return cursor != NULL && cursor != (const char *)-1;
}
#endif
