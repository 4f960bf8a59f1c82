/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Streams of jobs with every policy on random machines: they come, wait, run, end and are cancelled, nodes are drained
 * and resumed. After each event no cpu has two owners unless they may share, slots and cpus that are claimed are those
 * of the maps, and a job waits only if it does not fit; in the end everything has been given back. 300 streams, 10,000
 * with DVM_TEST_SOAK; DVM_SIM_SEED: that one alone.
 */

#include "config.h"

#include <glib/gstdio.h>

#include "core-world.h"
#include "dvm-job-spec-private.h"
#include "dvmd-admission.h"
#include "dvmd-colocation.h"
#include "dvmd-controller-map.h"
#include "dvmd-core-parts.h"
#include "dvmd-cpu-claims.h"
#include "dvmd-map-binding.h"
#include "dvmd-map-driver.h"
#include "dvmd-map-objects.h"
#include "dvmd-plugins.h"
#include "dvmd-services.h"
#include "sim-seeds.h"
#include "stream-jobs.h"

#define MOST_NODES 4
#define STREAMS    300
#define SOAK       10000
#define EVENTS     60

static const char *const machines[] = {
  "package:2 numa:1 core:2 pu:2",
  "package:2 numa:2 l3:1 core:2 pu:1",
  "package:1 core:6 pu:1",
  "package:1 l3:2 core:2 pu:2",
  "package:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)",
  "package:1 core:1 pu:1",
  "pu:4",
};

/* Settings of default-slots, by the kinds of DvmdObjectKind. */
static const DvmdObjectKind slot_kinds[] = { DVMD_OBJECT_HWTHREAD, DVMD_OBJECT_CORE, DVMD_OBJECT_NUMA,
                                             DVMD_OBJECT_PACKAGE };

typedef struct
{
  DvmdTopology *topology;
  DvmdMapTopology *objects;
} Machine;

/* The world comes first: effects get it. */
typedef struct
{
  World world;
  guint32 seed;
  GRand *random;
  const char *folder;
  DvmdPlugins *plugins;
  DvmdEffects effects;
  Machine machines[G_N_ELEMENTS (machines)];
  guint of_nodes[MOST_NODES + 1]; /* indexes of machines, by rank */
  guint n_nodes;
  gpointer cpu_claims;
  GPtrArray *jobs;   /* DvmdJob that have not ended */
  GHashTable *turns; /* DvmdJob -> when it got its slots, counted from 1 */
  guint n_turns;
  GString *story;
} Stream;

static guint n_placed; /* jobs of all streams that had a place, and that waited */
static guint n_waited;

#define MUST_HOLD(condition, self)                                                                                     \
  do                                                                                                                   \
    {                                                                                                                  \
      if (!(condition))                                                                                                \
        g_error ("DVM_SIM_SEED=%u: %s does not hold (line %d)\n%s", (self)->seed, #condition, __LINE__,                \
                 (self)->story->str);                                                                                  \
    }                                                                                                                  \
  while (0)

/* ---- what the claims of cpus need of the controller ---- */

gpointer
dvmd_services_get (DvmdController *controller, const DvmdService *service)
{
  return ((Stream *)controller)->cpu_claims;
}

void
dvmd_services_add_number (GVariantBuilder *statistics, const char *name, guint64 number)
{
}

DvmdTopology *
dvmd_controller_find_topology (DvmdController *controller, guint rank)
{
  const Stream *self = (const Stream *)controller;

  return self->machines[self->of_nodes[rank]].topology;
}

/* ---- effects ---- */

static DvmdMapTopology *
find_objects (const char *signature, gpointer user_data)
{
  Stream *self = user_data;

  for (guint i = 0; i < G_N_ELEMENTS (machines); i++)
    if (g_strcmp0 (dvmd_topology_get_signature (self->machines[i].topology), signature) == 0)
      return self->machines[i].objects;
  return NULL;
}

static const DvmdCpuset *
get_in_use (guint rank, gpointer user_data)
{
  return dvmd_controller_get_cpus_in_use (user_data, rank);
}

static DvmdTopology *
get_topology (guint rank, gpointer user_data)
{
  return dvmd_controller_find_topology (user_data, rank);
}

static DvmdMapTopologies
list_topologies (Stream *self)
{
  return (DvmdMapTopologies){ .find = find_objects,
                              .get_in_use = get_in_use,
                              .get_topology = get_topology,
                              .local = "node1",
                              .binds = TRUE,
                              .user_data = self };
}

static GPtrArray *
mappers_of (Stream *self)
{
  return dvmd_plugins_get_active (self->plugins, DVMD_PLUGIN_MAPPER);
}

static DvmdMap *
map_job (gpointer data, DvmdJob *job, const DvmdPlaces *places, GError **error)
{
  const DvmdMapTopologies topologies = list_topologies (data);
  DvmdMap *map = dvmd_map_driver_map_job (mappers_of (data), job, places, &topologies, error);

  if (map == NULL && error != NULL && strstr ((*error)->message, "is not used:") != NULL)
    g_error ("DVM_SIM_SEED=%u: %s\n%s", ((Stream *)data)->seed, (*error)->message, ((Stream *)data)->story->str);
  return map;
}

static gboolean
check_placement (gpointer data, DvmJobSpec *spec, gboolean *counts, GError **error)
{
  return dvmd_map_driver_check (mappers_of (data), spec, counts, error);
}

static gboolean
count_procs (gpointer data, DvmdJob *job, const DvmdPlaces *places, guint32 *np)
{
  const DvmdMapTopologies topologies = list_topologies (data);

  return dvmd_map_driver_count (mappers_of (data), job, places, &topologies, np);
}

static void
claimed (gpointer data, DvmdJob *job, DvmdMap *map)
{
  Stream *self = data;

  g_hash_table_insert (self->turns, job, GUINT_TO_POINTER (++self->n_turns));
  dvmd_controller_claim_cpus (data, job, map);
}

/* ---- the world ---- */

static guint
draw (Stream *self, guint n)
{
  return (guint)g_rand_int_range (self->random, 0, (gint32)n);
}

static void
load_objects (DvmdMapTopology *into, gpointer topology)
{
  dvmd_map_objects_add (into, topology);
}

static void
make_machines (Stream *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (machines); i++)
    {
      g_autoptr (GError) error = NULL;
      Machine *machine = &self->machines[i];

      machine->topology = dvmd_topology_new_from_synthetic (machines[i], &error);
      g_assert_no_error (error);
      machine->objects = dvmd_map_topology_new (load_objects, machine->topology, NULL);
    }
}

static void
add_nodes (Stream *self)
{
  self->n_nodes = 1 + draw (self, MOST_NODES);
  for (guint i = 1; i <= self->n_nodes; i++)
    {
      g_autofree char *name = g_strdup_printf ("node%u", i);
      guint slots = draw (self, 2) == 0 ? 0 : 1 + draw (self, 8);

      self->of_nodes[i] = i > 1 && draw (self, 2) == 0 ? self->of_nodes[i - 1] : draw (self, G_N_ELEMENTS (machines));
      dvmd_core_add_node (self->world.core, name, slots, slots > 0 && draw (self, 4) == 0 ? slots + draw (self, 4) : 0);
      g_string_append_printf (self->story, "%s: %u slots, %s\n", name, slots, machines[self->of_nodes[i]]);
    }
}

static void
bring_up_nodes (Stream *self)
{
  DvmdObjectKind kind = slot_kinds[draw (self, G_N_ELEMENTS (slot_kinds))];

  for (guint rank = 1; rank <= self->n_nodes; rank++)
    {
      const Machine *machine = &self->machines[self->of_nodes[rank]];
      DvmdAgentReport report = { .host = "h", .address = "", .pid = 7 };

      report.topology = dvmd_topology_get_signature (machine->topology);
      report.hwthreads = MAX (dvmd_map_topology_get_n_objects (machine->objects, kind), 1);
      dvmd_core_agent_reported (self->world.core, rank, &report);
    }
  run (&self->world);
  dvmd_core_agents_wired (self->world.core, NULL);
  run (&self->world);
}

static void
stream_init (Stream *self, guint32 seed, const char *folder)
{
  const DvmdPluginsSettings none = { 0 };
  DvmdCoreSettings settings = { .nspace = "dvm-test", .host = "head", .history_limit = 3, .uid = 1000 };
  World *world = &self->world;

  *self = (Stream){ .seed = seed, .random = g_rand_new_with_seed (seed), .folder = folder };
  self->story = g_string_new (NULL);
  self->plugins = dvmd_plugins_new (&none, NULL);
  self->jobs = g_ptr_array_new_with_free_func (g_object_unref);
  self->turns = g_hash_table_new (NULL, NULL);
  self->cpu_claims = dvmd_cpu_claims_service.create ((DvmdController *)self, NULL);
  make_machines (self);
  self->effects = world_effects;
  self->effects.placement = (DvmdPlacementEffects){ .check = check_placement,
                                                    .count = count_procs,
                                                    .map = map_job,
                                                    .claimed = claimed,
                                                    .given_back = dvmd_controller_give_cpus_back };
  world->log = g_string_new (NULL);
  world->clock = dvmd_clock_new_manual (START);
  world->queue = dvmd_event_queue_new (NULL, NULL);
  world->core = dvmd_core_new (&settings, world->clock, world->queue, &self->effects, self);
  add_nodes (self);
  dvmd_core_start (world->core);
  run (world);
  bring_up_nodes (self);
}

static void
stream_clear (Stream *self)
{
  g_ptr_array_unref (self->jobs);
  world_clear (&self->world);
  dvmd_cpu_claims_service.free (self->cpu_claims);
  for (guint i = 0; i < G_N_ELEMENTS (machines); i++)
    {
      dvmd_map_topology_free (self->machines[i].objects);
      dvmd_topology_unref (self->machines[i].topology);
    }
  g_hash_table_unref (self->turns);
  dvmd_plugins_free (self->plugins);
  g_rand_free (self->random);
  g_string_free (self->story, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Stream, stream_clear)

static DvmdNode *
node_at (Stream *self, guint rank)
{
  return dvmd_node_pool_get (dvmd_core_get_nodes (self->world.core), rank);
}

static gboolean
has_claims (DvmdJob *job)
{
  return dvmd_job_get_map (job) != NULL && dvmd_admission_get_claims (job) != NULL;
}

static void
tell (Stream *self, const char *what, DvmdJob *job)
{
  g_string_append_printf (self->story, "%s %u\n", what, dvmd_job_get_id (job));
}

/* ---- slots ---- */

/* Whether the job may have more processes on a node than the node has slots. */
static gboolean
may_pass_slots (DvmdJob *job)
{
  return _dvm_job_spec_get_when_full_policy (dvmd_job_get_spec (job)) == DVM_WHEN_FULL_OVERSUBSCRIBE;
}

static void
check_slots (Stream *self, guint rank)
{
  DvmdNode *node = node_at (self, rank);
  gboolean over = !node->slots_given;
  guint sum = 0;
  guint n = 0;

  for (guint i = 0; i < self->jobs->len; i++)
    {
      DvmdJob *job = self->jobs->pdata[i];
      guint count = has_claims (job) ? dvmd_map_count_on_node (dvmd_job_get_map (job), rank) : 0;

      n += count > 0;
      if (dvmd_colocation_get (job) != NULL)
        continue;
      sum += count;
      over = over || (count > 0 && may_pass_slots (job));
    }
  MUST_HOLD (node->slots_in_use == sum, self);
  MUST_HOLD (over || sum <= node->slots, self);
  MUST_HOLD (node->slots_max == 0 || sum <= node->slots_max, self);
  MUST_HOLD (g_hash_table_size (node->jobs.ids) == n, self);
}

/* ---- cpus ---- */

/* One bit for each. */
typedef guint64 Cpus;

static Cpus
read_cpus (const char *list)
{
  g_autoptr (DvmdCpuset) set = list != NULL ? dvmd_cpuset_new_from_list (list) : NULL;

  return set != NULL && set->n_words > 0 ? set->words[0] : 0;
}

static guint
count_cpus (Cpus cpus)
{
  guint n = 0;

  for (; cpus != 0; cpus &= cpus - 1)
    n++;
  return n;
}

/* The processes of a job on a node */
typedef struct
{
  DvmdMap *map;
  DvmdMapTopology *objects;
  GArray *ranks;    /* DvmdMapRank */
  GPtrArray *lists; /* of each */
  Cpus before;      /* those that jobs have which came before */
  Cpus excluded;    /* the same when this one came: some may have ended */
  Cpus claimed;     /* those that the job counts for */
} Bound;

static const DvmdBindingPolicy *
policy_of (const Bound *self, guint i)
{
  return dvmd_map_get_policy (self->map, g_array_index (self->ranks, DvmdMapRank, i).app);
}

static gboolean
may_share (const DvmdBindingPolicy *policy)
{
  return (policy->flags & DVMD_BINDING_OVERLOAD) != 0;
}

/* On an object larger than a core it counts for a part of that. */
static gboolean
has_own_cpus (const Bound *self, guint i)
{
  return policy_of (self, i)->bind_to >= DVMD_OBJECT_CORE
         || g_array_index (self->ranks, DvmdMapRank, i).place.kind == DVMD_KIND_CPUS;
}

/* How many cores have some of them; where there are no cores, each hardware thread is one. */
static guint
count_cores (const Bound *self, Cpus cpus)
{
  gboolean cores = dvmd_map_topology_get_n_objects (self->objects, DVMD_OBJECT_CORE) > 0;
  DvmdObjectKind kind = cores ? DVMD_OBJECT_CORE : DVMD_OBJECT_HWTHREAD;
  guint n = 0;

  for (guint i = 0; i < dvmd_map_topology_get_n_objects (self->objects, kind); i++)
    n += (dvmd_map_topology_get_cpus (self->objects, kind, i)->words[0] & cpus) != 0;
  return n;
}

/* The job counts for the cpus of processes that have their own, and for no more of others than these take. */
static gboolean
claims_no_more (const Bound *self)
{
  Cpus own = 0;
  Cpus all = 0;
  guint n = 0;

  for (guint i = 0; i < self->ranks->len; i++)
    {
      const DvmdBindingPolicy *policy = policy_of (self, i);
      Cpus cpus = read_cpus (self->lists->pdata[i]);

      all |= cpus;
      if (has_own_cpus (self, i))
        own |= cpus;
      else if (cpus != 0)
        n += MAX (policy->pe, 1);
    }
  return (own & ~self->claimed) == 0 && (self->claimed & ~all) == 0 && count_cores (self, self->claimed & ~own) <= n;
}

/* Whether each process on an object larger than a core has a cpu of its own; it may use all cpus of the object. */
static gboolean
has_room (const Bound *self, guint i)
{
  Cpus claims = self->claimed & read_cpus (self->lists->pdata[i]) & ~self->excluded;
  guint n = 0;

  for (guint k = 0; k < self->ranks->len; k++)
    n += g_strcmp0 (self->lists->pdata[i], self->lists->pdata[k]) == 0 && !may_share (policy_of (self, k));
  return (claims & self->before) == 0 && count_cpus (claims) >= n;
}

/* Each process has its cpus alone, by cores or by hardware threads; cpus that are named are as they are named. */
static gboolean
is_alone (const Bound *self, guint i)
{
  const DvmdBindingPolicy *policy = policy_of (self, i);
  gboolean threads = (policy->flags & DVMD_BINDING_HWTHREADS) != 0;

  return g_array_index (self->ranks, DvmdMapRank, i).place.kind != DVMD_KIND_CPUS
         && policy->bind_to == (threads ? DVMD_OBJECT_HWTHREAD : DVMD_OBJECT_CORE);
}

/* A process has its cpus alone, unless it may share them. */
static void
check_process (Stream *self, const Bound *bound, guint i, Cpus *alone)
{
  const DvmdBindingPolicy *policy = policy_of (bound, i);
  Cpus cpus = read_cpus (bound->lists->pdata[i]);

  MUST_HOLD ((cpus != 0) == (policy->bind_to != DVMD_KIND_NODE), self);
  if (cpus == 0 || may_share (policy))
    return;
  if (policy->bind_to < DVMD_OBJECT_CORE)
    {
      MUST_HOLD (has_room (bound, i), self);
      return;
    }
  MUST_HOLD ((cpus & bound->before) == 0, self);
  if (!is_alone (bound, i))
    return;
  MUST_HOLD ((cpus & *alone) == 0, self);
  *alone |= cpus;
}

/* The result has all cpus that the job claims there, and those of jobs before it. */
static Cpus
check_job_cpus (Stream *self, DvmdJob *job, guint rank, Cpus before)
{
  DvmdMap *map = dvmd_job_get_map (job);
  g_autoptr (DvmdMapBinder) binder = dvmd_map_binder_new (map);
  g_autoptr (GPtrArray) lists = dvmd_map_binder_bind (binder, rank, get_topology (rank, self), NULL);
  g_autoptr (GArray) ranks = dvmd_map_expand_node (map, rank);
  const Bound bound = { map,
                        self->machines[self->of_nodes[rank]].objects,
                        ranks,
                        lists,
                        before,
                        read_cpus (dvmd_map_get_excluded (map, rank)),
                        read_cpus (dvmd_map_binder_get_claimed (binder, lists)) };
  Cpus alone = 0;

  MUST_HOLD (lists != NULL && lists->len == ranks->len, self);
  for (guint i = 0; i < ranks->len; i++)
    check_process (self, &bound, i, &alone);
  MUST_HOLD (claims_no_more (&bound), self);
  return before | bound.claimed;
}

static int
compare_turns (gconstpointer a, gconstpointer b, gpointer user_data)
{
  const Stream *self = user_data;

  return GPOINTER_TO_INT (g_hash_table_lookup (self->turns, *(DvmdJob *const *)a))
         - GPOINTER_TO_INT (g_hash_table_lookup (self->turns, *(DvmdJob *const *)b));
}

static void
check_cpus (Stream *self, guint rank)
{
  const DvmdCpuset *in_use = dvmd_controller_get_cpus_in_use ((DvmdController *)self, rank);
  Cpus cpus = 0;

  for (guint i = 0; i < self->jobs->len; i++)
    {
      DvmdJob *job = self->jobs->pdata[i];

      if (has_claims (job) && dvmd_map_binds (dvmd_job_get_map (job))
          && dvmd_map_count_on_node (dvmd_job_get_map (job), rank) > 0)
        cpus = check_job_cpus (self, job, rank, cpus);
    }
  MUST_HOLD (cpus == (in_use != NULL && in_use->n_words > 0 ? in_use->words[0] : 0), self);
}

/* ---- waiting ---- */

static guint
count_drained (Stream *self)
{
  guint n = 0;

  for (guint rank = 1; rank <= self->n_nodes; rank++)
    n += dvmd_node_is_drained (node_at (self, rank));
  return n;
}

/* The slots that a job may have that says nothing of nodes and of cpus. */
static guint
count_free (Stream *self)
{
  guint n = 0;

  for (guint rank = 1; rank <= self->n_nodes; rank++)
    if (!dvmd_node_is_drained (node_at (self, rank)))
      n += node_at (self, rank)->slots - MIN (node_at (self, rank)->slots, node_at (self, rank)->slots_in_use);
  return n;
}

static gboolean
takes_any_slots (DvmJobSpec *spec)
{
  const char *const *hosts = dvm_app_spec_get_hosts (dvm_job_spec_get_app (spec, 0));

  return dvm_job_spec_get_n_apps (spec) == 1 && g_strcmp0 (dvm_job_spec_get_map_by (spec), "slot") == 0
         && g_strcmp0 (dvm_job_spec_get_bind_to (spec), "none") == 0 && (hosts == NULL || hosts[0] == NULL);
}

static gboolean
lists_cpus (const char *map_by)
{
  return map_by != NULL && g_str_has_prefix (map_by, "pe-list");
}

/*
 * Others make room for some jobs by coming: one without a number has as many processes as there are free slots then,
 * and cpus that are listed are looked for on the first nodes that have slots, whoever has these cpus there.
 */
static gboolean
fits_better_later (DvmJobSpec *spec)
{
  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    if (dvm_app_spec_get_np (dvm_job_spec_get_app (spec, i)) == 0
        || lists_cpus (dvm_app_spec_get_map_by (dvm_job_spec_get_app (spec, i))))
      return TRUE;
  return lists_cpus (dvm_job_spec_get_map_by (spec));
}

/* The first one that waits has nobody before it: as things are it does not fit. */
static void
check_first (Stream *self, DvmdJob *job)
{
  DvmJobSpec *spec = dvmd_job_get_spec (job);
  g_autoptr (GError) error = NULL;
  const char *awaited = NULL;
  g_autoptr (DvmdMap) map = NULL;

  if (fits_better_later (spec))
    return;
  map = dvmd_core_map (self->world.core, spec, NULL, &awaited, &error);
  if (awaited == NULL && map != NULL)
    tell (self, "would have a place:", job);
  MUST_HOLD (awaited != NULL || (map == NULL && count_drained (self) > 0), self);
  MUST_HOLD (!takes_any_slots (spec) || dvm_app_spec_get_np (dvm_job_spec_get_app (spec, 0)) > count_free (self), self);
}

static void
check_waiting (Stream *self)
{
  DvmdJob *first = NULL;
  guint n = 0;

  for (guint i = 0; i < self->jobs->len; i++)
    {
      DvmdJob *job = self->jobs->pdata[i];

      if (!dvmd_admission_is_waiting (job))
        {
          MUST_HOLD (has_claims (job) || !dvm_job_state_is_live (dvmd_job_get_state (job)), self);
          continue;
        }
      n++;
      MUST_HOLD (!has_claims (job) && dvmd_colocation_get (job) == NULL, self);
      if (first == NULL || dvmd_job_get_id (job) < dvmd_job_get_id (first))
        first = job;
    }
  MUST_HOLD (dvmd_admission_get_n_waiting (dvmd_core_get_admission (self->world.core)) == n, self);
  if (first != NULL)
    check_first (self, first);
}

/* ---- events ---- */

static void
drop_ended (Stream *self)
{
  for (guint i = self->jobs->len; i > 0; i--)
    if (dvmd_job_get_ended (self->jobs->pdata[i - 1]))
      {
        g_hash_table_remove (self->turns, self->jobs->pdata[i - 1]);
        g_ptr_array_remove_index_fast (self->jobs, i - 1);
      }
}

static void
check_all (Stream *self)
{
  drop_ended (self);
  g_ptr_array_sort_with_data (self->jobs, compare_turns, self);
  for (guint rank = 1; rank <= self->n_nodes; rank++)
    {
      check_slots (self, rank);
      check_cpus (self, rank);
    }
  check_waiting (self);
}

/* (nullable): one that has a place */
static DvmdJob *
pick_placed (Stream *self)
{
  guint first = self->jobs->len > 0 ? draw (self, self->jobs->len) : 0;

  for (guint i = 0; i < self->jobs->len; i++)
    {
      DvmdJob *job = self->jobs->pdata[(first + i) % self->jobs->len];

      if (dvmd_job_is_launched (job) && dvm_job_state_is_live (dvmd_job_get_state (job)))
        return job;
    }
  return NULL;
}

static void
come (Stream *self)
{
  DvmdJob *beside = pick_placed (self);
  const StreamDraw drawing = { self->random, self->n_nodes, beside != NULL ? dvmd_job_get_id (beside) : 0,
                               self->folder };
  g_autoptr (DvmJobSpec) spec = stream_draw_job (&drawing);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", 1000, 42);
  g_autoptr (GError) error = NULL;
  g_autofree char *shown = spec != NULL ? stream_show_job (spec) : NULL;
  DvmdJob *job;

  if (spec == NULL)
    return;
  job = dvmd_core_submit (self->world.core, spec, requester, &error);
  if (job == NULL)
    return;
  g_string_append_printf (self->story, "%u: %s", dvmd_job_get_id (job), shown);
  g_ptr_array_add (self->jobs, g_object_ref (job));
  run (&self->world);
  g_string_append_printf (self->story, "-> %s %s\n", dvm_job_state_to_string (dvmd_job_get_state (job)),
                          dvm_job_get_reason (dvmd_job_get_record (job)));
  n_placed += has_claims (job);
  n_waited += dvmd_admission_is_waiting (job);
}

/* Well, or not. */
static void
end (Stream *self, DvmdJob *job)
{
  guint n = dvmd_job_get_procs (job)->n_rows;
  gboolean fails = draw (self, 4) == 0;

  tell (self, fails ? "fails:" : "ends:", job);
  if (dvmd_job_get_state (job) == DVM_JOB_STATE_SEND_LAUNCH_MSG)
    launch_all (&self->world, job);
  for (guint rank = 0; rank < (fails ? 1 : n); rank++)
    end_proc (&self->world, job, rank, fails ? DVM_PROC_STATE_TERM_NON_ZERO : DVM_PROC_STATE_TERMINATED, fails, 0);
  all_gone (&self->world, job);
}

static void
cancel (Stream *self, DvmdJob *job)
{
  tell (self, "cancelled:", job);
  dvmd_core_fail_job (self->world.core, job, DVM_JOB_STATE_KILLED_BY_CMD, "enough");
  run (&self->world);
  if (dvmd_job_get_map (job) != NULL && !dvmd_job_get_ended (job))
    all_gone (&self->world, job);
}

static void
drain_or_resume (Stream *self)
{
  DvmdNode *node = node_at (self, 1 + draw (self, self->n_nodes));
  gboolean drained = dvmd_node_is_drained (node);

  g_string_append_printf (self->story, "%s: node%u\n", drained ? "resumed" : "drained", node->rank);
  if (drained)
    dvmd_core_resume_node (self->world.core, node, NULL);
  else
    dvmd_core_drain_node (self->world.core, node, "new disk", NULL);
  run (&self->world);
}

static void
step (Stream *self)
{
  guint what = draw (self, 20);
  DvmdJob *job = what >= 10 && what < 17 ? pick_placed (self) : NULL;

  if (what < 10)
    come (self);
  else if (what < 12 && job != NULL && dvmd_job_get_state (job) == DVM_JOB_STATE_SEND_LAUNCH_MSG)
    launch_all (&self->world, job);
  else if (what < 17 && job != NULL)
    end (self, job);
  else if (what < 19 && self->jobs->len > 0)
    cancel (self, self->jobs->pdata[draw (self, self->jobs->len)]);
  else if (what == 19)
    drain_or_resume (self);
}

static void
settle (Stream *self)
{
  DvmdJob *job;

  for (guint rank = 1; rank <= self->n_nodes; rank++)
    if (dvmd_node_is_drained (node_at (self, rank)))
      dvmd_core_resume_node (self->world.core, node_at (self, rank), NULL);
  run (&self->world);
  check_all (self);
  while ((job = pick_placed (self)) != NULL)
    {
      end (self, job);
      check_all (self);
    }
}

static void
run_stream (guint32 seed, const char *folder)
{
  g_auto (Stream) self = { 0 };

  stream_init (&self, seed, folder);
  for (guint i = 0; i < EVENTS; i++)
    {
      step (&self);
      check_all (&self);
    }
  settle (&self);
  /* All jobs that were let wait have had their turn, and nothing is kept. */
  MUST_HOLD (self.jobs->len == 0, &self);
  MUST_HOLD (dvmd_node_pool_count_slots_in_use (dvmd_core_get_nodes (self.world.core)) == 0, &self);
}

static void
test_streams (void)
{
  static const char *const files[] = { "ranks", "sequence" };
  g_autofree char *folder = g_dir_make_tmp ("dvm-streams-XXXXXX", NULL);
  guint n = g_getenv ("DVM_TEST_SOAK") != NULL ? SOAK : STREAMS;
  guint seed = 1;

  if (sim_seeds_get_one (&seed))
    n = 1;
  for (guint i = 0; i < n; i++)
    run_stream (seed + i, folder);
  for (gsize i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_build_filename (folder, files[i], NULL);

      g_unlink (path);
    }
  g_rmdir (folder);
  g_test_message ("%u jobs had a place at once, %u waited", n_placed, n_waited);
  g_assert_true (n == 1 || n_placed > n);
}

int
main (int argc, char **argv)
{
  sim_seeds_init (&argc, &argv);
  g_test_add_func ("/streams/random", test_streams);
  return g_test_run ();
}
