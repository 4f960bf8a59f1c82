/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A server of PMI with ranks that do as they like.
 */

#include "config.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "dvmd-pmi-server.h"

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

static void
ask_names (guint32 rank, guint number, DvmdPmiNames what, const char *service, const char *port, gpointer user_data)
{
  static const char *const words[] = { "publish", "unpublish", "look-up" };

  g_string_append_printf (((World *)user_data)->events, "%s %u %u %s %s\n", words[what], rank, number, service,
                          port != NULL ? port : "-");
}

static void
spawn_job (guint32 rank, guint number, const DvmdPmiSpawn *spawn, gpointer user_data)
{
  GString *events = ((World *)user_data)->events;

  g_string_append_printf (events, "spawn %u %u", rank, number);
  for (guint i = 0; i < spawn->apps->len; i++)
    {
      const DvmdPmiSpawnApp *app = spawn->apps->pdata[i];

      g_string_append_printf (events, " [%u of %s", app->n_procs, app->program);
      for (guint k = 0; k < app->args->len; k++)
        g_string_append_printf (events, " '%s'", (const char *)app->args->pdata[k]);
      for (guint k = 0; k < app->info->len; k += 2)
        g_string_append_printf (events, " %s=%s", (const char *)app->info->pdata[k],
                                (const char *)app->info->pdata[k + 1]);
      g_string_append_c (events, ']');
    }
  for (guint k = 0; k < spawn->preput->len; k += 2)
    g_string_append_printf (events, " %s=%s", (const char *)spawn->preput->pdata[k],
                            (const char *)spawn->preput->pdata[k + 1]);
  g_string_append_c (events, '\n');
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
  .ask_names = ask_names,
  .spawn = spawn_job,
  .build_mapping = build_mapping,
};

static void
set_up (World *world, gconstpointer data)
{
  DvmdPmiSettings settings = { .nspace = "job", .size = 3, .universe_size = 9, .n_local = N_RANKS };

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
test_names (World *world, gconstpointer data)
{
  g_autofree char *long_port = g_strnfill (DVMD_PMI_VALUE_MAX + 1, 'p');
  g_autofree char *too_long = g_strdup_printf ("cmd=publish_name service=a port=%s\n", long_port);

  say_init (world);
  say (world, 0, "cmd=publish_name service=my ocean port=x=1\n");
  say (world, 1, "cmd=lookup_name service=my ocean\n");
  say (world, 2, "cmd=unpublish_name service=a\n");
  assert_events (world, "publish 0 1 my ocean x=1\nlook-up 1 2 my ocean -\nunpublish 2 3 a -\n");
  assert_hears (world, 0, NULL);
  dvmd_pmi_server_answered (world->server, 2, NULL, "x=1");
  dvmd_pmi_server_answered (world->server, 1, NULL, NULL);
  dvmd_pmi_server_answered (world->server, 3, "service_not_found", NULL);
  assert_hears (world, 0, "cmd=publish_result rc=0 msg=success\n");
  assert_hears (world, 1, "cmd=lookup_result rc=0 msg=success port=x=1\n");
  assert_hears (world, 2, "cmd=unpublish_result rc=-1 msg=service_not_found\n");
  /* These are nobody's any more. */
  dvmd_pmi_server_answered (world->server, 2, NULL, "x=1");
  dvmd_pmi_server_answered (world->server, 0, NULL, NULL);
  assert_hears (world, 1, NULL);

  say (world, 0, "cmd=publish_name service=a\n");
  assert_hears (world, 0, "cmd=publish_result rc=-1 msg=no_port_is_named\n");
  say (world, 0, too_long);
  assert_hears (world, 0, "cmd=publish_result rc=-1 msg=no_port_is_named\n");
  say (world, 0, "cmd=lookup_name port=a\n");
  assert_hears (world, 0, "cmd=lookup_result rc=-1 msg=no_service_is_named\n");
  say (world, 0, "cmd=lookup_name service=\xff\n");
  assert_hears (world, 0, "cmd=lookup_result rc=-1 msg=no_service_is_named\n");
  assert_events (world, "");
  /* A text of PMIx that no line of PMI can have. */
  say (world, 0, "cmd=lookup_name service=a\n");
  assert_events (world, "look-up 0 8 a -\n");
  dvmd_pmi_server_answered (world->server, 8, NULL, "two words");
  assert_hears (world, 0, "cmd=lookup_result rc=-1 msg=no_port_of_pmi\n");
}

/* The answer to one that has gone is for nobody, nor for the one that comes in its place. */
static void
test_names_gone (World *world, gconstpointer data)
{
  say_init (world);
  say (world, 0, "cmd=lookup_name service=a\n");
  dvmd_pmi_server_rank_reaped (world->server, 0);
  dvmd_pmi_server_rank_comes_back (world->server, 0);
  g_close (world->fds[0], NULL);
  world->fds[0] = dup (dvmd_pmi_server_open (world->server, 0, 0, 0, NULL));
  say (world, 0, INIT);
  assert_hears (world, 0, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  dvmd_pmi_server_answered (world->server, 1, NULL, "p");
  assert_hears (world, 0, NULL);
  /* One that does not wait for its answer. */
  assert_events (world, "look-up 0 1 a -\nlost 0\ninitialized 0\n");
  say (world, 1, "cmd=lookup_name service=a\ncmd=get_appnum\n");
  assert_events (world, "look-up 1 2 a -\nlost 1\n");
}

#define COMMAND(fields) "mcmd=spawn\nnprocs=2\nexecname=a\n" fields "argcnt=0\nendcmd\n"

static void
test_spawn (World *world, gconstpointer data)
{
  say_init (world);
  /* As MPICH 4.0 writes it, in pieces. */
  say (world, 0, "mcmd=spawn\nnprocs=2\nexecname=./a b\ntotspawns=2\nspawnssofar=1\narg1=x y\n");
  say (world, 0,
       "arg2==\nargcnt=2\npreput_num=1\npreput_key_0=PARENT_ROOT_PORT_NAME\npreput_val_0=tag#0$x=1$\n"
       "info_num=1\ninfo_key_0=wdir\ninfo_val_0=/a b\nendcmd\n");
  assert_events (world, "");
  assert_hears (world, 0, NULL);
  say (world, 0,
       "mcmd=spawn\nnprocs=1\nexecname=c\ntotspawns=2\nspawnssofar=2\nargcnt=0\npreput_num=1\n"
       "preput_key_0=PARENT_ROOT_PORT_NAME\npreput_val_0=tag#0$x=1$\ninfo_num=0\nendcmd\n");
  assert_events (world, "spawn 0 1 [2 of ./a b 'x y' '=' wdir=/a b] [1 of c] PARENT_ROOT_PORT_NAME=tag#0$x=1$\n");
  assert_hears (world, 0, NULL);
  dvmd_pmi_server_answered (world->server, 1, NULL, NULL);
  assert_hears (world, 0, "cmd=spawn_result rc=0 msg=success errcodes=0,0,0\n");
  /* An answer of 1 KiB has no room for a number of each. */
  say (world, 1, "mcmd=spawn\nnprocs=401\nexecname=a\ntotspawns=1\nargcnt=0\nendcmd\n");
  assert_events (world, "spawn 1 2 [401 of a]\n");
  dvmd_pmi_server_answered (world->server, 2, NULL, NULL);
  assert_hears (world, 1, "cmd=spawn_result rc=0 msg=success\n");
  say (world, 1, COMMAND ("totspawns=1\n"));
  dvmd_pmi_server_answered (world->server, 3, "program_not_found", NULL);
  assert_hears (world, 1, "cmd=spawn_result rc=-1 msg=program_not_found\n");
  /* The children know from the beginning what they were spawned with. */
  dvmd_pmi_server_seed (world->server, "port", "p=1");
  dvmd_pmi_server_seed (world->server, "no key", "p");
  say (world, 2, "cmd=get kvsname=job key=port\n");
  assert_hears (world, 2, "cmd=get_result rc=0 msg=success value=p=1\n");
}

/* Each is refused with a sentence of PMI, and the rank is served as before. */
static void
test_bad_spawns (World *world, gconstpointer data)
{
  static const struct
  {
    const char *text;
    const char *failure;
  } cases[] = {
    { "mcmd=spawn\nendcmd\n", "totspawns_is_missing" },
    { COMMAND ("totspawns=many\n"), "totspawns_is_out_of_range" },
    { COMMAND ("totspawns=0\n"), "totspawns_is_out_of_range" },
    { COMMAND ("totspawns=2000000000\nspawnssofar=1\n"), "totspawns_is_out_of_range" },
    { COMMAND ("totspawns=1\nspawnssofar=2\n"), "spawnssofar_is_out_of_range" },
    { COMMAND ("totspawns=1\nnoise\n"), "a_line_has_no_name" },
    { COMMAND ("totspawns=1\n=\n"), "a_line_has_no_name" },
    { COMMAND ("totspawns=1\nnprocs=0\n"), "nprocs_is_out_of_range" },
    { COMMAND ("totspawns=1\nnprocs=-1\n"), "nprocs_is_out_of_range" },
    { COMMAND ("totspawns=1\nnprocs=99999999999\n"), "nprocs_is_out_of_range" },
    { COMMAND ("totspawns=1\nexecname=\n"), "execname_is_missing" },
    { COMMAND ("totspawns=1\ninfo_num=2000000000\n"), "info_key_0_is_missing" },
    { COMMAND ("totspawns=1\ninfo_num=1\ninfo_key_0=host\n"), "info_val_0_is_missing" },
    { COMMAND ("totspawns=1\npreput_num=x\n"), "preput_num_is_out_of_range" },
    { COMMAND ("totspawns=1\npreput_num=1\npreput_key_0=a b\npreput_val_0=c\n"), "preput_is_out_of_range" },
    { "mcmd=spawn\ntotspawns=1\nnprocs=1\nexecname=a\nargcnt=2000000000\narg1=x\nendcmd\n", "arg2_is_missing" },
    { "mcmd=spawn\ntotspawns=1\nnprocs=1\nexecname=a\nendcmd\n", "argcnt_is_missing" },
    { COMMAND ("totspawns=2\nnprocs=2147483647\n") COMMAND ("totspawns=2\n"), "nprocs_is_out_of_range" },
    { COMMAND ("totspawns=2\nexecname=\n") COMMAND ("totspawns=2\n"), "execname_is_missing" },
  };

  say_init (world);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *expected = g_strdup_printf ("cmd=spawn_result rc=-1 msg=%s\n", cases[i].failure);

      say (world, 0, cases[i].text);
      assert_hears (world, 0, expected);
    }
  assert_events (world, "");
  say (world, 0, COMMAND ("totspawns=1\n"));
  assert_events (world, "spawn 0 20 [2 of a]\n");
}

/* Lines without an end are not kept. */
static void
test_long_spawn (World *world, gconstpointer data)
{
  g_autofree char *text = g_strnfill (4000, 'x');

  say_init (world);
  say (world, 0, "mcmd=spawn\ntotspawns=1\nnprocs=1\nexecname=a\nargcnt=300\n");
  for (guint i = 1; i <= 300; i++)
    {
      g_autofree char *line = g_strdup_printf ("arg%u=%s\n", i, text);

      say (world, 0, line);
    }
  say (world, 0, "endcmd\n");
  assert_hears (world, 0, "cmd=spawn_result rc=-1 msg=the_request_is_too_long\n");
  assert_events (world, "");
}

/* A program that ends in the middle of it takes its rank along, or there is the next one: neither is answered. */
static void
test_spawn_gone (World *world, gconstpointer data)
{
  say_init (world);
  say (world, 0, "mcmd=spawn\nnprocs=1\n");
  say (world, 0, INIT);
  say (world, 1, COMMAND ("totspawns=2\n"));
  say (world, 1, "cmd=get_appnum\n");
  say (world, 2, COMMAND ("totspawns=1\n") COMMAND ("totspawns=1\n"));
  assert_events (world, "lost 0\nlost 1\nspawn 2 1 [2 of a]\nlost 2\n");
  dvmd_pmi_server_answered (world->server, 1, NULL, NULL);
  for (guint i = 0; i < N_RANKS; i++)
    {
      char buffer[16];

      g_assert_cmpint (recv (world->fds[i], buffer, sizeof buffer, MSG_DONTWAIT), ==, 0);
    }
}

#define INIT_TWO "cmd=init pmi_version=2 pmi_subversion=0\n"

static void
say_two (World *world, guint rank, const char *text)
{
  g_autofree char *message = g_strdup_printf ("%6zu%s", strlen (text), text);

  say (world, rank, message);
}

/* text (nullable): there is no answer */
static void
assert_hears_two (World *world, guint rank, const char *text)
{
  g_autofree char *message = text != NULL ? g_strdup_printf ("%6zu%s", strlen (text), text) : NULL;

  assert_hears (world, rank, message);
}

static void
test_two (World *world, gconstpointer data)
{
  dvmd_pmi_server_seed (world->server, DVMD_PMI_SPAWNED, "parent");
  for (guint i = 0; i < N_RANKS; i++)
    {
      g_autofree char *expected = g_strdup_printf (
          "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=%u;size=3;appnum=0;"
          "spawner-jobid=parent;debugged=FALSE;pmiverbose=FALSE;",
          i);

      say (world, i, INIT_TWO);
      assert_hears (world, i, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
      say_two (world, i, "cmd=fullinit;pmirank=0;threaded=FALSE;");
      assert_hears_two (world, i, expected);
    }
  assert_events (world, "initialized 0\ninitialized 1\ninitialized 2\n");
  say_two (world, 0, "cmd=info-getnodeattr;key=shm;wait=TRUE;");
  say_two (world, 1, "cmd=info-getnodeattr;key=shm;wait=FALSE;");
  assert_hears_two (world, 0, NULL);
  assert_hears_two (world, 1, "cmd=info-getnodeattr-response;found=FALSE;rc=0;");
  say_two (world, 1, "cmd=info-putnodeattr;key=shm;value=two words;");
  assert_hears_two (world, 1, "cmd=info-putnodeattr-response;rc=-1;errmsg=invalid_key_or_value;");
  say_two (world, 1, "cmd=info-putnodeattr;key=shm;value=/x;");
  assert_hears_two (world, 1, "cmd=info-putnodeattr-response;rc=0;");
  assert_hears_two (world, 0, "cmd=info-getnodeattr-response;found=TRUE;value=/x;rc=0;");
  say_two (world, 0, "cmd=spawn;ncmds=1;subcmd=a;maxprocs=2;argc=0;");
  say_two (world, 1, "cmd=spawn;ncmds=2;subcmd=a;maxprocs=2;argc=0;");
  say_two (world, 2, "cmd=spawn;ncmds=2;subcmd=a;maxprocs=2;argc=0;subcmd=b;maxprocs=x;argc=0;");
  assert_events (world, "spawn 0 1 [2 of a]\n");
  dvmd_pmi_server_answered (world->server, 1, NULL, "job-2");
  assert_hears_two (world, 0, "cmd=spawn-response;rc=0;jobid=job-2;");
  assert_hears_two (world, 1, "cmd=spawn-response;rc=-1;errmsg=ncmds_is_out_of_range;");
  assert_hears_two (world, 2, "cmd=spawn-response;rc=-1;errmsg=nprocs_is_out_of_range;");
  for (guint i = 0; i < N_RANKS; i++)
    say_two (world, i, i == 0 ? "cmd=kvs-fence;" : "cmd=finalize;");
  assert_hears_two (world, 1, "cmd=finalize-response;rc=0;");
  assert_events (world, "finalized 1\nfinalized 2\nexchange 0\n");
  dvmd_pmi_server_exchanged (world->server, FALSE, NULL);
  assert_hears_two (world, 0, "cmd=kvs-fence-response;rc=-1;errmsg=other_ranks_do_not_come;");
  say_two (world, 0, "cmd=abort;isworld=TRUE;msg=no more\nof it;");
  assert_events (world, "no more 1\n");
  /* The next program of the rank is one of PMI-1. */
  say (world, 1, INIT);
  assert_events (world, "initialized 1\n");
}

/* Messages, and what is none: each of these ends a connection, and no other one. */
static void
test_bad_two (World *world, gconstpointer data)
{
  static const char *const bad[] = {
    "     9cmd=odd;;",     "cmd=get_appnum\n", "    14cmd=kvs-fence;",
    "    13cmd=fullinit;", " 70000",           "    22cmd=info-getnodeattr;k",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_close (world->fds[0], NULL);
      world->fds[0] = dup (dvmd_pmi_server_open (world->server, 0, 0, 0, NULL));
      say (world, 0, INIT_TWO);
      assert_hears (world, 0, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
      if (i != 2)
        {
          char buffer[256];

          say_two (world, 0, "cmd=fullinit;");
          g_assert_cmpint (recv (world->fds[0], buffer, sizeof buffer, MSG_DONTWAIT), >, 0);
        }
      say (world, 0, bad[i]);
      assert_hears (world, 0, "");
    }
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
  g_test_add ("/pmi/barrier", World, NULL, set_up, test_barrier, tear_down);
  g_test_add ("/pmi/names", World, NULL, set_up, test_names, tear_down);
  g_test_add ("/pmi/names-gone", World, NULL, set_up, test_names_gone, tear_down);
  g_test_add ("/pmi/spawn", World, NULL, set_up, test_spawn, tear_down);
  g_test_add ("/pmi/bad-spawns", World, NULL, set_up, test_bad_spawns, tear_down);
  g_test_add ("/pmi/long-spawn", World, NULL, set_up, test_long_spawn, tear_down);
  g_test_add ("/pmi/spawn-gone", World, NULL, set_up, test_spawn_gone, tear_down);
  g_test_add ("/pmi/two", World, NULL, set_up, test_two, tear_down);
  g_test_add ("/pmi/bad-two", World, NULL, set_up, test_bad_two, tear_down);
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
