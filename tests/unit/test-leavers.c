/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-leavers.h"

/* Of 0: radix 2, so that 1, 3, 4, 7 to 10 are behind 1, and 2, 5, 6, 11, 12 behind 2. */
static DvmdRoutes *
make_routes (void)
{
  g_autoptr (DvmdRoutes) alone = dvmd_routes_new (2);
  guint32 ranks[12];

  for (guint i = 0; i < G_N_ELEMENTS (ranks); i++)
    ranks[i] = i + 1;
  return dvmd_routes_change (alone, ranks, G_N_ELEMENTS (ranks), NULL, 0);
}

static GVariant *
make_ranks (guint32 first, guint32 n)
{
  GVariantBuilder ranks;

  g_variant_builder_init (&ranks, G_VARIANT_TYPE ("au"));
  for (guint32 i = 0; i < n; i++)
    g_variant_builder_add (&ranks, "u", first + i);
  return g_variant_builder_end (&ranks);
}

static void
test_order (void)
{
  DvmdLeavers *leavers = dvmd_leavers_new (0);
  g_autoptr (GVariant) left = NULL;
  g_autoptr (GVariant) expected = g_variant_ref_sink (g_variant_new_parsed ("[uint32 4, 7, 9]"));
  guint64 epoch = 0;

  /* In no order, and one twice. */
  dvmd_leavers_order (leavers, g_variant_new_parsed ("[uint32 9, 3, 7, 3]"), 5, NULL);
  dvmd_leavers_order (leavers, g_variant_new_parsed ("[uint32 4]"), 6, NULL);
  g_assert_true (dvmd_leavers_contains (leavers, 3, &epoch));
  g_assert_cmpuint (epoch, ==, 5);
  g_assert_true (dvmd_leavers_contains (leavers, 4, &epoch));
  g_assert_cmpuint (epoch, ==, 6);
  g_assert_true (dvmd_leavers_contains (leavers, 9, NULL));
  g_assert_false (dvmd_leavers_contains (leavers, 8, NULL));
  g_assert_false (dvmd_leavers_has_departed (leavers, 3));

  /* One goes twice, and one that had no order. */
  dvmd_leavers_bury (leavers, g_variant_new_parsed ("[uint32 8, 3]"), 7);
  dvmd_leavers_bury (leavers, g_variant_new_parsed ("[uint32 3]"), 7);
  g_assert_false (dvmd_leavers_contains (leavers, 3, NULL));
  g_assert_true (dvmd_leavers_has_departed (leavers, 3));
  g_assert_true (dvmd_leavers_has_departed (leavers, 8));
  g_assert_true (dvmd_leavers_contains (leavers, 7, NULL));
  g_assert_true (dvmd_leavers_contains (leavers, 9, NULL));
  left = g_variant_ref_sink (dvmd_leavers_to_variant (leavers));
  g_assert_cmpvariant (left, expected);

  dvmd_leavers_bury (leavers, g_variant_new_parsed ("[uint32 4, 7, 9]"), 8);
  g_assert_false (dvmd_leavers_contains (leavers, 7, NULL));
  g_assert_false (dvmd_leavers_contains (leavers, 4, NULL));
  g_assert_true (dvmd_leavers_has_departed (leavers, 9));
  dvmd_leavers_free (leavers);
}

static void
test_hops (void)
{
  DvmdLeavers *leavers = dvmd_leavers_new (0);
  g_autoptr (DvmdRoutes) routes = make_routes ();

  dvmd_leavers_order (leavers, g_variant_new_parsed ("[uint32 2, 3, 6, 8]"), 1, routes);
  dvmd_leavers_order (leavers, g_variant_new_parsed ("[uint32 5]"), 2, NULL);
  g_assert_cmpuint (dvmd_leavers_get_hop (leavers, 8), ==, 1);
  g_assert_cmpuint (dvmd_leavers_get_hop (leavers, 6), ==, 2);
  /* A neighbour, one that stays, and one of which that was not told. */
  g_assert_cmpuint (dvmd_leavers_get_hop (leavers, 2), ==, DVMD_NO_RANK);
  g_assert_cmpuint (dvmd_leavers_get_hop (leavers, 12), ==, DVMD_NO_RANK);
  g_assert_cmpuint (dvmd_leavers_get_hop (leavers, 5), ==, DVMD_NO_RANK);

  /* No neighbour by that table: nothing was behind it. */
  dvmd_leavers_forget_hop (leavers, 3);
  g_assert_cmpuint (dvmd_leavers_get_hop (leavers, 8), ==, 1);
  dvmd_leavers_forget_hop (leavers, 1);
  g_assert_cmpuint (dvmd_leavers_get_hop (leavers, 8), ==, DVMD_NO_RANK);
  g_assert_cmpuint (dvmd_leavers_get_hop (leavers, 6), ==, 2);

  dvmd_leavers_bury (leavers, g_variant_new_parsed ("[uint32 6]"), 3);
  g_assert_cmpuint (dvmd_leavers_get_hop (leavers, 6), ==, DVMD_NO_RANK);
  dvmd_leavers_free (leavers);
}

/* One after the other and many at once: each is found until 1000 epochs later. */
static void
test_remembered (void)
{
  DvmdLeavers *leavers = dvmd_leavers_new (1);

  for (guint32 rank = 1; rank <= 600; rank++)
    dvmd_leavers_bury (leavers, make_ranks (rank, 1), 10);
  dvmd_leavers_bury (leavers, make_ranks (1001, 500), 20);
  dvmd_leavers_order (leavers, make_ranks (2001, 2), 20, NULL);
  dvmd_leavers_bury (leavers, make_ranks (1501, 1), 30);

  dvmd_leavers_forget (leavers, 1010);
  for (guint32 rank = 1; rank <= 600; rank++)
    g_assert_true (dvmd_leavers_has_departed (leavers, rank));
  dvmd_leavers_forget (leavers, 1011);
  for (guint32 rank = 1; rank <= 600; rank++)
    g_assert_false (dvmd_leavers_has_departed (leavers, rank));
  for (guint32 rank = 1001; rank <= 1501; rank++)
    g_assert_true (dvmd_leavers_has_departed (leavers, rank));
  g_assert_true (dvmd_leavers_contains (leavers, 2002, NULL));
  dvmd_leavers_forget (leavers, 1021);
  g_assert_false (dvmd_leavers_has_departed (leavers, 1500));
  g_assert_false (dvmd_leavers_contains (leavers, 2002, NULL));
  g_assert_true (dvmd_leavers_has_departed (leavers, 1501));
  dvmd_leavers_free (leavers);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/leavers/order", test_order);
  g_test_add_func ("/leavers/hops", test_hops);
  g_test_add_func ("/leavers/remembered", test_remembered);
  return g_test_run ();
}
