/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The time that a session has, and the warning before it is over.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-session-private.h"

#include "dvm-records-private.h"
#include "dvmd-campaign-private.h"
#include "dvmd-core-private.h"

void
dvmd_session_stop_timers (DvmdSession *self)
{
  if (self->limit_timer != 0)
    dvmd_clock_remove_timer (self->core->clock, self->limit_timer);
  if (self->warn_timer != 0)
    dvmd_clock_remove_timer (self->core->clock, self->warn_timer);
  self->limit_timer = self->warn_timer = 0;
}

/* An allocation is released, as by the scheduler (R55); what was instantiated is terminated with its jobs (S23). */
static void
on_limit (gpointer user_data)
{
  DvmdSession *self = user_data;
  const DvmdShrinkRequest request = { .scheduler = TRUE, .session = dvmd_session_get_id (self) };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  self->limit_timer = 0;
  if (dvmd_session_is_ending (self))
    {
      dvmd_shrink_hurry (self);
      return;
    }
  g_message ("The time of session %u is over", dvmd_session_get_id (self));
  if (self->instantiated)
    dvmd_session_terminate (self, "Its time is over");
  else if (!dvmd_core_shrink (self->core, &request, &answer, &error))
    g_message ("Session %u is not released: %s", dvmd_session_get_id (self), error->message);
}

static void
on_warning (gpointer user_data)
{
  DvmdSession *self = user_data;
  gint64 left = self->expires - dvmd_clock_monotonic (self->core->clock);

  self->warn_timer = 0;
  if (!dvmd_session_is_ending (self))
    dvmd_core_warn_session (self->core, self, MAX (left, 0) / G_USEC_PER_SEC);
}

static void
publish_limit (DvmdSession *self, gint64 left)
{
  _dvm_session_set_expires_at (self->record, left > 0 ? dvmd_clock_now (self->core->clock) + left : 0);
  dvmd_session_changed (self);
}

/* Another warning of the limit that there is. */
static void
warn_anew (DvmdSession *self, guint warn_timeout)
{
  gint64 left = self->expires - dvmd_clock_monotonic (self->core->clock);

  dvmd_clock_remove_timer (self->core->clock, self->warn_timer);
  self->warn_timer = dvmd_clock_add_timer (self->core->clock, MAX (left - (gint64)warn_timeout * G_USEC_PER_SEC, 0),
                                           on_warning, self);
}

void
dvmd_core_limit_session (DvmdCore *self, DvmdSession *session, guint seconds, guint warn_timeout)
{
  gint64 left = (gint64)seconds * G_USEC_PER_SEC;

  dvmd_session_stop_timers (session);
  publish_limit (session, left);
  session->expires = seconds > 0 ? dvmd_clock_monotonic (self->clock) + left : 0;
  if (seconds == 0)
    return;
  session->limit_timer = dvmd_clock_add_timer (self->clock, left, on_limit, session);
  if (warn_timeout > 0)
    warn_anew (session, warn_timeout);
}

void
dvmd_session_set_limit (DvmdSession *self, const DvmdGrowRequest *request)
{
  if (request->limit_outside && (request->time > 0 || request->time_given))
    {
      dvmd_session_stop_timers (self);
      self->expires = 0;
      publish_limit (self, (gint64)request->time * G_USEC_PER_SEC);
    }
  else if (request->time > 0 || request->time_given)
    dvmd_core_limit_session (self->core, self, request->time, request->warn_timeout);
  else if (request->warn_timeout > 0 && self->limit_timer != 0)
    warn_anew (self, request->warn_timeout);
}

void
dvmd_core_warn_session (DvmdCore *self, DvmdSession *session, guint seconds_left)
{
  g_info ("Session %u ends in %u s", dvmd_session_get_id (session), seconds_left);
  dvmd_core_tell_session_warned (session, seconds_left);
  if (self->effects->warn_session != NULL)
    self->effects->warn_session (self->world, session, seconds_left);
}
