/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib-unix.h>
#include <glib/gstdio.h>

#include <dvm.h>

#include "dvm-job-spec-private.h"
#include "dvmd-output.h"

#define LIMIT (60 * G_USEC_PER_SEC)

typedef struct
{
  DvmdClock *clock;
  DvmdOutput *output;
  gsize credited;
  gsize credited_rank_1;
  guint n_delivered;
  guint n_failed;
  char *message;
  char *dir;
} Fixture;

static void
on_credited (DvmdOutput *output, guint rank, gsize n_bytes, gpointer user_data)
{
  Fixture *fixture = user_data;

  fixture->credited += n_bytes;
  if (rank == 1)
    fixture->credited_rank_1 += n_bytes;
}

static void
on_delivered (DvmdOutput *output, gpointer user_data)
{
  ((Fixture *)user_data)->n_delivered++;
}

static void
on_describe (DvmdOutput *output, guint rank, const char **host, gint64 *pid, gpointer user_data)
{
  *host = "node1";
  *pid = 1000 + rank;
}

static void
on_failed (DvmdOutput *output, const char *message, gpointer user_data)
{
  Fixture *fixture = user_data;

  fixture->n_failed++;
  g_free (fixture->message);
  fixture->message = g_strdup (message);
}

static const DvmdOutputFuncs funcs = {
  .credited = on_credited, .delivered = on_delivered, .describe = on_describe, .failed = on_failed
};

static void
make_output (Fixture *fixture, const char *format_text)
{
  g_autoptr (GError) error = NULL;
  DvmdOutputFormat *format = dvmd_output_format_new ();
  DvmOutputOptions options;

  _dvm_output_parse (format_text, "", &options, &error);
  g_assert_no_error (error);
  *format = (DvmdOutputFormat){ (DvmdOutputTag)options.tag,
                                options.timestamp,
                                options.xml,
                                options.merge,
                                options.copy,
                                options.raw,
                                options.pattern,
                                options.dir,
                                options.file };
  g_clear_pointer (&fixture->output, dvmd_output_free);
  fixture->output = dvmd_output_new (NULL, fixture->clock, "dvm-1@5", 5, 12, format, &funcs, fixture);
}

static void
setup (Fixture *fixture, gconstpointer data)
{
  memset (fixture, 0, sizeof *fixture);
  fixture->clock = dvmd_clock_new_manual (G_GINT64_CONSTANT (1600000000123456));
  fixture->dir = g_dir_make_tmp ("dvm-output-XXXXXX", NULL);
  make_output (fixture, data);
}

static void
remove_tree (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);

      remove_tree (child);
    }
  g_remove (path);
}

static void
teardown (Fixture *fixture, gconstpointer data)
{
  g_clear_pointer (&fixture->output, dvmd_output_free);
  dvmd_clock_unref (fixture->clock);
  remove_tree (fixture->dir);
  g_free (fixture->dir);
  g_free (fixture->message);
}

static void
settle (void)
{
  for (guint i = 0; i < 100; i++)
    g_main_context_iteration (NULL, FALSE);
}

static void
push_bytes (Fixture *fixture, guint rank, DvmdStream stream, const char *data, gsize size)
{
  g_autoptr (GBytes) bytes = g_bytes_new (data, size);

  dvmd_output_push (fixture->output, rank, stream, bytes);
}

static void
push (Fixture *fixture, guint rank, DvmdStream stream, const char *text)
{
  push_bytes (fixture, rank, stream, text, strlen (text));
}

/* Everything that is in the pipe now; eof (nullable) is set at its end. */
static char *
read_now (int fd, gboolean *eof)
{
  GString *text = g_string_new (NULL);
  char buffer[65536];
  ssize_t n;

  fcntl (fd, F_SETFL, fcntl (fd, F_GETFL) | O_NONBLOCK);
  while ((n = read (fd, buffer, sizeof buffer)) > 0)
    g_string_append_len (text, buffer, n);
  if (eof != NULL)
    *eof = n == 0;
  return g_string_free (text, FALSE);
}

static void
assert_reads (int fd, const char *expected, gboolean expected_eof)
{
  gboolean eof = FALSE;
  g_autofree char *text = read_now (fd, &eof);
  gsize at = 0;

  while (text[at] != '\0' && text[at] == expected[at])
    at++;
  if (text[at] != expected[at])
    g_error ("at %zu: '%.80s', expected '%.80s'", at, text + at, expected + at);
  g_assert_cmpint (eof, ==, expected_eof);
}

static void
assert_file (const char *path, const char *expected)
{
  g_autofree char *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, expected);
}

static void
assert_kept (Fixture *fixture, const char *expected)
{
  int out;

  g_assert_true (dvmd_output_attach (fixture->output, &out, NULL, NULL));
  settle ();
  assert_reads (out, expected, TRUE);
  close (out);
}

static void
test_attached (Fixture *fixture, gconstpointer data)
{
  int out;
  int err;

  g_assert_true (dvmd_output_attach (fixture->output, &out, &err, NULL));
  g_assert_cmpuint (dvmd_output_get_n_readers (fixture->output, DVMD_STREAM_STDOUT), ==, 1);
  push (fixture, 0, DVMD_STREAM_STDOUT, "hello\n");
  push (fixture, 1, DVMD_STREAM_STDERR, "oops");
  push (fixture, 1, DVMD_STREAM_STDOUT, "no newline");
  g_assert_cmpuint (fixture->credited, ==, 0);
  settle ();
  g_assert_cmpuint (fixture->credited, ==, 20);
  g_assert_cmpuint (fixture->credited_rank_1, ==, 14);
  assert_reads (out, "hello\nno newline", FALSE);
  assert_reads (err, "oops", FALSE);
  dvmd_output_push_eof (fixture->output, 0, DVMD_STREAM_STDOUT);
  push (fixture, 1, DVMD_STREAM_STDOUT, "last");
  g_assert_true (dvmd_output_end (fixture->output));
  g_assert_cmpuint (fixture->n_delivered, ==, 0);
  assert_reads (out, "last", TRUE);
  assert_reads (err, "", TRUE);
  close (out);
  close (err);
}

/* Lines that the rank has not written are whole, where its own would be, and no credit of the rank's. */
static void
test_inserted (Fixture *fixture, gconstpointer data)
{
  int out;
  int err;

  g_assert_true (dvmd_output_attach (fixture->output, &out, &err, NULL));
  push (fixture, 1, DVMD_STREAM_STDOUT, "mine\n");
  dvmd_output_insert (fixture->output, 1, DVMD_STREAM_STDOUT, "two\nlines");
  dvmd_output_insert (fixture->output, 1, DVMD_STREAM_STDERR, "one\n");
  dvmd_output_insert (fixture->output, 1, DVMD_STREAM_STDERR, "");
  settle ();
  g_assert_cmpuint (fixture->credited, ==, 5);
  assert_reads (out, "mine\ntwo\nlines\n", FALSE);
  assert_reads (err, "one\n", FALSE);
  g_assert_true (dvmd_output_end (fixture->output));
  dvmd_output_insert (fixture->output, 1, DVMD_STREAM_STDOUT, "late\n");
  assert_reads (out, "", TRUE);
  assert_reads (err, "", TRUE);
  close (out);
  close (err);
}

static void
test_nobody (Fixture *fixture, gconstpointer data)
{
  int out;
  int err;

  push (fixture, 0, DVMD_STREAM_STDOUT, "one\n");
  push (fixture, 0, DVMD_STREAM_STDERR, "two\n");
  push (fixture, 1, DVMD_STREAM_STDOUT, "three\n");
  /* Kept, so off our hands at once. */
  g_assert_cmpuint (fixture->credited, ==, 14);
  g_assert_cmpuint (dvmd_output_get_retained (fixture->output), ==, 14);
  g_assert_true (dvmd_output_attach (fixture->output, &out, NULL, NULL));
  g_assert_cmpuint (dvmd_output_get_retained (fixture->output), ==, 4);
  push (fixture, 1, DVMD_STREAM_STDOUT, "four\n");
  settle ();
  assert_reads (out, "one\nthree\nfour\n", FALSE);
  g_assert_true (dvmd_output_end (fixture->output));
  assert_reads (out, "", TRUE);
  close (out);
  /* After the end: what is kept, and end-of-file; the next one gets nothing. */
  g_assert_true (dvmd_output_attach (fixture->output, &out, &err, NULL));
  settle ();
  assert_reads (out, "", TRUE);
  assert_reads (err, "two\n", TRUE);
  close (out);
  close (err);
  g_assert_true (dvmd_output_attach (fixture->output, NULL, &err, NULL));
  settle ();
  assert_reads (err, "", TRUE);
  close (err);
  g_assert_cmpuint (fixture->n_delivered, ==, 0);
}

static void
test_kept_limit (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GString) all = g_string_new (NULL);
  g_autofree char *text = NULL;
  gsize n = 0;
  char *kept;
  gsize got = 0;
  int out;

  while (all->len < 3 * DVMD_OUTPUT_KEEP)
    {
      g_autofree char *line = g_strdup_printf ("line %zu %.*s\n", n++, g_test_rand_int_range (0, 50),
                                               "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");

      g_string_append (all, line);
      push (fixture, 0, DVMD_STREAM_STDOUT, line);
    }
  g_assert_cmpuint (dvmd_output_get_retained (fixture->output), ==, DVMD_OUTPUT_KEEP);
  g_assert_cmpuint (fixture->credited, ==, all->len);
  g_assert_true (dvmd_output_attach (fixture->output, &out, NULL, NULL));
  g_assert_cmpuint (dvmd_output_get_retained (fixture->output), ==, 0);
  kept = g_malloc (DVMD_OUTPUT_KEEP + 1);
  while (got < DVMD_OUTPUT_KEEP)
    {
      ssize_t r;

      g_main_context_iteration (NULL, FALSE);
      fcntl (out, F_SETFL, O_NONBLOCK);
      r = read (out, kept + got, DVMD_OUTPUT_KEEP + 1 - got);
      if (r > 0)
        got += (gsize)r;
    }
  g_assert_cmpint (memcmp (kept, all->str + all->len - DVMD_OUTPUT_KEEP, DVMD_OUTPUT_KEEP), ==, 0);
  g_free (kept);
  close (out);
}

static void
test_kept_tiny_pieces (Fixture *fixture, gconstpointer data)
{
  /* Streams that alternate byte by byte must not cost a hundred times what they hold. */
  for (guint i = 0; i < 200000; i++)
    push (fixture, 0, i % 2 == 0 ? DVMD_STREAM_STDOUT : DVMD_STREAM_STDERR, "x");
  g_assert_cmpuint (dvmd_output_get_retained (fixture->output), <=, 20000);
  g_assert_cmpuint (dvmd_output_get_retained (fixture->output), >, 1000);
  dvmd_output_drop_retained (fixture->output);
  g_assert_cmpuint (dvmd_output_get_retained (fixture->output), ==, 0);
}

/* A reader that never reads holds up the credit, and the loop sleeps. */
static void
test_never_reads (Fixture *fixture, gconstpointer data)
{
  g_autofree char *block = g_strnfill (65536, 'b');
  gsize pushed = 0;
  gboolean eof = FALSE;
  gsize got = 0;
  int out;

  g_assert_true (dvmd_output_attach (fixture->output, &out, NULL, NULL));
  while (pushed - fixture->credited < DVMD_STREAM_WINDOW)
    {
      push_bytes (fixture, 0, DVMD_STREAM_STDOUT, block, 65536);
      pushed += 65536;
      settle ();
    }
  g_assert_cmpuint (pushed, <, 2 * 1024 * 1024);
  g_assert_false (g_main_context_pending (NULL));
  g_assert_false (dvmd_output_end (fixture->output));
  settle ();
  g_assert_cmpuint (fixture->n_delivered, ==, 0);
  while (!eof)
    {
      g_autofree char *text = read_now (out, &eof);

      got += strlen (text);
      settle ();
    }
  g_assert_cmpuint (got, ==, pushed);
  g_assert_cmpuint (fixture->credited, ==, pushed);
  g_assert_cmpuint (fixture->n_delivered, ==, 1);
  g_assert_true (dvmd_output_is_delivered (fixture->output));
  close (out);
}

/* A pipe of `size' bytes (0: as it is made) can hold so much when its reader has not kept up. */
static int
fill_pipe (Fixture *fixture, int size)
{
  g_autofree char *block = g_strnfill (65536, 'b');
  int fds[2];
  int room;

  g_assert_cmpint (pipe2 (fds, O_CLOEXEC), ==, 0);
  if (size > 0)
    g_assert_cmpint (fcntl (fds[0], F_SETPIPE_SZ, size), ==, size);
  make_output (fixture, NULL);
  g_assert_true (dvmd_output_add_fd (fixture->output, DVMD_STREAM_STDOUT, fds[1], NULL));
  push_bytes (fixture, 0, DVMD_STREAM_STDOUT, "b", 1);
  settle ();
  /* Not before it is full. */
  g_assert_cmpint (fcntl (fds[0], F_GETPIPE_SZ), ==, size > 0 ? size : 65536);
  for (guint i = 0; i < 4; i++)
    push_bytes (fixture, 0, DVMD_STREAM_STDOUT, block, 65536);
  settle ();
  room = fcntl (fds[0], F_GETPIPE_SZ);
  g_clear_pointer (&fixture->output, dvmd_output_free);
  close (fds[0]);
  return room;
}

static void
test_wide (Fixture *fixture, gconstpointer data)
{
  g_assert_cmpint (fill_pipe (fixture, 0), ==, 256 * 1024);
  g_assert_cmpint (fill_pipe (fixture, 1024 * 1024), ==, 1024 * 1024);
  /* The owner of a pipe that was made small wants it so. */
  g_assert_cmpint (fill_pipe (fixture, 4096), ==, 4096);
}

static void
test_vanishes (Fixture *fixture, gconstpointer data)
{
  g_autofree char *block = g_strnfill (65536, 'b');
  gsize pushed = 0;
  int out;
  int other;

  g_assert_true (dvmd_output_attach (fixture->output, &out, NULL, NULL));
  for (guint i = 0; i < 20; i++, pushed += 65536)
    push_bytes (fixture, 0, DVMD_STREAM_STDOUT, block, 65536);
  settle ();
  g_assert_cmpuint (fixture->credited, <, pushed);
  close (out);
  settle ();
  g_assert_cmpuint (fixture->credited, ==, pushed);
  g_assert_cmpuint (dvmd_output_get_n_readers (fixture->output, DVMD_STREAM_STDOUT), ==, 0);
  /* Drained again, and kept for the next. */
  push (fixture, 0, DVMD_STREAM_STDOUT, "later\n");
  g_assert_true (dvmd_output_attach (fixture->output, &other, NULL, NULL));
  settle ();
  assert_reads (other, "later\n", FALSE);
  /* One that leaves while nothing is written is noticed too. */
  close (other);
  settle ();
  g_assert_cmpuint (dvmd_output_get_n_readers (fixture->output, DVMD_STREAM_STDOUT), ==, 0);
  g_assert_cmpuint (fixture->n_failed, ==, 0);
}

static void
test_vanishes_after_end (Fixture *fixture, gconstpointer data)
{
  g_autofree char *block = g_strnfill (65536, 'b');
  int out;

  g_assert_true (dvmd_output_attach (fixture->output, &out, NULL, NULL));
  for (guint i = 0; i < 20; i++)
    push_bytes (fixture, 0, DVMD_STREAM_STDOUT, block, 65536);
  g_assert_false (dvmd_output_end (fixture->output));
  close (out);
  settle ();
  g_assert_cmpuint (fixture->n_delivered, ==, 1);
}

static void
test_two_readers (Fixture *fixture, gconstpointer data)
{
  int first;
  int second;

  g_assert_true (dvmd_output_attach (fixture->output, &first, NULL, NULL));
  push (fixture, 0, DVMD_STREAM_STDOUT, "a");
  g_assert_true (dvmd_output_attach (fixture->output, &second, NULL, NULL));
  push (fixture, 0, DVMD_STREAM_STDOUT, "b");
  settle ();
  assert_reads (first, "ab", FALSE);
  assert_reads (second, "b", FALSE);
  g_assert_cmpuint (fixture->credited, ==, 2);
  close (first);
  close (second);
}

static void
test_given_pipe (Fixture *fixture, gconstpointer data)
{
  g_autofree char *block = g_strnfill (65536, 'b');
  gsize got = 0;
  gboolean eof = FALSE;
  int fds[2];
  int ours;

  g_assert_true (g_unix_open_pipe (fds, FD_CLOEXEC, NULL));
  ours = fcntl (fds[1], F_DUPFD_CLOEXEC, 3);
  g_assert_true (dvmd_output_add_fd (fixture->output, DVMD_STREAM_STDOUT, fds[1], NULL));
  for (guint i = 0; i < 10; i++)
    push_bytes (fixture, 0, DVMD_STREAM_STDOUT, block, 65536);
  settle ();
  /* The client's description still blocks. */
  g_assert_false (fcntl (ours, F_GETFL) & O_NONBLOCK);
  g_assert_cmpuint (fixture->credited, <, 655360);
  g_assert_false (dvmd_output_end (fixture->output));
  close (ours);
  while (!eof)
    {
      g_autofree char *text = read_now (fds[0], &eof);

      got += strlen (text);
      settle ();
    }
  g_assert_cmpuint (got, ==, 655360);
  g_assert_cmpuint (fixture->n_delivered, ==, 1);
  close (fds[0]);
}

static void
test_given_socket (Fixture *fixture, gconstpointer data)
{
  g_autofree char *block = g_strnfill (65536, 'b');
  gboolean eof = FALSE;
  gsize got = 0;
  int fds[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
  g_assert_true (dvmd_output_add_fd (fixture->output, DVMD_STREAM_STDOUT, fds[1], NULL));
  for (guint i = 0; i < 30; i++)
    push_bytes (fixture, 0, DVMD_STREAM_STDOUT, block, 65536);
  g_assert_false (dvmd_output_end (fixture->output));
  while (!eof)
    {
      g_autofree char *text = read_now (fds[0], &eof);

      got += strlen (text);
      settle ();
    }
  g_assert_cmpuint (got, ==, 30 * 65536);
  g_assert_cmpuint (fixture->n_delivered, ==, 1);
  close (fds[0]);
}

static void
test_given_tty (Fixture *fixture, gconstpointer data)
{
  int master;
  int slave;
  int ours;

  g_assert_cmpint (openpty (&master, &slave, NULL, NULL, NULL), ==, 0);
  ours = fcntl (slave, F_DUPFD_CLOEXEC, 3);
  g_assert_true (dvmd_output_add_fd (fixture->output, DVMD_STREAM_STDOUT, slave, NULL));
  push (fixture, 0, DVMD_STREAM_STDOUT, "to the terminal\n");
  settle ();
  g_assert_false (fcntl (ours, F_GETFL) & O_NONBLOCK);
  assert_reads (master, "to the terminal\r\n", FALSE);
  close (ours);
  close (master);
}

static void
test_given_file (Fixture *fixture, gconstpointer data)
{
  g_autofree char *path = g_build_filename (fixture->dir, "out", NULL);
  g_autoptr (GError) error = NULL;
  int fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  int second = fcntl (fd, F_DUPFD_CLOEXEC, 3);
  int read_only = open (path, O_RDONLY | O_CLOEXEC);

  /* The client goes on writing behind us: one offset. */
  g_assert_cmpint (write (second, "before\n", 7), ==, 7);
  g_assert_true (dvmd_output_add_fd (fixture->output, DVMD_STREAM_STDOUT, fd, NULL));
  push (fixture, 0, DVMD_STREAM_STDOUT, "job\n");
  g_assert_true (dvmd_output_end (fixture->output));
  g_assert_cmpint (write (second, "after\n", 6), ==, 6);
  close (second);
  assert_file (path, "before\njob\nafter\n");
  g_assert_false (dvmd_output_add_fd (fixture->output, DVMD_STREAM_STDOUT, read_only, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
}

static void
test_paths (Fixture *fixture, gconstpointer data)
{
  g_autofree char *path = g_build_filename (fixture->dir, "out", NULL);
  g_autofree char *missing = g_build_filename (fixture->dir, "no/such/out", NULL);
  g_autoptr (GError) error = NULL;

  g_file_set_contents (path, "old contents", -1, NULL);
  g_assert_true (dvmd_output_add_path (fixture->output, DVMD_STREAM_STDOUT, path, NULL));
  g_assert_true (dvmd_output_add_path (fixture->output, DVMD_STREAM_STDERR, path, NULL));
  dvmd_output_begin (fixture->output);
  push (fixture, 0, DVMD_STREAM_STDOUT, "a\n");
  push (fixture, 0, DVMD_STREAM_STDERR, "b\n");
  push (fixture, 0, DVMD_STREAM_STDOUT, "c\n");
  g_assert_true (dvmd_output_end (fixture->output));
  assert_file (path, "a\nb\nc\n");
  g_assert_false (dvmd_output_add_path (fixture->output, DVMD_STREAM_STDOUT, missing, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_nonnull (strstr (error->message, "No such file or directory"));
}

static void
test_disk_full (Fixture *fixture, gconstpointer data)
{
  g_assert_true (dvmd_output_add_path (fixture->output, DVMD_STREAM_STDOUT, "/dev/full", NULL));
  push (fixture, 0, DVMD_STREAM_STDOUT, "a\n");
  settle ();
  g_assert_cmpuint (fixture->n_failed, ==, 1);
  g_assert_nonnull (strstr (fixture->message, "/dev/full: No space left on device"));
  g_assert_cmpuint (fixture->credited, ==, 2);
  push (fixture, 0, DVMD_STREAM_STDOUT, "b\n");
  g_assert_true (dvmd_output_end (fixture->output));
  /* Output that could not be written was kept. */
  assert_kept (fixture, "a\nb\n");
}

/* The reader that is there gets what the file does not take, from the very byte on. */
static void
test_file_limit (Fixture *fixture, gconstpointer data)
{
  g_autofree char *format = g_strdup_printf ("file=%s/f", fixture->dir);
  g_autofree char *path = g_build_filename (fixture->dir, "f.0.out", NULL);
  g_autofree char *block = g_strnfill (6000, 'b');
  g_autofree char *rest = g_strnfill (4000, 'b');
  struct rlimit saved;
  struct rlimit limit;
  GStatBuf about;
  int out;

  signal (SIGXFSZ, SIG_IGN);
  g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &saved), ==, 0);
  limit = (struct rlimit){ 8000, saved.rlim_max };
  make_output (fixture, format);
  g_assert_true (dvmd_output_attach (fixture->output, &out, NULL, NULL));
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
  push_bytes (fixture, 0, DVMD_STREAM_STDOUT, block, 6000);
  push_bytes (fixture, 0, DVMD_STREAM_STDOUT, block, 6000);
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &saved), ==, 0);
  g_assert_cmpuint (fixture->n_failed, ==, 1);
  g_assert_nonnull (strstr (fixture->message, "f.0.out': File too large"));
  g_assert_cmpint (g_stat (path, &about), ==, 0);
  g_assert_cmpint (about.st_size, ==, 8000);
  settle ();
  assert_reads (out, rest, FALSE);
  g_assert_true (dvmd_output_end (fixture->output));
  g_assert_cmpuint (fixture->credited, ==, 12000);
  close (out);
}

static void
test_file_removed (Fixture *fixture, gconstpointer data)
{
  g_autofree char *format = g_strdup_printf ("dir=%s/d", fixture->dir);
  g_autofree char *dir = g_build_filename (fixture->dir, "d", NULL);
  int out;

  make_output (fixture, format);
  g_assert_true (dvmd_output_attach (fixture->output, &out, NULL, NULL));
  push (fixture, 0, DVMD_STREAM_STDOUT, "a\n");
  remove_tree (dir);
  push (fixture, 0, DVMD_STREAM_STDOUT, "b\n");
  g_assert_cmpuint (fixture->n_failed, ==, 1);
  g_assert_nonnull (strstr (fixture->message, "rank.0/stdout': the file has been removed"));
  push (fixture, 0, DVMD_STREAM_STDOUT, "c\n");
  settle ();
  assert_reads (out, "b\nc\n", FALSE);
  g_assert_true (dvmd_output_end (fixture->output));
  g_assert_cmpuint (fixture->n_failed, ==, 1);
  close (out);
}

/* More files than are open at a time: one that was closed meanwhile is not made anew without what it had. */
static void
test_closed_file_removed (Fixture *fixture, gconstpointer data)
{
  g_autofree char *format = g_strdup_printf ("file=%s/f", fixture->dir);
  g_autofree char *path = g_build_filename (fixture->dir, "f.0.out", NULL);

  make_output (fixture, format);
  for (guint rank = 0; rank < 100; rank++)
    push (fixture, rank, DVMD_STREAM_STDOUT, "a\n");
  g_assert_cmpint (g_remove (path), ==, 0);
  push (fixture, 0, DVMD_STREAM_STDOUT, "b\n");
  g_assert_cmpuint (fixture->n_failed, ==, 1);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  g_assert_true (dvmd_output_end (fixture->output));
}

/* Whether it is seen when something is written, or at the end. */
static void
test_removed_at_end (Fixture *fixture, gconstpointer data)
{
  g_autofree char *format = g_strdup_printf ("file=%s/f", fixture->dir);
  g_autofree char *file = g_build_filename (fixture->dir, "f.0.out", NULL);
  g_autofree char *path = g_build_filename (fixture->dir, "path", NULL);

  make_output (fixture, format);
  push (fixture, 0, DVMD_STREAM_STDOUT, "a\n");
  g_assert_cmpint (g_remove (file), ==, 0);
  g_assert_true (dvmd_output_end (fixture->output));
  g_assert_cmpuint (fixture->n_failed, ==, 1);
  make_output (fixture, NULL);
  g_assert_true (dvmd_output_add_path (fixture->output, DVMD_STREAM_STDOUT, path, NULL));
  push (fixture, 0, DVMD_STREAM_STDOUT, "a\n");
  settle ();
  g_assert_cmpint (g_remove (path), ==, 0);
  g_assert_true (dvmd_output_end (fixture->output));
  g_assert_cmpuint (fixture->n_failed, ==, 2);
  g_assert_nonnull (strstr (fixture->message, "path: the file has been removed"));
}

static void
test_open_files (Fixture *fixture, gconstpointer data)
{
  g_autofree char *format = g_strdup_printf ("file=%s/f", fixture->dir);
  g_autofree char *old = g_build_filename (fixture->dir, "f.1.out", NULL);
  g_autofree char *other = g_build_filename (fixture->dir, "f.11.err", NULL);
  g_autoptr (GError) error = NULL;

  g_assert_true (g_file_set_contents (old, "of another job", -1, NULL));
  make_output (fixture, format);
  g_assert_true (dvmd_output_open_files (fixture->output, 12, FALSE, &error));
  assert_file (old, "");
  assert_file (other, "");
  push (fixture, 1, DVMD_STREAM_STDOUT, "a\n");
  g_assert_true (dvmd_output_end (fixture->output));
  assert_file (old, "a\n");
  /* Of those that nothing was written to none is left. */
  g_assert_false (g_file_test (other, G_FILE_TEST_EXISTS));
  g_assert_cmpint (g_mkdir (other, 0700), ==, 0);
  make_output (fixture, format);
  g_assert_true (dvmd_output_open_files (fixture->output, 11, FALSE, &error));
  g_assert_true (dvmd_output_open_files (fixture->output, 12, TRUE, &error));
  g_assert_false (dvmd_output_open_files (fixture->output, 12, FALSE, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "f.11.err': Is a directory"));
}

static void
test_tags (Fixture *fixture, gconstpointer data)
{
  int out;
  int err;

  make_output (fixture, "tag");
  g_assert_true (dvmd_output_attach (fixture->output, &out, &err, NULL));
  push (fixture, 0, DVMD_STREAM_STDOUT, "one\ntwo\nthr");
  push (fixture, 1, DVMD_STREAM_STDOUT, "other\n");
  push (fixture, 0, DVMD_STREAM_STDOUT, "ee\n\npartial");
  push (fixture, 1, DVMD_STREAM_STDERR, "oops");
  settle ();
  g_assert_cmpuint (fixture->credited, ==, 11 + 6 + 11 + 4);
  assert_reads (out,
                "[5,0]<stdout>: one\n[5,0]<stdout>: two\n[5,1]<stdout>: other\n[5,0]<stdout>: three\n[5,0]<stdout>: \n",
                FALSE);
  assert_reads (err, "", FALSE);
  dvmd_output_push_eof (fixture->output, 0, DVMD_STREAM_STDOUT);
  settle ();
  assert_reads (out, "[5,0]<stdout>: partial\n", FALSE);
  /* No end-of-file came for this one. */
  g_assert_true (dvmd_output_end (fixture->output));
  assert_reads (err, "[5,1]<stderr>: oops\n", TRUE);
  assert_reads (out, "", TRUE);
  close (out);
  close (err);
}

static void
check_tag (Fixture *fixture, const char *format, const char *input, const char *expected)
{
  int out;

  make_output (fixture, format);
  g_assert_true (dvmd_output_attach (fixture->output, &out, NULL, NULL));
  push (fixture, 3, DVMD_STREAM_STDERR, input);
  g_assert_true (dvmd_output_end (fixture->output));
  assert_reads (out, expected, TRUE);
  close (out);
}

static void
test_tag_kinds (Fixture *fixture, gconstpointer data)
{
  g_setenv ("TZ", "UTC", TRUE);
  check_tag (fixture, "merge", "a\n", "a\n");
  check_tag (fixture, "tag,merge-stderr-to-stdout", "a\nb", "[5,3]<stderr>: a\n[5,3]<stderr>: b\n");
  check_tag (fixture, "tag-detailed,merge", "a\n", "[dvm-1@5,3][node1:1003]<stderr>: a\n");
  check_tag (fixture, "Tag-Full,MERGE", "a\n", "[dvm-1@5,3]<stderr>: a\n");
  check_tag (fixture, "rank,merge", "a\n", "[3]<stderr>: a\n");
  check_tag (fixture, "timestamp,merge", "a\n", "2020-09-13T12:26:40.123456+0000<stderr>: a\n");
  check_tag (fixture, "timestamp,rank,merge", "a\n", "2020-09-13T12:26:40.123456+0000[3]<stderr>: a\n");
}

static void
test_xml (Fixture *fixture, gconstpointer data)
{
  g_setenv ("TZ", "UTC", TRUE);
  check_tag (fixture, "xml,merge", "a <b> & \"c\"\n\n",
             "<stderr rank=\"3\">a &lt;b&gt; &amp; &quot;c&quot;&#10;</stderr>\n<stderr rank=\"3\">&#10;</stderr>\n");
  check_tag (fixture, "xml,merge", "no end", "<stderr rank=\"3\">no end</stderr>\n");
  check_tag (fixture, "xml,merge", "\t\r\x1b[1m \xff\xc3 \xc3\xa4\xef\xbf\xbf\n",
             "<stderr rank=\"3\">&#9;&#13;\xef\xbf\xbd[1m \xef\xbf\xbd\xef\xbf\xbd "
             "\xc3\xa4\xef\xbf\xbd&#10;</stderr>\n");
  check_tag (fixture, "xml,tag,merge", "a\n", "<stderr jobid=\"5\" rank=\"3\">a&#10;</stderr>\n");
  check_tag (fixture, "tag-full,xml,merge", "a\n", "<stderr nspace=\"dvm-1@5\" rank=\"3\">a&#10;</stderr>\n");
  check_tag (fixture, "tag-detailed,xml,merge,timestamp", "a\n",
             "<stderr nspace=\"dvm-1@5\" rank=\"3\" hostname=\"node1\" pid=\"1003\" "
             "timestamp=\"2020-09-13T12:26:40.123456+0000\">a&#10;</stderr>\n");
}

static void
test_raw (Fixture *fixture, gconstpointer data)
{
  int out;

  make_output (fixture, "tag:raw");
  g_assert_true (dvmd_output_attach (fixture->output, &out, NULL, NULL));
  push (fixture, 0, DVMD_STREAM_STDOUT, "prompt> ");
  settle ();
  assert_reads (out, "[5,0]<stdout>: prompt> ", FALSE);
  push (fixture, 0, DVMD_STREAM_STDOUT, "yes\nmore");
  settle ();
  assert_reads (out, "yes\n[5,0]<stdout>: more", FALSE);
  g_assert_true (dvmd_output_end (fixture->output));
  assert_reads (out, "\n", TRUE);
  close (out);
}

static void
test_long_line (Fixture *fixture, gconstpointer data)
{
  g_autofree char *block = g_strnfill (60000, 'l');
  g_autofree char *text = NULL;
  g_autofree char *rest = NULL;
  int out;

  make_output (fixture, "rank");
  g_assert_true (dvmd_output_attach (fixture->output, &out, NULL, NULL));
  push (fixture, 0, DVMD_STREAM_STDOUT, block);
  push (fixture, 0, DVMD_STREAM_STDOUT, block);
  settle ();
  text = read_now (out, NULL);
  g_assert_cmpuint (strlen (text), ==, 120000 + strlen ("[0]<stdout>: "));
  push (fixture, 0, DVMD_STREAM_STDOUT, "end\nnext\n");
  settle ();
  rest = read_now (out, NULL);
  g_assert_cmpstr (rest, ==, "end\n[0]<stdout>: next\n");
  g_assert_cmpuint (fixture->credited, ==, 120009);
  close (out);
}

static void
test_dir (Fixture *fixture, gconstpointer data)
{
  g_autofree char *format = g_strdup_printf ("dir=%s/d:copy", fixture->dir);
  g_autofree char *no_copy = g_strdup_printf ("dir=%s/e", fixture->dir);
  g_autofree char *first = g_build_filename (fixture->dir, "d/dvm-1@5/rank.0/stdout", NULL);
  g_autofree char *second = g_build_filename (fixture->dir, "d/dvm-1@5/rank.10/stderr", NULL);
  g_autofree char *third = g_build_filename (fixture->dir, "e/dvm-1@5/rank.0/stdout", NULL);

  make_output (fixture, format);
  push (fixture, 0, DVMD_STREAM_STDOUT, "zero\n");
  push (fixture, 10, DVMD_STREAM_STDERR, "ten\n");
  dvmd_output_push_eof (fixture->output, 0, DVMD_STREAM_STDOUT);
  g_assert_cmpuint (dvmd_output_get_retained (fixture->output), ==, 9);
  g_assert_true (dvmd_output_end (fixture->output));
  assert_file (first, "zero\n");
  assert_file (second, "ten\n");

  make_output (fixture, no_copy);
  push (fixture, 0, DVMD_STREAM_STDOUT, "zero\n");
  g_assert_cmpuint (dvmd_output_get_retained (fixture->output), ==, 0);
  g_assert_true (dvmd_output_end (fixture->output));
  assert_file (third, "zero\n");
}

static void
test_many_files (Fixture *fixture, gconstpointer data)
{
  g_autofree char *format = g_strdup_printf ("rank,file=%s/f", fixture->dir);

  make_output (fixture, format);
  for (guint round = 0; round < 3; round++)
    for (guint rank = 0; rank < 300; rank++)
      push (fixture, rank, DVMD_STREAM_STDOUT, "line\n");
  g_assert_true (dvmd_output_end (fixture->output));
  for (guint rank = 0; rank < 300; rank++)
    {
      g_autofree char *path = g_strdup_printf ("%s/f.%u.out", fixture->dir, rank);
      g_autofree char *expected = g_strdup_printf ("[%u]<stdout>: line\n[%u]<stdout>: line\n[%u]<stdout>: line\n", rank,
                                                   rank, rank);

      assert_file (path, expected);
    }
  g_assert_cmpuint (fixture->credited, ==, 300 * 3 * 5);
}

static void
test_pattern (Fixture *fixture, gconstpointer data)
{
  g_autofree char *format = g_strdup_printf ("file=%s/%%n-%%R-%%h-%%r%%%%:pattern,merge", fixture->dir);
  g_autofree char *path = g_build_filename (fixture->dir, "dvm-1@5-03-node1-3%.out", NULL);

  make_output (fixture, format);
  push (fixture, 3, DVMD_STREAM_STDERR, "a\n");
  push (fixture, 3, DVMD_STREAM_STDOUT, "b\n");
  g_assert_true (dvmd_output_end (fixture->output));
  assert_file (path, "a\nb\n");
}

static void
test_file_fails (Fixture *fixture, gconstpointer data)
{
  make_output (fixture, "file=/proc/no/such/f");
  push (fixture, 0, DVMD_STREAM_STDOUT, "a\n");
  push (fixture, 0, DVMD_STREAM_STDOUT, "b\n");
  g_assert_cmpuint (fixture->n_failed, ==, 1);
  g_assert_nonnull (strstr (fixture->message, "/proc/no/such/f.0.out"));
  g_assert_cmpuint (fixture->credited, ==, 4);
  g_assert_true (dvmd_output_end (fixture->output));
  assert_kept (fixture, "a\nb\n");
}

/* Any cut of any lines over any pieces gives the same lines. */
static void
test_random_pieces (Fixture *fixture, gconstpointer data)
{
  for (guint round = 0; round < 30; round++)
    {
      g_autoptr (GString) input = g_string_new (NULL);
      g_autoptr (GString) expected = g_string_new (NULL);
      gsize at = 0;
      int out;

      make_output (fixture, "rank");
      fixture->credited = 0;
      for (guint i = 0; i < 200; i++)
        {
          g_autofree char *line = g_strnfill ((gsize)g_test_rand_int_range (0, 120), (char)('a' + i % 26));

          g_string_append_printf (input, "%s\n", line);
          g_string_append_printf (expected, "[2]<stdout>: %s\n", line);
        }
      g_assert_true (dvmd_output_attach (fixture->output, &out, NULL, NULL));
      while (at < input->len)
        {
          gsize cut = (gsize)g_test_rand_int_range (1, 500);
          gsize n = MIN (input->len - at, cut);

          push_bytes (fixture, 2, DVMD_STREAM_STDOUT, input->str + at, n);
          at += n;
        }
      g_assert_true (dvmd_output_end (fixture->output));
      assert_reads (out, expected->str, TRUE);
      g_assert_cmpuint (fixture->credited, ==, input->len);
      close (out);
    }
}

static void
add (const char *name, void (*func) (Fixture *, gconstpointer))
{
  g_autofree char *path = g_strdup_printf ("/io/output/%s", name);

  g_test_add (path, Fixture, NULL, setup, func, teardown);
}

int
main (int argc, char **argv)
{
  signal (SIGPIPE, SIG_IGN);
  g_test_init (&argc, &argv, NULL);
  add ("attached", test_attached);
  add ("inserted", test_inserted);
  add ("nobody", test_nobody);
  add ("kept-limit", test_kept_limit);
  add ("kept-tiny-pieces", test_kept_tiny_pieces);
  add ("never-reads", test_never_reads);
  add ("wide", test_wide);
  add ("vanishes", test_vanishes);
  add ("vanishes-after-end", test_vanishes_after_end);
  add ("two-readers", test_two_readers);
  add ("given-pipe", test_given_pipe);
  add ("given-socket", test_given_socket);
  add ("given-tty", test_given_tty);
  add ("given-file", test_given_file);
  add ("paths", test_paths);
  add ("disk-full", test_disk_full);
  add ("file-limit", test_file_limit);
  add ("file-removed", test_file_removed);
  add ("closed-file-removed", test_closed_file_removed);
  add ("removed-at-end", test_removed_at_end);
  add ("open-files", test_open_files);
  add ("tags", test_tags);
  add ("tag-kinds", test_tag_kinds);
  add ("xml", test_xml);
  add ("raw", test_raw);
  add ("long-line", test_long_line);
  add ("dir", test_dir);
  add ("many-files", test_many_files);
  add ("pattern", test_pattern);
  add ("file-fails", test_file_fails);
  add ("random-pieces", test_random_pieces);
  return g_test_run ();
}
