/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-map-topology.h"

G_BEGIN_DECLS

/**
 * DvmdCpuKind:
 * @DVMD_CPUS_CORE: cores; a machine that shows none has its hardware threads instead
 * @DVMD_CPUS_HWTHREAD: hardware threads
 *
 * The kind of object that counts as a cpu.
 *
 * Since: 0.1
 */
typedef enum
{
  DVMD_CPUS_CORE,
  DVMD_CPUS_HWTHREAD,
} DvmdCpuKind;

/**
 * DvmdMapObject:
 * @index: which object of its kind it is, in logical order
 * @n_cpus: how many cpus the job may use in it, at least 1
 * @n_free: how many of them nobody has
 *
 * An object of a node as a job may use it. A core of which only some threads are allowed is a cpu all the same; one of
 * which a thread is in use is not free.
 *
 * Since: 0.1
 */
typedef struct
{
  guint32 index;
  guint32 n_cpus;
  guint32 n_free;
} DvmdMapObject;

/**
 * DvmdMapRoom:
 *
 * How much room the objects of a node have: a topology, without the cpus that the job may not use, and those that
 * others have. Immutable and reference counted; like nodes share one.
 *
 * Since: 0.1
 */
typedef struct _DvmdMapRoom DvmdMapRoom;

/**
 * dvmd_map_room_new:
 * @topology: a topology
 * @allowed: (nullable): the cpus that may be used; %NULL: all of the topology
 * @in_use: (nullable): the cpus that others have; %NULL: none
 * @cpus: what counts as a cpu
 *
 * The topology keeps what it has answered, so that the next one of the same cpus is at hand.
 *
 * Returns: (transfer full) (nullable): the room; %NULL while the topology is not known
 * Since: 0.1
 */
DvmdMapRoom *dvmd_map_room_new (DvmdMapTopology *topology, const DvmdCpuset *allowed, const DvmdCpuset *in_use,
                                DvmdCpuKind cpus);
DvmdMapRoom *dvmd_map_room_ref (DvmdMapRoom *self);
void dvmd_map_room_unref (DvmdMapRoom *self);

/**
 * dvmd_map_room_get_objects:
 * @self: a room
 * @kind: a kind
 * @n_objects: (out): how many there are
 *
 * The objects of the kind in which there are cpus that may be used, and no others.
 *
 * Returns: (array length=n_objects) (transfer none): them, in logical order
 * Since: 0.1
 */
const DvmdMapObject *dvmd_map_room_get_objects (DvmdMapRoom *self, DvmdObjectKind kind, guint32 *n_objects);

/**
 * dvmd_map_room_count:
 * @self: a room
 * @kind: a kind
 * @place: which of the objects of dvmd_map_room_get_objects()
 * @pe: how many cpus a process has
 *
 * Returns: for how many processes the free cpus of the object do, of which none is on two packages
 * Since: 0.1
 */
guint32 dvmd_map_room_count (DvmdMapRoom *self, DvmdObjectKind kind, guint32 place, guint32 pe);

/**
 * dvmd_map_room_holds:
 * @self: a room
 * @kind: a kind
 * @place: which of the objects of dvmd_map_room_get_objects()
 * @pe: how many cpus a process has
 *
 * Returns: whether a process of so many cpus is on one package of the object at all, if it shares them
 * Since: 0.1
 */
gboolean dvmd_map_room_holds (DvmdMapRoom *self, DvmdObjectKind kind, guint32 place, guint32 pe);

/**
 * dvmd_map_room_count_inside:
 * @self: a room
 * @kind: a kind
 * @place: which of the objects of dvmd_map_room_get_objects()
 * @inner: another kind
 *
 * Returns: how many objects of the other kind begin in it, of those in which there are cpus that may be used
 * Since: 0.1
 */
guint32 dvmd_map_room_count_inside (DvmdMapRoom *self, DvmdObjectKind kind, guint32 place, DvmdObjectKind inner);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdMapRoom, dvmd_map_room_unref)

G_END_DECLS
