/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pictures of nodes: what is drawn around what, which ranks stand in a core, what does not fit.
 */

#include "config.h"

#include <glib.h>
#include <string.h>

#include "dvm-cli-picture.h"

/* Two packages; the operating system counts the first threads of all cores before the second ones. */
#define TWO_PACKAGES                                                                                                   \
  "[('sig', ['a', 'b'], {'package': ['0-1,4-5', '2-3,6-7'], 'numa': ['0,4', '1,5', '2,6', '3,7'],"                     \
  " 'l3cache': ['0-1,4-5', '2-3,6-7'], 'core': ['0,4', '1,5', '2,6', '3,7'],"                                          \
  " 'hwthread': ['0', '4', '1', '5', '2', '6', '3', '7']})]"

static GPtrArray *
machines_new (const char *text)
{
  g_autoptr (GVariant) topologies = g_variant_parse (G_VARIANT_TYPE ("a(sasa{sas})"), text, NULL, NULL, NULL);

  g_assert_nonnull (topologies);
  return dvm_cli_machines_new (topologies);
}

static char *
draw (const char *hardware, const char *rows, guint limit, const DvmCliStyle *style)
{
  g_autoptr (GPtrArray) machines = machines_new (hardware);
  g_autoptr (GVariant) map = g_variant_parse (G_VARIANT_TYPE ("a(uuussss)"), rows, NULL, NULL, NULL);
  g_autoptr (GPtrArray) pictures = NULL;
  GString *text = g_string_new (NULL);
  guint n_left;

  g_assert_nonnull (map);
  pictures = dvm_cli_pictures_new (map, machines, limit, &n_left);
  for (guint i = 0; i < pictures->len; i++)
    {
      g_autofree char *one = dvm_cli_picture_to_text (pictures->pdata[i], style);

      g_string_append (text, one);
    }
  if (n_left > 0)
    g_string_append_printf (text, "%u left\n", n_left);
  return g_string_free (text, FALSE);
}

static const DvmCliStyle plain = { .ascii = TRUE };

static void
check (const char *hardware, const char *rows, const char *wanted)
{
  g_autofree char *text = draw (hardware, rows, 8, &plain);

  g_assert_cmpstr (text, ==, wanted);
}

static void
test_machine (void)
{
  g_autoptr (GPtrArray) machines = machines_new (TWO_PACKAGES);
  DvmCliMachine *machine = dvm_cli_machines_find (machines, "b");
  DvmCliObject second;
  g_autofree char *logical = NULL;
  g_autofree char *physical = NULL;
  g_autofree char *cores = NULL;

  g_assert_nonnull (machine);
  g_assert_null (dvm_cli_machines_find (machines, "c"));
  second = dvm_cli_machine_get_object (machine, DVM_CLI_PACKAGE, 1);
  g_assert_cmpuint (second.first, ==, 4);
  g_assert_cmpuint (second.n, ==, 4);
  logical = dvm_cli_machine_list_cpus (machine, second, FALSE);
  physical = dvm_cli_machine_list_cpus (machine, second, TRUE);
  cores = dvm_cli_machine_list_objects (machine, DVM_CLI_CORE, second);
  g_assert_cmpstr (logical, ==, "4-7");
  g_assert_cmpstr (physical, ==, "2-3,6-7");
  g_assert_cmpstr (cores, ==, "2-3");
}

/* A core with one rank, one whose threads have one each, two ranks on a NUMA node, one that is not bound. */
static void
test_ranks (void)
{
  check (TWO_PACKAGES,
         "[(0, 0, 0, 'a', '0,4', 'core 0', ''), (1, 0, 1, 'a', '1', '', ''), (2, 0, 2, 'a', '5', '', ''),"
         " (3, 0, 3, 'a', '2,6', '', ''), (4, 0, 4, 'a', '2,6', '', ''), (12, 0, 5, 'a', '7', '', ''),"
         " (6, 0, 6, 'a', '', '', '')]",
         "a: packages 2, NUMA nodes 4, cores 4, hardware threads 8\n"
         "+- package 0 ---+\n"
         "| numa 0 [   0] |\n"
         "| numa 1 [ 1|2] |\n"
         "+---------------+\n"
         "+- package 1 ---+\n"
         "| numa 2 [ 3-4] |\n"
         "| numa 3 [.|12] |\n"
         "+---------------+\n"
         "not bound: ranks 6\n");
}

static void
test_nodes (void)
{
  static const char rows[] = "[(0, 0, 0, 'a', '0', '', ''), (1, 0, 0, 'far', '0', '', ''), (2, 0, 1, 'a', '', '', ''),"
                             " (3, 0, 0, 'c', '', '', '')]";
  g_autofree char *text = draw (TWO_PACKAGES, rows, 2, &plain);

  g_assert_true (g_str_has_prefix (text, "a: packages 2"));
  g_assert_nonnull (
      strstr (text, "not bound: ranks 2\nfar: what it is made of is not known\nnot bound: ranks 1\n1 left\n"));
}

/* Memory without cpus, two memories of the same cores, a cache in each of them, no packages, no cores. */
static void
test_odd_machines (void)
{
  static const char rows[] = "[(0, 0, 0, 'a', '3', '', '')]";

  check ("[('sig', ['a'], {'package': ['0-3'], 'numa': ['0-1', '0-1', '2-3', '2-3', ''], 'core': ['0', '1', '2', '3'],"
         " 'hwthread': ['0', '1', '2', '3']})]",
         rows,
         "a: packages 1, NUMA nodes 5, cores 4, hardware threads 4\n"
         "+- package 0 -----+\n"
         "| numa 0,1 [.][.] |\n"
         "| numa 2,3 [.][0] |\n"
         "+-----------------+\n");
  check ("[('sig', ['a'], {'hwthread': ['2', '3']})]", rows,
         "a: packages 0, NUMA nodes 0, cores 0, hardware threads 2\n"
         "+- node -+\n"
         "| [.][0] |\n"
         "+--------+\n");
  /* Objects that overlap, or leave something out, are no boxes. */
  check ("[('sig', ['a'], {'package': ['0-3'], 'numa': ['0-2', '2-3'], 'l3cache': ['0-1', '2'],"
         " 'hwthread': ['0', '1', '2', '3']})]",
         rows,
         "a: packages 1, NUMA nodes 2, cores 0, hardware threads 4\n"
         "+- package 0 --+\n"
         "| [.][.][.][0] |\n"
         "+--------------+\n");
  check ("[('sig', ['a'], {})]", rows,
         "a: packages 0, NUMA nodes 0, cores 0, hardware threads 0\n+- node -+\n+--------+\nnot bound: ranks 0\n");
}

static const char wide[] = "[('sig', ['a'], {'package': ['0-5'], 'hwthread': ['0', '1', '2', '3', '4', '5']})]";

/* Lines of like length, as many as are needed; long lists of ranks are cut. */
static void
test_narrow (void)
{
  g_autofree char *text = draw (wide, "[(0, 0, 0, 'a', '0', '', '')]", 8, &(DvmCliStyle){ .width = 19, .ascii = TRUE });
  g_autoptr (GString) rows = g_string_new ("[");
  g_autofree char *many = NULL;

  g_assert_nonnull (strstr (text, "| [0][.][.]   |\n| [.][.][.]   |\n"));
  for (guint rank = 0; rank < 20; rank += 2)
    g_string_append_printf (rows, "%s(%u, 0, 0, 'a', '0', '', '')", rank > 0 ? "," : "", rank);
  g_string_append (rows, "]");
  many = draw (wide, rows->str, 8, &plain);
  g_assert_nonnull (strstr (many, "[0,2,4,6,8,+]"));
}

static void
test_colour (void)
{
  g_autofree char *text = draw (wide, "[(0, 0, 0, 'a', '0', '', ''), (1, 0, 1, 'a', '1', '', '')]", 8,
                                &(DvmCliStyle){ .colour = TRUE });

  g_assert_nonnull (strstr (text, "[\033[30;42m0\033[0m][\033[97;44m1\033[0m][\033[2m·\033[0m]"));
  g_assert_nonnull (strstr (text, "┌─ package 0 "));
}

static void
test_without_ranks (void)
{
  static const char *const nodes[] = { "b", "a", NULL };
  g_autoptr (GPtrArray) machines = machines_new (TWO_PACKAGES);
  g_autoptr (GPtrArray) logical = dvm_cli_pictures_new_for_nodes (machines, nodes, FALSE);
  g_autoptr (GPtrArray) physical = dvm_cli_pictures_new_for_nodes (machines, nodes + 1, TRUE);
  g_autoptr (GPtrArray) none = dvm_cli_pictures_new_for_nodes (machines, nodes + 2, TRUE);
  g_autofree char *first = dvm_cli_picture_to_text (logical->pdata[0], &plain);
  g_autofree char *second = dvm_cli_picture_to_text (physical->pdata[0], &plain);

  g_assert_cmpuint (none->len, ==, 0);
  g_assert_true (g_str_has_prefix (first, "b, a: packages 2"));
  g_assert_nonnull (strstr (first, "| numa 2 [2]"));
  g_assert_true (g_str_has_prefix (second, "a: packages 2"));
  g_assert_nonnull (strstr (second, "| numa 2 [2,6]"));
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/picture/machine", test_machine);
  g_test_add_func ("/cli/picture/ranks", test_ranks);
  g_test_add_func ("/cli/picture/nodes", test_nodes);
  g_test_add_func ("/cli/picture/odd-machines", test_odd_machines);
  g_test_add_func ("/cli/picture/narrow", test_narrow);
  g_test_add_func ("/cli/picture/colour", test_colour);
  g_test_add_func ("/cli/picture/without-ranks", test_without_ranks);
  return g_test_run ();
}
