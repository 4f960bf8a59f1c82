/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What allocators are asked. They are plugins: one may answer never, too late, or twice, and each question has one
 * answer all the same.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-private.h"

/* Of an allocator: who has asked it. */
#define CONTROLLER_KEY "dvmd-controller"

typedef struct
{
  gsize id;
  DvmdController *controller; /* unowned: has a table of these */
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

  dvmd_clock_remove_timer (self->controller->clock, self->timer);
  if (self->stop_handler != 0)
    g_signal_handler_disconnect (self->stop, self->stop_handler);
  g_clear_object (&self->stop);
  g_object_unref (self->cancellable);
  g_object_unref (self->allocator);
  g_free (self);
}

GHashTable *
dvmd_controller_questions_new (void)
{
  return g_hash_table_new_full (NULL, NULL, NULL, question_free);
}

/* Frees the question. result: NULL with an error */
static void
end_question (Question *self, GAsyncResult *result, const GError *error)
{
  g_autoptr (DvmdController) controller = g_object_ref (self->controller);
  g_autoptr (DvmdAllocator) allocator = g_object_ref (self->allocator);
  g_autoptr (GCancellable) cancellable = g_object_ref (self->cancellable);
  DvmdAnswered answered = self->answered;
  gpointer data = self->data;

  g_hash_table_remove (controller->questions, GSIZE_TO_POINTER (self->id));
  /* Whatever it says to that is not heard any more. */
  if (result == NULL)
    g_cancellable_cancel (cancellable);
  answered (controller, allocator, result, error, data);
}

static void
on_timeout (gpointer user_data)
{
  Question *self = user_data;
  g_autoptr (GError) error = g_error_new (DVM_ERROR, DVM_ERROR_TIMEOUT,
                                          "The allocator %s has not answered within %g s (allocator-timeout)",
                                          dvmd_plugins_get_name (self->controller->plugins, self->allocator),
                                          (double)self->controller->allocator_timeout / G_USEC_PER_SEC);

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
  Question *question = g_new0 (Question, 1);

  question->id = ++self->last_question;
  question->controller = self;
  question->allocator = g_object_ref (allocator);
  question->cancellable = g_cancellable_new ();
  question->answered = answered;
  question->data = data;
  if (limited)
    question->timer = dvmd_clock_add_timer (self->clock, self->allocator_timeout, on_timeout, question);
  if (stop != NULL)
    {
      question->stop = g_object_ref (stop);
      question->stop_handler = g_signal_connect (stop, "cancelled", G_CALLBACK (on_stopped), question);
    }
  g_hash_table_insert (self->questions, GSIZE_TO_POINTER (question->id), question);
  g_object_set_data (G_OBJECT (allocator), CONTROLLER_KEY, self);
  *cancellable = g_object_ref (question->cancellable);
  return question->id;
}

/* Whoever answers twice, or after the end, names a question that there is not any more. */
void
dvmd_controller_answered (GObject *source, GAsyncResult *result, gpointer id)
{
  DvmdController *controller = g_object_get_data (source, CONTROLLER_KEY);
  Question *question = controller != NULL ? g_hash_table_lookup (controller->questions, id) : NULL;

  if (question != NULL)
    end_question (question, result, NULL);
  else if (controller != NULL)
    g_debug ("The allocator %s answers what nobody waits for any more",
             dvmd_plugins_get_name (controller->plugins, source));
}

void
dvmd_controller_end_questions (DvmdController *self)
{
  g_autoptr (GList) ids = g_hash_table_get_keys (self->questions);
  g_autoptr (GError) error = g_error_new (DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The DVM is ending");
  g_autoptr (DvmdController) controller = g_object_ref (self);

  for (GList *l = ids; l != NULL; l = l->next)
    {
      Question *question = g_hash_table_lookup (self->questions, l->data);

      if (question != NULL)
        end_question (question, NULL, error);
    }
}

void
dvmd_controller_forget_allocators (DvmdController *self)
{
  GPtrArray *all = dvmd_plugins_list (self->plugins);

  g_clear_pointer (&self->questions, g_hash_table_unref);
  for (guint i = 0; i < all->len; i++)
    {
      DvmdPluginEntry *entry = g_ptr_array_index (all, i);

      if (entry->info->kind == DVMD_PLUGIN_ALLOCATOR && entry->instance != NULL)
        g_object_set_data (entry->instance, CONTROLLER_KEY, NULL);
    }
}
