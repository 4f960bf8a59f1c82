/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The defaults of placement: what a job gets that says nothing, or something.
 */

#include "config.h"

#include "dvmd-map-defaults.h"

typedef struct
{
  const char *map_by;
  const char *rank_by;
  const char *bind_to;
  guint64 np;
  const char *parallel; /* expected of a parallel program: word, ranking, binding */
  const char *plain;    /* and of a plain one */
} Case;

static const char *
name_of_bit (const char *const *names, guint bit)
{
  return bit > 0 ? names[g_bit_nth_lsf (bit, -1)] : "?";
}

static char *
show_policy (const DvmdMapPolicy *policy)
{
  static const char *const rankings[] = { "slot", "node", "fill", "span" };
  static const char *const bindings[] = {
    "none", "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package"
  };

  return g_strdup_printf ("%s %s %s%s", policy->word, name_of_bit (rankings, policy->rank_by),
                          name_of_bit (bindings, policy->bind_to),
                          policy->cpus == DVMD_CPUS_HWTHREAD ? " threads" : "");
}

static void
check_policy (const Case *given, gboolean binds, const char *file, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmPlacement) placement = _dvm_placement_parse (given->map_by, given->rank_by, given->bind_to, "", &error);
  const DvmdMapWishes wishes = { .binds = binds, .np_is_counted = given->np == 0, .file = file };
  DvmdMapPolicy policy;
  g_autofree char *shown = NULL;

  g_assert_no_error (error);
  policy = dvmd_map_defaults_settle (placement, &wishes, placement->oversubscribe == TRUE,
                                     given->np > 0 ? given->np : 48);
  shown = show_policy (&policy);
  if (g_strcmp0 (shown, expected) != 0)
    g_error ("--map-by %s --rank-by %s --bind-to %s, np %u: \"%s\" is not \"%s\"", given->map_by, given->rank_by,
             given->bind_to, (guint)given->np, shown, expected);
}

static void
test_words (void)
{
  static const Case cases[] = {
    /* A parallel program has a core for each process; a plain one may have threads, and is not bound. */
    { NULL, NULL, NULL, 1, "core fill core", "slot slot none" },
    { NULL, NULL, NULL, 40, "core fill core", "slot slot none" },
    { NULL, "node", NULL, 5, "core node core", "slot node none" },
    { NULL, "span", NULL, 5, "core span core", "core span core" },
    { ":HWTCPUS", NULL, NULL, 5, "hwthread fill hwthread threads", "hwthread fill hwthread threads" },
    { ":PE=2", NULL, NULL, 5, "slot slot core", "slot slot core" },
    { ":OVERSUBSCRIBE", NULL, NULL, 5, "core fill none", "slot slot none" },
    /* A binding alone is the object, too. */
    { NULL, NULL, "l3cache", 10, "l3cache fill l3cache", "l3cache fill l3cache" },
    { NULL, NULL, "none", 10, "slot slot none", "slot slot none" },
    { NULL, NULL, "hwthread", 10, "hwthread fill hwthread threads", "hwthread fill hwthread threads" },
    /* By slot or node: few have a cpu each. */
    { "slot", NULL, NULL, 2, "slot slot core", "slot slot none" },
    { "slot", NULL, NULL, 3, "slot slot numa", "slot slot none" },
    { "slot", NULL, NULL, 0, "slot slot numa", "slot slot none" },
    { "node:HWTCPUS", NULL, NULL, 2, "node node hwthread threads", "node node none threads" },
    { "node", "slot", "core", 9, "node slot core", "node slot core" },
    { "slot:PE=1", NULL, NULL, 9, "slot slot core", "slot slot core" },
    { "slot:PE=2:OVERSUBSCRIBE", NULL, NULL, 9, "slot slot core", "slot slot core" },
    { "slot:OVERSUBSCRIBE", NULL, NULL, 2, "slot slot none", "slot slot none" },
    /* By an object: that one. */
    { "numa", NULL, NULL, 9, "numa fill numa", "numa fill numa" },
    { "package:SPAN", NULL, NULL, 9, "package span package", "package span package" },
    { "hwthread", NULL, NULL, 9, "hwthread fill hwthread threads", "hwthread fill hwthread threads" },
    { "package:OVERSUBSCRIBE", NULL, NULL, 9, "package fill none", "package fill none" },
    { "package", NULL, "core", 9, "package fill core", "package fill core" },
    { "ppr:2:l3cache", NULL, NULL, 0, "ppr slot l3cache", "ppr slot l3cache" },
    { "ppr:2:node", NULL, NULL, 5, "ppr slot numa", "ppr slot none" },
    /* By a device: a core near it, where there are cpus for that. */
    { "device=gpu", NULL, NULL, 9, "device fill core", "device fill none" },
    { "device=gpu:HWTCPUS", NULL, NULL, 0, "device fill hwthread threads", "device fill none threads" },
    { "device=gpu:PE=2", NULL, NULL, 9, "device fill core", "device fill core" },
    { "device=gpu", NULL, "core", 9, "device fill core", "device fill core" },
    { "ppr:2:device=nic", NULL, NULL, 0, "ppr slot core", "ppr slot none" },
    /* Lists and files. */
    { "pe-list=0,2", NULL, NULL, 9, "pe-list slot core", "pe-list slot core" },
    { "pe-list=0,2:HWTCPUS:OVERSUBSCRIBE", NULL, NULL, 9, "pe-list slot hwthread threads",
      "pe-list slot hwthread threads" },
    { "seq:FILE=/x", NULL, NULL, 5, "seq slot numa", "seq slot none" },
    { "plane:4", NULL, NULL, 5, "plane slot numa", "plane slot none" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      check_policy (&cases[i], TRUE, "n1\n", cases[i].parallel);
      check_policy (&cases[i], FALSE, "n1\n", cases[i].plain);
    }
}

/* Cpus in a file are heeded, whatever else is said; without them it is as any job. */
static void
test_file (void)
{
  const Case given = { .map_by = "seq:FILE=/x:OVERSUBSCRIBE", .np = 5 };
  const Case ranks = { .map_by = "rankfile:FILE=/x", .np = 5 };

  check_policy (&given, TRUE, "n1 # one\n\n# two words\n", "seq slot none");
  check_policy (&given, TRUE, "n1\nn2 0-1\n", "seq slot core");
  check_policy (&ranks, TRUE, "rank 0 = n1 # slot=0\nrank 1=slot=\n", "rankfile slot core");
  check_policy (&ranks, TRUE, "rank 0 = n1 # slot=0\nrank 1=slots\n", "rankfile slot numa");
  check_policy (&ranks, FALSE, "rank 0=n1\n", "rankfile slot none");
  check_policy (&ranks, FALSE, "rank 0=n1\nrank 1=n1 slots = 0\n", "rankfile slot core");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/map-defaults/words", test_words);
  g_test_add_func ("/map-defaults/file", test_file);
  return g_test_run ();
}
