/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The time that a session has, and the warning before it is over.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-session-private.h"

#include "dvmd-session-limit.h"

#include "dvm-records-private.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-news.h"
#include "dvmd-core-parts.h"
#include "dvmd-core-sessions.h"
#include "dvmd-session-end.h"
#include "dvmd-session-inner.h"
#include "dvmd-shrink.h"

#define TIME_IS_OVER "Its time is over"

void
dvmd_session_stop_timers (DvmdSession *self)
{
  if (self->limit.timer != 0)
    dvmd_clock_remove_timer (dvmd_core_get_clock (self->core), self->limit.timer);
  if (self->limit.warn_timer != 0)
    dvmd_clock_remove_timer (dvmd_core_get_clock (self->core), self->limit.warn_timer);
  self->limit.timer = self->limit.warn_timer = 0;
}

guint
dvmd_session_limit_time (DvmdSession *self, guint seconds)
{
  gint64 left = MAX (self->limit.expires - dvmd_clock_monotonic (dvmd_core_get_clock (self->core)), 0) / G_USEC_PER_SEC;

  return self->limit.expires != 0 ? MIN (seconds, left) : seconds;
}

/* An allocation is released, as by the scheduler (R55); what was instantiated is terminated with its jobs (S23). */
static void
on_limit (gpointer user_data)
{
  DvmdSession *self = user_data;
  const DvmdShrinkRequest request = { .scheduler = TRUE, .session = dvmd_session_get_id (self), .cause = TIME_IS_OVER };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  self->limit.timer = 0;
  if (dvmd_session_is_ending (self))
    {
      DvmdCampaign *slow = dvmd_shrink_find_slow (self);

      if (slow != NULL)
        dvmd_shrink_hurry (slow);
      return;
    }
  g_message ("The time of session %u is over", dvmd_session_get_id (self));
  if (self->instantiated)
    dvmd_session_terminate (self, TIME_IS_OVER);
  else if (!dvmd_core_shrink (self->core, &request, &answer, &error))
    g_message ("Session %u is not released: %s", dvmd_session_get_id (self), error->message);
}

static void
on_warning (gpointer user_data)
{
  DvmdSession *self = user_data;
  gint64 left = self->limit.expires - dvmd_clock_monotonic (dvmd_core_get_clock (self->core));

  self->limit.warn_timer = 0;
  /* The timer is late by a little: what has begun of a second counts. */
  if (!dvmd_session_is_ending (self))
    dvmd_core_warn_session (self->core, self, (MAX (left, 0) + G_USEC_PER_SEC - 1) / G_USEC_PER_SEC);
}

static void
publish_limit (DvmdSession *self, gint64 left)
{
  _dvm_session_set_expires_at (self->record, left > 0 ? dvmd_clock_now (dvmd_core_get_clock (self->core)) + left : 0);
  dvmd_session_changed (self);
}

static void
set_warning (DvmdSession *self)
{
  gint64 left = self->limit.expires - dvmd_clock_monotonic (dvmd_core_get_clock (self->core));

  if (self->limit.warn_timer != 0)
    dvmd_clock_remove_timer (dvmd_core_get_clock (self->core), self->limit.warn_timer);
  self->limit.warn_timer = 0;
  if (self->limit.warn_timeout > 0 && self->limit.timer != 0)
    self->limit.warn_timer = dvmd_clock_add_timer (dvmd_core_get_clock (self->core),
                                                   MAX (left - (gint64)self->limit.warn_timeout * G_USEC_PER_SEC, 0),
                                                   on_warning, self);
}

/* outside: whoever gave the nodes keeps the time. */
static void
set_limit (DvmdSession *self, guint seconds, gboolean outside)
{
  gint64 left = (gint64)seconds * G_USEC_PER_SEC;

  dvmd_session_stop_timers (self);
  publish_limit (self, left);
  self->limit.expires = 0;
  if (outside || seconds == 0)
    return;
  self->limit.expires = dvmd_clock_monotonic (dvmd_core_get_clock (self->core)) + left;
  self->limit.timer = dvmd_clock_add_timer (dvmd_core_get_clock (self->core), left, on_limit, self);
}

void
dvmd_session_set_limit (DvmdSession *self, const DvmdGrowRequest *request)
{
  gboolean warns = request->limit.warn_timeout > 0 || request->limit.warn_timeout_given;
  gboolean limits = request->limit.time > 0 || request->limit.time_given;

  if (warns)
    self->limit.warn_timeout = request->limit.warn_timeout;
  if (limits)
    set_limit (self, request->limit.time, request->limit.outside);
  if (warns || limits)
    set_warning (self);
}

void
dvmd_core_warn_session (DvmdCore *self, DvmdSession *session, guint seconds_left)
{
  g_info ("Session %u ends in %u s", dvmd_session_get_id (session), seconds_left);
  dvmd_core_tell_session_warned (self, session, seconds_left);
  if (dvmd_core_get_effects (self)->warn_session != NULL)
    dvmd_core_get_effects (self)->warn_session (dvmd_core_get_user_data (self), session, seconds_left);
}

/* Each answer of a scheduler is off by a second or so, which is no news. */
void
dvmd_core_limit_default_session (DvmdCore *self, gint64 seconds)
{
  DvmdSession *session = dvmd_core_get_session (self, 0);
  gint64 old = dvm_session_get_expires_at (session->record);
  gint64 end = seconds >= 0 ? dvmd_clock_now (dvmd_core_get_clock (self)) + MAX (seconds, 1) * G_USEC_PER_SEC : 0;

  if (old > 0 && end > 0 && ABS (end - old) < 2 * G_USEC_PER_SEC)
    return;
  if (old == end)
    return;
  _dvm_session_set_expires_at (session->record, end);
  dvmd_session_changed (session);
}
