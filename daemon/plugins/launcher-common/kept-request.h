/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* A request that lives on after the call. */
typedef struct
{
  DvmdLaunchRequest request; /* of what follows */
  GArray *nodes;             /* DvmdPluginNode: name and rank, no address */
  GPtrArray *names;
  GPtrArray *inputs; /* GBytes */
  char **agent_argv;
} DvmdKeptRequest;

/* map_input: (nullable): makes the input of each node out of what it was (transfer full) */
DvmdKeptRequest *dvmd_kept_request_new (const DvmdLaunchRequest *request, GBytes *(*map_input) (GBytes *input));

/* Takes a node out. FALSE: it is not in it. */
gboolean dvmd_kept_request_drop (DvmdKeptRequest *self, guint32 rank);

void dvmd_kept_request_free (DvmdKeptRequest *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdKeptRequest, dvmd_kept_request_free)

G_END_DECLS
