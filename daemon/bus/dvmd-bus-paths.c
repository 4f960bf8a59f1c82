/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Paths of objects are made of their kind and number, and numbers are read.
 */

#include "config.h"

#include "dvmd-bus-paths.h"

guint
dvmd_bus_key_hash (gconstpointer key)
{
  const DvmdBusKey *self = key;

  return self->id * 5 + self->kind;
}

gboolean
dvmd_bus_key_equal (gconstpointer a, gconstpointer b)
{
  const DvmdBusKey *first = a;
  const DvmdBusKey *second = b;

  return first->kind == second->kind && first->id == second->id;
}

char *
dvmd_bus_path (DvmdBusKind kind, guint id)
{
  static const char *const folders[] = {
    [DVMD_BUS_JOB] = DVMD_BUS_JOBS_PATH,
    [DVMD_BUS_NODE] = DVMD_BUS_NODES_PATH,
    [DVMD_BUS_SESSION] = DVMD_BUS_SESSIONS_PATH,
    [DVMD_BUS_CAMPAIGN] = DVMD_BUS_CAMPAIGNS_PATH,
  };

  if (kind == DVMD_BUS_MANAGER)
    return g_strdup (DVMD_BUS_MANAGER_PATH);
  if (kind == DVMD_BUS_CAMPAIGN && id == 0)
    return g_strdup ("/");
  return g_strdup_printf ("%s/%u", folders[kind], id);
}

gboolean
dvmd_bus_parse_node (const char *node, guint *id)
{
  guint64 number;

  if (!g_ascii_isdigit (node[0]) || (node[0] == '0' && node[1] != '\0')
      || !g_ascii_string_to_unsigned (node, 10, 0, G_MAXUINT, &number, NULL))
    return FALSE;
  *id = number;
  return TRUE;
}
