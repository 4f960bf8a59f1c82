/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-authority.h"
#include "dvmd-clock.h"
#include "dvmd-socket.h"
#include "dvmd-tokens.h"

G_BEGIN_DECLS

/*
 * A peer that has connected and has not proved yet who it is: the listener's side of the hello. It costs little until
 * then: no thread, no TLS, a few hundred bytes.
 */

typedef enum
{
  DVMD_PEER_JOINER, /* came with a token */
  DVMD_PEER_MEMBER, /* came with the key of all members */
} DvmdPeerKind;

/* May a member of this rank make a link? Ranks that have left have their certificates still. */
typedef gboolean (*DvmdKnowsFunc) (guint32 rank, gpointer user_data);

/* The gate is the part of a listener that its unauthenticated peers share. */
typedef struct
{
  DvmdClock *clock;
  DvmdIdentity *identity;
  DvmdAuthority *authority; /* (nullable): there are no certificates */
  DvmdTokens *tokens;       /* (nullable): members alone */
  gboolean without_tls;     /* security=none */
  gint64 deadline;          /* µs to say who one is, and again for TLS */
  const char *version;      /* of this build */
  DvmdKnowsFunc knows;      /* (nullable): every rank with a certificate */
  gpointer knows_data;
} DvmdGate;

typedef struct _DvmdUnauthenticated DvmdUnauthenticated;

typedef struct
{
  /* (transfer full) stream. The peer is freed after this. */
  void (*joined) (gpointer user_data, DvmdUnauthenticated *peer, DvmdSocket *stream, guint32 rank, const char *name,
                  DvmdPeerKind kind);
  /* Turned away, or gone. Freed after this. */
  void (*failed) (gpointer user_data, DvmdUnauthenticated *peer, const GError *error);
} DvmdUnauthenticatedFuncs;

/* stream is taken; gate, funcs: unowned. local: a unix socket, of a process with our uid. */
DvmdUnauthenticated *dvmd_unauthenticated_new (DvmdSocket *stream, gboolean local, const DvmdGate *gate,
                                               const DvmdUnauthenticatedFuncs *funcs, gpointer user_data);
void dvmd_unauthenticated_free (DvmdUnauthenticated *self);

const char *dvmd_unauthenticated_get_peer (DvmdUnauthenticated *self);
/* TRUE: the peer has said nothing yet, or was refused. */
gboolean dvmd_unauthenticated_is_silent (DvmdUnauthenticated *self);
gboolean dvmd_unauthenticated_is_proven (DvmdUnauthenticated *self);

G_END_DECLS
