/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dvm.h>
#include <glib/gstdio.h>

#include "dvmd-remove-tree.h"

static char *
make_dir (const char *parent, const char *name, int mode)
{
  char *path = g_build_filename (parent, name, NULL);

  g_assert_no_errno (g_mkdir (path, mode));
  return path;
}

static void
make_file (const char *parent, const char *name)
{
  g_autofree char *path = g_build_filename (parent, name, NULL);

  g_assert_true (g_file_set_contents (path, "x", 1, NULL));
}

static void
test_usual (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *root = g_dir_make_tmp ("dvm-remove-XXXXXX", NULL);
  g_autofree char *outside = g_dir_make_tmp ("dvm-outside-XXXXXX", NULL);
  g_autofree char *inner = make_dir (root, "a", 0700);
  g_autofree char *closed = make_dir (inner, "closed", 0700);
  g_autofree char *link = g_build_filename (inner, "link", NULL);
  g_autofree char *fifo = g_build_filename (inner, "fifo", NULL);
  g_autofree char *kept = g_build_filename (outside, "kept", NULL);

  make_file (outside, "kept");
  make_file (closed, "f");
  make_file (inner, "-rf \n*");
  g_assert_no_errno (symlink (outside, link));
  g_assert_no_errno (mkfifo (fifo, 0600));
  g_assert_no_errno (chmod (closed, 0));
  dvmd_remove_tree (root, &error);
  g_assert_no_error (error);
  g_assert_false (g_file_test (root, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (kept, G_FILE_TEST_EXISTS));
  dvmd_remove_tree (root, &error);
  g_assert_no_error (error);
  dvmd_remove_tree (outside, &error);
  g_assert_no_error (error);
}

static void
test_contents (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *root = g_dir_make_tmp ("dvm-remove-XXXXXX", NULL);
  g_autofree char *inner = make_dir (root, "a", 0700);
  g_autofree char *link = g_build_filename (root, "link", NULL);

  make_file (inner, "f");
  dvmd_remove_tree_contents (root, &error);
  g_assert_no_error (error);
  g_assert_false (g_file_test (inner, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (root, G_FILE_TEST_IS_DIR));
  /* A link to a directory is removed, never followed. */
  g_assert_no_errno (symlink ("/", link));
  g_assert_false (dvmd_remove_tree_contents (link, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_FAILED);
  g_clear_error (&error);
  dvmd_remove_tree (link, &error);
  g_assert_no_error (error);
  g_assert_no_errno (g_rmdir (root));
}

/* Deeper than PATH_MAX, and than one descriptor a level would allow. */
static void
test_deep (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *root = g_dir_make_tmp ("dvm-remove-XXXXXX", NULL);
  int fd = open (root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct rlimit old_limit;
  struct rlimit limit;

  for (guint i = 0; i < 3000; i++)
    {
      int next;

      g_assert_no_errno (mkdirat (fd, "directory", 0700));
      next = openat (fd, "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      g_assert_no_errno (next);
      close (fd);
      fd = next;
    }
  close (fd);
  getrlimit (RLIMIT_NOFILE, &old_limit);
  limit = old_limit;
  limit.rlim_cur = 40;
  setrlimit (RLIMIT_NOFILE, &limit);
  dvmd_remove_tree (root, &error);
  setrlimit (RLIMIT_NOFILE, &old_limit);
  g_assert_no_error (error);
  g_assert_false (g_file_test (root, G_FILE_TEST_EXISTS));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/remove-tree/usual", test_usual);
  g_test_add_func ("/remove-tree/contents", test_contents);
  g_test_add_func ("/remove-tree/deep", test_deep);
  return g_test_run ();
}
