/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The width of the terminal, its colours and the pager are decided here.
 */

#include "config.h"

#include "dvm-cli-screen.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dvm-cli-output.h"
#include "dvm-cli-signals.h"
#include "dvm-cli-terminal.h"

static gboolean
get_size (struct winsize *size)
{
  return isatty (STDOUT_FILENO) && ioctl (STDOUT_FILENO, TIOCGWINSZ, size) == 0;
}

guint
dvm_cli_terminal_width (void)
{
  const char *columns = g_getenv ("COLUMNS");
  struct winsize size;
  guint64 number;

  if (!get_size (&size))
    return 0;
  if (columns != NULL && g_ascii_string_to_unsigned (columns, 10, 1, G_MAXUINT16, &number, NULL))
    return (guint)number;
  return size.ws_col;
}

gboolean
dvm_cli_get_terminal_size (guint *rows, guint *columns)
{
  struct winsize size;

  if (ioctl (STDIN_FILENO, TIOCGWINSZ, &size) != 0 && ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
    return FALSE;
  *rows = size.ws_row;
  *columns = size.ws_col;
  return size.ws_row > 0 && size.ws_col > 0;
}

gboolean
dvm_cli_terminal_is_dumb (void)
{
  return g_strcmp0 (g_getenv ("TERM"), "dumb") == 0 || !dvm_cli_terminal_is_known ();
}

static gboolean
is_set (const char *variable)
{
  const char *value = g_getenv (variable);

  return value != NULL && value[0] != '\0';
}

gboolean
dvm_cli_may_use_colour (DvmCli *cli)
{
  const char *when = dvm_cli_args_get (cli->args, "color");

  if (when != NULL && strcmp (when, "auto") != 0)
    return strcmp (when, "always") == 0;
  if (is_set ("NO_COLOR"))
    return FALSE;
  if (is_set ("CLICOLOR_FORCE"))
    return strcmp (g_getenv ("CLICOLOR_FORCE"), "0") != 0;
  if (g_strcmp0 (g_getenv ("CLICOLOR"), "0") == 0)
    return FALSE;
  return isatty (STDOUT_FILENO) && dvm_cli_terminal_has_colours ();
}

/* How many lines of the screen text takes, up to a limit. */
static guint
count_lines (const char *text, guint width, guint limit)
{
  guint n = 0;

  while (*text != '\0' && n < limit)
    {
      gsize length = strcspn (text, "\n");
      g_autofree char *line = g_strndup (text, length);

      n += 1 + (width > 0 ? (MAX (dvm_cli_width (line), 1) - 1) / width : 0);
      text += length + (text[length] == '\n');
    }
  return n;
}

/* (nullable): the command line of the pager, if one is to be used for text */
static const char *
choose_pager (DvmCli *cli, const char *text)
{
  const char *pager = g_getenv ("DVM_PAGER");
  struct winsize size;

  if (pager == NULL)
    pager = g_getenv ("PAGER");
  if (pager == NULL)
    pager = "less";
  if (pager[0] == '\0' || strcmp (pager, "cat") == 0 || cli->json || dvm_cli_args_has (cli->args, "no-pager"))
    return NULL;
  if (dvm_cli_terminal_is_dumb () || !get_size (&size) || size.ws_row == 0)
    return NULL;
  return count_lines (text, dvm_cli_terminal_width (), size.ws_row) >= size.ws_row ? pager : NULL;
}

/* Keys are the pager's. A reader that leaves early has seen enough. */
static void
on_signal (int signum, gpointer user_data)
{
}

/* FALSE: there is no such pager, and nothing was shown */
static gboolean
run_pager (const char *pager, const char *text)
{
  const char *const argv[] = { "/bin/sh", "-c", pager, NULL };
  g_auto (GStrv) environment = g_environ_setenv (g_get_environ (), "LESS", "FRSX", FALSE);
  g_autoptr (DvmCliSignals) signals = NULL;
  GPid pid;
  int status;
  int input;

  if (!g_spawn_async_with_pipes (NULL, (char **)argv, environment, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, &input,
                                 NULL, NULL, NULL))
    return FALSE;
  signals = dvm_cli_signals_new (NULL, on_signal, NULL);
  dvm_cli_write_all (input, text, strlen (text));
  close (input);
  while (waitpid (pid, &status, 0) < 0)
    ;
  return !WIFEXITED (status) || (WEXITSTATUS (status) != 127 && WEXITSTATUS (status) != 126);
}

gboolean
dvm_cli_show (DvmCli *cli, const char *text, GError **error)
{
  const char *pager = choose_pager (cli, text);

  if (pager != NULL && run_pager (pager, text))
    return TRUE;
  return dvm_cli_print (text, error);
}
