/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Asks a scheduler, by a command, how long the job of the DVM lasts, and whether it is there at all.
 */

#include "config.h"

#include "time-question.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "node-memory.h"
#include "time-left.h"
#include "timed-command.h"

#define TIMEOUT 60
/* ms between the two questions of which both have to say that the job is not there */
#define AGAIN 1000

const DvmdPluginSetting dvmd_time_settings[] = {
  { .key = "interval", .least = 0, .most = G_MAXINT32 },
  { .key = "timeout", .least = 1, .most = G_MAXINT32 },
  { .key = NULL },
};

struct _DvmdTimeAsker
{
  gint ref_count;
  const DvmdTimeQuestion *question;
  DvmdPluginHost *host;
  DvmdAllocator *allocator; /* (nullable): NULL: it has gone */
  DvmdTimeLeft *time;       /* (nullable): likewise */
  DvmdAllocation *allocation;
  char *id;
  char *file;          /* (nullable): that the job has */
  GPtrArray *waiting;  /* GTask: for the next answer */
  GPtrArray *asked;    /* (nullable): for the one that is under way */
  guint again;         /* timer: the second question */
  gboolean is_doubted; /* the last answer was that the job is not there */
  gboolean has_run;    /* the scheduler has said so */
  gboolean has_ended;
  gboolean has_complained;
};

static void on_due (gpointer user_data);
static void run_command (DvmdTimeAsker *self);

static void
unref (DvmdTimeAsker *self)
{
  if (--self->ref_count > 0)
    return;
  g_object_unref (self->host);
  g_ptr_array_unref (self->waiting);
  dvmd_allocation_unref (self->allocation);
  g_free (self->file);
  g_free (self->id);
  g_free (self);
}

/* The same again is no news. */
static void
complain (DvmdTimeAsker *self, const char *reason)
{
  dvmd_plugin_host_log (self->host, self->has_complained ? G_LOG_LEVEL_DEBUG : G_LOG_LEVEL_MESSAGE,
                        "%s does not say how long job %s lasts: %s; the limit of session 0 stays as it is",
                        self->question->scheduler, self->id, reason);
  self->has_complained = TRUE;
}

/* ---- the end ---- */

/* The number of the job, with nothing of another number or word around it. */
static gboolean
names_job (DvmdTimeAsker *self, const char *line)
{
  gsize n_digits = strspn (self->id, "0123456789");
  g_autofree char *number = g_strndup (self->id, n_digits > 0 ? n_digits : strlen (self->id));
  const char *place = line;

  while ((place = strstr (place, number)) != NULL)
    {
      if ((place == line || !g_ascii_isalnum (place[-1])) && !g_ascii_isalnum (place[strlen (number)]))
        return TRUE;
      place++;
    }
  return FALSE;
}

/* Of other things, as of a program or a file, schedulers say the same. */
static gboolean
is_unknown (DvmdTimeAsker *self, GBytes *messages)
{
  const char *const *unknown = self->question->unknown;
  gsize length = 0;
  const char *data = messages != NULL ? g_bytes_get_data (messages, &length) : NULL;
  g_autofree char *text = g_strndup (data != NULL ? data : "", length);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; unknown != NULL && unknown[i] != NULL; i++)
    for (guint j = 0; lines[j] != NULL; j++)
      if (strstr (lines[j], unknown[i]) != NULL && names_job (self, lines[j]))
        return TRUE;
  return FALSE;
}

static void
tell_end (DvmdTimeAsker *self, const char *how)
{
  g_autofree char *reason = g_strdup_printf ("Job %s of %s ends: %s", self->id, self->question->scheduler, how);
  GVariantBuilder request;

  self->has_ended = TRUE;
  g_variant_builder_init (&request, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&request, "{sv}", "reason", g_variant_new_string (reason));
  dvmd_allocator_push (self->allocator, "end", g_variant_builder_end (&request));
}

/* A scheduler that has never known the job is another one than that of the job. */
static gboolean
find_end (DvmdTimeAsker *self, const GError *error)
{
  if (self->has_run && g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_FOUND))
    tell_end (self, error->message);
  else if (self->file != NULL && access (self->file, F_OK) != 0 && errno == ENOENT)
    {
      g_autofree char *how = g_strdup_printf ("%s, %s, is not there any more, and %s", self->question->file, self->file,
                                              error->message);

      tell_end (self, how);
    }
  return self->has_ended;
}

/* ---- answers ---- */

static void
tell_memory (DvmdTimeAsker *self, const char *text)
{
  g_autofree guint64 *memory = NULL;
  GVariantBuilder request;
  guint n_nodes;

  if (self->question->read_memory == NULL || self->allocator == NULL)
    return;
  dvmd_allocation_get_nodes (self->allocation, &n_nodes);
  memory = g_new0 (guint64, n_nodes + 1);
  self->question->read_memory (text, self->id, self->allocation, memory);
  g_variant_builder_init (&request, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&request, "{sv}", "nodes", dvmd_node_memory_describe (self->allocation, memory));
  dvmd_allocator_push (self->allocator, "allotted", g_variant_builder_end (&request));
}

static gboolean
read_outcome (DvmdTimeAsker *self, const DvmdPluginOutcome *outcome, gint64 *left, GError **error)
{
  gsize length = 0;
  const char *data = outcome->output != NULL ? g_bytes_get_data (outcome->output, &length) : NULL;
  g_autofree char *text = g_utf8_make_valid (data != NULL ? data : "", (gssize)length);
  g_autofree char *words = dvmd_timed_command_get_words (outcome->messages);

  if (outcome->exit_code == 0)
    {
      if (!self->question->read (text, self->id, left, error))
        return FALSE;
      tell_memory (self, text);
      return TRUE;
    }
  if (is_unknown (self, outcome->messages))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "its command has said: %s", words);
  else if (outcome->exit_signal != 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "its command was ended by signal %d", outcome->exit_signal);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "its command has ended with status %d, and said: %s",
                 outcome->exit_code, words);
  return FALSE;
}

/* Tasks that were added since the command began ask about something that is newer, and wait for the next one. */
static void
answer (DvmdTimeAsker *self)
{
  g_autoptr (GPtrArray) asked = g_steal_pointer (&self->asked);

  for (guint i = 0; i < asked->len; i++)
    g_task_return_pointer (asked->pdata[i], NULL, NULL);
  if (self->waiting->len > 0)
    on_due (self);
}

static gboolean
on_again (gpointer user_data)
{
  DvmdTimeAsker *self = user_data;

  self->again = 0;
  run_command (self);
  unref (self);
  return G_SOURCE_REMOVE;
}

/* A server that has just been started again may say so of every job. */
static gboolean
asks_again (DvmdTimeAsker *self, const GError *error)
{
  gboolean is_first = self->has_run && !self->is_doubted && g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);

  self->is_doubted = is_first;
  if (!is_first)
    return FALSE;
  dvmd_plugin_host_log (self->host, G_LOG_LEVEL_INFO, "%s is asked once more for job %s: %s", self->question->scheduler,
                        self->id, error->message);
  self->ref_count++;
  self->again = g_timeout_add (AGAIN, on_again, self);
  return TRUE;
}

static void
on_ended (const DvmdPluginOutcome *outcome, const GError *failed, gpointer user_data)
{
  DvmdTimeAsker *self = user_data;
  g_autoptr (GError) error = failed != NULL ? g_error_copy (failed) : NULL;
  gint64 left = -1;

  if (self->time == NULL || self->has_ended)
    ;
  else if (error == NULL && read_outcome (self, outcome, &left, &error))
    {
      self->is_doubted = FALSE;
      self->has_complained = FALSE;
      self->has_run = TRUE;
      dvmd_time_left_tell (self->time, left);
    }
  else if (asks_again (self, error))
    {
      unref (self);
      return;
    }
  else if (!find_end (self, error))
    {
      complain (self, error->message);
      dvmd_time_left_wait (self->time);
    }
  answer (self);
  unref (self);
}

static void
run_command (DvmdTimeAsker *self)
{
  g_auto (GStrv) argv = self->question->make_argv (self->id);
  const DvmdPluginCommand command = { .argv = (const char *const *)argv };
  g_autofree char *setting = g_strconcat (self->question->plugin, ".timeout", NULL);
  guint seconds = dvmd_timed_command_read_seconds (self->host, self->question->plugin, "timeout", 1, TIMEOUT);

  self->ref_count++;
  dvmd_timed_command_run (self->host, &command, seconds, setting, NULL, on_ended, self);
}

static void
on_due (gpointer user_data)
{
  DvmdTimeAsker *self = user_data;

  if (self->asked != NULL)
    return;
  if (self->time != NULL)
    dvmd_time_left_stop (self->time);
  self->asked = g_steal_pointer (&self->waiting);
  self->waiting = g_ptr_array_new_with_free_func (g_object_unref);
  /* It would be an option of the command. */
  if (self->id[0] == '-')
    {
      complain (self, "that is no name of a job");
      answer (self);
      return;
    }
  run_command (self);
}

DvmdTimeAsker *
dvmd_time_asker_new (DvmdAllocator *allocator, const DvmdTimeQuestion *question, DvmdAllocation *allocation,
                     const char *id)
{
  DvmdTimeAsker *self = g_new0 (DvmdTimeAsker, 1);
  g_autofree char *job = g_strdup_printf ("job %s of %s", id, question->scheduler);

  self->ref_count = 1;
  self->question = question;
  self->host = g_object_ref (dvmd_plugin_get_host (allocator));
  self->allocator = allocator;
  self->allocation = dvmd_allocation_ref (allocation);
  self->id = g_strdup (id);
  self->file = question->file != NULL ? g_strdup (g_getenv (question->file)) : NULL;
  self->waiting = g_ptr_array_new_with_free_func (g_object_unref);
  self->time = dvmd_time_left_new (allocator, question->plugin, job, self->file, on_due, self);
  return self;
}

void
dvmd_time_asker_know (DvmdTimeAsker *self, gint64 left)
{
  if (left >= 0)
    dvmd_time_left_tell (self->time, left);
  else
    dvmd_time_left_wait (self->time);
}

void
dvmd_time_asker_release (DvmdTimeAsker *self)
{
  g_clear_pointer (&self->time, dvmd_time_left_free);
  self->allocator = NULL;
  if (self->again != 0)
    {
      g_source_remove (self->again);
      answer (self);
      unref (self);
    }
  unref (self);
}

void
dvmd_time_asker_ask (DvmdTimeAsker *self, GTask *task)
{
  g_ptr_array_add (self->waiting, task);
  on_due (self);
}
