/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The reports that a starting dvmd writes to --ready-fd are read.
 */

#include "config.h"

#include "dvm-cli-ready.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define MISSING "MISSING "

/* Longer than the names of all nodes that can be missing */
#define LONGEST_ANSWER (16 * 1024 * 1024)

/* FALSE: it is the answer */
static gboolean
take_news (const DvmCliReady *self, const char *line)
{
  guint reported;
  guint expected;

  if (sscanf (line, "PROGRESS %u %u", &reported, &expected) == 2)
    {
      self->progress (reported, expected, self->user_data);
      return TRUE;
    }
  if (g_str_has_prefix (line, MISSING))
    {
      const char *name = line + strlen (MISSING);
      g_auto (GStrv) words = g_strsplit (name, " ", 2);

      self->missing (words[0], words[1] != NULL ? words[1] : "", self->user_data);
      return TRUE;
    }
  return FALSE;
}

/* Takes the whole lines from text; the one that is no progress is the answer. */
static char *
take_lines (const DvmCliReady *self, GString *text)
{
  char *end;

  while ((end = memchr (text->str, '\n', text->len)) != NULL)
    {
      g_autofree char *line = g_strndup (text->str, (gsize)(end - text->str));

      g_string_erase (text, 0, end + 1 - text->str);
      if (!take_news (self, line))
        return g_strdup (g_strchomp (line));
    }
  return NULL;
}

/* FALSE: that was all */
static gboolean
read_more (int fd, GString *text)
{
  char buffer[4096];
  gssize n;

  do
    n = read (fd, buffer, sizeof buffer);
  while (n < 0 && errno == EINTR);
  if (n <= 0 || text->len > LONGEST_ANSWER)
    return FALSE;
  g_string_append_len (text, buffer, n);
  return TRUE;
}

/* The number of the two that can be read; 0 when the time has passed */
static int
wait_for_any (const DvmCliReady *self, gint64 deadline, struct pollfd fds[2])
{
  gint64 left = deadline - g_get_monotonic_time ();
  int n;

  fds[0] = (struct pollfd){ self->fd, POLLIN, 0 };
  fds[1] = (struct pollfd){ self->signal_fd, POLLIN, 0 };
  n = left > 0 ? poll (fds, 2, (int)(left / 1000) + 1) : 0;
  return n < 0 && errno == EINTR ? 1 : n;
}

DvmCliReadyResult
dvm_cli_ready_wait (const DvmCliReady *self, char **answer, int *signum)
{
  gint64 deadline = g_get_monotonic_time () + (gint64)self->seconds * G_USEC_PER_SEC;
  g_autoptr (GString) text = g_string_new (NULL);
  struct signalfd_siginfo info;
  struct pollfd fds[2];

  *answer = NULL;
  while (wait_for_any (self, deadline, fds) > 0)
    {
      if (fds[1].revents != 0 && read (self->signal_fd, &info, sizeof info) == (gssize)sizeof info)
        {
          *signum = (int)info.ssi_signo;
          return DVM_CLI_READY_SIGNALLED;
        }
      if (fds[0].revents == 0)
        continue;
      if (!read_more (self->fd, text))
        {
          /* A line without an end is an answer all the same. */
          *answer = text->len > 0 ? g_strdup (g_strchomp (text->str)) : NULL;
          return *answer != NULL ? DVM_CLI_READY_ANSWERED : DVM_CLI_READY_SILENT;
        }
      *answer = take_lines (self, text);
      if (*answer != NULL)
        return DVM_CLI_READY_ANSWERED;
    }
  return DVM_CLI_READY_LATE;
}
