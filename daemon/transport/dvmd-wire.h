/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-clock.h"
#include "dvmd-outbox.h"
#include "dvmd-socket.h"

G_BEGIN_DECLS

/*
 * One link to another daemon: packets over a stream. Nothing here blocks, and nothing comes from within a call: packets
 * and the end come from the main loop.
 *
 * Signals:
 *   packet (DvmdPacket): of the other end, in their order
 *   drained (): bulk can be sent again, after dvmd_wire_send() has refused some
 *   closed (GError): nothing comes any more, once; NULL: this end has closed it. Domain DVMD_TRANSPORT_ERROR, with the
 *     peer's address and rank in the message: CLOSED, LOST, TIMEOUT, PROTOCOL, RESOURCE
 */

#define DVMD_TYPE_WIRE (dvmd_wire_get_type ())
G_DECLARE_FINAL_TYPE (DvmdWire, dvmd_wire, DVMD, WIRE, GObject)

typedef struct
{
  DvmdClock *clock;
  DvmdBodyTypeFunc body_type;
  gsize max_body;           /* of a packet; 0: DVMD_FRAME_DEFAULT_LIMIT */
  gsize bulk_limit;         /* bytes that may wait; 0: 1 MiB */
  gsize control_limit;      /* bytes that wait before the other end is given up; 0: 256 MiB */
  gint64 heartbeat_timeout; /* µs without a sign of life; 0: 20 s */
} DvmdWireOptions;

typedef struct
{
  guint64 frames_sent; /* given to the socket; without heartbeats */
  guint64 frames_received;
  guint64 bytes_sent; /* of frames, without TLS */
  guint64 bytes_received;
} DvmdWireStatistics;

/* stream is taken. rank: of the other end. Nothing happens before dvmd_wire_start(). */
DvmdWire *dvmd_wire_new (DvmdSocket *stream, guint32 rank, const DvmdWireOptions *options);
/* Packets come on the thread's default context of this call. */
void dvmd_wire_start (DvmdWire *self);
/* Before the start: µs. */
void dvmd_wire_set_heartbeat_timeout (DvmdWire *self, gint64 timeout);

guint32 dvmd_wire_get_rank (DvmdWire *self);
/* The address. */
gboolean dvmd_wire_is_encrypted (DvmdWire *self);

/*
 * FALSE: the packet was not taken: RESOURCE, there is no room for bulk now (see drained); PROTOCOL, it is too long;
 * CLOSED, the link has ended.
 */
gboolean dvmd_wire_send (DvmdWire *self, DvmdPacket *packet, DvmdWirePriority priority, GError **error);
gsize dvmd_wire_get_queued (DvmdWire *self, DvmdWirePriority priority);
gboolean dvmd_wire_is_writable (DvmdWire *self);
/* Messages that were sent still arrive, then the connection ends. Nothing is received any more. */
void dvmd_wire_close (DvmdWire *self);
void dvmd_wire_get_statistics (DvmdWire *self, DvmdWireStatistics *statistics);

GType dvmd_packet_get_type (void);
#define DVMD_TYPE_PACKET (dvmd_packet_get_type ())

G_END_DECLS
