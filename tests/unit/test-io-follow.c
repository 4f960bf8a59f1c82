/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The output of one job goes where that of another goes.
 */

#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "dvmd-output.h"

typedef struct
{
  DvmdClock *clock;
  DvmdOutput *leader;
  DvmdOutput *output;
  gsize credited; /* to output */
  char *dir;
} Fixture;

static void
on_credited (DvmdOutput *output, guint rank, gsize n_bytes, gpointer user_data)
{
  Fixture *self = user_data;

  if (output == self->output)
    self->credited += n_bytes;
}

static void
on_delivered (DvmdOutput *output, gpointer user_data)
{
}

static const DvmdOutputFuncs funcs = { .credited = on_credited, .delivered = on_delivered };

static DvmdOutput *
make (Fixture *self, const char *nspace, guint job, DvmdOutputFormat *format)
{
  return dvmd_output_new (NULL, self->clock, nspace, job, 1, format, &funcs, self);
}

static void
set_up (Fixture *self, gconstpointer data)
{
  memset (self, 0, sizeof *self);
  self->clock = dvmd_clock_new_manual (0);
  self->dir = g_dir_make_tmp ("dvm-follow-XXXXXX", NULL);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  g_clear_pointer (&self->output, dvmd_output_free);
  g_clear_pointer (&self->leader, dvmd_output_free);
  dvmd_clock_unref (self->clock);
  g_assert_cmpint (g_rmdir (self->dir), ==, 0);
  g_free (self->dir);
}

static void
push (DvmdOutput *output, DvmdStream stream, const char *text)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));

  dvmd_output_push (output, 0, stream, bytes);
}

static void
assert_reads (int fd, const char *expected)
{
  char buffer[256];
  ssize_t n;

  for (guint i = 0; i < 100; i++)
    g_main_context_iteration (NULL, FALSE);
  fcntl (fd, F_SETFL, fcntl (fd, F_GETFL) | O_NONBLOCK);
  n = read (fd, buffer, sizeof buffer - 1);
  buffer[MAX (n, 0)] = '\0';
  g_assert_cmpstr (buffer, ==, expected);
}

/* A reader of the leader gets both, one of the other output that besides; without a reader the leader keeps it. */
static void
test_readers (Fixture *self, gconstpointer data)
{
  int fds[4];

  self->leader = make (self, "dvm@1", 1, NULL);
  self->output = make (self, "dvm@2", 2, NULL);
  dvmd_output_follow (self->output, self->leader, TRUE);
  push (self->output, DVMD_STREAM_STDOUT, "kept\n");
  g_assert_cmpuint (dvmd_output_get_retained (self->output), ==, 0);
  g_assert_cmpuint (dvmd_output_get_retained (self->leader), ==, 5);
  g_assert_true (dvmd_output_attach (self->leader, &fds[0], &fds[1], NULL));
  g_assert_true (dvmd_output_attach (self->output, &fds[2], NULL, NULL));
  push (self->leader, DVMD_STREAM_STDOUT, "first\n");
  push (self->output, DVMD_STREAM_STDOUT, "second\n");
  push (self->output, DVMD_STREAM_STDERR, "error\n");
  assert_reads (fds[0], "kept\nfirst\nsecond\n");
  assert_reads (fds[1], "error\n");
  assert_reads (fds[2], "second\n");
  g_assert_cmpuint (self->credited, ==, 18);
  g_assert_true (dvmd_output_end (self->output));
  close (fds[2]);
  dvmd_output_follow (self->output, NULL, FALSE);
  g_assert_true (dvmd_output_end (self->leader));
  close (fds[0]);
  close (fds[1]);
}

/* Credit comes back when the leader's reader has got it. */
static void
test_credit (Fixture *self, gconstpointer data)
{
  g_autofree char *text = g_strnfill (2 * 1024 * 1024, 'x');
  char buffer[65536];
  int fd;

  self->leader = make (self, "dvm@1", 1, NULL);
  self->output = make (self, "dvm@2", 2, NULL);
  dvmd_output_follow (self->output, self->leader, TRUE);
  g_assert_true (dvmd_output_attach (self->leader, &fd, NULL, NULL));
  push (self->output, DVMD_STREAM_STDOUT, text);
  for (guint i = 0; i < 100; i++)
    g_main_context_iteration (NULL, FALSE);
  g_assert_cmpuint (self->credited, ==, 0);
  for (gsize got = 0; got < strlen (text); g_main_context_iteration (NULL, FALSE))
    {
      ssize_t n = read (fd, buffer, sizeof buffer);

      g_assert_cmpint (n, >, 0);
      got += (gsize)n;
      g_main_context_iteration (NULL, FALSE);
    }
  g_assert_cmpuint (self->credited, ==, strlen (text));
  close (fd);
}

/* Lines are marked alike, with their own names. */
static void
test_tags (Fixture *self, gconstpointer data)
{
  DvmdOutputFormat *format = dvmd_output_format_new ();
  int fd;

  format->tag = DVMD_OUTPUT_TAG_SHORT;
  format->merge = TRUE;
  self->leader = make (self, "dvm@1", 1, format);
  self->output = make (self, "dvm@2", 2, NULL);
  dvmd_output_follow (self->output, self->leader, TRUE);
  g_assert_true (dvmd_output_attach (self->leader, &fd, NULL, NULL));
  push (self->leader, DVMD_STREAM_STDOUT, "one\n");
  push (self->output, DVMD_STREAM_STDERR, "two\n");
  assert_reads (fd, "[1,0]<stdout>: one\n[2,0]<stderr>: two\n");
  close (fd);
}

/* Files of one name are told apart by the number of the job. */
static void
test_files (Fixture *self, gconstpointer data)
{
  DvmdOutputFormat *format = dvmd_output_format_new ();
  g_autofree char *one = g_build_filename (self->dir, "out.0.out", NULL);
  g_autofree char *two = g_build_filename (self->dir, "out.2.0.out", NULL);
  g_autofree char *text = NULL;

  format->file = g_build_filename (self->dir, "out", NULL);
  self->leader = make (self, "dvm@1", 1, format);
  self->output = make (self, "dvm@2", 2, NULL);
  dvmd_output_follow (self->output, self->leader, TRUE);
  push (self->output, DVMD_STREAM_STDOUT, "two\n");
  push (self->leader, DVMD_STREAM_STDOUT, "one\n");
  dvmd_output_end (self->output);
  dvmd_output_end (self->leader);
  g_assert_true (g_file_get_contents (two, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "two\n");
  g_assert_cmpint (g_unlink (two), ==, 0);
  g_assert_cmpint (g_unlink (one), ==, 0);
}

/* With a file of its own it is not put among the leader's. */
static void
test_own_file (Fixture *self, gconstpointer data)
{
  DvmdOutputFormat *format = dvmd_output_format_new ();
  g_autofree char *path = g_build_filename (self->dir, "own.0.out", NULL);

  format->file = g_build_filename (self->dir, "own", NULL);
  self->leader = make (self, "dvm@1", 1, NULL);
  self->output = make (self, "dvm@2", 2, format);
  dvmd_output_follow (self->output, self->leader, FALSE);
  push (self->output, DVMD_STREAM_STDOUT, "own\n");
  g_assert_cmpuint (dvmd_output_get_retained (self->leader), ==, 0);
  dvmd_output_end (self->output);
  g_assert_cmpint (g_unlink (path), ==, 0);
}

/* The leader does not hear of it any more: from then on it is kept here. */
static void
test_parted (Fixture *self, gconstpointer data)
{
  self->leader = make (self, "dvm@1", 1, NULL);
  self->output = make (self, "dvm@2", 2, NULL);
  dvmd_output_follow (self->output, self->leader, TRUE);
  dvmd_output_follow (self->output, NULL, FALSE);
  g_clear_pointer (&self->leader, dvmd_output_free);
  push (self->output, DVMD_STREAM_STDOUT, "alone\n");
  g_assert_cmpuint (dvmd_output_get_retained (self->output), ==, 6);
}

typedef struct
{
  GString *text;
  DvmdReceipt *receipt; /* (nullable): of the last piece */
} Tap;

static gboolean
on_tap (DvmdOutput *output, const DvmdOutputPiece *piece, DvmdReceipt *receipt, gpointer user_data)
{
  Tap *tap = user_data;

  if (piece->stream != DVMD_STREAM_STDERR)
    return FALSE;
  g_string_append_printf (tap->text, "%s%u:", piece->own ? "" : "follower ", piece->rank);
  g_string_append_len (tap->text, g_bytes_get_data (piece->bytes, NULL), (gssize)g_bytes_get_size (piece->bytes));
  g_clear_pointer (&tap->receipt, dvmd_receipt_unref);
  tap->receipt = dvmd_receipt_ref (receipt);
  return TRUE;
}

/* Output that the tap takes is not kept, and credited when it is done with it. */
static void
test_tap (Fixture *self, gconstpointer data)
{
  g_autoptr (GString) text = g_string_new (NULL);
  Tap tap = { text, NULL };

  self->output = make (self, "dvm@2", 2, NULL);
  dvmd_output_set_tap (self->output, on_tap, &tap);
  push (self->output, DVMD_STREAM_STDOUT, "out\n");
  push (self->output, DVMD_STREAM_STDERR, "err\n");
  g_assert_cmpuint (dvmd_output_get_retained (self->output), ==, 4);
  g_assert_cmpuint (self->credited, ==, 4);
  g_clear_pointer (&tap.receipt, dvmd_receipt_unref);
  g_assert_cmpuint (self->credited, ==, 8);
  dvmd_output_set_tap (self->output, NULL, NULL);
  push (self->output, DVMD_STREAM_STDERR, "kept\n");
  g_assert_cmpuint (dvmd_output_get_retained (self->output), ==, 9);
  g_assert_true (g_str_has_suffix (text->str, ":err\n"));
}

int
main (int argc, char **argv)
{
  signal (SIGPIPE, SIG_IGN);
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/io/follow/readers", Fixture, NULL, set_up, test_readers, tear_down);
  g_test_add ("/io/follow/credit", Fixture, NULL, set_up, test_credit, tear_down);
  g_test_add ("/io/follow/tags", Fixture, NULL, set_up, test_tags, tear_down);
  g_test_add ("/io/follow/files", Fixture, NULL, set_up, test_files, tear_down);
  g_test_add ("/io/follow/own-file", Fixture, NULL, set_up, test_own_file, tear_down);
  g_test_add ("/io/follow/tap", Fixture, NULL, set_up, test_tap, tear_down);
  g_test_add ("/io/follow/parted", Fixture, NULL, set_up, test_parted, tear_down);
  return g_test_run ();
}
