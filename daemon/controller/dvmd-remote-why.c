/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Why agents are lost: the allocators that have brought their nodes are asked before that is told, and launchers say
 * that whoever has given the nodes ends all of them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-remote.h"

#include <string.h>

#include "dvmd-controller-allocators.h"
#include "dvmd-controller-questions.h"

/* A loss waits so long (µs) for its reason. */
#define LIMIT (2 * G_TIME_SPAN_SECOND)
/* Agents that leave so long (µs) before or after the word of a launcher do so because of that. */
#define TOGETHER (10 * G_TIME_SPAN_SECOND)

typedef struct
{
  DvmdRemote *remote;   /* (nullable): NULL: it has gone */
  GHashTable *ranks;    /* set of those that it is about */
  GPtrArray *withdrawn; /* names */
  guint n_left;         /* allocators that have not answered */
  guint timer;
  GCancellable *stop;
} Question;

struct _DvmdRemoteWhy
{
  Question *open; /* (nullable) */
  char *ending;   /* (nullable): what a launcher has said */
  gint64 ending_at;
  gint64 left_at; /* when an agent has left by itself; 0: none has */
};

static DvmdClock *
get_clock (DvmdRemote *self)
{
  return dvmd_controller_get_parts (self->controller)->clock;
}

static DvmdCore *
get_core (DvmdRemote *self)
{
  return dvmd_controller_get_core (self->controller);
}

/* The core ends the DVM in a moment: losses that it hears of before that would be the reason of jobs. */
gboolean
dvmd_remote_awaits_end (DvmdRemote *self)
{
  return dvmd_controller_get_parts (self->controller)->end_is_asked && !dvmd_core_get_shutting_down (get_core (self));
}

/* ---- all of them ---- */

static void
on_limit (gpointer user_data)
{
  Question *question = user_data;

  question->timer = 0;
  g_cancellable_cancel (question->stop);
}

static void
hurry (Question *question)
{
  DvmdClock *clock = get_clock (question->remote);

  dvmd_clock_remove_timer (clock, question->timer);
  question->timer = dvmd_clock_add_timer (clock, 0, on_limit, question);
}

static void
check_ending (DvmdRemote *self)
{
  DvmdRemoteWhy *why = self->why;

  if (why->ending == NULL || why->left_at == 0 || ABS (why->ending_at - why->left_at) > TOGETHER
      || dvmd_core_get_shutting_down (get_core (self)))
    return;
  g_message ("%s", why->ending);
  dvmd_controller_shutdown (self->controller, FALSE, why->ending);
  /* The reason of all losses is known now; this may be within a message of one that is lost. */
  if (why->open != NULL)
    hurry (why->open);
}

void
dvmd_remote_note_ending (DvmdRemote *self, const char *reason)
{
  g_free (self->why->ending);
  self->why->ending = g_strdup (reason);
  self->why->ending_at = dvmd_clock_monotonic (get_clock (self));
  check_ending (self);
}

void
dvmd_remote_note_leaving (DvmdRemote *self)
{
  self->why->left_at = dvmd_clock_monotonic (get_clock (self));
  check_ending (self);
}

/* ---- some of them ---- */

static void
question_free (Question *self)
{
  g_hash_table_unref (self->ranks);
  g_ptr_array_unref (self->withdrawn);
  g_object_unref (self->stop);
  g_free (self);
}

/* Nodes that are not the DVM's any more leave it, as those do that a scheduler takes back; they stay, down, where the
 * size never changes. */
static void
remove_withdrawn (DvmdRemote *self, GPtrArray *names)
{
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdShrinkRequest request = { .scheduler = TRUE };

  if (names->len == 0)
    return;
  g_ptr_array_add (names, NULL);
  request.hosts = (const char *const *)names->pdata;
  if (!dvmd_core_shrink (get_core (self), &request, &answer, &error)
      && !g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_ELASTIC))
    g_message ("Nodes that are not the DVM's any more are still listed: %s", error->message);
}

static void on_end (gpointer user_data);

/* Frees the question, or comes again: the end of the DVM is to be told before. */
static void
end_question (Question *question)
{
  DvmdRemote *self = question->remote;

  if (self != NULL && dvmd_remote_awaits_end (self))
    {
      dvmd_clock_remove_timer (get_clock (self), question->timer);
      question->timer = dvmd_clock_add_timer (get_clock (self), 0, on_end, question);
      return;
    }
  if (self != NULL)
    {
      dvmd_clock_remove_timer (get_clock (self), question->timer);
      self->why->open = NULL;
      dvmd_remote_tell_lost_of (self, question->ranks);
      remove_withdrawn (self, question->withdrawn);
    }
  question_free (question);
}

static void
on_end (gpointer user_data)
{
  Question *question = user_data;

  question->timer = 0;
  end_question (question);
}

static gboolean
is_among (const char *const *names, const char *name)
{
  return names != NULL && g_strv_contains (names, name);
}

/* The reason without the name of the node before it. */
static const char *
strip_name (const char *name, const char *reason)
{
  gsize length = strlen (name);

  return strncmp (reason, name, length) == 0 && g_str_has_prefix (reason + length, ": ") ? reason + length + 2 : reason;
}

static void
take_answer (Question *question, GVariant *answer)
{
  DvmdRemote *self = question->remote;
  g_autoptr (GVariant) reasons = g_variant_lookup_value (answer, "reasons", G_VARIANT_TYPE ("a{ss}"));
  g_autofree const char **withdrawn = NULL;
  GHashTableIter iter;
  gpointer rank;

  g_variant_lookup (answer, "withdrawn", "^a&s", &withdrawn);
  g_hash_table_iter_init (&iter, question->ranks);
  while (g_hash_table_iter_next (&iter, &rank, NULL))
    {
      DvmdAgentEntry *entry = dvmd_remote_find (self, GPOINTER_TO_UINT (rank));
      const char *reason = NULL;

      if (entry == NULL || !g_hash_table_contains (self->lost.untold, rank))
        continue;
      if (reasons != NULL && g_variant_lookup (reasons, entry->name, "&s", &reason))
        g_hash_table_replace (
            self->lost.untold, rank,
            g_strdup_printf ("%s: %s (%s)", entry->name, reason,
                             strip_name (entry->name, g_hash_table_lookup (self->lost.untold, rank))));
      if (!is_among (withdrawn, entry->name))
        continue;
      dvmd_core_withdraw_node (get_core (self), entry->rank);
      g_ptr_array_add (question->withdrawn, g_strdup (entry->name));
    }
}

static void
on_explained (DvmdController *controller, DvmdAllocator *allocator, GAsyncResult *result, const GError *error,
              gpointer data)
{
  Question *question = data;
  g_autoptr (GVariant) answer = NULL;
  g_autoptr (GError) refused = NULL;

  if (result != NULL && dvmd_allocator_explain_loss_finish (allocator, result, &answer, &refused) == DVMD_PLUGIN_DONE
      && question->remote != NULL && g_variant_is_of_type (answer, G_VARIANT_TYPE_VARDICT))
    take_answer (question, answer);
  if (error != NULL || refused != NULL)
    g_info ("Why agents were lost is not known: %s", error != NULL ? error->message : refused->message);
  if (--question->n_left == 0)
    end_question (question);
}

/* (transfer container): the names of those that this allocator has brought, which the question is about then */
static GPtrArray *
list_brought (DvmdRemote *self, DvmdAllocator *allocator, GHashTable *ranks)
{
  const char *name = dvmd_plugins_get_name (dvmd_controller_get_parts (self->controller)->plugins, allocator);
  GPtrArray *names = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer rank;

  g_hash_table_iter_init (&iter, self->lost.untold);
  while (g_hash_table_iter_next (&iter, &rank, NULL))
    {
      DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (get_core (self)), GPOINTER_TO_UINT (rank));

      if (node == NULL || dvmd_remote_still_leaves (self, dvmd_remote_find (self, node->rank))
          || g_strcmp0 (dvm_node_get_allocator (node->record), name) != 0)
        continue;
      g_ptr_array_add (names, (char *)dvm_node_get_name (node->record));
      g_hash_table_add (ranks, rank);
    }
  return names;
}

static void
ask (Question *question, DvmdAllocator *allocator)
{
  g_autoptr (GPtrArray) names = list_brought (question->remote, allocator, question->ranks);
  g_autoptr (GCancellable) cancellable = NULL;
  gsize id;

  if (names->len == 0)
    return;
  g_ptr_array_add (names, NULL);
  question->n_left++;
  id = dvmd_controller_ask (question->remote->controller, allocator, FALSE, question->stop, on_explained, question,
                            &cancellable);
  dvmd_allocator_explain_loss_async (allocator, (const char *const *)names->pdata, cancellable,
                                     dvmd_controller_answered, GSIZE_TO_POINTER (id));
}

gboolean
dvmd_remote_ask_why (DvmdRemote *self)
{
  g_autoptr (GPtrArray) active = NULL;
  Question *question;

  if (self->why->open != NULL)
    return TRUE;
  if (dvmd_core_get_shutting_down (get_core (self)))
    return FALSE;
  active = dvmd_controller_list_allocators (self->controller);
  question = g_new0 (Question, 1);
  question->remote = self;
  question->ranks = g_hash_table_new (NULL, NULL);
  question->withdrawn = g_ptr_array_new_with_free_func (g_free);
  question->stop = g_cancellable_new ();
  /* An answer may come at once. */
  question->n_left = 1;
  self->why->open = question;
  for (guint i = 0; i < active->len; i++)
    if (dvmd_allocator_explains_loss (active->pdata[i]))
      ask (question, active->pdata[i]);
  if (g_hash_table_size (question->ranks) == 0)
    {
      self->why->open = NULL;
      question_free (question);
      return FALSE;
    }
  question->timer = dvmd_clock_add_timer (get_clock (self), LIMIT, on_limit, question);
  if (--question->n_left == 0)
    end_question (question);
  return TRUE;
}

/* ---- the whole ---- */

DvmdRemoteWhy *
dvmd_remote_why_new (void)
{
  return g_new0 (DvmdRemoteWhy, 1);
}

/* Allocators that have been asked may still answer. */
void
dvmd_remote_why_free (DvmdRemoteWhy *self, DvmdClock *clock)
{
  Question *question = self->open;

  if (question != NULL)
    {
      question->remote = NULL;
      dvmd_clock_remove_timer (clock, question->timer);
      if (question->n_left > 0)
        g_cancellable_cancel (question->stop);
      else
        question_free (question);
    }
  g_free (self->ending);
  g_free (self);
}
