/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A DVM that a message bus has started ends when it has been idle for long enough.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd"

#include "dvmd-idle.h"

struct _DvmdIdle
{
  DvmdController *controller;
  DvmdCore *core;
  DvmdBusServer *bus;
  gint64 limit;
  guint timer;
  guint last_job; /* when it began to leave */
  gboolean leaving;
  gboolean hurried;
  gboolean freed; /* while leaving: the last answer frees */
};

static void update (DvmdIdle *self);

/* Neither a job, nor a change of the size, nor an allocation is left; the default session is always there. */
static gboolean
is_idle (DvmdIdle *self)
{
  DvmdSession *first = dvmd_core_next_session (self->core, NULL);

  return dvmd_core_get_num_live (self->core) == 0 && dvmd_core_get_campaigns_running (self->core) == 0
         && dvmd_core_next_session (self->core, first) == NULL;
}

static void
on_left (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmdIdle *self = user_data;
  gboolean left = dvmd_bus_server_leave_finish (DVMD_BUS_SERVER (source), result);

  self->leaving = FALSE;
  if (self->freed)
    {
      g_free (self);
      return;
    }
  /* A DVM that has had a job since stays: the submitter will ask about it, even if it has ended. */
  if (left && dvmd_core_get_last_job_id (self->core) == self->last_job && is_idle (self))
    {
      dvmd_controller_shutdown (self->controller, FALSE, "The DVM has had nothing to do");
      return;
    }
  g_info ("Somebody came in the last moment: the DVM stays");
  dvmd_bus_server_stay (self->bus);
  update (self);
}

static gboolean
on_timer (gpointer user_data)
{
  DvmdIdle *self = user_data;

  self->timer = 0;
  g_info ("Nothing to do for %.1f s: the DVM leaves", (gdouble)self->limit / G_USEC_PER_SEC);
  self->leaving = TRUE;
  self->last_job = dvmd_core_get_last_job_id (self->core);
  dvmd_bus_server_leave_async (self->bus, on_left, self);
  return G_SOURCE_REMOVE;
}

static void
update (DvmdIdle *self)
{
  g_clear_handle_id (&self->timer, g_source_remove);
  if (!is_idle (self) || self->leaving)
    return;
  if (self->hurried)
    self->timer = g_idle_add (on_timer, self);
  else if (self->limit > 0)
    self->timer = g_timeout_add ((guint)MIN ((self->limit + 999) / 1000, G_MAXUINT), on_timer, self);
}

DvmdIdle *
dvmd_idle_new (DvmdController *controller, DvmdBusServer *bus, gint64 limit)
{
  static const char *const reasons[] = {
    "job-added", "job-ended", "campaign-added", "campaign-ended", "session-added", "session-removed",
  };
  DvmdIdle *self = g_new0 (DvmdIdle, 1);

  self->controller = controller;
  self->core = dvmd_controller_get_core (controller);
  self->bus = bus;
  self->limit = limit;
  for (gsize i = 0; i < G_N_ELEMENTS (reasons); i++)
    g_signal_connect_swapped (self->core, reasons[i], G_CALLBACK (update), self);
  update (self);
  return self;
}

void
dvmd_idle_set_limit (DvmdIdle *self, gint64 limit)
{
  if (self->limit == limit)
    return;
  self->limit = limit;
  update (self);
}

void
dvmd_idle_free (DvmdIdle *self)
{
  g_signal_handlers_disconnect_by_data (self->core, self);
  g_clear_handle_id (&self->timer, g_source_remove);
  if (self->leaving)
    self->freed = TRUE;
  else
    g_free (self);
}

gboolean
dvmd_idle_is_leaving (DvmdIdle *self)
{
  return self->leaving;
}

void
dvmd_idle_hurry (DvmdIdle *self)
{
  self->hurried = TRUE;
}
