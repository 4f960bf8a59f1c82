/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Allocators while the DVM runs: they are offered the nodes that have left, and ask for changes of its size themselves.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-elastic.h"
#include "dvmd-controller-private.h"
#include "dvmd-core-elastic.h"

/* Of an allocator: who has asked it. */
#define CONTROLLER_KEY "dvmd-controller"

/* ---- offers ---- */

/* One operation, offered to every active allocator; what each makes of it is its own decision (E41). */
typedef struct
{
  gint ref_count;
  DvmdController *controller;
  DvmdCampaign *campaign; /* (nullable) */
  guint n_left;
} Offer;

/* Of one of them. It may answer never, and twice. */
typedef struct
{
  gsize id;
  DvmdController *controller; /* unowned: has a table of these */
  Offer *offer;
  DvmdAllocator *allocator;
  GCancellable *cancellable;
  guint timer;
} Question;

static void
offer_unref (Offer *self)
{
  if (--self->ref_count > 0)
    return;
  g_clear_object (&self->campaign);
  g_object_unref (self->controller);
  g_free (self);
}

void
dvmd_offer_question_free (gpointer data)
{
  Question *self = data;

  dvmd_clock_remove_timer (self->controller->clock, self->timer);
  g_object_unref (self->cancellable);
  g_object_unref (self->allocator);
  offer_unref (self->offer);
  g_free (self);
}

static void
check_offer (Offer *offer)
{
  if (offer->n_left == 0 && offer->campaign != NULL && offer->controller->core != NULL)
    dvmd_core_offered (offer->controller->core, offer->campaign);
}

/* Frees the question. */
static void
end_question (Question *question)
{
  g_autoptr (DvmdController) controller = g_object_ref (question->controller);
  Offer *offer = question->offer;

  offer->ref_count++;
  offer->n_left--;
  g_hash_table_remove (controller->offers, GSIZE_TO_POINTER (question->id));
  check_offer (offer);
  offer_unref (offer);
}

static void
on_timeout (gpointer user_data)
{
  Question *question = user_data;

  question->timer = 0;
  g_message ("The allocator %s has not said what becomes of nodes that have left, and is not waited for",
             dvmd_plugins_get_name (question->controller->plugins, question->allocator));
  g_cancellable_cancel (question->cancellable);
  end_question (question);
}

/* Whoever answers twice, or after the end, names a question that there is not any more. */
static void
on_given_back (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmdController *controller = g_object_get_data (source, CONTROLLER_KEY);
  Question *question = controller != NULL ? g_hash_table_lookup (controller->offers, user_data) : NULL;
  g_autoptr (GError) error = NULL;
  DvmdPluginVerdict verdict;
  const char *name;

  if (question == NULL)
    return;
  name = dvmd_plugins_get_name (controller->plugins, source);
  verdict = dvmd_allocator_give_back_finish (DVMD_ALLOCATOR (source), result, &error);
  if (error != NULL)
    g_message ("The allocator %s does not take nodes back: %s", name, error->message);
  else
    g_debug ("The allocator %s %s", name, verdict == DVMD_PLUGIN_DONE ? "has taken nodes back" : "leaves them");
  end_question (question);
}

static Question *
make_question (Offer *offer, DvmdAllocator *allocator)
{
  DvmdController *controller = offer->controller;
  Question *question = g_new0 (Question, 1);

  question->id = ++controller->last_offer;
  question->controller = controller;
  question->offer = offer;
  question->allocator = g_object_ref (allocator);
  question->cancellable = g_cancellable_new ();
  question->timer = dvmd_clock_add_timer (controller->clock, controller->allocator_timeout, on_timeout, question);
  offer->ref_count++;
  offer->n_left++;
  g_hash_table_insert (controller->offers, GSIZE_TO_POINTER (question->id), question);
  g_object_set_data (G_OBJECT (allocator), CONTROLLER_KEY, controller);
  return question;
}

static void
on_nobody_asked (gpointer user_data)
{
  Offer *offer = user_data;

  offer->n_left--;
  check_offer (offer);
  offer_unref (offer);
}

void
dvmd_controller_offer_nodes (gpointer world, DvmdCampaign *campaign, const char *const *names, guint n_names)
{
  DvmdController *self = world;
  GPtrArray *active = dvmd_plugins_get_active (self->plugins, DVMD_PLUGIN_ALLOCATOR);
  g_autoptr (GPtrArray) asked = g_ptr_array_new_with_free_func (g_object_unref);
  g_autofree const char **list = g_new0 (const char *, n_names + 1);
  const char *alloc_id = campaign != NULL ? dvm_campaign_get_alloc_id (dvmd_campaign_get_record (campaign)) : NULL;
  Offer *offer = g_new0 (Offer, 1);

  for (guint i = 0; i < n_names; i++)
    list[i] = names[i];
  for (guint i = 0; i < active->len; i++)
    g_ptr_array_add (asked, g_object_ref (active->pdata[i]));
  offer->ref_count = 1;
  offer->controller = g_object_ref (self);
  offer->campaign = campaign != NULL ? g_object_ref (campaign) : NULL;
  offer->n_left = 1;
  if (self->context != NULL)
    g_main_context_push_thread_default (self->context);
  for (guint i = 0; i < asked->len; i++)
    {
      Question *question = make_question (offer, g_ptr_array_index (asked, i));

      dvmd_allocator_give_back_async (question->allocator, alloc_id, list, question->cancellable, on_given_back,
                                      GSIZE_TO_POINTER (question->id));
    }
  if (self->context != NULL)
    g_main_context_pop_thread_default (self->context);
  dvmd_clock_add_timer (self->clock, 0, on_nobody_asked, offer);
}

/* ---- pushes ---- */

typedef struct
{
  char *allocator;
  char *directive;
} Push;

static void
on_pushed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Push *push = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) answer = dvmd_controller_change_size_finish (DVMD_CONTROLLER (source), result, &error);

  if (answer == NULL)
    g_message ("The allocator %s asks for a change of size (%s), which is refused: %s", push->allocator,
               push->directive, error->message);
  g_free (push->allocator);
  g_free (push->directive);
  g_free (push);
}

static void
on_push (DvmdAllocator *allocator, const char *directive, GVariant *request, gpointer user_data)
{
  DvmdController *self = user_data;
  Push *push = g_new0 (Push, 1);

  push->allocator = g_strdup (dvmd_plugins_get_name (self->plugins, allocator));
  push->directive = g_strdup (directive);
  dvmd_controller_change_size_async (self, directive, request, NULL, TRUE, NULL, on_pushed, push);
}

void
dvmd_controller_listen_to_allocators (DvmdController *self)
{
  GPtrArray *all = dvmd_plugins_list (self->plugins);

  for (guint i = 0; i < all->len; i++)
    {
      DvmdPluginEntry *entry = g_ptr_array_index (all, i);

      if (entry->info->kind == DVMD_PLUGIN_ALLOCATOR && entry->instance != NULL)
        g_signal_connect_object (entry->instance, "push", G_CALLBACK (on_push), self, 0);
    }
}

void
dvmd_controller_forget_allocators (DvmdController *self)
{
  GPtrArray *all = dvmd_plugins_list (self->plugins);

  g_clear_pointer (&self->offers, g_hash_table_unref);
  for (guint i = 0; i < all->len; i++)
    {
      DvmdPluginEntry *entry = g_ptr_array_index (all, i);

      if (entry->info->kind == DVMD_PLUGIN_ALLOCATOR && entry->instance != NULL)
        g_object_set_data (entry->instance, CONTROLLER_KEY, NULL);
    }
}
