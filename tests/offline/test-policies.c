/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random policies on random machines: each rank has one place, no cpu has two of them unless they may share, limits and
 * objects are kept, the load is as even as the policy says, and what is refused does not fit. DVM_TEST_SOAK: 100,000 of
 * them, DVM_TEST_SEED: those of that seed.
 */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "offline-job.h"

#define MOST_NODES    5
#define MOST_PROGRAMS 4
#define MOST_OBJECTS  256
#define ROUNDS        2000
#define SOAK          100000

static const char *const machines[] = {
  "package:2 numa:1 core:8 pu:2", /* two packages with SMT */
  "package:2 numa:2 l3:2 core:4 pu:1",
  "package:1 core:6 pu:1",
  "package:1 l3:8 core:2 pu:2",                                           /* many L3 */
  "package:2 core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)", /* one memory over packages */
  "package:3 numa:1 l3:1 l2:3 core:1 pu:1",
  "package:1 core:1 pu:1",
  "package:2 numa:2 l3:1 l2:2 l1:1 core:2 pu:4",
  "hybrid.xml",  /* cores of two threads and of one */
  "offline.xml", /* some hardware threads are not there */
};

/* From the smallest to the largest, by the numbers of DvmdObjectKind. */
static const char *const kind_names[] = {
  "node", "package", "numa", "l3cache", "l2cache", "l1cache", "core", "hwthread"
};

typedef enum
{
  BY_SLOT,
  BY_NODE,
  BY_OBJECT,
  BY_PPR,
} Way;

typedef struct
{
  OfflineJob job;
  Way way;
  DvmdObjectKind kind; /* of the objects that it is mapped on */
  DvmdObjectKind bind; /* DVMD_OBJECT_NODE: not bound */
  gboolean span;
  gboolean overload;
  gboolean hwthreads;
  guint pe;
  guint per_object; /* of ppr */
  GString *map_by;
  GString *bind_to;
  char *rank_by;
  char *shown;
} Trial;

static void
trial_clear (Trial *self)
{
  offline_job_clear (&self->job);
  g_string_free (self->map_by, TRUE);
  g_string_free (self->bind_to, TRUE);
  g_free (self->rank_by);
  g_free (self->shown);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Trial, trial_clear)

/* ---- drawing ---- */

static OfflineNode *
node_at (Trial *self, guint i)
{
  return &g_array_index (self->job.nodes, OfflineNode, i);
}

static void
draw_in_use (GRand *random, OfflineNode *node)
{
  GString *list = g_string_new (NULL);
  guint n = dvmd_topology_get_n_pus (node->topology);

  for (guint cpu = 0; cpu < n; cpu++)
    if (g_rand_int_range (random, 0, 4) == 0)
      g_string_append_printf (list, "%s%u", list->len > 0 ? "," : "", cpu);
  node->in_use = dvmd_cpuset_new_from_list (list->str);
  g_string_free (list, TRUE);
}

static void
draw_nodes (Trial *self, GRand *random)
{
  guint n = (guint)g_rand_int_range (random, 1, MOST_NODES + 1);
  const char *machine = machines[g_rand_int_range (random, 0, G_N_ELEMENTS (machines))];
  gboolean mixed = g_rand_int_range (random, 0, 3) == 0;

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("n%u", i);
      OfflineNode *node;

      if (mixed)
        machine = machines[g_rand_int_range (random, 0, G_N_ELEMENTS (machines))];
      node = offline_job_add_node (&self->job, name, machine, (guint)g_rand_int_range (random, 0, 32));
      if (g_rand_int_range (random, 0, 4) == 0)
        node->slots_max = node->slots + (guint)g_rand_int_range (random, 0, 5);
      if (g_rand_int_range (random, 0, 4) == 0)
        draw_in_use (random, node);
    }
}

static void
draw_way (Trial *self, GRand *random)
{
  self->way = (Way)g_rand_int_range (random, 0, 4);
  self->kind = DVMD_OBJECT_NODE;
  self->per_object = (guint)g_rand_int_range (random, 1, 4);
  if (self->way == BY_OBJECT)
    self->kind = (DvmdObjectKind)g_rand_int_range (random, DVMD_OBJECT_PACKAGE, DVMD_OBJECT_DEVICE);
  else if (self->way == BY_PPR)
    self->kind = (DvmdObjectKind)g_rand_int_range (random, DVMD_OBJECT_NODE, DVMD_OBJECT_DEVICE);
  if (self->way == BY_PPR)
    g_string_printf (self->map_by, "ppr:%u:%s", self->per_object, kind_names[self->kind]);
  else
    g_string_assign (self->map_by, self->way == BY_SLOT   ? "slot"
                                   : self->way == BY_NODE ? "node"
                                                          : kind_names[self->kind]);
}

static void
draw_binding (Trial *self, GRand *random)
{
  self->bind = DVMD_OBJECT_NODE;
  if (self->pe > 1)
    self->bind = self->hwthreads ? DVMD_OBJECT_HWTHREAD : DVMD_OBJECT_CORE;
  else if (g_rand_int_range (random, 0, 4) > 0)
    self->bind = (DvmdObjectKind)g_rand_int_range (random, MAX (self->kind, DVMD_OBJECT_PACKAGE), DVMD_OBJECT_DEVICE);
  self->hwthreads = self->hwthreads || self->bind == DVMD_OBJECT_HWTHREAD;
  g_string_assign (self->bind_to, self->bind == DVMD_OBJECT_NODE ? "none" : kind_names[self->bind]);
  self->overload = self->bind != DVMD_OBJECT_NODE && g_rand_int_range (random, 0, 4) == 0;
  if (self->overload)
    g_string_append (self->bind_to, ":overload-allowed");
}

static void
draw_policy (Trial *self, GRand *random)
{
  static const char *const rankings[] = { NULL, NULL, "slot", "node", "fill", "span" };
  gboolean objects = self->way == BY_OBJECT || self->way == BY_PPR;

  self->hwthreads = self->kind == DVMD_OBJECT_HWTHREAD || g_rand_int_range (random, 0, 4) == 0;
  self->pe = g_rand_int_range (random, 0, 3) == 0 ? (guint)g_rand_int_range (random, 1, 5) : 1;
  draw_binding (self, random);
  if (self->pe > 1)
    g_string_append_printf (self->map_by, ":PE=%u", self->pe);
  if (self->hwthreads)
    g_string_append (self->map_by, ":HWTCPUS");
  self->span = self->way == BY_OBJECT && g_rand_boolean (random);
  if (self->span)
    g_string_append (self->map_by, ":SPAN");
  self->rank_by = g_strdup (rankings[g_rand_int_range (random, 0, objects ? 6 : 4)]);
  self->job.oversubscribe = g_rand_int_range (random, 0, 4) == 0;
}

static void
draw_trial (Trial *self, GRand *random, GPtrArray *mappers)
{
  GString *shown = g_string_new (NULL);
  guint n_apps = (guint)g_rand_int_range (random, 1, 3);

  *self = (Trial){ .map_by = g_string_new (NULL), .bind_to = g_string_new (NULL) };
  offline_job_init (&self->job, mappers);
  draw_nodes (self, random);
  draw_way (self, random);
  draw_policy (self, random);
  for (guint i = 0; i < n_apps; i++)
    {
      guint32 np = (guint32)g_rand_int_range (random, 1, 24);

      g_array_append_val (self->job.app_np, np);
      g_string_append_printf (shown, "-np %u ", np);
    }
  self->job.wishes.map_by = self->map_by->str;
  self->job.wishes.bind_to = self->bind_to->str;
  self->job.wishes.rank_by = self->rank_by;
  g_string_append_printf (shown, "--map-by %s --bind-to %s --rank-by %s%s on", self->map_by->str, self->bind_to->str,
                          self->rank_by != NULL ? self->rank_by : "-", self->job.oversubscribe ? " oversubscribe" : "");
  for (guint i = 0; i < self->job.nodes->len; i++)
    g_string_append_printf (shown, " [%u..%u %s]", node_at (self, i)->slots, node_at (self, i)->slots_max,
                            dvmd_topology_get_signature (node_at (self, i)->topology));
  self->shown = g_string_free (shown, FALSE);
}

/* ---- what is there, counted slowly ---- */

static gboolean
has_cpu (const DvmdCpuset *set, guint cpu)
{
  return set != NULL && cpu / 64 < set->n_words && (set->words[cpu / 64] >> cpu % 64 & 1) != 0;
}

static gboolean
meet (const DvmdCpuset *left, const DvmdCpuset *right)
{
  for (guint cpu = 0; left != NULL && cpu < 64 * left->n_words; cpu++)
    if (has_cpu (left, cpu) && has_cpu (right, cpu))
      return TRUE;
  return FALSE;
}

static DvmdObjectKind
unit_of (const Trial *self)
{
  return self->hwthreads ? DVMD_OBJECT_HWTHREAD : DVMD_OBJECT_CORE;
}

/* The cpus that are in both objects, and free. */
static guint
count_cpus (Trial *self, guint node, const DvmdCpuset *in, const DvmdCpuset *also, gboolean any)
{
  OfflineNode *machine = node_at (self, node);
  guint n = 0;

  for (guint i = 0; i < dvmd_map_topology_get_n_objects (machine->objects, unit_of (self)); i++)
    {
      const DvmdCpuset *unit = dvmd_map_topology_get_cpus (machine->objects, unit_of (self), i);

      n += dvmd_cpuset_is_within (unit, in) && dvmd_cpuset_is_within (unit, also)
           && (any || !meet (machine->in_use, unit));
    }
  return n;
}

/* How many processes an object has room for; with overload any number, if one fits. */
static guint64
room_of_object (Trial *self, guint node, guint index)
{
  DvmdMapTopology *objects = node_at (self, node)->objects;
  const DvmdCpuset *cpus = dvmd_map_topology_get_cpus (objects, self->kind, index);
  guint64 room = 0;

  if (self->bind == DVMD_OBJECT_NODE)
    return G_MAXUINT32;
  for (guint i = 0; i < dvmd_map_topology_get_n_objects (objects, DVMD_OBJECT_PACKAGE); i++)
    room += count_cpus (self, node, cpus, dvmd_map_topology_get_cpus (objects, DVMD_OBJECT_PACKAGE, i), self->overload)
            / self->pe;
  return self->overload && room > 0 ? G_MAXUINT32 : room;
}

static guint64
limit_of_node (Trial *self, guint node)
{
  const OfflineNode *machine = node_at (self, node);
  guint32 most = machine->slots_max > 0 ? machine->slots_max : G_MAXUINT32;

  return self->job.oversubscribe ? most : machine->slots;
}

/* A node without what processes are to be bound to takes none. */
static guint64
room_of_node (Trial *self, guint node)
{
  guint64 room = 0;

  if (dvmd_map_topology_get_n_objects (node_at (self, node)->objects, self->bind) == 0)
    return 0;
  for (guint i = 0; i < dvmd_map_topology_get_n_objects (node_at (self, node)->objects, self->kind); i++)
    room += room_of_object (self, node, i);
  return MIN (room, limit_of_node (self, node));
}

static guint64
count_procs (Trial *self)
{
  guint64 np = 0;

  for (guint i = 0; i < self->job.app_np->len; i++)
    np += g_array_index (self->job.app_np, guint32, i);
  return np;
}

/* ---- what must hold ---- */

typedef struct
{
  Trial *trial;
  DvmdMap *map;
  GPtrArray *cpus;
} Result;

#define MUST_HOLD(condition, trial)                                                                                    \
  do                                                                                                                   \
    {                                                                                                                  \
      if (!(condition))                                                                                                \
        g_error ("%s does not hold: %s", #condition, (trial)->shown);                                                  \
    }                                                                                                                  \
  while (0)

static void
check_cpus_of_rank (const Result *self, guint node, const DvmdMapRank *rank, guint8 *taken)
{
  Trial *trial = self->trial;
  OfflineNode *machine = node_at (trial, node);
  const char *list = self->cpus->pdata[rank->rank];
  const DvmdCpuset *object = dvmd_map_topology_get_cpus (machine->objects, rank->place.kind, rank->place.object);
  const DvmdCpuset *all = dvmd_map_topology_get_cpus (machine->objects, DVMD_OBJECT_NODE, 0);
  g_autoptr (DvmdCpuset) cpus = NULL;
  guint n_units = 0;

  MUST_HOLD ((list != NULL) == (trial->bind != DVMD_OBJECT_NODE), trial);
  if (list == NULL)
    return;
  cpus = dvmd_cpuset_new_from_list (list);
  MUST_HOLD (list[0] != '\0' && dvmd_cpuset_is_within (cpus, all), trial);
  /* A memory may be that of two packages, and a core is taken whole. */
  MUST_HOLD (dvmd_cpuset_is_within (cpus, object) || trial->bind == DVMD_OBJECT_CORE || trial->bind == DVMD_OBJECT_NUMA,
             trial);
  if (trial->bind < DVMD_OBJECT_CORE)
    return;
  for (guint i = 0; i < dvmd_map_topology_get_n_objects (machine->objects, unit_of (trial)); i++)
    if (meet (cpus, dvmd_map_topology_get_cpus (machine->objects, unit_of (trial), i)))
      {
        n_units++;
        taken[i]++;
      }
  /* Bound to cores, hardware threads are taken by the whole core. */
  MUST_HOLD (trial->bind == DVMD_OBJECT_CORE && trial->hwthreads ? n_units >= trial->pe : n_units == trial->pe, trial);
}

static void
check_node (const Result *self, guint node)
{
  Trial *trial = self->trial;
  OfflineNode *machine = node_at (trial, node);
  g_autoptr (GArray) ranks = dvmd_map_expand_node (self->map, node + 1);
  g_autofree guint8 *taken = g_new0 (guint8, 65536);
  gboolean own = trial->bind >= DVMD_OBJECT_CORE && !trial->overload
                 && (trial->bind == DVMD_OBJECT_HWTHREAD) == trial->hwthreads;

  MUST_HOLD (ranks->len <= limit_of_node (trial, node), trial);
  MUST_HOLD (ranks->len <= room_of_node (trial, node), trial);
  for (guint i = 0; i < ranks->len; i++)
    check_cpus_of_rank (self, node, &g_array_index (ranks, DvmdMapRank, i), taken);
  for (guint i = 0; own && i < dvmd_map_topology_get_n_objects (machine->objects, unit_of (trial)); i++)
    MUST_HOLD (taken[i] <= !meet (machine->in_use, dvmd_map_topology_get_cpus (machine->objects, unit_of (trial), i)),
               trial);
}

/* Processes of each object of a node. */
static void
count_on_objects (const Result *self, guint node, guint *counts)
{
  g_autoptr (GArray) ranks = dvmd_map_expand_node (self->map, node + 1);

  for (guint i = 0; i < ranks->len; i++)
    {
      const DvmdMapRank *rank = &g_array_index (ranks, DvmdMapRank, i);

      MUST_HOLD (rank->place.kind == self->trial->kind && rank->place.object < MOST_OBJECTS, self->trial);
      counts[rank->place.object]++;
    }
}

/* With room for one more, an object has at most one less than another one of its node has. */
static void
check_even_objects (const Result *self, guint node)
{
  Trial *trial = self->trial;
  guint n = dvmd_map_topology_get_n_objects (node_at (trial, node)->objects, trial->kind);
  guint counts[MOST_OBJECTS] = { 0 };
  guint most = 0;

  count_on_objects (self, node, counts);
  for (guint i = 0; i < n; i++)
    most = MAX (most, counts[i]);
  for (guint i = 0; i < n; i++)
    if (trial->way == BY_PPR)
      MUST_HOLD (counts[i] <= trial->per_object * trial->job.app_np->len, trial);
    else
      MUST_HOLD (counts[i] + 1 >= most || counts[i] == room_of_object (trial, node, i), trial);
}

/* One application: two of them each begin at the first node. */
static void
check_even_nodes (const Result *self)
{
  Trial *trial = self->trial;
  guint64 most = 0;

  for (guint i = 0; i < trial->job.nodes->len; i++)
    most = MAX (most, dvmd_map_count_on_node (self->map, i + 1));
  for (guint i = 0; i < trial->job.nodes->len; i++)
    MUST_HOLD (dvmd_map_count_on_node (self->map, i + 1) + 1 >= most
                   || dvmd_map_count_on_node (self->map, i + 1) == room_of_node (trial, i),
               trial);
}

/* A node has processes if those before it are full. Programs share no core, although it has several processes of one
   where a hardware thread is a cpu. */
static void
check_filled_nodes (const Result *self)
{
  Trial *trial = self->trial;
  gboolean full = TRUE;

  if (trial->job.app_np->len > 1 && trial->bind == DVMD_OBJECT_CORE && trial->hwthreads)
    return;
  for (guint i = 0; i < trial->job.nodes->len; i++)
    {
      guint count = dvmd_map_count_on_node (self->map, i + 1);

      MUST_HOLD (count == 0 || full, trial);
      full = full && count == room_of_node (trial, i);
    }
}

/* Ranks by slot or object by object: those of an application on a node follow each other. */
static void
check_ranks (const Result *self)
{
  Trial *trial = self->trial;
  gboolean follows = trial->rank_by != NULL
                         ? strcmp (trial->rank_by, "slot") == 0 || strcmp (trial->rank_by, "fill") == 0
                         : trial->way != BY_NODE && !trial->span;

  for (guint node = 0; follows && node < trial->job.nodes->len; node++)
    {
      g_autoptr (GArray) ranks = dvmd_map_expand_node (self->map, node + 1);

      for (guint i = 1; i < ranks->len; i++)
        {
          const DvmdMapRank *rank = &g_array_index (ranks, DvmdMapRank, i);

          MUST_HOLD (rank->app != rank[-1].app || rank->rank == rank[-1].rank + 1, trial);
        }
    }
}

static void
check_result (const Result *self)
{
  Trial *trial = self->trial;
  guint n_apps = trial->job.app_np->len;

  MUST_HOLD (self->map->num_procs == count_procs (trial) && dvmd_map_is_whole (self->map), trial);
  for (guint node = 0; node < trial->job.nodes->len; node++)
    {
      check_node (self, node);
      if (trial->kind != DVMD_OBJECT_NODE && n_apps == 1)
        check_even_objects (self, node);
    }
  if (trial->way == BY_NODE && n_apps == 1)
    check_even_nodes (self);
  if ((trial->way == BY_SLOT || trial->way == BY_OBJECT) && !trial->span && !trial->job.oversubscribe)
    check_filled_nodes (self);
  check_ranks (self);
}

/* A job that is refused has no room. */
static void
check_refused (Trial *self, const GError *error)
{
  guint64 room = 0;

  if (g_error_matches (error, DVM_ERROR, DVM_ERROR_MAP_FAILED) && strstr (error->message, "is not used:") != NULL)
    g_error ("%s: %s", self->shown, error->message);
  if (self->way == BY_PPR
      || (self->pe > 1 && self->kind >= (self->hwthreads ? DVMD_OBJECT_HWTHREAD : DVMD_OBJECT_CORE)))
    return;
  for (guint i = 0; i < self->job.nodes->len; i++)
    room += room_of_node (self, i);
  if (room >= count_procs (self))
    g_error ("%s: %s", self->shown, error->message);
}

static gboolean
try_trial (GRand *random, GPtrArray *mappers)
{
  g_auto (Trial) trial = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdMap) map = NULL;
  g_autoptr (GPtrArray) cpus = NULL;

  draw_trial (&trial, random, mappers);
  map = offline_job_map (&trial.job, &error);
  if (map == NULL)
    {
      check_refused (&trial, error);
      return FALSE;
    }
  cpus = offline_job_bind (&trial.job, map, &error);
  if (cpus == NULL)
    g_error ("%s: %s", trial.shown, error->message);
  check_result (&(Result){ &trial, map, cpus });
  return TRUE;
}

typedef gboolean (*TryOne) (GRand *random, GPtrArray *mappers);

/* At least one of so many has a place. */
static void
run_rounds (GPtrArray *mappers, TryOne try_one, guint least)
{
  const char *given = g_getenv ("DVM_TEST_SEED");
  guint32 seed = given != NULL ? (guint32)strtoul (given, NULL, 10) : (guint32)g_test_rand_int ();
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  guint rounds = g_getenv ("DVM_TEST_SOAK") != NULL ? SOAK : ROUNDS;
  guint n_placed = 0;

  g_test_message ("DVM_TEST_SEED=%u", seed);
  for (guint i = 0; i < rounds; i++)
    n_placed += try_one (random, mappers);
  g_test_message ("%u of %u jobs have a place", n_placed, rounds);
  g_assert_cmpuint (n_placed, >, rounds / least);
}

static void
test_random (gconstpointer mappers)
{
  run_rounds ((GPtrArray *)mappers, try_trial, 5);
}

/* ---- several programs ---- */

/* A job of programs of which each is placed by its own words. */
typedef struct
{
  OfflineJob job;
  Trial programs[MOST_PROGRAMS]; /* their jobs are that one, borrowed */
  guint n;
  GString *shown;
} Programs;

static void
programs_clear (Programs *self)
{
  for (guint i = 0; i < self->n; i++)
    {
      self->programs[i].job = (OfflineJob){ 0 };
      trial_clear (&self->programs[i]);
    }
  offline_job_clear (&self->job);
  g_string_free (self->shown, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Programs, programs_clear)

static void
draw_program (Programs *self, GRand *random, Trial *program)
{
  guint32 np = (guint32)g_rand_int_range (random, 1, 12);
  DvmdMapWishes wishes = { .binds = TRUE };
  gboolean oversubscribe = self->job.oversubscribe;

  *program = (Trial){ .job = self->job, .map_by = g_string_new (NULL), .bind_to = g_string_new (NULL) };
  draw_way (program, random);
  draw_policy (program, random);
  program->job.oversubscribe = oversubscribe;
  wishes.map_by = program->map_by->str;
  wishes.bind_to = program->bind_to->str;
  wishes.rank_by = program->rank_by;
  g_array_append_val (self->job.app_wishes, wishes);
  g_array_append_val (self->job.app_np, np);
  g_string_append_printf (self->shown, " : -np %u --map-by %s --bind-to %s --rank-by %s", np, wishes.map_by,
                          wishes.bind_to, wishes.rank_by != NULL ? wishes.rank_by : "-");
}

static void
draw_programs (Programs *self, GRand *random, GPtrArray *mappers)
{
  Trial machines_of = { 0 };

  *self = (Programs){ .shown = g_string_new (NULL), .n = (guint)g_rand_int_range (random, 2, MOST_PROGRAMS + 1) };
  offline_job_init (&machines_of.job, mappers);
  draw_nodes (&machines_of, random);
  self->job = machines_of.job;
  self->job.app_wishes = g_array_new (FALSE, FALSE, sizeof (DvmdMapWishes));
  self->job.oversubscribe = g_rand_int_range (random, 0, 4) == 0;
  for (guint i = 0; i < self->job.nodes->len; i++)
    g_string_append_printf (self->shown, " [%u..%u %s]", g_array_index (self->job.nodes, OfflineNode, i).slots,
                            g_array_index (self->job.nodes, OfflineNode, i).slots_max,
                            dvmd_topology_get_signature (g_array_index (self->job.nodes, OfflineNode, i).topology));
  for (guint i = 0; i < self->n; i++)
    draw_program (self, random, &self->programs[i]);
  for (guint i = 0; i < self->n; i++)
    self->programs[i].shown = g_strdup_printf ("%u of%s", i, self->shown->str);
}

/* Programs that follow each other and are placed alike are placed together. */
static gboolean
are_together (const Programs *self, guint one, guint other)
{
  while (one < other && strcmp (self->programs[one].map_by->str, self->programs[one + 1].map_by->str) == 0
         && strcmp (self->programs[one].bind_to->str, self->programs[one + 1].bind_to->str) == 0
         && g_strcmp0 (self->programs[one].rank_by, self->programs[one + 1].rank_by) == 0)
    one++;
  return one >= other;
}

/* Two programs that are bound cpu by cpu have none in common, unless the later one may share. */
static void
check_apart (Programs *self, const DvmdMapRank *one, const DvmdMapRank *other, GPtrArray *cpus)
{
  const Trial *before = &self->programs[one->app];
  Trial *after = &self->programs[other->app];
  g_autoptr (DvmdCpuset) left = NULL;
  g_autoptr (DvmdCpuset) right = NULL;

  MUST_HOLD (one->app <= other->app, after);
  if (are_together (self, one->app, other->app) || before->bind < DVMD_OBJECT_CORE || after->bind < DVMD_OBJECT_CORE
      || after->overload)
    return;
  left = dvmd_cpuset_new_from_list (cpus->pdata[one->rank]);
  right = dvmd_cpuset_new_from_list (cpus->pdata[other->rank]);
  MUST_HOLD (!meet (left, right), after);
}

static void
check_node_of_programs (Programs *self, DvmdMap *map, GPtrArray *cpus, guint node)
{
  g_autoptr (GArray) ranks = dvmd_map_expand_node (map, node + 1);
  g_autofree guint8 *taken = g_new0 (guint8, 65536);

  MUST_HOLD (ranks->len <= limit_of_node (&self->programs[0], node), &self->programs[self->n - 1]);
  for (guint i = 0; i < ranks->len; i++)
    {
      const DvmdMapRank *rank = &g_array_index (ranks, DvmdMapRank, i);

      check_cpus_of_rank (&(Result){ &self->programs[rank->app], map, cpus }, node, rank, taken);
      for (guint k = 0; k < i; k++)
        check_apart (self, &g_array_index (ranks, DvmdMapRank, k), rank, cpus);
    }
}

/* The first program is where it would be alone: those behind it do not move it. */
static void
check_first (Programs *self, const char *whole, GPtrArray *mappers)
{
  OfflineJob alone = self->job;
  g_autoptr (GArray) app_np = g_array_copy (self->job.app_np);
  g_autoptr (DvmdMap) map = NULL;
  g_autoptr (GPtrArray) cpus = NULL;
  g_autofree char *shown = NULL;

  g_array_set_size (app_np, 1);
  alone.app_np = app_np;
  map = offline_job_map (&alone, NULL);
  MUST_HOLD (map != NULL, &self->programs[self->n - 1]);
  cpus = offline_job_bind (&alone, map, NULL);
  MUST_HOLD (cpus != NULL, &self->programs[self->n - 1]);
  shown = offline_job_show (&alone, map, cpus);
  MUST_HOLD (g_str_has_prefix (whole, shown), &self->programs[self->n - 1]);
}

static gboolean
try_programs (GRand *random, GPtrArray *mappers)
{
  g_auto (Programs) self = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdMap) map = NULL;
  g_autoptr (GPtrArray) cpus = NULL;
  g_autofree char *shown = NULL;
  guint np = 0;

  draw_programs (&self, random, mappers);
  map = offline_job_map (&self.job, &error);
  if (map == NULL)
    {
      if (strstr (error->message, "is not used:") != NULL || strstr (error->message, "can be bound") != NULL)
        g_error ("%s: %s", self.shown->str, error->message);
      return FALSE;
    }
  cpus = offline_job_bind (&self.job, map, &error);
  if (cpus == NULL)
    g_error ("%s: %s", self.shown->str, error->message);
  for (guint i = 0; i < self.n; i++)
    np += g_array_index (self.job.app_np, guint32, i);
  MUST_HOLD (map->num_procs == np && dvmd_map_is_whole (map), &self.programs[self.n - 1]);
  for (guint node = 0; node < self.job.nodes->len; node++)
    check_node_of_programs (&self, map, cpus, node);
  shown = offline_job_show (&self.job, map, cpus);
  if (!are_together (&self, 0, 1))
    check_first (&self, shown, mappers);
  return TRUE;
}

static void
test_programs (gconstpointer mappers)
{
  run_rounds ((GPtrArray *)mappers, try_programs, 8);
}

/* A map does not grow with the nodes that are alike. */
static void
test_compact (gconstpointer mappers)
{
  static const struct
  {
    const char *map_by;
    const char *rank_by;
    guint most_rows;
  } ways[] = {
    { "slot", NULL, 1 },          { "node", NULL, 1 },         { "core", NULL, 1 },
    { "core", "node", 1 },        { "core", "span", 1 },       { "package", NULL, 1 },
    { "package", "slot", 8 },     { "package", "node", 8 },    { "package:SPAN", NULL, 8 },
    { "ppr:2:package", NULL, 1 }, { "package:PE=2", NULL, 1 }, { "pe-list=0,2,4,6-9:ORDERED", NULL, 3 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      g_auto (OfflineJob) job = { 0 };
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmdMap) map = NULL;
      const guint32 np = 4000;

      offline_job_init (&job, (GPtrArray *)mappers);
      for (guint node = 0; node < 1000; node++)
        offline_job_add_node (&job, "n", machines[0], 4);
      g_array_append_val (job.app_np, np);
      job.wishes = (DvmdMapWishes){ .map_by = ways[i].map_by, .rank_by = ways[i].rank_by, .binds = TRUE };
      map = offline_job_map (&job, &error);
      g_assert_no_error (error);
      if (map->rows->len > ways[i].most_rows)
        g_error ("--map-by %s --rank-by %s has %u rows", ways[i].map_by, ways[i].rank_by, map->rows->len);
    }
}

static const OfflineTest tests[] = {
  { "/policies/random", test_random },
  { "/policies/programs", test_programs },
  { "/policies/compact", test_compact },
};

int
main (int argc, char **argv)
{
  return offline_run_tests (argc, argv, tests, G_N_ELEMENTS (tests));
}
