/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The format of a job's output says how lines are marked and which files are written.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-output-format"

#include "dvmd-output-format.h"

#include <string.h>

DvmdOutputFormat *
dvmd_output_format_new (void)
{
  return g_new0 (DvmdOutputFormat, 1);
}

DvmdOutputFormat *
dvmd_output_format_copy_for (const DvmdOutputFormat *self, guint job)
{
  DvmdOutputFormat *copy = g_memdup2 (self, sizeof *self);
  gboolean has_job = self->file != NULL && self->pattern && strstr (self->file, "%n") != NULL;

  copy->dir = g_strdup (self->dir);
  if (self->file != NULL)
    copy->file = has_job ? g_strdup (self->file) : g_strdup_printf ("%s.%u", self->file, job);
  return copy;
}

void
dvmd_output_format_free (DvmdOutputFormat *self)
{
  g_free (self->dir);
  g_free (self->file);
  g_free (self);
}

gboolean
dvmd_output_format_is_plain (const DvmdOutputFormat *self)
{
  return self->tag == DVMD_OUTPUT_TAG_NONE && !self->timestamp && !self->xml;
}

static void
append_time (gint64 time, GString *text)
{
  g_autoptr (GDateTime) utc = g_date_time_new_from_unix_utc (time / G_USEC_PER_SEC);
  g_autoptr (GDateTime) local = g_date_time_to_local (utc);
  g_autofree char *seconds = g_date_time_format (local, "%Y-%m-%dT%H:%M:%S");
  g_autofree char *zone = g_date_time_format (local, "%z");

  g_string_append_printf (text, "%s.%06d%s", seconds, (int)(time % G_USEC_PER_SEC), zone);
}

void
dvmd_output_format_append_tag (const DvmdOutputFormat *self, const DvmdOutputSource *source, GString *text)
{
  const char *host = source->host != NULL ? source->host : "unknown";

  if (dvmd_output_format_is_plain (self))
    return;
  if (self->timestamp)
    append_time (source->time, text);
  switch (self->tag)
    {
    case DVMD_OUTPUT_TAG_NONE:
      break;
    case DVMD_OUTPUT_TAG_SHORT:
      g_string_append_printf (text, "[%u,%u]", source->job, source->rank);
      break;
    case DVMD_OUTPUT_TAG_DETAILED:
      g_string_append_printf (text, "[%s,%u][%s:%" G_GINT64_FORMAT "]", source->nspace, source->rank, host,
                              source->pid);
      break;
    case DVMD_OUTPUT_TAG_FULLNAME:
      g_string_append_printf (text, "[%s,%u]", source->nspace, source->rank);
      break;
    case DVMD_OUTPUT_TAG_RANK:
      g_string_append_printf (text, "[%u]", source->rank);
      break;
    }
  g_string_append_printf (text, "<%s>: ", dvmd_stream_name (source->stream));
}

/* ---- XML ---- */

/* https://www.w3.org/TR/xml/#charsets */
static gboolean
is_for_xml (gunichar c)
{
  return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c != 0xfffe && c != 0xffff);
}

/* A reader may change newlines, and spaces in attributes: they are written by their numbers. */
static void
append_character (gunichar c, GString *text)
{
  if (c == '&')
    g_string_append (text, "&amp;");
  else if (c == '<')
    g_string_append (text, "&lt;");
  else if (c == '>')
    g_string_append (text, "&gt;");
  else if (c == '"')
    g_string_append (text, "&quot;");
  else if (c < 0x20 && is_for_xml (c))
    g_string_append_printf (text, "&#%u;", c);
  else
    g_string_append_unichar (text, is_for_xml (c) ? c : 0xfffd);
}

static void
append_escaped (const char *data, gsize size, GString *text)
{
  const char *end = data + size;

  while (data < end)
    {
      gunichar c = g_utf8_get_char_validated (data, end - data);
      gboolean is_valid = c != (gunichar)-1 && c != (gunichar)-2;

      append_character (is_valid ? c : 0xfffd, text);
      data += is_valid ? g_utf8_next_char (data) - data : 1;
    }
}

static void
append_attribute (const char *name, const char *value, GString *text)
{
  g_string_append_printf (text, " %s=\"", name);
  append_escaped (value, strlen (value), text);
  g_string_append_c (text, '"');
}

/* Names of elements and attributes are those of the PMIx library (src/common/pmix_iof.c of version 5). */
void
dvmd_output_format_append_element (const DvmdOutputFormat *self, const DvmdOutputSource *source, const char *data,
                                   gsize size, GString *text)
{
  const char *name = dvmd_stream_name (source->stream);

  g_string_append_printf (text, "<%s", name);
  if (self->tag == DVMD_OUTPUT_TAG_SHORT)
    g_string_append_printf (text, " jobid=\"%u\"", source->job);
  else if (self->tag == DVMD_OUTPUT_TAG_FULLNAME || self->tag == DVMD_OUTPUT_TAG_DETAILED)
    append_attribute ("nspace", source->nspace, text);
  g_string_append_printf (text, " rank=\"%u\"", source->rank);
  if (self->tag == DVMD_OUTPUT_TAG_DETAILED)
    {
      append_attribute ("hostname", source->host != NULL ? source->host : "unknown", text);
      g_string_append_printf (text, " pid=\"%" G_GINT64_FORMAT "\"", source->pid);
    }
  if (self->timestamp)
    {
      g_string_append (text, " timestamp=\"");
      append_time (source->time, text);
      g_string_append_c (text, '"');
    }
  g_string_append_c (text, '>');
  append_escaped (data, size, text);
  g_string_append_printf (text, "</%s>\n", name);
}

/* ---- files ---- */

/* A name that is one component of a path. */
static void
append_component (GString *path, const char *name)
{
  for (const char *at = name; *at != '\0'; at++)
    g_string_append_c (path, *at == '/' ? '_' : *at);
}

static int
rank_width (guint n_ranks)
{
  int width = 1;

  for (guint last = n_ranks > 0 ? n_ranks - 1 : 0; last >= 10; last /= 10)
    width++;
  return width;
}

static void
append_pattern (const char *pattern, const DvmdOutputSource *source, GString *path)
{
  for (const char *at = pattern; *at != '\0'; at++)
    {
      if (*at != '%')
        {
          g_string_append_c (path, *at);
          continue;
        }
      at++;
      if (*at == 'n')
        append_component (path, source->nspace);
      else if (*at == 'r')
        g_string_append_printf (path, "%u", source->rank);
      else if (*at == 'R')
        g_string_append_printf (path, "%0*u", rank_width (source->n_ranks), source->rank);
      else if (*at == 'h')
        append_component (path, source->host != NULL ? source->host : "unknown");
      else
        g_string_append_c (path, '%');
    }
}

char *
dvmd_output_format_get_path (const DvmdOutputFormat *self, const DvmdOutputSource *source)
{
  GString *path;

  if (self->dir == NULL && self->file == NULL)
    return NULL;
  path = g_string_new (self->dir);
  if (self->dir != NULL)
    {
      g_string_append_c (path, '/');
      append_component (path, source->nspace);
      g_string_append_printf (path, "/rank.%u/%s", source->rank, dvmd_stream_name (source->stream));
      return g_string_free (path, FALSE);
    }
  if (self->pattern)
    append_pattern (self->file, source, path);
  else
    g_string_append_printf (path, "%s.%u", self->file, source->rank);
  g_string_append (path, source->stream == DVMD_STREAM_STDERR ? ".err" : ".out");
  return g_string_free (path, FALSE);
}
