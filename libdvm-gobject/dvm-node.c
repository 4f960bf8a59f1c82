/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-node"

#include "dvm-record-codec-private.h"
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

enum
{
  PROP_0,
  PROP_NAME,
  PROP_ALIASES,
  PROP_RANK,
  PROP_STATE,
  PROP_STATE_NAME,
  PROP_REASON,
  PROP_SLOTS,
  PROP_SLOTS_IN_USE,
  PROP_SLOTS_MAX,
  PROP_SESSIONS,
  PROP_JOBS,
  PROP_ADDRESS,
  PROP_PID,
  PROP_PARENT_RANK,
  PROP_DEPTH,
  PROP_TOPOLOGY,
  PROP_LAST_SEEN,
  PROP_LAUNCHER,
  PROP_ALLOCATOR,
  N_PROPS
};

enum
{
  SIGNAL_STATE_CHANGED,
  N_SIGNALS
};

static GParamSpec *properties[N_PROPS];
static guint signals[N_SIGNALS];
struct _DvmNode
{
  GObject parent_instance;

  char *name;
  char **aliases;
  guint rank;
  DvmNodeState state;
  char *reason;
  guint slots;
  guint slots_in_use;
  guint slots_max;
  char **sessions;
  char **jobs;
  char *address;
  int pid;
  guint parent_rank;
  guint depth;
  char *topology;
  gint64 last_seen;
  char *launcher;
  char *allocator;
  char *object_path; /* made when it is asked for */
};

G_DEFINE_FINAL_TYPE (DvmNode, dvm_node, G_TYPE_OBJECT)

static const char *
state_to_string (guint state)
{
  return dvm_node_state_to_string ((DvmNodeState)state);
}

static const DvmRecordWords state_words = { dvm_node_state_get_type, state_to_string, NULL };

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
  { "State", "state", DVM_RECORD_FIELD_ENUM_NUMBER, G_STRUCT_OFFSET (DvmNode, state), .words = &state_words,
    .guarded = TRUE },
  /**
   * DvmNode:state-name:
   *
   * The name of the state, such as "UP".
   *
   * Since: 0.1
   */
  { "StateName", "state-name", DVM_RECORD_FIELD_ENUM_NAME, G_STRUCT_OFFSET (DvmNode, state), .words = &state_words,
    .guarded = TRUE },
  /**
   * DvmNode:reason:
   *
   * Why the node is in its state.
   *
   * Since: 0.1
   */
  { "Reason", "reason", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmNode, reason), .guarded = TRUE },
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

G_STATIC_ASSERT (G_N_ELEMENTS (fields) == N_PROPS - 1);

const DvmRecordField *
_dvm_node_get_fields (guint *n_fields)
{
  if (n_fields != NULL)
    *n_fields = G_N_ELEMENTS (fields);
  return fields;
}

static void
set_state (gpointer record, guint state, const char *reason)
{
  _dvm_node_set_state (record, state, reason);
}

static const DvmRecordCodec codec = {
  .fields = fields,
  .n_fields = G_N_ELEMENTS (fields),
  .properties = properties,
  .set_state = set_state,
};

static void
dvm_node_get_property (GObject *object, guint prop_id, GValue *value, GParamSpec *pspec)
{
  _dvm_record_get_property (object, &codec, prop_id, value);
}

/**
 * dvm_node_get_name:
 * @self: a DvmNode
 *
 * The name of the node.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_node_get_name (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), NULL);

  return self->name != NULL ? self->name : "";
}

/**
 * dvm_node_get_aliases:
 * @self: a DvmNode
 *
 * Other names of the node.
 *
 * Returns: (transfer none) (array zero-terminated=1): the list
 * Since: 0.1
 */
const char *const *
dvm_node_get_aliases (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), NULL);

  return _dvm_record_get_strv (self->aliases);
}

/**
 * dvm_node_get_rank:
 * @self: a DvmNode
 *
 * The rank of the agent; 0 is the controller.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_node_get_rank (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), 0);

  return self->rank;
}

/**
 * dvm_node_get_state:
 * @self: a DvmNode
 *
 * The state.
 *
 * Returns: the state
 * Since: 0.1
 */
DvmNodeState
dvm_node_get_state (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), DVM_NODE_STATE_UNDEF);

  return self->state;
}

/**
 * dvm_node_get_state_name:
 * @self: a DvmNode
 *
 * The name of the state, such as "UP".
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_node_get_state_name (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), NULL);

  return dvm_node_state_to_string (self->state);
}

/**
 * dvm_node_get_reason:
 * @self: a DvmNode
 *
 * Why the node is in its state.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_node_get_reason (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), NULL);

  return self->reason != NULL ? self->reason : "";
}

/**
 * dvm_node_get_slots:
 * @self: a DvmNode
 *
 * The number of slots.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_node_get_slots (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), 0);

  return self->slots;
}

/**
 * dvm_node_get_slots_in_use:
 * @self: a DvmNode
 *
 * The number of slots that jobs hold.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_node_get_slots_in_use (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), 0);

  return self->slots_in_use;
}

/**
 * dvm_node_get_slots_max:
 * @self: a DvmNode
 *
 * The number of slots that are never exceeded, 0 for no such limit.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_node_get_slots_max (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), 0);

  return self->slots_max;
}

/**
 * dvm_node_get_sessions:
 * @self: a DvmNode
 *
 * The object paths of the sessions that the node is in.
 *
 * Returns: (transfer none) (array zero-terminated=1): the list
 * Since: 0.1
 */
const char *const *
dvm_node_get_sessions (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), NULL);

  return _dvm_record_get_strv (self->sessions);
}

/**
 * dvm_node_get_jobs:
 * @self: a DvmNode
 *
 * The object paths of the jobs that run on the node.
 *
 * Returns: (transfer none) (array zero-terminated=1): the list
 * Since: 0.1
 */
const char *const *
dvm_node_get_jobs (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), NULL);

  return _dvm_record_get_strv (self->jobs);
}

/**
 * dvm_node_get_address:
 * @self: a DvmNode
 *
 * The address of the agent.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_node_get_address (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), NULL);

  return self->address != NULL ? self->address : "";
}

/**
 * dvm_node_get_pid:
 * @self: a DvmNode
 *
 * The process id of the agent.
 *
 * Returns: the number
 * Since: 0.1
 */
int
dvm_node_get_pid (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), 0);

  return self->pid;
}

/**
 * dvm_node_get_parent_rank:
 * @self: a DvmNode
 *
 * The rank of the node that is next on the way to the controller.
 *
 * Returns: the number; 0 as well for a node that is not in the tree, see dvm_node_get_depth()
 * Since: 0.1
 */
guint
dvm_node_get_parent_rank (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), 0);

  return self->parent_rank;
}

/**
 * dvm_node_get_depth:
 * @self: a DvmNode
 *
 * The number of links between the node and the controller.
 *
 * Returns: the number; 0 for the controller and for a node that is not in the tree
 * Since: 0.1
 */
guint
dvm_node_get_depth (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), 0);

  return self->depth;
}

/**
 * dvm_node_get_topology:
 * @self: a DvmNode
 *
 * The signature of the hardware topology.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_node_get_topology (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), NULL);

  return self->topology != NULL ? self->topology : "";
}

/**
 * dvm_node_get_last_seen:
 * @self: a DvmNode
 *
 * When the agent was last heard of.
 *
 * Returns: microseconds since the epoch, 0 if that has not happened yet
 * Since: 0.1
 */
gint64
dvm_node_get_last_seen (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), 0);

  return self->last_seen;
}

/**
 * dvm_node_get_launcher:
 * @self: a DvmNode
 *
 * The name of the launcher that started the agent.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_node_get_launcher (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), NULL);

  return self->launcher != NULL ? self->launcher : "";
}

/**
 * dvm_node_get_allocator:
 * @self: a DvmNode
 *
 * The name of the allocator that found the node.
 *
 * Returns: (transfer none): the text, "" if there is none
 * Since: 0.1
 */
const char *
dvm_node_get_allocator (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), NULL);

  return self->allocator != NULL ? self->allocator : "";
}

static void
dvm_node_finalize (GObject *object)
{
  DvmNode *self = DVM_NODE (object);

  _dvm_record_clear (self, &codec);
  g_free (self->object_path);
  G_OBJECT_CLASS (dvm_node_parent_class)->finalize (object);
}

static void
dvm_node_class_init (DvmNodeClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = dvm_node_get_property;
  object_class->finalize = dvm_node_finalize;
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
  signals[SIGNAL_STATE_CHANGED] = g_signal_new ("state-changed", DVM_TYPE_NODE, G_SIGNAL_RUN_LAST | G_SIGNAL_DETAILED,
                                                0, NULL, NULL, NULL, G_TYPE_NONE, 3, DVM_TYPE_NODE_STATE,
                                                DVM_TYPE_NODE_STATE, G_TYPE_STRING | G_SIGNAL_TYPE_STATIC_SCOPE);
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
  DvmNodeState old_state = self->state;

  _dvm_record_set_string (self, &self->reason, reason, properties[PROP_REASON]);
  if (state == old_state)
    return;
  self->state = state;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE]);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE_NAME]);
  g_signal_emit (self, signals[SIGNAL_STATE_CHANGED], g_quark_from_static_string (dvm_node_state_to_string (state)),
                 old_state, state, reason != NULL ? reason : "");
}

void
_dvm_node_set_slots (DvmNode *self, guint slots, guint slots_max)
{
  _dvm_record_set_uint (self, &self->slots, slots, properties[PROP_SLOTS]);
  _dvm_record_set_uint (self, &self->slots_max, slots_max, properties[PROP_SLOTS_MAX]);
}

void
_dvm_node_set_slots_in_use (DvmNode *self, guint slots_in_use)
{
  _dvm_record_set_uint (self, &self->slots_in_use, slots_in_use, properties[PROP_SLOTS_IN_USE]);
}

void
_dvm_node_set_contact (DvmNode *self, const char *address, int pid, const char *const *aliases)
{
  _dvm_record_set_string (self, &self->address, address, properties[PROP_ADDRESS]);
  _dvm_record_set_int (self, &self->pid, pid, properties[PROP_PID]);
  _dvm_record_set_strv (self, &self->aliases, aliases, properties[PROP_ALIASES]);
}

gboolean
_dvm_node_set_place (DvmNode *self, guint parent_rank, guint depth)
{
  gboolean changed = _dvm_record_set_uint (self, &self->parent_rank, parent_rank, properties[PROP_PARENT_RANK]);

  return _dvm_record_set_uint (self, &self->depth, depth, properties[PROP_DEPTH]) || changed;
}

void
_dvm_node_set_sessions (DvmNode *self, const char *const *object_paths)
{
  _dvm_record_set_strv (self, &self->sessions, object_paths, properties[PROP_SESSIONS]);
}

void
_dvm_node_set_topology (DvmNode *self, const char *signature)
{
  _dvm_record_set_string (self, &self->topology, signature, properties[PROP_TOPOLOGY]);
}

void
_dvm_node_set_last_seen (DvmNode *self, gint64 when)
{
  _dvm_record_set_time (self, &self->last_seen, when, properties[PROP_LAST_SEEN]);
}

void
_dvm_node_set_origin (DvmNode *self, const char *launcher, const char *allocator)
{
  _dvm_record_set_string (self, &self->launcher, launcher, properties[PROP_LAUNCHER]);
  _dvm_record_set_string (self, &self->allocator, allocator, properties[PROP_ALLOCATOR]);
}

void
_dvm_node_set_jobs (DvmNode *self, const char *const *object_paths)
{
  _dvm_record_set_strv (self, &self->jobs, object_paths, properties[PROP_JOBS]);
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

  if (self->object_path == NULL)
    self->object_path = g_strdup_printf ("/org/dvm/nodes/%u", self->rank);
  return self->object_path;
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
