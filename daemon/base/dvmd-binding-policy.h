/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * The binding of the processes of a job: the map carries it to the agents, and the topology carries it out.
 * Kinds of objects are numbered as in DvmdObjectKind: 0 is the node, then packages to hardware threads.
 */

#define DVMD_KIND_NODE     0
#define DVMD_KIND_HWTHREAD 7
/* The number is that of a group of the devices that the policy wishes for. */
#define DVMD_KIND_DEVICE 8
/* No object: the number is an index into the sets of cpus that the map lists. */
#define DVMD_KIND_CPUS 255

typedef enum
{
  DVMD_BINDING_HWTHREADS = 1 << 0, /* a cpu is a hardware thread, not a core */
  DVMD_BINDING_OVERLOAD = 1 << 1,  /* more processes than cpus may be bound */
  DVMD_BINDING_PE = 1 << 2,        /* the job says how many cpus each process has */
} DvmdBindingFlags;

typedef struct
{
  guint32 bind_to; /* a kind; DVMD_KIND_NODE: processes are not bound */
  guint32 flags;   /* DvmdBindingFlags */
  guint32 pe;      /* cpus that each process has; 0 is 1 */
  guint32 limit;   /* processes on one object at most; 0: none */
  guint32 devices; /* the text of the map that is the wish for devices, plus one; 0: there is none */
  /* Likewise: the words by which processes were placed and got their ranks, for those who ask. */
  guint32 map_by;
  guint32 rank_by;
} DvmdBindingPolicy;

/* The object on which the mapper has placed a process. */
typedef struct
{
  guint32 kind;
  guint32 object;
} DvmdBindingPlace;

G_END_DECLS
