/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The last bytes of a job's output are kept for those who attach later.
 */

#include "config.h"

#include "dvmd-retained.h"

#define PIECE 16384
/* Pieces cost memory too, however small they are. */
#define MAX_PIECES 16384

typedef struct
{
  DvmdStream stream;
  GString *text;
  gsize skip; /* bytes at the front that are no longer kept */
} Piece;

struct _DvmdRetained
{
  gsize max;
  gsize size;
  GQueue pieces; /* Piece */
};

static void
piece_free (gpointer data)
{
  Piece *piece = data;

  g_string_free (piece->text, TRUE);
  g_free (piece);
}

DvmdRetained *
dvmd_retained_new (gsize max)
{
  DvmdRetained *self = g_new0 (DvmdRetained, 1);

  self->max = max;
  return self;
}

void
dvmd_retained_free (DvmdRetained *self)
{
  g_queue_clear_full (&self->pieces, piece_free);
  g_free (self);
}

static void
trim (DvmdRetained *self)
{
  while (self->size > self->max || g_queue_get_length (&self->pieces) > MAX_PIECES)
    {
      Piece *piece = g_queue_peek_head (&self->pieces);
      gsize left = piece->text->len - piece->skip;

      if (self->size > self->max && self->size - left < self->max)
        {
          piece->skip += self->size - self->max;
          self->size = self->max;
          continue;
        }
      self->size -= left;
      piece_free (g_queue_pop_head (&self->pieces));
    }
}

static Piece *
piece_for (DvmdRetained *self, DvmdStream stream)
{
  Piece *piece = g_queue_peek_tail (&self->pieces);

  if (piece != NULL && piece->stream == stream && piece->text->len < PIECE)
    return piece;
  piece = g_new0 (Piece, 1);
  piece->stream = stream;
  piece->text = g_string_new (NULL);
  g_queue_push_tail (&self->pieces, piece);
  return piece;
}

void
dvmd_retained_add (DvmdRetained *self, DvmdStream stream, GBytes *bytes)
{
  gsize size;
  const char *data = g_bytes_get_data (bytes, &size);

  while (size > 0)
    {
      Piece *piece = piece_for (self, stream);
      gsize n = MIN (size, PIECE - piece->text->len);

      g_string_append_len (piece->text, data, (gssize)n);
      data += n;
      size -= n;
      self->size += n;
      trim (self);
    }
}

GBytes *
dvmd_retained_take (DvmdRetained *self, DvmdStream stream)
{
  GString *text = g_string_new (NULL);
  GList *next;

  for (GList *link = self->pieces.head; link != NULL; link = next)
    {
      Piece *piece = link->data;

      next = link->next;
      if (piece->stream != stream)
        continue;
      g_string_append_len (text, piece->text->str + piece->skip, (gssize)(piece->text->len - piece->skip));
      self->size -= piece->text->len - piece->skip;
      piece_free (piece);
      g_queue_delete_link (&self->pieces, link);
    }
  return g_string_free_to_bytes (text);
}

gsize
dvmd_retained_get_size (DvmdRetained *self)
{
  return self->size;
}
