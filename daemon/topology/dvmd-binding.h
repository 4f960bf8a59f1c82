/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <sched.h>

#include "dvmd-binding-policy.h"
#include "dvmd-topology.h"

G_BEGIN_DECLS

/*
 * Which cpus each process of a node has. The controller shows it and the agent carries it out, by this one function:
 * the same map and the same topology give the same cpus everywhere.
 */

typedef struct
{
  DvmdTopology *topology;
  const DvmdBindingPolicy *policy;
  const char *excluded; /* (nullable): cpus of other jobs, "0-3,8" */
  const DvmdBindingPlace *places;
  const DvmdBindingPolicy *const *policies; /* (nullable): of each place; NULL: policy is that of all of them */
  guint n_places;
  const char *const *cpusets; /* (nullable): those that places of DVMD_KIND_CPUS mean, and wishes for devices */
  guint n_cpusets;
} DvmdBindingRequest;

/*
 * A process takes as many cpus as the policy says inside the object on which it is placed, and never of two packages.
 * It is bound to the first object of the policy's kind in which so many are free; if that is a core or a hardware
 * thread, to the cpus that it takes. Places near devices choose first that have the fewest cpus near. When none are
 * free, overload gives those that the fewest processes have. Places that follow each other with another policy find the
 * cpus taken that those before them have.
 *
 * claimed (out) (optional) (transfer full): a GRefString, "0-3,8", the cpus that the processes count for: those of each
 * that is bound to a core, to hardware threads or to cpus that are named, and of one on a larger object as many as it
 * takes there. With overload some of them may be excluded ones.
 *
 * Returns: (transfer full) (element-type utf8) (nullable): the hardware threads of each place, "0-3,8" as the operating
 * system numbers them, or %NULL elements if nothing is bound. Equal texts are one (GRefString).
 * Errors: DVM_ERROR_MAP_FAILED: the node has no such object, or not so many free cpus; DVM_ERROR_NOT_SUPPORTED: none of
 * them is near the device alone.
 */
GPtrArray *dvmd_binding_compute (const DvmdBindingRequest *request, char **claimed, GError **error);

/*
 * (transfer full) (nullable): the list "0-3,8" as sched_setaffinity() takes it, size: in bytes. NULL: list is NULL, or
 * no list.
 */
cpu_set_t *dvmd_binding_dup_cpu_set (const char *list, gsize *size);
/* (nullable): "core" and so on, by the numbers of kinds; NULL: it is the node, or none */
const char *dvmd_binding_get_kind_name (guint kind);
/* (nullable): "core" and so on; NULL: nothing is bound */
const char *dvmd_binding_get_name (const DvmdBindingPolicy *policy);
/* (transfer full): "core 3"; "": it is no object of a node */
char *dvmd_binding_describe_place (const DvmdBindingPlace *place);

G_END_DECLS
