/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <sys/uio.h>

#include "dvmd-identity.h"

G_BEGIN_DECLS

/*
 * Bytes over a connected socket that never block, in clear or, after dvmd_socket_start_tls(), in TLS 1.3. GnuTLS is
 * driven from the main loop, without threads, so that handshakes of others cost nobody his turn.
 */

typedef struct _DvmdSocket DvmdSocket;

/* Read, write and handshake return a count, or one of these. */
#define DVMD_STREAM_FAILED (-1)
#define DVMD_STREAM_AGAIN  (-2)

/* fd is taken. peer: "10.0.0.1:4711", for messages. */
DvmdSocket *dvmd_socket_new (int fd, const char *peer);
void dvmd_socket_free (DvmdSocket *self);

int dvmd_socket_get_fd (DvmdSocket *self);
const char *dvmd_socket_get_peer (DvmdSocket *self);
/* Nagle off, keepalive, and how long (ms) what was sent may stay unanswered; nothing on unix sockets. */
void dvmd_socket_tune (DvmdSocket *self, guint timeout);

/* 0: the other end has ended. Errors: LOST, TIMEOUT, PROTOCOL (TLS). */
gssize dvmd_socket_read (DvmdSocket *self, gpointer data, gsize size, GError **error);
/* After AGAIN the same bytes must be offered again. */
gssize dvmd_socket_write (DvmdSocket *self, gconstpointer data, gsize size, GError **error);
/* Into and from several places at once; n > 0. In TLS the first of them alone, and only for reading. */
gssize dvmd_socket_read_vector (DvmdSocket *self, const struct iovec *vector, guint n, GError **error);
gssize dvmd_socket_write_vector (DvmdSocket *self, const struct iovec *vector, guint n, GError **error);

gboolean dvmd_socket_start_tls (DvmdSocket *self, DvmdIdentity *identity, gboolean is_server, GError **error);
/* 1: done, and the peer's certificate is of rank; AGAIN: wait for dvmd_socket_get_condition(). */
int dvmd_socket_handshake (DvmdSocket *self, guint32 *rank, GError **error);
GIOCondition dvmd_socket_get_condition (DvmdSocket *self);
gboolean dvmd_socket_is_encrypted (DvmdSocket *self);

/* Nothing is written any more; what was is still delivered. */
void dvmd_socket_end (DvmdSocket *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdSocket, dvmd_socket_free)

G_END_DECLS
