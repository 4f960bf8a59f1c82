/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A source of the main loop runs a function in the next turn, as often as it was asked for.
 */

#include "config.h"

#include "dvmd-turn-source.h"

typedef struct
{
  GSource source;
  gboolean requested;
  gboolean running;
} TurnSource;

static gboolean
prepare_turn (GSource *source, int *timeout)
{
  *timeout = -1;
  return ((TurnSource *)source)->requested;
}

/* Descriptors are looked at by GLib itself. */
static gboolean
check_turn (GSource *source)
{
  return ((TurnSource *)source)->requested;
}

static gboolean
dispatch_turn (GSource *source, GSourceFunc callback, gpointer user_data)
{
  TurnSource *self = (TurnSource *)source;
  gboolean stays;

  if (self->running)
    return G_SOURCE_CONTINUE;
  self->requested = FALSE;
  self->running = TRUE;
  stays = callback (user_data);
  self->running = FALSE;
  return stays;
}

static GSourceFuncs turn_source_funcs = { .prepare = prepare_turn, .check = check_turn, .dispatch = dispatch_turn };

GSource *
dvmd_turn_source_new (GMainContext *context, const char *name, GSourceFunc func, gpointer user_data)
{
  GSource *source = g_source_new (&turn_source_funcs, sizeof (TurnSource));

  g_source_set_static_name (source, name);
  g_source_set_callback (source, func, user_data, NULL);
  /* Else GLib takes its descriptors out of the loop for each call, and wakes the loop for each of them twice. */
  g_source_set_can_recurse (source, TRUE);
  g_source_attach (source, context);
  return source;
}

void
dvmd_turn_source_request (GSource *source)
{
  ((TurnSource *)source)->requested = TRUE;
}

void
dvmd_turn_source_free (GSource *source)
{
  g_source_destroy (source);
  g_source_unref (source);
}
