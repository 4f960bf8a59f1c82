/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <dvm.h>

#include "dvmd-pipes.h"

#define LIMIT    (60 * G_USEC_PER_SEC)
#define HEADROOM 12

typedef struct
{
  DvmdCredit *credit;
  DvmdPipes *pipes;
  GString *text[DVMD_N_STREAMS];
  guint n_eof[DVMD_N_STREAMS];
  gsize largest;
  gsize written;
  gboolean free_at_output;
  gboolean credit_at_output; /* as much as came */
} Fixture;

static void
on_output (DvmdPipes *pipes, guint rank, DvmdStream stream, char *piece, gsize size, gpointer user_data)
{
  Fixture *fixture = user_data;
  g_autofree char *owned = piece;

  g_assert_cmpuint (rank, ==, 7);
  g_assert_cmpuint (fixture->n_eof[stream], ==, 0);
  g_assert_cmpuint (size, >, 0);
  fixture->largest = MAX (fixture->largest, size);
  /* The headroom is ours. */
  memset (piece, 'x', HEADROOM);
  g_string_append_len (fixture->text[stream], piece + HEADROOM, (gssize)size);
  if (fixture->credit_at_output)
    dvmd_credit_add (fixture->credit, (gint64)size);
  if (fixture->free_at_output)
    g_clear_pointer (&fixture->pipes, dvmd_pipes_free);
}

static void
on_eof (DvmdPipes *pipes, guint rank, DvmdStream stream, gpointer user_data)
{
  ((Fixture *)user_data)->n_eof[stream]++;
}

static void
on_written (DvmdPipes *pipes, guint rank, gsize n_bytes, gpointer user_data)
{
  ((Fixture *)user_data)->written += n_bytes;
}

static const DvmdPipesFuncs funcs = {
  .headroom = HEADROOM,
  .output = on_output,
  .eof = on_eof,
  .stdin_written = on_written,
};

static void
setup (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  memset (fixture, 0, sizeof *fixture);
  fixture->credit = dvmd_credit_new (DVMD_STREAM_WINDOW);
  for (guint i = 0; i < DVMD_N_STREAMS; i++)
    fixture->text[i] = g_string_new (NULL);
  fixture->pipes = dvmd_pipes_new (NULL, 7, (DvmdPipesFlags)GPOINTER_TO_UINT (data), fixture->credit, &funcs, fixture,
                                   &error);
  g_assert_no_error (error);
}

static void
teardown (Fixture *fixture, gconstpointer data)
{
  g_clear_pointer (&fixture->pipes, dvmd_pipes_free);
  dvmd_credit_unref (fixture->credit);
  for (guint i = 0; i < DVMD_N_STREAMS; i++)
    g_string_free (fixture->text[i], TRUE);
}

static void
iterate_until (gboolean (*done) (Fixture *), Fixture *fixture)
{
  gint64 end = g_get_monotonic_time () + LIMIT;

  while (!done (fixture))
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_main_context_iteration (NULL, FALSE);
    }
}

static void
settle (void)
{
  for (guint i = 0; i < 50; i++)
    g_main_context_iteration (NULL, FALSE);
}

static gboolean
is_done (Fixture *fixture)
{
  return dvmd_pipes_is_done (fixture->pipes);
}

static gboolean
has_stdout_eof (Fixture *fixture)
{
  return fixture->n_eof[DVMD_STREAM_STDOUT] > 0;
}

/* A child has this: a copy of our end for it. */
static int
take_child_fd (Fixture *fixture, DvmdStream stream)
{
  return fcntl (dvmd_pipes_get_child_fd (fixture->pipes, stream), F_DUPFD_CLOEXEC, 3);
}

static void
write_all (int fd, const char *data, gsize size)
{
  while (size > 0)
    {
      ssize_t n = write (fd, data, size);

      g_assert_cmpint (n, >, 0);
      data += n;
      size -= (gsize)n;
    }
}

static void
test_streams (Fixture *fixture, gconstpointer data)
{
  int out = take_child_fd (fixture, DVMD_STREAM_STDOUT);
  int err = take_child_fd (fixture, DVMD_STREAM_STDERR);

  g_assert_cmpint (dvmd_pipes_get_child_fd (fixture->pipes, DVMD_STREAM_STDIN), ==, -1);
  /* Blocking for the child, whatever ours is. */
  g_assert_false (fcntl (out, F_GETFL) & O_NONBLOCK);
  dvmd_pipes_start (fixture->pipes);
  write_all (out, "hello", 5);
  write_all (err, "oops", 4);
  /* It closes stdout early and lives on. */
  close (out);
  iterate_until (has_stdout_eof, fixture);
  g_assert_false (dvmd_pipes_is_done (fixture->pipes));
  write_all (err, "!", 1);
  close (err);
  iterate_until (is_done, fixture);
  g_assert_cmpstr (fixture->text[1]->str, ==, "hello");
  g_assert_cmpstr (fixture->text[2]->str, ==, "oops!");
  g_assert_cmpuint (fixture->n_eof[1], ==, 1);
  g_assert_cmpuint (fixture->n_eof[2], ==, 1);
  g_assert_cmpint (dvmd_credit_get (fixture->credit), ==, DVMD_STREAM_WINDOW - 10);
}

/* A reader that gives credit as soon as it gets something need not do so again: nothing is left waiting. */
static void
test_credit_at_once (Fixture *fixture, gconstpointer data)
{
  const gint64 credit = 7;
  int out = take_child_fd (fixture, DVMD_STREAM_STDOUT);

  dvmd_credit_add (fixture->credit, credit - DVMD_STREAM_WINDOW);
  fixture->credit_at_output = TRUE;
  write_all (out, "0123456789012345678901234567890123456789", 40);
  close (out);
  dvmd_pipes_start (fixture->pipes);
  iterate_until (has_stdout_eof, fixture);
  g_assert_cmpstr (fixture->text[1]->str, ==, "0123456789012345678901234567890123456789");
  g_assert_cmpuint (fixture->largest, ==, (guint)credit);
  g_assert_cmpint (dvmd_credit_get (fixture->credit), ==, credit);
}

static gpointer
write_much (gpointer data)
{
  int fd = GPOINTER_TO_INT (data);
  g_autofree char *block = g_strnfill (100000, 'x');

  for (guint i = 0; i < 30; i++)
    write_all (fd, block, 100000);
  close (fd);
  return NULL;
}

static void
test_credit (Fixture *fixture, gconstpointer data)
{
  int out = take_child_fd (fixture, DVMD_STREAM_STDOUT);
  GThread *thread;

  dvmd_pipes_start (fixture->pipes);
  thread = g_thread_new ("writer", write_much, GINT_TO_POINTER (out));
  while (dvmd_credit_get (fixture->credit) > 0)
    g_main_context_iteration (NULL, FALSE);
  settle ();
  /* Nothing is read beyond the credit, and the loop sleeps. */
  g_assert_cmpuint (fixture->text[1]->len, ==, DVMD_STREAM_WINDOW);
  g_assert_cmpint (dvmd_credit_get (fixture->credit), ==, 0);
  g_assert_false (g_main_context_pending (NULL));
  dvmd_credit_add (fixture->credit, 1);
  settle ();
  g_assert_cmpuint (fixture->text[1]->len, ==, DVMD_STREAM_WINDOW + 1);
  dvmd_credit_add (fixture->credit, G_MAXINT64);
  iterate_until (has_stdout_eof, fixture);
  g_thread_join (thread);
  g_assert_cmpuint (fixture->text[1]->len, ==, 3000000);
  g_assert_cmpuint (fixture->largest, <=, DVMD_STREAM_CHUNK);
  iterate_until (is_done, fixture);
  g_assert_cmpint (dvmd_credit_get (fixture->credit), ==, G_MAXINT64);
}

/* Somebody keeps the pipe open after the rank's end. */
static void
test_drain (Fixture *fixture, gconstpointer data)
{
  int out = take_child_fd (fixture, DVMD_STREAM_STDOUT);
  int err = take_child_fd (fixture, DVMD_STREAM_STDERR);

  write_all (out, "last words", 10);
  dvmd_pipes_drain (fixture->pipes);
  g_assert_cmpuint (fixture->n_eof[1], ==, 0);
  iterate_until (is_done, fixture);
  g_assert_cmpstr (fixture->text[1]->str, ==, "last words");
  close (out);
  close (err);
}

static void
test_drain_without_credit (Fixture *fixture, gconstpointer data)
{
  int out = take_child_fd (fixture, DVMD_STREAM_STDOUT);

  dvmd_credit_add (fixture->credit, -DVMD_STREAM_WINDOW);
  dvmd_pipes_start (fixture->pipes);
  write_all (out, "last words", 10);
  settle ();
  dvmd_pipes_drain (fixture->pipes);
  settle ();
  g_assert_cmpuint (fixture->n_eof[1], ==, 0);
  g_assert_cmpuint (fixture->text[1]->len, ==, 0);
  dvmd_credit_add (fixture->credit, 4);
  settle ();
  g_assert_cmpstr (fixture->text[1]->str, ==, "last");
  dvmd_credit_add (fixture->credit, 1000);
  iterate_until (is_done, fixture);
  g_assert_cmpstr (fixture->text[1]->str, ==, "last words");
  close (out);
}

/* ... and writes for ever. */
static gpointer
write_for_ever (gpointer data)
{
  int fd = GPOINTER_TO_INT (data);

  while (write (fd, "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy", 32) > 0)
    ;
  close (fd);
  return NULL;
}

static void
test_drain_endless (Fixture *fixture, gconstpointer data)
{
  int out = take_child_fd (fixture, DVMD_STREAM_STDOUT);
  GThread *thread = g_thread_new ("writer", write_for_ever, GINT_TO_POINTER (out));

  dvmd_credit_add (fixture->credit, G_MAXINT64);
  dvmd_pipes_drain (fixture->pipes);
  iterate_until (is_done, fixture);
  g_assert_cmpuint (fixture->text[1]->len, <=, 65536);
  g_thread_join (thread);
}

static void
test_stdin (Fixture *fixture, gconstpointer data)
{
  int in = take_child_fd (fixture, DVMD_STREAM_STDIN);
  g_autofree char *block = g_strnfill (DVMD_STREAM_WINDOW, 'i');
  g_autoptr (GBytes) bytes = g_bytes_new (block, DVMD_STREAM_WINDOW);
  g_autoptr (GBytes) one = g_bytes_new ("1", 1);
  gsize n_read = 0;
  char buffer[10000];

  g_assert_true (dvmd_pipes_write_stdin (fixture->pipes, bytes));
  /* The window is full. */
  g_assert_false (dvmd_pipes_write_stdin (fixture->pipes, one));
  dvmd_pipes_start (fixture->pipes);
  settle ();
  g_assert_cmpuint (fixture->written, >, 0);
  g_assert_cmpuint (fixture->written, <, DVMD_STREAM_WINDOW);
  g_assert_true (dvmd_pipes_write_stdin (fixture->pipes, one));
  dvmd_pipes_close_stdin (fixture->pipes);
  while (n_read <= DVMD_STREAM_WINDOW)
    {
      ssize_t n = read (in, buffer, sizeof buffer);

      g_assert_cmpint (n, >, 0);
      n_read += (gsize)n;
      settle ();
    }
  g_assert_cmpint (buffer[0] != 0, ==, TRUE);
  g_assert_cmpint (read (in, buffer, sizeof buffer), ==, 0);
  g_assert_cmpuint (fixture->written, ==, DVMD_STREAM_WINDOW + 1);
  close (in);
}

static void
test_stdin_nobody (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GBytes) bytes = g_bytes_new ("12345", 5);

  dvmd_pipes_start (fixture->pipes);
  for (guint i = 0; i < 1000; i++)
    {
      g_assert_true (dvmd_pipes_write_stdin (fixture->pipes, bytes));
      settle ();
    }
  g_assert_cmpuint (fixture->written, ==, 5000);
  dvmd_pipes_close_stdin (fixture->pipes);
  settle ();
}

static void
test_pty (Fixture *fixture, gconstpointer data)
{
  int slave = take_child_fd (fixture, DVMD_STREAM_STDIN);
  g_autoptr (GBytes) line = g_bytes_new ("line\n", 5);
  g_autoptr (GBytes) begun = g_bytes_new ("begun", 5);
  struct winsize size;
  struct termios termios;
  char buffer[64];

  g_assert_true (dvmd_pipes_is_pty (fixture->pipes));
  g_assert_true (isatty (slave));
  g_assert_true (dvmd_pipes_set_window_size (fixture->pipes, 31, 97));
  g_assert_cmpint (ioctl (slave, TIOCGWINSZ, &size), ==, 0);
  g_assert_cmpuint (size.ws_row, ==, 31);
  g_assert_cmpuint (size.ws_col, ==, 97);
  tcgetattr (slave, &termios);
  termios.c_lflag &= (tcflag_t)~ECHO;
  tcsetattr (slave, TCSANOW, &termios);
  dvmd_pipes_start (fixture->pipes);
  g_assert_true (dvmd_pipes_write_stdin (fixture->pipes, line));
  g_assert_true (dvmd_pipes_write_stdin (fixture->pipes, begun));
  dvmd_pipes_close_stdin (fixture->pipes);
  settle ();
  g_assert_cmpint (read (slave, buffer, sizeof buffer), ==, 5);
  g_assert_cmpint (memcmp (buffer, "line\n", 5), ==, 0);
  g_assert_cmpint (read (slave, buffer, sizeof buffer), ==, 5);
  g_assert_cmpint (memcmp (buffer, "begun", 5), ==, 0);
  g_assert_cmpint (read (slave, buffer, sizeof buffer), ==, 0);
  write_all (slave, "out\n", 4);
  close (slave);
  iterate_until (is_done, fixture);
  g_assert_cmpstr (fixture->text[1]->str, ==, "out\r\n");
  g_assert_cmpuint (fixture->n_eof[1], ==, 1);
  g_assert_cmpuint (fixture->n_eof[2], ==, 0);
}

static void
test_free_in_callback (Fixture *fixture, gconstpointer data)
{
  int out = take_child_fd (fixture, DVMD_STREAM_STDOUT);

  fixture->free_at_output = TRUE;
  dvmd_pipes_start (fixture->pipes);
  write_all (out, "x", 1);
  close (out);
  while (fixture->pipes != NULL)
    g_main_context_iteration (NULL, FALSE);
  settle ();
  g_assert_cmpuint (fixture->n_eof[1], ==, 0);
}

typedef struct
{
  int fd;
  GString *text;
  GRand *rand;
} RandomWriter;

static gpointer
write_random (gpointer data)
{
  RandomWriter *writer = data;
  gsize at = 0;

  while (at < writer->text->len)
    {
      gsize cut = (gsize)g_rand_int_range (writer->rand, 1, 90000);
      gsize n = MIN (cut, writer->text->len - at);

      write_all (writer->fd, writer->text->str + at, n);
      at += n;
    }
  close (writer->fd);
  return NULL;
}

/* Any sizes of writes, any credits: the same bytes in the same order, and never more than the credit. */
static void
test_random_sizes (Fixture *fixture, gconstpointer data)
{
  RandomWriter writer = { .fd = take_child_fd (fixture, DVMD_STREAM_STDOUT) };
  gint64 end = g_get_monotonic_time () + LIMIT;
  gsize allowed = DVMD_STREAM_WINDOW;
  GThread *thread;

  writer.text = g_string_new (NULL);
  writer.rand = g_rand_new_with_seed ((guint32)g_test_rand_int ());
  for (guint i = 0; i < 2000000; i++)
    g_string_append_c (writer.text, (char)g_test_rand_int_range (0, 256));
  dvmd_pipes_start (fixture->pipes);
  thread = g_thread_new ("writer", write_random, &writer);
  while (fixture->n_eof[DVMD_STREAM_STDOUT] == 0)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_main_context_iteration (NULL, FALSE);
      g_assert_cmpuint (fixture->text[1]->len, <=, allowed);
      if (dvmd_credit_get (fixture->credit) == 0)
        {
          gint64 more = g_test_rand_int_range (1, 100000);

          allowed += (gsize)more;
          dvmd_credit_add (fixture->credit, more);
        }
    }
  g_thread_join (thread);
  g_assert_cmpmem (fixture->text[1]->str, fixture->text[1]->len, writer.text->str, writer.text->len);
  g_string_free (writer.text, TRUE);
  g_rand_free (writer.rand);
}

static void
test_not_pty (Fixture *fixture, gconstpointer data)
{
  g_assert_false (dvmd_pipes_is_pty (fixture->pipes));
  g_assert_false (dvmd_pipes_set_window_size (fixture->pipes, 1, 1));
}

static void
add (const char *path, DvmdPipesFlags flags, void (*func) (Fixture *, gconstpointer))
{
  g_test_add (path, Fixture, GUINT_TO_POINTER (flags), setup, func, teardown);
}

int
main (int argc, char **argv)
{
  signal (SIGPIPE, SIG_IGN);
  g_test_init (&argc, &argv, NULL);
  add ("/io/pipes/streams", DVMD_PIPES_NONE, test_streams);
  add ("/io/pipes/credit", DVMD_PIPES_NONE, test_credit);
  add ("/io/pipes/credit-at-once", DVMD_PIPES_NONE, test_credit_at_once);
  add ("/io/pipes/drain", DVMD_PIPES_NONE, test_drain);
  add ("/io/pipes/drain-without-credit", DVMD_PIPES_NONE, test_drain_without_credit);
  add ("/io/pipes/drain-endless", DVMD_PIPES_NONE, test_drain_endless);
  add ("/io/pipes/stdin", DVMD_PIPES_STDIN, test_stdin);
  add ("/io/pipes/stdin-nobody", DVMD_PIPES_STDIN, test_stdin_nobody);
  add ("/io/pipes/pty", DVMD_PIPES_PTY, test_pty);
  add ("/io/pipes/free-in-callback", DVMD_PIPES_NONE, test_free_in_callback);
  add ("/io/pipes/random-sizes", DVMD_PIPES_NONE, test_random_sizes);
  add ("/io/pipes/not-pty", DVMD_PIPES_NONE, test_not_pty);
  return g_test_run ();
}
