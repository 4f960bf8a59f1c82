/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files that place processes are read once, however often a job is mapped.
 */

#include "config.h"

#include "map-file.h"

static guint n_read;

static gboolean
read_line (DvmdMapLine *line, const char *text, GError **error)
{
  n_read++;
  line->host = g_strdup (text);
  return TRUE;
}

/* Answers how many lines were read for it. */
static guint
read_file (DvmdMapFiles *files, const char *text, const char *name)
{
  const DvmdMapRequest request = { .word = "seq", .file = text, .file_name = name };
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) lines = NULL;

  n_read = 0;
  lines = dvmd_map_files_read (files, &request, read_line, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (g_array_index (lines, DvmdMapLine, 0).host, ==, "n1");
  g_assert_true (g_str_has_prefix (g_array_index (lines, DvmdMapLine, 0).place, name));
  return n_read;
}

static void
test_once (void)
{
  g_autoptr (GPtrArray) files = dvmd_map_files_new ();

  g_assert_cmpuint (read_file (files, "n1\nn2\n# n3\n", "one"), ==, 2);
  g_assert_cmpuint (read_file (files, "n1\n", "two"), ==, 1);
  for (guint i = 0; i < 3; i++)
    {
      g_assert_cmpuint (read_file (files, "n1\nn2\n# n3\n", "one"), ==, 0);
      g_assert_cmpuint (read_file (files, "n1\n", "two"), ==, 0);
    }
  /* Messages name the file. */
  g_assert_cmpuint (read_file (files, "n1\n", "three"), ==, 1);
}

/* Of large ones the last is kept alone. */
static void
test_large (void)
{
  g_autoptr (GPtrArray) files = dvmd_map_files_new ();
  g_autofree char *large = g_strnfill (3 * 1024 * 1024, ' ');
  g_autofree char *one = g_strconcat ("n1\n", large, NULL);
  g_autofree char *two = g_strconcat ("n1\nn2\n", large, NULL);

  g_assert_cmpuint (read_file (files, one, "one"), ==, 1);
  g_assert_cmpuint (read_file (files, two, "two"), ==, 2);
  g_assert_cmpuint (read_file (files, two, "two"), ==, 0);
  g_assert_cmpuint (read_file (files, one, "one"), ==, 1);
  g_assert_cmpuint (files->len, ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/map-file/once", test_once);
  g_test_add_func ("/map-file/large", test_large);
  return g_test_run ();
}
