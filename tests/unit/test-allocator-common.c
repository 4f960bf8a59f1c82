/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lists of hosts, numbers and files of schedulers, as allocators read them.
 */

#include "config.h"

#include "environment.h"
#include <dvm.h>
#include "node-memory.h"
#include "node-table.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- lists of hosts ---- */

static void
test_lists (void)
{
  static const struct
  {
    const char *list;
    const char *names; /* with blanks between them */
  } rows[] = {
    { "login1", "login1" },
    { "n1,n2", "n1 n2" },
    { "n[1-3]", "n1 n2 n3" },
    { "n[001-003,200],login1", "n001 n002 n003 n200 login1" },
    { "n[08-11]", "n08 n09 n10 n11" },
    { "n[8-11]", "n8 n9 n10 n11" },
    { "n[1,3-4,01]-ib.site", "n1-ib.site n3-ib.site n4-ib.site n01-ib.site" },
    { "r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02" },
    { "r[1-2][3,4],x", "r13 r14 r23 r24 x" },
    { "[1-2]", "1 2" },
    { "n1,n1,n[1]", "n1 n1 n1" },
    { "größe[1-2]", "größe1 größe2" },
    { "n[000000000000000001]", "n000000000000000001" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;
      g_auto (GStrv) names = dvm_host_list_expand (rows[i].list, "LIST", &error);
      g_autofree char *joined = NULL;

      g_assert_no_error (error);
      joined = g_strjoinv (" ", names);
      g_assert_cmpstr (joined, ==, rows[i].names);
    }
}

static void
test_wrong_lists (void)
{
  static const struct
  {
    const char *list;
    const char *begin;
  } rows[] = {
    { "", "LIST: byte 1, at “”: a name is missing; a list of hosts is written n[001-128,200],login1" },
    { "n1,,n2", "LIST: byte 4, at “n1,,n2”: a name is missing" },
    { "n1,", "LIST: byte 4, at “n1,”: a name is missing" },
    { "n[1-2", "LIST: byte 2, at “n[1-2”: the bracket is not closed" },
    { "n[1-[2]]", "LIST: byte 2, at “n[1-[2]]”: brackets are not nested" },
    { "n1],n2", "LIST: byte 3, at “n1],n2”: this bracket was not opened" },
    { "n[]", "LIST: byte 3, at “n[]”: a number is missing in the bracket" },
    { "n[1-]", "LIST: byte 5, at “n[1-]”: a number is missing in the bracket" },
    { "n[1,]", "LIST: byte 5, at “n[1,]”: a number is missing in the bracket" },
    { "n[-1]", "LIST: byte 3, at “n[-1]”: a number is missing in the bracket" },
    { "n[1-2-3]", "LIST: byte 6, at “n[1-2-3]”: this is no range of numbers" },
    { "n[1x3]", "LIST: byte 4, at “n[1x3]”: this is no range of numbers" },
    { "n[3-1]", "LIST: byte 3, at “n[3-1]”: the range ends before it begins" },
    { "n1 n2", "LIST: byte 3, at “n1 n2”: a name has no such character" },
    { "n1\n", "LIST: byte 3, at “n1�”: a name has no such character" },
    { "n[1-1000001]", "LIST: byte 3, at “n[1-1000001]”: the range has more than a million names" },
    { "n[1-999999999999999999]", "LIST: byte 3, at “n[1-999999999999999999”: the range has more than a million names" },
    { "n[1-9999999999999999999]", "LIST: byte 5, at “n[1-9999999999999999999]”: a number has more than 18 digits" },
    { "n[1-1000][1-1000],m", "LIST: byte 20, at “n[1-1000][1-1000],m”: these are more than a million names" },
    { "n\xff", "LIST: byte 2, at “n�”: this is no UTF-8" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;
      g_auto (GStrv) names = dvm_host_list_expand (rows[i].list, "LIST", &error);
      g_autofree char *begin = NULL;

      g_assert_null (names);
      g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
      begin = g_strndup (error->message, strlen (rows[i].begin));
      g_assert_cmpstr (begin, ==, rows[i].begin);
    }
}

static void
assert_too_long (const char *list)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) names = dvm_host_list_expand (list, "LIST", &error);

  g_assert_null (names);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_nonnull (strstr (error->message, "a name is longer than 255 bytes"));
}

static void
test_long_names (void)
{
  g_autofree char *name = g_strnfill (256, 'n');
  g_autofree char *list = g_strconcat (name + 2, "[1-10]", NULL);
  g_autoptr (GString) deep = g_string_new ("n");

  for (guint i = 0; i < 100000; i++)
    g_string_append (deep, "[1]");
  assert_too_long (name);
  assert_too_long (list);
  assert_too_long (deep->str);
}

/* The list of the largest job, name by name and by one range. */
static void
test_large_lists (void)
{
  g_autoptr (GString) list = g_string_new ("n0");
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) names = NULL;
  g_auto (GStrv) range = NULL;
  gint64 start = g_get_monotonic_time ();

  for (guint i = 1; list->len < 1024 * 1024; i++)
    g_string_append_printf (list, i % 2 == 0 ? ",n%u" : ",n[%u]", i);
  names = dvm_host_list_expand (list->str, "LIST", &error);
  g_assert_no_error (error);
  g_test_message ("%u names in %" G_GINT64_FORMAT " µs", g_strv_length (names), g_get_monotonic_time () - start);
  g_assert_cmpuint (g_strv_length (names), >, 100000);
  range = dvm_host_list_expand ("n[0000000-0999999]", "LIST", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_strv_length (range), ==, DVM_HOST_LIST_MOST_NAMES);
  g_assert_cmpstr (range[999999], ==, "n0999999");
}

static void
check_compressed (const char *names, const char *list)
{
  g_auto (GStrv) split = g_strsplit (names, ",", -1);
  g_autofree char *text = dvm_host_list_compress ((const char *const *)split, g_strv_length (split));

  g_assert_cmpstr (text, ==, list);
}

static void
test_compressed (void)
{
  g_autofree char *none = dvm_host_list_compress (NULL, 0);

  g_assert_cmpstr (none, ==, "");
  check_compressed ("login", "login");
  check_compressed ("n1", "n1");
  check_compressed ("17", "17");
  check_compressed ("17,18", "17,18");
  check_compressed ("n1,n2,n3,n5,n7,n8", "n[1-3,5,7-8]");
  check_compressed ("n8,n9,n10,n11", "n[8-11]");
  check_compressed ("n08,n09,n10,n099,n100", "n[08-10,099-100]");
  check_compressed ("n9,n010,n11", "n[9,010,11]");
  check_compressed ("n3,n2,n1,n1", "n[3,2,1,1]");
  check_compressed ("r1n1,r1n2,r2n1,login,m1-ib,m2-ib", "r1n[1-2],r2n1,login,m1-ib,m2-ib");
  check_compressed ("n999999999999999999,n1000000000000000000", "n999999999999999999,n1000000000000000000");
}

/* A list that is written is read again. */
static void
test_there_and_back (void)
{
  for (guint round = 0; round < 300; round++)
    {
      g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
      g_autofree char *list = NULL;
      g_autoptr (GError) error = NULL;
      g_auto (GStrv) again = NULL;
      int n = g_test_rand_int_range (1, 40);

      for (int i = 0, number = 0; i < n; i++)
        {
          number += g_test_rand_int_range (0, 8) == 0 ? g_test_rand_int_range (-20, 95) : 1;
          g_ptr_array_add (names, g_strdup_printf ("%s%0*d%s", g_test_rand_int_range (0, 9) == 0 ? "rack1n" : "n",
                                                   g_test_rand_int_range (0, 9) == 0 ? 3 : 2, ABS (number),
                                                   g_test_rand_int_range (0, 12) == 0 ? "-ib" : ""));
        }
      list = dvm_host_list_compress ((const char *const *)names->pdata, names->len);
      again = dvm_host_list_expand (list, "LIST", &error);
      g_assert_no_error (error);
      g_ptr_array_add (names, NULL);
      g_assert_cmpstrv (again, (char **)names->pdata);
    }
}

/* A job of so many nodes changes its size by commands, an argument of which has 128 KiB at most. */
static void
test_short (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) names = dvm_host_list_expand ("n[00000-29999],m[1-30000]", "LIST", &error);
  g_autofree char *list = NULL;

  g_assert_no_error (error);
  list = dvm_host_list_compress ((const char *const *)names, g_strv_length (names));
  g_assert_cmpstr (list, ==, "n[00000-29999],m[1-30000]");
}

/* ---- numbers and files ---- */

static const char *const variables[] = { "EMPTY=", "N=12", "MINUS=-1", "TEXT=4x", NULL };

static void
test_numbers (void)
{
  static const char *const names[] = { "MISSING", "EMPTY", "N", "TEXT", NULL };
  g_autoptr (GError) error = NULL;
  const char *name = NULL;
  guint32 number = 7;

  g_assert_cmpstr (dvmd_environment_find (variables, names, &name), ==, "12");
  g_assert_cmpstr (name, ==, "N");
  g_assert_true (dvmd_environment_read_number (variables, "MISSING", 1, 20, &number, &error));
  g_assert_true (dvmd_environment_read_number (variables, "EMPTY", 1, 20, &number, &error));
  g_assert_cmpuint (number, ==, 7);
  g_assert_true (dvmd_environment_read_number (variables, "N", 1, 20, &number, &error));
  g_assert_cmpuint (number, ==, 12);
  g_assert_false (dvmd_environment_read_number (variables, "MINUS", 0, 20, &number, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_cmpstr (error->message, ==, "MINUS: “-1” is no whole number from 0 to 20");
  g_clear_error (&error);
  g_assert_false (dvmd_environment_read_number (variables, "TEXT", 0, 20, &number, &error));
  g_clear_error (&error);
  g_assert_false (dvmd_environment_read_number (variables, "N", 0, 11, &number, &error));
  g_assert_cmpstr (error->message, ==, "N: “12” is no whole number from 0 to 11");
  g_assert_cmpuint (number, ==, 12);
}

static void
assert_unreadable (const char *path, const char *reason)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = dvmd_environment_read_file (path, "NODEFILE", &error);
  g_autofree char *message = g_strdup_printf ("NODEFILE names “%s”, which cannot be read: %s", path, reason);

  g_assert_null (text);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_cmpstr (error->message, ==, message);
}

static void
test_files (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *dir = g_dir_make_tmp ("dvm-test-XXXXXX", &error);
  g_autofree char *path = g_build_filename (dir, "nodes", NULL);
  g_autofree char *large = g_strnfill (DVMD_ENVIRONMENT_MOST_BYTES + 1, 'n');
  g_autofree char *text = NULL;

  g_assert_no_error (error);
  assert_unreadable (path, "No such file or directory");
  g_assert_true (g_file_set_contents (path, "n1\nn2\n", -1, &error));
  text = dvmd_environment_read_file (path, "NODEFILE", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (text, ==, "n1\nn2\n");
  g_assert_true (g_file_set_contents (path, "n\xff", -1, &error));
  assert_unreadable (path, "it is no text in UTF-8");
  g_assert_true (g_file_set_contents (path, "n1\n\0n2", 6, &error));
  assert_unreadable (path, "it is no text in UTF-8");
  g_assert_true (g_file_set_contents (path, large, -1, &error));
  assert_unreadable (path, "it is larger than 16 MiB");
  g_unlink (path);
  /* A FIFO that nobody writes to is not waited for. */
  g_assert_cmpint (mkfifo (path, 0600), ==, 0);
  assert_unreadable (path, "it is no regular file");
  g_unlink (path);
  assert_unreadable (dir, "it is no regular file");
  g_rmdir (dir);
}

/* ---- nodes ---- */

static void
test_nodes (void)
{
  g_autoptr (DvmdNodeTable) table = dvmd_node_table_new ();
  g_autoptr (DvmdAllocation) allocation = NULL;
  g_autoptr (GError) error = NULL;
  const DvmdPluginNode *nodes;
  guint n_nodes;

  g_assert_null (dvmd_node_table_to_allocation (table, "7", "NODES", &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED);
  g_assert_cmpstr (error->message, ==, "NODES names no node");
  g_clear_error (&error);
  dvmd_node_table_add (table, "n2", 4);
  dvmd_node_table_add (table, "n1", 0);
  dvmd_node_table_add (table, "N2", 3);
  g_assert_cmpuint (dvmd_node_table_get_n_nodes (table), ==, 2);
  allocation = dvmd_node_table_to_allocation (table, "7", "NODES", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (dvmd_allocation_get_id (allocation), ==, "7");
  nodes = dvmd_allocation_get_nodes (allocation, &n_nodes);
  g_assert_cmpuint (n_nodes, ==, 2);
  g_assert_cmpstr (nodes[0].name, ==, "n2");
  g_assert_cmpuint (nodes[0].slots, ==, 7);
  g_assert_cmpuint (nodes[0].slots_max, ==, 0);
  g_assert_cmpstr (nodes[1].name, ==, "n1");
  g_assert_cmpuint (nodes[1].slots, ==, 0);
  dvmd_node_table_add (table, "n1", G_MAXUINT32);
  dvmd_node_table_add (table, "n1", G_MAXUINT32);
  g_assert_null (dvmd_node_table_to_allocation (table, NULL, "NODES", &error));
  g_assert_cmpstr (error->message, ==, "NODES: node n1 has 8589934590 slots; there are at most 1000000");
}

static void
test_node_cpus (void)
{
  g_autoptr (DvmdNodeTable) table = dvmd_node_table_new ();
  g_autoptr (DvmdAllocation) allocation = NULL;
  static const char *const names[] = { "n1", "n2", "n3", "n4" };
  const DvmdPluginNode *nodes;
  guint n_nodes;

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    dvmd_node_table_add (table, names[i], 1);
  dvmd_node_table_add_cpus (table, "n1", "pu", "0-3");
  dvmd_node_table_add_cpus (table, "N1", "pu", "8,9");
  dvmd_node_table_add_cpus (table, "n2", "core", "1:0");
  /* One line of a host without cpus means all of them. */
  dvmd_node_table_add_cpus (table, "n3", "core", "0");
  dvmd_node_table_add_cpus (table, "n3", "core", NULL);
  dvmd_node_table_add_cpus (table, "another", "core", "0");
  allocation = dvmd_node_table_to_allocation (table, "7", "NODES", NULL);
  nodes = dvmd_allocation_get_nodes (allocation, &n_nodes);
  g_assert_cmpuint (n_nodes, ==, 4);
  g_assert_cmpstr (nodes[0].cpus, ==, "pu:0-3;8,9");
  g_assert_cmpstr (nodes[1].cpus, ==, "core:1:0");
  g_assert_null (nodes[2].cpus);
  g_assert_null (nodes[3].cpus);
}

static void
test_node_memory (void)
{
  g_autoptr (DvmdNodeTable) table = dvmd_node_table_new ();
  g_autoptr (DvmdAllocation) allocation = NULL;
  const guint64 memory[] = { 7, 0, 8 };
  g_autoptr (GVariant) told = NULL;
  g_autofree char *text = NULL;
  const DvmdPluginNode *nodes;
  guint n_nodes;

  dvmd_node_table_add (table, "n1", 1);
  dvmd_node_table_add (table, "n2", 1);
  dvmd_node_table_add (table, "n3", 1);
  dvmd_node_table_add_memory (table, "n1", 4096);
  dvmd_node_table_add_memory (table, "N1", 4096);
  dvmd_node_table_add_memory (table, "n3", G_MAXUINT64);
  dvmd_node_table_add_memory (table, "n3", 1);
  dvmd_node_table_add_memory (table, "another", 1);
  allocation = dvmd_node_table_to_allocation (table, "7", "NODES", NULL);
  nodes = dvmd_allocation_get_nodes (allocation, &n_nodes);
  g_assert_cmpuint (n_nodes, ==, 3);
  g_assert_cmpuint (nodes[0].memory, ==, 8192);
  g_assert_cmpuint (nodes[1].memory, ==, 0);
  g_assert_cmpuint (nodes[2].memory, ==, DVMD_NODE_TABLE_MOST_MEMORY);
  told = g_variant_ref_sink (dvmd_node_memory_describe (allocation, memory));
  text = g_variant_print (told, FALSE);
  g_assert_cmpstr (text, ==,
                   "{'n1': {'memory': <uint64 7>}, 'n2': {'memory': <uint64 0>}, 'n3': {'memory': <uint64 8>}}");
}

static void
test_sizes (void)
{
  static const DvmdSizeUnit units[] = { { "kb", 1024 }, { "G", G_GUINT64_CONSTANT (1) << 30 }, { "", 10 } };
  static const struct
  {
    const char *text;
    guint64 bytes;
  } right[] = {
    { "3kb", 3072 },          { "7", 70 },      { "0", 0 },
    { "23.4G", 25125558681 }, { "0.5kb", 512 }, { "99999999999999999999999", DVMD_NODE_TABLE_MOST_MEMORY }
  };
  static const char *const wrong[] = {
    "", "kb", "3 kb", "3KB", "3kbs", "-3kb", ".5kb", "5.kb", "1.2.3", "0x10", "inf"
  };
  guint64 bytes;

  for (gsize i = 0; i < G_N_ELEMENTS (right); i++)
    {
      g_assert_true (dvmd_size_parse (right[i].text, units, &bytes));
      g_assert_cmpuint (bytes, ==, right[i].bytes);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    g_assert_false (dvmd_size_parse (wrong[i], units, &bytes));
}

static void
test_same_hosts (void)
{
  g_assert_true (dvmd_node_is_same_host ("n1", "N1"));
  g_assert_true (dvmd_node_is_same_host ("n1.cluster", "n1"));
  g_assert_true (dvmd_node_is_same_host ("n1", "n1.cluster"));
  g_assert_false (dvmd_node_is_same_host ("n1", "n10"));
  g_assert_false (dvmd_node_is_same_host ("n1.a", "n1.b"));
  g_assert_false (dvmd_node_is_same_host ("n1", "n2"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/allocator-common/lists", test_lists);
  g_test_add_func ("/allocator-common/wrong-lists", test_wrong_lists);
  g_test_add_func ("/allocator-common/long-names", test_long_names);
  g_test_add_func ("/allocator-common/large-lists", test_large_lists);
  g_test_add_func ("/allocator-common/compressed", test_compressed);
  g_test_add_func ("/allocator-common/there-and-back", test_there_and_back);
  g_test_add_func ("/allocator-common/node-cpus", test_node_cpus);
  g_test_add_func ("/allocator-common/node-memory", test_node_memory);
  g_test_add_func ("/allocator-common/sizes", test_sizes);
  g_test_add_func ("/allocator-common/same-hosts", test_same_hosts);
  g_test_add_func ("/allocator-common/short", test_short);
  g_test_add_func ("/allocator-common/numbers", test_numbers);
  g_test_add_func ("/allocator-common/files", test_files);
  g_test_add_func ("/allocator-common/nodes", test_nodes);
  return g_test_run ();
}
