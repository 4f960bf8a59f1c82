/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The topology of a node is read, written and compared with hwloc.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-topology"

#include "dvmd-topology.h"

#include <hwloc.h>
#include <string.h>
#include <sys/utsname.h>

#include "dvm.h"
#include "dvmd-devices.h"
#include "dvmd-topology-xml.h"

struct _DvmdTopology
{
  gatomicrefcount ref_count;
  hwloc_topology_t topology;
  GPtrArray *devices; /* DvmdDevice */
  guint n_pus;
  char *signature;
  char *cpuset;
};

G_DEFINE_BOXED_TYPE (DvmdTopology, dvmd_topology, dvmd_topology_ref, dvmd_topology_unref)

/* Kinds of object that make nodes alike or different, in the order of the signature and of DvmdTopologyKind. */
static const struct
{
  hwloc_obj_type_t type;
  const char *suffix;
} kinds[DVMD_N_TOPOLOGY_KINDS] = {
  { HWLOC_OBJ_PACKAGE, "Pa" }, { HWLOC_OBJ_NUMANODE, "Nu" }, { HWLOC_OBJ_L3CACHE, "L3" }, { HWLOC_OBJ_L2CACHE, "L2" },
  { HWLOC_OBJ_L1CACHE, "L1" }, { HWLOC_OBJ_CORE, "Co" },     { HWLOC_OBJ_PU, "Pu" },
};

#define PLUGINS_PATH "HWLOC_PLUGINS_PATH"

/* Components that find only devices: an XML has those that it has. */
static const char *const blacklist[] = { "pci", "opencl", "cuda", "nvml", "rsmi", "levelzero", "gl" };

void
dvmd_topology_prepare_environment (void)
{
  if (g_getenv (PLUGINS_PATH) == NULL)
    g_setenv (PLUGINS_PATH, DVMD_TOPOLOGY_NO_PLUGINS, TRUE);
}

/*
 * hwloc opens its plugins, and with them the libraries of X11, OpenCL and libxml2, at the first topology, before it can
 * be told not to: 3 ms and 3 MB for nothing. Only a path without plugins stops it; jobs must not inherit that.
 */
static int
init_without_plugins (hwloc_topology_t *topology)
{
  gboolean given = g_getenv (PLUGINS_PATH) != NULL;
  int result;

  dvmd_topology_prepare_environment ();
  result = hwloc_topology_init (topology);
  if (!given)
    g_unsetenv (PLUGINS_PATH);
  return result;
}

static int
init_topology (hwloc_topology_t *topology, gboolean devices)
{
  if (init_without_plugins (topology) != 0)
    return -1;
  for (gsize i = 0; i < G_N_ELEMENTS (blacklist); i++)
    hwloc_topology_set_components (*topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, blacklist[i]);
  hwloc_topology_set_io_types_filter (*topology,
                                      devices ? HWLOC_TYPE_FILTER_KEEP_IMPORTANT : HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter (*topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
  return 0;
}

static GStrv
list_objects (hwloc_topology_t topology, hwloc_obj_type_t type)
{
  g_autoptr (GStrvBuilder) lists = g_strv_builder_new ();
  hwloc_obj_t object = NULL;

  while ((object = hwloc_get_next_obj_by_type (topology, type, object)) != NULL)
    {
      char *text = NULL;

      if (hwloc_bitmap_list_asprintf (&text, object->cpuset) < 0)
        continue;
      g_strv_builder_add (lists, text);
      free (text);
    }
  return g_strv_builder_end (lists);
}

static void
hash_text (GChecksum *checksum, const char *text)
{
  g_checksum_update (checksum, (const guchar *)text, -1);
  g_checksum_update (checksum, (const guchar *)";", 1);
}

/* A device of another uuid, or at another place on the bus, is alike all the same. */
static void
hash_devices (GChecksum *checksum, GPtrArray *devices)
{
  for (guint i = 0; i < devices->len; i++)
    {
      const DvmdDevice *device = devices->pdata[i];
      g_autofree char *type = g_strdup_printf ("%u", (guint)device->type);

      hash_text (checksum, type);
      hash_text (checksum, device->vendor);
      hash_text (checksum, device->uuid[0] != '\0' ? "named" : "");
      hash_text (checksum, device->cpus);
      for (gsize k = 0; device->names[k] != NULL; k++)
        hash_text (checksum, device->names[k]);
      g_checksum_update (checksum, (const guchar *)"|", 1);
    }
}

/* Where the objects are, not only how many: two packages of 2 and 6 cores are not two of 4. */
static guint32
hash_shape (hwloc_topology_t topology, GPtrArray *devices)
{
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_SHA1);
  guint32 hash;

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      g_auto (GStrv) lists = list_objects (topology, kinds[i].type);

      for (gsize k = 0; lists[k] != NULL; k++)
        hash_text (checksum, lists[k]);
      g_checksum_update (checksum, (const guchar *)"|", 1);
    }
  hash_devices (checksum, devices);
  hash = (guint32)g_ascii_strtoull (g_checksum_get_string (checksum) + 32, NULL, 16);
  return hash;
}

static const char *
get_architecture (hwloc_topology_t topology, struct utsname *buffer)
{
  const char *name = hwloc_obj_get_info_by_name (hwloc_get_root_obj (topology), "Architecture");

  if (name != NULL)
    return name;
  return uname (buffer) == 0 ? buffer->machine : "unknown";
}

static char *
make_signature (hwloc_topology_t topology, GPtrArray *devices)
{
  GString *text = g_string_new (NULL);
  struct utsname buffer;

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    g_string_append_printf (text, "%d%s:", MAX (hwloc_get_nbobjs_by_type (topology, kinds[i].type), 0),
                            kinds[i].suffix);
  g_string_append_printf (text, "%s:%s:%08x", get_architecture (topology, &buffer),
                          G_BYTE_ORDER == G_LITTLE_ENDIAN ? "le" : "be", hash_shape (topology, devices));
  return g_string_free (text, FALSE);
}

/*
 * hwloc reads from the devices of this machine themselves, which takes 5 ms each in some virtual machines, and does not
 * know GPUs by name without its plugins: we ask the kernel, and leave a remark of it for those who read the XML.
 */
static GPtrArray *
find_devices (hwloc_topology_t topology, const char *root, GError **error)
{
  GPtrArray *devices;

  if (root == NULL)
    return dvmd_devices_new_from_hwloc (topology, error);
  devices = dvmd_devices_new_from_kernel (root);
  dvmd_devices_note (devices, topology);
  dvmd_devices_finish (devices, topology);
  return devices;
}

/* Takes the loaded topology with its devices. */
static DvmdTopology *
wrap (hwloc_topology_t topology, GPtrArray *devices)
{
  DvmdTopology *self = g_new0 (DvmdTopology, 1);
  char *list = NULL;

  g_atomic_ref_count_init (&self->ref_count);
  self->topology = topology;
  self->n_pus = (guint)MAX (hwloc_get_nbobjs_by_type (topology, HWLOC_OBJ_PU), 1);
  /* Some virtual machines show no cores. */
  if (hwloc_bitmap_list_asprintf (&list, hwloc_topology_get_allowed_cpuset (topology)) >= 0)
    self->cpuset = g_strdup (list);
  free (list);
  self->devices = devices;
  self->signature = make_signature (topology, self->devices);
  return self;
}

/* Lists of cpus are read as far as this, everywhere. */
static gboolean
check_numbers (hwloc_topology_t topology, const char *what, GError **error)
{
  int last = hwloc_bitmap_last (hwloc_topology_get_complete_cpuset (topology));

  if (last >= 0 && last <= DVMD_TOPOLOGY_LARGEST_CPU)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
               "hwloc has loaded the topology of %s with hardware thread %d: their numbers go from 0 to %d", what, last,
               DVMD_TOPOLOGY_LARGEST_CPU);
  return FALSE;
}

/* NUMA nodes that are left without cpus go, unless there is no memory but theirs. */
static gboolean
restrict_to (hwloc_topology_t topology, hwloc_const_bitmap_t cpus)
{
  return hwloc_bitmap_isincluded (hwloc_topology_get_allowed_cpuset (topology), cpus)
         || hwloc_topology_restrict (topology, cpus, HWLOC_RESTRICT_FLAG_REMOVE_CPULESS) == 0
         || hwloc_topology_restrict (topology, cpus, 0) == 0;
}

/* taskset or a scheduler may have left some of the cpus to this process, which the kernel knows. */
static void
restrict_to_affinity (hwloc_topology_t topology)
{
  hwloc_bitmap_t cpus = hwloc_bitmap_alloc ();

  if (hwloc_get_cpubind (topology, cpus, HWLOC_CPUBIND_THREAD) != 0 || !restrict_to (topology, cpus))
    g_message ("The cpus on which this process may run are not known, or hwloc does not know them: it is taken to run "
               "on all of them");
  hwloc_bitmap_free (cpus);
}

/* root (nullable): this is the machine that the process runs on, and the files of its kernel are below */
static DvmdTopology *
load (hwloc_topology_t topology, const char *what, const char *root, GError **error)
{
  if (hwloc_topology_load (topology) == 0)
    {
      GPtrArray *devices;

      if (root != NULL)
        restrict_to_affinity (topology);
      devices = check_numbers (topology, what, error) ? find_devices (topology, root, error) : NULL;
      if (devices != NULL)
        return wrap (topology, devices);
      hwloc_topology_destroy (topology);
      return NULL;
    }
  hwloc_topology_destroy (topology);
  g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, "hwloc could not load the topology of %s", what);
  return NULL;
}

static gboolean
create_topology (hwloc_topology_t *topology, gboolean devices, GError **error)
{
  if (init_topology (topology, devices) == 0)
    return TRUE;
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_FAILED, "hwloc could not be initialized");
  return FALSE;
}

DvmdTopology *
dvmd_topology_new_local (GError **error)
{
  /* hwloc is told to take another machine for this one. */
  gboolean other = g_getenv ("HWLOC_XMLFILE") != NULL || g_getenv ("HWLOC_SYNTHETIC") != NULL;
  hwloc_topology_t topology;

  if (!create_topology (&topology, other, error))
    return NULL;
  return load (topology, "this machine", other ? NULL : "/", error);
}

static DvmdTopology *
new_from_xml (const char *xml, gsize length, gboolean this_machine, GError **error)
{
  hwloc_topology_t topology;
  /* A neighbour is believed as this process is: the text is of hwloc itself. */
  g_autofree char *copy = this_machine ? g_strndup (xml, length) : dvmd_topology_xml_clean (xml, length, error);

  if (copy == NULL)
    return NULL;
  if (!create_topology (&topology, TRUE, error))
    return NULL;
  if (this_machine)
    hwloc_topology_set_flags (topology, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
  /* The length that hwloc wants counts the final NUL. */
  if (hwloc_topology_set_xmlbuffer (topology, copy, (int)strlen (copy) + 1) != 0)
    {
      hwloc_topology_destroy (topology);
      g_set_error_literal (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
                           "The text is not the XML of an hwloc topology, as “lstopo --of xml” writes it");
      return NULL;
    }
  return load (topology, "the XML", NULL, error);
}

DvmdTopology *
dvmd_topology_new_from_xml (const char *xml, gsize length, GError **error)
{
  return new_from_xml (xml, length, FALSE, error);
}

DvmdTopology *
dvmd_topology_new_from_neighbour (const char *xml, gsize length, GError **error)
{
  return new_from_xml (xml, length, TRUE, error);
}

DvmdTopology *
dvmd_topology_new_from_synthetic (const char *text, GError **error)
{
  hwloc_topology_t topology;
  g_autofree char *what = g_strdup_printf ("“%s”", text);

  if (!create_topology (&topology, FALSE, error))
    return NULL;
  if (hwloc_topology_set_synthetic (topology, text) != 0)
    {
      hwloc_topology_destroy (topology);
      g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
                   "“%s” does not describe a machine: it is written KIND:NUMBER from the largest to the smallest, the "
                   "last one being “pu”, such as “package:2 numa:2 l3:2 core:4 pu:2”",
                   text);
      return NULL;
    }
  return load (topology, what, NULL, error);
}

DvmdTopology *
dvmd_topology_ref (DvmdTopology *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
dvmd_topology_unref (DvmdTopology *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_ptr_array_unref (self->devices);
  hwloc_topology_destroy (self->topology);
  g_free (self->signature);
  g_free (self->cpuset);
  g_free (self);
}

GPtrArray *
dvmd_topology_get_devices (DvmdTopology *self)
{
  return self->devices;
}

guint
dvmd_topology_get_n_pus (DvmdTopology *self)
{
  return self->n_pus;
}

const char *
dvmd_topology_get_signature (DvmdTopology *self)
{
  return self->signature;
}

guint
dvmd_topology_count_in_signature (const char *signature, DvmdTopologyKind kind)
{
  g_auto (GStrv) parts = g_strsplit (signature, ":", DVMD_N_TOPOLOGY_KINDS + 1);
  char *end = NULL;
  guint64 n;

  if (g_strv_length (parts) <= DVMD_N_TOPOLOGY_KINDS)
    return 0;
  n = g_ascii_strtoull (parts[kind], &end, 10);
  return strcmp (end, kinds[kind].suffix) == 0 ? (guint)MIN (n, G_MAXINT) : 0;
}

const char *
dvmd_topology_get_cpuset (DvmdTopology *self)
{
  return self->cpuset;
}

GStrv
dvmd_topology_dup_objects (DvmdTopology *self, DvmdTopologyKind kind)
{
  return list_objects (self->topology, kinds[kind].type);
}

int
dvmd_topology_find_object (DvmdTopology *self, DvmdTopologyKind kind, const char *cpuset)
{
  hwloc_bitmap_t set = dvmd_topology_bitmap_new (cpuset);
  hwloc_obj_t object = NULL;
  int index = -1;

  if (set == NULL)
    return -1;
  while ((object = hwloc_get_next_obj_by_type (self->topology, kinds[kind].type, object)) != NULL)
    if (!hwloc_bitmap_iszero (set) && hwloc_bitmap_isincluded (set, object->cpuset))
      index = (int)object->logical_index;
  hwloc_bitmap_free (set);
  return index;
}

char *
dvmd_topology_dup_xml (DvmdTopology *self, GError **error)
{
  char *buffer = NULL;
  int length = 0;
  char *xml;

  if (hwloc_topology_export_xmlbuffer (self->topology, &buffer, &length, 0) != 0)
    {
      g_set_error_literal (error, DVM_ERROR, DVM_ERROR_FAILED, "hwloc could not write the topology as XML");
      return NULL;
    }
  xml = g_strndup (buffer, (gsize)length);
  hwloc_free_xmlbuffer (self->topology, buffer);
  return xml;
}

gpointer
dvmd_topology_get_hwloc (DvmdTopology *self)
{
  return self->topology;
}

/* hwloc takes what is no number at all for 0, and for a large number as much memory. */
static gboolean
is_list (const char *text)
{
  if (text[strspn (text, "0123456789,-")] != '\0')
    return FALSE;
  while (*text != '\0')
    if (!g_ascii_isdigit (*text))
      text++;
    else if (g_ascii_strtoull (text, (char **)&text, 10) > DVMD_TOPOLOGY_LARGEST_CPU)
      return FALSE;
  return TRUE;
}

gpointer
dvmd_topology_bitmap_new (const char *list)
{
  hwloc_bitmap_t bitmap = hwloc_bitmap_alloc ();

  if (is_list (list) && hwloc_bitmap_list_sscanf (bitmap, list) == 0)
    return bitmap;
  hwloc_bitmap_free (bitmap);
  return NULL;
}

void
dvmd_topology_bitmap_free (gpointer bitmap)
{
  hwloc_bitmap_free (bitmap);
}
