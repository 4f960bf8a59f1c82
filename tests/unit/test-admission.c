/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which nodes a job may use and what it claims of them, with the real mappers: hosts and hostfiles, so many per node,
 * more than slots, and random lives of many jobs.
 */

#include "config.h"

#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "core-world.h"
#include "dvm-job-spec-private.h"
#include "dvmd-map-driver.h"
#include "dvmd-plugins.h"

typedef struct
{
  World world;
  DvmdPlugins *plugins;
  DvmdEffects effects;
} Dvm;

static DvmdMap *
map_job (gpointer data, DvmdJob *job, const DvmdPlaces *places, GError **error)
{
  Dvm *self = data;

  return dvmd_map_driver_map_job (dvmd_plugins_get_active (self->plugins, DVMD_PLUGIN_MAPPER), job, places, NULL,
                                  error);
}

static gboolean
check_placement (gpointer data, DvmJobSpec *spec, gboolean *counts, GError **error)
{
  Dvm *self = data;

  return dvmd_map_driver_check (dvmd_plugins_get_active (self->plugins, DVMD_PLUGIN_MAPPER), spec, counts, error);
}

static gboolean
count_procs (gpointer data, DvmdJob *job, const DvmdPlaces *places, guint32 *np)
{
  Dvm *self = data;

  return dvmd_map_driver_count (dvmd_plugins_get_active (self->plugins, DVMD_PLUGIN_MAPPER), job, places, NULL, np);
}

/* Nodes node1 ... with slots and slots_max each. */
static void
dvm_init (Dvm *self, guint n_nodes, const guint *slots, const guint *slots_max)
{
  const DvmdPluginsSettings none = { 0 };
  DvmdCoreSettings settings = { .nspace = "dvm-test", .host = "head", .history_limit = 3, .uid = 1000 };
  World *world = &self->world;

  *self = (Dvm){ 0 };
  self->plugins = dvmd_plugins_new (&none, NULL);
  self->effects = world_effects;
  self->effects.placement.map = map_job;
  self->effects.placement.check = check_placement;
  self->effects.placement.count = count_procs;
  world->log = g_string_new (NULL);
  world->clock = dvmd_clock_new_manual (START);
  world->queue = dvmd_event_queue_new (NULL, NULL);
  world->core = dvmd_core_new (&settings, world->clock, world->queue, &self->effects, self);
  for (guint i = 0; i < n_nodes; i++)
    {
      g_autofree char *name = g_strdup_printf ("node%u", i + 1);

      dvmd_core_add_node (world->core, name, slots[i], slots_max != NULL ? slots_max[i] : 0);
    }
  dvmd_core_start (world->core);
  run (world);
  bring_up (world);
}

static void
dvm_clear (Dvm *self)
{
  world_clear (&self->world);
  g_clear_pointer (&self->plugins, dvmd_plugins_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Dvm, dvm_clear)

/* apps: "2 node1:1,node2; 1 node3": processes and hosts of each application */
static DvmJobSpec *
describe (const char *apps, const char *map_by, const char *when_full)
{
  DvmJobSpec *spec = dvm_job_spec_new ();
  g_auto (GStrv) parts = g_strsplit (apps, ";", -1);

  for (guint i = 0; parts[i] != NULL; i++)
    {
      const char *argv[] = { "/bin/prog", NULL };
      g_autoptr (DvmAppSpec) app = dvm_app_spec_new (argv);
      g_auto (GStrv) words = g_strsplit (g_strstrip (parts[i]), " ", 2);
      const char *hosts[] = { words[1], NULL };

      dvm_app_spec_set_np (app, atoi (words[0]));
      if (words[1] != NULL && words[1][0] == '/')
        dvm_app_spec_set_hostfile (app, words[1]);
      else
        dvm_app_spec_set_hosts (app, hosts);
      dvm_job_spec_add_app (spec, app);
    }
  dvm_job_spec_set_map_by (spec, map_by);
  dvm_job_spec_set_when_full (spec, when_full);
  return spec;
}

static DvmdJob *
start (Dvm *self, const char *apps, const char *map_by, const char *when_full)
{
  g_autoptr (DvmJobSpec) spec = describe (apps, map_by, when_full);
  g_autoptr (GError) error = NULL;

  _dvm_job_spec_load_hosts (spec, "", &error);
  g_assert_no_error (error);
  return submit_spec (&self->world, spec);
}

/* Where its ranks are: "1 1 2". */
static char *
show_nodes (DvmdJob *job)
{
  DvmdProcTable *procs = dvmd_job_get_procs (job);
  GString *text = g_string_new (NULL);

  for (guint rank = 0; rank < procs->n_rows; rank++)
    g_string_append_printf (text, "%s%u", rank > 0 ? " " : "", dvmd_proc_table_row (procs, rank)->node);
  return g_string_free (text, FALSE);
}

static void
check_nodes (DvmdJob *job, const char *expected)
{
  g_autofree char *nodes = NULL;

  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  nodes = show_nodes (job);
  g_assert_cmpstr (nodes, ==, expected);
}

static guint
in_use (Dvm *self, guint node)
{
  return dvmd_node_pool_get (dvmd_core_get_nodes (self->world.core), node)->slots_in_use;
}

static void
check_failed (DvmdJob *job, const char *mention)
{
  const char *reason = dvm_job_get_reason (dvmd_job_get_record (job));

  assert_state (job, DVM_JOB_STATE_MAP_FAILED);
  if (strstr (reason, mention) == NULL)
    g_error ("“%s” does not speak of “%s”", reason, mention);
}

/* ---- hosts ---- */

static void
test_hosts (void)
{
  static const struct
  {
    const char *apps;
    const char *map_by;
    const char *nodes;
  } cases[] = {
    { "3 node2,node3", NULL, "2 2 3" },
    { "3 node2:1,node3", NULL, "2 3 3" },
    { "3 node2:*,node3", NULL, "2 2 3" },
    { "2 node3,node3", NULL, "3 3" },
    { "2 ^node1", NULL, "2 2" },
    { "2 node1,node2,^node1", NULL, "2 2" },
    { "2 +n2", NULL, "3 3" },
    { "4 node3,node1", "node", "3 1 3 1" },
    { "0 node3:1,node1", NULL, "3 1 1" },
    { "2 node3; 2 node1", NULL, "3 3 1 1" },
    { "2 node3; 2 node1", "node", "3 3 1 1" },
    { "1 node3; 2", NULL, "3 1 1" },
    { "0 node3:1; 3", NULL, "3 1 1 2" },
    { "0 node3; 0 node2:1,node1:1", "ppr:1:node", "3 2 1" },
    /* Each of several programs without a number has the slots of its own hosts. */
    { "0 node3; 0 node2:1,node1:1", NULL, "3 3 2 1" },
    { "0 node3; 1 node2; 0 node1", NULL, "3 3 2 1 1" },
    { "0 node3; 0 node2", "seq", "3 2" },
    { "0", "ppr:2:node", "1 1 2 2 3 3" },
    { "3", "ppr:1:node", "1 2 3" },
  };
  const guint slots[] = { 2, 2, 2 };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (Dvm) dvm = { 0 };
      DvmdJob *job;

      dvm_init (&dvm, 3, slots, NULL);
      job = start (&dvm, cases[i].apps, cases[i].map_by, NULL);
      check_nodes (job, cases[i].nodes);
      run_to_end (&dvm.world, job);
      g_assert_cmpuint (in_use (&dvm, 1) + in_use (&dvm, 2) + in_use (&dvm, 3), ==, 0);
    }
}

static void
test_refused (void)
{
  static const struct
  {
    const char *apps;
    const char *map_by;
    const char *mention;
  } cases[] = {
    { "1 node9", NULL, "hosts: “node9” is not a node of this DVM" },
    { "1 ^node9", NULL, "“node9” is not a node" },
    { "1 +n3", NULL, "“+n3”" },
    { "1 +e:4", NULL, "“+e:4”: the DVM has 3 nodes" },
    { "1 ^node1,^node2,^node3", NULL, "hosts: no node is left: the list leaves out all that the job may use" },
    { "1 node1,^node1", NULL, "hosts: no node is left" },
    { "3 node2", NULL, "have 2 slots" },
    { "2 node2:1", NULL, "have 1 slot:" },
    { "3 node1; 1 node2", NULL, "as far as they are for its applications" },
    { "3 node1; 1", NULL, "as far as they are for its applications" },
    { "0 node1,node2; 0 node2,node3", NULL, "“np” is missing for the applications 0 and 1 of the job" },
    { "4", "ppr:1:node", "1 of 4 processes has no place" },
    { "0", "ppr:3:node", "9 processes" },
  };
  const guint slots[] = { 2, 2, 2 };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (Dvm) dvm = { 0 };

      dvm_init (&dvm, 3, slots, NULL);
      check_failed (start (&dvm, cases[i].apps, cases[i].map_by, NULL), cases[i].mention);
    }
}

static char *
write_file (const char *text)
{
  g_autoptr (GError) error = NULL;
  char *path = NULL;
  int fd = g_file_open_tmp ("dvm-hosts-XXXXXX", &path, &error);

  g_assert_no_error (error);
  close (fd);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  return path;
}

static void
test_hostfile (void)
{
  const guint slots[] = { 4, 4, 4 };
  g_auto (Dvm) dvm = { 0 };
  g_autofree char *good = write_file ("# mine\nnode3 slots=1\nnode1 slots=2 max_slots=3\n");
  g_autofree char *unknown = write_file ("node1\n\nnode7 slots=2\n");
  g_autofree char *job = g_strdup_printf ("0 %s", good);
  g_autofree char *more = g_strdup_printf ("7 %s", good);
  g_autofree char *bad = g_strdup_printf ("1 %s", unknown);
  g_autofree char *place = g_strdup_printf ("%s:3: “node7” is not a node", unknown);
  DvmdJob *first;
  DvmdJob *second;

  dvm_init (&dvm, 3, slots, NULL);
  first = start (&dvm, job, NULL, NULL);
  check_nodes (first, "3 1 1");
  check_failed (start (&dvm, bad, NULL, NULL), place);
  check_failed (start (&dvm, more, NULL, NULL), "have 3 slots");
  run_to_end (&dvm.world, first);
  /* Beyond the slots of the file, but not beyond its max_slots. */
  second = start (&dvm, more, NULL, "oversubscribe");
  check_nodes (second, "3 3 3 3 1 1 1");
  g_unlink (good);
  g_unlink (unknown);
}

/* ---- waiting ---- */

/* As many slots are free, but not where the job needs them. */
static void
test_waits_for_shape (void)
{
  const guint slots[] = { 2, 2 };
  g_auto (Dvm) dvm = { 0 };
  DvmdJob *first;
  DvmdJob *second;
  DvmdJob *job;

  dvm_init (&dvm, 2, slots, NULL);
  first = start (&dvm, "2", "node", NULL);
  check_nodes (first, "1 2");
  g_assert_cmpuint (in_use (&dvm, 1), ==, 1);
  g_assert_cmpuint (in_use (&dvm, 2), ==, 1);
  job = start (&dvm, "2", "ppr:2:node", NULL);
  assert_state (job, DVM_JOB_STATE_ALLOCATE);
  check_failed (start (&dvm, "2", "ppr:2:node", "refuse"), "not to wait");
  second = start (&dvm, "2 node1; 1 node2:1", NULL, NULL);
  assert_state (second, DVM_JOB_STATE_ALLOCATE);
  run_to_end (&dvm.world, first);
  check_nodes (job, "1 1");
  assert_state (second, DVM_JOB_STATE_ALLOCATE);
  run_to_end (&dvm.world, job);
  check_nodes (second, "1 1 2");
}

static void
test_waits_for_empty (void)
{
  const guint slots[] = { 2, 2 };
  g_auto (Dvm) dvm = { 0 };
  DvmdJob *first;
  DvmdJob *job;

  dvm_init (&dvm, 2, slots, NULL);
  check_nodes (start (&dvm, "1", NULL, NULL), "1");
  first = start (&dvm, "1 +e", NULL, NULL);
  check_nodes (first, "2");
  check_failed (start (&dvm, "1 +e", NULL, "refuse"), "without processes");
  job = start (&dvm, "2 +e:1", NULL, NULL);
  assert_state (job, DVM_JOB_STATE_ALLOCATE);
  g_assert_cmpstr (dvm_job_get_held_at (dvmd_job_get_record (job)), ==, "slots");
  run_to_end (&dvm.world, first);
  check_nodes (job, "2 2");
}

/* The limit of a node counts for all jobs together. */
static void
test_slots_max (void)
{
  const guint slots[] = { 1, 1 };
  const guint slots_max[] = { 2, 0 };
  g_auto (Dvm) dvm = { 0 };
  DvmdJob *first;
  DvmdJob *second;
  DvmdJob *job;

  dvm_init (&dvm, 2, slots, slots_max);
  first = start (&dvm, "2 node1", NULL, "oversubscribe");
  check_nodes (first, "1 1");
  second = start (&dvm, "3", NULL, "oversubscribe");
  check_nodes (second, "2 2 2");
  check_failed (start (&dvm, "3 node1", NULL, "oversubscribe"), "2 at most");
  job = start (&dvm, "1 node1", NULL, "oversubscribe");
  assert_state (job, DVM_JOB_STATE_ALLOCATE);
  run_to_end (&dvm.world, first);
  check_nodes (job, "1");
  run_to_end (&dvm.world, second);
  check_nodes (start (&dvm, "4", "node", "oversubscribe"), "1 2 2 2");
}

/* By node, a job that says that slots are no limit is dealt out evenly, whether it fits into them or not. */
static void
test_slots_are_no_limit (void)
{
  const guint slots[] = { 1, 4 };
  g_auto (Dvm) dvm = { 0 };
  DvmdJob *job;

  dvm_init (&dvm, 2, slots, NULL);
  job = start (&dvm, "4", "node:OVERSUBSCRIBE", NULL);
  check_nodes (job, "1 2 1 2");
  run_to_end (&dvm.world, job);
  check_nodes (start (&dvm, "4", "node", "oversubscribe"), "1 2 2 2");
}

/* A mapper may not want a job at the moment at which it is called: it stands where it stood, also when it waits again.
 */
static DvmdMap *
map_but_once (gpointer data, DvmdJob *job, const DvmdPlaces *places, GError **error)
{
  static gboolean is_refused;

  if (dvmd_job_get_id (job) != 2 || places->alone || is_refused)
    return map_job (data, job, places, error);
  is_refused = TRUE;
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "not now");
  return NULL;
}

static void
test_keeps_its_place (void)
{
  const guint slots[] = { 2 };
  g_auto (Dvm) dvm = { 0 };
  DvmdJob *first;
  DvmdJob *jobs[3];

  dvm_init (&dvm, 1, slots, NULL);
  dvm.effects.placement.map = map_but_once;
  first = start (&dvm, "2", NULL, NULL);
  jobs[0] = start (&dvm, "1", NULL, NULL);
  jobs[1] = start (&dvm, "2", NULL, NULL);
  jobs[2] = start (&dvm, "2", NULL, NULL);
  run_to_end (&dvm.world, first);
  check_nodes (jobs[1], "1 1");
  assert_state (jobs[0], DVM_JOB_STATE_ALLOCATE);
  run_to_end (&dvm.world, jobs[1]);
  check_nodes (jobs[0], "1");
  assert_state (jobs[2], DVM_JOB_STATE_ALLOCATE);
}

/* Programs that are placed in different ways, of which one has no number, while no node takes any. */
static void
test_drained_programs (void)
{
  const guint slots[] = { 2 };
  g_auto (Dvm) dvm = { 0 };
  g_autoptr (DvmJobSpec) spec = describe ("1; 0", "slot", NULL);
  DvmdNode *node;
  DvmdJob *job;

  dvm_init (&dvm, 1, slots, NULL);
  node = dvmd_node_pool_get (dvmd_core_get_nodes (dvm.world.core), 1);
  dvm_app_spec_set_map_by (dvm_job_spec_get_app (spec, 1), "ppr:1:node");
  dvmd_core_drain_node (dvm.world.core, node, "new disk", NULL);
  run (&dvm.world);
  job = submit_spec (&dvm.world, spec);
  assert_state (job, DVM_JOB_STATE_ALLOCATE);
  dvmd_core_resume_node (dvm.world.core, node, NULL);
  run (&dvm.world);
  check_nodes (job, "1 1");
}

/* Hosts of a program hold in files, too. */
static void
test_file_of_programs (void)
{
  const guint slots[] = { 2, 2 };
  g_auto (Dvm) dvm = { 0 };
  g_autofree char *path = write_file ("node1\nnode2\n");
  g_autofree char *map_by = g_strconcat ("seq:file=", path, NULL);

  dvm_init (&dvm, 2, slots, NULL);
  check_failed (start (&dvm, "1 node2; 1 node1", map_by, NULL),
                ":1: node node1 takes 0 processes of this program of the job");
  check_nodes (start (&dvm, "1 node1; 1 node2", map_by, NULL), "1 2");
  g_unlink (path);
}

/* ---- beside other jobs ---- */

/* (transfer full): the job, or NULL and an error; requester (nullable) */
static DvmdJob *
try_beside (Dvm *self, const char *map_by, guint np, const char *requester, GError **error)
{
  g_autoptr (DvmJobSpec) spec = make_spec (np);
  g_autoptr (DvmdRequester) asker = requester != NULL ? dvmd_requester_new (requester, 1000, 1) : NULL;
  DvmdJob *job;

  dvm_job_spec_set_map_by (spec, map_by);
  job = dvmd_core_submit (self->world.core, spec, asker, error);
  run (&self->world);
  return job;
}

static void
check_beside (Dvm *self, const char *map_by, guint np, const char *nodes)
{
  DvmdNodePool *pool = dvmd_core_get_nodes (self->world.core);
  guint in_use = dvmd_node_pool_count_slots_in_use (pool);
  g_autoptr (GError) error = NULL;
  DvmdJob *job = try_beside (self, map_by, np, NULL, &error);

  g_assert_no_error (error);
  check_nodes (job, nodes);
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (pool), ==, in_use);
  run_to_end (&self->world, job);
}

static void
check_not_beside (Dvm *self, const char *map_by, guint np, DvmError code, const char *mention)
{
  g_autoptr (GError) error = NULL;
  DvmdJob *job = try_beside (self, map_by, np, NULL, &error);

  if (job != NULL)
    {
      check_failed (job, mention);
      return;
    }
  g_assert_error (error, DVM_ERROR, (int)code);
  if (strstr (error->message, mention) == NULL)
    g_error ("“%s” does not speak of “%s”", error->message, mention);
}

/* Ranks are in the order of those beside which they are; slots and limits of nodes do not matter. */
static void
test_beside (void)
{
  const guint slots[] = { 2, 2, 2 };
  g_auto (Dvm) dvm = { 0 };
  DvmdJob *first;
  DvmdJob *second;

  dvm_init (&dvm, 3, slots, slots);
  first = start (&dvm, "4 node3,node1", "node", NULL);
  second = start (&dvm, "2 node2", NULL, NULL);
  check_nodes (first, "3 1 3 1");
  check_nodes (second, "2 2");
  check_beside (&dvm, "colocate=1", 0, "3 1 3 1");
  check_beside (&dvm, "colocate=dvm-test@1", 4, "3 1 3 1");
  check_beside (&dvm, "colocate=/org/dvm/jobs/1:nperproc=2", 0, "3 3 1 1 3 3 1 1");
  check_beside (&dvm, "colocate=1:0,2-3", 0, "3 3 1");
  check_beside (&dvm, "colocate=1:npernode=1", 0, "3 1");
  check_beside (&dvm, "colocate=2+1:1:npernode=3", 6, "2 2 2 1 1 1");
  g_assert_cmpuint (in_use (&dvm, 1) + in_use (&dvm, 2) + in_use (&dvm, 3), ==, 6);
  /* Jobs that wait do not hold it up. */
  assert_state (start (&dvm, "6", NULL, NULL), DVM_JOB_STATE_ALLOCATE);
  check_beside (&dvm, "colocate=2", 0, "2 2");
  g_assert_cmpuint (in_use (&dvm, 2), ==, 2);
}

static void
test_beside_goes_on (void)
{
  const guint slots[] = { 2 };
  g_auto (Dvm) dvm = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdJob *first;
  DvmdJob *job;

  dvm_init (&dvm, 1, slots, NULL);
  first = start (&dvm, "2", NULL, NULL);
  job = try_beside (&dvm, "colocate=1", 0, NULL, &error);
  launch_all (&dvm.world, first);
  end_proc (&dvm.world, first, 1, DVM_PROC_STATE_TERMINATED, 0, 0);
  check_beside (&dvm, "colocate=1", 0, "1");
  check_not_beside (&dvm, "colocate=1:1", 0, DVM_ERROR_NOT_FOUND, "rank 1 of job dvm-test@1 has ended");
  end_proc (&dvm.world, first, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  check_not_beside (&dvm, "colocate=1", 0, DVM_ERROR_NOT_FOUND, "job dvm-test@1 is ending (NOTIFY_COMPLETED)");
  all_gone (&dvm.world, first);
  check_nodes (job, "1 1");
  g_assert_cmpuint (in_use (&dvm, 1), ==, 0);
  check_not_beside (&dvm, "colocate=1", 0, DVM_ERROR_NOT_FOUND, "job dvm-test@1 has ended (NOTIFIED)");
  check_beside (&dvm, "colocate=2", 0, "1 1");
}

/* A job with cpus and no slots is in the way of others: these wait for it, as for any. */
static DvmdMap *
map_if_alone (gpointer data, DvmdJob *job, const DvmdPlaces *places, GError **error)
{
  if (places->beside == NULL && !places->alone && g_hash_table_size (places->nodes[places->n_nodes - 1]->jobs.ids) > 1)
    {
      g_set_error_literal (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "others have the cpus");
      return NULL;
    }
  return map_job (data, job, places, error);
}

static void
test_waits_for_cpus (void)
{
  const guint slots[] = { 2, 2 };
  g_auto (Dvm) dvm = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdJob *first;
  DvmdJob *beside;
  DvmdJob *job;

  dvm_init (&dvm, 2, slots, NULL);
  dvm.effects.placement.map = map_if_alone;
  first = start (&dvm, "1 node2", NULL, NULL);
  beside = try_beside (&dvm, "colocate=1", 0, NULL, &error);
  check_nodes (beside, "2");
  run_to_end (&dvm.world, first);
  first = try_beside (&dvm, "colocate=2", 0, NULL, &error);
  check_nodes (first, "2");
  job = start (&dvm, "1", NULL, NULL);
  assert_state (job, DVM_JOB_STATE_ALLOCATE);
  run_to_end (&dvm.world, first);
  check_nodes (job, "1");
}

/* A mapper that finds no place for a job of two programs, whoever is there. */
static DvmdMap *
map_one_program (gpointer data, DvmdJob *job, const DvmdPlaces *places, GError **error)
{
  if (dvm_job_spec_get_n_apps (dvmd_job_get_spec (job)) == 1)
    return map_if_alone (data, job, places, error);
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "there is no such device");
  return NULL;
}

/* Where nobody has given slots a job that cannot have its place is told so while another one runs, and does not wait.
 */
static void
test_slots_not_given (void)
{
  const guint slots[] = { 0, 0 };
  g_auto (Dvm) dvm = { 0 };
  DvmdJob *first;
  DvmdJob *job;

  dvm_init (&dvm, 2, slots, NULL);
  dvm.effects.placement.map = map_one_program;
  first = start (&dvm, "1", NULL, NULL);
  check_nodes (first, "1");
  check_failed (start (&dvm, "1; 1", NULL, NULL), "no such device");
  check_failed (start (&dvm, "1000; 1000", NULL, NULL), "no such device");
  /* One that is larger than the slots waits for all of them. */
  job = start (&dvm, "1000", NULL, NULL);
  assert_state (job, DVM_JOB_STATE_ALLOCATE);
  run_to_end (&dvm.world, first);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

static void
test_beside_refused (void)
{
  const guint slots[] = { 2, 2 };
  g_auto (Dvm) dvm = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdNodePool *pool;

  dvm_init (&dvm, 2, slots, NULL);
  pool = dvmd_core_get_nodes (dvm.world.core);
  check_nodes (start (&dvm, "4", NULL, NULL), "1 1 2 2");
  assert_state (start (&dvm, "1", NULL, NULL), DVM_JOB_STATE_ALLOCATE);
  check_not_beside (&dvm, "colocate=9", 0, DVM_ERROR_NOT_FOUND, "there is no job “9”");
  check_not_beside (&dvm, "colocate=other@1", 0, DVM_ERROR_NOT_FOUND, "there is no job “other@1”");
  check_not_beside (&dvm, "colocate=2", 0, DVM_ERROR_NOT_READY, "job dvm-test@2 does not run yet (ALLOCATE)");
  check_not_beside (&dvm, "colocate=1:3-4", 0, DVM_ERROR_NOT_FOUND, "has the ranks 0 to 3, 4 is none of them");
  check_not_beside (&dvm, "colocate=1:3-", 0, DVM_ERROR_BAD_PARAM, "map-by: “3-” of colocate");
  check_not_beside (&dvm, "colocate=1+dvm-test@1", 0, DVM_ERROR_BAD_PARAM, "job dvm-test@1 is named twice");
  check_not_beside (&dvm, "colocate=1:npernode=1", 3, DVM_ERROR_MAP_FAILED,
                    "np: 3 contradicts map-by “colocate”, which makes 2 processes: 1 on each node");
  check_not_beside (&dvm, "colocate=1:nperproc=65535", 0, DVM_ERROR_MAP_FAILED, "131072 at most");
  /* A process of another job has nothing to look for there. */
  g_assert_null (try_beside (&dvm, "colocate=1", 0, "pmix:dvm-test@2.0", &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS);
  dvmd_core_drain_node (dvm.world.core, dvmd_node_pool_get (pool, 2), "for a while", NULL);
  check_not_beside (&dvm, "colocate=1", 0, DVM_ERROR_MAP_FAILED, "node node2 is drained");
  check_beside (&dvm, "colocate=1:0-1", 0, "1 1");
}

/* ---- random lives ---- */

#define N_NODES 5

typedef struct
{
  Dvm *dvm;
  GRand *random;
  GPtrArray *jobs; /* DvmdJob that have not ended, with a reference */
  guint slots[N_NODES];
  guint slots_max[N_NODES];
} Life;

/* The slots in use on a node are those that jobs with a map have there. */
static void
check_claims (Life *self)
{
  DvmdNodePool *pool = dvmd_core_get_nodes (self->dvm->world.core);

  for (guint i = 0; i < N_NODES; i++)
    {
      DvmdNode *node = dvmd_node_pool_get (pool, i + 1);
      guint sum = 0;
      gboolean over = FALSE;

      for (guint k = 0; k < self->jobs->len; k++)
        {
          DvmdJob *job = self->jobs->pdata[k];

          if (dvmd_job_get_map (job) == NULL)
            continue;
          sum += dvmd_map_count_on_node (dvmd_job_get_map (job), i + 1);
          over = over || g_strcmp0 (dvm_job_spec_get_when_full (dvmd_job_get_spec (job)), "oversubscribe") == 0;
        }
      g_assert_cmpuint (node->slots_in_use, ==, sum);
      g_assert_true (over || sum <= self->slots[i]);
      g_assert_true (self->slots_max[i] == 0 || sum <= self->slots_max[i]);
    }
}

static char *
random_hosts (Life *self)
{
  GString *text = g_string_new (NULL);
  guint n = g_rand_int_range (self->random, 0, 4);

  for (guint i = 0; i < n; i++)
    {
      g_string_append_printf (text, "%snode%d", i > 0 ? "," : "", g_rand_int_range (self->random, 1, N_NODES + 1));
      if (g_rand_boolean (self->random))
        g_string_append_printf (text, ":%d", g_rand_int_range (self->random, 1, 4));
    }
  return g_string_free (text, FALSE);
}

static void
begin_random (Life *self)
{
  static const char *const when[] = { NULL, "wait", "refuse", "oversubscribe" };
  static const char *const by[] = { NULL, "node", "ppr:1:node", "ppr:2:node" };
  GString *apps = g_string_new (NULL);
  guint n_apps = g_rand_int_range (self->random, 1, 3);
  DvmdJob *job;

  for (guint i = 0; i < n_apps; i++)
    {
      g_autofree char *hosts = random_hosts (self);

      g_string_append_printf (apps, "%s%d%s%s", i > 0 ? "; " : "", g_rand_int_range (self->random, i > 0 ? 1 : 0, 7),
                              hosts[0] != '\0' ? " " : "", hosts);
    }
  job = start (self->dvm, apps->str, by[g_rand_int_range (self->random, 0, 4)],
               when[g_rand_int_range (self->random, 0, 4)]);
  g_ptr_array_add (self->jobs, g_object_ref (job));
  g_string_free (apps, TRUE);
}

static void
drop_ended (Life *self)
{
  for (guint i = self->jobs->len; i > 0; i--)
    if (dvmd_job_get_ended (self->jobs->pdata[i - 1]))
      g_ptr_array_remove_index_fast (self->jobs, i - 1);
}

/* Ends one that is launched. FALSE: there is none. */
static gboolean
end_random (Life *self)
{
  guint first = self->jobs->len > 0 ? g_rand_int_range (self->random, 0, self->jobs->len) : 0;

  for (guint i = 0; i < self->jobs->len; i++)
    {
      DvmdJob *job = self->jobs->pdata[(first + i) % self->jobs->len];

      if (dvmd_job_get_state (job) != DVM_JOB_STATE_SEND_LAUNCH_MSG)
        continue;
      run_to_end (&self->dvm->world, job);
      return TRUE;
    }
  return FALSE;
}

static void
live (GRand *random)
{
  g_auto (Dvm) dvm = { 0 };
  g_autoptr (GPtrArray) jobs = g_ptr_array_new_with_free_func (g_object_unref);
  Life self = { .dvm = &dvm, .random = random, .jobs = jobs };

  for (guint i = 0; i < N_NODES; i++)
    {
      self.slots[i] = g_rand_int_range (random, 1, 5);
      self.slots_max[i] = g_rand_boolean (random) ? self.slots[i] + g_rand_int_range (random, 0, 4) : 0;
    }
  dvm_init (&dvm, N_NODES, self.slots, self.slots_max);
  for (guint i = 0; i < 60; i++)
    {
      if (g_rand_boolean (random))
        begin_random (&self);
      else
        end_random (&self);
      drop_ended (&self);
      check_claims (&self);
    }
  while (end_random (&self))
    {
      drop_ended (&self);
      check_claims (&self);
    }
  /* All jobs that were let wait have had their turn. */
  g_assert_cmpuint (self.jobs->len, ==, 0);
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (dvmd_core_get_nodes (dvm.world.core)), ==, 0);
}

static void
test_random (void)
{
  guint32 seed = g_test_rand_int ();
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);

  g_test_message ("seed %u", seed);
  for (guint i = 0; i < 100; i++)
    live (random);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/admission/hosts", test_hosts);
  g_test_add_func ("/admission/refused", test_refused);
  g_test_add_func ("/admission/hostfile", test_hostfile);
  g_test_add_func ("/admission/waits-for-shape", test_waits_for_shape);
  g_test_add_func ("/admission/waits-for-empty", test_waits_for_empty);
  g_test_add_func ("/admission/slots-max", test_slots_max);
  g_test_add_func ("/admission/slots-are-no-limit", test_slots_are_no_limit);
  g_test_add_func ("/admission/keeps-its-place", test_keeps_its_place);
  g_test_add_func ("/admission/drained-programs", test_drained_programs);
  g_test_add_func ("/admission/file-of-programs", test_file_of_programs);
  g_test_add_func ("/admission/beside", test_beside);
  g_test_add_func ("/admission/beside-goes-on", test_beside_goes_on);
  g_test_add_func ("/admission/waits-for-cpus", test_waits_for_cpus);
  g_test_add_func ("/admission/slots-not-given", test_slots_not_given);
  g_test_add_func ("/admission/beside-refused", test_beside_refused);
  g_test_add_func ("/admission/random", test_random);
  return g_test_run ();
}
