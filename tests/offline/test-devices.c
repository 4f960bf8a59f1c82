/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs that are mapped by device, on machines of which there is an XML.
 */

#include "config.h"

#include <string.h>

#include "dvmd-map-devices.h"
#include "offline-job.h"

/*
 * Two packages of two NUMA nodes of two cores. In the order of the bus: mlx5_0, nvml0, nvml1 near cores 2 and 3 (NUMA
 * 1), a screen and a disk near NUMA 0, mlx5_1 and nvml2 near NUMA 2, nvml3 and eno6 near NUMA 3.
 */
#define GPUS "gpus.xml"

typedef struct
{
  const char *machines; /* with "|" between them, of eight slots each */
  const char *map_by;
  const char *bind_to; /* (nullable) */
  guint32 np;          /* 0: not given */
  const char *expected;
} Case;

/* (transfer full): "rank:node:cpus:devices" of each rank */
static char *
show_devices (OfflineJob *job, DvmdMap *map, GPtrArray *cpus)
{
  g_autoptr (DvmdProcTable) table = dvmd_map_expand (map);
  g_autoptr (GPtrArray) nodes = g_ptr_array_new_with_free_func ((GDestroyNotify)dvmd_map_devices_free);
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < job->nodes->len; i++)
    {
      g_autoptr (GError) error = NULL;

      g_ptr_array_add (nodes,
                       dvmd_map_devices_new (map, i + 1, g_array_index (job->nodes, OfflineNode, i).topology, &error));
      g_assert_no_error (error);
    }
  for (guint rank = 0; rank < map->num_procs; rank++)
    {
      const DvmdProcRow *row = dvmd_proc_table_row (table, rank);
      const DvmdDeviceGroup *group = dvmd_map_devices_get (nodes->pdata[row->node - 1], row->local_rank);
      g_autofree char *name = group != NULL ? dvmd_device_group_name (group) : g_strdup ("-");

      g_string_append_printf (text, "%s%u:%u:%s:%s", rank > 0 ? " " : "", rank, row->node - 1,
                              cpus->pdata[rank] != NULL ? (const char *)cpus->pdata[rank] : "-", name);
    }
  return g_string_free (text, FALSE);
}

/* (transfer full): the message if it has no place. The map travels as it does to agents. */
static char *
place (OfflineJob *job)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdMap) map = offline_job_map (job, &error);
  g_autoptr (DvmdMap) arrived = NULL;
  g_autoptr (GVariant) variant = NULL;
  g_autoptr (GPtrArray) cpus = NULL;

  if (map == NULL)
    return g_strdup (error->message);
  variant = g_variant_ref_sink (dvmd_map_to_variant (map));
  arrived = dvmd_map_new_from_variant (variant, &error);
  g_assert_no_error (error);
  cpus = offline_job_bind (job, arrived, &error);
  g_assert_no_error (error);
  return show_devices (job, arrived, cpus);
}

static void
add_nodes (OfflineJob *job, const char *machines)
{
  g_auto (GStrv) texts = g_strsplit (machines, "|", -1);

  for (guint i = 0; texts[i] != NULL; i++)
    {
      g_autofree char *name = g_strdup_printf ("n%u", i);

      offline_job_add_node (job, name, texts[i], 8);
    }
}

static void
check_cases (gconstpointer mappers, const Case *cases, gsize n, gboolean right)
{
  for (gsize i = 0; i < n; i++)
    {
      g_auto (OfflineJob) job = { 0 };
      g_autofree char *placed = NULL;

      offline_job_init (&job, (GPtrArray *)mappers);
      add_nodes (&job, cases[i].machines);
      g_array_append_val (job.app_np, cases[i].np);
      job.wishes = (DvmdMapWishes){ .map_by = cases[i].map_by, .bind_to = cases[i].bind_to, .binds = TRUE };
      placed = place (&job);
      if (right ? strcmp (placed, cases[i].expected) != 0 : strstr (placed, cases[i].expected) == NULL)
        g_error ("-n %u --map-by %s --bind-to %s on %s is \"%s\", not \"%s\"", cases[i].np, cases[i].map_by,
                 cases[i].bind_to, cases[i].machines, placed, cases[i].expected);
    }
}

static void
test_classes (gconstpointer mappers)
{
  static const Case right[] = {
    /* In the order of the bus, each with a core near it; the screen is none of them. */
    { GPUS, "device=gpu", NULL, 4, "0:0:2:nvml0 1:0:3:nvml1 2:0:4:nvml2 3:0:6:nvml3" },
    { GPUS, "device=GPU", NULL, 0, "0:0:2:nvml0 1:0:3:nvml1 2:0:4:nvml2 3:0:6:nvml3" },
    { GPUS, "dev=g", NULL, 1, "0:0:2:nvml0" },
    { GPUS, "device=network", NULL, 0, "0:0:2:mlx5_0 1:0:4:mlx5_1 2:0:6:eno6" },
    { GPUS, "device=Nic", NULL, 1, "0:0:2:mlx5_0" },
    { GPUS, "device=openf", NULL, 1, "0:0:2:mlx5_0" },
    { GPUS, "device=block", NULL, 0, "0:0:0:nvme0n1" },
    /* By any name, uuid or address. */
    { GPUS, "device=card3", NULL, 1, "0:0:4:nvml2" },
    { GPUS, "device=ib1", NULL, 1, "0:0:4:mlx5_1" },
    { GPUS, "device=GPU-00000003-aaaa-bbbb-cccc-000000000003", NULL, 1, "0:0:6:nvml3" },
    { GPUS, "device=0000:16:00.0", NULL, 1, "0:0:2:nvml1" },
    { GPUS, "device=0c42:a103:00d1:0001", NULL, 1, "0:0:4:mlx5_1" },
    { "vendors.xml", "device=gpu", NULL, 0, "0:0:0:rsmi0 1:0:1:rsmi1 2:0:2:ze0 3:0:3:ze1" },
    /* Nodes without are passed over; a node is filled before the next. */
    { "core:4 pu:1|" GPUS, "device=gpu", NULL, 2, "0:1:2:nvml0 1:1:3:nvml1" },
    { "nameless.xml|" GPUS, "device=gpu", NULL, 1, "0:1:2:nvml0" },
    { "nameless.xml", "device=nic", NULL, 1, "0:0:0:eno1" },
    { GPUS "|" GPUS, "device=nic", NULL, 4, "0:0:2:mlx5_0 1:0:4:mlx5_1 2:0:6:eno6 3:1:2:mlx5_0" },
    { GPUS "|" GPUS, "device=nic:span", NULL, 4, "0:0:2:mlx5_0 1:0:4:mlx5_1 2:0:6:eno6 3:1:2:mlx5_0" },
  };
  static const Case wrong[] = {
    { "package:2 core:4 pu:1", "device=gpu", NULL, 1, "the job's only node has no device" },
    { GPUS, "device=mlx5_7", NULL, 1, "the job's only node has no device" },
    { GPUS, "device=gpu", NULL, 5, "5 processes do not fit onto the 4 devices “gpu”" },
    { GPUS "|" GPUS, "device=GPU-00000001-aaaa-bbbb-cccc-000000000001", NULL, 1,
      "node n1: map-by: it is like another node" },
    { "nameless.xml", "device=gpu", NULL, 1, "node n0: map-by: the GPU renderD128 (0000:01:00.0) has no name" },
    { "nameless.xml", "ppr:1:device=gpu", NULL, 0, "node n0: map-by: the GPU renderD128 (0000:01:00.0) has no name" },
  };

  check_cases (mappers, right, G_N_ELEMENTS (right), TRUE);
  check_cases (mappers, wrong, G_N_ELEMENTS (wrong), FALSE);
}

static void
test_qualifiers (gconstpointer mappers)
{
  static const Case right[] = {
    { GPUS, "device=gpu:interleave", NULL, 4, "0:0:2:nvml0 1:0:4:nvml2 2:0:3:nvml1 3:0:6:nvml3" },
    { GPUS, "device=gpu:interleave=numa", NULL, 4, "0:0:2:nvml0 1:0:4:nvml2 2:0:6:nvml3 3:0:3:nvml1" },
    { GPUS, "device=gpu:interleave=l3", NULL, 2, "0:0:2:nvml0 1:0:3:nvml1" },
    /* Two of one NUMA node are near that; two of one package near the package. */
    { GPUS, "device=gpu:ndev=2", NULL, 0, "0:0:2:nvml0,nvml1 1:0:4:nvml2,nvml3" },
    { GPUS, "device=gpu:ndev=2:interleave", NULL, 1, "0:0:0:nvml0,nvml2" },
    { GPUS, "device=gpu:ndev=4", "package", 1, "0:0:0-3:nvml0,nvml1,nvml2,nvml3" },
    /* Each device has one before any has two. */
    { GPUS, "device=gpu:shared", "none", 6, "0:0:-:nvml0 1:0:-:nvml0 2:0:-:nvml1 3:0:-:nvml1 4:0:-:nvml2 5:0:-:nvml3" },
    { GPUS, "device=gpu:shared", NULL, 6, "0:0:-:nvml0 1:0:-:nvml0 2:0:-:nvml1 3:0:-:nvml1 4:0:-:nvml2 5:0:-:nvml3" },
    { GPUS, "device=nvml2:shared", NULL, 2, "0:0:4:nvml2 1:0:5:nvml2" },
    { GPUS, "device=gpu:pe=2", NULL, 1, "0:0:2-3:nvml0" },
    { GPUS, "device=gpu", "numa", 3, "0:0:2-3:nvml0 1:0:2-3:nvml1 2:0:4-5:nvml2" },
    { GPUS, "device=gpu", "none", 2, "0:0:-:nvml0 1:0:-:nvml1" },
    { GPUS, "ppr:1:device=gpu", NULL, 0, "0:0:2:nvml0 1:0:3:nvml1 2:0:4:nvml2 3:0:6:nvml3" },
    { GPUS, "ppr:2:device=nic", NULL, 0, "0:0:2:mlx5_0 1:0:3:mlx5_0 2:0:4:mlx5_1 3:0:5:mlx5_1 4:0:6:eno6 5:0:7:eno6" },
  };
  static const Case wrong[] = {
    { GPUS, "device=gpu:ndev=3", NULL, 1,
      "NDEV=3 does not divide the number of devices “gpu” of the node, which is 4: it can be 1, 2 or 4" },
    { GPUS, "device=block:ndev=2", NULL, 1, "“block” of the node, which is 1: it can be 1" },
    { GPUS, "device=gpu:ndev=2", NULL, 3, "3 processes do not fit onto the 2 devices “gpu”, or groups of them" },
    { GPUS, "device=gpu", "package", 1, "bind-to: one package has cpus that are not near the device, which are 2-3" },
    { GPUS, "device=nvml0:shared", "core", 3, "3 processes do not fit" },
    { GPUS, "ppr:1:device=nvml9", NULL, 0, "“ppr” gives the job no process: none of its nodes has a device=nvml9" },
    { GPUS, "ppr:1:device=nvml9", NULL, 1, "the job's only node has no device “nvml9” that no other job" },
    { GPUS, "ppr:1:device=gpu:PE=3", NULL, 1, "the 3 cores of a process (PE=3) are near no device “gpu”" },
    { GPUS, "ppr:2:device=gpu", "core", 8,
      "2 of each application on each device “gpu” of the job's only node, with cpus of its own near it" },
    { GPUS, "device=gpu:pe=3", NULL, 0,
      "the 3 cores of a process (PE=3) are near no device “gpu” of the job's only node" },
    { GPUS, "device=gpu:pe=2", NULL, 4, "each has 2 cores of its own near its device “gpu”, and after those that" },
  };

  check_cases (mappers, right, G_N_ELEMENTS (right), TRUE);
  check_cases (mappers, wrong, G_N_ELEMENTS (wrong), FALSE);
}

static void
set_wishes (OfflineJob *job, const char *map_by, guint32 np)
{
  DvmdMapWishes wishes = { .map_by = map_by, .binds = TRUE };

  if (job->app_wishes == NULL)
    job->app_wishes = g_array_new (FALSE, FALSE, sizeof (DvmdMapWishes));
  g_array_append_val (job->app_wishes, wishes);
  g_array_append_val (job->app_np, np);
}

/* Devices that several programs share are used evenly. */
static void
test_shared (gconstpointer mappers)
{
  static const struct
  {
    const char *machines;
    const char *map_by;
    const char *bind_to; /* (nullable) */
    guint32 np[3];
    const char *expected;
  } cases[] = {
    { GPUS, "device=gpu:shared", "none", { 2, 2 }, "0:0:-:nvml0 1:0:-:nvml1 2:0:-:nvml2 3:0:-:nvml3" },
    { GPUS,
      "device=gpu:shared",
      "none",
      { 3, 2, 2 },
      "0:0:-:nvml0 1:0:-:nvml1 2:0:-:nvml2 3:0:-:nvml0 4:0:-:nvml3 5:0:-:nvml1 6:0:-:nvml2" },
    { GPUS "|" GPUS, "device=block:shared:span", "none", { 1, 2 }, "0:0:-:nvme0n1 1:0:-:nvme0n1 2:1:-:nvme0n1" },
    { GPUS, "device=block:shared", NULL, { 1, 1 }, "0:0:0:nvme0n1 1:0:1:nvme0n1" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (OfflineJob) job = { 0 };
      g_autofree char *placed = NULL;

      offline_job_init (&job, (GPtrArray *)mappers);
      add_nodes (&job, cases[i].machines);
      for (guint k = 0; k < G_N_ELEMENTS (cases[i].np) && cases[i].np[k] > 0; k++)
        g_array_append_val (job.app_np, cases[i].np[k]);
      job.wishes = (DvmdMapWishes){ .map_by = cases[i].map_by, .bind_to = cases[i].bind_to, .binds = TRUE };
      placed = place (&job);
      g_assert_cmpstr (placed, ==, cases[i].expected);
    }
}

/* A job that gives no number has not asked for its processes. */
static void
test_counted (gconstpointer mappers)
{
  static const struct
  {
    const char *map_by[2]; /* of each program */
    const char *in_use;    /* (nullable) */
    const char *expected;
  } cases[] = {
    { { "device=gpu:PE=2" },
      "2,4,6",
      "no number was given (-n), so that there is 1 process, which does not fit onto the job's only node: each has 2 "
      "cores "
      "of its own near its device “gpu”, and after those that have a place there is room for 0; let them share" },
    { { "device=gpu:PE=2", "device=nic:PE=2" },
      NULL,
      "no number was given (-n), so that there are 3 processes, which do not fit onto the job's only node: each has 2 "
      "cores of its own near its device “network”, and after those that have a place there is room for 0; give a "
      "smaller "
      "number (-n), or let them share" },
    { { "ppr:1:device=gpu:PE=2" }, NULL, "so many; give a smaller number (-n), more for each, or more nodes" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (OfflineJob) job = { 0 };
      g_autoptr (GError) error = NULL;

      offline_job_init (&job, (GPtrArray *)mappers);
      add_nodes (&job, GPUS);
      if (cases[i].in_use != NULL)
        g_array_index (job.nodes, OfflineNode, 0).in_use = dvmd_cpuset_new_from_list (cases[i].in_use);
      for (guint k = 0; k < 2 && cases[i].map_by[k] != NULL; k++)
        set_wishes (&job, cases[i].map_by[k], 0);
      g_assert_null (offline_job_map (&job, &error));
      if (strstr (error->message, cases[i].expected) == NULL)
        g_error ("--map-by %s: \"%s\"", cases[i].map_by[0], error->message);
    }
}

/* Programs of one job have no device together, and none that another job has. */
static void
test_others (gconstpointer mappers)
{
  g_auto (OfflineJob) job = { 0 };
  g_auto (OfflineJob) later = { 0 };
  g_autofree char *placed = NULL;
  g_autofree char *beside = NULL;

  offline_job_init (&job, (GPtrArray *)mappers);
  add_nodes (&job, GPUS);
  set_wishes (&job, "device=gpu", 2);
  set_wishes (&job, "device=gpu:interleave", 1);
  set_wishes (&job, "device=nic", 1);
  placed = place (&job);
  g_assert_cmpstr (placed, ==, "0:0:2:nvml0 1:0:3:nvml1 2:0:4:nvml2 3:0:5:mlx5_1");
  offline_job_init (&later, (GPtrArray *)mappers);
  /* In the order of the bus: mlx5_0, nvml0, nvml1, ... */
  offline_job_add_node (&later, "n0", GPUS, 8)->devices_in_use = dvmd_cpuset_new_from_list ("1");
  set_wishes (&later, "device=gpu", 1);
  set_wishes (&later, "device=gpu:ndev=2", 1);
  beside = place (&later);
  g_assert_cmpstr (beside, ==, "0:0:2:nvml1 1:0:4:nvml2,nvml3");
}

/* The XML that agents tell of a machine has its devices. */
static void
test_travel (gconstpointer mappers)
{
  static const char *const names[] = { GPUS, "vendors.xml", "nameless.xml" };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_auto (OfflineJob) job = { 0 };
      g_autofree char *xml = NULL;
      g_autoptr (DvmdTopology) arrived = NULL;
      DvmdTopology *topology;

      offline_job_init (&job, (GPtrArray *)mappers);
      topology = offline_job_add_node (&job, "n0", names[i], 1)->topology;
      xml = dvmd_topology_dup_xml (topology, NULL);
      arrived = dvmd_topology_new_from_xml (xml, strlen (xml), NULL);
      g_assert_cmpstr (dvmd_topology_get_signature (arrived), ==, dvmd_topology_get_signature (topology));
      g_assert_cmpuint (dvmd_topology_get_devices (arrived)->len, ==, dvmd_topology_get_devices (topology)->len);
    }
}

/* ---- random jobs ---- */

typedef struct
{
  OfflineJob job;
  guint number; /* of devices of each process */
  gboolean shared;
  char *map_by;
} Trial;

static void
draw_trial (Trial *self, GRand *random, GPtrArray *mappers)
{
  static const char *const machines[] = { GPUS, "vendors.xml", "nameless.xml", "package:2 core:4 pu:1" };
  static const char *const orders[] = { "", ":interleave", ":interleave=numa", ":span" };
  static const char *const classes[] = { "gpu", "network", "block" };
  guint n_nodes = (guint)g_rand_int_range (random, 1, 5);
  guint32 np = (guint32)g_rand_int_range (random, 1, 16);

  *self = (Trial){ .number = g_rand_int_range (random, 0, 3) == 0 ? 2 : 1, .shared = g_rand_boolean (random) };
  offline_job_init (&self->job, mappers);
  for (guint i = 0; i < n_nodes; i++)
    offline_job_add_node (&self->job, "n", machines[g_rand_int_range (random, 0, G_N_ELEMENTS (machines))],
                          (guint)g_rand_int_range (random, 0, 8));
  self->map_by = g_strdup_printf ("device=%s%s:ndev=%u:shared=%s", classes[g_rand_int_range (random, 0, 3)],
                                  orders[g_rand_int_range (random, 0, 4)], self->number, self->shared ? "y" : "n");
  g_array_append_val (self->job.app_np, np);
  /* No job is refused for the sake of a binding that was not asked for. */
  self->job.wishes = (DvmdMapWishes){ .map_by = self->map_by, .bind_to = g_rand_boolean (random) ? "none" : NULL };
  self->job.wishes.binds = TRUE;
}

/* The devices of a node that the processes there may have, by the words of the trial. */
static guint
count_groups (const Trial *self, guint node)
{
  DvmdTopology *topology = g_array_index (self->job.nodes, OfflineNode, node).topology;
  g_autofree char *name = g_strndup (self->map_by + strlen ("device="),
                                     strcspn (self->map_by + strlen ("device="), ":"));
  g_autofree char *wish = dvmd_device_wish_new (name, self->number, NULL);
  g_autoptr (GPtrArray) groups = dvmd_devices_choose (topology, wish, NULL);

  return groups != NULL ? groups->len : 0;
}

/* How many processes the nodes take. */
static guint
count_room (const Trial *self)
{
  guint room = 0;

  for (guint i = 0; i < self->job.nodes->len; i++)
    {
      guint slots = g_array_index (self->job.nodes, OfflineNode, i).slots;
      guint groups = count_groups (self, i);

      room += self->shared && groups > 0 ? slots : MIN (slots, groups);
    }
  return room;
}

/* Each process has as many devices as it is to have, and one more has a device only if each has one. */
static void
check_node (const Trial *self, DvmdMap *map, guint node)
{
  DvmdTopology *topology = g_array_index (self->job.nodes, OfflineNode, node).topology;
  g_autoptr (DvmdMapDevices) devices = dvmd_map_devices_new (map, node + 1, topology, NULL);
  g_autoptr (GHashTable) counts = g_hash_table_new (NULL, NULL);
  guint count = dvmd_map_count_on_node (map, node + 1);
  guint groups = count_groups (self, node);

  g_assert_nonnull (devices);
  g_assert_cmpuint (count, <=, g_array_index (self->job.nodes, OfflineNode, node).slots);
  for (guint i = 0; i < count; i++)
    {
      const DvmdDeviceGroup *group = dvmd_map_devices_get (devices, i);

      g_assert_nonnull (group);
      g_assert_cmpuint (group->devices->len, ==, self->number);
      for (guint k = 0; k < group->devices->len; k++)
        {
          gpointer device = group->devices->pdata[k];
          guint n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, device)) + 1;

          g_assert_cmpuint (n, <=, self->shared ? (count + groups - 1) / groups : 1);
          g_hash_table_insert (counts, device, GUINT_TO_POINTER (n));
        }
    }
}

static gboolean
try_trial (GRand *random, GPtrArray *mappers)
{
  Trial self;
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdMap) map = NULL;
  g_autoptr (GPtrArray) cpus = NULL;
  guint np;

  draw_trial (&self, random, mappers);
  map = offline_job_map (&self.job, &error);
  np = g_array_index (self.job.app_np, guint32, 0);
  if ((map != NULL) != (np <= count_room (&self)))
    g_error ("-n %u --map-by %s: %s, and there is room for %u", np, self.map_by,
             map != NULL ? "has a place" : error->message, count_room (&self));
  for (guint i = 0; map != NULL && i < self.job.nodes->len; i++)
    check_node (&self, map, i);
  if (map != NULL)
    {
      cpus = offline_job_bind (&self.job, map, &error);
      g_assert_no_error (error);
    }
  offline_job_clear (&self.job);
  g_free (self.map_by);
  return map != NULL;
}

static void
test_random (gconstpointer mappers)
{
  guint32 seed = (guint32)g_test_rand_int ();
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  guint n_placed = 0;

  g_test_message ("seed %u", seed);
  for (guint i = 0; i < 2000; i++)
    n_placed += try_trial (random, (GPtrArray *)mappers);
  g_assert_cmpuint (n_placed, >, 200);
}

static const OfflineTest tests[] = {
  { "/devices/classes", test_classes }, { "/devices/qualifiers", test_qualifiers }, { "/devices/shared", test_shared },
  { "/devices/others", test_others },   { "/devices/travel", test_travel },         { "/devices/random", test_random },
  { "/devices/counted", test_counted },
};

int
main (int argc, char **argv)
{
  return offline_run_tests (argc, argv, tests, G_N_ELEMENTS (tests));
}
