/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <glib-unix.h>

typedef struct
{
  DvmdClock *clock;
  GString *log;
  char letter;
  guint remove; /* timer that the function removes, 0 none */
  gint64 again; /* delay of a timer that the function adds, -1 none */
} Shot;

static void
on_shot (gpointer user_data)
{
  Shot *shot = user_data;

  g_string_append_printf (shot->log, "%c@%" G_GINT64_FORMAT " ", shot->letter, dvmd_clock_now (shot->clock));
  if (shot->remove != 0)
    dvmd_clock_remove_timer (shot->clock, shot->remove);
  if (shot->again >= 0)
    {
      gint64 again = shot->again;

      shot->again = -1;
      dvmd_clock_add_timer (shot->clock, again, on_shot, shot);
    }
}

static void
test_manual_order (void)
{
  g_autoptr (DvmdClock) clock = dvmd_clock_new_manual (1000);
  g_autoptr (GString) log = g_string_new (NULL);
  Shot a = { clock, log, 'a', 0, -1 };
  Shot b = { clock, log, 'b', 0, -1 };
  Shot c = { clock, log, 'c', 0, -1 };

  g_assert_cmpint (dvmd_clock_now (clock), ==, 1000);
  dvmd_clock_add_timer (clock, 50, on_shot, &b);
  dvmd_clock_add_timer (clock, 10, on_shot, &a);
  dvmd_clock_add_timer (clock, 50, on_shot, &c);
  dvmd_clock_advance (clock, 9);
  g_assert_cmpstr (log->str, ==, "");
  dvmd_clock_advance (clock, 1);
  g_assert_cmpstr (log->str, ==, "a@1010 ");
  dvmd_clock_advance (clock, 100);
  g_assert_cmpstr (log->str, ==, "a@1010 b@1050 c@1050 ");
  g_assert_cmpint (dvmd_clock_monotonic (clock), ==, 1110);
}

static void
test_manual_nested (void)
{
  g_autoptr (DvmdClock) clock = dvmd_clock_new_manual (0);
  g_autoptr (GString) log = g_string_new (NULL);
  Shot a = { clock, log, 'a', 0, 5 };
  Shot victim = { clock, log, 'v', 0, -1 };

  dvmd_clock_add_timer (clock, 10, on_shot, &a);
  a.remove = dvmd_clock_add_timer (clock, 12, on_shot, &victim);
  dvmd_clock_advance (clock, 100);
  g_assert_cmpstr (log->str, ==, "a@10 a@15 ");
  /* Both have fired or are gone: nothing happens. */
  dvmd_clock_remove_timer (clock, a.remove);
  dvmd_clock_remove_timer (clock, 0);
}

static void
count (gpointer user_data)
{
  (*(guint *)user_data)++;
}

static void
test_real (void)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (DvmdClock) clock = dvmd_clock_new_real (context);
  gint64 start = dvmd_clock_monotonic (clock);
  guint fired = 0;
  guint never = 0;
  guint id;

  id = dvmd_clock_add_timer (clock, 1000, count, &never);
  dvmd_clock_add_timer (clock, 2000, count, &fired);
  dvmd_clock_remove_timer (clock, id);
  while (fired == 0)
    g_main_context_iteration (context, TRUE);
  g_assert_cmpuint (never, ==, 0);
  g_assert_cmpint (dvmd_clock_monotonic (clock) - start, >=, 2000);
  g_assert_cmpint (ABS (dvmd_clock_now (clock) - g_get_real_time ()), <, 60 * G_USEC_PER_SEC);
}

static guint n_found; /* descriptors that poll() found ready: the loop's own */

static int
count_poll (GPollFD *fds, guint n_fds, int timeout)
{
  int n = g_poll (fds, n_fds, timeout);

  n_found += (guint)MAX (n, 0);
  return n;
}

/* Timers come and go with every message. */
static void
test_real_quiet (void)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (DvmdClock) clock = dvmd_clock_new_real (context);
  guint fired = 0;

  g_main_context_set_poll_func (context, count_poll);
  g_main_context_iteration (context, FALSE);
  n_found = 0;
  for (guint i = 0; i < 10; i++)
    {
      dvmd_clock_remove_timer (clock, dvmd_clock_add_timer (clock, G_TIME_SPAN_HOUR, count, &fired));
      g_assert_false (g_main_context_iteration (context, FALSE));
    }
  dvmd_clock_add_timer (clock, 0, count, &fired);
  g_assert_true (g_main_context_iteration (context, TRUE));
  g_assert_cmpuint (fired, ==, 1);
  g_assert_cmpuint (n_found, ==, 0);
}

static void
add_another (gpointer user_data)
{
  dvmd_clock_add_timer (user_data, 0, add_another, user_data);
}

/* One that is always due leaves others their turn. */
static void
test_real_again (void)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (DvmdClock) clock = dvmd_clock_new_real (context);
  guint fired = 0;

  add_another (clock);
  dvmd_clock_add_timer (clock, 1000, count, &fired);
  while (fired == 0)
    g_main_context_iteration (context, TRUE);
}

/* A clock that goes takes its timers along. */
static void
test_real_pending (void)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  DvmdClock *clock = dvmd_clock_new_real (context);
  guint fired = 0;

  dvmd_clock_add_timer (clock, 0, count, &fired);
  dvmd_clock_unref (clock);
  while (g_main_context_iteration (context, FALSE))
    ;
  g_assert_cmpuint (fired, ==, 0);
}

static gboolean
hear (GIOChannel *channel, GIOCondition condition, gpointer user_data)
{
  *(guint *)user_data += 1;
  return G_SOURCE_REMOVE;
}

static void
note_time (gint64 time, gpointer user_data)
{
  *(gint64 *)user_data = time;
}

/* One that was stopped hears what has come meanwhile before a timer judges by what has not, and is told so. */
static void
test_real_stood_still (void)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (DvmdClock) clock = dvmd_clock_new_real (context);
  g_autoptr (GIOChannel) channel = NULL;
  g_autoptr (GSource) source = NULL;
  guint fired = 0;
  guint heard = 0;
  gint64 time = 0;
  int ends[2];

  g_assert_true (g_unix_open_pipe (ends, FD_CLOEXEC, NULL));
  channel = g_io_channel_unix_new (ends[0]);
  source = g_io_create_watch (channel, G_IO_IN);
  g_source_set_callback (source, G_SOURCE_FUNC (hear), &heard, NULL);
  g_source_attach (source, context);
  dvmd_clock_set_stood_still_func (clock, note_time, &time);
  dvmd_clock_add_timer (clock, 0, count, &fired);
  g_main_context_iteration (context, TRUE);
  g_assert_cmpuint (fired, ==, 1);
  g_assert_cmpint (time, ==, 0);
  dvmd_clock_add_timer (clock, 0, count, &fired);
  g_usleep (DVMD_CLOCK_STILL + 1000);
  g_assert_cmpint (write (ends[1], "x", 1), ==, 1);
  g_main_context_iteration (context, TRUE);
  g_assert_cmpuint (fired, ==, 1);
  g_assert_cmpuint (heard, ==, 1);
  g_assert_cmpint (time, >=, DVMD_CLOCK_STILL);
  while (fired == 1)
    g_main_context_iteration (context, TRUE);
  close (ends[0]);
  close (ends[1]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/clock/manual/order", test_manual_order);
  g_test_add_func ("/clock/manual/nested", test_manual_nested);
  g_test_add_func ("/clock/real", test_real);
  g_test_add_func ("/clock/real/quiet", test_real_quiet);
  g_test_add_func ("/clock/real/again", test_real_again);
  g_test_add_func ("/clock/real/pending", test_real_pending);
  g_test_add_func ("/clock/real/stood-still", test_real_stood_still);
  return g_test_run ();
}
