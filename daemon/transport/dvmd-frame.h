/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-packet.h"

G_BEGIN_DECLS

/*
 * A packet as bytes: a header of fixed size, little-endian, and the body as GVariant lays it out. Pure. Both ends have
 * the same byte order and build (the hello sees to it), so frames carry neither.
 *
 *    0 u32 size of the body    4 u8 type   5 u8 flags   6 u8 hops   7 u8 0
 *    8 u16 kind  10 u16 0     12 u32 source
 *   16 u32 destination        20 u32 0
 *   24 u64 sequence           32 u64 ack               40 u64 epoch
 */

#define DVMD_FRAME_HEADER_SIZE   48
#define DVMD_FRAME_DEFAULT_LIMIT ((gsize)64 * 1024 * 1024)

/* Types of frames that a link keeps to itself. */
#define DVMD_FRAME_BEAT 0xfe /* still here */
#define DVMD_FRAME_BYE  0xff /* nothing comes after this */

/* The type of the body; "()": there is none; NULL: there is no such packet. */
typedef const GVariantType *(*DvmdBodyTypeFunc) (DvmdPacketType type, guint16 kind);

/* FALSE: the body is longer than limit. */
gboolean dvmd_frame_write_header (const DvmdPacket *packet, gsize limit, guint8 *header, gsize *body_size,
                                  GError **error);
/*
 * The packet without its body, of which type and size are told. Refuses what body_type does not know and sizes over
 * limit. Nothing that depends on the size is taken before.
 */
DvmdPacket *dvmd_frame_read_header (const guint8 *header, gsize limit, DvmdBodyTypeFunc body_type, gsize *body_size,
                                    const GVariantType **type, GError **error);
/* data (transfer full): from g_malloc(), so that it is aligned. Refuses what is not in normal form. */
gboolean dvmd_frame_take_body (DvmdPacket *packet, const GVariantType *type, guint8 *data, gsize size, GError **error);

/* TRUE: a frame that links keep to themselves. */
gboolean dvmd_frame_is_own (const guint8 *header);

G_END_DECLS
