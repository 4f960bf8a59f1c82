/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whole frames, written and read at once; links have a header first and its body later.
 */

#pragma once

#include <string.h>

#include "dvmd-frame.h"

static inline GBytes *
frame_encode (const DvmdPacket *packet)
{
  guint8 header[DVMD_FRAME_HEADER_SIZE];
  gsize size;
  guint8 *data;

  if (!dvmd_frame_write_header (packet, G_MAXUINT32, header, &size, NULL))
    return NULL;
  data = g_malloc (sizeof header + size);
  memcpy (data, header, sizeof header);
  if (size > 0)
    g_variant_store (packet->body, data + sizeof header);
  return g_bytes_new_take (data, sizeof header + size);
}

/* NULL without error: there are more bytes to come. used: what the frame took. */
static inline DvmdPacket *
frame_decode (const guint8 *data, gsize size, gsize limit, DvmdBodyTypeFunc body_type, gsize *used, GError **error)
{
  g_autoptr (DvmdPacket) packet = NULL;
  const GVariantType *type;
  gsize body_size;

  if (size < DVMD_FRAME_HEADER_SIZE)
    return NULL;
  packet = dvmd_frame_read_header (data, limit, body_type, &body_size, &type, error);
  if (packet == NULL || size - DVMD_FRAME_HEADER_SIZE < body_size)
    return NULL;
  if (!dvmd_frame_take_body (packet, type, g_memdup2 (data + DVMD_FRAME_HEADER_SIZE, body_size), body_size, error))
    return NULL;
  *used = DVMD_FRAME_HEADER_SIZE + body_size;
  return g_steal_pointer (&packet);
}
