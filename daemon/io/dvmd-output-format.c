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
  return self->tag == DVMD_OUTPUT_TAG_NONE && !self->timestamp;
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
