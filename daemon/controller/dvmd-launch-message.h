/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <dvm.h>

#include "dvmd-environments.h"
#include "dvmd-launch-options.h"
#include "dvmd-map.h"

G_BEGIN_DECLS

/* The launch message of a job is made of these members. Borrowed. */
typedef struct
{
  guint32 job;
  const char *nspace;
  DvmJobSpec *spec;
  DvmdMap *map;
  guint32 universe; /* slots of the DVM */
  /* Those that are not in the specification; its own are added. */
  DvmdLaunchOptions options;
  GPtrArray *environments; /* DvmdEnvironment, by application; NULL where it travels with the job */
} DvmdLaunchMessage;

/* The body, DVMD_LAUNCH_TYPE. (transfer floating) */
GVariant *dvmd_launch_message_build (const DvmdLaunchMessage *self);
/* Whether the environment of the application is worth a message of its own. */
gboolean dvmd_launch_message_names_environment (DvmAppSpec *app);

G_END_DECLS
