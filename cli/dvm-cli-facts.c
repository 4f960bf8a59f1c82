/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Answers of the DVM about a job that is placed, taken together: names of nodes.
 */

#include "config.h"

#include "dvm-cli-facts.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-map.h"
#include "dvm-cli-records.h"

void
dvm_cli_facts_clear (DvmCliFacts *facts)
{
  g_clear_pointer (&facts->map, g_variant_unref);
  g_clear_pointer (&facts->nodes, g_ptr_array_unref);
  g_clear_pointer (&facts->procs, g_ptr_array_unref);
  g_clear_pointer (&facts->machines, g_ptr_array_unref);
  g_clear_pointer (&facts->policies, g_variant_unref);
}

/* (nullable): of the node that has this other name, and hardware that is known */
static const char *
find_name (const DvmCliFacts *facts, const char *name)
{
  for (guint i = 0; i < facts->nodes->len; i++)
    {
      DvmNode *node = facts->nodes->pdata[i];
      const char *const *aliases = dvm_node_get_aliases (node);

      if (dvm_node_get_rank (node) > 0 && aliases != NULL && g_strv_contains (aliases, name)
          && dvm_cli_machines_find (facts->machines, dvm_node_get_name (node)) != NULL)
        return dvm_node_get_name (node);
    }
  return NULL;
}

GStrv
dvm_cli_facts_list_nodes (const DvmCliFacts *facts, const char *named, GError **error)
{
  g_auto (GStrv) names = named != NULL ? g_strsplit (named, ";", -1) : dvm_cli_list_map_nodes (facts->map, G_MAXUINT);

  for (gsize i = 0; names[i] != NULL; i++)
    {
      if (dvm_cli_machines_find (facts->machines, names[i]) != NULL)
        continue;
      if (named != NULL && find_name (facts, names[i]) != NULL)
        {
          char *own = g_strdup (find_name (facts, names[i]));

          g_free (names[i]);
          names[i] = own;
          continue;
        }
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                   _ ("option --display: '%s' is no node of which the hardware is known"), names[i]);
      return NULL;
    }
  return g_steal_pointer (&names);
}
