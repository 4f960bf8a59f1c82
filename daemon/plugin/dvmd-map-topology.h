/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * DvmdCpuset:
 * @n_words: how many words there are
 * @words: (array length=n_words): bit i of word w is the cpu 64 * w + i
 *
 * A set of cpus, by the numbers that the operating system gives them.
 *
 * Since: 0.1
 */
typedef struct
{
  guint32 n_words;
  const guint64 *words;
} DvmdCpuset;

/**
 * dvmd_cpuset_new_from_list:
 * @list: "0-3,8"; an empty text is the empty set
 *
 * Returns: (transfer full) (nullable): the set; %NULL if the text is no such list, or has a number above 65535
 * Since: 0.1
 */
DvmdCpuset *dvmd_cpuset_new_from_list (const char *list);

/**
 * dvmd_cpuset_to_list:
 * @self: a set
 *
 * Returns: (transfer full): "0-3,8"; an empty text for the empty set
 * Since: 0.1
 */
char *dvmd_cpuset_to_list (const DvmdCpuset *self);
DvmdCpuset *dvmd_cpuset_copy (const DvmdCpuset *self);
void dvmd_cpuset_free (DvmdCpuset *self);
/* Whether every cpu of the set is one of the other. */
gboolean dvmd_cpuset_is_within (const DvmdCpuset *self, const DvmdCpuset *other);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdCpuset, dvmd_cpuset_free)

/**
 * DvmdObjectKind:
 * @DVMD_OBJECT_NODE: the whole node, of which there is one: all cpus that the DVM may use there
 * @DVMD_OBJECT_PACKAGE: packages
 * @DVMD_OBJECT_NUMA: NUMA nodes
 * @DVMD_OBJECT_L3CACHE: caches of the third level
 * @DVMD_OBJECT_L2CACHE: of the second
 * @DVMD_OBJECT_L1CACHE: of the first
 * @DVMD_OBJECT_CORE: cores
 * @DVMD_OBJECT_HWTHREAD: hardware threads
 * @DVMD_OBJECT_DEVICE: devices, or groups of them, of the kind that the job asks for, in the order in which they are
 *   taken, each with the cpus near it; several may have the same cpus. There are some only if it asks for devices
 * @DVMD_N_OBJECT_KINDS: how many kinds there are
 *
 * What a node is made of.
 *
 * Since: 0.1
 */
typedef enum
{
  DVMD_OBJECT_NODE,
  DVMD_OBJECT_PACKAGE,
  DVMD_OBJECT_NUMA,
  DVMD_OBJECT_L3CACHE,
  DVMD_OBJECT_L2CACHE,
  DVMD_OBJECT_L1CACHE,
  DVMD_OBJECT_CORE,
  DVMD_OBJECT_HWTHREAD,
  DVMD_OBJECT_DEVICE,
  DVMD_N_OBJECT_KINDS
} DvmdObjectKind;

/**
 * DvmdMapTopology:
 *
 * The objects of a node, each kind in its logical order, with their cpus. Nodes that are alike share one. It is read
 * when somebody asks for an object, so that who places by slots alone does not wait for it.
 *
 * Since: 0.1
 */
typedef struct _DvmdMapTopology DvmdMapTopology;

/* Adds the objects. It adds none while they are not known, and is called again then. */
typedef void (*DvmdMapTopologyLoad) (DvmdMapTopology *self, gpointer user_data);

/* For the daemon and for tests. */
DvmdMapTopology *dvmd_map_topology_new (DvmdMapTopologyLoad load, gpointer user_data, GDestroyNotify user_data_free);
void dvmd_map_topology_free (DvmdMapTopology *self);
/* One more object of the kind; cpus: "0-3,8". */
void dvmd_map_topology_add (DvmdMapTopology *self, DvmdObjectKind kind, const char *cpus);

/**
 * dvmd_map_topology_get_n_objects:
 * @self: a topology
 * @kind: a kind
 *
 * Returns: how many objects of the kind there are; 0 of every kind, also of %DVMD_OBJECT_NODE, while the daemon does
 * not know the node's topology Since: 0.1
 */
guint32 dvmd_map_topology_get_n_objects (DvmdMapTopology *self, DvmdObjectKind kind);

/**
 * dvmd_map_topology_get_cpus:
 * @self: a topology
 * @kind: a kind
 * @index: which object of it, in logical order
 *
 * Returns: (transfer none) (nullable): its cpus; %NULL if there is no such object
 * Since: 0.1
 */
const DvmdCpuset *dvmd_map_topology_get_cpus (DvmdMapTopology *self, DvmdObjectKind kind, guint32 index);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdMapTopology, dvmd_map_topology_free)

G_END_DECLS
