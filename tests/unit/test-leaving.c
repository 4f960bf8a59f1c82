/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What an agent does that was ordered to leave (D1).
 */

#include "config.h"

#include "dvmd-leaving.h"

#define NO_UPLINK G_MAXUINT32

typedef struct
{
  DvmdLeaving *leaving;
  GString *events; /* "end-work", "left 2", "exit" */
} World;

static void
end_work (gpointer world)
{
  g_string_append (((World *)world)->events, "end-work;");
}

static void
say_left (gpointer world, guint32 uplink)
{
  g_string_append_printf (((World *)world)->events, "left %u;", uplink);
}

static void
on_exit_wanted (gpointer world)
{
  g_string_append (((World *)world)->events, "exit;");
}

static const DvmdLeavingFuncs funcs = { .end_work = end_work, .say_left = say_left, .exit = on_exit_wanted };

static void
set_up (World *self, gconstpointer data)
{
  self->leaving = dvmd_leaving_new (&funcs, self);
  self->events = g_string_new (NULL);
  dvmd_leaving_set_uplink (self->leaving, 1);
}

static void
tear_down (World *self, gconstpointer data)
{
  dvmd_leaving_free (self->leaving);
  g_string_free (self->events, TRUE);
}

static void
expect (World *self, const char *events)
{
  g_assert_cmpstr (self->events->str, ==, events);
  g_string_truncate (self->events, 0);
}

/* Work first, then those below, then LEFT, and the end when that has arrived. */
static void
test_order (World *self, gconstpointer data)
{
  dvmd_leaving_set_below (self->leaving, 2);
  g_assert_false (dvmd_leaving_is_ordered (self->leaving));
  dvmd_leaving_order (self->leaving);
  dvmd_leaving_order (self->leaving);
  g_assert_true (dvmd_leaving_is_ordered (self->leaving));
  expect (self, "end-work;");
  dvmd_leaving_set_below (self->leaving, 1);
  dvmd_leaving_work_ended (self->leaving);
  expect (self, "");
  dvmd_leaving_set_below (self->leaving, 0);
  expect (self, "left 1;");
  dvmd_leaving_set_unacknowledged (self->leaving, 3);
  dvmd_leaving_set_unacknowledged (self->leaving, 1);
  expect (self, "");
  dvmd_leaving_set_unacknowledged (self->leaving, 0);
  expect (self, "exit;");
  dvmd_leaving_set_unacknowledged (self->leaving, 0);
  dvmd_leaving_cut_off (self->leaving);
  expect (self, "");
}

/* Somebody comes back whose parent by the table is this daemon, because it has not heard of the order yet. */
static void
test_below_again (World *self, gconstpointer data)
{
  dvmd_leaving_order (self->leaving);
  dvmd_leaving_set_below (self->leaving, 1);
  dvmd_leaving_work_ended (self->leaving);
  expect (self, "end-work;");
  dvmd_leaving_set_below (self->leaving, 0);
  dvmd_leaving_set_below (self->leaving, 1);
  expect (self, "left 1;");
  dvmd_leaving_set_unacknowledged (self->leaving, 0);
  expect (self, "");
  dvmd_leaving_set_below (self->leaving, 0);
  expect (self, "exit;");
}

/* Nothing runs when the order comes. */
static void
test_idle (World *self, gconstpointer data)
{
  dvmd_leaving_work_ended (self->leaving);
  dvmd_leaving_set_unacknowledged (self->leaving, 0);
  expect (self, "");
  dvmd_leaving_order (self->leaving);
  expect (self, "left 1;");
  dvmd_leaving_set_unacknowledged (self->leaving, 0);
  expect (self, "exit;");
}

/* It has lost its uplink: it goes on, and says over which link it is heard now. */
static void
test_uplink (World *self, gconstpointer data)
{
  dvmd_leaving_order (self->leaving);
  dvmd_leaving_set_uplink (self->leaving, NO_UPLINK);
  dvmd_leaving_work_ended (self->leaving);
  expect (self, "end-work;");
  dvmd_leaving_set_uplink (self->leaving, 0);
  expect (self, "left 0;");
  dvmd_leaving_set_uplink (self->leaving, NO_UPLINK);
  dvmd_leaving_set_unacknowledged (self->leaving, 0);
  expect (self, "");
  dvmd_leaving_set_uplink (self->leaving, 5);
  expect (self, "left 5;");
  dvmd_leaving_set_uplink (self->leaving, 5);
  dvmd_leaving_set_unacknowledged (self->leaving, 0);
  expect (self, "exit;");
}

/* The controller cannot be told: the work is ended all the same, and those below are served. */
static void
test_cut_off (World *self, gconstpointer data)
{
  dvmd_leaving_set_below (self->leaving, 1);
  dvmd_leaving_order (self->leaving);
  dvmd_leaving_cut_off (self->leaving);
  expect (self, "end-work;");
  dvmd_leaving_work_ended (self->leaving);
  dvmd_leaving_set_unacknowledged (self->leaving, 4);
  expect (self, "");
  dvmd_leaving_set_below (self->leaving, 0);
  expect (self, "exit;");
}

#define ADD(name, func) g_test_add ("/leaving/" name, World, NULL, set_up, func, tear_down)

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  ADD ("order", test_order);
  ADD ("below-again", test_below_again);
  ADD ("idle", test_idle);
  ADD ("uplink", test_uplink);
  ADD ("cut-off", test_cut_off);
  return g_test_run ();
}
