/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which nodes the DVM is to have: settings, host files and lists become names.
 */

#include "config.h"

#include "dvmd-shape.h"

#include <string.h>

#include "dvm-hosts-private.h"
#include "dvmd-address.h"

/* The launcher whose nodes are parts of this machine, whatever they are called. */
#define LOCAL_LAUNCHER "local"

gboolean
dvmd_shape_is_local (DvmdShape *shape)
{
  return g_strcmp0 (shape->launcher, LOCAL_LAUNCHER) == 0;
}

/* name (nullable) */
static DvmdTopologyKind
find_slot_kind (const char *name)
{
  static const struct
  {
    const char *name;
    DvmdTopologyKind kind;
  } kinds[] = { { "cores", DVMD_TOPOLOGY_CORE },
                { "numas", DVMD_TOPOLOGY_NUMA },
                { "packages", DVMD_TOPOLOGY_PACKAGE } };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_strcmp0 (name, kinds[i].name) == 0)
      return kinds[i].kind;
  return DVMD_TOPOLOGY_HWTHREAD;
}

/* Some virtual machines show no cores. */
guint
dvmd_shape_get_default_slots (DvmdShape *shape, const DvmdAgentReport *report)
{
  guint n = shape->slot_kind == DVMD_TOPOLOGY_HWTHREAD
                ? 0
                : dvmd_topology_count_in_signature (report->topology, shape->slot_kind);

  return n > 0 ? n : MAX (report->hwthreads, 1);
}

DvmdShape *
dvmd_shape_new (const DvmdControllerSettings *settings)
{
  DvmdShape *shape = g_new0 (DvmdShape, 1);

  shape->embedded = g_strdupv ((char **)settings->shape.nodes);
  /* Agents of this process are on other nodes in name alone. */
  shape->single = settings->config == NULL && settings->shape.nodes == NULL;
  shape->slots = settings->shape.slots;
  shape->slot_kind = find_slot_kind (settings->shape.default_slots);
  shape->hostfile = g_strdup (settings->shape.hostfile);
  shape->hosts = g_strdup (settings->shape.hosts);
  shape->launcher = g_strdup (settings->shape.launcher);
  shape->allocator = g_strdup (settings->shape.allocator);
  shape->n_logical = settings->shape.n_logical;
  shape->max_nodes = settings->shape.max_nodes;
  shape->start_timeout = settings->shape.start_timeout;
  shape->addresses = g_hash_table_new_full (_dvm_host_name_hash, _dvm_host_name_equal, g_free, g_free);
  return shape;
}

void
dvmd_shape_free (DvmdShape *shape)
{
  g_strfreev (shape->embedded);
  g_free (shape->hostfile);
  g_free (shape->hosts);
  g_free (shape->launcher);
  g_free (shape->allocator);
  g_clear_pointer (&shape->named, g_array_unref);
  g_strfreev (shape->names);
  g_hash_table_unref (shape->addresses);
  g_free (shape);
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

  if (shape->hostfile != NULL && !_dvm_hosts_add_file (file, shape->hostfile, NULL, error))
    return NULL;
  if (shape->hosts != NULL && !_dvm_hosts_add_list (list, shape->hosts, "--host", NULL, error))
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

gboolean
dvmd_shape_is_this_machine (const char *host, const char *name)
{
  gsize short_length = strcspn (host, ".");

  return _dvm_host_name_equal (name, host) || _dvm_host_name_equal (name, "localhost") || dvmd_address_is_own (name)
         || (strlen (name) == short_length && g_ascii_strncasecmp (name, host, short_length) == 0);
}

/* A machine has one agent, whatever it is called: slots of its names add up, as those of one that is named twice do. */
static void
add_slots (DvmdPluginNode *node, const DvmHost *first, const DvmHost *again, gboolean all)
{
  node->slots = all ? 0 : MAX (node->slots, first->n_mentions) + MAX (again->slots, again->n_mentions);
  node->slots_max = node->slots_max > 0 && again->slots_max > 0 ? node->slots_max + again->slots_max : 0;
}

/* Files and lists become names, and what is known of each. */
static gboolean
read_named (DvmdShape *shape, const char *machine, GError **error)
{
  gboolean is_local = g_strcmp0 (shape->launcher, LOCAL_LAUNCHER) == 0;
  const DvmHost *own = NULL;
  gboolean all = FALSE; /* one of its names has all slots */
  guint own_index = 0;
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
      if (host->excluded)
        continue;
      if (!is_local && dvmd_shape_is_this_machine (machine, host->name))
        {
          all |= host->all_slots;
          if (own != NULL)
            {
              add_slots (&g_array_index (shape->named, DvmdPluginNode, own_index), own, host, all);
              continue;
            }
          own = host;
          own_index = shape->named->len;
        }
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
dvmd_controller_goes_elsewhere (const char *hosts, const char *hostfile)
{
  const char *const lists[] = { hosts, NULL };
  g_autoptr (DvmHosts) found = _dvm_hosts_read_new (lists, hostfile, "--host", NULL, NULL);
  gboolean elsewhere = found == NULL;

  for (guint i = 0; found != NULL && i < _dvm_hosts_get_n (found); i++)
    elsewhere |= !dvmd_shape_is_this_machine (g_get_host_name (), _dvm_hosts_get (found, i)->name);
  return elsewhere;
}

/* Launchers and allocators are known by the names of their plugins. wanted: (nullable): none by its name */
static gboolean
check_plugin (DvmdPlugins *plugins, DvmdPluginKind kind, const char *wanted, GError **error)
{
  GPtrArray *entries = dvmd_plugins_list (plugins);
  g_autoptr (GString) known = g_string_new (NULL);

  for (guint i = 0; wanted != NULL && i < entries->len; i++)
    {
      const DvmdPluginEntry *entry = entries->pdata[i];

      if (entry->info->kind != kind || entry->plugin == NULL)
        continue;
      if (g_strcmp0 (entry->info->name, wanted) == 0)
        return TRUE;
      g_string_append_printf (known, "%s%s", known->len > 0 ? ", " : "", entry->info->name);
    }
  if (wanted != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "There is no %s \"%s\"; there are: %s",
                 dvmd_plugin_kind_to_string (kind), wanted, known->len > 0 ? known->str : "none");
  return wanted == NULL;
}

gboolean
dvmd_shape_read (DvmdShape *shape, const char *host, DvmdPlugins *plugins, GError **error)
{
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
    return check_plugin (plugins, DVMD_PLUGIN_LAUNCHER, shape->launcher, error)
           && check_plugin (plugins, DVMD_PLUGIN_ALLOCATOR, shape->allocator, error)
           && (!named || read_named (shape, host, error));
  return FALSE;
}

gboolean
dvmd_controller_check_shape (const DvmdControllerSettings *settings, DvmdPlugins *plugins, GError **error)
{
  DvmdShape *shape = dvmd_shape_new (settings);
  gboolean is_right = dvmd_shape_read (shape, g_get_host_name (), plugins, error);

  dvmd_shape_free (shape);
  return is_right;
}
