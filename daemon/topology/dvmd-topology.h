/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * The hardware of a node as a tree of objects. Immutable and reference counted: nodes that are alike share one (the
 * controller keeps one per signature). This folder alone knows hwloc.
 */

#define DVMD_TYPE_TOPOLOGY (dvmd_topology_get_type ())
typedef struct _DvmdTopology DvmdTopology;

GType dvmd_topology_get_type (void);

/* The kinds of objects, from the largest to the smallest. */
typedef enum
{
  DVMD_TOPOLOGY_PACKAGE,
  DVMD_TOPOLOGY_NUMA,
  DVMD_TOPOLOGY_L3CACHE,
  DVMD_TOPOLOGY_L2CACHE,
  DVMD_TOPOLOGY_L1CACHE,
  DVMD_TOPOLOGY_CORE,
  DVMD_TOPOLOGY_HWTHREAD,
  DVMD_N_TOPOLOGY_KINDS
} DvmdTopologyKind;

/* Hardware threads of larger numbers, as the operating system has them, are not taken. */
#define DVMD_TOPOLOGY_LARGEST_CPU 65535

/* This call sets a variable to this value in the environment of the daemon, which jobs are not to inherit. */
#define DVMD_TOPOLOGY_NO_PLUGINS "/dev/null"
/* Else the environment is changed for a moment by each new topology: not good where there are threads. */
void dvmd_topology_prepare_environment (void);

/* This machine; what the process may not use (cgroup, affinity) is left out. Its devices are a list beside the objects.
 */
DvmdTopology *dvmd_topology_new_local (GError **error);
/* The text of dvmd_topology_dup_xml(), or lstopo's: another machine. */
DvmdTopology *dvmd_topology_new_from_xml (const char *xml, gsize length, GError **error);
/* The text of another process of this machine with the same rights: reading it takes a tenth of looking. */
DvmdTopology *dvmd_topology_new_from_neighbour (const char *xml, gsize length, GError **error);
/* A machine that is not there: "package:2 numa:2 l3:2 core:4 pu:2", as lstopo writes it with --of synthetic. */
DvmdTopology *dvmd_topology_new_from_synthetic (const char *text, GError **error);

DvmdTopology *dvmd_topology_ref (DvmdTopology *self);
void dvmd_topology_unref (DvmdTopology *self);

/* Hardware threads and cores that processes may be placed on. */
guint dvmd_topology_get_n_pus (DvmdTopology *self);
/* The same text for like nodes, and only for like ones: "2Pa:2Nu:4L3:8Co:16Pu:x86_64:le:1f3a5c7b". */
const char *dvmd_topology_get_signature (DvmdTopology *self);
/* The numbers of the hardware threads that cpus means, of those that this topology has, as dvmd_allocation_set_cpus()
 * writes them: "pu:0-3,8", "core:0-3", "core:1:0;1:1". (transfer full) (nullable): NULL with an error: none of them is
 * here, or it is written otherwise. All of them if these are as many cores as there are: the numbers may be those of a
 * larger machine. */
char *dvmd_topology_choose_cpus (DvmdTopology *self, const char *cpus, GError **error);
/* How many objects of a kind a node with that signature has; 0: none, or it is no signature */
guint dvmd_topology_count_in_signature (const char *signature, DvmdTopologyKind kind);
/* The numbers of all the hardware threads, "0-15". */
const char *dvmd_topology_get_cpuset (DvmdTopology *self);
/* (transfer full): the numbers of the hardware threads of each object of a kind, "0-3,8", in logical order */
GStrv dvmd_topology_dup_objects (DvmdTopology *self, DvmdTopologyKind kind);
/* The one object of a kind that has all of these hardware threads, "0-3,8"; -1: none has, or it is no list */
int dvmd_topology_find_object (DvmdTopology *self, DvmdTopologyKind kind, const char *cpuset);
char *dvmd_topology_dup_xml (DvmdTopology *self, GError **error);
/* The same with an object for each network adapter that has an address of its own. */
char *dvmd_topology_dup_xml_with_adapters (DvmdTopology *self, GError **error);
/* (transfer full): one that has these objects; itself, if it does, or if there are none */
DvmdTopology *dvmd_topology_with_adapters (DvmdTopology *self);

/* The hwloc_topology_t, for the PMIx server, which wants it as it is; lives as long as self. */
gpointer dvmd_topology_get_hwloc (DvmdTopology *self);

/*
 * The hwloc_bitmap_t of a list such as "0-3,8", for the PMIx server too. (nullable): NULL if it is not one, or has a
 * number above DVMD_TOPOLOGY_LARGEST_CPU.
 */
gpointer dvmd_topology_bitmap_new (const char *list);
void dvmd_topology_bitmap_free (gpointer bitmap);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdTopology, dvmd_topology_unref)

G_END_DECLS
