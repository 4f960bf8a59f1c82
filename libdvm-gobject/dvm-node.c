/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The record of a node.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-node"

#include "dvm-node-private.h"
#include "dvm-enum-types.h"

/**
 * DvmNode:
 *
 * What is known of a node of the DVM: a machine, or a part of one, with an agent on it. Rank 0 is the controller, which
 * runs no processes.
 *
 * A record: it is read, and changes by itself when its client follows the DVM.
 *
 * Since: 0.1
 */

G_DEFINE_FINAL_TYPE (DvmNode, dvm_node, G_TYPE_OBJECT)

static const DvmRecordWords state_words = { dvm_node_state_get_type, dvm_node_state_to_string, NULL };

/* In the order of the properties. */
static const DvmRecordField fields[] = {
  /**
   * DvmNode:name:
   *
   * The name of the node.
   *
   * Since: 0.1
   */
  { "Name", "name", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmNode, name) },
  /**
   * DvmNode:aliases:
   *
   * Other names of the node.
   *
   * Since: 0.1
   */
  { "Aliases", "aliases", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmNode, aliases) },
  /**
   * DvmNode:rank:
   *
   * The rank of the agent; 0 is the controller.
   *
   * Since: 0.1
   */
  { "Rank", "rank", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmNode, rank) },
  /**
   * DvmNode:state:
   *
   * The state.
   *
   * Since: 0.1
   */
  { "State", "state", DVM_RECORD_FIELD_ENUM_NUMBER, G_STRUCT_OFFSET (DvmNode, record.state), .words = &state_words,
    .guarded = TRUE },
  /**
   * DvmNode:state-name:
   *
   * The name of the state, such as "UP".
   *
   * Since: 0.1
   */
  { "StateName", "state-name", DVM_RECORD_FIELD_ENUM_NAME, G_STRUCT_OFFSET (DvmNode, record.state),
    .words = &state_words, .guarded = TRUE },
  /**
   * DvmNode:reason:
   *
   * Why the node is in its state.
   *
   * Since: 0.1
   */
  { "Reason", "reason", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmNode, record.reason), .guarded = TRUE },
  /**
   * DvmNode:slots:
   *
   * The number of slots.
   *
   * Since: 0.1
   */
  { "Slots", "slots", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmNode, slots) },
  /**
   * DvmNode:slots-in-use:
   *
   * The number of slots that jobs hold.
   *
   * Since: 0.1
   */
  { "SlotsInUse", "slots-in-use", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmNode, slots_in_use) },
  /**
   * DvmNode:slots-max:
   *
   * The number of slots that are never exceeded, 0 for no such limit.
   *
   * Since: 0.1
   */
  { "SlotsMax", "slots-max", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmNode, slots_max) },
  /**
   * DvmNode:sessions:
   *
   * The object paths of the sessions that the node is in.
   *
   * Since: 0.1
   */
  { "Sessions", "sessions", DVM_RECORD_FIELD_PATHS, G_STRUCT_OFFSET (DvmNode, sessions) },
  /**
   * DvmNode:jobs:
   *
   * The object paths of the jobs that run on the node.
   *
   * Since: 0.1
   */
  { "Jobs", "jobs", DVM_RECORD_FIELD_PATHS, G_STRUCT_OFFSET (DvmNode, jobs) },
  /**
   * DvmNode:devices:
   *
   * The devices of the node, each with the processes that have it, such as "nvml0=dvm@4:0-1+dvm@7:2".
   *
   * Since: 0.1
   */
  { "Devices", "devices", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmNode, devices) },
  /**
   * DvmNode:address:
   *
   * The address of the agent.
   *
   * Since: 0.1
   */
  { "Address", "address", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmNode, address) },
  /**
   * DvmNode:pid:
   *
   * The process id of the agent.
   *
   * Since: 0.1
   */
  { "Pid", "pid", DVM_RECORD_FIELD_INT, G_STRUCT_OFFSET (DvmNode, pid) },
  /**
   * DvmNode:parent-rank:
   *
   * The rank of the node that is next on the way to the controller; 0 as well for one that is not in the tree.
   *
   * Since: 0.1
   */
  { "ParentRank", "parent-rank", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmNode, parent_rank) },
  /**
   * DvmNode:depth:
   *
   * The number of links between the node and the controller; 0 for the controller and for a node that is not in the
   * tree.
   *
   * Since: 0.1
   */
  { "Depth", "depth", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmNode, depth) },
  /**
   * DvmNode:topology:
   *
   * The signature of the hardware topology.
   *
   * Since: 0.1
   */
  { "Topology", "topology", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmNode, topology) },
  /**
   * DvmNode:memory-allotted:
   *
   * How many bytes of memory the scheduler has given of the node; 0 if it has not said so.
   *
   * Since: 0.1
   */
  { "MemoryAllotted", "memory-allotted", DVM_RECORD_FIELD_BYTES, G_STRUCT_OFFSET (DvmNode, memory_allotted) },
  /**
   * DvmNode:last-seen:
   *
   * When the agent was last heard of, in microseconds since the epoch; 0 if that has not happened.
   *
   * Since: 0.1
   */
  { "LastSeen", "last-seen", DVM_RECORD_FIELD_TIME, G_STRUCT_OFFSET (DvmNode, last_seen) },
  /**
   * DvmNode:launcher:
   *
   * The name of the launcher that started the agent.
   *
   * Since: 0.1
   */
  { "Launcher", "launcher", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmNode, launcher) },
  /**
   * DvmNode:allocator:
   *
   * The name of the allocator that found the node.
   *
   * Since: 0.1
   */
  { "Allocator", "allocator", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmNode, allocator) },
};

static GParamSpec *properties[sizeof (DvmNode) / sizeof (guint)][2];
static guint signals[1];

static const DvmRecordCodec codec = {
  .fields = fields,
  .n_fields = G_N_ELEMENTS (fields),
  .properties = properties,
  .states = &state_words,
  .state_changed = signals,
};

static void
dvm_node_class_init (DvmNodeClass *klass)
{
  /**
   * DvmNode::state-changed:
   * @self: the node
   * @old_state: the state before
   * @new_state: the state now
   * @reason: why, "" if there is nothing to say
   *
   * The state has changed. The properties have their new values already. The detail is the name of the new state, as in
   * "state-changed::UP".
   *
   * Since: 0.1
   */
  _dvm_record_class_install (klass, &codec);
}

static void
dvm_node_init (DvmNode *self)
{
}

DvmNode *
_dvm_node_new (guint rank, const char *name)
{
  DvmNode *self = g_object_new (DVM_TYPE_NODE, NULL);

  self->rank = rank;
  self->name = g_strdup (name);
  return self;
}

void
_dvm_node_set_state (DvmNode *self, DvmNodeState state, const char *reason)
{
  _dvm_record_set_state (&self->record, &codec, state, reason);
}

void
_dvm_node_set_slots (DvmNode *self, guint slots, guint slots_max)
{
  _dvm_record_set_uint (self, &codec, &self->slots, slots);
  _dvm_record_set_uint (self, &codec, &self->slots_max, slots_max);
}

void
_dvm_node_set_slots_in_use (DvmNode *self, guint slots_in_use)
{
  _dvm_record_set_uint (self, &codec, &self->slots_in_use, slots_in_use);
}

void
_dvm_node_set_contact (DvmNode *self, const char *address, int pid, const char *const *aliases)
{
  _dvm_record_set_string (self, &codec, &self->address, address);
  _dvm_record_set_int (self, &codec, &self->pid, pid);
  _dvm_record_set_strv (self, &codec, &self->aliases, aliases);
}

gboolean
_dvm_node_set_place (DvmNode *self, guint parent_rank, guint depth)
{
  gboolean changed = _dvm_record_set_uint (self, &codec, &self->parent_rank, parent_rank);

  return _dvm_record_set_uint (self, &codec, &self->depth, depth) || changed;
}

void
_dvm_node_set_sessions (DvmNode *self, const char *const *object_paths)
{
  _dvm_record_set_strv (self, &codec, &self->sessions, object_paths);
}

void
_dvm_node_set_topology (DvmNode *self, const char *signature)
{
  _dvm_record_set_string (self, &codec, &self->topology, signature);
}

void
_dvm_node_set_memory_allotted (DvmNode *self, guint64 bytes)
{
  _dvm_record_set_time (self, &codec, &self->memory_allotted, (gint64)MIN (bytes, (guint64)G_MAXINT64));
}

void
_dvm_node_set_last_seen (DvmNode *self, gint64 when)
{
  _dvm_record_set_time (self, &codec, &self->last_seen, when);
}

void
_dvm_node_set_origin (DvmNode *self, const char *launcher, const char *allocator)
{
  _dvm_record_set_string (self, &codec, &self->launcher, launcher);
  _dvm_record_set_string (self, &codec, &self->allocator, allocator);
}

void
_dvm_node_set_jobs (DvmNode *self, const char *const *object_paths)
{
  _dvm_record_set_strv (self, &codec, &self->jobs, object_paths);
}

void
_dvm_node_set_devices (DvmNode *self, const char *const *devices)
{
  _dvm_record_set_strv (self, &codec, &self->devices, devices);
}

/**
 * dvm_node_get_object_path:
 * @self: a node
 *
 * The D-Bus object path of the node, such as "/org/dvm/nodes/3".
 *
 * Returns: (transfer none): the object path
 * Since: 0.1
 */
const char *
dvm_node_get_object_path (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), NULL);

  return _dvm_record_get_object_path (&self->record, "/org/dvm/nodes/", self->rank);
}

/**
 * dvm_node_to_variant:
 * @self: a node
 *
 * All properties under their D-Bus names, as the bus shows them.
 *
 * Returns: (transfer full): a dictionary of type a{sv}
 * Since: 0.1
 */
GVariant *
dvm_node_to_variant (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), NULL);

  return _dvm_record_to_variant (self);
}

/**
 * dvm_node_new_from_variant:
 * @values: a dictionary of type a{sv}, as of [method@Node.to_variant]
 * @error: return location for an error
 *
 * A record of its own that was kept or sent: it does not change with the DVM. Names that this version does not know are
 * left aside.
 *
 * Returns: (transfer full): a node, or %NULL with @error set if a value has another type than the property
 * Since: 0.1
 */
DvmNode *
dvm_node_new_from_variant (GVariant *values, GError **error)
{
  g_return_val_if_fail (values != NULL, NULL);

  return _dvm_record_new_from_variant (DVM_TYPE_NODE, values, error);
}

/**
 * dvm_node_to_json:
 * @self: a node
 *
 * All properties as a JSON object on one line: keys in kebab case, the state as its name, times as ISO 8601 in UTC.
 *
 * Returns: (transfer full): the text
 * Since: 0.1
 */
char *
dvm_node_to_json (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), NULL);

  return _dvm_record_to_json (self);
}
