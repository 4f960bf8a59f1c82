/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Messages of g_log() go to standard error or to the journal, with their subject.
 */

#include "config.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "dvmd-log.h"

/* The length of a line is limited, because an unauthenticated peer may have written a part of it. */
#define LINE_LENGTH_MAX 8192

static const char *
level_name (GLogLevelFlags level)
{
  if (level & G_LOG_LEVEL_ERROR)
    return "error";
  if (level & G_LOG_LEVEL_CRITICAL)
    return "critical";
  if (level & G_LOG_LEVEL_WARNING)
    return "warning";
  if (level & G_LOG_LEVEL_MESSAGE)
    return "message";
  return level & G_LOG_LEVEL_INFO ? "info" : "debug";
}

/* (transfer full) (nullable) */
static char *
get_field (const GLogField *fields, gsize n_fields, const char *key)
{
  for (gsize i = 0; i < n_fields; i++)
    if (strcmp (fields[i].key, key) == 0)
      return fields[i].length < 0 ? g_strdup (fields[i].value) : g_strndup (fields[i].value, (gsize)fields[i].length);
  return NULL;
}

/* (transfer full): the message without what is nobody's to read. */
static char *
get_message (const GLogField *fields, gsize n_fields)
{
  char *message = get_field (fields, n_fields, "MESSAGE");
  char *payload;

  if (message == NULL)
    return g_strdup ("(no message)");
  /* GDBus shows all of a message that it cannot read: up to 128 MiB, with environments of jobs in it. */
  payload = strstr (message, "\nThe payload is as follows");
  if (payload != NULL)
    *payload = '\0';
  if (strlen (message) > LINE_LENGTH_MAX)
    message[LINE_LENGTH_MAX] = '\0';
  return message;
}

static void
append_escaped (GString *line, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);

  for (const char *p = valid; *p != '\0' && line->len < LINE_LENGTH_MAX; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);

      if (c == '\n')
        g_string_append (line, "\\n");
      else if (g_unichar_iscntrl (c))
        g_string_append_printf (line, "\\x%02x", c);
      else
        g_string_append_unichar (line, c);
    }
}

char *
dvmd_log_escape (const char *text)
{
  GString *line = g_string_new (NULL);

  append_escaped (line, text);
  return g_string_free (line, FALSE);
}

char *
dvmd_log_format_line (const char *program, GLogLevelFlags level, const GLogField *fields, gsize n_fields)
{
  GString *line = g_string_new (NULL);
  g_autofree char *domain = get_field (fields, n_fields, "GLIB_DOMAIN");
  g_autofree char *message = get_message (fields, n_fields);

  g_string_append_printf (line, "%s[%d]: %s: ", program, (int)getpid (), level_name (level));
  if (domain != NULL)
    g_string_append_printf (line, "%s: ", domain);
  append_escaped (line, message);
  return g_string_free (line, FALSE);
}

static void
write_line (const char *line)
{
  g_autofree char *text = g_strconcat (line, "\n", NULL);
  gsize left = strlen (text);
  const char *p = text;

  /* One write, so that lines of several daemons on one stderr do not mix; a stderr that is gone is nobody's fault. */
  while (left > 0)
    {
      gssize n = write (STDERR_FILENO, p, left);

      if (n <= 0)
        return;
      p += n;
      left -= (gsize)n;
    }
}

struct _DvmdLog
{
  const char *program;
  GLogLevelFlags fatal;
  gboolean journal;
  DvmdLogFile *file; /* (nullable): what standard error is */
};

/* Where GLib does not say which program speaks: journalctl -t asks for that. */
static gboolean
write_journal (const DvmdLog *writer, GLogLevelFlags level, const GLogField *fields, gsize n_fields)
{
  g_autofree GLogField *all = g_new (GLogField, n_fields + 1);
  g_autofree char *message = get_message (fields, n_fields);

  memcpy (all, fields, n_fields * sizeof *fields);
  for (gsize i = 0; i < n_fields; i++)
    if (strcmp (all[i].key, "MESSAGE") == 0)
      {
        all[i].value = message;
        all[i].length = -1;
      }
  all[n_fields].key = "SYSLOG_IDENTIFIER";
  all[n_fields].value = writer->program;
  all[n_fields].length = -1;
  return g_log_writer_journald (level, all, n_fields + 1, NULL) == G_LOG_WRITER_HANDLED;
}

static GLogWriterOutput
write_message (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer user_data)
{
  const DvmdLog *writer = user_data;
  g_autofree char *domain = get_field (fields, n_fields, "GLIB_DOMAIN");

  if (!g_log_writer_default_would_drop (level, domain)
      && !(writer->journal && write_journal (writer, level, fields, n_fields)))
    {
      g_autofree char *line = dvmd_log_format_line (writer->program, level, fields, n_fields);

      if (writer->file != NULL)
        dvmd_log_file_write (writer->file, line);
      else
        write_line (line);
    }
  /* g_log() ends the process itself; for structured messages GLib leaves G_DEBUG=fatal-warnings to the writer. */
  if (level & writer->fatal)
    {
      g_autofree char *old_api = get_field (fields, n_fields, "GLIB_OLD_LOG_API");

      if (old_api == NULL)
        G_BREAKPOINT ();
    }
  return G_LOG_WRITER_HANDLED;
}

static void
writer_free (gpointer data)
{
  g_clear_pointer (&((DvmdLog *)data)->file, dvmd_log_file_free);
  g_free (data);
}

DvmdLog *
dvmd_log_install (const char *program)
{
  DvmdLog *writer = g_new0 (DvmdLog, 1);

  writer->program = program;
  writer->fatal = g_log_set_always_fatal (G_LOG_FATAL_MASK);
  g_log_set_always_fatal (writer->fatal);
  writer->journal = g_log_writer_is_journald (STDERR_FILENO);
  g_log_set_writer_func (write_message, writer, writer_free);
  return writer;
}

void
dvmd_log_set_file (DvmdLog *self, DvmdLogFile *file)
{
  self->file = file;
}

gboolean
dvmd_log_is_in_journal (const char *domain, GLogLevelFlags level)
{
  return g_log_writer_is_journald (STDERR_FILENO) && !g_log_writer_default_would_drop (level, domain);
}

char *
dvmd_log_describe (const DvmdLogSubject *subject)
{
  GString *text = g_string_new (NULL);

  if (subject->job != NULL)
    g_string_append_printf (text, "job %s", subject->job);
  if (subject->rank != NULL)
    g_string_append_printf (text, "%srank %u", text->len > 0 ? " " : "", *subject->rank);
  if (subject->node != NULL)
    g_string_append_printf (text, "%s%s", text->len > 0 ? " on " : "node ", subject->node);
  return g_string_free (text, FALSE);
}

static void
add_field (GLogField *fields, gsize *n_fields, const char *key, const char *value)
{
  if (value == NULL)
    return;
  fields[*n_fields].key = key;
  fields[*n_fields].value = value;
  fields[*n_fields].length = -1;
  (*n_fields)++;
}

/* As g_log_structured() has it, which cannot leave a field out. */
static const char *
priority (GLogLevelFlags level)
{
  if (level & G_LOG_LEVEL_ERROR)
    return "3";
  if (level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING))
    return "4";
  if (level & G_LOG_LEVEL_MESSAGE)
    return "5";
  return level & G_LOG_LEVEL_INFO ? "6" : "7";
}

static void log_va (const char *domain, GLogLevelFlags level, const DvmdLogSubject *subject, const char *format,
                    va_list args) G_GNUC_PRINTF (4, 0);

static void
log_va (const char *domain, GLogLevelFlags level, const DvmdLogSubject *subject, const char *format, va_list args)
{
  g_autofree char *about = NULL;
  g_autofree char *text = NULL;
  g_autofree char *message = NULL;
  char rank[16];
  GLogField fields[6];
  gsize n_fields = 0;

  /* Most debug messages are for nobody: do not even format them. */
  if (g_log_writer_default_would_drop (level, domain))
    return;
  about = dvmd_log_describe (subject);
  text = g_strdup_vprintf (format, args);
  message = g_strdup_printf ("%s: %s", about, text);
  add_field (fields, &n_fields, "PRIORITY", priority (level));
  add_field (fields, &n_fields, "GLIB_DOMAIN", domain);
  add_field (fields, &n_fields, "MESSAGE", message);
  add_field (fields, &n_fields, "JOB", subject->job);
  if (subject->rank != NULL)
    {
      g_snprintf (rank, sizeof rank, "%u", *subject->rank);
      add_field (fields, &n_fields, "RANK", rank);
    }
  add_field (fields, &n_fields, "NODE", subject->node);
  g_log_structured_array (level, fields, n_fields);
}

void
dvmd_log_about (const char *domain, GLogLevelFlags level, const DvmdLogSubject *subject, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  log_va (domain, level, subject, format, args);
  va_end (args);
}

void
dvmd_log_job (const char *domain, GLogLevelFlags level, const char *job, const char *format, ...)
{
  const DvmdLogSubject subject = { .job = job };
  va_list args;

  va_start (args, format);
  log_va (domain, level, &subject, format, args);
  va_end (args);
}

void
dvmd_log_rank (const char *domain, GLogLevelFlags level, const char *job, guint32 rank, const char *format, ...)
{
  const DvmdLogSubject subject = { .job = job, .rank = &rank };
  va_list args;

  va_start (args, format);
  log_va (domain, level, &subject, format, args);
  va_end (args);
}
