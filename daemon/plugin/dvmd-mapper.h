/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-map-room.h"
#include "dvmd-plugin-base.h"

G_BEGIN_DECLS

/*
 * Mappers are given, and give back, plain structures with reserved members. A new member takes the place of a reserved
 * one and means nothing while it is 0, so that the abi stays; what a mapper must not overlook (a word, a qualifier, a
 * way to rank or to bind) reaches only those that have declared it in their DvmdPluginInfo.
 */

/**
 * DvmdRankBy:
 * @DVMD_RANK_BY_SLOT: in the order in which a node is filled
 * @DVMD_RANK_BY_NODE: one on each node in turn
 * @DVMD_RANK_BY_FILL: object by object
 * @DVMD_RANK_BY_SPAN: one on each object in turn, of all nodes
 *
 * How ranks are given to places. The members of #DvmdPluginInfo combine them.
 *
 * Since: 0.1
 */
typedef enum
{
  DVMD_RANK_BY_SLOT = 1 << 0,
  DVMD_RANK_BY_NODE = 1 << 1,
  DVMD_RANK_BY_FILL = 1 << 2,
  DVMD_RANK_BY_SPAN = 1 << 3,
} DvmdRankBy;

/**
 * DvmdBindTo:
 * @DVMD_BIND_TO_NONE: to nothing
 * @DVMD_BIND_TO_HWTHREAD: to hardware threads
 * @DVMD_BIND_TO_CORE: to cores
 * @DVMD_BIND_TO_L1CACHE: to what shares a cache of the first level
 * @DVMD_BIND_TO_L2CACHE: of the second
 * @DVMD_BIND_TO_L3CACHE: of the third
 * @DVMD_BIND_TO_NUMA: to a NUMA node
 * @DVMD_BIND_TO_PACKAGE: to a package
 * @DVMD_BIND_OVERLOAD: a flag: more processes than cpus may be bound to an object
 * @DVMD_BIND_IF_SUPPORTED: a flag: it is no mistake if it is not possible
 * @DVMD_BIND_LIMIT: a flag: so many processes at most are bound to an object
 *
 * What processes are bound to. The members of #DvmdPluginInfo combine them.
 *
 * Since: 0.1
 */
typedef enum
{
  DVMD_BIND_TO_NONE = 1 << 0,
  DVMD_BIND_TO_HWTHREAD = 1 << 1,
  DVMD_BIND_TO_CORE = 1 << 2,
  DVMD_BIND_TO_L1CACHE = 1 << 3,
  DVMD_BIND_TO_L2CACHE = 1 << 4,
  DVMD_BIND_TO_L3CACHE = 1 << 5,
  DVMD_BIND_TO_NUMA = 1 << 6,
  DVMD_BIND_TO_PACKAGE = 1 << 7,
  DVMD_BIND_OVERLOAD = 1 << 16,
  DVMD_BIND_IF_SUPPORTED = 1 << 17,
  DVMD_BIND_LIMIT = 1 << 18,
} DvmdBindTo;

/**
 * DvmdMapNode:
 * @name: its name
 * @rank: of its agent
 * @slots: how many processes it is meant for
 * @slots_max: how many it may take at most, 0 for no limit beyond @slots
 * @slots_in_use: how many of its slots other jobs have
 * @limit: how many processes of this job it may take now
 * @most: with oversubscribe: how many of them it may take at most
 * @mapped: how many processes of this job it has already, that this request does not speak of
 * @signature: (nullable): like nodes have the same text; %NULL: not known
 * @topology: (nullable): its hardware; %NULL: not known
 * @allowed: (nullable): the cpus that the job may use; %NULL: all of the topology
 * @in_use: (nullable): the cpus to which processes are bound; %NULL: none is known
 * @is_local: whether it is the machine from which the DVM is led
 * @aliases: (nullable) (array zero-terminated=1): what else it is called, as far as its agent has said
 * @devices_in_use: (nullable): the devices that others have, by their numbers on the node; in @topology they are there
 *   with no cpus, and a map that puts a process on one is not used
 *
 * A node that may be used.
 *
 * Since: 0.1
 */
typedef struct
{
  const char *name;
  guint32 rank;
  guint32 slots;
  guint32 slots_max;
  guint32 slots_in_use;
  guint32 limit;
  guint32 most;
  guint32 mapped;
  const char *signature;
  DvmdMapTopology *topology;
  const DvmdCpuset *allowed;
  const DvmdCpuset *in_use;
  gboolean is_local;
  const char *const *aliases;
  const DvmdCpuset *devices_in_use;
  gpointer reserved[3];
} DvmdMapNode;

/**
 * DvmdMapBeside:
 * @node: index of the node in the request
 * @count: how many processes
 *
 * Processes of other jobs that follow each other on one node.
 *
 * Since: 0.1
 */
typedef struct
{
  guint32 node;
  guint32 count;
} DvmdMapBeside;

/**
 * DvmdMapRequest:
 * @word: the word of map-by, as the mapper has declared it: "ppr"
 * @value: (nullable): what stands behind "=" of the word
 * @arguments: (array zero-terminated=1): as many as the mapper has declared, as they were written: "2", "node"
 * @qualifiers: (array zero-terminated=1): those that were given, by the names that the mapper has declared, with their
 *   values as they were written: "pe=2", "span"; each at most once
 * @rank_by: how ranks are given; 0: as is usual for the word
 * @bind_to: what processes are bound to, without flags
 * @bind_flags: the flags of #DvmdBindTo
 * @bind_limit: the number of %DVMD_BIND_LIMIT
 * @app_np: how many processes each application of the job has
 * @n_apps: how many applications there are
 * @nodes: the nodes that may be used, in the order of preference
 * @n_nodes: how many nodes there are; at least one for map()
 * @oversubscribe: whether a node may take more processes than its limit: all limits are used first, then what is left
 * is spread evenly
 * @app_limits: (nullable): a row over the nodes for each application, how many processes of it the node may take, which
 * may be passed as the limits may; 0: the node is not for this application. %NULL: every node takes every application
 * @pe: how many cpus each process is to have; 0 counts as 1. More than one only a mapper gets that has declared the
 * qualifier "pe=N"
 * @cpus: what counts as a cpu
 * @file: (nullable): the text of the file that the qualifier "file=PATH" names
 * @file_name: (nullable): what messages call it
 * @bind_is_default: whether @bind_to was not asked for: it is no mistake then if it is not possible
 * @beside: (nullable) (array length=n_beside): the processes beside which the job is to be, in the order in which it
 *   names them; %NULL: it names none
 * @n_beside: the length of @beside
 * @np_is_counted: whether numbers in @app_np were counted, since the job does not give them: messages say so
 *
 * What is to be placed, and where it may go. Borrowed for the time of the call.
 *
 * Since: 0.1
 */
typedef struct
{
  const char *word;
  const char *value;
  const char *const *arguments;
  const char *const *qualifiers;
  DvmdRankBy rank_by;
  DvmdBindTo bind_to;
  guint32 bind_flags;
  guint32 bind_limit;
  const guint32 *app_np;
  guint32 n_apps;
  const DvmdMapNode *nodes;
  guint32 n_nodes;
  gboolean oversubscribe;
  const guint32 *app_limits;
  guint32 pe;
  DvmdCpuKind cpus;
  const char *file;
  const char *file_name;
  gboolean bind_is_default;
  const DvmdMapBeside *beside;
  guint32 n_beside;
  gboolean np_is_counted;
  gpointer reserved[2];
} DvmdMapRequest;

/**
 * DvmdPlacementRun:
 * @node: index of the node in the request
 * @app: index of the application
 * @first_rank: the first rank of the run
 * @count: how many ranks it has
 * @stride: how far they are apart; 1 if they follow each other
 * @kind: on objects of which kind they are; %DVMD_OBJECT_NODE: that is not said
 * @object: the index of the object of the first rank
 * @object_stride: how far the objects of the ranks are apart; 0: all are on one
 * @cpus: (nullable): what each of them is bound to; %NULL: nothing, or cpus of the object if the request is to bind
 * @per_object: how many ranks of the run follow each other on one object; 0 counts as 1
 *
 * Ranks of one application on one node.
 *
 * Since: 0.1
 */
typedef struct
{
  guint32 node;
  guint32 app;
  guint32 first_rank;
  guint32 count;
  guint32 stride;
  DvmdObjectKind kind;
  guint32 object;
  guint32 object_stride;
  const DvmdCpuset *cpus;
  guint32 per_object;
  gpointer reserved[1];
} DvmdPlacementRun;

/**
 * DvmdPlacement:
 *
 * Where the processes go, as runs of ranks: a mapper fills it. When the mapper is done, the daemon checks that every
 * rank has exactly one place, that no limit is passed, that the objects are there and the cpus are allowed.
 *
 * Since: 0.1
 */
typedef struct _DvmdPlacement DvmdPlacement;

DvmdPlacement *dvmd_placement_new (void);
void dvmd_placement_free (DvmdPlacement *self);

/**
 * dvmd_placement_add:
 * @self: a placement
 * @node: index of the node in the request
 * @app: index of the application
 * @first_rank: the first rank
 * @count: how many ranks
 * @stride: how far they are apart; 1 if they follow each other
 *
 * Adds a run of ranks. One that goes on where the last one has ended makes that one longer.
 *
 * Since: 0.1
 */
void dvmd_placement_add (DvmdPlacement *self, guint32 node, guint32 app, guint32 first_rank, guint32 count,
                         guint32 stride);

/**
 * dvmd_placement_add_run:
 * @self: a placement
 * @run: what is to be added; its cpus are copied
 *
 * The same with objects and cpus.
 *
 * Since: 0.1
 */
void dvmd_placement_add_run (DvmdPlacement *self, const DvmdPlacementRun *run);

/* (array length=n_runs) (transfer none): the runs in the order in which they were added. */
const DvmdPlacementRun *dvmd_placement_get_runs (DvmdPlacement *self, guint *n_runs);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPlacement, dvmd_placement_free)

/**
 * DvmdMapper:
 *
 * Places the processes of a job on nodes. Mapping is on the path of every job, and the DVM waits for it: a mapper reads
 * no file, asks nobody and does not wait.
 *
 * Since: 0.1
 */
#define DVMD_TYPE_MAPPER (dvmd_mapper_get_type ())
G_DECLARE_DERIVABLE_TYPE (DvmdMapper, dvmd_mapper, DVMD, MAPPER, DvmdPlugin)

/**
 * DvmdMapperClass:
 * @parent_class: the parent
 * @map: fills an empty placement. Declines what is not for it although it has declared the word; what it has placed is
 *   then forgotten. Fails with %DVM_ERROR_MAP_FAILED when the limits do not allow it
 * @check: (nullable): whether the arguments and qualifiers make sense, when a job comes; there are no nodes and no
 *   applications in the request. Who has sent the job gets the error: %DVM_ERROR_BAD_PARAM, or %DVM_ERROR_NOT_SUPPORTED
 * @count: (nullable): gives a number to each application that has none (0 in @app_np), from all nodes that the job may
 *   use, of which there may be none; %FALSE: it has no opinion, and one application gets the slots that are left
 *
 * Since: 0.1
 */
struct _DvmdMapperClass
{
  DvmdPluginClass parent_class;

  DvmdPluginVerdict (*map) (DvmdMapper *self, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error);
  gboolean (*check) (DvmdMapper *self, const DvmdMapRequest *request, GError **error);
  gboolean (*count) (DvmdMapper *self, const DvmdMapRequest *request, guint32 *app_np);

  gpointer reserved[4];
};

/**
 * dvmd_map_node_get_room:
 * @self: a node
 * @cpus: what counts as a cpu
 *
 * Returns: (transfer full) (nullable): how much room its objects have; %NULL: its hardware is not known
 * Since: 0.1
 */
DvmdMapRoom *dvmd_map_node_get_room (const DvmdMapNode *self, DvmdCpuKind cpus);

/**
 * dvmd_map_request_count_others:
 * @self: a request
 * @app_np: (array): how many processes each application has; 0: it has no number
 *
 * An application without a number has what the others leave of its nodes.
 *
 * Returns: (transfer full) (array) (nullable): for each application without a number, how many processes those have
 *   that have one, and a node in common with it; %NULL: some node is for two applications without a number
 * Since: 0.1
 */
guint64 *dvmd_map_request_count_others (const DvmdMapRequest *self, const guint32 *app_np);

/* Asks the mapper. A mapper without map() declines, one without check() is content, one without count() has no opinion.
 */
DvmdPluginVerdict dvmd_mapper_map (DvmdMapper *self, const DvmdMapRequest *request, DvmdPlacement *placement,
                                   GError **error);
gboolean dvmd_mapper_check (DvmdMapper *self, const DvmdMapRequest *request, GError **error);
gboolean dvmd_mapper_count (DvmdMapper *self, const DvmdMapRequest *request, guint32 *app_np);

G_END_DECLS
