/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The devices of a machine are read from the files of its kernel.
 */

#include "config.h"

#include <hwloc.h>
#include <string.h>
#include <unistd.h>

#include "dvmd-devices.h"
#include "dvmd-remove-tree.h"

#define BUS "sys/bus/pci/devices/"
#define NV  "proc/driver/nvidia/gpus/"

/* A machine of its own below the directory: links and files. */
static const struct
{
  const char *path;
  const char *text; /* (nullable): it is a link */
  const char *link;
} files[] = {
  /* A GPU of NVIDIA with the kernel's part for screens, and one without. */
  { "sys/class/drm/card1", NULL, "../../devices/pci0000:00/0000:00:01.0/0000:06:00.0/drm/card1" },
  { "sys/class/drm/card1-DP-1", NULL, "../../devices/pci0000:00/0000:00:01.0/0000:06:00.0/drm/card1/card1-DP-1" },
  { "sys/class/drm/renderD128", NULL, "../../devices/pci0000:00/0000:00:01.0/0000:06:00.0/drm/renderD128" },
  { BUS "0000:06:00.0/vendor", "0x10de\n", NULL },
  { BUS "0000:06:00.0/local_cpulist", "0-1\n", NULL },
  { NV "0000:06:00.0/information", "Model: \t X\nGPU UUID: \t GPU-11111111\nDevice Minor: \t 0\n", NULL },
  { BUS "0000:03:00.0/vendor", "0x10de\n", NULL },
  { BUS "0000:03:00.0/local_cpulist", "2-3\n", NULL },
  { NV "0000:03:00.0/information", "GPU UUID: \t GPU-22222222\nDevice Minor: \t 1\n", NULL },
  /* One of AMD, and one that its driver does not name. */
  { "sys/class/drm/renderD129", NULL, "../../devices/pci0000:00/0000:07:00.0/drm/renderD129" },
  { BUS "0000:07:00.0/vendor", "0x1002\n", NULL },
  { BUS "0000:07:00.0/unique_id", "a1b2c3d4\n", NULL },
  { "sys/class/drm/renderD130", NULL, "../../devices/pci0000:00/0000:08:00.0/drm/renderD130" },
  { BUS "0000:08:00.0/vendor", "0x8086\n", NULL },
  /* The screen of a management board. */
  { "sys/class/drm/card0", NULL, "../../devices/pci0000:00/0000:53:00.0/drm/card0" },
  /* A card of a fabric, which is one device; cards that are none. */
  { "sys/class/infiniband/mlx5_0", NULL, "../../devices/pci0000:00/0000:0a:00.0/infiniband/mlx5_0" },
  { "sys/class/net/ib0", NULL, "../../devices/pci0000:00/0000:0a:00.0/net/ib0" },
  { "sys/class/net/lo", NULL, "../../devices/virtual/net/lo" },
  /* A disk of the bus and one that is not; a part is none. */
  { "sys/class/block/nvme0n1", NULL, "../../devices/pci0000:00/0000:0b:00.0/nvme/nvme0/nvme0n1" },
  { "sys/class/block/mmcblk0", NULL, "../../devices/platform/mmc/block/mmcblk0" },
  { "sys/class/block/loop0", NULL, "../../devices/virtual/block/loop0" },
};

static void
make_machine (const char *root)
{
  for (gsize i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_build_filename (root, files[i].path, NULL);
      g_autofree char *folder = g_path_get_dirname (path);

      g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
      if (files[i].link != NULL)
        g_assert_cmpint (symlink (files[i].link, path), ==, 0);
      else
        g_assert_true (g_file_set_contents (path, files[i].text, -1, NULL));
    }
}

static char *
show (GPtrArray *devices)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < devices->len; i++)
    {
      const DvmdDevice *device = devices->pdata[i];
      g_autofree char *names = g_strjoinv (",", device->names);

      g_string_append_printf (text, "%u %s %s %s %s %s\n", device->type, device->bus_id, device->vendor, device->uuid,
                              device->cpus, names);
    }
  return g_string_free (text, FALSE);
}

static void
test_kernel (void)
{
  g_autoptr (DvmdTopology) machine = dvmd_topology_new_from_synthetic ("numa:2 core:2 pu:1", NULL);
  g_autofree char *root = g_dir_make_tmp ("dvm-devices-XXXXXX", NULL);
  g_autoptr (GPtrArray) devices = NULL;
  g_autoptr (GPtrArray) noted = NULL;
  g_autofree char *shown = NULL;
  g_autofree char *again = NULL;

  make_machine (root);
  devices = dvmd_devices_new_from_kernel (root);
  dvmd_devices_note (devices, dvmd_topology_get_hwloc (machine));
  dvmd_devices_finish (devices, dvmd_topology_get_hwloc (machine));
  shown = show (devices);
  g_assert_cmpstr (shown, ==,
                   "0 0000:03:00.0 nvidia GPU-22222222 2-3 nvidia1\n"
                   "0 0000:06:00.0 nvidia GPU-11111111 0-1 nvidia0,renderD128,card1\n"
                   "0 0000:07:00.0 amd GPU-00000000a1b2c3d4 0-3 renderD129\n"
                   "0 0000:08:00.0 intel  0-3 renderD130\n"
                   "1 0000:0a:00.0   0-3 mlx5_0,ib0\n"
                   "2 0000:0b:00.0   0-3 nvme0n1\n"
                   "2    0-3 mmcblk0\n");
  g_assert_cmpstr (((DvmdDevice *)devices->pdata[4])->fabric, ==, "mlx5_0");
  /* A reader of the XML finds the same devices. */
  noted = dvmd_devices_new_from_hwloc (dvmd_topology_get_hwloc (machine), NULL);
  again = show (noted);
  g_assert_cmpstr (again, ==, shown);
  g_assert_true (dvmd_remove_tree (root, NULL));
}

static void
add_remark (DvmdTopology *machine, const char *text)
{
  hwloc_obj_add_info (hwloc_get_root_obj (dvmd_topology_get_hwloc (machine)), "DvmDevice", text);
}

/* (transfer full) (nullable): of the XML */
static DvmdTopology *
read_again (DvmdTopology *machine, GError **error)
{
  g_autofree char *xml = dvmd_topology_dup_xml (machine, NULL);

  return dvmd_topology_new_from_xml (xml, strlen (xml), error);
}

/* Names of a device as the XML has them: those beyond the last that may be are not looked through. */
static void
check_names (const char *type, guint n, const char *expected)
{
  g_autoptr (DvmdTopology) machine = dvmd_topology_new_from_synthetic ("core:2 pu:1", NULL);
  g_autoptr (DvmdTopology) again = NULL;
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  g_string_printf (text, "%s 0000:06:00.0 - - - 0-1 ", type);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%sd%u", i > 0 ? "," : "", i);
  add_remark (machine, text->str);
  again = read_again (machine, &error);
  g_assert_true ((again != NULL) == (expected == NULL));
  if (again != NULL)
    g_assert_cmpuint (dvmd_topology_get_devices (again)->len, ==, 1);
  else
    g_assert_cmpstr (error->message, ==, expected);
}

static void
check_devices (guint n, const char *expected)
{
  g_autoptr (DvmdTopology) machine = dvmd_topology_new_from_synthetic ("core:2 pu:1", NULL);
  g_autoptr (DvmdTopology) again = NULL;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *text = g_strdup_printf ("1 - - - - 0-1 eth%u", i);

      add_remark (machine, text);
    }
  again = read_again (machine, &error);
  g_assert_true ((again != NULL) == (expected == NULL));
  if (again != NULL)
    g_assert_cmpuint (dvmd_topology_get_devices (again)->len, ==, n);
  else
    g_assert_cmpstr (error->message, ==, expected);
}

/* An XML that anybody may have written does not keep the controller from its work. */
static void
test_too_many (void)
{
  check_names ("1", DVMD_DEVICES_MOST_NAMES, NULL);
  check_names ("2", DVMD_DEVICES_MOST_NAMES, NULL);
  check_names ("1", DVMD_DEVICES_MOST_NAMES + 1, "The device d0 has more than 128 names");
  check_names ("2", DVMD_DEVICES_MOST_NAMES + 1, "The device d0 has more than 128 names");
  check_devices (4096, NULL);
  check_devices (4097, "The node has more than 4096 devices");
}

/* The kernel itself may have more: the rest is left out, and the remarks can be read. */
static void
test_many_of_kernel (void)
{
  g_autoptr (DvmdTopology) machine = dvmd_topology_new_from_synthetic ("core:2 pu:1", NULL);
  g_autofree char *root = g_dir_make_tmp ("dvm-devices-XXXXXX", NULL);
  g_autofree char *folder = g_build_filename (root, "sys/class/net", NULL);
  g_autoptr (GPtrArray) devices = NULL;
  g_autoptr (DvmdTopology) again = NULL;

  g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
  for (guint i = 0; i < DVMD_DEVICES_MOST_NAMES + 4; i++)
    {
      g_autofree char *path = g_strdup_printf ("%s/eth%u", folder, i);

      g_assert_cmpint (symlink ("../../devices/pci0000:00/0000:0a:00.0/net/eth", path), ==, 0);
    }
  devices = dvmd_devices_new_from_kernel (root);
  g_assert_cmpuint (devices->len, ==, 1);
  g_assert_cmpuint (g_strv_length (((DvmdDevice *)devices->pdata[0])->names), ==, DVMD_DEVICES_MOST_NAMES);
  dvmd_devices_note (devices, dvmd_topology_get_hwloc (machine));
  again = read_again (machine, NULL);
  g_assert_nonnull (again);
  g_assert_true (dvmd_remove_tree (root, NULL));
}

/* Machines that differ in devices alone are not alike; those of other uuids are. */
static void
test_signature (void)
{
  static const char *const remarks[] = { "0 0000:06:00.0 nvidia - GPU-1 0-1 nvml0",
                                         "0 0000:06:00.0 nvidia - GPU-2 0-1 nvml0",
                                         "0 0000:06:00.0 nvidia - GPU-1 2-3 nvml0",
                                         "0 0000:06:00.0 nvidia - - 0-1 nvml0",
                                         "1 0000:06:00.0 nvidia - GPU-1 0-1 nvml0" };
  g_autoptr (GPtrArray) signatures = g_ptr_array_new_with_free_func (g_free);

  for (gsize i = 0; i < G_N_ELEMENTS (remarks); i++)
    {
      g_autoptr (DvmdTopology) bare = dvmd_topology_new_from_synthetic ("numa:2 core:2 pu:1", NULL);
      g_autoptr (DvmdTopology) machine = NULL;

      add_remark (bare, remarks[i]);
      machine = read_again (bare, NULL);
      g_assert_cmpstr (dvmd_topology_get_signature (machine), !=, dvmd_topology_get_signature (bare));
      g_ptr_array_add (signatures, g_strdup (dvmd_topology_get_signature (machine)));
    }
  g_assert_cmpstr (signatures->pdata[1], ==, signatures->pdata[0]);
  g_assert_cmpstr (signatures->pdata[2], !=, signatures->pdata[0]);
  g_assert_cmpstr (signatures->pdata[3], !=, signatures->pdata[0]);
  g_assert_cmpstr (signatures->pdata[4], !=, signatures->pdata[0]);
}

/* (nullable): the cpus of the object that has the adapter of that name and address. */
static char *
find_adapter (DvmdTopology *machine, const char *name, const char *address)
{
  hwloc_topology_t topology = dvmd_topology_get_hwloc (machine);
  g_autofree char *found = NULL;
  char *cpus = NULL;

  for (hwloc_obj_t object = NULL; (object = hwloc_get_next_osdev (topology, object)) != NULL;)
    if (strcmp (object->name, name) == 0)
      {
        g_assert_null (found);
        g_assert_cmpint (object->attr->osdev.type, ==, HWLOC_OBJ_OSDEV_NETWORK);
        g_assert_cmpstr (hwloc_obj_get_info_by_name (object, "Address"), ==, address);
        hwloc_bitmap_list_asprintf (&cpus, hwloc_get_non_io_ancestor_obj (topology, object)->cpuset);
        found = g_strdup (cpus);
        free (cpus);
      }
  return g_steal_pointer (&found);
}

/* libpmix finds distances to objects alone, and to none at all where it does not know an address. */
static void
test_adapters (void)
{
  static const struct
  {
    const char *remark;
    const char *name;
    const char *address;
    const char *cpus; /* (nullable): no object is made of it */
  } rows[] = {
    { "1 0000:03:00.0 - - 02:00:00:00:00:01 2-3 eth0", "eth0", "02:00:00:00:00:01", "2-3" },
    { "1 0000:04:00.0 - - 02:00:00:00:00:02 0 eth1", "eth1", "02:00:00:00:00:02", "0" },
    { "1 0000:05:00.0 - - 02:00:00:00:00:03 - a&b", "a&b", "02:00:00:00:00:03", "0-3" },
    { "1 0000:06:00.0 - - 00:00:10:49:fe:80:00:00 0-1 ib0", "ib0", NULL, NULL },
    { "1 0000:07:00.0 - mlx5_0 0c42:a103:0000:0000:0000:0000 0-1 mlx5_0", "mlx5_0", NULL, NULL },
    { "1 0000:08:00.0 - - 02:00:00:00:00:04 0-1 eth2,eth3", "eth2", NULL, NULL },
    { "1 0000:09:00.0 - - - 0-1 eth4", "eth4", NULL, NULL },
    { "2 0000:0a:00.0 - - - 0-1 sda", "sda", NULL, NULL },
  };
  g_autoptr (DvmdTopology) bare = dvmd_topology_new_from_synthetic ("numa:2 core:2 pu:1", NULL);
  g_autoptr (DvmdTopology) machine = NULL;
  g_autoptr (DvmdTopology) plain = NULL;
  g_autofree char *xml = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    add_remark (bare, rows[i].remark);
  plain = read_again (bare, NULL);
  xml = dvmd_topology_dup_xml_with_adapters (plain, NULL);
  machine = dvmd_topology_new_from_neighbour (xml, strlen (xml), NULL);
  g_assert_nonnull (machine);
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *cpus = find_adapter (machine, rows[i].name, rows[i].address);

      g_assert_cmpstr (cpus, ==, rows[i].cpus);
    }
  /* They are the devices that were there, and no others. */
  g_assert_cmpstr (dvmd_topology_get_signature (machine), ==, dvmd_topology_get_signature (plain));
  g_assert_cmpuint (dvmd_topology_get_devices (machine)->len, ==, G_N_ELEMENTS (rows));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kernel-devices/kernel", test_kernel);
  g_test_add_func ("/kernel-devices/too-many", test_too_many);
  g_test_add_func ("/kernel-devices/many-of-kernel", test_many_of_kernel);
  g_test_add_func ("/kernel-devices/signature", test_signature);
  g_test_add_func ("/kernel-devices/adapters", test_adapters);
  return g_test_run ();
}
