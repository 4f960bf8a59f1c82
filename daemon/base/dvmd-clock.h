/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * Time and timers as they are handed to the parts that read no clock of their own (core, tree). The daemon hands in
 * dvmd_clock_new_real(); tests and the simulation hand in a clock that they turn themselves.
 */

typedef struct _DvmdClock DvmdClock;

typedef void (*DvmdTimerFunc) (gpointer user_data);

DvmdClock *dvmd_clock_new_real (GMainContext *context);
/* A clock that stands still until dvmd_clock_advance(); start in µs since the epoch. */
DvmdClock *dvmd_clock_new_manual (gint64 start);
DvmdClock *dvmd_clock_ref (DvmdClock *self);
void dvmd_clock_unref (DvmdClock *self);

/* µs since the epoch, for people and records. */
gint64 dvmd_clock_now (DvmdClock *self);
/* µs from an arbitrary start that never go back, for differences. */
gint64 dvmd_clock_monotonic (DvmdClock *self);

/* Calls func once after delay µs, on the clock's main context, in whose thread this is. Returns an id other than 0. */
guint dvmd_clock_add_timer (DvmdClock *self, gint64 delay, DvmdTimerFunc func, gpointer user_data);
/* 0 and ids that have fired are accepted and ignored. */
void dvmd_clock_remove_timer (DvmdClock *self, guint id);

/*
 * Called when this process has stood still: it was stopped, its machine was paused, or it did not come to its main loop
 * for at least DVMD_CLOCK_STILL. time: about how long (µs). Not of a manual clock.
 */
typedef void (*DvmdClockStoodStill) (gint64 time, gpointer user_data);
#define DVMD_CLOCK_STILL (3 * G_TIME_SPAN_SECOND)
void dvmd_clock_set_stood_still_func (DvmdClock *self, DvmdClockStoodStill func, gpointer user_data);

/* Manual clocks: moves time on by delta µs, firing what falls due in its order. */
void dvmd_clock_advance (DvmdClock *self, gint64 delta);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdClock, dvmd_clock_unref)

G_END_DECLS
