/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How long the job of the DVM lasts, and whether it is there at all. Setting "interval": seconds from one question to
 * the next at most; 0: only when nodes are lost.
 */

#include "config.h"

#include "slurm-watch.h"

#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "slurm-command.h"
#include "slurm-environment.h"
#include "time-left.h"

/* squeue says so, with other words around it. */
#define UNKNOWN_JOB "Invalid job id"

typedef struct
{
  SlurmSeen seen;
  gpointer user_data;
} Asker;

struct _SlurmWatch
{
  gint ref_count;
  DvmdAllocator *allocator; /* (nullable): NULL: it has gone */
  DvmdPluginHost *host;
  SlurmSize *size;
  char *id;
  GArray *waiting;    /* Asker: of the next question */
  GArray *asked;      /* (nullable): of the one that is under way */
  DvmdTimeLeft *time; /* (nullable): likewise */
  gboolean has_begun;
  gboolean has_ended;
};

static void ask (SlurmWatch *self);

static void
unref (SlurmWatch *self)
{
  if (--self->ref_count > 0)
    return;
  g_object_unref (self->host);
  slurm_size_unref (self->size);
  g_array_unref (self->waiting);
  g_free (self->id);
  g_free (self);
}

/* ---- what becomes of an answer ---- */

static void
tell_end (SlurmWatch *self, const char *how)
{
  g_autofree char *reason = g_strdup_printf ("Job %s of Slurm ends: %s", self->id, how);
  GVariantBuilder request;

  if (self->has_ended || self->allocator == NULL)
    return;
  self->has_ended = TRUE;
  g_variant_builder_init (&request, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&request, "{sv}", "reason", g_variant_new_string (reason));
  dvmd_allocator_push (self->allocator, "end", g_variant_builder_end (&request));
}

/* (nullable) (transfer full): what squeue has said; the end of the job is told */
static SlurmView *
read_answer (SlurmWatch *self, const DvmdPluginOutcome *outcome, const GError *failed)
{
  gsize length = 0;
  const char *data = outcome->output != NULL ? g_bytes_get_data (outcome->output, &length) : NULL;
  g_autofree char *text = g_strndup (data != NULL ? data : "", length);
  g_autofree char *words = dvmd_timed_command_get_words (outcome->messages);
  g_autoptr (GError) error = NULL;
  SlurmView *view = NULL;

  if (failed == NULL && outcome->exit_code != 0 && strstr (words, UNKNOWN_JOB) != NULL)
    {
      tell_end (self, "Slurm does not know it any more");
      return NULL;
    }
  if (failed == NULL && outcome->exit_code == 0)
    view = slurm_view_parse (text, &error);
  if (view == NULL)
    dvmd_plugin_host_log (self->host, G_LOG_LEVEL_INFO, "Slurm does not say how job %s is: %s", self->id,
                          failed != NULL  ? failed->message
                          : error != NULL ? error->message
                                          : words);
  return view;
}

static void
on_answered (const DvmdPluginOutcome *outcome, const GError *error, gpointer user_data)
{
  SlurmWatch *self = user_data;
  g_autoptr (SlurmView) view = read_answer (self, outcome, error);
  g_autoptr (GArray) asked = g_steal_pointer (&self->asked);

  if (view != NULL && view->is_over)
    {
      g_autofree char *how = g_strdup_printf ("it is %s", view->state);

      tell_end (self, how);
    }
  else if (view != NULL)
    {
      slurm_size_learn (self->size, (const char *const *)view->nodes);
      if (self->time != NULL && !self->has_ended)
        dvmd_time_left_tell (self->time, view->left);
    }
  for (guint i = 0; i < asked->len; i++)
    g_array_index (asked, Asker, i).seen (view, g_array_index (asked, Asker, i).user_data);
  if (self->waiting->len > 0)
    ask (self);
  else if (self->time != NULL && !self->has_ended && view == NULL)
    dvmd_time_left_wait (self->time);
  unref (self);
}

/* ---- questions ---- */

/* Jobs that have ended are shown, too, as long as Slurm knows them. */
static void
ask (SlurmWatch *self)
{
  g_auto (GStrv) environ = g_get_environ ();
  g_auto (GStrv) argv = slurm_make_squeue_argv ((const char *const *)environ, SLURM_VIEW_FORMAT, TRUE);

  if (self->asked != NULL)
    return;
  if (self->time != NULL)
    dvmd_time_left_stop (self->time);
  self->asked = g_steal_pointer (&self->waiting);
  self->waiting = g_array_new (FALSE, FALSE, sizeof (Asker));
  self->ref_count++;
  slurm_run (self->host, (const char *const *)argv, on_answered, self);
}

void
slurm_watch_ask (SlurmWatch *self, SlurmSeen seen, gpointer user_data)
{
  const Asker asker = { seen, user_data };

  g_array_append_val (self->waiting, asker);
  ask (self);
}

/* Slurm 23.02 and later say when the job ends, in seconds since the epoch. */
static gint64
find_left (void)
{
  const char *text = g_getenv ("SLURM_JOB_END_TIME");
  guint64 end = 0;

  if (text == NULL || !g_ascii_string_to_unsigned (text, 10, 1, G_MAXINT32, &end, NULL))
    return -1;
  return MAX ((gint64)end - g_get_real_time () / G_USEC_PER_SEC, 0);
}

static void
on_due (gpointer user_data)
{
  SlurmWatch *self = user_data;
  gint64 left = self->has_begun ? -1 : find_left ();

  self->has_begun = TRUE;
  if (left < 0)
    ask (self);
  else
    dvmd_time_left_tell (self->time, left);
}

SlurmWatch *
slurm_watch_new (DvmdAllocator *allocator, const char *id, SlurmSize *size)
{
  SlurmWatch *self = g_new0 (SlurmWatch, 1);
  g_autofree char *job = g_strdup_printf ("job %s of Slurm", id);

  self->ref_count = 1;
  self->allocator = allocator;
  self->host = g_object_ref (dvmd_plugin_get_host (allocator));
  self->size = slurm_size_ref (size);
  self->id = g_strdup (id);
  self->waiting = g_array_new (FALSE, FALSE, sizeof (Asker));
  self->time = dvmd_time_left_new (allocator, "allocator-slurm", job, NULL, on_due, self);
  return self;
}

void
slurm_watch_release (SlurmWatch *self)
{
  g_clear_pointer (&self->time, dvmd_time_left_free);
  self->allocator = NULL;
  unref (self);
}
