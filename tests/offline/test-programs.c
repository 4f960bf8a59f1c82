/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two programs of a job share no cpu, whatever words each of them is placed by: every pair of words on every machine,
 * but for overload that the second one allows.
 */

#include "config.h"

#include <string.h>

#include "offline-job.h"

static const char *const machines[] = {
  "package:2 core:2 pu:2",
  "package:2 numa:2 l3:1 l2:1 core:2 pu:1",
  "package:1 l3:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)",
  "pu:4",
  "hybrid.xml",
  "offline.xml",
};

static const char *const ways[] = {
  "slot",
  "node",
  "hwthread",
  "core",
  "l3cache",
  "numa",
  "package",
  "seq",
  "ppr:1:node",
  "ppr:1:core",
  "slot:HWTCPUS",
  "package:HWTCPUS",
  "core:HWTCPUS",
  "ppr:2:core:HWTCPUS",
  "package:PE=2",
  "slot:PE=2:HWTCPUS",
  "pe-list=0-3",
  "pe-list=0-3:ORDERED",
  "pe-list=1-2:ORDERED:HWTCPUS",
};

static const char *const bindings[] = {
  NULL,           "hwthread",
  "core",         "core:limit=1",
  "core:limit=2", "core:overload-allowed",
  "l3cache",      "numa:limit=1",
  "package",      "package:limit=2:overload-allowed",
  "none",
};

#define MOST_CPUS 64

/* One bit for each. */
typedef guint64 Cpus;

typedef struct
{
  const char *map_by;
  const char *bind_to;
} Words;

/* ---- what a program has ---- */

/* The processes of one program */
typedef struct
{
  Cpus own;      /* those of processes that are bound to cores or hardware threads, or to cpus that are named */
  guint n_alone; /* how many of all cpus the processes on larger objects count for at least */
  Cpus around;   /* the cpus of all these objects */
} Share;

static guint
count_cpus (Cpus cpus)
{
  return (guint)__builtin_popcountll (cpus);
}

static void
add_process (Share *self, const DvmdBindingPolicy *policy, const DvmdMapRank *rank, const char *list)
{
  g_autoptr (DvmdCpuset) set = list != NULL ? dvmd_cpuset_new_from_list (list) : NULL;
  Cpus cpus = set != NULL && set->n_words > 0 ? set->words[0] : 0;

  g_assert_true (set == NULL || set->n_words <= MOST_CPUS / 64);
  if (policy->bind_to >= DVMD_OBJECT_CORE || rank->place.kind == DVMD_KIND_CPUS)
    {
      self->own |= cpus;
      return;
    }
  self->n_alone += cpus != 0 ? MAX (policy->pe, 1) : 0;
  self->around |= cpus;
}

static void
add_shares (OfflineJob *job, DvmdMap *map, Share *shares)
{
  g_autoptr (GPtrArray) cpus = offline_job_bind (job, map, NULL);
  g_autoptr (GArray) ranks = dvmd_map_expand_node (map, 1);

  g_assert_nonnull (cpus);
  for (guint i = 0; i < ranks->len; i++)
    {
      const DvmdMapRank *rank = &g_array_index (ranks, DvmdMapRank, i);

      add_process (&shares[rank->app], dvmd_map_get_policy (map, rank->app), rank, cpus->pdata[rank->rank]);
    }
}

/* ---- pairs ---- */

/* Overload is allowed, or all processes have all cpus of a list that both programs name. */
static gboolean
may_share (const Words *one, const Words *other)
{
  return (other->bind_to != NULL && strstr (other->bind_to, "overload") != NULL)
         || (one == other && other->bind_to == NULL && strcmp (other->map_by, "pe-list=0-3") == 0);
}

/* A job of one or two programs on one node. */
static void
init_programs (OfflineJob *job, GPtrArray *mappers, const char *machine, const Words *const *words, const guint32 *np,
               guint n)
{
  offline_job_init (job, mappers);
  offline_job_add_node (job, "n0", machine, 16);
  job->app_wishes = g_array_new (FALSE, FALSE, sizeof (DvmdMapWishes));
  for (guint i = 0; i < n; i++)
    {
      const DvmdMapWishes wishes = { .map_by = words[i]->map_by, .bind_to = words[i]->bind_to, .binds = TRUE };

      g_array_append_val (job->app_wishes, wishes);
      g_array_append_val (job->app_np, np[i]);
    }
}

static char *
describe_pair (const char *machine, const Words *const *words, const guint32 *np)
{
  return g_strdup_printf ("-n %u --map-by %s --bind-to %s a : -n %u --map-by %s --bind-to %s b on %s", np[0],
                          words[0]->map_by, words[0]->bind_to, np[1], words[1]->map_by, words[1]->bind_to, machine);
}

#define MUST_HOLD(condition, shown)                                                                                    \
  do                                                                                                                   \
    {                                                                                                                  \
      if (!(condition))                                                                                                \
        g_error ("%s does not hold: %s", #condition, shown);                                                           \
    }                                                                                                                  \
  while (0)

/* The second program has found what the first one has left. */
static void
check_shares (const Share *one, const Share *other, const char *shown)
{
  MUST_HOLD ((one->own & other->own) == 0, shown);
  MUST_HOLD (one->n_alone <= count_cpus (one->around & ~other->own), shown);
  MUST_HOLD (other->n_alone <= count_cpus (other->around & ~one->own), shown);
  MUST_HOLD (one->n_alone + other->n_alone <= count_cpus (one->around | other->around), shown);
}

/* Whether both programs have a place; if not, a sentence says which one has none. */
static gboolean
try_pair (GPtrArray *mappers, const char *machine, const Words *const *words, const guint32 *np)
{
  g_autofree char *shown = describe_pair (machine, words, np);
  g_auto (OfflineJob) job = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdMap) map = NULL;
  Share shares[2] = { 0 };

  init_programs (&job, mappers, machine, words, np, 2);
  map = offline_job_map (&job, &error);
  if (map == NULL)
    {
      MUST_HOLD (words[0] == words[1] || g_str_has_prefix (error->message, "apps["), shown);
      MUST_HOLD (strchr (error->message, ' ') != NULL && strstr (error->message, "is not used:") == NULL, shown);
      return FALSE;
    }
  add_shares (&job, map, shares);
  if (!may_share (words[0], words[1]))
    check_shares (&shares[0], &shares[1], shown);
  return TRUE;
}

/* (transfer full): those by which a program alone has a place on the machine */
static GArray *
list_words (GPtrArray *mappers, const char *machine)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (Words));

  for (gsize way = 0; way < G_N_ELEMENTS (ways); way++)
    for (gsize i = 0; i < G_N_ELEMENTS (bindings); i++)
      {
        const Words words = { ways[way], bindings[i] };
        const Words *const one[] = { &words };
        static const guint32 np[] = { 1 };
        g_auto (OfflineJob) job = { 0 };
        g_autoptr (DvmdMap) map = NULL;

        init_programs (&job, mappers, machine, one, np, 1);
        map = offline_job_map (&job, NULL);
        if (map != NULL)
          g_array_append_val (found, words);
      }
  return found;
}

/* DVM_OFFLINE_STEP=N: every Nth pair, where each of them takes long. */
static guint
read_step (void)
{
  const char *text = g_getenv ("DVM_OFFLINE_STEP");
  guint64 step = 1;

  if (text != NULL)
    g_assert_true (g_ascii_string_to_unsigned (text, 10, 1, 1000, &step, NULL));
  return (guint)step;
}

static void
test_apart (gconstpointer mappers)
{
  guint step = read_step ();
  guint n_placed = 0;
  guint n_tried = 0;

  for (gsize machine = 0; machine < G_N_ELEMENTS (machines); machine++)
    {
      g_autoptr (GArray) words = list_words ((GPtrArray *)mappers, machines[machine]);

      for (guint i = 0; i < words->len * words->len; i += step, n_tried++)
        {
          const Words *const both[] = { &g_array_index (words, Words, i / words->len),
                                        &g_array_index (words, Words, i % words->len) };
          const guint32 np[] = { 1 + i % 2, 2 - i % 2 };

          n_placed += try_pair ((GPtrArray *)mappers, machines[machine], both, np);
        }
    }
  g_test_message ("%u of %u jobs have a place", n_placed, n_tried);
  g_assert_cmpuint (n_placed, >, n_tried / 2);
}

/* Placed by the same words, programs share a core only where there are more of them than cores, each of two threads. */
static void
test_cores (gconstpointer mappers)
{
  static const struct
  {
    const char *map_by;
    guint32 np[2];
    const char *expected;
  } cases[] = {
    { "core:HWTCPUS", { 1, 1 }, "0:0:0-1 1:0:2-3" },
    { "slot:HWTCPUS", { 1, 2 }, "0:0:0-1 1:0:2-3 2:0:2-3" },
    { "core:HWTCPUS", { 3, 1 }, "0:0:0-1 1:0:2-3 2:0:4-5 3:0:6-7" },
    { "core:HWTCPUS", { 4, 1 }, "0:0:0-1 1:0:2-3 2:0:4-5 3:0:6-7 4:0:0-1" },
    { "core:HWTCPUS", { 4, 4 }, "0:0:0-1 1:0:2-3 2:0:4-5 3:0:6-7 4:0:0-1 5:0:2-3 6:0:4-5 7:0:6-7" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const Words words = { cases[i].map_by, "core" };
      const Words *const both[] = { &words, &words };
      g_auto (OfflineJob) job = { 0 };
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmdMap) map = NULL;
      g_autoptr (GPtrArray) cpus = NULL;
      g_autofree char *shown = NULL;

      init_programs (&job, (GPtrArray *)mappers, machines[0], both, cases[i].np, 2);
      map = offline_job_map (&job, &error);
      g_assert_no_error (error);
      cpus = offline_job_bind (&job, map, &error);
      g_assert_no_error (error);
      shown = offline_job_show (&job, map, cpus);
      g_assert_cmpstr (shown, ==, cases[i].expected);
    }
}

static const OfflineTest tests[] = {
  { "/programs/apart", test_apart },
  { "/programs/cores", test_cores },
};

int
main (int argc, char **argv)
{
  return offline_run_tests (argc, argv, tests, G_N_ELEMENTS (tests));
}
