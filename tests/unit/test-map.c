/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The compact map: regular shapes are one row, any shape comes back as it was, hostile rows are refused.
 */

#include "config.h"

#include "dvmd-map.h"

static gsize
size_of (DvmdMap *map)
{
  g_autoptr (GVariant) variant = g_variant_ref_sink (dvmd_map_to_variant (map));

  return g_variant_get_size (variant);
}

/* per processes on each of n nodes, by slot or by node; the ranks of the nodes are so far apart. */
static DvmdMap *
regular (guint n, guint per, gboolean by_node, gint apart)
{
  DvmdMap *map = dvmd_map_new ();

  for (guint i = 0; i < n; i++)
    dvmd_map_add_run (map, &(DvmdMapRow){ .node = (apart < 0 ? n : 1) + i * apart,
                                          .app = 0,
                                          .first_rank = by_node ? i : i * per,
                                          .count = per,
                                          .stride = by_node ? n : 1 });
  return map;
}

static void
test_regular (void)
{
  for (guint by_node = 0; by_node < 2; by_node++)
    for (gint apart = -1; apart < 3; apart++)
      for (guint per = 1; apart != 0 && per <= 128; per *= 2)
        {
          g_autoptr (DvmdMap) map = regular (1000, per, by_node, apart);

          g_assert_cmpuint (map->num_procs, ==, 1000 * per);
          g_assert_cmpuint (map->rows->len, ==, 1);
          g_assert_cmpuint (size_of (map), <=, 88);
          g_assert_true (dvmd_map_is_whole (map));
        }
}

/* A node goes out of the middle of rows, at their ends, and one by one; its ranks get other places. */
static void
test_remove_node (void)
{
  for (guint by_node = 0; by_node < 2; by_node++)
    for (guint node = 1; node <= 9; node += 4)
      {
        g_autoptr (DvmdMap) map = regular (9, 3, by_node, 1);
        g_autoptr (GArray) ranks = dvmd_map_expand_node (map, node);

        dvmd_map_remove_node (map, 11);
        g_assert_cmpuint (map->num_procs, ==, 27);
        dvmd_map_remove_node (map, node);
        g_assert_cmpuint (map->num_procs, ==, 24);
        g_assert_cmpuint (dvmd_map_count_on_node (map, node), ==, 0);
        g_assert_cmpuint (map->rows->len, <=, 2);
        for (guint i = 0; i < ranks->len; i++)
          dvmd_map_add_run (
              map, &(DvmdMapRow){
                       .node = 10, .first_rank = g_array_index (ranks, DvmdMapRank, i).rank, .count = 1, .stride = 1 });
        g_assert_true (dvmd_map_is_whole (map));
        for (guint other = 1; other <= 10; other++)
          g_assert_cmpuint (dvmd_map_count_on_node (map, other), ==, other == node ? 0 : 3);
      }
}

/* A node that is not there, one that has less, a second application: some rows more, whatever runs there. */
static void
test_irregular (void)
{
  g_autoptr (DvmdMap) map = dvmd_map_new ();
  guint rank = 0;

  for (guint app = 0; app < 2; app++)
    for (guint node = 1; node <= 1000; node++)
      {
        guint count = node == 300 ? 7 : 128;

        if (node == 500)
          continue;
        dvmd_map_add_run (map,
                          &(DvmdMapRow){ .node = node, .app = app, .first_rank = rank, .count = count, .stride = 1 });
        rank += count;
      }
  g_assert_cmpuint (map->rows->len, ==, 8);
  g_assert_true (dvmd_map_is_whole (map));
  g_assert_cmpuint (dvmd_map_count_on_node (map, 300), ==, 14);
  g_assert_cmpuint (dvmd_map_count_on_node (map, 500), ==, 0);
  g_assert_cmpuint (dvmd_map_count_on_node (map, 1000), ==, 256);
  g_assert_cmpuint (dvmd_map_count_on_node (map, 1001), ==, 0);
}

/* Large and small nodes take turns. */
static void
test_turns (void)
{
  g_autoptr (DvmdMap) map = dvmd_map_new ();
  guint rank = 0;

  for (guint node = 1; node <= 1000; node++)
    {
      guint count = 32 << node % 3;

      dvmd_map_add_run (map, &(DvmdMapRow){ .node = node, .app = 0, .first_rank = rank, .count = count, .stride = 1 });
      rank += count;
    }
  g_assert_cmpuint (map->rows->len, ==, 3);
  g_assert_true (dvmd_map_is_whole (map));
  g_assert_cmpuint (dvmd_map_count_on_node (map, 500), ==, 32 << 500 % 3);
}

/* ---- any shape ---- */

#define MOST_NODES 12

typedef struct
{
  guint n;
  guint node[400];
  guint app[400];
} Naive;

/* Runs one after another, each of some ranks with some nodes between: as mappers do, and as nobody does. */
static DvmdMap *
make_random (GRand *random, Naive *naive)
{
  DvmdMap *map = dvmd_map_new ();
  guint n_blocks = g_rand_int_range (random, 1, 8);

  naive->n = 0;
  for (guint block = 0; block < n_blocks; block++)
    {
      guint n_nodes = g_rand_int_range (random, 1, 6);
      guint count = g_rand_int_range (random, 1, 6);
      guint first = g_rand_int_range (random, 1, MOST_NODES - 5);
      gint direction = g_rand_boolean (random) ? 1 : -1;
      gboolean by_node = g_rand_boolean (random);
      guint app = g_rand_int_range (random, 0, 2);

      for (guint i = 0; i < n_nodes; i++)
        {
          guint node = direction > 0 ? first + i : first + n_nodes - 1 - i;
          guint rank = naive->n + (by_node ? i : i * count);

          dvmd_map_add_run (
              map, &(DvmdMapRow){
                       .node = node, .app = app, .first_rank = rank, .count = count, .stride = by_node ? n_nodes : 1 });
          for (guint k = 0; k < count; k++)
            {
              naive->node[rank + k * (by_node ? n_nodes : 1)] = node;
              naive->app[rank + k * (by_node ? n_nodes : 1)] = app;
            }
        }
      naive->n += n_nodes * count;
    }
  return map;
}

static void
check_node (DvmdMap *map, DvmdProcTable *table, guint node)
{
  g_autoptr (GArray) ours = dvmd_map_expand_node (map, node);
  guint n = 0;

  for (guint rank = 0; rank < table->n_rows; rank++)
    {
      const DvmdProcRow *row = dvmd_proc_table_row (table, rank);
      const DvmdMapRank *mine = &g_array_index (ours, DvmdMapRank, n);

      if (row->node != node)
        continue;
      g_assert_cmpuint (n, <, ours->len);
      g_assert_cmpuint (mine->rank, ==, rank);
      g_assert_cmpuint (mine->app, ==, row->app);
      g_assert_cmpuint (row->local_rank, ==, n);
      g_assert_cmpuint (row->node_rank, ==, n);
      n++;
    }
  g_assert_cmpuint (n, ==, ours->len);
  g_assert_cmpuint (n, ==, dvmd_map_count_on_node (map, node));
}

static void
check_shares (DvmdMap *map)
{
  g_autoptr (GArray) shares = dvmd_map_get_shares (map);
  g_autoptr (GArray) nodes = dvmd_map_get_nodes (map);
  guint total = 0;

  g_assert_cmpuint (shares->len, ==, nodes->len);
  for (guint i = 0; i < shares->len; i++)
    {
      const DvmdMapShare *share = &g_array_index (shares, DvmdMapShare, i);

      g_assert_cmpuint (share->node, ==, g_array_index (nodes, guint, i));
      g_assert_cmpuint (share->count, ==, dvmd_map_count_on_node (map, share->node));
      g_assert_true (i == 0 || share->node > share[-1].node);
      total += share->count;
    }
  g_assert_cmpuint (total, ==, map->num_procs);
}

static void
test_random (void)
{
  guint32 seed = g_test_rand_int ();
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);

  g_test_message ("seed %u", seed);
  for (guint i = 0; i < 2000; i++)
    {
      Naive naive;
      g_autoptr (DvmdMap) made = make_random (random, &naive);
      g_autoptr (GVariant) variant = g_variant_ref_sink (dvmd_map_to_variant (made));
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmdMap) map = dvmd_map_new_from_variant (variant, &error);
      g_autoptr (DvmdProcTable) table = NULL;

      g_assert_no_error (error);
      g_assert_cmpuint (map->num_procs, ==, naive.n);
      table = dvmd_map_expand (map);
      for (guint rank = 0; rank < naive.n; rank++)
        {
          g_assert_cmpuint (dvmd_proc_table_row (table, rank)->node, ==, naive.node[rank]);
          g_assert_cmpuint (dvmd_proc_table_row (table, rank)->app, ==, naive.app[rank]);
        }
      for (guint node = 0; node <= MOST_NODES; node++)
        check_node (map, table, node);
      check_shares (map);
    }
}

/* ---- objects ---- */

static void
check_place (GArray *places, guint rank, guint kind, guint object)
{
  const DvmdBindingPlace *place = &g_array_index (places, DvmdBindingPlace, rank);

  g_assert_cmpuint (place->kind, ==, kind);
  g_assert_cmpuint (place->object, ==, object);
}

/* Two ranks on each second core of two nodes, then two on a whole node and one on cpus that the user has named. */
static void
test_places (void)
{
  g_autoptr (DvmdMap) map = dvmd_map_new ();
  g_autoptr (GArray) places = NULL;

  for (guint node = 0; node < 2; node++)
    dvmd_map_add_run (map, &(DvmdMapRow){ .node = 1 + node,
                                          .first_rank = node,
                                          .count = 4,
                                          .stride = 2,
                                          .place = { 6, 1 },
                                          .per_object = 2,
                                          .object_stride = 2 });
  dvmd_map_add_run (map, &(DvmdMapRow){ .node = 3, .app = 1, .first_rank = 8, .count = 2, .stride = 1 });
  dvmd_map_add_run (map,
                    &(DvmdMapRow){ .node = 4, .app = 1, .first_rank = 10, .count = 1, .place = { DVMD_KIND_CPUS, 5 } });
  places = dvmd_map_list_places (map);
  g_assert_nonnull (places);
  g_assert_cmpuint (places->len, ==, 11);
  for (guint rank = 0; rank < 8; rank++)
    check_place (places, rank, 6, rank < 4 ? 1 : 3);
  for (guint rank = 8; rank < 11; rank++)
    check_place (places, rank, DVMD_KIND_NODE, 0);
}

static void
test_no_places (void)
{
  g_autoptr (DvmdMap) map = regular (10, 4, FALSE, 1);

  g_assert_null (dvmd_map_list_places (map));
}

/* ---- parts ---- */

/* A map behind another one: applications, ranks and sets of cpus are those of the whole. */
static void
test_append (void)
{
  const DvmdBindingPolicy cores = { .bind_to = 6, .pe = 1 };
  const DvmdBindingPolicy none = { 0 };
  const DvmdBindingPolicy memories = { .bind_to = 2, .pe = 2 };
  g_autoptr (DvmdMap) whole = dvmd_map_new ();
  g_autoptr (DvmdMap) again = NULL;
  g_autoptr (GVariant) variant = NULL;
  g_autoptr (GArray) ranks = NULL;
  const DvmdMapRank *third;

  for (guint part = 0; part < 3; part++)
    {
      g_autoptr (DvmdMap) map = dvmd_map_new ();

      for (guint app = 0; app < 2; app++)
        dvmd_map_add_run (map, &(DvmdMapRow){ .node = 1, .app = app, .first_rank = app, .count = 1, .per_object = 1 });
      if (part == 1)
        dvmd_map_add_run (map, &(DvmdMapRow){ .node = 1,
                                              .app = 1,
                                              .first_rank = 2,
                                              .count = 1,
                                              .place = { DVMD_KIND_CPUS, dvmd_map_add_cpuset (map, "4-5") },
                                              .per_object = 1 });
      dvmd_map_set_policy (map, 0, part == 0 ? &cores : part == 1 ? &none : &memories);
      dvmd_map_add_cpuset (whole, "0-3");
      dvmd_map_append (whole, map, 2 * part);
    }
  variant = g_variant_ref_sink (dvmd_map_to_variant (whole));
  again = dvmd_map_new_from_variant (variant, NULL);
  g_assert_cmpuint (again->num_procs, ==, 7);
  g_assert_true (dvmd_map_binds (again));
  g_assert_cmpuint (dvmd_map_get_policy (again, 1)->bind_to, ==, 6);
  g_assert_cmpuint (dvmd_map_get_policy (again, 2)->bind_to, ==, 0);
  g_assert_cmpuint (dvmd_map_get_policy (again, 3)->bind_to, ==, 0);
  g_assert_cmpuint (dvmd_map_get_policy (again, 4)->pe, ==, 2);
  g_assert_true (dvmd_map_get_policy (again, 5) == dvmd_map_get_policy (again, 99));
  ranks = dvmd_map_expand_node (again, 1);
  third = &g_array_index (ranks, DvmdMapRank, 4);
  g_assert_cmpuint (third->app, ==, 3);
  g_assert_cmpuint (third->place.kind, ==, DVMD_KIND_CPUS);
  g_assert_cmpstr (again->cpusets->pdata[third->place.object], ==, "4-5");
  g_assert_cmpuint (g_array_index (ranks, DvmdMapRank, 6).app, ==, 5);
}

/* Each is that of its applications, and a map without any binds nothing. */
static void
test_policies (void)
{
  const DvmdBindingPolicy cores = { .bind_to = 6, .pe = 1 };
  g_autoptr (DvmdMap) map = dvmd_map_new ();

  g_assert_false (dvmd_map_binds (map));
  dvmd_map_set_policy (map, 1, &cores);
  dvmd_map_set_policy (map, 2, &cores);
  g_assert_false (dvmd_map_get_policy (map, 1) == dvmd_map_get_policy (map, 2));
  g_assert_true (dvmd_map_binds (map));
  g_assert_cmpuint (dvmd_map_get_policy (map, 0)->bind_to, ==, 0);
  g_assert_cmpuint (dvmd_map_get_policy (map, 7)->bind_to, ==, 6);
}

/* ---- hostile rows ---- */

static void
check_refused (const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text, ")", -1);
  g_autofree char *rows = g_strjoinv (", 0, 0, 1, 0)", parts);
  g_autofree char *whole = g_strdup_printf ("(%s, [(0, 0, 0, 0, 0, 0, 0, 0)], @as [], @a(uu) [])", rows);
  g_autoptr (GVariant) variant = g_variant_parse (G_VARIANT_TYPE (DVMD_MAP_VARIANT_TYPE), whole, NULL, NULL, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdMap) map = NULL;

  g_assert_nonnull (variant);
  map = dvmd_map_new_from_variant (variant, &error);
  if (map != NULL)
    g_error ("%s was taken", text);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED);
}

static void
test_hostile (void)
{
  static const char *const texts[] = {
    /* node, nodes, node stride, app, first rank, count, stride, step; the objects are all right */
    "[(1, 0, 0, 0, 0, 1, 1, 0)]",                                         /* no node */
    "[(1, 1, 0, 0, 0, 0, 1, 0)]",                                         /* no process */
    "[(1, 4294967295, 1, 0, 0, 4294967295, 1, 1)]",                       /* more than there can be */
    "[(1, 67108864, 1, 0, 0, 2, 1, 2)]",                                  /* the same in two numbers */
    "[(1, 1, 0, 0, 0, 67108864, 1, 0), (2, 1, 0, 0, 67108864, 1, 1, 0)]", /* and in two rows */
    "[(1, 2, 0, 0, 0, 2, 1, 2)]",                                         /* twice the same node */
    "[(1, 2, 1, 0, 0, 2, 1, 0)]",                                         /* twice the same ranks */
    "[(1, 1, 0, 0, 0, 2, 0, 0)]",
    "[(1, 3, -1, 0, 0, 1, 1, 1)]",         /* below the first node */
    "[(4294967290, 9, 1, 0, 0, 1, 1, 1)]", /* beyond the last */
    "[(4294967295, 1, 0, 0, 0, 1, 1, 0)]",
    "[(1, 3, 1, 0, 0, 1, 1, -1)]", /* negative ranks */
    "[(1, 1, 0, 0, 1, 2, 1, 0)]",  /* rank 0 has no place */
    "[(1, 2, 1, 0, 0, 2, 1, 1)]",  /* rank 1 has two */
    "[(1, 2, 1, 0, 0, 2, 3, 1)]",  /* rank 2 has none */
    "[(1, 1, 0, 0, 4294967295, 2, 4294967295, 0)]",
    "[(1, 2, 1, 0, 4294967295, 2, 4294967295, 2147483647)]",
    "[(1, 1, 0, 0, 0, 2, 1, 0), (2, 1, 0, 0, 1, 1, 1, 0)]",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    check_refused (texts[i]);
}

static void
test_hostile_binding (void)
{
  static const char *const texts[] = {
    "[(0, 8, 0, 0, 0, 0, 0, 0)]", /* there is no such kind */
    "[(0, 1, 0, 1, 0, 0, 0, 0), (2, 8, 0, 0, 0, 0, 0, 0)]",
    "@a(uuuuuuuu) []",            /* no policy */
    "[(0, 0, 0, 0, 0, 1, 0, 0)]", /* a wish that is not there */
    "[(0, 0, 0, 0, 0, 0, 1, 0)]", /* words that are not there */
    "[(0, 0, 0, 0, 0, 0, 0, 1)]",
    "[(1, 0, 0, 0, 0, 0, 0, 0)]", /* none of the first application */
    "[(0, 0, 0, 0, 0, 0, 0, 0), (2, 0, 0, 0, 0, 0, 0, 0), (1, 6, 0, 0, 0, 0, 0, 0)]", /* out of order */
    "[(0, 0, 0, 0, 0, 0, 0, 0), (1, 6, 0, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0, 0, 0, 0)]", /* two of one application */
    "[(0, 0, 0, 0, 0, 0, 0, 0)]",                                                     /* a device of no wish */
  };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      /* The last one is placed by a device. */
      g_autofree char *whole = g_strdup_printf ("([(1, 1, 0, 0, 0, 1, 1, 0, %u, 0, 1, 0)], %s, @as [], @a(uu) [])",
                                                i + 1 < G_N_ELEMENTS (texts) ? 0 : DVMD_KIND_DEVICE, texts[i]);
      g_autoptr (GVariant) variant = g_variant_parse (G_VARIANT_TYPE (DVMD_MAP_VARIANT_TYPE), whole, NULL, NULL, NULL);
      g_autoptr (GError) error = NULL;

      g_assert_nonnull (variant);
      g_assert_null (dvmd_map_new_from_variant (variant, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED);
    }
}

/* As many sets of cpus as processes, more than a machine has objects; one that is not there is refused. */
static void
test_cpusets (void)
{
  const guint n = 70000;
  g_autoptr (DvmdMap) map = dvmd_map_new ();
  g_autoptr (GVariant) variant = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdMap) back = NULL;
  g_autoptr (GVariant) wrong = NULL;
  g_autofree char *last = g_strdup_printf ("0,%u", n - 1);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *cpus = g_strdup_printf ("0,%u", i);
      const DvmdMapRow run = { .node = 1,
                               .first_rank = i,
                               .count = 1,
                               .stride = 1,
                               .place = { DVMD_KIND_CPUS, dvmd_map_add_cpuset (map, cpus) } };

      dvmd_map_add_run (map, &run);
    }
  variant = g_variant_ref_sink (dvmd_map_to_variant (map));
  back = dvmd_map_new_from_variant (variant, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (dvmd_map_add_cpuset (back, last), ==, n - 1);
  g_assert_cmpuint (dvmd_map_add_cpuset (back, "1"), ==, n);
  g_ptr_array_set_size (map->cpusets, (int)n - 1);
  wrong = g_variant_ref_sink (dvmd_map_to_variant (map));
  g_assert_null (dvmd_map_new_from_variant (wrong, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED);
}

/* Whatever the bytes are, they are refused, or they are a map. */
static void
test_noise (void)
{
  guint32 seed = g_test_rand_int ();
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);

  g_test_message ("seed %u", seed);
  for (guint i = 0; i < 20000; i++)
    {
      guint32 words[36];
      guint n = 12 * g_rand_int_range (random, 0, 4);
      g_autoptr (GVariant) variant = NULL;
      g_autoptr (DvmdMap) map = NULL;

      for (guint k = 0; k < n; k++)
        words[k] = g_rand_int_range (random, -1, g_rand_boolean (random) ? 4 : G_MAXINT);
      variant = g_variant_ref_sink (g_variant_new (
          "(@a(uuiuuuuiuuuu)@a(uuuuuuuu)@as@a(uu))",
          g_variant_new_fixed_array (G_VARIANT_TYPE ("(uuiuuuuiuuuu)"), words, n / 12, sizeof (DvmdMapRow)),
          g_variant_new_parsed ("[(uint32 0, uint32 0, uint32 0, uint32 0, uint32 0, uint32 0, uint32 0, uint32 0)]"),
          g_variant_new_strv (NULL, 0), g_variant_new_array (G_VARIANT_TYPE ("(uu)"), NULL, 0)));
      map = dvmd_map_new_from_variant (variant, NULL);
      if (map != NULL && map->num_procs < 100000)
        check_shares (map);
    }
}

/* ---- objects ---- */

/* The places of a node as a mapper adds them, one by one or by objects, and as they come back. */
static void
test_objects (void)
{
  for (guint per = 1; per <= 4; per++)
    for (guint size = 1; size <= 2; size++)
      {
        g_autoptr (DvmdMap) map = dvmd_map_new ();
        g_autoptr (GVariant) variant = NULL;
        g_autoptr (DvmdMap) again = NULL;
        const DvmdBindingPolicy policy = { .bind_to = 6, .flags = DVMD_BINDING_OVERLOAD, .pe = 2, .limit = 3 };
        guint rank = 0;

        for (guint node = 1; node <= 1000; node++)
          for (guint object = 0; object < 8; object++)
            for (guint n = 0; n < per; n += size)
              {
                guint count = MIN (size, per - n);

                dvmd_map_add_run (map, &(DvmdMapRow){ .node = node,
                                                      .first_rank = rank,
                                                      .count = count,
                                                      .stride = 1,
                                                      .place = { 6, 2 * object },
                                                      .per_object = 1 });
                rank += count;
              }
        dvmd_map_set_policy (map, 0, &policy);
        dvmd_map_exclude (map, 7, "0-3");
        variant = g_variant_ref_sink (dvmd_map_to_variant (map));
        again = dvmd_map_new_from_variant (variant, NULL);
        g_assert_cmpmem (dvmd_map_get_policy (again, 0), sizeof policy, &policy, sizeof policy);
        g_assert_cmpstr (dvmd_map_get_excluded (again, 7), ==, "0-3");
        g_assert_null (dvmd_map_get_excluded (again, 8));
        for (guint node = 1; node <= 1000; node += 333)
          {
            g_autoptr (GArray) ranks = dvmd_map_expand_node (again, node);

            g_assert_cmpuint (ranks->len, ==, 8 * per);
            for (guint i = 0; i < ranks->len; i++)
              {
                const DvmdMapRank *at = &g_array_index (ranks, DvmdMapRank, i);

                g_assert_cmpuint (at->rank, ==, (node - 1) * 8 * per + i);
                g_assert_cmpuint (at->place.kind, ==, 6);
                g_assert_cmpuint (at->place.object, ==, 2 * (i / per));
              }
          }
      }
}

/* By core, and unequally over objects: nodes that are alike add nothing to the message. */
static void
test_objects_are_compact (void)
{
  g_autoptr (DvmdMap) map = dvmd_map_new ();

  for (guint node = 1; node <= 1000; node++)
    {
      dvmd_map_add_run (map, &(DvmdMapRow){ .node = node,
                                            .first_rank = (node - 1) * 100,
                                            .count = 72,
                                            .stride = 1,
                                            .place = { 6, 0 },
                                            .per_object = 2,
                                            .object_stride = 1 });
      dvmd_map_add_run (map, &(DvmdMapRow){ .node = node,
                                            .first_rank = (node - 1) * 100 + 72,
                                            .count = 28,
                                            .stride = 1,
                                            .place = { 6, 36 },
                                            .per_object = 1,
                                            .object_stride = 1 });
    }
  g_assert_cmpuint (map->rows->len, ==, 2);
  g_assert_true (dvmd_map_is_whole (map));
  g_assert_cmpuint (size_of (map), <=, 136);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/map/append", test_append);
  g_test_add_func ("/map/policies", test_policies);
  g_test_add_func ("/map/regular", test_regular);
  g_test_add_func ("/map/remove-node", test_remove_node);
  g_test_add_func ("/map/irregular", test_irregular);
  g_test_add_func ("/map/turns", test_turns);
  g_test_add_func ("/map/random", test_random);
  g_test_add_func ("/map/places", test_places);
  g_test_add_func ("/map/no-places", test_no_places);
  g_test_add_func ("/map/hostile", test_hostile);
  g_test_add_func ("/map/hostile-binding", test_hostile_binding);
  g_test_add_func ("/map/noise", test_noise);
  g_test_add_func ("/map/cpusets", test_cpusets);
  g_test_add_func ("/map/objects", test_objects);
  g_test_add_func ("/map/objects-are-compact", test_objects_are_compact);
  return g_test_run ();
}
