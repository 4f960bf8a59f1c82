/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A packet becomes bytes with a header of fixed size, and bytes become a packet.
 */

#include "config.h"

#include <string.h>

#include "dvmd-frame.h"
#include "dvmd-normal-form.h"
#include "dvmd-transport-error.h"

static void
put (guint8 *header, guint offset, guint size, guint64 value)
{
  for (guint i = 0; i < size; i++)
    header[offset + i] = (guint8)(value >> (8 * i));
}

static guint64
get (const guint8 *header, guint offset, guint size)
{
  guint64 value = 0;

  for (guint i = 0; i < size; i++)
    value |= (guint64)header[offset + i] << (8 * i);
  return value;
}

static gsize
get_body_size (const DvmdPacket *packet)
{
  if (packet->body == NULL || g_variant_is_of_type (packet->body, G_VARIANT_TYPE_UNIT))
    return 0;
  return g_variant_get_size (packet->body);
}

gboolean
dvmd_frame_write_header (const DvmdPacket *packet, gsize limit, guint8 *header, gsize *body_size, GError **error)
{
  *body_size = get_body_size (packet);
  if (*body_size > MIN (limit, G_MAXUINT32))
    {
      g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_PROTOCOL,
                   "A packet of type %u, kind %u with %" G_GSIZE_FORMAT
                   " bytes is too long: a link takes up to %" G_GSIZE_FORMAT,
                   packet->type, packet->kind, *body_size, limit);
      return FALSE;
    }
  memset (header, 0, DVMD_FRAME_HEADER_SIZE);
  put (header, 0, 4, *body_size);
  put (header, 4, 1, packet->type);
  put (header, 5, 1, packet->flags);
  put (header, 6, 1, packet->hops);
  put (header, 8, 2, packet->kind);
  put (header, 12, 4, packet->source);
  put (header, 16, 4, packet->destination);
  put (header, 24, 8, packet->sequence);
  put (header, 32, 8, packet->ack);
  put (header, 40, 8, packet->epoch);
  return TRUE;
}

gboolean
dvmd_frame_is_own (const guint8 *header)
{
  return header[4] == DVMD_FRAME_BEAT || header[4] == DVMD_FRAME_BYE;
}

static gboolean
check_header (const guint8 *header, gsize limit, DvmdBodyTypeFunc body_type, const GVariantType **type, GError **error)
{
  guint packet_type = header[4];
  guint kind = get (header, 8, 2);
  gsize size = get (header, 0, 4);

  *type = dvmd_frame_is_own (header) ? G_VARIANT_TYPE_UNIT : body_type ((DvmdPacketType)packet_type, (guint16)kind);
  if (header[7] != 0 || get (header, 10, 2) != 0 || get (header, 20, 4) != 0)
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_PROTOCOL,
                 "A packet has bits in its header that mean nothing");
  else if (*type == NULL)
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_PROTOCOL, "There is no packet of type %u, kind %u",
                 packet_type, kind);
  else if (size > limit)
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_PROTOCOL,
                 "A packet of type %u, kind %u says that it has %" G_GSIZE_FORMAT
                 " bytes, and this link takes up to %" G_GSIZE_FORMAT,
                 packet_type, kind, size, limit);
  else if (size > 0 && g_variant_type_equal (*type, G_VARIANT_TYPE_UNIT))
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_PROTOCOL,
                 "A packet of type %u, kind %u has %" G_GSIZE_FORMAT " bytes, and should have none", packet_type, kind,
                 size);
  else
    return TRUE;
  return FALSE;
}

DvmdPacket *
dvmd_frame_read_header (const guint8 *header, gsize limit, DvmdBodyTypeFunc body_type, gsize *body_size,
                        const GVariantType **type, GError **error)
{
  DvmdPacket *packet;

  if (!check_header (header, limit, body_type, type, error))
    return NULL;
  *body_size = get (header, 0, 4);
  packet = dvmd_packet_new ((DvmdPacketType)header[4], get (header, 12, 4), get (header, 16, 4), get (header, 8, 2),
                            NULL);
  packet->flags = header[5];
  packet->hops = header[6];
  packet->sequence = get (header, 24, 8);
  packet->ack = get (header, 32, 8);
  packet->epoch = get (header, 40, 8);
  return packet;
}

static gsize
get_basic_size (const GVariantType *type)
{
  switch (g_variant_type_peek_string (type)[0])
    {
    case 'y':
    case 'b':
      return 1;
    case 'n':
    case 'q':
      return 2;
    case 'i':
    case 'u':
      return 4;
    case 'x':
    case 't':
    case 'd':
      return 8;
    default:
      return 0;
    }
}

/* The size of the numbers before the bytes in a body of a type as (uuay); 0: the type is another one. */
static gsize
measure_head (const GVariantType *type)
{
  const GVariantType *item = g_variant_type_is_tuple (type) ? g_variant_type_first (type) : NULL;
  gsize size = 0;

  for (; item != NULL; item = g_variant_type_next (item))
    {
      gsize own = get_basic_size (item);

      if (own == 0)
        return g_variant_type_equal (item, G_VARIANT_TYPE_BYTESTRING) && g_variant_type_next (item) == NULL ? size : 0;
      size = (size + own - 1) / own * own + own;
    }
  return 0;
}

/* Nothing can be wrong with bytes, and GVariant would look at each of them, which costs more than all the rest. */
static gboolean
is_normal (const GVariantType *type, const guint8 *data, gsize size)
{
  gsize head = measure_head (type);
  g_autoptr (GVariant) checked = NULL;

  if (head > 0 && head <= size)
    size = head;
  checked = g_variant_ref_sink (g_variant_new_from_data (type, data, size, FALSE, NULL, NULL));
  return head > 0 ? g_variant_is_normal_form (checked) : dvmd_variant_is_normal (checked);
}

gboolean
dvmd_frame_take_body (DvmdPacket *packet, const GVariantType *type, guint8 *data, gsize size, GError **error)
{
  if (g_variant_type_equal (type, G_VARIANT_TYPE_UNIT))
    {
      g_free (data);
      return TRUE;
    }
  if (!is_normal (type, data, size))
    {
      g_free (data);
      g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_PROTOCOL,
                   "The body of a packet of type %u, kind %u is no %.*s in normal form", packet->type, packet->kind,
                   (int)g_variant_type_get_string_length (type), g_variant_type_peek_string (type));
      return FALSE;
    }
  packet->body = g_variant_ref_sink (g_variant_new_from_data (type, data, size, TRUE, g_free, data));
  return TRUE;
}
