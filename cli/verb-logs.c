/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli logs: what a DVM has said, also when it has gone.
 */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dvm-cli-json.h"
#include "dvm-cli-output.h"
#include "dvm-cli-scheduler.h"
#include "dvm-cli-screen.h"
#include "dvm-cli-state.h"

#define DEFAULT_LINES 100
#define PIECE         65536

static const DvmCliOption options[] = {
  { "follow", 'f', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("stay, and show what comes") },
  { "lines", 'n', NULL, DVM_CLI_ARG_COUNT, N_ ("N"), NULL, N_ ("the last N lines (default: 100)") },
  { NULL },
};

typedef struct
{
  DvmCli *cli;
  char *path;
  int fd;        /* of the log, read so far */
  GString *rest; /* a line without its end */
  gboolean reader_gone;
} Follow;

/* ---- one line ---- */

static void
append_member (GString *json, const char *key, const char *value)
{
  g_string_append_printf (json, "%s\"%s\":", json->str[json->len - 1] == '{' ? "" : ",", key);
  if (value != NULL)
    dvm_cli_json_append_string (json, value);
  else
    g_string_append (json, "null");
}

/* "TIME PROGRAM[PID]: LEVEL: DOMAIN: TEXT"; what a library has written is text alone. */
static void
append_json (GString *json, const char *line)
{
  g_autoptr (GRegex)
      regex = g_regex_new ("^(\\S+Z) ([a-z-]+)\\[(\\d+)\\]: ([a-z]+): (?:([A-Za-z][\\w-]*): )?(.*)$", 0, 0, NULL);
  g_autofree char *valid = g_utf8_make_valid (line, -1);
  g_autoptr (GMatchInfo) match = NULL;
  g_auto (GStrv) parts = g_regex_match (regex, valid, 0, &match) ? g_match_info_fetch_all (match) : NULL;

  g_string_append_c (json, '{');
  append_member (json, "time", parts != NULL ? parts[1] : NULL);
  append_member (json, "program", parts != NULL ? parts[2] : NULL);
  g_string_append_printf (json, ",\"pid\":%s", parts != NULL ? parts[3] : "null");
  append_member (json, "level", parts != NULL ? parts[4] : NULL);
  append_member (json, "domain", parts != NULL && parts[5][0] != '\0' ? parts[5] : NULL);
  append_member (json, "message", parts != NULL ? parts[6] : valid);
  g_string_append_c (json, '}');
}

static void
append_line (GString *text, gboolean json, const char *line)
{
  g_autofree char *shown = NULL;

  if (json)
    {
      append_json (text, line);
      return;
    }
  shown = dvm_cli_escape (line);
  g_string_append (text, shown);
}

/* ---- the last lines ---- */

/* Adds the whole lines of a file before those that there are. */
static gboolean
take_file (GPtrArray *lines, const char *path, GError **error)
{
  g_autofree char *text = NULL;
  g_auto (GStrv) found = NULL;

  if (!g_file_get_contents (path, &text, NULL, error))
    return FALSE;
  found = g_strsplit (text, "\n", -1);
  for (guint i = 0, n = 0; found[i] != NULL; i++)
    if (found[i][0] != '\0')
      g_ptr_array_insert (lines, (int)n++, g_strdup (found[i]));
  return TRUE;
}

/* Older logs help out when the one that is written is short. */
static GPtrArray *
read_lines (const char *path, guint n_wanted, GError **error)
{
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);

  if (!take_file (lines, path, error))
    return NULL;
  for (guint i = 1; lines->len < n_wanted; i++)
    {
      g_autofree char *older = g_strdup_printf ("%s.%u", path, i);

      if (!take_file (lines, older, NULL))
        break;
    }
  if (lines->len > n_wanted)
    g_ptr_array_remove_range (lines, 0, lines->len - n_wanted);
  return g_steal_pointer (&lines);
}

static gboolean
show_last (DvmCli *cli, const char *path, GError **error)
{
  g_autoptr (GPtrArray) lines = read_lines (path, dvm_cli_args_get_uint (cli->args, "lines", DEFAULT_LINES), error);
  gboolean is_array = cli->json && !dvm_cli_args_has (cli->args, "follow");
  g_autoptr (GString) text = g_string_new (is_array ? "[" : NULL);

  if (lines == NULL)
    return FALSE;
  for (guint i = 0; i < lines->len; i++)
    {
      g_string_append (text, is_array && i > 0 ? ",\n" : "");
      append_line (text, cli->json, g_ptr_array_index (lines, i));
      g_string_append (text, is_array ? "" : "\n");
    }
  g_string_append (text, is_array ? "]\n" : "");
  return dvm_cli_args_has (cli->args, "follow") ? dvm_cli_print (text->str, error)
                                                : dvm_cli_show (cli, text->str, error);
}

/* ---- what comes ---- */

/* FALSE: the reader has gone, or an error */
static gboolean
print_whole_lines (Follow *follow, GError **error)
{
  char *end;

  while (!follow->reader_gone && (end = memchr (follow->rest->str, '\n', follow->rest->len)) != NULL)
    {
      g_autofree char *line = g_strndup (follow->rest->str, (gsize)(end - follow->rest->str));
      g_autoptr (GString) text = g_string_new (NULL);

      g_string_erase (follow->rest, 0, end + 1 - follow->rest->str);
      append_line (text, follow->cli->json, line);
      g_string_append_c (text, '\n');
      if (!dvm_cli_print_line (text->str, &follow->reader_gone, error))
        return FALSE;
    }
  return !follow->reader_gone;
}

static gboolean
read_on (Follow *follow, GError **error)
{
  char buffer[PIECE];
  gssize n;

  while ((n = read (follow->fd, buffer, sizeof buffer)) > 0)
    {
      g_string_append_len (follow->rest, buffer, n);
      if (!print_whole_lines (follow, error))
        return FALSE;
    }
  return TRUE;
}

/* Another file has the name now. */
static gboolean
was_renamed (Follow *follow)
{
  struct stat own;
  struct stat named;

  return fstat (follow->fd, &own) == 0 && stat (follow->path, &named) == 0
         && (own.st_dev != named.st_dev || own.st_ino != named.st_ino);
}

/* Until something happens to the log, or in its directory. */
static gboolean
wait_for_change (Follow *follow)
{
  g_autofree char *directory = g_path_get_dirname (follow->path);
  int fd = inotify_init1 (IN_CLOEXEC);
  struct pollfd fds[] = { { fd, POLLIN, 0 }, { STDOUT_FILENO, 0, 0 } };
  struct stat info;
  off_t offset = lseek (follow->fd, 0, SEEK_CUR);
  int n = 1;

  if (fd < 0)
    return FALSE;
  inotify_add_watch (fd, directory, IN_CREATE | IN_MOVED_TO);
  inotify_add_watch (fd, follow->path, IN_MODIFY);
  /* Lines that were written before the watch was added are read at once: the watch would not report them. */
  if (fstat (follow->fd, &info) == 0 && info.st_size <= offset && !was_renamed (follow))
    do
      n = poll (fds, dvm_cli_is_pipe (STDOUT_FILENO) ? 2 : 1, -1);
    while (n < 0 && errno == EINTR);
  close (fd);
  follow->reader_gone |= fds[1].revents != 0;
  return n > 0;
}

static gboolean
follow_log (Follow *follow, GError **error)
{
  follow->fd = open (follow->path, O_RDONLY | O_CLOEXEC);
  lseek (follow->fd, 0, SEEK_END);
  if (!show_last (follow->cli, follow->path, error))
    return FALSE;
  while (!follow->reader_gone)
    {
      gboolean renamed = was_renamed (follow);

      if (!read_on (follow, error))
        return follow->reader_gone;
      if (renamed)
        {
          close (follow->fd);
          follow->fd = open (follow->path, O_RDONLY | O_CLOEXEC);
        }
      else if (!wait_for_change (follow))
        break;
    }
  return TRUE;
}

static int
show_log (DvmCli *cli, GError **error)
{
  Follow follow = { .cli = cli, .path = dvm_cli_state_log_path (cli), .fd = -1, .rest = g_string_new (NULL) };
  gboolean ok = FALSE;

  if (!g_file_test (follow.path, G_FILE_TEST_EXISTS))
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND,
                 _ ("there is no log %s: 'dvm-cli start' makes it; a DVM in the foreground writes to its terminal, and "
                    "a service to the journal (journalctl --user -u dvm)"),
                 follow.path);
  else
    ok = dvm_cli_args_has (cli->args, "follow") ? follow_log (&follow, error) : show_last (cli, follow.path, error);
  if (follow.fd >= 0)
    close (follow.fd);
  g_string_free (follow.rest, TRUE);
  g_free (follow.path);
  return ok ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

static int
logs_verb (DvmCli *cli, GError **error)
{
  return dvm_cli_scheduler_find (cli, error) ? show_log (cli, error) : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_logs = {
  .name = "logs",
  .synopsis = "[OPTION...]",
  .summary = N_ ("show what a DVM has said, also when it has gone"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = logs_verb,
};
