/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Time and timers come from here: the real clock of the daemons, and the manual one of tests and the simulation.
 */

#include "config.h"

#include "dvmd-clock.h"

#include <time.h>

/*
 * Timers are held back for so long after this process was stopped, so that messages which have arrived meanwhile are
 * read before a timeout counts.
 */
#define HOLD (200 * G_TIME_SPAN_MILLISECOND)

typedef struct
{
  guint id;
  gint64 due;
  DvmdTimerFunc func;
  gpointer user_data;
} Timer;

struct _DvmdClock
{
  gatomicrefcount ref_count;
  GSource *source; /* of all timers; NULL: manual */
  gint64 manual_now;
  guint last_id;
  GHashTable *timers; /* id -> GSequenceIter */
  GSequence *queue;   /* Timer, by due time then id */
  gint64 held_until;  /* µs, monotonic: no timer fires before */
  gint64 asleep;      /* µs that the machine has slept since its start */
  DvmdClockStoodStill stood_still;
  gpointer stood_still_data;
};

typedef struct
{
  GSource source;
  DvmdClock *clock;
} ClockSource;

static int
compare_timers (gconstpointer a, gconstpointer b, gpointer user_data)
{
  const Timer *left = a;
  const Timer *right = b;

  if (left->due != right->due)
    return left->due < right->due ? -1 : 1;
  return left->id < right->id ? -1 : left->id > right->id;
}

/* The next one that is due at now is taken out. */
static gboolean
take_due (DvmdClock *self, gint64 now, Timer *taken)
{
  GSequenceIter *first = g_sequence_get_begin_iter (self->queue);
  Timer *timer = !g_sequence_iter_is_end (first) ? g_sequence_get (first) : NULL;

  if (timer == NULL || timer->due > now)
    return FALSE;
  *taken = *timer;
  g_hash_table_remove (self->timers, GUINT_TO_POINTER (timer->id));
  g_sequence_remove (first);
  return TRUE;
}

/* ---- the main loop ---- */

/* How long (ms) until the next one is due; -1: there is none. */
static int
get_pause (GSource *source)
{
  DvmdClock *self = ((ClockSource *)source)->clock;
  GSequenceIter *first = g_sequence_get_begin_iter (self->queue);
  gint64 due;
  gint64 pause;

  if (g_sequence_iter_is_end (first))
    return -1;
  due = MAX (((Timer *)g_sequence_get (first))->due, self->held_until);
  pause = due - g_source_get_time (source);
  return pause > 0 ? (int)MIN ((pause + 999) / 1000, G_MAXINT) : 0;
}

/* Timers come and go with every message: a GSource each would wake the loop each time. */
static gboolean
prepare_timers (GSource *source, int *timeout)
{
  *timeout = get_pause (source);
  return *timeout == 0;
}

static gboolean
check_timers (GSource *source)
{
  return get_pause (source) == 0;
}

/* The monotonic clock stands while the machine sleeps, that of its boot does not. */
static gint64
get_asleep (void)
{
  struct timespec boot = { 0 };
  struct timespec monotonic = { 0 };

  clock_gettime (CLOCK_MONOTONIC, &monotonic);
  clock_gettime (CLOCK_BOOTTIME, &boot);
  return (boot.tv_sec - monotonic.tv_sec) * G_USEC_PER_SEC + (boot.tv_nsec - monotonic.tv_nsec) / 1000;
}

/* The next timer is due, and should have fired about then. */
static gboolean
has_stood_still (DvmdClock *self, gint64 now)
{
  GSequenceIter *first = g_sequence_get_begin_iter (self->queue);
  gint64 asleep = get_asleep ();
  gint64 time = asleep - self->asleep;

  self->asleep = asleep;
  if (!g_sequence_iter_is_end (first))
    time += MAX (now - MAX (((Timer *)g_sequence_get (first))->due, self->held_until), 0);
  if (time < DVMD_CLOCK_STILL)
    return FALSE;
  self->held_until = now + HOLD;
  if (self->stood_still != NULL)
    self->stood_still (time, self->stood_still_data);
  return TRUE;
}

static gboolean
dispatch_timers (GSource *source, GSourceFunc callback, gpointer user_data)
{
  g_autoptr (DvmdClock) self = dvmd_clock_ref (((ClockSource *)source)->clock);
  gint64 now = g_source_get_time (source);
  Timer timer;

  if (has_stood_still (self, now))
    return G_SOURCE_CONTINUE;
  while (take_due (self, now, &timer))
    timer.func (timer.user_data);
  return G_SOURCE_CONTINUE;
}

static GSourceFuncs clock_source_funcs = { .prepare = prepare_timers,
                                           .check = check_timers,
                                           .dispatch = dispatch_timers };

static DvmdClock *
clock_new (void)
{
  DvmdClock *self = g_new0 (DvmdClock, 1);

  g_atomic_ref_count_init (&self->ref_count);
  self->queue = g_sequence_new (g_free);
  self->timers = g_hash_table_new (NULL, NULL);
  return self;
}

DvmdClock *
dvmd_clock_new_real (GMainContext *context)
{
  DvmdClock *self = clock_new ();

  self->asleep = get_asleep ();
  self->source = g_source_new (&clock_source_funcs, sizeof (ClockSource));
  ((ClockSource *)self->source)->clock = self;
  g_source_set_static_name (self->source, "dvmd clock");
  /* A timer may run the loop. */
  g_source_set_can_recurse (self->source, TRUE);
  g_source_attach (self->source, context);
  return self;
}

DvmdClock *
dvmd_clock_new_manual (gint64 start)
{
  DvmdClock *self = clock_new ();

  self->manual_now = start;
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
  if (self->source != NULL)
    g_source_destroy (self->source);
  g_clear_pointer (&self->source, g_source_unref);
  g_clear_pointer (&self->timers, g_hash_table_unref);
  g_clear_pointer (&self->queue, g_sequence_free);
  g_free (self);
}

gint64
dvmd_clock_now (DvmdClock *self)
{
  return self->source != NULL ? g_get_real_time () : self->manual_now;
}

gint64
dvmd_clock_monotonic (DvmdClock *self)
{
  return self->source != NULL ? g_get_monotonic_time () : self->manual_now;
}

guint
dvmd_clock_add_timer (DvmdClock *self, gint64 delay, DvmdTimerFunc func, gpointer user_data)
{
  Timer *timer = g_new0 (Timer, 1);

  timer->id = ++self->last_id;
  timer->due = dvmd_clock_monotonic (self) + MAX (delay, 0);
  timer->func = func;
  timer->user_data = user_data;
  g_hash_table_insert (self->timers, GUINT_TO_POINTER (timer->id),
                       g_sequence_insert_sorted (self->queue, timer, compare_timers, NULL));
  return timer->id;
}

void
dvmd_clock_remove_timer (DvmdClock *self, guint id)
{
  gpointer found = NULL;

  g_hash_table_steal_extended (self->timers, GUINT_TO_POINTER (id), NULL, &found);
  if (found != NULL)
    g_sequence_remove (found);
}

void
dvmd_clock_set_stood_still_func (DvmdClock *self, DvmdClockStoodStill func, gpointer user_data)
{
  self->stood_still = func;
  self->stood_still_data = user_data;
}

void
dvmd_clock_advance (DvmdClock *self, gint64 delta)
{
  gint64 end;
  Timer timer;

  g_return_if_fail (self->source == NULL);

  end = self->manual_now + delta;
  while (take_due (self, end, &timer))
    {
      self->manual_now = MAX (self->manual_now, timer.due);
      timer.func (timer.user_data);
    }
  self->manual_now = end;
}
