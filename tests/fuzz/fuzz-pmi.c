/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranks that speak PMI-1 say what they like.
 */

#include "config.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "dvmd-pmi-server.h"
#include "fuzz.h"

#define N_RANKS 2

typedef struct
{
  DvmdClock *clock;
  DvmdPmiServer *server;
  int fds[N_RANKS];
  gboolean waits; /* a barrier, for the other nodes */
  GBytes *news;   /* (nullable): of that */
  guint question; /* that has no answer yet; 0: none */
} World;

static gboolean
initialized (guint32 rank, gpointer user_data)
{
  return TRUE;
}

static void
finalized (guint32 rank, gpointer user_data)
{
}

static void
lost (guint32 rank, gpointer user_data)
{
}

static void
aborted (guint32 rank, int status, const char *message, gpointer user_data)
{
  g_assert_true (message == NULL || strchr (message, '\n') == NULL);
}

static void
exchange (GBytes *news, gboolean any_lost, gpointer user_data)
{
  World *world = user_data;

  g_assert_false (world->waits);
  world->waits = TRUE;
  world->news = g_bytes_ref (news);
}

/* Every third one is answered at once, every other one later, if no other comes before. */
static void
ask_names (guint32 rank, guint number, DvmdPmiNames what, const char *service, const char *port, gpointer user_data)
{
  World *world = user_data;

  g_assert_true (g_utf8_validate (service, -1, NULL));
  g_assert_cmpint (port != NULL, ==, what == DVMD_PMI_PUBLISH);
  if (number % 3 == 0)
    dvmd_pmi_server_answered (world->server, number, NULL, what == DVMD_PMI_LOOK_UP ? service : NULL);
  else
    world->question = number;
}

static void
spawn_job (guint32 rank, guint number, const DvmdPmiSpawn *spawn, gpointer user_data)
{
  World *world = user_data;
  guint n_procs = 0;

  for (guint i = 0; i < spawn->apps->len; i++)
    {
      const DvmdPmiSpawnApp *app = spawn->apps->pdata[i];

      g_assert_cmpuint (app->n_procs, >, 0);
      g_assert_cmpuint (strlen (app->program), >, 0);
      g_assert_cmpuint (app->info->len % 2, ==, 0);
      n_procs += app->n_procs;
    }
  g_assert_cmpuint (spawn->n_procs, ==, n_procs);
  g_assert_cmpuint (spawn->apps->len, >, 0);
  g_assert_cmpuint (spawn->preput->len % 2, ==, 0);
  for (guint i = 0; i < spawn->preput->len; i += 2)
    dvmd_pmi_server_seed (world->server, spawn->preput->pdata[i], spawn->preput->pdata[i + 1]);
  if (number % 3 == 0)
    dvmd_pmi_server_answered (world->server, number, NULL, "job");
  else
    world->question = number;
}

static char *
build_mapping (gpointer user_data)
{
  return g_strdup ("(vector,(0,1,2))");
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

/* Answers are read, and a barrier that waits for other nodes ends with what they have put: what these ranks have. */
static void
go_on (World *self)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
  for (guint i = 0; i < N_RANKS; i++)
    {
      char answers[16 * 1024];

      while (self->fds[i] >= 0 && recv (self->fds[i], answers, sizeof answers, MSG_DONTWAIT) > 0)
        ;
    }
  if (!self->waits)
    return;
  self->waits = FALSE;
  dvmd_pmi_server_exchanged (self->server, TRUE, self->news);
  g_clear_pointer (&self->news, g_bytes_unref);
}

static void
open_rank (World *self, guint rank)
{
  if (self->fds[rank] >= 0)
    g_close (self->fds[rank], NULL);
  self->fds[rank] = dup (dvmd_pmi_server_open (self->server, rank, rank, 0, NULL));
  g_assert_cmpint (self->fds[rank], >=, 0);
}

/* The first byte of a line says of which rank it is, or what happens to that. */
static void
act (World *self, const char *line, gsize length)
{
  guint rank = line[0] & 1;

  switch (line[0])
    {
    case 'b':
    case 'c':
      dvmd_pmi_server_rank_reaped (self->server, rank);
      dvmd_pmi_server_rank_comes_back (self->server, rank);
      open_rank (self, rank);
      break;
    case 'd':
    case 'e':
      dvmd_pmi_server_rank_reaped (self->server, rank);
      dvmd_clock_advance (self->clock, 2 * G_USEC_PER_SEC);
      break;
    case 'f':
    case 'g':
      dvmd_pmi_server_rank_ended (self->server, rank);
      break;
    case 'h':
      dvmd_pmi_server_answered (self->server, self->question, NULL, "port");
      break;
    case 'i':
      dvmd_pmi_server_answered (self->server, self->question, "failed", NULL);
      break;
    case 'j':
    case 'k':
      {
        /* A message of PMI-2, whose length is right. */
        gsize size = length - 1 - (line[length - 1] == '\n');
        g_autofree char *message = g_strdup_printf ("%6zu%.*s", size, (int)size, line + 1);

        send (self->fds[rank], message, strlen (message), MSG_DONTWAIT | MSG_NOSIGNAL);
        break;
      }
    default:
      send (self->fds[rank], line + 1, length - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
      break;
    }
  go_on (self);
}

void
fuzz_pmi (const guint8 *data, gsize size)
{
  DvmdPmiSettings settings = { .nspace = "job", .size = 3, .universe_size = 4, .n_local = N_RANKS };
  World world = { .fds = { -1, -1 } };
  const char *at = (const char *)data;

  settings.clock = world.clock = dvmd_clock_new_manual (0);
  world.server = dvmd_pmi_server_new (&settings, &funcs, &world);
  for (guint i = 0; i < N_RANKS; i++)
    open_rank (&world, i);
  while (size > 0)
    {
      const char *end = memchr (at, '\n', size);
      gsize length = end != NULL ? (gsize)(end - at) + 1 : size;

      act (&world, at, length);
      at += length;
      size -= length;
    }
  for (guint i = 0; i < N_RANKS; i++)
    g_close (world.fds[i], NULL);
  go_on (&world);
  dvmd_pmi_server_free (world.server);
  dvmd_clock_unref (world.clock);
}
