/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * When an agent that was ordered to leave is gone, and when the launcher has to see to it (D1).
 */

#include "config.h"

#include "dvmd-departures.h"

#define GRACE (10 * G_TIME_SPAN_SECOND)

typedef struct
{
  DvmdClock *clock;
  DvmdDepartures *departures;
  GString *events; /* "end 1", "left 2", "ended 3" */
  gboolean answers_at_once;
} World;

static void
terminate (gpointer world, const guint32 *ranks, guint n)
{
  World *self = world;

  for (guint i = 0; i < n; i++)
    g_string_append_printf (self->events, "end %u;", ranks[i]);
  for (guint i = 0; i < n && self->answers_at_once; i++)
    g_assert_true (dvmd_departures_ended (self->departures, ranks[i]));
}

static void
departed (gpointer world, guint32 rank, DvmdDepartedHow how)
{
  World *self = world;

  g_assert_false (dvmd_departures_contains (self->departures, rank));
  g_string_append_printf (self->events, "%s %u;", how == DVMD_DEPARTED_LEFT ? "left" : "ended", rank);
}

static const DvmdDepartureFuncs funcs = { .terminate = terminate, .departed = departed };

static void
set_up (World *self, gconstpointer data)
{
  self->clock = dvmd_clock_new_manual (0);
  self->departures = dvmd_departures_new (self->clock, GRACE, &funcs, self);
  self->events = g_string_new (NULL);
}

static void
tear_down (World *self, gconstpointer data)
{
  g_assert_cmpuint (dvmd_departures_get_n (self->departures), ==, 0);
  dvmd_departures_free (self->departures);
  dvmd_clock_unref (self->clock);
  g_string_free (self->events, TRUE);
}

static void
expect (World *self, const char *events)
{
  g_assert_cmpstr (self->events->str, ==, events);
  g_string_truncate (self->events, 0);
}

static void
order (World *self, guint32 rank, guint32 parent)
{
  dvmd_departures_order (self->departures, &rank, &parent, 1);
}

static void
pass (World *self, gint64 time)
{
  dvmd_clock_advance (self->clock, time);
}

/* Says LEFT, then its link ends: nothing else is needed, and it counts once. */
static void
test_clean (World *self, gconstpointer data)
{
  order (self, 3, 1);
  pass (self, GRACE - 1);
  expect (self, "");
  g_assert_true (dvmd_departures_left (self->departures, 3, 1));
  expect (self, "");
  g_assert_true (dvmd_departures_link_lost (self->departures, 3, 1));
  expect (self, "left 3;");
  g_assert_false (dvmd_departures_link_lost (self->departures, 3, 1));
  g_assert_false (dvmd_departures_ended (self->departures, 3));
  g_assert_false (dvmd_departures_left (self->departures, 3, 1));
  pass (self, 10 * GRACE);
  expect (self, "");
}

/* It crashes: its launcher sees that. */
static void
test_crash (World *self, gconstpointer data)
{
  order (self, 3, 1);
  dvmd_departures_link_lost (self->departures, 3, 1);
  expect (self, "");
  dvmd_departures_ended (self->departures, 3);
  expect (self, "ended 3;");
  pass (self, 2 * GRACE);
  expect (self, "");
}

/* LEFT alone, a link that has ended alone, nothing at all: the launcher ends it when the grace is over, not before. */
static void
test_missing (World *self, gconstpointer data)
{
  order (self, 3, 1);
  order (self, 4, 1);
  order (self, 5, 1);
  dvmd_departures_left (self->departures, 3, 1);
  dvmd_departures_link_lost (self->departures, 4, 1);
  pass (self, GRACE - 1);
  expect (self, "");
  pass (self, 1);
  expect (self, "end 3;end 4;end 5;");
  g_assert_cmpuint (dvmd_departures_get_n (self->departures), ==, 3);
  pass (self, 10 * GRACE);
  expect (self, "");
  dvmd_departures_ended (self->departures, 4);
  dvmd_departures_ended (self->departures, 3);
  dvmd_departures_ended (self->departures, 5);
  expect (self, "ended 4;ended 3;ended 5;");
}

/* The launcher has been asked, and it goes by itself. */
static void
test_late (World *self, gconstpointer data)
{
  order (self, 3, 0);
  pass (self, GRACE);
  expect (self, "end 3;");
  dvmd_departures_left (self->departures, 3, 0);
  dvmd_departures_link_lost (self->departures, 3, 0);
  expect (self, "left 3;");
  g_assert_false (dvmd_departures_ended (self->departures, 3));
}

/* It loses its uplink while it leaves, and comes back by another one: only the end of that one counts. */
static void
test_other_uplink (World *self, gconstpointer data)
{
  order (self, 3, 1);
  dvmd_departures_link_lost (self->departures, 3, 1);
  dvmd_departures_left (self->departures, 3, 2);
  dvmd_departures_link_lost (self->departures, 3, 1);
  expect (self, "");
  dvmd_departures_left (self->departures, 3, 0);
  dvmd_departures_link_lost (self->departures, 3, 2);
  expect (self, "");
  dvmd_departures_link_lost (self->departures, 3, 0);
  expect (self, "left 3;");
}

/* The grace of an interior one begins when nobody who leaves is below it. */
static void
test_deepest_first (World *self, gconstpointer data)
{
  const guint32 ranks[] = { 1, 3, 7 };
  const guint32 parents[] = { 0, 1, 3 };

  dvmd_departures_order (self->departures, ranks, parents, 3);
  pass (self, GRACE);
  expect (self, "end 7;");
  pass (self, GRACE / 2);
  dvmd_departures_ended (self->departures, 7);
  expect (self, "ended 7;");
  pass (self, GRACE - 1);
  expect (self, "");
  pass (self, 1);
  expect (self, "end 3;");
  dvmd_departures_ended (self->departures, 3);
  expect (self, "ended 3;");
  dvmd_departures_left (self->departures, 1, 0);
  dvmd_departures_link_lost (self->departures, 1, 0);
  expect (self, "left 1;");
}

/* An interior one crashes: whoever is below it is below the next one. */
static void
test_gap (World *self, gconstpointer data)
{
  const guint32 ranks[] = { 7, 3, 1 };
  const guint32 parents[] = { 3, 1, 0 };

  dvmd_departures_order (self->departures, ranks, parents, 3);
  dvmd_departures_ended (self->departures, 3);
  expect (self, "ended 3;");
  pass (self, GRACE);
  expect (self, "end 7;");
  dvmd_departures_left (self->departures, 7, 1);
  dvmd_departures_link_lost (self->departures, 7, 1);
  pass (self, GRACE);
  expect (self, "left 7;end 1;");
  dvmd_departures_ended (self->departures, 1);
  expect (self, "ended 1;");
}

/* A second order for the same one changes nothing; one for its parent waits for it. */
static void
test_overlap (World *self, gconstpointer data)
{
  order (self, 7, 3);
  pass (self, GRACE / 2);
  order (self, 7, 0);
  order (self, 3, 0);
  pass (self, GRACE / 2);
  expect (self, "end 7;");
  dvmd_departures_ended (self->departures, 7);
  expect (self, "ended 7;");
  pass (self, GRACE);
  expect (self, "end 3;");
  dvmd_departures_ended (self->departures, 3);
  expect (self, "ended 3;");
}

/* Without a link they are ended at once, and once. */
static void
test_end (World *self, gconstpointer data)
{
  const guint32 ranks[] = { 3, 4 };

  order (self, 3, 0);
  dvmd_departures_end (self->departures, ranks, 2);
  expect (self, "end 3;end 4;");
  dvmd_departures_end (self->departures, ranks, 2);
  pass (self, 10 * GRACE);
  expect (self, "");
  dvmd_departures_ended (self->departures, 3);
  dvmd_departures_ended (self->departures, 4);
  expect (self, "ended 3;ended 4;");
}

static void
test_answer_at_once (World *self, gconstpointer data)
{
  self->answers_at_once = TRUE;
  order (self, 3, 0);
  order (self, 4, 0);
  pass (self, GRACE);
  expect (self, "end 3;ended 3;end 4;ended 4;");
}

static void
test_free (World *self, gconstpointer data)
{
  DvmdDepartures *other = dvmd_departures_new (self->clock, GRACE, &funcs, self);
  const guint32 rank = 3;
  const guint32 parent = 0;

  dvmd_departures_order (other, &rank, &parent, 1);
  dvmd_departures_free (other);
  pass (self, 10 * GRACE);
  expect (self, "");
}

#define ADD(name, func) g_test_add ("/departures/" name, World, NULL, set_up, func, tear_down)

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  ADD ("clean", test_clean);
  ADD ("crash", test_crash);
  ADD ("missing", test_missing);
  ADD ("late", test_late);
  ADD ("other-uplink", test_other_uplink);
  ADD ("deepest-first", test_deepest_first);
  ADD ("gap", test_gap);
  ADD ("overlap", test_overlap);
  ADD ("end", test_end);
  ADD ("answer-at-once", test_answer_at_once);
  ADD ("free", test_free);
  return g_test_run ();
}
