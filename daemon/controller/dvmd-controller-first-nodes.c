/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes that the DVM starts with: the allocators are asked for them, one after another.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <string.h>

#include "dvm-hosts-private.h"
#include "dvmd-services.h"
#include "dvmd-controller-allocators.h"
#include "dvmd-controller-questions.h"

typedef struct
{
  GPtrArray *allocators; /* (nullable): DvmdAllocator, that are asked one after another */
  guint next;
  GCancellable *stop;
} Allocation;

static void ask_next (DvmdController *self);

/* ---- what is found ---- */

static void
add_nodes (DvmdController *self, const char *allocator, const DvmdPluginNode *nodes, guint n_nodes)
{
  for (guint i = 0; i < n_nodes; i++)
    {
      DvmdNode *node = dvmd_core_add_node (dvmd_controller_get_core (self), nodes[i].name, nodes[i].slots,
                                           nodes[i].slots_max);

      dvmd_core_set_node_origin (dvmd_controller_get_core (self), node->rank, NULL, allocator);
    }
  dvmd_core_allocated (dvmd_controller_get_core (self));
}

char *
dvmd_controller_judge_nodes (const DvmdPluginNode *nodes, guint n_nodes)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (_dvm_host_name_hash, _dvm_host_name_equal);

  if (n_nodes == 0)
    return g_strdup ("has found no nodes");
  for (guint i = 0; i < n_nodes; i++)
    {
      if (nodes[i].name == NULL || nodes[i].name[0] == '\0' || !g_utf8_validate (nodes[i].name, -1, NULL))
        return g_strdup ("has found a node without a name");
      if (!g_hash_table_add (seen, (gpointer)nodes[i].name))
        return g_strdup_printf ("has found the node %s twice", nodes[i].name);
      if (nodes[i].slots_max > 0 && nodes[i].slots > nodes[i].slots_max)
        return g_strdup_printf ("has found %s with more slots (%u) than it may have (%u)", nodes[i].name,
                                nodes[i].slots, nodes[i].slots_max);
    }
  return NULL;
}

static void
take_allocation (DvmdController *self, DvmdAllocator *allocator, DvmdAllocation *allocation)
{
  const char *name = dvmd_plugins_get_name (dvmd_controller_get_parts (self)->plugins, allocator);
  DvmdShape *shape = dvmd_controller_get_parts (self)->shape;
  guint n_nodes;
  const DvmdPluginNode *nodes = dvmd_allocation_get_nodes (allocation, &n_nodes);
  g_autofree char *wrong = dvmd_controller_judge_nodes (nodes, n_nodes);
  g_autofree char *reason = NULL;

  if (wrong == NULL && n_nodes > 1 && shape->single)
    wrong = g_strdup_printf ("has found %u nodes, and a DVM for one job runs on one", n_nodes);
  if (wrong != NULL)
    {
      reason = g_strdup_printf ("The allocator %s %s", name, wrong);
      dvmd_core_allocation_failed (dvmd_controller_get_core (self), reason);
      return;
    }
  shape->logical = dvmd_allocation_get_logical (allocation) || dvmd_shape_is_local (shape);
  add_nodes (self, name, nodes, n_nodes);
}

static void
on_allocated (DvmdController *self, DvmdAllocator *allocator, GAsyncResult *result, const GError *stopped,
              gpointer data)
{
  g_autoptr (DvmdController) kept = data;
  g_autoptr (DvmdAllocation) allocation = NULL;
  g_autoptr (GError) error = NULL;
  DvmdPluginVerdict verdict = DVMD_PLUGIN_FAILED;

  if (result != NULL)
    verdict = dvmd_allocator_allocate_finish (allocator, result, &allocation, &error);
  /* A DVM that has ended meanwhile wants no nodes any more. */
  if (stopped != NULL || dvmd_controller_get_core (self) == NULL
      || dvmd_core_get_shutting_down (dvmd_controller_get_core (self)))
    return;
  if (error != NULL)
    dvmd_core_allocation_failed (dvmd_controller_get_core (self), error->message);
  else if (verdict == DVMD_PLUGIN_DONE && allocation != NULL)
    take_allocation (self, allocator, allocation);
  else if (verdict == DVMD_PLUGIN_DECLINED)
    ask_next (self);
  else
    dvmd_core_allocation_failed (dvmd_controller_get_core (self), "An allocator has failed and does not say why");
}

static void
ask_next (DvmdController *self)
{
  Allocation *start = dvmd_services_get (self, &dvmd_first_nodes_service);
  DvmdShape *shape = dvmd_controller_get_parts (self)->shape;
  const DvmdAllocationRequest request = {
    .host = dvmd_controller_get_parts (self)->host,
    .hosts = (const char *const *)(shape->embedded != NULL ? shape->embedded : shape->names),
    .slots = shape->slots,
    .nodes = shape->named != NULL ? (const DvmdPluginNode *)shape->named->data : NULL,
    .n_nodes = shape->named != NULL ? shape->named->len : 0,
    .n_logical = shape->n_logical,
  };

  g_autoptr (GCancellable) cancellable = NULL;
  DvmdAllocator *allocator;
  gsize id;

  if (start->next >= start->allocators->len)
    {
      dvmd_core_allocation_failed (dvmd_controller_get_core (self),
                                   "No allocator has found nodes for the DVM: \"disabled-plugins\" may name "
                                   "allocator-hosts, which takes this machine");
      return;
    }
  allocator = g_ptr_array_index (start->allocators, start->next++);
  id = dvmd_controller_ask (self, allocator, FALSE, start->stop, on_allocated, g_object_ref (self), &cancellable);
  dvmd_allocator_allocate_async (allocator, &request, cancellable, dvmd_controller_answered, GSIZE_TO_POINTER (id));
}

void
dvmd_controller_allocate (gpointer user_data)
{
  DvmdController *self = user_data;
  Allocation *start = dvmd_services_get (self, &dvmd_first_nodes_service);
  g_autoptr (GError) error = NULL;

  if (!dvmd_shape_read (dvmd_controller_get_parts (self)->shape, dvmd_controller_get_parts (self)->host,
                        dvmd_controller_get_parts (self)->plugins, &error))
    {
      dvmd_core_allocation_failed (dvmd_controller_get_core (self), error->message);
      return;
    }
  start->allocators = dvmd_controller_list_allocators (self);
  dvmd_controller_enter (self);
  ask_next (self);
  dvmd_controller_leave (self);
}

/* ---- the service ---- */

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Allocation *self = g_new0 (Allocation, 1);

  self->stop = g_cancellable_new ();
  return self;
}

static void
allocation_free (gpointer service)
{
  Allocation *self = service;

  g_cancellable_cancel (self->stop);
  g_object_unref (self->stop);
  g_clear_pointer (&self->allocators, g_ptr_array_unref);
  g_free (self);
}

const DvmdService dvmd_first_nodes_service = {
  .name = "first-nodes",
  .create = create,
  .free = allocation_free,
};
