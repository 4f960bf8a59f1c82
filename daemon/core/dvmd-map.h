/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

#include "dvmd-binding-policy.h"
#include "dvmd-proc-table.h"

G_BEGIN_DECLS

/*
 * A map says where the processes of a job go, in compact form. A row is a regular sequence: so many nodes at equal
 * distances, each with as many processes, whose ranks are equally far apart. By slot, by node and so many per node are
 * one row over any number of like nodes: a map that travels to the agents does not grow with the processes, and with
 * the nodes only as far as these are irregular.
 */

/* More ranks than this in one job are a mistake of the requester. */
#define DVMD_MAP_MAX_PROCS (1u << 26)

typedef struct
{
  guint32 node;       /* rank of the first agent */
  guint32 n_nodes;    /* at least 1 */
  gint32 node_stride; /* from one agent to the next; not 0 if there is a next one */
  guint32 app;
  guint32 first_rank;
  guint32 count;  /* of processes on each node, at least 1 */
  guint32 stride; /* from one rank to the next on the same node */
  gint32 step;    /* from the first rank of a node to that of the next */
  /* On each node: the first per_object ranks are on this object, the next ones object_stride objects further. */
  DvmdBindingPlace place;
  guint32 per_object;
  guint32 object_stride; /* 0: all are on one object */
} DvmdMapRow;

/*
 * How processes are bound, from this application on to the first one of the next policy. Those of two policies share no
 * cpu, also where both policies say the same.
 */
typedef struct
{
  guint32 first_app;
  DvmdBindingPolicy binding;
} DvmdMapAppPolicy;

typedef struct
{
  guint num_procs;
  GArray *rows;         /* DvmdMapRow */
  GArray *policies;     /* DvmdMapAppPolicy, ascending; there is always one, of application 0 */
  GPtrArray *cpusets;   /* texts, for places of DVMD_KIND_CPUS, for what is excluded, and wishes for devices */
  GHashTable *texts;    /* the same texts -> their index, plus one */
  GHashTable *excluded; /* rank of an agent -> index of a text, plus one: cpus there that other jobs have */
  char *unbound;        /* (nullable): why processes are not bound that would be, for people; it does not travel */
} DvmdMap;

/* The share of one node in a map. */
typedef struct
{
  guint node;
  guint count;
} DvmdMapShare;

/* One process of a node. */
typedef struct
{
  guint32 rank;
  guint32 app;
  DvmdBindingPlace place;
} DvmdMapRank;

DvmdMap *dvmd_map_new (void);
void dvmd_map_free (DvmdMap *self);
/* Adds ranks of one application on one node; a run that continues one of the last rows makes it longer. */
void dvmd_map_add_run (DvmdMap *self, const DvmdMapRow *run);
/* The index of the text "0-3,8", which is added if it is not there. */
guint32 dvmd_map_add_cpuset (DvmdMap *self, const char *cpus);
/* The applications from this one on are bound so. Policies come in the order of the applications. */
void dvmd_map_set_policy (DvmdMap *self, guint32 first_app, const DvmdBindingPolicy *policy);
/* (transfer none): those of one policy have the same pointer */
const DvmdBindingPolicy *dvmd_map_get_policy (DvmdMap *self, guint32 app);
/* (nullable): the wish for devices of an application, as dvmd_devices_choose() takes it */
const char *dvmd_map_get_devices (DvmdMap *self, guint32 app);
/* (nullable): the words by which the processes of an application were placed, with what the job has left open */
const char *dvmd_map_get_map_by (DvmdMap *self, guint32 app);
const char *dvmd_map_get_rank_by (DvmdMap *self, guint32 app);
/* Whether any process is bound. */
gboolean dvmd_map_binds (DvmdMap *self);
/* Whether any process has devices. */
gboolean dvmd_map_has_devices (DvmdMap *self);
/* No process is on the node any more: its ranks need new places, by dvmd_map_add_run(), to make the map whole again. */
void dvmd_map_remove_node (DvmdMap *self, guint node);
/*
 * Adds what another map says of the applications behind first_app, the one that the other one calls 0: they have the
 * next ranks. Cpus that it excludes are not taken over.
 */
void dvmd_map_append (DvmdMap *self, DvmdMap *other, guint32 first_app);
/* These cpus of the node belong to other jobs: the processes of the map keep off them. */
void dvmd_map_exclude (DvmdMap *self, guint node, const char *cpus);
/* (nullable): what was excluded there */
const char *dvmd_map_get_excluded (DvmdMap *self, guint node);
/* Every rank from 0 to num_procs - 1 has exactly one place. */
gboolean dvmd_map_is_whole (DvmdMap *self);

/* The rows by the members of DvmdMapRow, the policies likewise, sets of cpus, nodes with the sets that are excluded. */
#define DVMD_MAP_VARIANT_TYPE "(a(uuiuuuuiuuuu)a(uuuuuuuu)asa(uu))"
GVariant *dvmd_map_to_variant (DvmdMap *self);
/* NULL with DVM_ERROR_PARSE_FAILED when the map is not whole. */
DvmdMap *dvmd_map_new_from_variant (GVariant *variant, GError **error);

/* Every rank with its node, local rank and node rank. */
DvmdProcTable *dvmd_map_expand (DvmdMap *self);
/* The processes of that node alone, ascending by rank (element-type DvmdMapRank). */
GArray *dvmd_map_expand_node (DvmdMap *self, guint node);
/* (-1): the index of the one row that has processes of the node; not so if it is none, or several */
gint64 dvmd_map_find_only_row (DvmdMap *self, guint node);
/*
 * (transfer full) (nullable) (element-type DvmdBindingPlace): by rank; NULL: no process is placed on an object of a
 * node
 */
GArray *dvmd_map_list_places (DvmdMap *self);
/* The ranks of the agents that have processes of the map, ascending (element-type guint). */
GArray *dvmd_map_get_nodes (DvmdMap *self);
/* The same agents, each with the number of its processes (element-type DvmdMapShare). */
GArray *dvmd_map_get_shares (DvmdMap *self);
guint dvmd_map_count_on_node (DvmdMap *self, guint node);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdMap, dvmd_map_free)

G_END_DECLS
