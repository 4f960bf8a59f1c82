/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-topology.h"

G_BEGIN_DECLS

/*
 * The devices of a node to which processes can be near: each function of the bus is one, whatever number of names the
 * operating system has for it. They stand in the order of the bus.
 */

typedef enum
{
  DVMD_DEVICE_GPU,
  DVMD_DEVICE_NETWORK,
  DVMD_DEVICE_BLOCK,
  DVMD_N_DEVICE_TYPES
} DvmdDeviceType;

typedef struct
{
  DvmdDeviceType type;
  char *bus_id; /* "0000:3b:00.0"; "": it is not known */
  char *vendor; /* "nvidia", "amd", "intel"; "": another one */
  char *fabric; /* the one of its names by which libraries of fabrics know it, "mlx5_0"; "": none */
  char *uuid;   /* the name that the library of the vendor takes, or the address; "": there is none */
  /* "0-3,8": those near it; "": every one. dvmd_devices_finish() leaves those that processes may use; "": none then. */
  char *cpus;
  GStrv names; /* of the operating system, the best one first */
} DvmdDevice;

/* (transfer none) (element-type DvmdDevice) */
GPtrArray *dvmd_topology_get_devices (DvmdTopology *self);

/*
 * A wish for devices is a text, "NUMBER LEVEL NAME": so many for each process, "package" and the like if the devices of
 * such objects are taken in turn, else "-", and a class (gpu, network, block), a name, a uuid or an address of the bus.
 */
char *dvmd_device_wish_new (const char *name, guint number, const char *level);

/* The devices of one process. */
typedef struct
{
  GPtrArray *devices; /* (element-type DvmdDevice): borrowed from the topology */
  char *cpus;         /* of the smallest object that has the cpus near all of them */
} DvmdDeviceGroup;

/*
 * (transfer full) (element-type DvmdDeviceGroup) (nullable): the groups in the order in which they are taken; none: the
 * node has no such device. NULL with DVM_ERROR_MAP_FAILED: their number cannot be divided so, or a GPU has no name that
 * the library of its vendor takes; or DVM_ERROR_PARSE_FAILED: that is no wish
 */
GPtrArray *dvmd_devices_choose (DvmdTopology *topology, const char *wish, GError **error);
/* The wish names a device by its uuid, which another node of the same signature does not have. */
gboolean dvmd_devices_is_by_uuid (DvmdTopology *topology, const char *wish);
/* (transfer full): "nvml0,nvml1" */
char *dvmd_device_group_name (const DvmdDeviceGroup *self);

/* For the topology: */
/* An XML may come from anybody, and looking for a device or a name takes time with all of them. */
#define DVMD_DEVICES_MOST       4096
#define DVMD_DEVICES_MOST_NAMES 128
/*
 * (transfer full) (element-type DvmdDevice) (nullable): from the objects and remarks of an hwloc_topology_t. NULL with
 * DVM_ERROR_PARSE_FAILED: there are too many, of them or of their names
 */
GPtrArray *dvmd_devices_new_from_hwloc (gpointer topology, GError **error);
/*
 * From the files of the kernel below that directory, "/", since hwloc would read from the devices themselves. What is
 * too much is left out.
 */
GPtrArray *dvmd_devices_new_from_kernel (const char *root);
/* The remarks that dvmd_devices_new_from_hwloc() reads: devices as they were found go with the XML. */
void dvmd_devices_note (GPtrArray *devices, gpointer topology);
/* They are sorted, GPUs that only have a screen are left out, and so are cpus that may not be used. */
void dvmd_devices_finish (GPtrArray *devices, gpointer topology);
GPtrArray *dvmd_devices_new (void);
/* (transfer none) (nullable): another name of a function that is there, or a new device; NULL: there are too many */
DvmdDevice *dvmd_devices_add (GPtrArray *devices, DvmdDeviceType type, const char *bus_id, const char *name,
                              GError **error);
gboolean dvmd_device_add_name (DvmdDevice *self, const char *name, GError **error);
/* That name is the one of the fabric. */
void dvmd_device_set_fabric (DvmdDevice *self, const char *name);

G_END_DECLS
