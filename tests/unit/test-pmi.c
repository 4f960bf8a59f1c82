/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PMI-1: lines, the table of a job, where its ranks are, and a server with ranks that do as they like.
 */

#include "config.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "dvmd-pmi-line.h"
#include "dvmd-pmi-mapping.h"
#include "dvmd-pmi-server.h"

static void
test_line (void)
{
  static const char *const bad[] = { "", " ", "cmd", "=", "=a", "cmd=a b", "cmd=a =b", " message=a", "a message=a" };
  static const char text[] = "cmd=put  a=b=c empty= a=2 n=-17 large=99999999999 text=7x ";
  static const char words[] = "cmd=abort exitcode=7 message=no more of it, rank=1 ";
  g_autoptr (DvmdPmiLine) line = dvmd_pmi_line_parse (text, strlen (text));
  g_autoptr (DvmdPmiLine) abort = dvmd_pmi_line_parse (words, strlen (words));
  int number;

  g_assert_nonnull (line);
  g_assert_cmpstr (dvmd_pmi_line_get (line, "cmd"), ==, "put");
  g_assert_cmpstr (dvmd_pmi_line_get (line, "a"), ==, "b=c");
  g_assert_cmpstr (dvmd_pmi_line_get (line, "empty"), ==, "");
  g_assert_null (dvmd_pmi_line_get (line, "put"));
  g_assert_null (dvmd_pmi_line_get (line, "cm"));
  g_assert_true (dvmd_pmi_line_get_int (line, "n", &number));
  g_assert_cmpint (number, ==, -17);
  g_assert_false (dvmd_pmi_line_get_int (line, "large", &number));
  g_assert_false (dvmd_pmi_line_get_int (line, "text", &number));
  g_assert_false (dvmd_pmi_line_get_int (line, "empty", &number));
  g_assert_false (dvmd_pmi_line_get_int (line, "none", &number));
  g_assert_cmpstr (dvmd_pmi_line_get (abort, "message"), ==, "no more of it, rank=1 ");
  g_assert_true (dvmd_pmi_line_get_int (abort, "exitcode", &number));
  g_assert_null (dvmd_pmi_line_get (abort, "rank"));
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    g_assert_null (dvmd_pmi_line_parse (bad[i], strlen (bad[i])));
  g_assert_null (dvmd_pmi_line_parse ("cmd=a\0b", 7));
}

static gboolean
merges (DvmdPmiTable *table, const char *text, gssize length)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, length < 0 ? strlen (text) : (gsize)length);

  return dvmd_pmi_table_merge (table, bytes, 1) == DVMD_PMI_MERGED;
}

static void
test_table (void)
{
  g_autoptr (DvmdPmiTable) table = dvmd_pmi_table_new ();
  g_autoptr (DvmdPmiTable) other = dvmd_pmi_table_new ();
  g_autofree char *key = g_strnfill (DVMD_PMI_KEY_MAX + 1, 'k');
  g_autofree char *value = g_strnfill (DVMD_PMI_VALUE_MAX + 1, 'v');
  g_autoptr (GBytes) news = NULL;
  g_autoptr (GBytes) nothing = NULL;

  g_assert_cmpint (dvmd_pmi_table_put (table, "a", "1"), ==, DVMD_PMI_PUT);
  g_assert_cmpint (dvmd_pmi_table_put (table, "a", "x=y"), ==, DVMD_PMI_PUT);
  g_assert_cmpint (dvmd_pmi_table_put (table, key, "1"), ==, DVMD_PMI_BAD_KEY);
  g_assert_cmpint (dvmd_pmi_table_put (table, "", "1"), ==, DVMD_PMI_BAD_KEY);
  g_assert_cmpint (dvmd_pmi_table_put (table, "a=b", "1"), ==, DVMD_PMI_BAD_KEY);
  g_assert_cmpint (dvmd_pmi_table_put (table, "b", value), ==, DVMD_PMI_BAD_VALUE);
  g_assert_cmpint (dvmd_pmi_table_put (table, "b", "1\n2"), ==, DVMD_PMI_BAD_VALUE);
  value[DVMD_PMI_VALUE_MAX] = '\0';
  key[DVMD_PMI_KEY_MAX] = '\0';
  g_assert_cmpint (dvmd_pmi_table_put (table, key, value), ==, DVMD_PMI_PUT);
  g_assert_cmpstr (dvmd_pmi_table_get (table, "a"), ==, "x=y");
  g_assert_null (dvmd_pmi_table_get (table, "b"));

  news = dvmd_pmi_table_take_news (table, 1);
  nothing = dvmd_pmi_table_take_news (table, 1);
  g_assert_cmpuint (g_bytes_get_size (nothing), ==, strlen ("=1\n"));
  g_assert_cmpint (dvmd_pmi_table_merge (other, news, 2), ==, DVMD_PMI_OTHER_PROGRAM);
  g_assert_null (dvmd_pmi_table_get (other, "a"));
  g_assert_cmpint (dvmd_pmi_table_merge (other, news, 1), ==, DVMD_PMI_MERGED);
  g_assert_cmpint (dvmd_pmi_table_merge (other, nothing, 1), ==, DVMD_PMI_MERGED);
  g_assert_cmpstr (dvmd_pmi_table_get (other, "a"), ==, "x=y");
  g_assert_cmpstr (dvmd_pmi_table_get (other, key), ==, value);
  g_assert_true (merges (other, "c=1\nd=\n", -1));
  g_assert_cmpstr (dvmd_pmi_table_get (other, "d"), ==, "");
  g_assert_false (merges (other, "c=1", -1));
  g_assert_false (merges (other, "c\n", -1));
  g_assert_false (merges (other, "=x\n", -1));
  g_assert_false (merges (other, "c=\0\n", 4));
}

/* Neither many keys nor one that is put again and again take more than there is. */
static void
test_table_limit (void)
{
  for (guint same = 0; same < 2; same++)
    {
      g_autoptr (DvmdPmiTable) table = dvmd_pmi_table_new ();
      g_autofree char *value = g_strnfill (DVMD_PMI_VALUE_MAX, 'v');
      DvmdPmiPut result = DVMD_PMI_PUT;
      guint n = 0;

      while (result == DVMD_PMI_PUT && n < DVMD_PMI_TABLE_LIMIT / DVMD_PMI_VALUE_MAX + 10)
        {
          g_autofree char *key = g_strdup_printf ("%u", same ? 0 : n);

          result = dvmd_pmi_table_put (table, key, value);
          n++;
        }
      g_assert_cmpint (result, ==, DVMD_PMI_NO_ROOM);
    }
}

static void
test_mapping (void)
{
  static const struct
  {
    guint32 nodes[8];
    gsize n;
    const char *expected;
  } cases[] = {
    { { 1 }, 1, "(vector,(0,1,1))" },
    { { 1, 1, 2, 2, 3, 3 }, 6, "(vector,(0,3,2))" },
    { { 1, 2, 3, 4, 1, 2, 3, 4 }, 8, "(vector,(0,4,1))" },
    { { 7, 5, 7, 5 }, 4, "(vector,(0,2,1))" },
    { { 1, 1, 1, 2, 2, 3 }, 6, "(vector,(0,1,3),(1,1,2),(2,1,1))" },
    { { 1, 2, 1 }, 3, "(vector,(0,2,1),(0,1,1))" },
    { { 1, 1, 2, 1, 1, 2 }, 6, "(vector,(0,1,2),(1,1,1))" },
    { { 1, 2, 2, 1 }, 4, "(vector,(0,1,1),(1,1,2),(0,1,1))" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = dvmd_pmi_mapping_build (cases[i].nodes, cases[i].n);

      g_assert_cmpstr (text, ==, cases[i].expected);
    }
}

/* ---- a server ---- */

#define N_RANKS 3
#define INIT    "cmd=init pmi_version=1 pmi_subversion=1\n"

typedef struct
{
  DvmdClock *clock;
  DvmdPmiServer *server;
  int fds[N_RANKS];
  GString *events;
  gboolean holds; /* ranks wait in their init */
} World;

static void
note (World *world, const char *what, guint32 rank)
{
  g_string_append_printf (world->events, "%s %u\n", what, rank);
}

static gboolean
initialized (guint32 rank, gpointer user_data)
{
  note (user_data, "initialized", rank);
  return !((World *)user_data)->holds;
}

static void
finalized (guint32 rank, gpointer user_data)
{
  note (user_data, "finalized", rank);
}

static void
lost (guint32 rank, gpointer user_data)
{
  note (user_data, "lost", rank);
}

static void
aborted (guint32 rank, int status, const char *message, gpointer user_data)
{
  note (user_data, message != NULL ? message : "aborted", rank * 1000 + (guint32)status);
}

static void
exchange (GBytes *news, gboolean any_lost, gpointer user_data)
{
  note (user_data, any_lost ? "exchange-lost" : "exchange", (guint32)(g_bytes_get_size (news) - strlen ("=1\n")));
}

static char *
build_mapping (gpointer user_data)
{
  return g_strnfill (DVMD_PMI_VALUE_MAX + 1, '(');
}

static const DvmdPmiFuncs funcs = {
  .initialized = initialized,
  .finalized = finalized,
  .lost = lost,
  .aborted = aborted,
  .exchange = exchange,
  .build_mapping = build_mapping,
};

static void
set_up (World *world, gconstpointer data)
{
  DvmdPmiSettings settings = { .nspace = "job", .universe_size = 9, .n_local = N_RANKS };

  settings.clock = world->clock = dvmd_clock_new_manual (0);
  world->events = g_string_new (NULL);
  world->server = dvmd_pmi_server_new (&settings, &funcs, world);
  for (guint i = 0; i < N_RANKS; i++)
    {
      world->fds[i] = dup (dvmd_pmi_server_open (world->server, i, i, 0, NULL));
      g_assert_cmpint (world->fds[i], >=, 0);
    }
}

static void
tear_down (World *world, gconstpointer data)
{
  for (guint i = 0; i < N_RANKS; i++)
    if (world->fds[i] >= 0)
      g_close (world->fds[i], NULL);
  dvmd_pmi_server_free (world->server);
  dvmd_clock_unref (world->clock);
  g_string_free (world->events, TRUE);
}

static void
say (World *world, guint rank, const char *text)
{
  g_assert_cmpint (send (world->fds[rank], text, strlen (text), MSG_NOSIGNAL), ==, strlen (text));
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

/* expected (nullable): there is no answer */
static void
assert_hears (World *world, guint rank, const char *expected)
{
  char buffer[4096];
  gssize n = recv (world->fds[rank], buffer, sizeof buffer - 1, MSG_DONTWAIT);

  buffer[MAX (n, 0)] = '\0';
  if (expected == NULL)
    g_assert_cmpint (n, <, 0);
  else
    g_assert_cmpstr (buffer, ==, expected);
}

static void
assert_events (World *world, const char *expected)
{
  g_assert_cmpstr (world->events->str, ==, expected);
  g_string_truncate (world->events, 0);
}

static void
say_init (World *world)
{
  for (guint i = 0; i < N_RANKS; i++)
    {
      say (world, i, INIT);
      assert_hears (world, i, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    }
  assert_events (world, "initialized 0\ninitialized 1\ninitialized 2\n");
}

static void
test_barrier (World *world, gconstpointer data)
{
  g_autoptr (GBytes) news = g_bytes_new_static ("a=1\nb=2\n", 8);

  say_init (world);
  say (world, 0, "cmd=put kvsname=job key=a value=1\n");
  assert_hears (world, 0, "cmd=put_result rc=0 msg=success\n");
  for (guint i = 0; i < N_RANKS; i++)
    say (world, i, "cmd=barrier_in\n");
  assert_events (world, "exchange 4\n");
  assert_hears (world, 0, NULL);
  dvmd_pmi_server_exchanged (world->server, TRUE, news);
  for (guint i = 0; i < N_RANKS; i++)
    assert_hears (world, i, "cmd=barrier_out rc=0\n");
  say (world, 1, "cmd=get kvsname=job key=b\n");
  assert_hears (world, 1, "cmd=get_result rc=0 msg=success value=2\n");
  /* It is too long for a value. */
  say (world, 1, "cmd=get kvsname=job key=PMI_process_mapping\n");
  assert_hears (world, 1, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
  /* An answer that nobody waits for. */
  dvmd_pmi_server_exchanged (world->server, FALSE, NULL);
  assert_hears (world, 1, NULL);
}

static void
test_barrier_fails (World *world, gconstpointer data)
{
  static const char failed[] = "cmd=barrier_failed rc=-1 msg=other_ranks_do_not_come\n";
  g_autoptr (GBytes) news = g_bytes_new_static ("nonsense", 8);

  say_init (world);
  for (guint turn = 0; turn < 2; turn++)
    {
      for (guint i = 0; i < N_RANKS; i++)
        say (world, i, "cmd=barrier_in\n");
      assert_events (world, "exchange 0\n");
      dvmd_pmi_server_exchanged (world->server, turn == 1, news);
      for (guint i = 0; i < N_RANKS; i++)
        assert_hears (world, i, failed);
    }
  /* One that is in it does not come to the next one, but to this one it has. */
  for (guint i = 0; i < N_RANKS; i++)
    say (world, i, "cmd=barrier_in\n");
  dvmd_pmi_server_rank_reaped (world->server, 2);
  dvmd_pmi_server_rank_ended (world->server, 2);
  assert_events (world, "exchange 0\nlost 2\n");
  dvmd_pmi_server_exchanged (world->server, TRUE, NULL);
  assert_hears (world, 0, "cmd=barrier_out rc=0\n");
  assert_hears (world, 1, "cmd=barrier_out rc=0\n");
  say (world, 0, "cmd=barrier_in\n");
  assert_events (world, "");
  say (world, 1, "cmd=barrier_in\n");
  assert_events (world, "exchange-lost 0\n");
}

/* One that finalizes while others are in a barrier leaves them to it. */
static void
test_finalizes (World *world, gconstpointer data)
{
  say_init (world);
  say (world, 0, "cmd=barrier_in\n");
  say (world, 1, "cmd=finalize\n");
  assert_hears (world, 1, "cmd=finalize_ack rc=0\n");
  shutdown (world->fds[1], SHUT_RDWR);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  dvmd_pmi_server_rank_ended (world->server, 1);
  assert_events (world, "finalized 1\n");
  /* Its words before its end count. */
  g_assert_cmpint (send (world->fds[2], "cmd=finalize\n", 13, MSG_NOSIGNAL), ==, 13);
  dvmd_pmi_server_rank_reaped (world->server, 2);
  dvmd_pmi_server_rank_ended (world->server, 2);
  assert_events (world, "finalized 2\nexchange 0\n");
}

/* A connection that breaks is not told to the others before its process has ended, or a moment has gone by. */
static void
test_breaks (World *world, gconstpointer data)
{
  say_init (world);
  say (world, 0, "cmd=barrier_in\n");
  for (guint i = 1; i < N_RANKS; i++)
    {
      g_close (world->fds[i], NULL);
      world->fds[i] = -1;
    }
  while (g_main_context_iteration (NULL, FALSE))
    ;
  assert_events (world, "lost 1\nlost 2\n");
  dvmd_pmi_server_rank_ended (world->server, 1);
  assert_events (world, "");
  dvmd_clock_advance (world->clock, 2 * G_USEC_PER_SEC);
  assert_events (world, "exchange-lost 0\n");
  dvmd_pmi_server_rank_ended (world->server, 2);
  assert_events (world, "");
}

static void
test_bad_clients (World *world, gconstpointer data)
{
  g_autofree char *endless = g_strnfill (9 * 1024, 'x');

  say_init (world);
  say (world, 0, "cmd=barrier_in\ncmd=barrier_in\ncmd=barrier_in\n");
  assert_events (world, "lost 0\n");
  assert_hears (world, 0, "");
  say (world, 1, endless);
  assert_events (world, "lost 1\n");
  /* It does not read its answers. */
  for (guint i = 0; i < 100000 && world->events->len == 0; i++)
    {
      send (world->fds[2], "cmd=get_maxes\n", 14, MSG_NOSIGNAL | MSG_DONTWAIT);
      while (g_main_context_iteration (NULL, FALSE))
        ;
    }
  assert_events (world, "lost 2\n");
}

static void
test_abort (World *world, gconstpointer data)
{
  say_init (world);
  say (world, 1, "cmd=abort exitcode=7\n");
  assert_events (world, "aborted 1007\n");
  assert_hears (world, 1, NULL);
  say (world, 2, "cmd=barrier_in\ncmd=abort exitcode=nonsense\n");
  assert_events (world, "aborted 2001\n");
  say (world, 0, "cmd=abort exitcode=3 message=no more of it:\nthis call (x=1)\ncmd=abort exitcode=4\n");
  assert_events (world, "no more of it: 3\n");
}

/* A command may come in pieces, and several at once. */
static void
test_pieces (World *world, gconstpointer data)
{
  for (const char *c = INIT; *c != '\0'; c++)
    {
      const char text[] = { *c, '\0' };

      say (world, 0, text);
    }
  assert_hears (world, 0, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  say (world, 0, "cmd=get_appnum\ncmd=get_universe_size\n");
  assert_hears (world, 0, "cmd=appnum rc=0 appnum=0\ncmd=universe_size rc=0 size=9\n");
}

/* The next process of a rank begins anew. */
static void
test_again (World *world, gconstpointer data)
{
  dvmd_pmi_server_rank_ended (world->server, 0);
  assert_events (world, "");
  g_close (world->fds[0], NULL);
  world->fds[0] = dup (dvmd_pmi_server_open (world->server, 0, 0, 0, NULL));
  say_init (world);
  for (guint i = 0; i < N_RANKS; i++)
    say (world, i, "cmd=barrier_in\n");
  assert_events (world, "exchange 0\n");
}

/* The process of a rank whose connection has broken is reaped while a child of it lives: its end is told later. */
static void
test_breaks_and_is_reaped (World *world, gconstpointer data)
{
  say_init (world);
  say (world, 0, "cmd=barrier_in\n");
  say (world, 2, "cmd=barrier_in\n");
  shutdown (world->fds[1], SHUT_RDWR);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  dvmd_pmi_server_rank_reaped (world->server, 1);
  assert_events (world, "lost 1\n");
  dvmd_clock_advance (world->clock, 2 * G_USEC_PER_SEC);
  assert_events (world, "exchange-lost 0\n");
}

/* The others wait for one that is started again, however long that takes, unless it is not, after all. */
static void
test_comes_back (World *world, gconstpointer data)
{
  for (guint i = 0; i < N_RANKS; i += 2)
    {
      say (world, i, INIT);
      say (world, i, "cmd=barrier_in\n");
    }
  assert_events (world, "initialized 0\ninitialized 2\n");
  for (guint turn = 0; turn < 2; turn++)
    {
      dvmd_pmi_server_rank_reaped (world->server, 1);
      dvmd_pmi_server_rank_comes_back (world->server, 1);
      dvmd_clock_advance (world->clock, 10 * G_USEC_PER_SEC);
      assert_events (world, "");
      g_close (world->fds[1], NULL);
      world->fds[1] = turn == 0 ? dup (dvmd_pmi_server_open (world->server, 1, 1, 0, NULL)) : -1;
    }
  dvmd_pmi_server_rank_ended (world->server, 1);
  assert_events (world, "exchange-lost 0\n");
}

static void
say_of_all (World *world, const char *text)
{
  for (guint i = 0; i < N_RANKS; i++)
    say (world, i, text);
}

/* Two programs, one after the other: the barrier of the second one is not passed by ranks that are still in the first.
 */
static void
test_next_program (World *world, gconstpointer data)
{
  say_of_all (world, INIT "cmd=finalize\n");
  g_string_truncate (world->events, 0);
  for (guint i = 0; i < N_RANKS; i++)
    {
      assert_events (world, "");
      say (world, i, INIT "cmd=barrier_in\n");
      g_string_truncate (world->events, 0);
    }
  dvmd_pmi_server_exchanged (world->server, TRUE, NULL);
  say_of_all (world, "cmd=finalize\n");
  g_string_truncate (world->events, 0);
  /* Some do not have a third one. */
  say (world, 0, INIT "cmd=barrier_in\n");
  assert_events (world, "initialized 0\n");
  shutdown (world->fds[1], SHUT_RDWR);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  assert_events (world, "");
  dvmd_pmi_server_rank_reaped (world->server, 2);
  assert_events (world, "exchange-lost 0\n");
}

/* A rank that is in its second program does not meet those who are in their first one. */
static void
test_other_program (World *world, gconstpointer data)
{
  say_init (world);
  say (world, 0, "cmd=finalize\n" INIT "cmd=barrier_in\n");
  say (world, 1, "cmd=barrier_in\n");
  g_string_truncate (world->events, 0);
  say (world, 2, "cmd=barrier_in\n");
  assert_events (world, "exchange-lost 0\n");
}

static void
test_held (World *world, gconstpointer data)
{
  static const char answer[] = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";

  world->holds = TRUE;
  dvmd_pmi_server_go_on (world->server, 0);
  say_of_all (world, INIT);
  assert_events (world, "initialized 0\ninitialized 1\ninitialized 2\n");
  assert_hears (world, 0, NULL);
  for (guint turn = 0; turn < 2; turn++)
    dvmd_pmi_server_go_on (world->server, 0);
  assert_hears (world, 0, answer);
  assert_hears (world, 1, NULL);
  /* A rank that goes on without the answer to its init is refused. */
  say (world, 1, "cmd=get_maxes\n");
  assert_events (world, "lost 1\n");
  dvmd_pmi_server_go_on (world->server, 1);
  say (world, 2, "cmd=abort exitcode=1\n");
  assert_events (world, "aborted 2001\n");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pmi/line", test_line);
  g_test_add_func ("/pmi/table", test_table);
  g_test_add_func ("/pmi/table-limit", test_table_limit);
  g_test_add_func ("/pmi/mapping", test_mapping);
  g_test_add ("/pmi/barrier", World, NULL, set_up, test_barrier, tear_down);
  g_test_add ("/pmi/barrier-fails", World, NULL, set_up, test_barrier_fails, tear_down);
  g_test_add ("/pmi/finalizes", World, NULL, set_up, test_finalizes, tear_down);
  g_test_add ("/pmi/breaks", World, NULL, set_up, test_breaks, tear_down);
  g_test_add ("/pmi/bad-clients", World, NULL, set_up, test_bad_clients, tear_down);
  g_test_add ("/pmi/abort", World, NULL, set_up, test_abort, tear_down);
  g_test_add ("/pmi/pieces", World, NULL, set_up, test_pieces, tear_down);
  g_test_add ("/pmi/again", World, NULL, set_up, test_again, tear_down);
  g_test_add ("/pmi/breaks-and-is-reaped", World, NULL, set_up, test_breaks_and_is_reaped, tear_down);
  g_test_add ("/pmi/comes-back", World, NULL, set_up, test_comes_back, tear_down);
  g_test_add ("/pmi/next-program", World, NULL, set_up, test_next_program, tear_down);
  g_test_add ("/pmi/other-program", World, NULL, set_up, test_other_program, tear_down);
  g_test_add ("/pmi/held", World, NULL, set_up, test_held, tear_down);
  return g_test_run ();
}
