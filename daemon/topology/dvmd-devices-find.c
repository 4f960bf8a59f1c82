/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the devices of a node are found: in the files of the kernel, or among the objects of an XML of hwloc.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-topology"

#include "dvmd-devices.h"

#include <hwloc.h>
#include <string.h>

/* Of the root object, one for each device: "TYPE BUS VENDOR FABRIC UUID CPUS NAME,NAME", a dash for what is not known.
 */
#define REMARK "DvmDevice"

#define PCI_NVIDIA 0x10de
#define PCI_AMD    0x1002
#define PCI_INTEL  0x8086

static void
set_text (char **member, const char *text)
{
  g_free (*member);
  *member = g_strdup (text);
}

static const char *
name_vendor (guint64 number)
{
  return number == PCI_NVIDIA ? "nvidia" : number == PCI_AMD ? "amd" : number == PCI_INTEL ? "intel" : "";
}

/* AMD's library wants sixteen digits behind its prefix. */
static void
set_amd_uuid (DvmdDevice *device, const char *text)
{
  const char *digits = g_str_has_prefix (text, "GPU-") ? text + 4 : text;
  guint64 number = 0;

  if (g_str_has_prefix (digits, "0x"))
    digits += 2;
  if (!g_ascii_string_to_unsigned (digits, 16, 1, G_MAXUINT64, &number, NULL))
    return;
  g_free (device->uuid);
  device->uuid = g_strdup_printf ("GPU-%016" G_GINT64_MODIFIER "x", number);
}

/* ---- remarks ---- */

static const char *
or_dash (const char *text)
{
  return text[0] != '\0' ? text : "-";
}

static const char *
not_dash (const char *text)
{
  return strcmp (text, "-") != 0 ? text : "";
}

void
dvmd_devices_note (GPtrArray *devices, gpointer topology)
{
  for (guint i = 0; i < devices->len; i++)
    {
      const DvmdDevice *device = devices->pdata[i];
      g_autofree char *names = g_strjoinv (",", device->names);
      g_autofree char *text = g_strdup_printf ("%u %s %s %s %s %s %s", (guint)device->type, or_dash (device->bus_id),
                                               or_dash (device->vendor), or_dash (device->fabric),
                                               or_dash (device->uuid), or_dash (device->cpus), names);

      hwloc_obj_add_info (hwloc_get_root_obj (topology), REMARK, text);
    }
}

/* A remark that is none of ours says nothing. FALSE: there is too much */
static gboolean
read_remark (GPtrArray *devices, const char *text, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, " ", 7);
  g_auto (GStrv) names = NULL;
  DvmdDevice *device;
  guint64 type = 0;

  if (g_strv_length (parts) != 7 || !g_ascii_string_to_unsigned (parts[0], 10, 0, DVMD_N_DEVICE_TYPES - 1, &type, NULL)
      || parts[6][0] == '\0')
    return TRUE;
  names = g_strsplit (parts[6], ",", -1);
  device = dvmd_devices_add (devices, (DvmdDeviceType)type, not_dash (parts[1]), names[0], error);
  for (gsize i = 1; device != NULL && names[i] != NULL; i++)
    if (!dvmd_device_add_name (device, names[i], error))
      return FALSE;
  if (device == NULL)
    return FALSE;
  set_text (&device->vendor, not_dash (parts[2]));
  set_text (&device->fabric, not_dash (parts[3]));
  set_text (&device->uuid, not_dash (parts[4]));
  set_text (&device->cpus, not_dash (parts[5]));
  return TRUE;
}

/* ---- objects of hwloc ---- */

static gboolean
find_type (hwloc_obj_t object, DvmdDeviceType *type)
{
  switch (object->attr->osdev.type)
    {
    case HWLOC_OBJ_OSDEV_GPU:
    case HWLOC_OBJ_OSDEV_COPROC:
      *type = DVMD_DEVICE_GPU;
      return TRUE;
    case HWLOC_OBJ_OSDEV_NETWORK:
    case HWLOC_OBJ_OSDEV_OPENFABRICS:
      *type = DVMD_DEVICE_NETWORK;
      return TRUE;
    case HWLOC_OBJ_OSDEV_BLOCK:
      *type = DVMD_DEVICE_BLOCK;
      return TRUE;
    case HWLOC_OBJ_OSDEV_DMA:
    default:
      return FALSE;
    }
}

static const struct
{
  const char *info;
  const char *vendor; /* (nullable): that of the device stays */
} identities[] = {
  { "NVIDIAUUID", "nvidia" },
  { "AMDUUID", "amd" },
  { "NodeGUID", NULL },
  { "Address", NULL },
};

/* Level Zero names devices by their order among those of the first driver; NVML numbers them in the order of the bus.
 */
static void
read_index (DvmdDevice *device, hwloc_obj_t object)
{
  const char *driver = hwloc_obj_get_info_by_name (object, "LevelZeroDriverIndex");
  const char *index = hwloc_obj_get_info_by_name (object, "LevelZeroDriverDeviceIndex");

  if (device->uuid[0] != '\0')
    return;
  if (g_strcmp0 (driver, "0") == 0 && index != NULL)
    {
      set_text (&device->vendor, "intel");
      set_text (&device->uuid, index);
    }
  else if (g_str_has_prefix (object->name, "nvml"))
    {
      set_text (&device->vendor, "nvidia");
      set_text (&device->uuid, object->name + strlen ("nvml"));
    }
}

static void
read_identity (DvmdDevice *device, hwloc_obj_t object)
{
  for (gsize i = 0; i < G_N_ELEMENTS (identities); i++)
    {
      const char *value = hwloc_obj_get_info_by_name (object, identities[i].info);

      if (value == NULL || value[0] == '\0' || strchr (value, ' ') != NULL)
        continue;
      if (identities[i].vendor != NULL)
        set_text (&device->vendor, identities[i].vendor);
      if (g_strcmp0 (identities[i].vendor, "amd") == 0)
        set_amd_uuid (device, value);
      else if (identities[i].vendor != NULL || device->uuid[0] == '\0'
               || object->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS)
        set_text (&device->uuid, value);
    }
  if (device->type == DVMD_DEVICE_GPU)
    read_index (device, object);
}

static hwloc_obj_t
find_function (hwloc_obj_t object)
{
  while (object != NULL && object->type != HWLOC_OBJ_PCI_DEVICE)
    object = object->parent;
  return object;
}

/* FALSE: there is too much */
static gboolean
read_object (GPtrArray *devices, hwloc_topology_t topology, hwloc_obj_t object, GError **error)
{
  hwloc_obj_t function = find_function (object);
  hwloc_obj_t around = hwloc_get_non_io_ancestor_obj (topology, object);
  g_autofree char *bus_id = NULL;
  DvmdDeviceType type;
  DvmdDevice *device;
  char *cpus = NULL;

  /* Parts of a GPU ("ze0.1") are no devices of their own; names with spaces are none of the kernel's. */
  if (object->name == NULL || !find_type (object, &type) || strpbrk (object->name, " ,") != NULL
      || (type == DVMD_DEVICE_GPU && strchr (object->name, '.') != NULL))
    return TRUE;
  if (function != NULL)
    bus_id = g_strdup_printf ("%04x:%02x:%02x.%x", function->attr->pcidev.domain, function->attr->pcidev.bus,
                              function->attr->pcidev.dev, function->attr->pcidev.func);
  device = dvmd_devices_add (devices, type, bus_id != NULL ? bus_id : "", object->name, error);
  if (device == NULL)
    return FALSE;
  if (function != NULL && device->vendor[0] == '\0')
    set_text (&device->vendor, name_vendor (function->attr->pcidev.vendor_id));
  read_identity (device, object);
  if (object->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS)
    dvmd_device_set_fabric (device, object->name);
  if (around != NULL && hwloc_bitmap_list_asprintf (&cpus, around->cpuset) >= 0)
    set_text (&device->cpus, cpus);
  free (cpus);
  return TRUE;
}

/* The object was made of the remark, for libpmix. */
static gboolean
is_remarked (GPtrArray *devices, guint n_remarked, const char *name)
{
  for (guint i = 0; name != NULL && i < n_remarked; i++)
    if (g_strv_contains ((const char *const *)((DvmdDevice *)devices->pdata[i])->names, name))
      return TRUE;
  return FALSE;
}

GPtrArray *
dvmd_devices_new_from_hwloc (gpointer topology, GError **error)
{
  g_autoptr (GPtrArray) devices = dvmd_devices_new ();
  hwloc_obj_t root = hwloc_get_root_obj (topology);
  hwloc_obj_t object = NULL;
  guint n_remarked;

  for (unsigned i = 0; i < root->infos_count; i++)
    if (strcmp (root->infos[i].name, REMARK) == 0 && !read_remark (devices, root->infos[i].value, error))
      return NULL;
  n_remarked = devices->len;
  while ((object = hwloc_get_next_osdev (topology, object)) != NULL)
    if (!is_remarked (devices, n_remarked, object->name) && !read_object (devices, topology, object, error))
      return NULL;
  dvmd_devices_finish (devices, topology);
  return g_steal_pointer (&devices);
}

/* ---- files of the kernel ---- */

/* (transfer full): the first line; "": it cannot be read */
static char *
read_line (const char *root, const char *folder, const char *name, const char *file)
{
  g_autofree char *path = g_build_filename (root, folder, name, file, NULL);
  char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return g_strdup ("");
  text[strcspn (text, "\n")] = '\0';
  return g_strstrip (text);
}

static gboolean
is_bus_id (const char *text)
{
  return strlen (text) == strlen ("0000:00:00.0") && text[4] == ':' && text[7] == ':' && text[10] == '.'
         && text[strspn (text, "0123456789abcdef:.")] == '\0';
}

/* (transfer full) (nullable): the function behind a link such as
   "../../devices/pci0000:00/0000:00:02.0/virtio1/block/vda";
   "": the device is not on a bus of PCI. NULL: it is no hardware */
static char *
find_bus_id (const char *link)
{
  g_auto (GStrv) parts = g_strsplit (link, "/", -1);
  const char *last = "";

  if (strstr (link, "/devices/virtual/") != NULL)
    return NULL;
  for (gsize i = 0; parts[i] != NULL; i++)
    if (is_bus_id (parts[i]))
      last = parts[i];
  return g_strdup (last);
}

/* (transfer full): "GPU UUID:   GPU-..." of the file of NVIDIA's driver */
static char *
read_nvidia (const char *root, const char *bus_id, const char *field)
{
  g_autofree char *path = g_build_filename (root, "proc/driver/nvidia/gpus", bus_id, "information", NULL);
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return g_strdup ("");
  lines = g_strsplit (text, "\n", -1);
  for (gsize i = 0; lines[i] != NULL; i++)
    if (g_str_has_prefix (lines[i], field))
      return g_strstrip (g_strdup (lines[i] + strlen (field)));
  return g_strdup ("");
}

static void
read_gpu (DvmdDevice *device, const char *root)
{
  g_autofree char *nvidia = read_nvidia (root, device->bus_id, "GPU UUID:");
  g_autofree char *amd = read_line (root, "sys/bus/pci/devices", device->bus_id, "unique_id");

  if (g_str_has_prefix (nvidia, "GPU-") && strpbrk (nvidia, " ?") == NULL)
    {
      set_text (&device->vendor, "nvidia");
      set_text (&device->uuid, nvidia);
    }
  else if (amd[0] != '\0')
    {
      set_text (&device->vendor, "amd");
      set_amd_uuid (device, amd);
    }
}

/* The kernel says this of each function of the bus. */
static void
read_function (DvmdDevice *device, const char *root)
{
  g_autofree char *vendor = read_line (root, "sys/bus/pci/devices", device->bus_id, "vendor");
  g_autofree char *cpus = read_line (root, "sys/bus/pci/devices", device->bus_id, "local_cpulist");

  if (device->bus_id[0] == '\0' || device->cpus[0] != '\0')
    return;
  set_text (&device->vendor, name_vendor (g_ascii_strtoull (vendor, NULL, 16)));
  set_text (&device->cpus, cpus);
  if (device->type == DVMD_DEVICE_GPU)
    read_gpu (device, root);
}

static const struct
{
  const char *folder;
  DvmdDeviceType type;
  const char *address; /* (nullable): the file with its uuid */
} classes[] = {
  { "sys/class/drm", DVMD_DEVICE_GPU, NULL },
  { "sys/class/infiniband", DVMD_DEVICE_NETWORK, "node_guid" },
  { "sys/class/net", DVMD_DEVICE_NETWORK, "address" },
  { "sys/class/block", DVMD_DEVICE_BLOCK, NULL },
};

/* The connectors of a screen ("card0-DP-1") and parts of a disk are no devices. */
static gboolean
is_whole (const char *root, gsize row, const char *name)
{
  g_autofree char *part = g_build_filename (root, classes[row].folder, name, "partition", NULL);

  if (classes[row].type == DVMD_DEVICE_GPU)
    return strchr (name, '-') == NULL && (g_str_has_prefix (name, "card") || g_str_has_prefix (name, "renderD"));
  return classes[row].type != DVMD_DEVICE_BLOCK || !g_file_test (part, G_FILE_TEST_EXISTS);
}

/* (transfer none) (nullable): NULL: it is left out, since there are too many */
static DvmdDevice *
add_found (GPtrArray *devices, DvmdDeviceType type, const char *bus_id, const char *name)
{
  g_autoptr (GError) error = NULL;
  DvmdDevice *device = dvmd_devices_add (devices, type, bus_id, name, &error);

  if (device == NULL)
    g_info ("%s: “%s” is left out", error->message, name);
  return device;
}

static void
read_entry (GPtrArray *devices, const char *root, gsize row, const char *name)
{
  g_autofree char *path = g_build_filename (root, classes[row].folder, name, NULL);
  g_autofree char *link = g_file_read_link (path, NULL);
  g_autofree char *bus_id = link != NULL ? find_bus_id (link) : NULL;
  g_autofree char *address = NULL;
  DvmdDevice *device;

  if (bus_id == NULL || strpbrk (name, " ,") != NULL || !is_whole (root, row, name))
    return;
  device = add_found (devices, classes[row].type, bus_id, name);
  if (device == NULL)
    return;
  read_function (device, root);
  if (strcmp (classes[row].folder, "sys/class/infiniband") == 0)
    dvmd_device_set_fabric (device, name);
  if (classes[row].address == NULL || device->uuid[0] != '\0')
    return;
  address = read_line (root, classes[row].folder, name, classes[row].address);
  set_text (&device->uuid, address);
}

/* Without its part for screens the driver of NVIDIA has its GPUs here alone. */
static void
read_nvidia_folder (GPtrArray *devices, const char *root)
{
  g_autofree char *path = g_build_filename (root, "proc/driver/nvidia/gpus", NULL);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *bus_id;

  while (dir != NULL && (bus_id = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *minor = read_nvidia (root, bus_id, "Device Minor:");
      g_autofree char *name = g_strdup_printf ("nvidia%s", minor);
      DvmdDevice *device = NULL;

      if (is_bus_id (bus_id) && minor[0] != '\0')
        device = add_found (devices, DVMD_DEVICE_GPU, bus_id, name);
      if (device != NULL)
        read_function (device, root);
    }
}

GPtrArray *
dvmd_devices_new_from_kernel (const char *root)
{
  GPtrArray *devices = dvmd_devices_new ();

  read_nvidia_folder (devices, root);
  for (gsize i = 0; i < G_N_ELEMENTS (classes); i++)
    {
      g_autofree char *path = g_build_filename (root, classes[i].folder, NULL);
      g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
      const char *name;

      while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
        read_entry (devices, root, i, name);
    }
  return devices;
}
