/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The DVM changes its size: what is asked for is judged, and campaigns are made of it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-campaign-private.h"
#include "dvmd-core-private.h"
#include "dvmd-session-private.h"

void
dvmd_size_answer_clear (DvmdSizeAnswer *self)
{
  g_clear_pointer (&self->alloc_id, g_free);
  g_clear_pointer (&self->req_id, g_free);
}

static gboolean
refuse (DvmdCore *self, GError **error)
{
  if (!self->elastic)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_ELASTIC,
                 "This DVM does not change its size: it was not started with “elastic”");
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "The size of the DVM cannot be changed yet");
  return FALSE;
}

gboolean
dvmd_core_grow (DvmdCore *self, const DvmdGrowRequest *request, DvmdSizeAnswer *answer, GError **error)
{
  return refuse (self, error);
}

gboolean
dvmd_core_shrink (DvmdCore *self, const DvmdShrinkRequest *request, DvmdSizeAnswer *answer, GError **error)
{
  return refuse (self, error);
}

gboolean
dvmd_core_cancel_campaign (DvmdCore *self, DvmdCampaign *campaign, GError **error)
{
  return refuse (self, error);
}

void
dvmd_core_agents_wired (DvmdCore *self, DvmdCampaign *campaign)
{
}

void
dvmd_core_agent_departed (DvmdCore *self, guint rank)
{
}

void
dvmd_core_order_failed (DvmdCore *self, DvmdCampaign *campaign, const char *reason)
{
}

void
dvmd_core_offered (DvmdCore *self, DvmdCampaign *campaign)
{
}

gboolean
dvmd_core_get_elastic (DvmdCore *self)
{
  return self->elastic;
}

guint
dvmd_core_get_launch_fence (DvmdCore *self)
{
  return 0;
}

guint
dvmd_core_get_campaigns_running (DvmdCore *self)
{
  return 0;
}

DvmdCampaign *
dvmd_core_get_campaign (DvmdCore *self, guint id)
{
  return NULL;
}

DvmdCampaign *
dvmd_core_next_campaign (DvmdCore *self, DvmdCampaign *after, gboolean ended)
{
  return NULL;
}

DvmdCampaign *
dvmd_core_find_grow (DvmdCore *self, guint rank)
{
  return NULL;
}

DvmdSession *
dvmd_core_get_session (DvmdCore *self, guint id)
{
  return NULL;
}

DvmdSession *
dvmd_core_find_session (DvmdCore *self, const char *alloc_id)
{
  return NULL;
}

DvmdSession *
dvmd_core_next_session (DvmdCore *self, DvmdSession *after)
{
  return NULL;
}
