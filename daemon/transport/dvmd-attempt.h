/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-connector.h"

G_BEGIN_DECLS

/* One connection of the connector: its side of the hello. */

typedef struct _DvmdAttempt DvmdAttempt;

typedef struct
{
  /* The right daemon greets: others need not be tried. */
  void (*greeted) (gpointer user_data, DvmdAttempt *attempt);
  /* (transfer full) stream. Freed after this. */
  void (*joined) (gpointer user_data, DvmdAttempt *attempt, DvmdSocket *stream, guint32 peer_rank);
  /* Freed after this. */
  void (*failed) (gpointer user_data, DvmdAttempt *attempt, const GError *error);
} DvmdAttemptFuncs;

/* options, token, funcs: unowned. token: (nullable), derived. */
DvmdAttempt *dvmd_attempt_new (GSocketAddress *address, const DvmdConnectOptions *options, const DvmdToken *token,
                               const DvmdAttemptFuncs *funcs, gpointer user_data);
void dvmd_attempt_free (DvmdAttempt *self);

/* Somebody is there. */
gboolean dvmd_attempt_is_connected (DvmdAttempt *self);
const char *dvmd_attempt_get_peer (DvmdAttempt *self);
/* (nullable) (transfer full): of one that has joined */
char *dvmd_attempt_steal_arguments (DvmdAttempt *self);

G_END_DECLS
