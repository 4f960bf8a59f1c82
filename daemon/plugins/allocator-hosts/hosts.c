/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes that are named, or logical ones, which are numbered; this machine where none is.
 */

#include "config.h"

#include "dvmd-plugin.h"

#define DVMD_TYPE_HOSTS (dvmd_hosts_get_type ())
G_DECLARE_FINAL_TYPE (DvmdHosts, dvmd_hosts, DVMD, HOSTS, DvmdAllocator)

struct _DvmdHosts
{
  DvmdAllocator parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdHosts, dvmd_hosts, DVMD_TYPE_ALLOCATOR)

static DvmdAllocation *
allocate_logical (const DvmdAllocationRequest *request)
{
  DvmdAllocation *allocation = dvmd_allocation_new (NULL);

  for (guint i = 0; i < request->n_logical; i++)
    {
      g_autofree char *name = g_strdup_printf ("node%u", MAX (request->first_logical, 1) + i);

      dvmd_allocation_add_node (allocation, name, request->slots, 0);
    }
  dvmd_allocation_set_logical (allocation, TRUE);
  return allocation;
}

static DvmdAllocation *
allocate_hosts (const DvmdAllocationRequest *request)
{
  const char *const here[] = { request->host, NULL };
  const char *const *names = request->hosts != NULL ? request->hosts : here;
  DvmdAllocation *allocation = dvmd_allocation_new (NULL);

  for (guint i = 0; names[i] != NULL; i++)
    {
      const DvmdPluginNode *known = request->hosts != NULL && i < request->n_nodes ? &request->nodes[i] : NULL;
      guint slots = known != NULL && known->slots > 0 ? known->slots : request->slots;

      dvmd_allocation_add_node (allocation, names[i], slots, known != NULL ? known->slots_max : 0);
    }
  return allocation;
}

static void
dvmd_hosts_allocate_async (DvmdAllocator *self, const DvmdAllocationRequest *request, GCancellable *cancellable,
                           GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  gboolean can = request->alloc_id == NULL && (request->hosts != NULL || request->count <= request->n_logical);
  DvmdAllocation *allocation = NULL;

  /* Machines that nobody has named, and allocations of a scheduler, are for others. */
  if (can)
    allocation = request->n_logical > 0 ? allocate_logical (request) : allocate_hosts (request);
  g_task_return_pointer (task, allocation, (GDestroyNotify)dvmd_allocation_unref);
}

static void
dvmd_hosts_class_init (DvmdHostsClass *klass)
{
  DVMD_ALLOCATOR_CLASS (klass)->allocate_async = dvmd_hosts_allocate_async;
}

static void
dvmd_hosts_init (DvmdHosts *self)
{
}

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_ALLOCATOR,
  .name = "hosts",
  .description = "takes the nodes that are named, or this machine",
  .get_type = dvmd_hosts_get_type,
  .settings = DVMD_PLUGIN_NO_SETTINGS,
};
