/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames wait in the outbox of a link, by priority and in their order.
 */

#include "config.h"

#include <string.h>

#include "dvmd-outbox.h"

typedef struct
{
  guint8 header[DVMD_FRAME_HEADER_SIZE];
  GVariant *body;  /* (nullable) */
  gsize body_size; /* without the header */
  DvmdWirePriority priority;
} Frame;

struct _DvmdOutbox
{
  GQueue queues[2]; /* Frame, those that have not begun to go */
  gsize sizes[2];
  Frame *begun; /* (nullable) */
  gsize offset; /* of what has gone of that */
};

static void
frame_free (gpointer data)
{
  Frame *frame = data;

  g_clear_pointer (&frame->body, g_variant_unref);
  g_free (frame);
}

static gsize
frame_size (const Frame *frame)
{
  return DVMD_FRAME_HEADER_SIZE + frame->body_size;
}

DvmdOutbox *
dvmd_outbox_new (void)
{
  DvmdOutbox *self = g_new0 (DvmdOutbox, 1);

  for (guint i = 0; i < G_N_ELEMENTS (self->queues); i++)
    g_queue_init (&self->queues[i]);
  return self;
}

void
dvmd_outbox_free (DvmdOutbox *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (self->queues); i++)
    g_queue_clear_full (&self->queues[i], frame_free);
  g_clear_pointer (&self->begun, frame_free);
  g_free (self);
}

void
dvmd_outbox_add (DvmdOutbox *self, DvmdWirePriority priority, const guint8 *header, GVariant *body)
{
  Frame *frame = g_new (Frame, 1);

  memcpy (frame->header, header, sizeof frame->header);
  frame->body = body != NULL ? g_variant_ref (body) : NULL;
  frame->body_size = body != NULL ? g_variant_get_size (body) : 0;
  frame->priority = priority;
  g_queue_push_tail (&self->queues[priority], frame);
  self->sizes[priority] += frame_size (frame);
}

gboolean
dvmd_outbox_is_empty (DvmdOutbox *self)
{
  return self->begun == NULL && g_queue_is_empty (&self->queues[DVMD_WIRE_CONTROL])
         && g_queue_is_empty (&self->queues[DVMD_WIRE_BULK]);
}

gsize
dvmd_outbox_get_size (DvmdOutbox *self, DvmdWirePriority priority)
{
  return self->sizes[priority];
}

/* Fills vector with the bytes of the frame after offset. Returns the number of entries. */
static guint
peek_frame (const Frame *frame, gsize offset, struct iovec *vector, guint n)
{
  const guint8 *parts[] = { frame->header, frame->body_size > 0 ? g_variant_get_data (frame->body) : NULL };
  gsize sizes[] = { DVMD_FRAME_HEADER_SIZE, frame->body_size };
  guint filled = 0;

  for (guint i = 0; i < G_N_ELEMENTS (parts) && filled < n; i++)
    {
      gsize gone = MIN (offset, sizes[i]);

      if (gone < sizes[i])
        vector[filled++] = (struct iovec){ (void *)(parts[i] + gone), sizes[i] - gone };
      offset -= gone;
    }
  return filled;
}

guint
dvmd_outbox_peek (DvmdOutbox *self, struct iovec *vector, guint n)
{
  guint filled = self->begun != NULL ? peek_frame (self->begun, self->offset, vector, n) : 0;

  for (guint i = 0; i < G_N_ELEMENTS (self->queues); i++)
    for (GList *link = self->queues[i].head; link != NULL && filled < n; link = link->next)
      filled += peek_frame (link->data, 0, vector + filled, n - filled);
  return filled;
}

static void
begin_next (DvmdOutbox *self)
{
  self->begun = g_queue_pop_head (&self->queues[DVMD_WIRE_CONTROL]);
  if (self->begun == NULL)
    self->begun = g_queue_pop_head (&self->queues[DVMD_WIRE_BULK]);
  self->offset = 0;
}

guint
dvmd_outbox_take (DvmdOutbox *self, gsize n_bytes)
{
  guint n_packets = 0;

  while (n_bytes > 0)
    {
      gsize n;

      if (self->begun == NULL)
        begin_next (self);
      g_return_val_if_fail (self->begun != NULL, n_packets);
      n = MIN (n_bytes, frame_size (self->begun) - self->offset);
      self->offset += n;
      n_bytes -= n;
      if (self->offset < frame_size (self->begun))
        break;
      self->sizes[self->begun->priority] -= frame_size (self->begun);
      if (!dvmd_frame_is_own (self->begun->header))
        n_packets++;
      g_clear_pointer (&self->begun, frame_free);
    }
  return n_packets;
}
