/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Items of PMIx's thread are run on the main context, in their order.
 */

#include "config.h"

#include "dvmd-pmix-queue.h"

/* Items run in one turn of the main loop before other sources get theirs. */
#define ITEMS_PER_TURN 256

struct _DvmdPmixQueue
{
  gatomicrefcount ref_count;
  GSource *source;
  gpointer owner;
  GMutex mutex;
  GQueue items;       /* under mutex */
  gboolean closed;    /* under mutex */
  GHashTable *barred; /* under mutex: set of words */
};

static DvmdPmixItem *
pop (DvmdPmixQueue *self)
{
  GList *link;

  g_mutex_lock (&self->mutex);
  link = g_queue_pop_head_link (&self->items);
  if (link == NULL && !self->closed)
    g_source_set_ready_time (self->source, -1);
  g_mutex_unlock (&self->mutex);
  return link != NULL ? link->data : NULL;
}

static gboolean
on_ready (gpointer user_data)
{
  DvmdPmixQueue *self = dvmd_pmix_queue_ref (user_data);

  for (guint i = 0; i < ITEMS_PER_TURN; i++)
    {
      DvmdPmixItem *item = pop (self);

      if (item == NULL)
        break;
      item->run (item, self->owner);
    }
  dvmd_pmix_queue_unref (self);
  return G_SOURCE_CONTINUE;
}

static gboolean
dispatch_items (GSource *source, GSourceFunc callback, gpointer user_data)
{
  return callback (user_data);
}

static GSourceFuncs source_funcs = { .dispatch = dispatch_items };

DvmdPmixQueue *
dvmd_pmix_queue_new (GMainContext *context, gpointer owner)
{
  DvmdPmixQueue *self = g_new0 (DvmdPmixQueue, 1);

  g_atomic_ref_count_init (&self->ref_count);
  g_mutex_init (&self->mutex);
  g_queue_init (&self->items);
  self->barred = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->owner = owner;
  self->source = g_source_new (&source_funcs, sizeof (GSource));
  g_source_set_static_name (self->source, "dvmd pmix queue");
  g_source_set_callback (self->source, on_ready, self, NULL);
  g_source_attach (self->source, context);
  return self;
}

DvmdPmixQueue *
dvmd_pmix_queue_ref (DvmdPmixQueue *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
dvmd_pmix_queue_unref (DvmdPmixQueue *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  dvmd_pmix_queue_close (self);
  g_source_unref (self->source);
  g_hash_table_unref (self->barred);
  g_mutex_clear (&self->mutex);
  g_free (self);
}

/* word (nullable) */
static gboolean
post_item (DvmdPmixQueue *self, DvmdPmixItem *item, const char *word)
{
  gboolean closed;
  gboolean barred;

  item->link = (GList){ .data = item };
  g_mutex_lock (&self->mutex);
  closed = self->closed;
  barred = word != NULL && g_hash_table_contains (self->barred, word);
  if (!closed && !barred)
    {
      g_queue_push_tail_link (&self->items, &item->link);
      if (self->items.length == 1)
        g_source_set_ready_time (self->source, 0);
    }
  g_mutex_unlock (&self->mutex);
  if (closed && !barred)
    item->free (item);
  return !barred;
}

void
dvmd_pmix_queue_post (DvmdPmixQueue *self, DvmdPmixItem *item)
{
  post_item (self, item, NULL);
}

gboolean
dvmd_pmix_queue_post_about (DvmdPmixQueue *self, DvmdPmixItem *item, const char *word)
{
  return post_item (self, item, word);
}

void
dvmd_pmix_queue_bar (DvmdPmixQueue *self, const char *word)
{
  g_mutex_lock (&self->mutex);
  g_hash_table_add (self->barred, g_strdup (word));
  g_mutex_unlock (&self->mutex);
}

void
dvmd_pmix_queue_unbar (DvmdPmixQueue *self, const char *word)
{
  g_mutex_lock (&self->mutex);
  g_hash_table_remove (self->barred, word);
  g_mutex_unlock (&self->mutex);
}

void
dvmd_pmix_queue_run_pending (DvmdPmixQueue *self)
{
  g_autoptr (DvmdPmixQueue) ref = dvmd_pmix_queue_ref (self);
  guint n;

  g_mutex_lock (&self->mutex);
  n = self->items.length;
  g_mutex_unlock (&self->mutex);
  for (; n > 0; n--)
    {
      DvmdPmixItem *item = pop (self);

      /* An item that was run may have run the rest. */
      if (item == NULL)
        break;
      item->run (item, self->owner);
    }
}

void
dvmd_pmix_queue_close (DvmdPmixQueue *self)
{
  GList *link;

  g_mutex_lock (&self->mutex);
  self->closed = TRUE;
  g_mutex_unlock (&self->mutex);
  /* A closed queue gets no new items, so that the lock is not needed. */
  while ((link = g_queue_pop_head_link (&self->items)) != NULL)
    {
      DvmdPmixItem *item = link->data;

      item->free (item);
    }
  g_source_destroy (self->source);
}
