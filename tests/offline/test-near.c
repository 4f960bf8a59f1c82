/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs that are bound near devices whose cpus are the same, or some of those near another one. What has a place is
 * bound, and what has none would have none in any other way.
 */

#include "config.h"

#include <string.h>

#include "offline-job.h"

#define N_CPUS     8
#define MOST_CARDS 4
#define MOST_NODES 3
#define MOST_PE    3
#define N_MACHINES 40
#define ROUNDS     2000
#define MACHINE    "package:2 numa:2 core:2 pu:1"

/* Where a card may be: at the machine, a package, a NUMA node or a core. */
static const char *const places[] = { "0-7", "0-3", "4-7", "0-1", "2-3", "4-5", "6-7", "0", "5" };

/* ---- a search of all ways ---- */

typedef struct
{
  guint cards[MOST_CARDS]; /* bits of the cpus near */
  guint n_cards;
  guint in_use;
  char *text;
} Machine;

typedef struct
{
  const Machine *machine;
  guint pe;
  guint quota; /* of each card, or none; 0: one, or with shared any number */
  gboolean shared;
  gint8 known[MOST_CARDS + 1][MOST_PE + 1][1 << N_CPUS]; /* the answer plus one */
} Search;

/* How many processes have a place from this card on, of which so many are still to be put on it; less than 0: none of
 * the ways is one. */
static int
search (Search *self, guint card, guint more, guint free)
{
  gint8 *known = &self->known[card][more][free];
  int best = more > 0 ? -100 : 0;

  if (*known != 0)
    return *known - 1;
  if (card == self->machine->n_cards)
    return 0;
  if (more == 0)
    {
      best = search (self, card + 1, 0, free);
      if (self->quota > 0)
        best = MAX (best, search (self, card, self->quota, free));
    }
  for (guint cpus = 1; (more > 0 || self->quota == 0) && cpus < 1 << N_CPUS; cpus++)
    if ((cpus & ~(free & self->machine->cards[card])) == 0 && (guint)__builtin_popcount (cpus) == self->pe
        && ((cpus & 0x0f) == 0 || (cpus & 0xf0) == 0))
      {
        gboolean stays = self->quota > 0 ? more > 1 : self->shared;

        best = MAX (best, 1 + search (self, stays ? card : card + 1, more > 1 ? more - 1 : 0, free & ~cpus));
      }
  *known = (gint8)(best + 1);
  return best;
}

/* ---- jobs ---- */

typedef struct
{
  OfflineJob job;
  const Machine *machines[MOST_NODES];
  Search policy; /* of none of the machines */
  guint np;
  char *map_by;
  guint other_pe; /* of a second program, which is placed by other words; 0: there is none */
  char *other;
} Trial;

static guint
read_cpus (const char *list)
{
  g_autoptr (DvmdCpuset) set = dvmd_cpuset_new_from_list (list);

  return set->n_words > 0 ? (guint)set->words[0] : 0;
}

static void
draw_machine (Machine *self, GRand *random)
{
  GString *text = g_string_new (MACHINE " |");

  *self = (Machine){ .n_cards = (guint)g_rand_int_range (random, 1, MOST_CARDS + 1) };
  for (guint i = 0; i < self->n_cards; i++)
    {
      const char *place = places[g_rand_int_range (random, 0, G_N_ELEMENTS (places))];

      self->cards[i] = read_cpus (place);
      g_string_append_printf (text, " %s", place);
    }
  if (g_rand_int_range (random, 0, 3) == 0)
    self->in_use = (guint)g_rand_int_range (random, 0, 1 << N_CPUS);
  self->text = g_string_free (text, FALSE);
}

static void
draw_trial (Trial *self, GRand *random, GPtrArray *mappers, const Machine *machines)
{
  guint n_nodes = (guint)g_rand_int_range (random, 1, MOST_NODES + 1);
  guint n_apps = (guint)g_rand_int_range (random, 1, 3);

  self->policy = (Search){ .pe = (guint)g_rand_int_range (random, 1, MOST_PE + 1) };
  self->policy.shared = g_rand_boolean (random);
  if (g_rand_int_range (random, 0, 3) == 0)
    self->policy.quota = (guint)g_rand_int_range (random, 1, MOST_PE + 1);
  offline_job_init (&self->job, mappers);
  for (guint i = 0; i < n_nodes; i++)
    {
      const Machine *machine = &machines[g_rand_int_range (random, 0, N_MACHINES)];
      guint64 in_use = machine->in_use;

      self->machines[i] = machine;
      offline_job_add_node (&self->job, "n", machine->text, 32)->in_use = dvmd_cpuset_copy (
          &(const DvmdCpuset){ 1, &in_use });
    }
  if (self->policy.quota > 0)
    self->map_by = g_strdup_printf ("ppr:%u:device=network:pe=%u", self->policy.quota, self->policy.pe);
  else
    self->map_by = g_strdup_printf ("device=network:pe=%u:shared=%s%s", self->policy.pe,
                                    self->policy.shared ? "y" : "n", g_rand_boolean (random) ? ":span" : "");
  /* By ppr each program has its number on a node, or none of them has. */
  for (guint i = 0; i < (self->policy.quota > 0 ? 1 : n_apps); i++)
    {
      guint32 np = (guint32)g_rand_int_range (random, 1, 12 / (int)n_apps);

      g_array_append_val (self->job.app_np, np);
      self->np += np;
    }
  self->job.wishes = (DvmdMapWishes){ .map_by = self->map_by, .bind_to = "core", .binds = TRUE };
}

/* A second program finds the cards and cpus that the first one has left. */
static void
draw_other (Trial *self, GRand *random)
{
  DvmdMapWishes wishes = self->job.wishes;
  guint32 np = (guint32)g_rand_int_range (random, 1, 4);

  self->other_pe = (guint)g_rand_int_range (random, 1, MOST_PE + 1);
  self->other = g_strdup_printf ("ppr:1:device=network:pe=%u", self->other_pe);
  self->job.app_wishes = g_array_new (FALSE, FALSE, sizeof (DvmdMapWishes));
  g_array_set_size (self->job.app_np, 1);
  g_array_append_val (self->job.app_np, np);
  g_array_append_val (self->job.app_wishes, wishes);
  wishes.map_by = self->other;
  g_array_append_val (self->job.app_wishes, wishes);
}

static guint
count_room (const Trial *self, Search *searched)
{
  guint room = 0;

  for (guint i = 0; i < self->job.nodes->len; i++)
    {
      *searched = self->policy;
      searched->machine = self->machines[i];
      room += (guint)search (searched, 0, 0, 0xff & ~self->machines[i]->in_use);
    }
  return room;
}

/* Each process has its own cpus, all of them near its card. */
static void
check_bound (Trial *self, DvmdMap *map)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) cpus = offline_job_bind (&self->job, map, &error);

  if (cpus == NULL)
    g_error ("--map-by %s: %s", self->map_by, error->message);
  for (guint i = 0; i < self->job.nodes->len; i++)
    {
      g_autoptr (GArray) ranks = dvmd_map_expand_node (map, i + 1);
      guint taken = self->machines[i]->in_use;

      for (guint k = 0; k < ranks->len; k++)
        {
          const DvmdMapRank *rank = &g_array_index (ranks, DvmdMapRank, k);
          guint own = read_cpus (cpus->pdata[rank->rank]);
          guint pe = rank->app > 0 && self->other != NULL ? self->other_pe : self->policy.pe;

          g_assert_cmpuint (own & ~self->machines[i]->cards[rank->place.object], ==, 0);
          g_assert_cmpuint (own & taken, ==, 0);
          g_assert_cmpint (__builtin_popcount (own), ==, (int)pe);
          taken |= own;
        }
    }
}

static gboolean
try_trial (GRand *random, GPtrArray *mappers, const Machine *machines, Search *searched)
{
  Trial self = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdMap) map = NULL;
  guint room;

  draw_trial (&self, random, mappers, machines);
  if (g_rand_int_range (random, 0, 4) == 0)
    draw_other (&self, random);
  map = offline_job_map (&self.job, &error);
  room = count_room (&self, searched);
  if (self.other != NULL && map == NULL && strstr (error->message, "can be bound") != NULL)
    g_error ("--map-by %s : --map-by %s on %s: %s", self.map_by, self.other, self.machines[0]->text, error->message);
  if (self.other == NULL && (map != NULL) != (self.np <= room))
    g_error ("-n %u --map-by %s on %u nodes, the first is %s (in use %02x): %s, and there is room for %u", self.np,
             self.map_by, self.job.nodes->len, self.machines[0]->text, self.machines[0]->in_use,
             map != NULL ? "has a place" : error->message, room);
  if (map != NULL)
    check_bound (&self, map);
  offline_job_clear (&self.job);
  g_free (self.map_by);
  g_free (self.other);
  return map != NULL;
}

static void
test_random (gconstpointer mappers)
{
  guint32 seed = (guint32)g_test_rand_int ();
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  g_autofree Search *searched = g_new (Search, 1);
  Machine machines[N_MACHINES];
  guint n_placed = 0;

  g_test_message ("seed %u", seed);
  for (guint i = 0; i < N_MACHINES; i++)
    draw_machine (&machines[i], random);
  for (guint i = 0; i < ROUNDS; i++)
    n_placed += try_trial (random, (GPtrArray *)mappers, machines, searched);
  g_assert_cmpuint (n_placed, >, ROUNDS / 10);
  g_assert_cmpuint (n_placed, <, ROUNDS - ROUNDS / 10);
  for (guint i = 0; i < N_MACHINES; i++)
    g_free (machines[i].text);
}

/* ---- by hand ---- */

typedef struct
{
  const char *machines; /* with ";" between them, of 32 slots each */
  const char *map_by;
  const char *bind_to; /* (nullable) */
  guint32 np;          /* 0: not given */
  const char *expected;
} Case;

static void
test_cases (gconstpointer mappers)
{
  static const Case cases[] = {
    /* A card whose cpus another one has is passed over, for the next one or the next node. */
    { "gpus.xml", "device=gpu:PE=2", NULL, 2, "0:0:2-3 1:0:4-5" },
    { "gpus.xml", "device=gpu:PE=2:SPAN", NULL, 3, "0:0:2-3 1:0:4-5 2:0:6-7" },
    { "gpus.xml", "device=gpu:PE=2", NULL, 0, "0:0:2-3 1:0:4-5 2:0:6-7" },
    { "gpus.xml;gpus.xml", "device=gpu:PE=2", NULL, 4, "0:0:2-3 1:0:4-5 2:0:6-7 3:1:2-3" },
    { "gpus.xml", "ppr:2:device=gpu", "core", 4, "0:0:2 1:0:3 2:0:4 3:0:5" },
    { "gpus.xml", "device=gpu:SHARED", "core", 5, "0:0:2 1:0:3 2:0:4 3:0:5 4:0:6" },
    { "gpus.xml", "device=gpu", "numa:limit=1", 2, "0:0:2-3 1:0:4-5" },
    /* One that has fewer cpus near than the object is refused, and not passed over for the sake of a limit. */
    { MACHINE " | 0-1 2", "device=network", "numa:limit=1", 2,
      "node n: bind-to: one numa has cpus that are not near the device, which are 2: bind to something in them, such "
      "as "
      "core" },
    /* The one with fewer cpus near has the choice. */
    { MACHINE " | 0-3 0-1", "device=network:PE=2", NULL, 2, "0:0:2-3 1:0:0-1" },
    { MACHINE " | 0-7 0-3 0-1", "device=network:PE=2", NULL, 3, "0:0:4-5 1:0:2-3 2:0:0-1" },
    /* Without a word of the job nobody is put elsewhere for the sake of a binding. */
    { MACHINE " | 0 0 1", "device=network", NULL, 2, "0:0:- 1:0:-" },
    { MACHINE " | 0 0 1", "device=network", "core", 2, "0:0:0 1:0:1" },
    { MACHINE " | 0-1 0-1 2-7", "device=network:SHARED", NULL, 4, "0:0:- 1:0:- 2:0:- 3:0:-" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (OfflineJob) job = { 0 };
      g_auto (GStrv) machines = g_strsplit (cases[i].machines, ";", -1);
      g_autofree char *placed = NULL;

      offline_job_init (&job, (GPtrArray *)mappers);
      for (guint k = 0; machines[k] != NULL; k++)
        offline_job_add_node (&job, "n", machines[k], 32);
      placed = offline_job_place (&job, cases[i].map_by, cases[i].bind_to, NULL, cases[i].np);
      if (strcmp (placed, cases[i].expected) != 0)
        g_error ("-n %u --map-by %s --bind-to %s on %s is \"%s\", not \"%s\"", cases[i].np, cases[i].map_by,
                 cases[i].bind_to, cases[i].machines, placed, cases[i].expected);
    }
}

/* A job that is not bound says why. */
static void
test_why_unbound (gconstpointer mappers)
{
  static const struct
  {
    const char *map_by;
    const char *bind_to; /* (nullable) */
    guint32 np;
    const char *why;
  } cases[] = {
    { "device=gpu:SHARED", NULL, 7, "more processes than cpus near their devices" },
    { "device=gpu", "package:if-supported", 2,
      "node n: bind-to: one package has cpus that are not near the device, which are 2-3: bind to something in them, "
      "such "
      "as core" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (OfflineJob) job = { 0 };
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmdMap) map = NULL;

      offline_job_init (&job, (GPtrArray *)mappers);
      offline_job_add_node (&job, "n", "gpus.xml", 32);
      g_array_append_val (job.app_np, cases[i].np);
      job.wishes = (DvmdMapWishes){ .map_by = cases[i].map_by, .bind_to = cases[i].bind_to, .binds = TRUE };
      map = offline_job_map (&job, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (map->unbound, ==, cases[i].why);
    }
}

static const OfflineTest tests[] = {
  { "/near/cases", test_cases },
  { "/near/why-unbound", test_why_unbound },
  { "/near/random", test_random },
};

int
main (int argc, char **argv)
{
  return offline_run_tests (argc, argv, tests, G_N_ELEMENTS (tests));
}
