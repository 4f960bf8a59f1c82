/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <unistd.h>

#include <glib.h>

#include "dvmd-turn-source.h"

typedef struct
{
  GMainContext *context;
  GSource *source;
  guint n_runs;
  guint n_again; /* asked for from within */
  gboolean ends;
  gboolean nests; /* runs the loop */
  gpointer tag;   /* (nullable): of a descriptor */
  GIOCondition condition;
} Fixture;

static guint n_found; /* descriptors that poll() found ready, the loop's own among them */

static int
count_poll (GPollFD *fds, guint n_fds, int timeout)
{
  int n = g_poll (fds, n_fds, timeout);

  n_found += (guint)MAX (n, 0);
  return n;
}

static gboolean
on_turn (gpointer user_data)
{
  Fixture *self = user_data;

  self->n_runs++;
  if (self->tag != NULL)
    self->condition = g_source_query_unix_fd (self->source, self->tag);
  if (self->n_again > 0)
    {
      self->n_again--;
      dvmd_turn_source_request (self->source);
    }
  if (self->nests)
    g_main_context_iteration (self->context, FALSE);
  if (self->ends)
    g_clear_pointer (&self->source, dvmd_turn_source_free);
  return G_SOURCE_CONTINUE;
}

static void
set_up (Fixture *self, gconstpointer data)
{
  self->context = g_main_context_new ();
  self->source = dvmd_turn_source_new (self->context, "test", on_turn, self);
  g_main_context_set_poll_func (self->context, count_poll);
  /* The first turn of the context learns of the new sources, and is not counted. */
  g_main_context_iteration (self->context, FALSE);
  n_found = 0;
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  g_clear_pointer (&self->source, dvmd_turn_source_free);
  g_main_context_unref (self->context);
}

static void
test_request (Fixture *self, gconstpointer data)
{
  g_assert_cmpuint (self->n_runs, ==, 0);
  dvmd_turn_source_request (self->source);
  dvmd_turn_source_request (self->source);
  g_assert_true (g_main_context_iteration (self->context, TRUE));
  g_assert_cmpuint (self->n_runs, ==, 1);
  g_assert_false (g_main_context_iteration (self->context, FALSE));
  g_assert_cmpuint (self->n_runs, ==, 1);
}

/* The loop does not go round in vain: that is what the source is for. */
static void
test_again (Fixture *self, gconstpointer data)
{
  self->n_again = 10;
  dvmd_turn_source_request (self->source);
  for (guint i = 1; i <= 11; i++)
    {
      g_assert_true (g_main_context_iteration (self->context, TRUE));
      g_assert_cmpuint (self->n_runs, ==, i);
    }
  g_assert_false (g_main_context_iteration (self->context, FALSE));
  g_assert_cmpuint (n_found, ==, 0);
}

static gboolean
on_timer (gpointer user_data)
{
  Fixture *self = user_data;

  dvmd_turn_source_request (self->source);
  return G_SOURCE_REMOVE;
}

/* From another source, while the loop would wait for ever. */
static void
test_from_another (Fixture *self, gconstpointer data)
{
  g_autoptr (GSource) timer = g_timeout_source_new (1);

  g_source_set_callback (timer, on_timer, self, NULL);
  g_source_attach (timer, self->context);
  while (self->n_runs == 0)
    g_main_context_iteration (self->context, TRUE);
  g_assert_cmpuint (self->n_runs, ==, 1);
}

static void
test_descriptor (Fixture *self, gconstpointer data)
{
  char byte;
  int fds[2];

  g_assert_cmpint (pipe (fds), ==, 0);
  self->tag = g_source_add_unix_fd (self->source, fds[0], G_IO_IN);
  g_main_context_iteration (self->context, FALSE);
  g_assert_cmpuint (self->n_runs, ==, 0);
  n_found = 0;
  g_assert_cmpint (write (fds[1], "x", 1), ==, 1);
  g_assert_true (g_main_context_iteration (self->context, TRUE));
  g_assert_cmpuint (self->n_runs, ==, 1);
  g_assert_cmpint (self->condition, ==, G_IO_IN);
  g_assert_cmpint (read (fds[0], &byte, 1), ==, 1);
  g_assert_false (g_main_context_iteration (self->context, FALSE));
  /* Only the byte, and not the loop's own. */
  g_assert_cmpuint (n_found, ==, 1);
  close (fds[0]);
  close (fds[1]);
}

static void
test_nested (Fixture *self, gconstpointer data)
{
  self->nests = TRUE;
  self->n_again = 1;
  dvmd_turn_source_request (self->source);
  g_assert_true (g_main_context_iteration (self->context, TRUE));
  g_assert_cmpuint (self->n_runs, ==, 1);
  g_assert_true (g_main_context_iteration (self->context, TRUE));
  g_assert_cmpuint (self->n_runs, ==, 2);
}

static void
test_freed_within (Fixture *self, gconstpointer data)
{
  self->n_again = 1;
  self->ends = TRUE;
  dvmd_turn_source_request (self->source);
  g_assert_true (g_main_context_iteration (self->context, TRUE));
  g_assert_false (g_main_context_iteration (self->context, FALSE));
  g_assert_cmpuint (self->n_runs, ==, 1);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/turn-source/request", Fixture, NULL, set_up, test_request, tear_down);
  g_test_add ("/turn-source/again", Fixture, NULL, set_up, test_again, tear_down);
  g_test_add ("/turn-source/from-another", Fixture, NULL, set_up, test_from_another, tear_down);
  g_test_add ("/turn-source/descriptor", Fixture, NULL, set_up, test_descriptor, tear_down);
  g_test_add ("/turn-source/nested", Fixture, NULL, set_up, test_nested, tear_down);
  g_test_add ("/turn-source/freed-within", Fixture, NULL, set_up, test_freed_within, tear_down);
  return g_test_run ();
}
