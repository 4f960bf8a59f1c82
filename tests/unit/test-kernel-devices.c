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
  /* Those who read the XML find the same ones. */
  noted = dvmd_devices_new_from_hwloc (dvmd_topology_get_hwloc (machine));
  again = show (noted);
  g_assert_cmpstr (again, ==, shown);
  g_assert_true (dvmd_remove_tree (root, NULL));
}

/* Machines that differ in devices alone are not alike; those of other uuids are. */
static void
test_signature (void)
{
  static const char *const remarks[] = { "0 0000:06:00.0 nvidia - GPU-1 0-1 nvml0",
                                         "0 0000:06:00.0 nvidia - GPU-2 0-1 nvml0",
                                         "0 0000:06:00.0 nvidia - GPU-1 2-3 nvml0",
                                         "0 0000:06:00.0 nvidia - - 0-1 nvml0" };
  g_autoptr (GPtrArray) signatures = g_ptr_array_new_with_free_func (g_free);

  for (gsize i = 0; i < G_N_ELEMENTS (remarks); i++)
    {
      g_autoptr (DvmdTopology) bare = dvmd_topology_new_from_synthetic ("numa:2 core:2 pu:1", NULL);
      g_autoptr (DvmdTopology) machine = NULL;
      g_autofree char *xml = NULL;

      hwloc_obj_add_info (hwloc_get_root_obj (dvmd_topology_get_hwloc (bare)), "DvmDevice", remarks[i]);
      xml = dvmd_topology_dup_xml (bare, NULL);
      machine = dvmd_topology_new_from_xml (xml, strlen (xml), NULL);
      g_assert_cmpstr (dvmd_topology_get_signature (machine), !=, dvmd_topology_get_signature (bare));
      g_ptr_array_add (signatures, g_strdup (dvmd_topology_get_signature (machine)));
    }
  g_assert_cmpstr (signatures->pdata[1], ==, signatures->pdata[0]);
  g_assert_cmpstr (signatures->pdata[2], !=, signatures->pdata[0]);
  g_assert_cmpstr (signatures->pdata[3], !=, signatures->pdata[0]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kernel-devices/kernel", test_kernel);
  g_test_add_func ("/kernel-devices/signature", test_signature);
  return g_test_run ();
}
