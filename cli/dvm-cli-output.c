/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * All that dvm-cli writes to standard output and standard error goes through here.
 */

#include "config.h"

#include "dvm-cli-output.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dvm-cli-caller.h"

int
dvm_cli_write_all (int fd, const char *bytes, gsize length)
{
  while (length > 0)
    {
      gssize n = write (fd, bytes, length);

      if (n < 0 && errno == EAGAIN)
        {
          /* Somebody else has made our descriptor non-blocking. */
          GPollFD poll_fd = { fd, G_IO_OUT, 0 };

          g_poll (&poll_fd, 1, -1);
          continue;
        }
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return errno;
      bytes += n;
      length -= (gsize)n;
    }
  return 0;
}

gboolean
dvm_cli_print (const char *text, GError **error)
{
  int saved_errno = dvm_cli_write_all (STDOUT_FILENO, text, strlen (text));

  if (saved_errno == 0 || saved_errno == EPIPE)
    return TRUE;
  g_set_error (error, G_IO_ERROR, g_io_error_from_errno (saved_errno), _ ("cannot write to standard output: %s"),
               g_strerror (saved_errno));
  return FALSE;
}

gboolean
dvm_cli_print_line (const char *line, gboolean *reader_gone, GError **error)
{
  int saved_errno = dvm_cli_write_all (STDOUT_FILENO, line, strlen (line));

  if (saved_errno == 0)
    return TRUE;
  if (saved_errno == EPIPE)
    *reader_gone = TRUE;
  else
    g_set_error (error, G_IO_ERROR, g_io_error_from_errno (saved_errno), _ ("cannot write to standard output: %s"),
                 g_strerror (saved_errno));
  return FALSE;
}

gboolean
dvm_cli_is_pipe (int fd)
{
  struct stat info;

  return fstat (fd, &info) == 0 && (S_ISFIFO (info.st_mode) || S_ISSOCK (info.st_mode));
}

static void G_GNUC_PRINTF (1, 0) say (const char *format, va_list arguments)
{
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  g_autofree char *shown = dvm_cli_escape (text);
  g_autofree char *line = g_strdup_printf ("%s: %s\n", dvm_cli_caller_name (), shown);

  /* One write: lines of several programs on one terminal must not mix. Nobody is left to be told of a failure. */
  dvm_cli_write_all (STDERR_FILENO, line, strlen (line));
}

void
dvm_cli_complain (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  say (format, arguments);
  va_end (arguments);
}

void
dvm_cli_note (DvmCli *cli, const char *format, ...)
{
  va_list arguments;

  if (cli->quiet)
    return;
  va_start (arguments, format);
  say (format, arguments);
  va_end (arguments);
}

void
dvm_cli_tell (DvmCli *cli, const char *format, ...)
{
  va_list arguments;

  if (!cli->verbose)
    return;
  va_start (arguments, format);
  say (format, arguments);
  va_end (arguments);
}

static void
append_shown (GString *shown, gunichar character)
{
  if (character == '\n')
    g_string_append (shown, "\\n");
  else if (character == '\t')
    g_string_append (shown, "\\t");
  else if (!g_unichar_isprint (character))
    g_string_append_printf (shown, character < 0x100 ? "\\x%02x" : "\\u%04x", (guint)character);
  else
    g_string_append_unichar (shown, character);
}

/* Most texts are shown as they are. */
static gboolean
is_plain (const char *text)
{
  while (*text >= 0x20 && *text < 0x7f)
    text++;
  return *text == '\0';
}

char *
dvm_cli_escape (const char *text)
{
  GString *shown;

  if (is_plain (text))
    return g_strdup (text);
  shown = g_string_sized_new (strlen (text));
  while (*text != '\0')
    {
      gunichar character = g_utf8_get_char_validated (text, -1);

      if (character == (gunichar)-1 || character == (gunichar)-2)
        {
          g_string_append_printf (shown, "\\x%02x", (guint)(guchar)*text);
          text++;
          continue;
        }
      append_shown (shown, character);
      text = g_utf8_next_char (text);
    }
  return g_string_free (shown, FALSE);
}

void
dvm_cli_append_number (GString *text, gint64 number, guint n_digits)
{
  char digits[24];
  guint n = 0;

  for (; number > 0 || n < n_digits; number /= 10)
    digits[sizeof digits - ++n] = (char)('0' + number % 10);
  g_string_append_len (text, digits + sizeof digits - n, n);
}

guint
dvm_cli_width (const char *text)
{
  guint width = 0;

  for (const char *p = text; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar character;

      if ((guchar)*p < 0x80)
        {
          width++;
          continue;
        }
      character = g_utf8_get_char (p);
      if (!g_unichar_iszerowidth (character))
        width += g_unichar_iswide (character) ? 2 : 1;
    }
  return width;
}

char *
dvm_cli_cut (const char *text, guint width)
{
  GString *kept;
  guint used = 0;

  if (dvm_cli_width (text) <= width)
    return g_strdup (text);
  kept = g_string_new (NULL);
  while (*text != '\0')
    {
      const char *next = g_utf8_next_char (text);
      g_autofree char *character = g_strndup (text, (gsize)(next - text));
      guint needed = dvm_cli_width (character);

      if (used + needed + 1 > width)
        break;
      g_string_append (kept, character);
      used += needed;
      text = next;
    }
  g_string_append (kept, "…");
  return g_string_free (kept, FALSE);
}

const char *
dvm_cli_skip_app (const char *message, guint *app)
{
  char *end;

  *app = 0;
  if (!g_str_has_prefix (message, "apps["))
    return message;
  *app = (guint)g_ascii_strtoull (message + strlen ("apps["), &end, 10);
  return g_str_has_prefix (end, "]: ") ? end + strlen ("]: ") : message;
}

/* The place of what a program was given: "apps[1].hosts: " of the description is "--host" of the second program. */
char *
dvm_cli_name_option (DvmCli *cli, const char *message)
{
  guint64 app;
  char *end;

  if (!g_str_has_prefix (message, "apps[") || dvm_cli_option_find (cli->verb->options, "host") == NULL
      || dvm_cli_args_has (cli->args, "file"))
    return g_strdup (message);
  app = g_ascii_strtoull (message + strlen ("apps["), &end, 10);
  if (!g_str_has_prefix (end, "].hosts: "))
    return g_strdup (message);
  end += strlen ("].hosts: ");
  return app == 0 ? g_strdup_printf ("--host: %s", end)
                  : g_strdup_printf (_ ("--host of program %u: %s"), (guint)app + 1, end);
}

/* ---- to a place that the user names ---- */

gboolean
dvm_cli_is_stream (const char *where)
{
  return strcmp (where, "-") == 0 || strcmp (where, "+") == 0;
}

/* A file is whole when it is there; a pipe or a device is not replaced by one. */
static gboolean
is_replaced (const char *path)
{
  return !g_file_test (path, G_FILE_TEST_EXISTS) || g_file_test (path, G_FILE_TEST_IS_REGULAR);
}

int
dvm_cli_find_place_fault (const char *where)
{
  g_autofree char *folder = g_path_get_dirname (where);

  if (dvm_cli_is_stream (where))
    return 0;
  if (g_file_test (where, G_FILE_TEST_IS_DIR))
    return EISDIR;
  if (is_replaced (where) ? access (folder, W_OK | X_OK) != 0 : access (where, W_OK) != 0)
    return errno;
  return 0;
}

gboolean
dvm_cli_check_place (const char *option, const char *where, GError **error)
{
  int why = dvm_cli_find_place_fault (where);

  if (why == 0)
    return TRUE;
  g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (why),
               _ ("--%s: '%s' cannot be written: %s; no job was started"), option, where, g_strerror (why));
  return FALSE;
}

gboolean
dvm_cli_write_to (const char *where, const char *text, GError **error)
{
  if (strcmp (where, "-") == 0)
    return dvm_cli_print (text, error);
  if (!dvm_cli_is_stream (where))
    return g_file_set_contents_full (
        where, text, -1, is_replaced (where) ? G_FILE_SET_CONTENTS_CONSISTENT : G_FILE_SET_CONTENTS_NONE, 0666, error);
  fputs (text, stderr);
  return TRUE;
}
