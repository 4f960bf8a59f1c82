/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The progress of a start is shown: a bar for people, lines of JSON for programs.
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
  gboolean has_bar;
  gboolean shown; /* it is on the terminal */
};

DvmCliProgress *
dvm_cli_progress_new (DvmCli *cli)
{
  DvmCliProgress *self = g_new0 (DvmCliProgress, 1);

  self->cli = cli;
  /* In the foreground the messages of the DVM are there. */
  self->has_bar = !cli->quiet && !cli->json && !dvm_cli_args_has (cli->args, "foreground") && isatty (STDERR_FILENO)
                  && !dvm_cli_terminal_is_dumb ();
  return self;
}

static void
clear_bar (DvmCliProgress *self)
{
  if (self->shown)
    dvm_cli_write_all (STDERR_FILENO, CLEAR_LINE, strlen (CLEAR_LINE));
  self->shown = FALSE;
}

void
dvm_cli_progress_free (DvmCliProgress *self)
{
  clear_bar (self);
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
  g_autofree char *words = g_strdup_printf (g_dngettext (GETTEXT_PACKAGE, "%u of %u node", "%u of %u nodes", expected),
                                            reported, expected);
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

/* Begins a line with the fields that all lines have; the caller appends the others. */
static GString *
begin_line (const char *kind, const char *name)
{
  GString *json = g_string_new ("{\"time\":\"");
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *time = g_date_time_format (now, "%Y-%m-%dT%H:%M:%S.%fZ");

  g_string_append_printf (json, "%s\",\"kind\":\"%s\",\"name\":", time, kind);
  dvm_cli_json_append_string (json, name);
  return json;
}

/* A failure to write is reported by the last line, so that it is ignored here. */
static void
print_line (GString *json)
{
  g_string_append (json, "}\n");
  dvm_cli_print (json->str, NULL);
  g_string_free (json, TRUE);
}

void
dvm_cli_progress_show (guint reported, guint expected, gpointer user_data)
{
  DvmCliProgress *self = user_data;

  if (expected < 2)
    return;
  if (self->has_bar)
    draw_bar (self, reported, expected);
  if (self->cli->json)
    {
      GString *json = begin_line ("dvm", self->cli->name != NULL ? self->cli->name : "default");

      g_string_append_printf (json, ",\"nodes-reported\":%u,\"nodes-expected\":%u", reported, expected);
      print_line (json);
    }
}

void
dvm_cli_progress_miss (const char *name, const char *reason, gpointer user_data)
{
  DvmCliProgress *self = user_data;

  clear_bar (self);
  if (self->cli->json)
    {
      GString *json = begin_line ("node", name);

      g_string_append (json, ",\"state\":\"DOWN\",\"reason\":");
      dvm_cli_json_append_string (json, reason);
      print_line (json);
    }
  else
    dvm_cli_note (self->cli, _ ("node %s is missing: %s"), name, reason);
}
