/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The command lines of launchers for the jobs of schedulers, and what they hand over.
 */

#include "config.h"

#include "input-file.h"
#include "job-words.h"
#include "kept-request.h"
#include "resource-set.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

static const char *const agent[] = { "/opt/bin/dvm-agent", "--set=a=it's %h", NULL };

static void
assert_words (char **words, const char *const *wanted, gsize n)
{
  g_assert_cmpuint (g_strv_length (words), ==, n);
  for (gsize i = 0; i < n; i++)
    if (wanted[i] != NULL)
      g_assert_cmpstr (words[i], ==, wanted[i]);
}

static void
test_agent (void)
{
  const char *const plain[] = { "/bin/sh",         "-c",     NULL, "dvm-agent", "/opt/bin/dvm-agent",
                                "--set=a=it's %h", "--node", "n1" };
  const char *const from_file[] = { "/bin/sh",         "-c",     NULL, "dvm-agent", "/dir/f", "/else/bin/dvm-agent",
                                    "--set=a=it's %h", "--node", "n1" };
  g_auto (GStrv) first = job_words_make_agent (agent, NULL, "n1", NULL);
  g_auto (GStrv) second = job_words_make_agent (agent, "/else", "n1", "/dir/f");

  assert_words (first, plain, G_N_ELEMENTS (plain));
  assert_words (second, from_file, G_N_ELEMENTS (from_file));
  /* Some shells take no line break between quotes. */
  g_assert_null (strchr (first[2], '\n'));
  g_assert_null (strchr (second[2], '\n'));
}

static void
test_command (void)
{
  static const char *const form[] = { "start", "-z", JOB_NODE, NULL };
  const char *const wanted[] = { "start", "-z", "7", "a", "b c" };
  const char *const own[] = { "/opt/start", "-v", "-z", "7", "a", "b c" };
  const char *const line[] = { "start", "-z", "7", "exec a 'b c' %''h" };
  const char *what[] = { "a", "b c", NULL };
  const char *percent[] = { "a", "b c", "%h", NULL };
  const JobCommand words = { .words = form };
  const JobCommand one = { .words = form, .is_line = TRUE };
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) first = job_words_make_argv (&words, NULL, "7", (char **)what, &error);
  g_auto (GStrv) second = job_words_make_argv (&words, "/opt/start -v", "7", (char **)what, &error);
  g_auto (GStrv) third = job_words_make_argv (&one, NULL, "7", (char **)percent, &error);
  g_auto (GStrv) wrong = job_words_make_argv (&one, "'", "7", (char **)what, &error);

  assert_words (first, wanted, G_N_ELEMENTS (wanted));
  assert_words (second, own, G_N_ELEMENTS (own));
  assert_words (third, line, G_N_ELEMENTS (line));
  g_assert_null (wrong);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
}

static void
test_input (void)
{
  const char *const variables[] = { "PATH=/a b:/c", "HOME=/h", "LD_LIBRARY_PATH=/l\nexport X=1", NULL };
  g_autoptr (GBytes) token = g_bytes_new_static ("token id\n", 9);
  g_autoptr (GBytes) input = job_words_make_input (variables, token);
  gsize size;
  const char *text = g_bytes_get_data (input, &size);

  g_assert_cmpmem (text, size, "PATH=/a b:/c\n.\ntoken id\n", strlen ("PATH=/a b:/c\n.\ntoken id\n"));
}

static void
test_requests (void)
{
  const DvmdPluginNode nodes[] = { { .name = "a", .rank = 1 }, { .name = "b", .rank = 2 }, { .name = "c", .rank = 3 } };
  g_autoptr (GBytes) input = g_bytes_new_static ("x", 1);
  const DvmdLaunchRequest request = { .nodes = nodes, .n_nodes = 3, .agent_argv = agent, .agent_input = input };
  g_autoptr (DvmdKeptRequest) kept = dvmd_kept_request_new (&request, NULL);

  g_assert_true (dvmd_kept_request_drop (kept, 2));
  g_assert_false (dvmd_kept_request_drop (kept, 2));
  g_assert_cmpuint (kept->request.n_nodes, ==, 2);
  g_assert_cmpstr (kept->request.nodes[1].name, ==, "c");
  g_assert_cmpuint (kept->request.nodes[1].rank, ==, 3);
  g_assert_true (kept->request.node_inputs[1] == input);
}

/* Hosts of all ranks are named in the order of these; a job numbers its nodes anew. */
static void
test_ranks (void)
{
  static const char *const wanted[][3] = { { "0", "2", "9" }, { "0", "1", "3" } };
  static const char *const names[] = { "a", "b", "c" };
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "..", "schedulers", "flux", "mixed.json", NULL);
  g_autofree char *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  for (guint relative = 0; relative < 2; relative++)
    {
      g_autoptr (DvmdNodeTable) table = dvmd_node_table_new ();
      g_autoptr (GHashTable) ranks = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
      g_autoptr (GError) error = NULL;

      dvmd_resource_set_read (text, "flux", table, ranks, relative == 1, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (g_hash_table_size (ranks), ==, 3);
      for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
        g_assert_cmpstr (g_hash_table_lookup (ranks, names[i]), ==, wanted[relative][i]);
    }
}

/* ---- files ---- */

static void
assert_refused (const char *directory, GBytes *input, const char *words)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdInputFile) file = dvmd_input_file_new (directory, "x.directory", input, &error);

  g_assert_null (file);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_LAUNCH_FAILED);
  g_assert_nonnull (strstr (error->message, words));
}

static void
test_files (void)
{
  g_autofree char *place = g_dir_make_tmp ("dvm-test-XXXXXX", NULL);
  g_autofree char *directory = g_build_filename (place, "a", "b", NULL);
  g_autofree char *parent = g_build_filename (place, "a", NULL);
  g_autofree char *other = g_build_filename (place, "link", NULL);
  g_autofree char *large = g_strnfill (100000, 'x');
  g_autoptr (GBytes) input = g_bytes_new_static ("the token", 9);
  g_autoptr (GBytes) too_large = g_bytes_new_static (large, 100000);
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdInputFile) file = dvmd_input_file_new (directory, "x.directory", input, &error);
  g_autofree char *path = NULL;
  g_autofree char *text = NULL;
  struct stat status;

  g_assert_no_error (error);
  path = g_strdup (dvmd_input_file_get_path (file));
  g_assert_no_errno (stat (path, &status));
  g_assert_cmpuint (status.st_mode & 0777, ==, 0600);
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "the token");
  g_assert_cmpint (dvmd_input_file_find_pid (file), ==, 0);
  g_assert_true (g_file_set_contents_full (path, "dvm-agent-process 12", -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
  g_assert_cmpint (dvmd_input_file_find_pid (file), ==, 0);
  g_assert_true (g_file_set_contents_full (path, "dvm-agent-process 123\n", -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
  g_assert_cmpint (dvmd_input_file_find_pid (file), ==, 123);
  g_clear_pointer (&file, dvmd_input_file_free);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  assert_refused (directory, too_large, "60 KiB");
  assert_refused ("relative", input, "no absolute path");
  assert_refused ("/proc/none", input, "cannot be put into");
  g_assert_no_errno (symlink (directory, other));
  assert_refused (other, input, "it is no directory");
  g_assert_no_errno (g_chmod (directory, 0710));
  assert_refused (directory, input, "others have access to it");
  g_assert_no_errno (g_unlink (other));
  g_assert_no_errno (g_rmdir (directory));
  g_assert_no_errno (g_rmdir (parent));
  g_assert_no_errno (g_rmdir (place));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/job-words/agent", test_agent);
  g_test_add_func ("/job-words/command", test_command);
  g_test_add_func ("/job-words/input", test_input);
  g_test_add_func ("/job-words/requests", test_requests);
  g_test_add_func ("/job-words/ranks", test_ranks);
  g_test_add_func ("/job-words/files", test_files);
  return g_test_run ();
}
