/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How long the job of the DVM lasts: what the DVM is told, and when the scheduler is asked again.
 */

#include "config.h"

#include "time-left.h"

#include <string.h>

#include "job-signs.h"
#include "timed-command.h"

#define INTERVAL 60
/* Near its end a job is asked about more often, but not more often than that. */
#define SHORTEST 5
/* Seconds before the end, from which the log has it. */
#define NEAR_END 60
/* The first pause (s) after a sign of the end; each later one is twice as long. */
#define FIRST_PAUSE 1
/* Hours, minutes or seconds beside others, and seconds or days alone; more is a mistake. */
#define MOST_OF_SEVERAL 10000
#define MOST            100000000

struct _DvmdTimeLeft
{
  DvmdAllocator *allocator;
  DvmdPluginHost *host;
  DvmdTimeLeftDue due;
  gpointer user_data;
  char *plugin;
  char *job;
  DvmdJobSigns *signs; /* (nullable): where nobody asks now and then */
  guint timer;
  guint pause; /* 0: no sign was seen of late */
  gboolean has_warned;
};

void
dvmd_time_left_push (DvmdAllocator *allocator, gint64 left)
{
  GVariantBuilder request;

  g_variant_builder_init (&request, G_VARIANT_TYPE_VARDICT);
  if (left >= 0)
    g_variant_builder_add (&request, "{sv}", "seconds", g_variant_new_uint32 ((guint32)MIN (left, G_MAXUINT32)));
  dvmd_allocator_push (allocator, "time-left", g_variant_builder_end (&request));
}

static gboolean
on_due (gpointer user_data)
{
  DvmdTimeLeft *self = user_data;

  self->timer = 0;
  self->due (self->user_data);
  return G_SOURCE_REMOVE;
}

static guint
get_interval (DvmdTimeLeft *self)
{
  return dvmd_timed_command_read_seconds (self->host, self->plugin, "interval", 0, INTERVAL);
}

static void
set_timer (DvmdTimeLeft *self, gint64 left)
{
  guint interval = get_interval (self);

  dvmd_time_left_stop (self);
  if (interval == 0)
    return;
  if (left >= 0)
    interval = (guint)MIN (interval, MAX (left / 2, SHORTEST));
  if (self->pause > 0 && self->pause < interval)
    {
      interval = self->pause;
      self->pause *= 2;
    }
  else
    self->pause = 0;
  self->timer = g_timeout_add_seconds (interval, on_due, self);
}

static void
on_sign (gpointer user_data)
{
  DvmdTimeLeft *self = user_data;

  self->pause = FIRST_PAUSE;
  dvmd_time_left_stop (self);
  self->due (self->user_data);
}

void
dvmd_time_left_tell (DvmdTimeLeft *self, gint64 left)
{
  gboolean is_near = left >= 0 && left <= NEAR_END;

  if (is_near && !self->has_warned)
    dvmd_plugin_host_log (self->host, G_LOG_LEVEL_MESSAGE, "%s ends in %" G_GINT64_FORMAT " s", self->job, left);
  self->has_warned = is_near;
  dvmd_time_left_push (self->allocator, left);
  set_timer (self, left);
}

void
dvmd_time_left_wait (DvmdTimeLeft *self)
{
  set_timer (self, -1);
}

void
dvmd_time_left_stop (DvmdTimeLeft *self)
{
  g_clear_handle_id (&self->timer, g_source_remove);
}

DvmdTimeLeft *
dvmd_time_left_new (DvmdAllocator *allocator, const char *plugin, const char *job, const char *file,
                    DvmdTimeLeftDue due, gpointer user_data)
{
  DvmdTimeLeft *self = g_new0 (DvmdTimeLeft, 1);

  self->allocator = allocator;
  self->host = g_object_ref (dvmd_plugin_get_host (allocator));
  self->due = due;
  self->user_data = user_data;
  self->plugin = g_strdup (plugin);
  self->job = g_strdup (job);
  if (get_interval (self) > 0)
    {
      self->timer = g_idle_add (on_due, self);
      self->signs = dvmd_job_signs_new (file, on_sign, self);
    }
  return self;
}

void
dvmd_time_left_free (DvmdTimeLeft *self)
{
  dvmd_time_left_stop (self);
  g_clear_pointer (&self->signs, dvmd_job_signs_free);
  g_object_unref (self->host);
  g_free (self->plugin);
  g_free (self->job);
  g_free (self);
}

gint64
dvmd_time_left_parse (const char *text)
{
  const char *dash = strchr (text, '-');
  g_autofree char *days = g_strndup (text, dash != NULL ? (gsize)(dash - text) : 0);
  g_auto (GStrv) halves = g_strsplit (dash != NULL ? dash + 1 : text, ".", 2);
  g_auto (GStrv) parts = g_strsplit (halves[0] != NULL ? halves[0] : "", ":", 4);
  guint n_parts = g_strv_length (parts);
  guint64 seconds = 0;
  guint64 number = 0;

  if (n_parts < 1 || n_parts > 3
      || (halves[1] != NULL && !g_ascii_string_to_unsigned (halves[1], 10, 0, G_MAXUINT64, &number, NULL)))
    return -1;
  for (guint i = 0; i < n_parts; i++)
    {
      if (!g_ascii_string_to_unsigned (parts[i], 10, 0, n_parts > 1 ? MOST_OF_SEVERAL : MOST, &number, NULL))
        return -1;
      seconds = seconds * 60 + number;
    }
  if (dash == NULL)
    return (gint64)seconds;
  return g_ascii_string_to_unsigned (days, 10, 0, MOST, &number, NULL) ? (gint64)(seconds + number * 86400) : -1;
}
