/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Allocators are asked questions. They are plugins: one may answer never, too late, or twice, and each question has one
 * answer all the same.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-services.h"
#include "dvmd-controller-questions.h"

/* The data of an allocator: the questions that it has not answered. */
#define QUESTIONS_KEY "dvmd-questions"

/* How long an allocator may take to answer, where nobody has said anything else (µs). */
#define ALLOCATOR_TIMEOUT (30 * G_TIME_SPAN_SECOND)

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *open;           /* number -> Question */
  gsize last_number;
  gint64 timeout;
} Questions;

typedef struct
{
  gsize id;
  Questions *all; /* unowned: has a table of these */
  DvmdAllocator *allocator;
  GCancellable *cancellable; /* the allocator's */
  GCancellable *stop;        /* (nullable) */
  gulong stop_handler;
  guint timer;
  DvmdAnswered answered;
  gpointer data;
} Question;

static void
question_free (gpointer data)
{
  Question *self = data;

  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->all->controller)->clock, self->timer);
  if (self->stop_handler != 0)
    g_signal_handler_disconnect (self->stop, self->stop_handler);
  g_clear_object (&self->stop);
  g_object_unref (self->cancellable);
  g_object_unref (self->allocator);
  g_free (self);
}

static Questions *
get_questions (DvmdController *self)
{
  return dvmd_services_get (self, &dvmd_questions_service);
}

/* Frees the question. result: NULL with an error */
static void
end_question (Question *self, GAsyncResult *result, const GError *error)
{
  g_autoptr (DvmdController) controller = g_object_ref (self->all->controller);
  g_autoptr (DvmdAllocator) allocator = g_object_ref (self->allocator);
  g_autoptr (GCancellable) cancellable = g_object_ref (self->cancellable);
  DvmdAnswered answered = self->answered;
  gpointer data = self->data;

  g_hash_table_remove (self->all->open, GSIZE_TO_POINTER (self->id));
  /* Whatever it says to that is not heard any more. */
  if (result == NULL)
    g_cancellable_cancel (cancellable);
  answered (controller, allocator, result, error, data);
}

static void
on_timeout (gpointer user_data)
{
  Question *self = user_data;
  g_autoptr (GError) error = g_error_new (
      DVM_ERROR, DVM_ERROR_TIMEOUT, "The allocator %s has not answered within %g s (allocator-timeout)",
      dvmd_plugins_get_name (dvmd_controller_get_parts (self->all->controller)->plugins, self->allocator),
      (double)self->all->timeout / G_USEC_PER_SEC);

  self->timer = 0;
  end_question (self, NULL, error);
}

static void
on_stopped (GCancellable *stop, gpointer user_data)
{
  g_autoptr (GError)
      error = g_error_new (DVM_ERROR, DVM_ERROR_FAILED, "The request was withdrawn before it was answered");

  end_question (user_data, NULL, error);
}

gsize
dvmd_controller_ask (DvmdController *self, DvmdAllocator *allocator, gboolean limited, GCancellable *stop,
                     DvmdAnswered answered, gpointer data, GCancellable **cancellable)
{
  Questions *all = get_questions (self);
  Question *question = g_new0 (Question, 1);

  question->id = ++all->last_number;
  question->all = all;
  question->allocator = g_object_ref (allocator);
  question->cancellable = g_cancellable_new ();
  question->answered = answered;
  question->data = data;
  if (limited)
    question->timer = dvmd_clock_add_timer (dvmd_controller_get_parts (self)->clock, all->timeout, on_timeout,
                                            question);
  if (stop != NULL)
    {
      question->stop = g_object_ref (stop);
      question->stop_handler = g_signal_connect (stop, "cancelled", G_CALLBACK (on_stopped), question);
    }
  g_hash_table_insert (all->open, GSIZE_TO_POINTER (question->id), question);
  g_object_set_data (G_OBJECT (allocator), QUESTIONS_KEY, all);
  *cancellable = g_object_ref (question->cancellable);
  return question->id;
}

/* An allocator that answers twice, or after the end, names a question that does not exist any more. */
void
dvmd_controller_answered (GObject *source, GAsyncResult *result, gpointer id)
{
  Questions *all = g_object_get_data (source, QUESTIONS_KEY);
  Question *question = all != NULL ? g_hash_table_lookup (all->open, id) : NULL;

  if (question != NULL)
    end_question (question, result, NULL);
  else if (all != NULL)
    g_debug ("The allocator %s answers what nobody waits for any more",
             dvmd_plugins_get_name (dvmd_controller_get_parts (all->controller)->plugins, source));
}

/* ---- the service ---- */

static void
dvm_ended (gpointer service)
{
  Questions *self = service;
  g_autoptr (GList) ids = g_hash_table_get_keys (self->open);
  g_autoptr (GError) error = g_error_new (DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The DVM is ending");
  g_autoptr (DvmdController) controller = g_object_ref (self->controller);

  for (GList *l = ids; l != NULL; l = l->next)
    {
      Question *question = g_hash_table_lookup (self->open, l->data);

      if (question != NULL)
        end_question (question, NULL, error);
    }
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  dvmd_services_add_number (statistics, "allocator-questions", g_hash_table_size (((Questions *)service)->open));
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Questions *self = g_new0 (Questions, 1);

  self->controller = controller;
  self->open = g_hash_table_new_full (NULL, NULL, NULL, question_free);
  self->timeout = settings->size.allocator_timeout > 0 ? settings->size.allocator_timeout : ALLOCATOR_TIMEOUT;
  return self;
}

/* Plugins may outlive the controller, and answer then. */
static void
questions_free (gpointer service)
{
  Questions *self = service;
  GPtrArray *all = dvmd_plugins_list (dvmd_controller_get_parts (self->controller)->plugins);

  g_hash_table_unref (self->open);
  for (guint i = 0; i < all->len; i++)
    {
      DvmdPluginEntry *entry = g_ptr_array_index (all, i);

      if (entry->info->kind == DVMD_PLUGIN_ALLOCATOR && entry->instance != NULL)
        g_object_set_data (entry->instance, QUESTIONS_KEY, NULL);
    }
  g_free (self);
}

const DvmdService dvmd_questions_service = {
  .name = "questions",
  .create = create,
  .free = questions_free,
  .dvm_ended = dvm_ended,
  .add_statistics = add_statistics,
};
