/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-output.h"

#include <string.h>

#include <glib/gstdio.h>

typedef struct
{
  DvmdClock *clock;
  DvmdOutput *output;
  DvmdOutput *mirror;
  gsize credited;
  GString *text;     /* of the mirror's pieces: stream, rank, and what there is */
  GPtrArray *unread; /* receipts of pieces that are kept back */
  gboolean keeps;
} Fixture;

static void
on_credited (DvmdOutput *output, guint rank, gsize n_bytes, gpointer user_data)
{
  ((Fixture *)user_data)->credited += n_bytes;
}

static void
on_delivered (DvmdOutput *output, gpointer user_data)
{
}

static void
describe (DvmdOutput *output, guint rank, const char **host, gint64 *pid, gpointer user_data)
{
  *host = "node1";
  *pid = 100 + rank;
}

static const DvmdOutputFuncs funcs = { .credited = on_credited, .delivered = on_delivered, .describe = describe };

static gboolean
on_piece (DvmdOutput *output, const DvmdOutputPiece *piece, DvmdReceipt *receipt, gpointer user_data)
{
  Fixture *self = user_data;
  gsize size;
  const char *data = g_bytes_get_data (piece->bytes, &size);

  g_assert_true (piece->own);
  g_string_append_printf (self->text, "%u.%u:%.*s", piece->stream, piece->rank, (int)size, data);
  if (self->keeps)
    g_ptr_array_add (self->unread, dvmd_receipt_ref (receipt));
  return TRUE;
}

static void
set_up (Fixture *self, gconstpointer data)
{
  memset (self, 0, sizeof *self);
  self->clock = dvmd_clock_new_manual (0);
  self->text = g_string_new (NULL);
  self->unread = g_ptr_array_new_with_free_func (dvmd_receipt_unref);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  g_clear_pointer (&self->output, dvmd_output_free);
  g_ptr_array_unref (self->unread);
  g_string_free (self->text, TRUE);
  dvmd_clock_unref (self->clock);
}

static void
make (Fixture *self, DvmdOutputFormat *format, DvmdOutputTag tag, gboolean merge)
{
  DvmdOutputFormat *own = dvmd_output_format_new ();

  own->tag = tag;
  own->merge = merge;
  self->output = dvmd_output_new (NULL, self->clock, "dvm@7", 7, 4, format, &funcs, self);
  self->mirror = dvmd_output_add_mirror (self->output, own, on_piece, self);
}

static void
push (Fixture *self, guint rank, DvmdStream stream, const char *text)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));

  dvmd_output_push (self->output, rank, stream, bytes);
}

static void
assert_text (Fixture *self, const char *expected)
{
  g_assert_cmpstr (self->text->str, ==, expected);
  g_string_truncate (self->text, 0);
}

/* Lines have the marks of the mirror, whatever those of the output are; what a rank leaves unfinished ends with it. */
static void
test_marks (Fixture *self, gconstpointer data)
{
  DvmdOutputFormat *format = dvmd_output_format_new ();

  format->xml = TRUE;
  make (self, format, DVMD_OUTPUT_TAG_DETAILED, FALSE);
  push (self, 1, DVMD_STREAM_STDOUT, "one\ntw");
  assert_text (self, "1.1:[dvm@7,1][node1:101]<stdout>: one\n");
  push (self, 1, DVMD_STREAM_STDERR, "e\n");
  assert_text (self, "2.1:[dvm@7,1][node1:101]<stderr>: e\n");
  push (self, 1, DVMD_STREAM_STDOUT, "o\n");
  assert_text (self, "1.1:[dvm@7,1][node1:101]<stdout>: two\n");
  dvmd_output_insert (self->output, 2, DVMD_STREAM_STDOUT, "logged");
  assert_text (self, "1.2:[dvm@7,2][node1:102]<stdout>: logged\n");
  push (self, 3, DVMD_STREAM_STDOUT, "rest");
  assert_text (self, "");
  dvmd_output_push_eof (self->output, 3, DVMD_STREAM_STDOUT);
  assert_text (self, "1.3:[dvm@7,3][node1:103]<stdout>: rest\n");
  push (self, 0, DVMD_STREAM_STDOUT, "last");
  dvmd_output_say (self->output, "a message");
  assert_text (self, "2.0:dvmd: job dvm@7: a message\n");
  g_assert_true (dvmd_output_end (self->output));
  assert_text (self, "1.0:[dvm@7,0][node1:100]<stdout>: last\n");
  g_assert_cmpuint (self->credited, ==, 18);
}

/* Both streams come on one; a mirror that is dropped gets nothing more, and others go on. */
static void
test_merged (Fixture *self, gconstpointer data)
{
  DvmdOutput *other;

  make (self, NULL, DVMD_OUTPUT_TAG_NONE, TRUE);
  other = dvmd_output_add_mirror (self->output, dvmd_output_format_new (), on_piece, self);
  push (self, 0, DVMD_STREAM_STDERR, "e\n");
  assert_text (self, "1.0:e\n2.0:e\n");
  dvmd_output_drop_mirror (self->output, self->mirror);
  push (self, 0, DVMD_STREAM_STDERR, "f\n");
  assert_text (self, "2.0:f\n");
  dvmd_output_drop_mirror (self->output, other);
  push (self, 0, DVMD_STREAM_STDERR, "g\n");
  assert_text (self, "");
  g_assert_cmpuint (self->credited, ==, 6);
}

/* Credit comes when who gets it from the mirror has taken it, also when the mirror has gone meanwhile. */
static void
test_credit (Fixture *self, gconstpointer data)
{
  make (self, NULL, DVMD_OUTPUT_TAG_RANK, FALSE);
  self->keeps = TRUE;
  push (self, 0, DVMD_STREAM_STDOUT, "1\n2\n");
  push (self, 0, DVMD_STREAM_STDOUT, "3\n");
  g_assert_cmpuint (self->unread->len, ==, 2);
  g_assert_cmpuint (self->credited, ==, 0);
  g_ptr_array_remove_index (self->unread, 0);
  g_assert_cmpuint (self->credited, ==, 4);
  dvmd_output_drop_mirror (self->output, self->mirror);
  g_assert_cmpuint (self->credited, ==, 4);
  g_ptr_array_remove_index (self->unread, 0);
  g_assert_cmpuint (self->credited, ==, 6);
}

/* Output that goes into files alone is not mirrored. */
static void
test_files (Fixture *self, gconstpointer data)
{
  g_autofree char *dir = g_dir_make_tmp ("dvm-mirror-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (dir, "file.0.out", NULL);
  DvmdOutputFormat *format = dvmd_output_format_new ();

  format->file = g_build_filename (dir, "file", NULL);
  make (self, format, DVMD_OUTPUT_TAG_RANK, FALSE);
  push (self, 0, DVMD_STREAM_STDOUT, "hidden\n");
  assert_text (self, "");
  g_assert_true (dvmd_output_end (self->output));
  g_assert_cmpint (g_remove (path), ==, 0);
  g_assert_cmpint (g_rmdir (dir), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/io/mirror/marks", Fixture, NULL, set_up, test_marks, tear_down);
  g_test_add ("/io/mirror/merged", Fixture, NULL, set_up, test_merged, tear_down);
  g_test_add ("/io/mirror/credit", Fixture, NULL, set_up, test_credit, tear_down);
  g_test_add ("/io/mirror/files", Fixture, NULL, set_up, test_files, tear_down);
  return g_test_run ();
}
