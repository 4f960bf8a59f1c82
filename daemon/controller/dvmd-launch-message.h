/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <dvm.h>

#include "dvmd-environments.h"
#include "dvmd-map.h"

G_BEGIN_DECLS

/* What the launch message of a job is made of. Borrowed. */
typedef struct
{
  guint32 job;
  const char *nspace;
  DvmJobSpec *spec;
  DvmdMap *map;
  guint32 universe;     /* slots of the DVM */
  gint64 kill_grace;    /* µs */
  guint32 stdin_target; /* rank, DVMD_ALL_RANKS, or DVMD_NO_STDIN */
  gboolean tree_fences; /* fences of all ranks go by the tree */
  const char *parent;   /* (nullable): namespace of the process or tool that has spawned it */
  guint32 parent_rank;
  guint32 offset;          /* processes of those that it descends from */
  guint32 session;         /* the first that it uses */
  guint64 credit;          /* bytes of output that an agent may send unasked */
  GPtrArray *environments; /* DvmdEnvironment, by application; NULL where it travels with the job */
} DvmdLaunchMessage;

/* The body, DVMD_LAUNCH_TYPE. (transfer floating) */
GVariant *dvmd_launch_message_build (const DvmdLaunchMessage *self);
/* Whether the environment of the application is worth a message of its own. */
gboolean dvmd_launch_message_names_environment (DvmAppSpec *app);

G_END_DECLS
