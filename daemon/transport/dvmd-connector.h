/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-tokens.h"
#include "dvmd-wire.h"

G_BEGIN_DECLS

/*
 * Comes to a daemon of the DVM that listens somewhere: as a joiner with a token, or as a member. The addresses are all
 * of one daemon: they are tried one after the other, the next when one fails or is slow, and the first that greets as
 * this daemon must is used.
 */

typedef struct
{
  DvmdIdentity *identity; /* with a token: a new one, that is a member's afterwards */
  const DvmdToken *token; /* (nullable): a member comes */
  const char *credential; /* (nullable): of munge, with the key of that token; up to DVMD_HELLO_MAX_CREDENTIAL */
  guint32 rank;           /* with a secret for a token: which rank, or DVMD_RANK_ANY */
  guint32 peer_rank;      /* who must answer */
  const char *instance;   /* (nullable): the DVM that a joiner expects; members know theirs */
  const char *name;       /* of this node */
  gint64 timeout;         /* µs; 0: 20 s */
  const char *version;    /* NULL: of this build; for tests */
  DvmdWireOptions wire;
} DvmdConnectOptions;

/* addresses as dvmd_address_parse() takes them. */
void dvmd_connect_async (const char *const *addresses, const DvmdConnectOptions *options, GCancellable *cancellable,
                         GAsyncReadyCallback callback, gpointer user_data);
/*
 * The wire is to be started with dvmd_wire_start(). DVMD_TRANSPORT_ERROR: UNREACHABLE, REFUSED, AUTHENTICATION,
 * VERSION, TIMEOUT, LOST, PROTOCOL. DVM_ERROR_BAD_PARAM: an address is none.
 */
DvmdWire *dvmd_connect_finish (GAsyncResult *result, GError **error);
/* (transfer full): what an agent that nobody has started is told besides, a line for each argument; "": nothing */
char *dvmd_connect_dup_arguments (GAsyncResult *result);

G_END_DECLS
