/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-address.h"
#include "dvmd-unauthenticated.h"
#include "dvmd-wire.h"

G_BEGIN_DECLS

/*
 * A listener accepts joiners (that of the controller alone) and members that want a link. Unauthenticated peers have a
 * deadline, and there are only so many at once: beyond that the one goes that has been silent longest, of the address
 * that has most of them, so that many who say nothing do not keep out one who does. Refusals are logged with address
 * and reason, at most one line a second.
 *
 * Signal: joined (DvmdWire, guint rank, string name, guint DvmdPeerKind): somebody who has proved all. The wire is
 * to be started with dvmd_wire_start(), and is dropped if nobody takes a reference.
 */

#define DVMD_TYPE_LISTENER (dvmd_listener_get_type ())
G_DECLARE_FINAL_TYPE (DvmdListener, dvmd_listener, DVMD, LISTENER, GObject)

typedef struct
{
  DvmdIdentity *identity;    /* of a member */
  DvmdAuthority *authority;  /* (nullable): there are no certificates, and who joins is of this machine */
  DvmdTokens *tokens;        /* (nullable): nobody can join here; must outlive the listener */
  gboolean without_tls;      /* security=none */
  gint64 deadline;           /* µs; 0: 5 s */
  guint max_unauthenticated; /* 0: 64 */
  const char *version;       /* NULL: of this build; for tests */
  DvmdKnowsFunc knows;       /* (nullable): which members may make links; all */
  gpointer knows_data;
  DvmdWireOptions wire; /* its clock is the listener's */
} DvmdListenerOptions;

DvmdListener *dvmd_listener_new (const DvmdListenerOptions *options);
/* Where there was none: from now on there are certificates. */
void dvmd_listener_set_authority (DvmdListener *self, DvmdAuthority *authority);
/* All addresses that options choose, with the same port. */
gboolean dvmd_listener_add_tcp (DvmdListener *self, const DvmdTcpOptions *options, GError **error);
/* A path where nothing is; it is removed at the end. */
gboolean dvmd_listener_add_unix (DvmdListener *self, const char *path, GError **error);
/* As dvmd_address_parse() takes them. */
const char *const *dvmd_listener_get_addresses (DvmdListener *self);
/* Accepts no connections any more, and drops those that have not joined. */
void dvmd_listener_close (DvmdListener *self);

guint dvmd_listener_get_n_unauthenticated (DvmdListener *self);
guint64 dvmd_listener_get_n_refused (DvmdListener *self);
/* (nullable): "ADDRESS: REASON" */
const char *dvmd_listener_get_last_refusal (DvmdListener *self);

G_END_DECLS
