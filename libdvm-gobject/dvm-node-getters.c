/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The getters of a node's properties.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-node"

#include "dvm-node-private.h"

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

  return self->record.state;
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

  return dvm_node_state_to_string (self->record.state);
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

  return self->record.reason != NULL ? self->record.reason : "";
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
 * dvm_node_get_devices:
 * @self: a DvmNode
 *
 * The devices of the node in the order of its bus: GPUs, network cards and disks. Behind the last "=" of each stand
 * the processes that have it as their own, a namespace and ranks of it, several with "+" between them:
 * "nvml0=dvm@4:0-1+dvm@7:2". Nothing stands there where none has: "nvml1=".
 *
 * Returns: (transfer none) (array zero-terminated=1): the list
 * Since: 0.1
 */
const char *const *
dvm_node_get_devices (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), NULL);

  return _dvm_record_get_strv (self->devices);
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
 * dvm_node_get_memory_allotted:
 * @self: a DvmNode
 *
 * How many bytes of memory the scheduler has given of the node; 0 if it has not said so, and before the agent of the
 * node has reported.
 *
 * Returns: a number of bytes
 * Since: 0.1
 */
gint64
dvm_node_get_memory_allotted (DvmNode *self)
{
  g_return_val_if_fail (DVM_IS_NODE (self), 0);

  return self->memory_allotted;
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
