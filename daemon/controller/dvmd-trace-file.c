/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Transitions are written to the trace file, one JSON object a line.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-trace"

#include "dvmd-trace-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dvmd-turn-source.h"

/* Bytes that do not wait for an idle main loop. */
#define MUCH (64 * 1024)

struct _DvmdTraceFile
{
  char *path;
  int fd;
  GString *lines;   /* not written yet */
  GSource *source;  /* runs when the main loop is idle */
  gboolean broken;  /* the last write failed, and that was told */
  gboolean cut_off; /* the file ends in the middle of a line */
};

static void
lose (DvmdTraceFile *self, int error)
{
  if (!self->broken)
    g_message ("The trace file %s cannot be written: %s. Lines are missing from here on", self->path,
               g_strerror (error));
  self->broken = TRUE;
}

/* The rest of a line that was cut off is ended first, so that every line that starts whole is one object. */
static void
write_out (DvmdTraceFile *self)
{
  const char *p;
  gsize left;

  if (self->lines->len > 0 && self->cut_off)
    g_string_prepend_c (self->lines, '\n');
  p = self->lines->str;
  left = self->lines->len;
  while (left > 0)
    {
      gssize n = write (self->fd, p, left);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        {
          lose (self, n < 0 ? errno : EIO);
          break;
        }
      self->cut_off = p[n - 1] != '\n';
      p += n;
      left -= (gsize)n;
    }
  if (left == 0 && self->lines->len > 0 && self->broken)
    {
      g_message ("The trace file %s is written again", self->path);
      self->broken = FALSE;
    }
  g_string_truncate (self->lines, 0);
}

static gboolean
on_idle (gpointer user_data)
{
  write_out (user_data);
  return G_SOURCE_CONTINUE;
}

static gboolean
check_kind (DvmdTraceFile *self, GError **error)
{
  struct stat status;

  /* The main loop would wait for whoever reads at the other end. */
  if (fstat (self->fd, &status) == 0 && !S_ISFIFO (status.st_mode) && !S_ISSOCK (status.st_mode))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "trace-file: %s is a pipe; it must be a file", self->path);
  return FALSE;
}

DvmdTraceFile *
dvmd_trace_file_new (const char *path, GMainContext *context, GError **error)
{
  g_autoptr (DvmdTraceFile) self = g_new0 (DvmdTraceFile, 1);

  self->path = g_strdup (path);
  self->lines = g_string_new (NULL);
  self->fd = open (path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
  if (self->fd < 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "trace-file: %s cannot be opened: %s", path, g_strerror (errno));
      return NULL;
    }
  if (!check_kind (self, error))
    return NULL;
  self->source = dvmd_turn_source_new (context, "dvmd trace file", on_idle, self);
  g_source_set_priority (self->source, G_PRIORITY_DEFAULT_IDLE);
  return g_steal_pointer (&self);
}

void
dvmd_trace_file_free (DvmdTraceFile *self)
{
  if (self->source != NULL)
    dvmd_turn_source_free (self->source);
  if (self->fd >= 0)
    {
      write_out (self);
      close (self->fd);
    }
  g_string_free (self->lines, TRUE);
  g_free (self->path);
  g_free (self);
}

static void
append_string (GString *line, const char *key, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);

  g_string_append_printf (line, "\"%s\":\"", key);
  for (const char *p = valid; *p != '\0'; p++)
    {
      if (*p == '"' || *p == '\\')
        g_string_append_printf (line, "\\%c", *p);
      else if ((guchar)*p < 0x20 || *p == 0x7f)
        g_string_append_printf (line, "\\u%04x", (guint)(guchar)*p);
      else
        g_string_append_c (line, *p);
    }
  g_string_append (line, "\",");
}

static void
append_time (GString *line, gint64 time)
{
  time_t seconds = (time_t)(time / G_USEC_PER_SEC);
  struct tm parts = { 0 };
  char text[32] = "";

  gmtime_r (&seconds, &parts);
  strftime (text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  g_string_append_printf (line, "{\"time\":\"%s.%06dZ\",", text, (int)(time % G_USEC_PER_SEC));
}

void
dvmd_trace_file_add (DvmdTraceFile *self, const char *nspace, const char *what, const DvmdTraceEntry *entry)
{
  GString *line = self->lines;

  append_time (line, entry->time);
  append_string (line, "job", nspace);
  if (entry->rank != DVMD_TRACE_JOB)
    g_string_append_printf (line, "\"rank\":%u,", entry->rank);
  append_string (line, "what", what);
  append_string (line, "old", dvmd_trace_entry_state_name (entry, entry->old_state));
  append_string (line, "new", dvmd_trace_entry_state_name (entry, entry->new_state));
  g_string_append_printf (line, "\"old-number\":%u,\"new-number\":%u,", entry->old_state, entry->new_state);
  append_string (line, "note", entry->note != NULL ? entry->note : "");
  g_string_overwrite (line, line->len - 1, "}");
  g_string_append_c (line, '\n');
  if (line->len >= MUCH)
    write_out (self);
  else
    dvmd_turn_source_request (self->source);
}
