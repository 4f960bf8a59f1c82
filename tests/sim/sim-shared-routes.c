/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-routes.h"
#include "sim-shared-routes.h"

/* epoch -> DvmdRoutes */
static GHashTable *tables;

DvmdRoutes *__real_dvmd_routes_change (DvmdRoutes *self, const guint32 *joined, guint n_joined, const guint32 *left,
                                       guint n_left);
DvmdRoutes *__wrap_dvmd_routes_change (DvmdRoutes *self, const guint32 *joined, guint n_joined, const guint32 *left,
                                       guint n_left);
DvmdRoutes *__real_dvmd_routes_new_from_variant (GVariant *variant, GError **error);
DvmdRoutes *__wrap_dvmd_routes_new_from_variant (GVariant *variant, GError **error);

/* (transfer full) (nullable) */
static DvmdRoutes *
find (guint64 epoch)
{
  DvmdRoutes *routes = tables != NULL ? g_hash_table_lookup (tables, GUINT_TO_POINTER ((guint)epoch)) : NULL;

  return routes != NULL ? dvmd_routes_ref (routes) : NULL;
}

DvmdRoutes *
__wrap_dvmd_routes_change (DvmdRoutes *self, const guint32 *joined, guint n_joined, const guint32 *left, guint n_left)
{
  DvmdRoutes *routes = find (dvmd_routes_get_epoch (self) + 1);

  if (routes != NULL)
    return routes;
  routes = __real_dvmd_routes_change (self, joined, n_joined, left, n_left);
  if (tables == NULL)
    tables = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)dvmd_routes_unref);
  g_hash_table_insert (tables, GUINT_TO_POINTER ((guint)dvmd_routes_get_epoch (routes)), dvmd_routes_ref (routes));
  return routes;
}

DvmdRoutes *
__wrap_dvmd_routes_new_from_variant (GVariant *variant, GError **error)
{
  guint64 epoch;
  DvmdRoutes *routes;

  g_variant_get_child (variant, 0, "t", &epoch);
  routes = find (epoch);
  return routes != NULL ? routes : __real_dvmd_routes_new_from_variant (variant, error);
}

void
sim_shared_routes_clear (void)
{
  g_clear_pointer (&tables, g_hash_table_unref);
}
