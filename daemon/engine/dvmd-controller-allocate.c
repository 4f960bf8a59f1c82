/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of the DVM: what is asked for is read, and the allocators are asked one after another.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-private.h"
#include "dvm-hosts-private.h"

/* The launcher whose nodes are parts of this machine, whatever they are called. */
#define LOCAL_LAUNCHER "local"

static void ask_next (DvmdController *self);

/* ---- what is asked for ---- */

void
dvmd_shape_init (DvmdShape *shape, const DvmdControllerSettings *settings)
{
  shape->hostfile = g_strdup (settings->hostfile);
  shape->hosts = g_strdup (settings->hosts);
  shape->launcher = g_strdup (settings->launcher);
  shape->n_logical = settings->n_logical;
  shape->start_timeout = settings->start_timeout;
  shape->addresses = g_hash_table_new_full (_dvm_host_name_hash, _dvm_host_name_equal, g_free, g_free);
}

void
dvmd_shape_clear (DvmdShape *shape)
{
  g_free (shape->hostfile);
  g_free (shape->hosts);
  g_free (shape->launcher);
  g_clear_pointer (&shape->named, g_array_unref);
  g_strfreev (shape->names);
  g_hash_table_unref (shape->addresses);
}

const char *
dvmd_shape_get_address (DvmdShape *shape, const char *name)
{
  return g_hash_table_lookup (shape->addresses, name);
}

/* (nullable) (transfer full): those of the file that the list chooses, or those of the one that there is */
static DvmHosts *
read_hosts (DvmdShape *shape, GError **error)
{
  g_autoptr (DvmHosts) file = _dvm_hosts_new ();
  g_autoptr (DvmHosts) list = _dvm_hosts_new ();

  if (shape->hostfile != NULL && !_dvm_hosts_add_file (file, shape->hostfile, error))
    return NULL;
  if (shape->hosts != NULL && !_dvm_hosts_add_list (list, shape->hosts, "--host", error))
    return NULL;
  if (shape->hosts == NULL)
    return g_steal_pointer (&file);
  return shape->hostfile != NULL ? _dvm_hosts_filter (file, list, error) : g_steal_pointer (&list);
}

static void
add_named (DvmdShape *shape, GPtrArray *names, const DvmHost *host)
{
  DvmdPluginNode node = { .slots = host->slots, .slots_max = host->slots_max };
  char *name = g_strdup (host->name);

  node.name = name;
  g_ptr_array_add (names, name);
  g_array_append_val (shape->named, node);
  if (strcmp (host->name, host->address) != 0)
    g_hash_table_insert (shape->addresses, g_strdup (name), g_strdup (host->address));
}

/* Files and lists become names, and what is known of each. */
static gboolean
read_named (DvmdShape *shape, GError **error)
{
  g_autoptr (DvmHosts) hosts = read_hosts (shape, error);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

  if (hosts == NULL)
    return FALSE;
  shape->named = g_array_new (FALSE, FALSE, sizeof (DvmdPluginNode));
  for (guint i = 0; i < _dvm_hosts_get_n (hosts); i++)
    {
      const DvmHost *host = _dvm_hosts_get (hosts, i);

      if (host->kind != DVM_HOST_NAMED)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       "%s: relative names are for jobs; a DVM is started on nodes that are named", host->place);
          return FALSE;
        }
      if (!host->excluded)
        add_named (shape, names, host);
    }
  if (names->len == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s names no host for the DVM",
                   shape->hostfile != NULL ? shape->hostfile : "--host");
      return FALSE;
    }
  g_ptr_array_add (names, NULL);
  shape->names = (char **)g_ptr_array_free (g_steal_pointer (&names), FALSE);
  return TRUE;
}

gboolean
dvmd_shape_is_this_machine (const char *host, const char *name)
{
  gsize short_length = strcspn (host, ".");

  return _dvm_host_name_equal (name, host) || _dvm_host_name_equal (name, "localhost")
         || (strlen (name) == short_length && g_ascii_strncasecmp (name, host, short_length) == 0);
}

/* A machine has one agent, whatever it is called. */
static gboolean
check_this_machine (DvmdController *self, GError **error)
{
  DvmdShape *shape = &self->shape;
  const char *found = NULL;

  for (guint i = 0; shape->names[i] != NULL && g_strcmp0 (shape->launcher, LOCAL_LAUNCHER) != 0; i++)
    {
      if (!dvmd_shape_is_this_machine (self->host, shape->names[i]))
        continue;
      if (found != NULL)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       "%s and %s are both this machine: it is named twice (the launcher \"%s\" makes two nodes of it)",
                       found, shape->names[i], LOCAL_LAUNCHER);
          return FALSE;
        }
      found = shape->names[i];
    }
  return TRUE;
}

/* Launchers are known by the names of their plugins. */
static gboolean
check_launcher (DvmdController *self, GError **error)
{
  GPtrArray *entries = dvmd_plugins_list (self->plugins);
  g_autoptr (GString) known = g_string_new (NULL);

  for (guint i = 0; i < entries->len; i++)
    {
      const DvmdPluginEntry *entry = entries->pdata[i];

      if (entry->info->kind != DVMD_PLUGIN_LAUNCHER || entry->plugin == NULL)
        continue;
      if (g_strcmp0 (entry->info->name, self->shape.launcher) == 0)
        return TRUE;
      g_string_append_printf (known, "%s%s", known->len > 0 ? ", " : "", entry->info->name);
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "There is no launcher \"%s\"; there are: %s",
               self->shape.launcher, known->len > 0 ? known->str : "none");
  return FALSE;
}

static gboolean
read_shape (DvmdController *self, GError **error)
{
  DvmdShape *shape = &self->shape;
  gboolean named = shape->hostfile != NULL || shape->hosts != NULL;

  if (named && shape->n_logical > 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "%u logical nodes are asked for, and named ones too: a DVM has the one or the other",
                 shape->n_logical);
  else if (shape->n_logical > 0 && shape->launcher != NULL && strcmp (shape->launcher, LOCAL_LAUNCHER) != 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "Logical nodes are parts of this machine: the launcher \"%s\" cannot start their agents, \"%s\" does",
                 shape->launcher, LOCAL_LAUNCHER);
  else
    return (shape->launcher == NULL || check_launcher (self, error))
           && (!named || (read_named (shape, error) && check_this_machine (self, error)));
  return FALSE;
}

/* ---- what is found ---- */

static void
add_nodes (DvmdController *self, const char *allocator, const DvmdPluginNode *nodes, guint n_nodes)
{
  for (guint i = 0; i < n_nodes; i++)
    {
      DvmdNode *node = dvmd_core_add_node (self->core, nodes[i].name, nodes[i].slots, nodes[i].slots_max);

      dvmd_core_set_node_origin (self->core, node->rank, NULL, allocator);
    }
  dvmd_core_allocated (self->core);
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
        return g_strdup_printf ("has found %s with %u slots, which may have %u at most", nodes[i].name, nodes[i].slots,
                                nodes[i].slots_max);
    }
  return NULL;
}

static void
take_allocation (DvmdController *self, DvmdAllocator *allocator, DvmdAllocation *allocation)
{
  const char *name = dvmd_plugins_get_name (self->plugins, allocator);
  guint n_nodes;
  const DvmdPluginNode *nodes = dvmd_allocation_get_nodes (allocation, &n_nodes);
  g_autofree char *wrong = dvmd_controller_judge_nodes (nodes, n_nodes);
  g_autofree char *reason = NULL;

  if (wrong == NULL && n_nodes > 1 && self->hosts == NULL && self->wired == NULL)
    wrong = g_strdup_printf ("has found %u nodes, and a DVM for one job runs on one", n_nodes);
  if (wrong != NULL)
    {
      reason = g_strdup_printf ("The allocator %s %s", name, wrong);
      dvmd_core_allocation_failed (self->core, reason);
      return;
    }
  self->shape.logical = dvmd_allocation_get_logical (allocation)
                        || g_strcmp0 (self->shape.launcher, LOCAL_LAUNCHER) == 0;
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
  /* Who has ended meanwhile wants no nodes any more. */
  if (stopped != NULL || self->core == NULL || dvmd_core_get_shutting_down (self->core))
    return;
  if (error != NULL)
    dvmd_core_allocation_failed (self->core, error->message);
  else if (verdict == DVMD_PLUGIN_DONE && allocation != NULL)
    take_allocation (self, allocator, allocation);
  else if (verdict == DVMD_PLUGIN_DECLINED)
    ask_next (self);
  else
    dvmd_core_allocation_failed (self->core, "An allocator has failed and does not say why");
}

static void
ask_next (DvmdController *self)
{
  DvmdShape *shape = &self->shape;
  const DvmdAllocationRequest request = {
    .host = self->host,
    .hosts = (const char *const *)(self->hosts != NULL ? self->hosts : shape->names),
    .slots = self->slots,
    .nodes = shape->named != NULL ? (const DvmdPluginNode *)shape->named->data : NULL,
    .n_nodes = shape->named != NULL ? shape->named->len : 0,
    .n_logical = shape->n_logical,
  };

  g_autoptr (GCancellable) cancellable = NULL;
  DvmdAllocator *allocator;
  gsize id;

  if (self->next_allocator >= self->allocators->len)
    {
      dvmd_core_allocation_failed (self->core,
                                   "No allocator has found nodes for the DVM: \"disabled-plugins\" may name "
                                   "allocator-hosts, which takes this machine");
      return;
    }
  allocator = g_ptr_array_index (self->allocators, self->next_allocator++);
  id = dvmd_controller_ask (self, allocator, FALSE, self->allocating, on_allocated, g_object_ref (self), &cancellable);
  dvmd_allocator_allocate_async (allocator, &request, cancellable, dvmd_controller_answered, GSIZE_TO_POINTER (id));
}

void
dvmd_controller_allocate (gpointer world)
{
  DvmdController *self = world;
  g_autoptr (GError) error = NULL;

  if (!read_shape (self, &error))
    {
      dvmd_core_allocation_failed (self->core, error->message);
      return;
    }
  self->allocating = g_cancellable_new ();
  self->allocators = dvmd_controller_list_allocators (self);
  /* Plugins answer where they are asked. */
  if (self->context != NULL)
    g_main_context_push_thread_default (self->context);
  ask_next (self);
  if (self->context != NULL)
    g_main_context_pop_thread_default (self->context);
}
