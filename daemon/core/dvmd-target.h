/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-campaign.h"

G_BEGIN_DECLS

/* A node that comes or goes. */
typedef struct
{
  char *name;
  guint rank;      /* 0: it has none yet */
  guint slots;     /* as it was asked for */
  guint slots_max; /* likewise */
  char *address;   /* (nullable) */
  char *allocator; /* (nullable) */
  guint waits_for; /* an agent of this name that has to leave before; 0: nobody */
  gboolean reported;
  gboolean ordered; /* to leave, by this campaign */
  gboolean gone;
  DvmdCampaign *offered_by; /* (nullable): another campaign, which had it too, offers it */
} DvmdTarget;

/* allocator: (nullable): NULL and "": nobody knows who brought it */
DvmdTarget *dvmd_target_new (const char *name, guint rank, const char *allocator);
/* (element-type DvmdTarget), with them */
GPtrArray *dvmd_targets_new (void);

G_END_DECLS
