/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller-frame.h"

G_BEGIN_DECLS

/* dvmd-controller-connect.c */
/* Before it is spoken of to that agent: nothing happens if that has ranks of it, or has been told. */
void dvmd_controller_tell_of_job (DvmdController *self, guint agent, DvmdJob *job);
/* It has no rank of the job left. */
void dvmd_controller_agent_is_done (DvmdController *self, guint agent, DvmdJob *job);

/* dvmd-controller-collectives.c */
typedef enum
{
  DVMD_COLLECTIVE_FENCE,
  DVMD_COLLECTIVE_CONNECT,
  DVMD_COLLECTIVE_DISCONNECT,
} DvmdCollective;

/* All participants of that agent have come, or (status) cannot come any more. participants: a(su), data: ay */
void dvmd_controller_join_collective (DvmdController *self, DvmdCollective kind, guint source, guint64 token,
                                      GVariant *participants, GVariant *data, guint32 timeout, int status);

G_END_DECLS
