/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

#include "dvmd-tokens.h"

G_BEGIN_DECLS

/*
 * Agents that nobody starts may prove by munge that they are of the DVM's user. The agent draws a key for one attempt
 * to join, and hands it over in a credential that a process of its own user alone can read. Both ends prove that they
 * have the key, over all that was said, as they do with a token: a credential that somebody else has seen is of no use
 * to him. It has the place where the agents of this DVM look for their controller, too, so that no other DVM takes it.
 */

/* In bytes: the name of a host, and a port. A credential with it has some 700, of the 2048 that a hello takes. */
#define DVMD_MUNGE_MAX_PLACE 300

typedef struct _DvmdMungeReading DvmdMungeReading;

/* socket: that of munged; "": where its library looks for it. place: of DVMD_MUNGE_MAX_PLACE bytes at most */
DvmdMungeKeys *dvmd_munge_keys_new (const char *socket, const char *place);
void dvmd_munge_keys_unref (DvmdMungeKeys *self);

/* The agent's side: draws a key for one attempt. A thread asks munged, which may take some seconds. */
void dvmd_munge_keys_seal_async (DvmdMungeKeys *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                                 gpointer user_data);
/* (transfer full): the credential, for a hello. secret: (out): of the standing launch, with the key */
char *dvmd_munge_keys_seal_finish (GAsyncResult *result, DvmdToken *secret, GError **error);

/*
 * The controller's side: a few threads ask munged, and peers that come while all of them wait are served in their
 * order, so that a munged that hangs holds up nobody but them.
 */
/* From the main loop, once. secret: (nullable), and then there is an error, of DVMD_TRANSPORT_ERROR. Freed after this.
 */
typedef void (*DvmdMungeReadFunc) (const DvmdToken *secret, const GError *error, gpointer user_data);

DvmdMungeReading *dvmd_munge_keys_read (DvmdMungeKeys *self, const char *credential, DvmdMungeReadFunc func,
                                        gpointer user_data);
/* func is not called any more. */
void dvmd_munge_reading_cancel (DvmdMungeReading *reading);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdMungeKeys, dvmd_munge_keys_unref)

G_END_DECLS
