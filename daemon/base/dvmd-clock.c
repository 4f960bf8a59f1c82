/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-clock.h"

typedef struct
{
  guint id;
  gint64 due;
  DvmdTimerFunc func;
  gpointer user_data;
  DvmdClock *clock;
  GSource *source; /* real clocks */
} Timer;

struct _DvmdClock
{
  gatomicrefcount ref_count;
  GMainContext *context; /* NULL: manual */
  gint64 manual_now;
  guint last_id;
  GHashTable *timers; /* id -> Timer of real clocks, which it owns; id -> GSequenceIter of manual ones */
  GSequence *queue;   /* by due time then id, manual clocks */
};

static int
compare_timers (gconstpointer a, gconstpointer b, gpointer user_data)
{
  const Timer *left = a;
  const Timer *right = b;

  if (left->due != right->due)
    return left->due < right->due ? -1 : 1;
  return left->id < right->id ? -1 : left->id > right->id;
}

static void
timer_free (gpointer data)
{
  Timer *timer = data;

  if (timer->source != NULL)
    {
      g_source_destroy (timer->source);
      g_source_unref (timer->source);
    }
  g_free (timer);
}

static DvmdClock *
clock_new (void)
{
  DvmdClock *self = g_new0 (DvmdClock, 1);

  g_atomic_ref_count_init (&self->ref_count);
  return self;
}

DvmdClock *
dvmd_clock_new_real (GMainContext *context)
{
  DvmdClock *self = clock_new ();

  self->context = context != NULL ? g_main_context_ref (context) : g_main_context_ref (g_main_context_default ());
  self->timers = g_hash_table_new_full (NULL, NULL, NULL, timer_free);
  return self;
}

DvmdClock *
dvmd_clock_new_manual (gint64 start)
{
  DvmdClock *self = clock_new ();

  self->manual_now = start;
  self->queue = g_sequence_new (timer_free);
  self->timers = g_hash_table_new (NULL, NULL);
  return self;
}

DvmdClock *
dvmd_clock_ref (DvmdClock *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
dvmd_clock_unref (DvmdClock *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_clear_pointer (&self->timers, g_hash_table_unref);
  g_clear_pointer (&self->queue, g_sequence_free);
  g_clear_pointer (&self->context, g_main_context_unref);
  g_free (self);
}

gint64
dvmd_clock_now (DvmdClock *self)
{
  return self->context != NULL ? g_get_real_time () : self->manual_now;
}

gint64
dvmd_clock_monotonic (DvmdClock *self)
{
  return self->context != NULL ? g_get_monotonic_time () : self->manual_now;
}

static gboolean
on_timer (gpointer user_data)
{
  Timer *timer = user_data;
  DvmdTimerFunc func = timer->func;
  gpointer data = timer->user_data;

  /* Frees the timer: the function may add and remove timers as it likes. */
  g_hash_table_remove (timer->clock->timers, GUINT_TO_POINTER (timer->id));
  func (data);
  return G_SOURCE_REMOVE;
}

guint
dvmd_clock_add_timer (DvmdClock *self, gint64 delay, DvmdTimerFunc func, gpointer user_data)
{
  Timer *timer = g_new0 (Timer, 1);

  timer->id = ++self->last_id;
  timer->due = dvmd_clock_monotonic (self) + MAX (delay, 0);
  timer->func = func;
  timer->user_data = user_data;
  timer->clock = self;
  if (self->context != NULL)
    {
      timer->source = g_timeout_source_new ((guint)(MAX (delay, 0) / 1000));
      g_source_set_ready_time (timer->source, timer->due);
      g_source_set_callback (timer->source, on_timer, timer, NULL);
      g_source_attach (timer->source, self->context);
      g_hash_table_insert (self->timers, GUINT_TO_POINTER (timer->id), timer);
    }
  else
    g_hash_table_insert (self->timers, GUINT_TO_POINTER (timer->id),
                         g_sequence_insert_sorted (self->queue, timer, compare_timers, NULL));
  return timer->id;
}

void
dvmd_clock_remove_timer (DvmdClock *self, guint id)
{
  gpointer found = NULL;

  g_hash_table_steal_extended (self->timers, GUINT_TO_POINTER (id), NULL, &found);
  if (found == NULL)
    return;
  if (self->context != NULL)
    timer_free (found);
  else
    g_sequence_remove (found);
}

void
dvmd_clock_advance (DvmdClock *self, gint64 delta)
{
  gint64 end;

  g_return_if_fail (self->context == NULL);

  end = self->manual_now + delta;
  for (;;)
    {
      GSequenceIter *first = g_sequence_get_begin_iter (self->queue);
      Timer *timer;
      DvmdTimerFunc func;
      gpointer data;

      if (g_sequence_iter_is_end (first))
        break;
      timer = g_sequence_get (first);
      if (timer->due > end)
        break;
      self->manual_now = MAX (self->manual_now, timer->due);
      func = timer->func;
      data = timer->user_data;
      g_hash_table_remove (self->timers, GUINT_TO_POINTER (timer->id));
      g_sequence_remove (first);
      func (data);
    }
  self->manual_now = end;
}
