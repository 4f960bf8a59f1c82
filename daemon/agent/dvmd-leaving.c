/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An agent that was ordered to leave ends its work, serves those below it to the end, and says LEFT (D1).
 */

#include "config.h"

#include "dvmd-leaving.h"

#define NO_UPLINK G_MAXUINT32

struct _DvmdLeaving
{
  const DvmdLeavingFuncs *funcs;
  gpointer user_data;
  gboolean ordered;
  gboolean idle; /* nothing runs */
  gboolean cut_off;
  gboolean over;
  guint n_below;
  guint n_unacknowledged;
  guint32 uplink;
  guint32 said_to; /* the uplink over which LEFT was said */
};

static void
go_on (DvmdLeaving *self)
{
  if (self->over || !self->ordered || !self->idle || self->n_below > 0)
    return;
  if (!self->cut_off && self->uplink == NO_UPLINK)
    return;
  if (!self->cut_off && self->said_to != self->uplink)
    {
      self->said_to = self->uplink;
      /* LEFT is unacknowledged now, whatever number was told before. */
      self->n_unacknowledged++;
      self->funcs->say_left (self->user_data, self->uplink);
      return;
    }
  if (!self->cut_off && self->n_unacknowledged > 0)
    return;
  self->over = TRUE;
  self->funcs->exit (self->user_data);
}

void
dvmd_leaving_order (DvmdLeaving *self)
{
  if (self->ordered)
    return;
  self->ordered = TRUE;
  if (!self->idle)
    self->funcs->end_work (self->user_data);
  go_on (self);
}

void
dvmd_leaving_work_ended (DvmdLeaving *self)
{
  self->idle = TRUE;
  go_on (self);
}

void
dvmd_leaving_set_below (DvmdLeaving *self, guint n)
{
  self->n_below = n;
  go_on (self);
}

void
dvmd_leaving_set_uplink (DvmdLeaving *self, guint32 uplink)
{
  self->uplink = uplink;
  if (uplink != NO_UPLINK)
    self->cut_off = FALSE;
  go_on (self);
}

void
dvmd_leaving_set_unacknowledged (DvmdLeaving *self, guint n)
{
  self->n_unacknowledged = n;
  go_on (self);
}

void
dvmd_leaving_cut_off (DvmdLeaving *self)
{
  self->uplink = NO_UPLINK;
  self->cut_off = TRUE;
  go_on (self);
}

gboolean
dvmd_leaving_is_ordered (DvmdLeaving *self)
{
  return self->ordered;
}

DvmdLeaving *
dvmd_leaving_new (const DvmdLeavingFuncs *funcs, gpointer user_data)
{
  DvmdLeaving *self = g_new0 (DvmdLeaving, 1);

  self->funcs = funcs;
  self->user_data = user_data;
  self->uplink = self->said_to = NO_UPLINK;
  return self;
}

void
dvmd_leaving_free (DvmdLeaving *self)
{
  g_free (self);
}
