/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvm-error.h"
#include "dvmd-routes.h"

static DvmdRoutes *
make (guint radix, guint n)
{
  g_autoptr (DvmdRoutes) alone = dvmd_routes_new (radix);
  g_autofree guint32 *ranks = g_new (guint32, n);

  for (guint i = 0; i < n; i++)
    ranks[i] = n - i; /* the order makes no difference */
  return dvmd_routes_change (alone, ranks, n, NULL, 0);
}

static void
test_places (void)
{
  g_autoptr (DvmdRoutes) routes = make (2, 6);

  g_assert_cmpuint (dvmd_routes_get_epoch (routes), ==, 1);
  g_assert_cmpuint (dvmd_routes_get_n_members (routes), ==, 7);
  g_assert_cmpuint (dvmd_routes_get_parent (routes, 0), ==, DVMD_NO_RANK);
  g_assert_cmpuint (dvmd_routes_get_parent (routes, 2), ==, 0);
  g_assert_cmpuint (dvmd_routes_get_parent (routes, 6), ==, 2);
  g_assert_cmpuint (dvmd_routes_get_depth (routes, 6), ==, 2);
  g_assert_cmpuint (dvmd_routes_get_max_depth (routes), ==, 2);
  g_assert_cmpuint (dvmd_routes_get_n_children (routes, 1), ==, 2);
  g_assert_cmpuint (dvmd_routes_get_child (routes, 1, 1), ==, 4);
  g_assert_cmpuint (dvmd_routes_get_n_children (routes, 3), ==, 0);
  g_assert_cmpuint (dvmd_routes_get_parent (routes, 99), ==, DVMD_NO_RANK);
}

static void
test_next_hop (void)
{
  g_autoptr (DvmdRoutes) routes = make (2, 6);

  g_assert_cmpuint (dvmd_routes_next_hop (routes, 0, 6), ==, 2);
  g_assert_cmpuint (dvmd_routes_next_hop (routes, 2, 6), ==, 6);
  g_assert_cmpuint (dvmd_routes_next_hop (routes, 6, 3), ==, 2);
  g_assert_cmpuint (dvmd_routes_next_hop (routes, 2, 3), ==, 0);
  g_assert_cmpuint (dvmd_routes_next_hop (routes, 3, 3), ==, DVMD_NO_RANK);
  g_assert_cmpuint (dvmd_routes_next_hop (routes, 3, 99), ==, DVMD_NO_RANK);
}

/* Every set of departures from a tree of twelve: dense, nobody lost, and few links are new. */
static void
test_departures (void)
{
  g_autoptr (DvmdRoutes) old = make (2, 11);

  for (guint set = 0; set < 1u << 11; set++)
    {
      g_autoptr (DvmdRoutes) routes = NULL;
      guint32 left[12];
      guint n = 0;
      guint n_children = 0;

      for (guint rank = 1; rank <= 11; rank++)
        if (set & 1u << (rank - 1))
          {
            left[n++] = rank;
            n_children += dvmd_routes_get_n_children (old, rank);
          }
      left[n] = 0; /* the controller never leaves */
      routes = dvmd_routes_change (old, NULL, 0, left, n + 1);
      g_assert_cmpuint (dvmd_routes_get_n_members (routes), ==, 12 - n);
      for (guint rank = 1; rank <= 11; rank++)
        g_assert_cmpint (dvmd_routes_contains (routes, rank), ==, (set & 1u << (rank - 1)) == 0);
      g_assert_cmpuint (dvmd_routes_count_new_links (old, routes), <=, n_children + n);
    }
}

/* A joiner takes the place of one that leaves: those below it have a new parent, and nobody else. */
static void
test_replacement (void)
{
  g_autoptr (DvmdRoutes) old = make (2, 6);
  g_autoptr (DvmdRoutes) routes = NULL;
  const guint32 joined[] = { 9, 3, 9 };
  const guint32 left[] = { 2, 42, 2 };

  routes = dvmd_routes_change (old, joined, 3, left, 3);
  g_assert_cmpuint (dvmd_routes_get_n_members (routes), ==, 7);
  g_assert_cmpuint (dvmd_routes_get_parent (routes, 9), ==, 0);
  g_assert_cmpuint (dvmd_routes_get_parent (routes, 6), ==, 9);
  g_assert_cmpuint (dvmd_routes_count_new_links (old, routes), ==, 3);
}

static void
refuse (guint radix, const guint32 *ranks, gsize n)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) variant = g_variant_ref_sink (g_variant_new (
      "(tu@au)", (guint64)1, radix, g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, ranks, n, sizeof (guint32))));

  g_assert_null (dvmd_routes_new_from_variant (variant, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
}

static void
test_variant (void)
{
  g_autoptr (DvmdRoutes) routes = make (3, 20);
  g_autoptr (GVariant) variant = g_variant_ref_sink (dvmd_routes_to_variant (routes));
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdRoutes) copy = dvmd_routes_new_from_variant (variant, &error);
  const guint32 twice[] = { 0, 1, 1 };
  const guint32 headless[] = { 1, 0 };

  g_assert_no_error (error);
  g_assert_cmpuint (dvmd_routes_get_epoch (copy), ==, 1);
  g_assert_cmpuint (dvmd_routes_count_new_links (routes, copy), ==, 0);
  refuse (0, twice, 1);
  refuse (DVMD_RADIX_MAX + 1, twice, 2);
  refuse (2, twice, 3);
  refuse (2, headless, 2);
  refuse (2, twice, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/routes/places", test_places);
  g_test_add_func ("/routes/next-hop", test_next_hop);
  g_test_add_func ("/routes/departures", test_departures);
  g_test_add_func ("/routes/replacement", test_replacement);
  g_test_add_func ("/routes/variant", test_variant);
  return g_test_run ();
}
