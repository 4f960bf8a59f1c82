/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of the DVM: the allocators are asked one after another.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-private.h"
#include "dvmd-pmix-server.h"

static void ask_next (DvmdController *self);

static void
add_nodes (DvmdController *self, const DvmdPluginNode *nodes, guint n_nodes)
{
  for (guint i = 0; i < n_nodes; i++)
    {
      gboolean given = self->given_pmix != NULL && self->pmix->len < self->given_pmix->len;

      dvmd_core_add_node (self->core, nodes[i].name, nodes[i].slots, nodes[i].slots_max);
      g_ptr_array_add (self->pmix, given ? g_object_ref (g_ptr_array_index (self->given_pmix, self->pmix->len))
                                         : (gpointer)dvmd_pmix_server_new ());
    }
  dvmd_core_allocated (self->core);
}

static void
take_allocation (DvmdController *self, DvmdAllocator *allocator, DvmdAllocation *allocation)
{
  g_autofree char *reason = NULL;
  guint n_nodes;
  const DvmdPluginNode *nodes = dvmd_allocation_get_nodes (allocation, &n_nodes);

  if (n_nodes == 0)
    reason = g_strdup_printf ("%s has found no nodes", G_OBJECT_TYPE_NAME (allocator));
  else if (n_nodes > 1 && self->hosts == NULL)
    /* A node of its own wants an agent of its own, and those come with agents that are programs. */
    reason = g_strdup_printf ("%s has found %u nodes, and this version runs on one", G_OBJECT_TYPE_NAME (allocator),
                              n_nodes);
  for (guint i = 0; i < n_nodes && reason == NULL; i++)
    if (nodes[i].name == NULL || nodes[i].name[0] == '\0' || !g_utf8_validate (nodes[i].name, -1, NULL))
      reason = g_strdup_printf ("%s has found a node without a name", G_OBJECT_TYPE_NAME (allocator));
  if (reason != NULL)
    dvmd_core_allocation_failed (self->core, reason);
  else
    add_nodes (self, nodes, n_nodes);
}

static void
on_allocated (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (DvmdController) self = user_data;
  g_autoptr (DvmdAllocation) allocation = NULL;
  g_autoptr (GError) error = NULL;
  DvmdPluginVerdict verdict = dvmd_allocator_allocate_finish (DVMD_ALLOCATOR (source), result, &allocation, &error);

  /* Who has ended meanwhile wants no nodes any more. */
  if (self->core == NULL || dvmd_core_get_shutting_down (self->core))
    return;
  if (error != NULL)
    dvmd_core_allocation_failed (self->core, error->message);
  else if (verdict == DVMD_PLUGIN_DONE && allocation != NULL)
    take_allocation (self, DVMD_ALLOCATOR (source), allocation);
  else if (verdict == DVMD_PLUGIN_DECLINED)
    ask_next (self);
  else
    dvmd_core_allocation_failed (self->core, "An allocator has failed and does not say why");
}

static void
ask_next (DvmdController *self)
{
  const DvmdAllocationRequest request = {
    .host = self->host,
    .hosts = (const char *const *)self->hosts,
    .slots = self->slots,
  };

  if (self->next_allocator >= self->allocators->len)
    {
      dvmd_core_allocation_failed (self->core,
                                   "No allocator has found nodes for the DVM: \"disabled-plugins\" may name "
                                   "allocator-hosts, which takes this machine");
      return;
    }
  dvmd_allocator_allocate_async (g_ptr_array_index (self->allocators, self->next_allocator++), &request,
                                 self->allocating, on_allocated, g_object_ref (self));
}

void
dvmd_controller_allocate (gpointer world)
{
  DvmdController *self = world;
  GPtrArray *active = dvmd_plugins_get_active (self->plugins, DVMD_PLUGIN_ALLOCATOR);

  self->allocating = g_cancellable_new ();
  /* Which are active may change while they are asked. */
  self->allocators = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < active->len; i++)
    g_ptr_array_add (self->allocators, g_object_ref (active->pdata[i]));
  /* Plugins answer where they are asked. */
  if (self->context != NULL)
    g_main_context_push_thread_default (self->context);
  ask_next (self);
  if (self->context != NULL)
    g_main_context_pop_thread_default (self->context);
}
