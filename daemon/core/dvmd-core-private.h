/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of the core, for the files that put it together.
 */

#pragma once

#include "dvmd-core-parts.h"

G_BEGIN_DECLS

struct _DvmdCore
{
  GObject parent_instance;

  void (*take_apart) (DvmdCore *self); /* its parts, when it goes */

  DvmdCoreSettings settings; /* host: NULL */
  DvmdClock *clock;
  DvmdEventQueue *queue;
  const DvmdEffects *effects;
  gpointer user_data;
  DvmdCoreStatistics statistics;

  DvmdNodePool *nodes;
  DvmdAdmission *admission;
  DvmdLaunchFence *fence;
  DvmdGates *gates;
  DvmdJobRegistry *jobs;
  DvmdCampaignRegistry *campaigns;
  DvmdSessionRegistry *sessions;
  DvmdSessionOwners *owners;
  DvmdArrays *arrays;
  DvmdDependencies *dependencies;
  DvmdVm *vm;
  DvmdMembership *membership;
  DvmdStrangerLog *strangers;
};

G_END_DECLS
