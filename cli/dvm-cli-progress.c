/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvm-cli-progress.h"

#include <glib/gi18n-lib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dvm-cli-json.h"
#include "dvm-cli-output.h"
#include "dvm-cli-screen.h"

#define WIDEST_BAR 40

/* To the beginning of the line, and nothing behind it */
#define CLEAR_LINE "\r\033[K"

struct _DvmCliProgress
{
  DvmCli *cli;
  gboolean shown; /* there is a bar on the terminal */
};

DvmCliProgress *
dvm_cli_progress_new (DvmCli *cli)
{
  DvmCliProgress *self;

  if (cli->quiet || (!cli->json && (!isatty (STDERR_FILENO) || dvm_cli_terminal_is_dumb ())))
    return NULL;
  self = g_new0 (DvmCliProgress, 1);
  self->cli = cli;
  return self;
}

void
dvm_cli_progress_free (DvmCliProgress *self)
{
  if (self->shown)
    dvm_cli_write_all (STDERR_FILENO, CLEAR_LINE, strlen (CLEAR_LINE));
  g_free (self);
}

static guint
find_width (void)
{
  struct winsize size;

  return ioctl (STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void
draw_bar (DvmCliProgress *self, guint reported, guint expected)
{
  g_autofree char *words = g_strdup_printf (_ ("%u of %u nodes"), reported, expected);
  g_autoptr (GString) line = g_string_new (CLEAR_LINE);
  guint words_width = dvm_cli_width (words);
  guint width = find_width ();
  guint bar = width > words_width + 4 ? MIN (width - words_width - 4, WIDEST_BAR) : 0;
  guint done = (guint)((guint64)bar * MIN (reported, expected) / expected);

  if (bar > 0)
    g_string_append_c (line, '[');
  for (guint i = 0; i < bar; i++)
    g_string_append_c (line, i < done ? '#' : ' ');
  g_string_append_printf (line, "%s%s", bar > 0 ? "] " : "", words);
  dvm_cli_write_all (STDERR_FILENO, line->str, line->len);
  self->shown = TRUE;
}

static void
print_line (DvmCliProgress *self, guint reported, guint expected)
{
  g_autoptr (GString) json = g_string_new ("{\"time\":\"");
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *time = g_date_time_format (now, "%Y-%m-%dT%H:%M:%S.%fZ");

  g_string_append_printf (json, "%s\",\"kind\":\"dvm\",\"name\":", time);
  dvm_cli_json_append_string (json, self->cli->name != NULL ? self->cli->name : "default");
  g_string_append_printf (json, ",\"nodes-reported\":%u,\"nodes-expected\":%u}\n", reported, expected);
  /* What cannot be written is noticed by the last line. */
  dvm_cli_print (json->str, NULL);
}

void
dvm_cli_progress_show (guint reported, guint expected, gpointer user_data)
{
  DvmCliProgress *self = user_data;

  if (expected < 2)
    return;
  if (self->cli->json)
    print_line (self, reported, expected);
  else
    draw_bar (self, reported, expected);
}
