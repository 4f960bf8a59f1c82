/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-identity.h"

G_BEGIN_DECLS

/*
 * Bytes over a connected socket that never block, in clear or, after dvmd_stream_start_tls(), in TLS 1.3. GnuTLS is
 * driven from the main loop, without threads, so that handshakes of others cost nobody his turn.
 */

typedef struct _DvmdStream DvmdStream;

/* What read, write and handshake return beside counts. */
#define DVMD_STREAM_FAILED (-1)
#define DVMD_STREAM_AGAIN  (-2)

/* fd is taken. peer: "10.0.0.1:4711", for messages. */
DvmdStream *dvmd_stream_new (int fd, const char *peer);
void dvmd_stream_free (DvmdStream *self);

int dvmd_stream_get_fd (DvmdStream *self);
const char *dvmd_stream_get_peer (DvmdStream *self);
/* Nagle off, keepalive, and how long (ms) what was sent may stay unanswered; nothing on unix sockets. */
void dvmd_stream_tune (DvmdStream *self, guint timeout);

/* 0: the other end has ended. Errors: LOST, TIMEOUT, PROTOCOL (TLS). */
gssize dvmd_stream_read (DvmdStream *self, gpointer data, gsize size, GError **error);
/* After AGAIN the same bytes must be offered again. */
gssize dvmd_stream_write (DvmdStream *self, gconstpointer data, gsize size, GError **error);
/* Bytes were read from the socket that dvmd_stream_read() has not returned. */
gboolean dvmd_stream_has_pending (DvmdStream *self);

gboolean dvmd_stream_start_tls (DvmdStream *self, DvmdIdentity *identity, gboolean is_server, GError **error);
/* 1: done, and the peer's certificate is of rank; AGAIN: wait for dvmd_stream_get_condition(). */
int dvmd_stream_handshake (DvmdStream *self, guint32 *rank, GError **error);
GIOCondition dvmd_stream_get_condition (DvmdStream *self);
gboolean dvmd_stream_is_encrypted (DvmdStream *self);

/* Nothing is written any more; what was is still delivered. */
void dvmd_stream_end (DvmdStream *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdStream, dvmd_stream_free)

G_END_DECLS
