/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A packet is what daemons of the tree hand from neighbour to neighbour.
 */

#include "config.h"

#include "dvmd-packet.h"

DvmdPacket *
dvmd_packet_new (DvmdPacketType type, guint32 source, guint32 destination, guint16 kind, GVariant *body)
{
  DvmdPacket *self = g_new0 (DvmdPacket, 1);

  g_atomic_ref_count_init (&self->ref_count);
  self->type = type;
  self->source = source;
  self->destination = destination;
  self->kind = kind;
  self->body = body != NULL ? g_variant_ref_sink (body) : NULL;
  return self;
}

DvmdPacket *
dvmd_packet_ref (DvmdPacket *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
dvmd_packet_unref (DvmdPacket *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_clear_pointer (&self->body, g_variant_unref);
  g_free (self);
}

DvmdPacket *
dvmd_packet_copy (DvmdPacket *self)
{
  DvmdPacket *copy = g_memdup2 (self, sizeof *self);

  g_atomic_ref_count_init (&copy->ref_count);
  if (copy->body != NULL)
    g_variant_ref (copy->body);
  return copy;
}
