/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib-unix.h>
#include <glib/gstdio.h>

#include <dvm.h>

#include "dvmd-input.h"

typedef struct
{
  DvmdInput *input;
  GString *text;
  guint rank;
  guint n_eof;
} Fixture;

static void
on_send (DvmdInput *input, guint rank, GBytes *bytes, gpointer user_data)
{
  Fixture *fixture = user_data;

  g_assert_cmpuint (fixture->n_eof, ==, 0);
  fixture->rank = rank;
  if (bytes == NULL)
    fixture->n_eof++;
  else
    g_string_append_len (fixture->text, g_bytes_get_data (bytes, NULL), (gssize)g_bytes_get_size (bytes));
}

static const DvmdInputFuncs funcs = { .send = on_send };

static void
setup (Fixture *fixture, gconstpointer data)
{
  fixture->text = g_string_new (NULL);
  fixture->n_eof = 0;
  fixture->input = dvmd_input_new (NULL, GPOINTER_TO_UINT (data), NULL, 3, &funcs, fixture);
}

static void
teardown (Fixture *fixture, gconstpointer data)
{
  dvmd_input_free (fixture->input);
  g_string_free (fixture->text, TRUE);
}

static void
settle (void)
{
  for (guint i = 0; i < 100; i++)
    g_main_context_iteration (NULL, FALSE);
}

static void
test_parse (void)
{
  const char *bad[] = { "3", "-1", "some", "1x", "4294967295", "0,3", "1-3", NULL };
  guint target;
  DvmdIdSet *some = NULL;

  g_assert_true (dvmd_input_parse_target (NULL, 3, &target, NULL, NULL));
  g_assert_cmpuint (target, ==, 0);
  g_assert_true (dvmd_input_parse_target ("2", 3, &target, NULL, NULL));
  g_assert_cmpuint (target, ==, 2);
  g_assert_true (dvmd_input_parse_target ("all", 3, &target, NULL, NULL));
  g_assert_cmpuint (target, ==, DVMD_INPUT_ALL);
  g_assert_true (dvmd_input_parse_target ("none", 3, &target, NULL, NULL));
  g_assert_cmpuint (target, ==, DVMD_INPUT_NONE);
  g_assert_true (dvmd_input_parse_target ("0,2", 3, &target, &some, NULL));
  g_assert_cmpuint (target, ==, DVMD_INPUT_SOME);
  g_assert_true (dvmd_id_set_contains (some, 2));
  g_assert_false (dvmd_id_set_contains (some, 1));
  g_clear_pointer (&some, dvmd_id_set_free);
  g_assert_true (dvmd_input_parse_target ("1", 3, &target, &some, NULL));
  g_assert_null (some);
  for (guint i = 0; bad[i] != NULL; i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_false (dvmd_input_parse_target (bad[i], 3, &target, NULL, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
    }
}

static void
test_attach (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  int fd = dvmd_input_attach (fixture->input, &error);

  g_assert_no_error (error);
  g_assert_true (dvmd_input_has_owner (fixture->input));
  /* One owner. */
  g_assert_cmpint (dvmd_input_attach (fixture->input, &error), ==, -1);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_EXISTS);
  g_assert_cmpint (write (fd, "early", 5), ==, 5);
  settle ();
  g_assert_cmpuint (fixture->text->len, ==, 0);
  dvmd_input_start (fixture->input);
  settle ();
  g_assert_cmpstr (fixture->text->str, ==, "early");
  g_assert_cmpuint (fixture->rank, ==, 1);
  close (fd);
  settle ();
  g_assert_cmpuint (fixture->n_eof, ==, 1);
  dvmd_input_close (fixture->input);
  g_assert_cmpuint (fixture->n_eof, ==, 1);
}

static void
fill (int fd, gsize size)
{
  char block[4096];

  memset (block, 'i', sizeof block);
  fcntl (fd, F_SETFL, O_NONBLOCK);
  for (gsize n = 0; n < size;)
    {
      ssize_t written = write (fd, block, MIN (sizeof block, size - n));

      if (written > 0)
        n += (gsize)written;
      settle ();
    }
}

static void
test_credit (Fixture *fixture, gconstpointer data)
{
  int fd = dvmd_input_attach (fixture->input, NULL);

  dvmd_input_start (fixture->input);
  fill (fd, DVMD_STREAM_WINDOW + 1000);
  g_assert_cmpuint (fixture->text->len, ==, DVMD_STREAM_WINDOW);
  close (fd);
  settle ();
  /* Waits asleep, also when the writer has left. */
  g_assert_false (g_main_context_pending (NULL));
  g_assert_cmpuint (fixture->n_eof, ==, 0);
  dvmd_input_add_credit (fixture->input, 0, 5000);
  settle ();
  g_assert_cmpuint (fixture->text->len, ==, DVMD_STREAM_WINDOW);
  dvmd_input_add_credit (fixture->input, 1, 300);
  settle ();
  g_assert_cmpuint (fixture->text->len, ==, DVMD_STREAM_WINDOW + 300);
  dvmd_input_add_credit (fixture->input, 1, DVMD_STREAM_WINDOW);
  settle ();
  g_assert_cmpuint (fixture->text->len, ==, DVMD_STREAM_WINDOW + 1000);
  g_assert_cmpuint (fixture->n_eof, ==, 1);
}

static void
test_all (Fixture *fixture, gconstpointer data)
{
  int fd = dvmd_input_attach (fixture->input, NULL);

  dvmd_input_start (fixture->input);
  fill (fd, DVMD_STREAM_WINDOW + 1000);
  g_assert_cmpuint (fixture->rank, ==, DVMD_INPUT_ALL);
  /* The slowest counts, but not one that has ended. */
  dvmd_input_add_credit (fixture->input, 0, DVMD_STREAM_WINDOW);
  dvmd_input_add_credit (fixture->input, 1, DVMD_STREAM_WINDOW);
  settle ();
  g_assert_cmpuint (fixture->text->len, ==, DVMD_STREAM_WINDOW);
  dvmd_input_rank_ended (fixture->input, 2);
  settle ();
  g_assert_cmpuint (fixture->text->len, ==, DVMD_STREAM_WINDOW + 1000);
  dvmd_input_rank_ended (fixture->input, 0);
  dvmd_input_rank_ended (fixture->input, 1);
  signal (SIGPIPE, SIG_IGN);
  g_assert_cmpint (write (fd, "x", 1), ==, -1);
  g_assert_cmpuint (fixture->n_eof, ==, 0);
  close (fd);
}

/* The ranks of a list count, and no others. */
static void
test_some (void)
{
  g_autoptr (DvmdIdSet) some = dvmd_id_set_parse ("0,2", "ranks", NULL);
  Fixture fixture = { .text = g_string_new (NULL) };
  int fd;

  fixture.input = dvmd_input_new (NULL, DVMD_INPUT_SOME, some, 3, &funcs, &fixture);
  fd = dvmd_input_attach (fixture.input, NULL);
  dvmd_input_start (fixture.input);
  fill (fd, DVMD_STREAM_WINDOW + 1000);
  g_assert_cmpuint (fixture.rank, ==, DVMD_INPUT_SOME);
  g_assert_cmpuint (fixture.text->len, ==, DVMD_STREAM_WINDOW);
  dvmd_input_add_credit (fixture.input, 0, 1000);
  settle ();
  g_assert_cmpuint (fixture.text->len, ==, DVMD_STREAM_WINDOW);
  dvmd_input_add_credit (fixture.input, 2, 400);
  settle ();
  g_assert_cmpuint (fixture.text->len, ==, DVMD_STREAM_WINDOW + 400);
  dvmd_input_rank_ended (fixture.input, 1);
  /* The last one that reads takes the descriptor along. */
  dvmd_input_rank_ended (fixture.input, 2);
  settle ();
  g_assert_cmpuint (fixture.text->len, ==, DVMD_STREAM_WINDOW + 1000);
  dvmd_input_rank_ended (fixture.input, 0);
  signal (SIGPIPE, SIG_IGN);
  g_assert_cmpint (write (fd, "x", 1), ==, -1);
  close (fd);
  dvmd_input_free (fixture.input);
  g_string_free (fixture.text, TRUE);
}

/* ---- input for some of those that read ---- */

typedef struct
{
  DvmdInput *input;
  int fd;
  GString *said; /* "1:text " for what a rank gets, "1$ " for its end */
} Aimed;

static void
on_aimed (DvmdInput *input, guint rank, GBytes *bytes, gpointer user_data)
{
  Aimed *fixture = user_data;

  if (rank == DVMD_INPUT_ALL)
    g_string_append_c (fixture->said, '*');
  else
    g_string_append_printf (fixture->said, "%u", rank);
  if (bytes == NULL)
    g_string_append (fixture->said, "$ ");
  else
    g_string_append_printf (fixture->said, ":%.*s ", (int)MIN (g_bytes_get_size (bytes), 8),
                            (const char *)g_bytes_get_data (bytes, NULL));
}

static const DvmdInputFuncs aimed_funcs = { .send = on_aimed };

static void
begin_aimed (Aimed *fixture)
{
  fixture->said = g_string_new (NULL);
  fixture->input = dvmd_input_new (NULL, DVMD_INPUT_ALL, NULL, 3, &aimed_funcs, fixture);
  fixture->fd = dvmd_input_attach (fixture->input, NULL);
}

static void
end_aimed (Aimed *fixture)
{
  if (fixture->fd >= 0)
    close (fixture->fd);
  dvmd_input_free (fixture->input);
  g_string_free (fixture->said, TRUE);
}

/* to (nullable): all */
static void
put (Aimed *fixture, const char *text, const char *to, gboolean end)
{
  dvmd_input_aim (fixture->input, strlen (text), to != NULL ? dvmd_id_set_parse (to, "ranks", NULL) : NULL, end);
  g_assert_cmpint (write (fixture->fd, text, strlen (text)), ==, (gssize)strlen (text));
}

static void
assert_said (Aimed *fixture, const char *said)
{
  settle ();
  g_assert_cmpstr (fixture->said->str, ==, said);
  g_string_truncate (fixture->said, 0);
}

static gboolean
is_read (Aimed *fixture, const char *to, const char *but)
{
  g_autoptr (DvmdIdSet) ranks = to != NULL ? dvmd_id_set_parse (to, "ranks", NULL) : NULL;
  g_autoptr (DvmdIdSet) others = but != NULL ? dvmd_id_set_parse (but, "ranks", NULL) : NULL;

  return dvmd_input_is_read (fixture->input, ranks, others);
}

/* Input for some goes to them alone, in the order in which everything is written. */
static void
test_aimed (void)
{
  Aimed fixture;

  begin_aimed (&fixture);
  put (&fixture, "early", NULL, FALSE);
  put (&fixture, "two", "0,2", FALSE);
  put (&fixture, "all", NULL, FALSE);
  put (&fixture, "", "1", TRUE);
  g_assert_true (is_read (&fixture, "1", NULL));
  g_assert_false (is_read (&fixture, "1", "1"));
  dvmd_input_start (fixture.input);
  assert_said (&fixture, "*:early 0:two 2:two *:all 1$ ");
  g_assert_false (is_read (&fixture, "1", NULL));
  g_assert_true (is_read (&fixture, "0-1", NULL));
  put (&fixture, "late", "0-1", FALSE);
  put (&fixture, "last", "0", TRUE);
  assert_said (&fixture, "0:late 0:last 0$ ");
  put (&fixture, "rest", NULL, FALSE);
  assert_said (&fixture, "*:rest ");
  g_assert_true (is_read (&fixture, NULL, NULL));
  g_assert_false (is_read (&fixture, NULL, "2"));
  put (&fixture, "", "2", TRUE);
  assert_said (&fixture, "2$ ");
  g_assert_false (is_read (&fixture, NULL, NULL));
  signal (SIGPIPE, SIG_IGN);
  g_assert_cmpint (write (fixture.fd, "x", 1), ==, -1);
  end_aimed (&fixture);
}

/* The room of those counts for whom the next bytes are, and of no others. */
static void
test_aimed_credit (void)
{
  Aimed fixture;

  begin_aimed (&fixture);
  dvmd_input_start (fixture.input);
  dvmd_input_aim (fixture.input, DVMD_STREAM_WINDOW, dvmd_id_set_parse ("1", "ranks", NULL), FALSE);
  fill (fixture.fd, DVMD_STREAM_WINDOW);
  settle ();
  g_string_truncate (fixture.said, 0);
  put (&fixture, "free", "0", FALSE);
  assert_said (&fixture, "0:free ");
  put (&fixture, "full", NULL, FALSE);
  assert_said (&fixture, "");
  put (&fixture, "behind", "0", FALSE);
  assert_said (&fixture, "");
  g_assert_false (g_main_context_pending (NULL));
  dvmd_input_rank_ended (fixture.input, 1);
  assert_said (&fixture, "*:full 0:behind ");
  /* Input for a rank that has ended goes nowhere, and holds up nothing. */
  put (&fixture, "gone", "1", TRUE);
  put (&fixture, "next", "2", FALSE);
  assert_said (&fixture, "2:next ");
  /* The writer goes in the middle. */
  dvmd_input_aim (fixture.input, 100, dvmd_id_set_parse ("2", "ranks", NULL), FALSE);
  g_assert_cmpint (write (fixture.fd, "half", 4), ==, 4);
  close (g_steal_fd (&fixture.fd));
  assert_said (&fixture, "2:half *$ ");
  end_aimed (&fixture);
}

static void
test_none (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (dvmd_input_attach (fixture->input, &error), ==, -1);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
}

static void
test_given_pipe (Fixture *fixture, gconstpointer data)
{
  int fds[2];
  int clients;

  g_assert_true (g_unix_open_pipe (fds, FD_CLOEXEC, NULL));
  clients = fcntl (fds[0], F_DUPFD_CLOEXEC, 3);
  g_assert_true (dvmd_input_set_fd (fixture->input, fds[0], NULL));
  dvmd_input_start (fixture->input);
  g_assert_cmpint (write (fds[1], "piped", 5), ==, 5);
  settle ();
  g_assert_cmpstr (fixture->text->str, ==, "piped");
  g_assert_false (fcntl (clients, F_GETFL) & O_NONBLOCK);
  close (fds[1]);
  settle ();
  g_assert_cmpuint (fixture->n_eof, ==, 1);
  close (clients);
}

static void
test_given_file (Fixture *fixture, gconstpointer data)
{
  g_autofree char *path = NULL;
  int fd = g_file_open_tmp ("dvm-input-XXXXXX", &path, NULL);

  g_assert_cmpint (write (fd, "skipped read", 12), ==, 12);
  /* From where the client is. */
  lseek (fd, 8, SEEK_SET);
  g_assert_true (dvmd_input_set_fd (fixture->input, fd, NULL));
  dvmd_input_start (fixture->input);
  settle ();
  g_assert_cmpstr (fixture->text->str, ==, "read");
  g_assert_cmpuint (fixture->n_eof, ==, 1);
  g_unlink (path);
}

static void
test_given_socket (Fixture *fixture, gconstpointer data)
{
  int fds[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
  dvmd_input_start (fixture->input);
  g_assert_true (dvmd_input_set_fd (fixture->input, fds[0], NULL));
  g_assert_cmpint (write (fds[1], "socket", 6), ==, 6);
  settle ();
  g_assert_cmpstr (fixture->text->str, ==, "socket");
  close (fds[1]);
  settle ();
  g_assert_cmpuint (fixture->n_eof, ==, 1);
}

static void
test_given_null (Fixture *fixture, gconstpointer data)
{
  g_assert_true (dvmd_input_set_fd (fixture->input, open ("/dev/null", O_RDONLY | O_CLOEXEC), NULL));
  dvmd_input_start (fixture->input);
  settle ();
  g_assert_cmpuint (fixture->n_eof, ==, 1);
}

static void
test_given_bad (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (dvmd_input_set_fd (fixture->input, open ("/", O_RDONLY | O_CLOEXEC), &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_clear_error (&error);
  g_assert_false (dvmd_input_set_fd (fixture->input, open ("/dev/null", O_WRONLY | O_CLOEXEC), &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_false (dvmd_input_has_owner (fixture->input));
}

static void
add (const char *name, guint target, void (*func) (Fixture *, gconstpointer))
{
  g_autofree char *path = g_strdup_printf ("/io/input/%s", name);

  g_test_add (path, Fixture, GUINT_TO_POINTER (target), setup, func, teardown);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/input/parse", test_parse);
  add ("attach", 1, test_attach);
  add ("credit", 1, test_credit);
  add ("all", DVMD_INPUT_ALL, test_all);
  g_test_add_func ("/io/input/some", test_some);
  g_test_add_func ("/io/input/aimed", test_aimed);
  g_test_add_func ("/io/input/aimed-credit", test_aimed_credit);
  add ("none", DVMD_INPUT_NONE, test_none);
  add ("given-pipe", 0, test_given_pipe);
  add ("given-file", 0, test_given_file);
  add ("given-socket", 0, test_given_socket);
  add ("given-null", 0, test_given_null);
  add ("given-bad", 0, test_given_bad);
  return g_test_run ();
}
