/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How long a job of LSF lasts, and whether it runs: bjobs says "HOURS:MINUTES STATUS STATE", or "- STATE".
 */

#include "config.h"

#include "job-time.h"

#include <string.h>

#include "time-left.h"

static char **
make_argv (const char *id)
{
  const char *const argv[] = { "bjobs", "-noheader", "-o", "time_left stat", id, NULL };

  return g_strdupv ((char **)argv);
}

/* The last word, where it is one of capital letters: it is cut off. (transfer full): or "" */
static char *
cut_state (char *line)
{
  char *space = strrchr (line, ' ');
  char *word = space != NULL ? space + 1 : line;
  char *state;

  if (strlen (word) < 3 || strspn (word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != strlen (word))
    return g_strdup ("");
  state = g_strdup (word);
  *word = '\0';
  g_strchomp (line);
  return state;
}

/* A job that is known some time after its end. */
static gboolean
has_ended (const char *state)
{
  return strcmp (state, "DONE") == 0 || strcmp (state, "EXIT") == 0 || strcmp (state, "ZOMBI") == 0;
}

/* FALSE: another line. Status L is a limit; E and X are of an estimate, at whose end LSF does nothing. */
static gboolean
read_line (const char *line, gint64 *left)
{
  const char *space = strchr (line, ' ');
  g_autofree char *time = g_strndup (line, space != NULL ? (gsize)(space - line) : 0);
  const char *status = space != NULL ? space + strspn (space, " ") : "";
  gint64 minutes = strchr (time, ':') != NULL ? dvmd_time_left_parse (time) : -1;

  *left = strcmp (status, "L") == 0 ? minutes * 60 : -1;
  return strcmp (line, "-") == 0 || (minutes >= 0 && strlen (status) == 1 && strchr ("LEX", status[0]) != NULL);
}

static gboolean
read_left (const char *text, const char *id, gint64 *left, GError **error)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_autofree char *state = cut_state (g_strstrip (lines[i]));

      if (!read_line (lines[i], left))
        continue;
      if (!has_ended (state))
        return TRUE;
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "bjobs has said that it has ended (%s)", state);
      return FALSE;
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "bjobs has said “%.60s”, which is no “HOURS:MINUTES STATUS”",
               lines[0] != NULL ? lines[0] : "");
  return FALSE;
}

static const char *const unknown[] = { "is not found", NULL };

const DvmdTimeQuestion lsf_time_question = {
  .plugin = "allocator-lsf",
  .scheduler = "LSF",
  .make_argv = make_argv,
  .read = read_left,
  .unknown = unknown,
};
