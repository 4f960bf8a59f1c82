/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of a campaign, for the core's own files.
 */

#pragma once

#include "dvmd-core-elastic.h"
#include "dvmd-state-machine.h"

G_BEGIN_DECLS

struct _DvmdCampaign
{
  GObject parent_instance;

  DvmdCore *core; /* unowned: the core owns its campaigns */
  DvmCampaign *record;
  DvmdRequester *requester; /* (nullable) */
  DvmdJob *job;             /* (nullable): whose own grow it is */
  DvmdCause cause;
  gboolean has_ticket;
};

G_END_DECLS
