/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes are looked for: the allocators are asked one after another, at the start of the DVM and when it grows.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvm-hosts-private.h"
#include "dvmd-services.h"
#include "dvmd-controller-allocators.h"
#include "dvmd-controller-questions.h"
#include "dvmd-node-allotment.h"

typedef struct
{
  DvmdController *controller; /* reffed */
  const DvmdSearchFuncs *funcs;
  gpointer data;
  GCancellable *stop;    /* (nullable) */
  GPtrArray *allocators; /* DvmdAllocator */
  guint next;
} Search;

static void ask_next (Search *self);

/* ---- what is found ---- */

/* allocation, error: one of them, or none; the error is taken */
static void
end_search (Search *self, DvmdAllocator *allocator, DvmdAllocation *allocation, GError *error)
{
  self->funcs->found (self->controller, self->data, allocator, allocation, error);
  g_ptr_array_unref (self->allocators);
  g_clear_object (&self->stop);
  g_object_unref (self->controller);
  g_free (self);
}

/* (nullable) (transfer full): why the DVM cannot have these nodes */
static char *
judge_nodes (DvmdAllocation *allocation)
{
  guint n_nodes;
  const DvmdPluginNode *nodes = dvmd_allocation_get_nodes (allocation, &n_nodes);
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
on_allocated (DvmdController *controller, DvmdAllocator *allocator, GAsyncResult *result, const GError *stopped,
              gpointer data)
{
  const char *name = dvmd_plugins_get_name (dvmd_controller_get_parts (controller)->plugins, allocator);
  g_autoptr (DvmdAllocation) allocation = NULL;
  g_autoptr (GError) failed = NULL;
  g_autofree char *wrong = NULL;
  DvmdPluginVerdict verdict = DVMD_PLUGIN_FAILED;
  GError *error = NULL;

  if (result != NULL)
    verdict = dvmd_allocator_allocate_finish (allocator, result, &allocation, &failed);
  if (verdict == DVMD_PLUGIN_DECLINED && failed == NULL && stopped == NULL)
    {
      ask_next (data);
      return;
    }
  if (stopped == NULL && failed == NULL)
    wrong = allocation != NULL ? judge_nodes (allocation) : g_strdup ("has failed and does not say why");
  if (stopped != NULL)
    error = g_error_copy (stopped);
  else if (failed != NULL)
    error = g_error_new_literal (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, failed->message);
  else if (wrong != NULL)
    error = g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "The allocator %s %s", name, wrong);
  end_search (data, allocator, error == NULL ? allocation : NULL, error);
}

/* (nullable): the next one that is to be asked */
static DvmdAllocator *
take_next (Search *self)
{
  const DvmdControllerParts *parts = dvmd_controller_get_parts (self->controller);
  const char *only = self->funcs->chosen ? parts->shape->allocator : NULL;

  while (self->next < self->allocators->len)
    {
      DvmdAllocator *allocator = g_ptr_array_index (self->allocators, self->next++);

      if (only == NULL || g_strcmp0 (dvmd_plugins_get_name (parts->plugins, allocator), only) == 0)
        return allocator;
    }
  return NULL;
}

static void
ask_next (Search *self)
{
  DvmdAllocationRequest request = {
    .host = dvmd_controller_get_parts (self->controller)->host,
    .slots = dvmd_controller_get_parts (self->controller)->shape->slots,
  };
  g_autoptr (GCancellable) cancellable = NULL;
  DvmdAllocator *allocator = take_next (self);
  gsize id;

  if (allocator == NULL)
    {
      end_search (self, NULL, NULL, NULL);
      return;
    }
  self->funcs->describe (self->controller, self->data, &request);
  dvmd_controller_enter (self->controller);
  id = dvmd_controller_ask (self->controller, allocator, self->funcs->limited, self->stop, on_allocated, self,
                            &cancellable);
  dvmd_allocator_allocate_async (allocator, &request, cancellable, dvmd_controller_answered, GSIZE_TO_POINTER (id));
  dvmd_controller_leave (self->controller);
}

void
dvmd_controller_find_nodes (DvmdController *self, const DvmdSearchFuncs *funcs, GCancellable *stop, gpointer data)
{
  Search *search = g_new0 (Search, 1);

  search->controller = g_object_ref (self);
  search->funcs = funcs;
  search->data = data;
  search->stop = stop != NULL ? g_object_ref (stop) : NULL;
  search->allocators = dvmd_controller_list_allocators (self);
  ask_next (search);
}

/* ---- the start ---- */

static void
describe_first (DvmdController *self, gpointer data, DvmdAllocationRequest *request)
{
  const DvmdShape *shape = dvmd_controller_get_parts (self)->shape;

  request->hosts = (const char *const *)(shape->embedded != NULL ? shape->embedded : shape->names);
  request->nodes = shape->named != NULL ? (const DvmdPluginNode *)shape->named->data : NULL;
  request->n_nodes = shape->named != NULL ? shape->named->len : 0;
  request->n_logical = shape->n_logical;
}

/* None has found nodes. (transfer full) */
static GError *
explain_none (DvmdController *self)
{
  const DvmdControllerParts *parts = dvmd_controller_get_parts (self);
  const char *wanted = parts->shape->allocator;
  g_autofree char *missing = NULL;

  if (wanted == NULL)
    return g_error_new (
        DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
        "No allocator has found nodes for the DVM: \"disabled-plugins\" may name allocator-hosts, which "
        "takes this machine");
  missing = dvmd_plugins_find_missing (parts->plugins, DVMD_PLUGIN_ALLOCATOR, wanted);
  if (missing != NULL)
    return g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                        "The allocator \"%s\", which the setting \"allocator\" names, takes the nodes of the job of a "
                        "scheduler, and the DVM is in none of that one (not set: %s)",
                        wanted, missing);
  return g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                      "The allocator \"%s\", which the setting \"allocator\" names, has no nodes for the DVM%s", wanted,
                      parts->shape->names != NULL || parts->shape->n_logical > 0
                          ? ": other nodes are asked for; an empty \"allocator\" leaves them to another one"
                          : "");
}

static void
found_first (DvmdController *self, gpointer data, DvmdAllocator *allocator, DvmdAllocation *allocation, GError *error)
{
  DvmdCore *core = dvmd_controller_get_core (self);
  DvmdShape *shape = dvmd_controller_get_parts (self)->shape;
  const char *name = dvmd_plugins_get_name (dvmd_controller_get_parts (self)->plugins, allocator);
  guint n_nodes = 0;
  const DvmdPluginNode *nodes = allocation != NULL ? dvmd_allocation_get_nodes (allocation, &n_nodes) : NULL;
  g_autoptr (GError) failed = error;

  /* A DVM that has ended meanwhile wants no nodes any more. */
  if (dvmd_core_get_shutting_down (core))
    return;
  if (allocation != NULL && n_nodes > 1 && shape->single)
    g_set_error (&failed, DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                 "The allocator %s has found %u nodes, and a DVM for one job runs on one", name, n_nodes);
  else if (allocation == NULL && failed == NULL)
    failed = explain_none (self);
  if (failed != NULL)
    {
      dvmd_core_allocation_failed (core, failed->message);
      return;
    }
  if (shape->max_nodes > 0)
    n_nodes = MIN (n_nodes, shape->max_nodes);
  shape->logical = dvmd_allocation_get_logical (allocation) || dvmd_shape_is_local (shape);
  dvmd_controller_note_allotments (self, nodes, n_nodes);
  for (guint i = 0; i < n_nodes; i++)
    dvmd_core_set_node_origin (core, dvmd_core_add_node (core, nodes[i].name, nodes[i].slots, nodes[i].slots_max)->rank,
                               NULL, name);
  dvmd_core_allocated (core);
}

/* The start waits for allocators as long as they take: allocator-timeout is for changes of size. */
static const DvmdSearchFuncs first_funcs = {
  .describe = describe_first,
  .found = found_first,
  .chosen = TRUE,
};

void
dvmd_controller_allocate (gpointer user_data)
{
  DvmdController *self = user_data;
  g_autoptr (GError) error = NULL;

  if (dvmd_shape_read (dvmd_controller_get_parts (self)->shape, dvmd_controller_get_parts (self)->host,
                       dvmd_controller_get_parts (self)->plugins, &error))
    dvmd_controller_find_nodes (self, &first_funcs, NULL, NULL);
  else
    dvmd_core_allocation_failed (dvmd_controller_get_core (self), error->message);
}
