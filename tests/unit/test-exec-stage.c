/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include <dvm.h>

#include "dvmd-remove-tree.h"
#include "dvmd-stage-source.h"
#include "dvmd-stage-writer.h"
#include "dvmd-stage.h"
#include "wait-until.h"

typedef struct
{
  char *base;
  char *directory; /* not there */
  DvmdStageWriter *writer;
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  self->base = g_dir_make_tmp ("dvm-stage-XXXXXX", NULL);
  self->directory = g_build_filename (self->base, "sessions", "job@1", NULL);
  self->writer = dvmd_stage_writer_new (self->directory);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  dvmd_stage_writer_free (self->writer);
  g_assert_true (dvmd_remove_tree (self->base, NULL));
  g_free (self->directory);
  g_free (self->base);
}

static gboolean
put (Fixture *self, const char *target, const char *text, guint mode, GError **error)
{
  gsize length = strlen (text);

  return dvmd_stage_writer_begin (self->writer, target, mode, length, error)
         && (length == 0 || dvmd_stage_writer_write (self->writer, text, length, error))
         && dvmd_stage_writer_finish (self->writer, error);
}

static void
assert_content (Fixture *self, const char *target, const char *text)
{
  g_autofree char *path = g_build_filename (self->directory, target, NULL);
  g_autofree char *content = NULL;
  g_autoptr (GError) error = NULL;

  g_file_get_contents (path, &content, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (content, ==, text);
}

static guint
count_entries (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
test_files (Fixture *self, gconstpointer data)
{
  g_autofree char *path = g_build_filename (self->directory, "sub", "dir", "program", NULL);
  g_autoptr (GError) error = NULL;
  struct stat status;

  g_assert_true (put (self, "plain", "text", 0644, &error));
  g_assert_true (put (self, "empty", "", 0600, &error));
  g_assert_true (put (self, "sub/dir/program", "#!/bin/sh", 04755, &error));
  g_assert_no_error (error);
  assert_content (self, "plain", "text");
  assert_content (self, "empty", "");
  assert_content (self, "sub/dir/program", "#!/bin/sh");
  /* Permissions as they were, but nobody becomes somebody else. */
  g_assert_cmpint (stat (path, &status), ==, 0);
  g_assert_cmpuint (status.st_mode & 07777, ==, 0755);
  g_assert_cmpuint (count_entries (self->directory), ==, 3);
}

static void
test_existing (Fixture *self, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (put (self, "a", "content", 0644, &error));
  g_assert_true (put (self, "a", "content", 0644, &error));
  g_assert_no_error (error);
  g_assert_false (put (self, "a", "CONTENT", 0644, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "“a” is there already"));
  g_clear_error (&error);
  g_assert_false (put (self, "a", "longer content", 0644, &error));
  g_clear_error (&error);
  g_assert_false (put (self, "a/b", "x", 0644, &error));
  g_assert_nonnull (strstr (error->message, "a/b"));
  assert_content (self, "a", "content");
  g_assert_cmpuint (count_entries (self->directory), ==, 1);
}

/* Archives have these beside files. */
static void
test_folders_and_links (Fixture *self, gconstpointer data)
{
  g_autofree char *folder = g_build_filename (self->directory, "sub", "empty", NULL);
  g_autofree char *link = g_build_filename (self->directory, "sub", "link", NULL);
  g_autofree char *there = NULL;
  g_autoptr (GError) error = NULL;
  struct stat status;

  for (guint i = 0; i < 2; i++)
    {
      g_assert_true (put (self, "sub/empty", "", S_IFDIR | 0550, &error));
      g_assert_true (put (self, "sub/link", "../a", S_IFLNK | 0777, &error));
    }
  g_assert_true (put (self, "sub/empty/b", "b", S_IFREG | 0644, &error));
  g_assert_no_error (error);
  g_assert_cmpint (stat (folder, &status), ==, 0);
  g_assert_cmpuint (status.st_mode, ==, S_IFDIR | 0750);
  there = g_file_read_link (link, &error);
  g_assert_cmpstr (there, ==, "../a");
  /* Each stays what it is, and nothing goes through a link. */
  g_assert_false (put (self, "sub/link", "../b", S_IFLNK, NULL));
  g_assert_false (put (self, "sub/link", "x", S_IFREG | 0644, NULL));
  g_assert_false (put (self, "sub/link", "", S_IFDIR | 0755, NULL));
  g_assert_false (put (self, "sub/empty", "a", S_IFLNK, NULL));
  g_assert_false (put (self, "none", "", S_IFLNK, NULL));
  g_assert_true (put (self, "way", "sub", S_IFLNK, &error));
  g_assert_false (put (self, "way", "", S_IFDIR | 0755, NULL));
  g_assert_false (put (self, "way/c", "c", S_IFREG | 0644, &error));
  g_assert_nonnull (strstr (error->message, "way/c"));
  g_assert_cmpuint (count_entries (self->directory), ==, 2);
}

static void
test_stays_inside (Fixture *self, gconstpointer data)
{
  static const char *const bad[] = { "../x", "/etc/x", "a/../../x", "a//x", ".", "..", "", "a/.", "a/" };
  g_autofree char *outside = g_build_filename (self->base, "outside", NULL);
  g_autofree char *link = g_build_filename (self->directory, "link", NULL);
  g_autofree char *file_link = g_build_filename (self->directory, "file-link", NULL);
  g_autofree char *victim = g_build_filename (outside, "victim", NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_false (put (self, bad[i], "x", 0644, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_FAILED);
    }
  /* No link leads out, neither on the way nor at its end. */
  g_assert_cmpint (g_mkdir (outside, 0700), ==, 0);
  g_assert_true (put (self, "first", "x", 0644, NULL));
  g_assert_cmpint (symlink (outside, link), ==, 0);
  g_assert_cmpint (symlink (victim, file_link), ==, 0);
  g_assert_false (put (self, "link/victim", "x", 0644, NULL));
  g_assert_false (put (self, "file-link", "x", 0644, NULL));
  g_assert_cmpuint (count_entries (outside), ==, 0);
  g_assert_cmpuint (count_entries (self->directory), ==, 3);
}

static void
test_sizes (Fixture *self, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (dvmd_stage_writer_begin (self->writer, "a", 0644, 3, &error));
  g_assert_false (dvmd_stage_writer_write (self->writer, "four", 4, &error));
  g_assert_nonnull (strstr (error->message, "more than was announced"));
  dvmd_stage_writer_abandon (self->writer);
  g_clear_error (&error);
  g_assert_true (dvmd_stage_writer_begin (self->writer, "a", 0644, 3, &error));
  g_assert_true (dvmd_stage_writer_write (self->writer, "on", 2, &error));
  g_assert_false (dvmd_stage_writer_finish (self->writer, &error));
  g_assert_nonnull (strstr (error->message, "less than was announced"));
  g_assert_cmpuint (count_entries (self->directory), ==, 0);
}

/* A file that the disk refuses is an error with its name, and no half of it stays. */
static void
test_no_room (Fixture *self, gconstpointer data)
{
  struct rlimit before;
  struct rlimit little;
  g_autoptr (GError) error = NULL;

  signal (SIGXFSZ, SIG_IGN);
  g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &before), ==, 0);
  little = (struct rlimit){ .rlim_cur = 4, .rlim_max = before.rlim_max };
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &little), ==, 0);
  g_assert_false (put (self, "large", "more than four", 0644, &error));
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &before), ==, 0);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "“large” could not be written"));
  g_assert_cmpuint (count_entries (self->directory), ==, 0);
}

/* ---- sources ---- */

static void
test_sources (Fixture *self, gconstpointer data)
{
  g_autofree char *file = g_build_filename (self->base, "file", NULL);
  g_autofree char *fifo = g_build_filename (self->base, "fifo", NULL);
  const struct
  {
    const char *path;
    const char *word;
  } rows[] = {
    { fifo, "a FIFO" }, { self->base, "a directory" }, { "/dev/null", "a device" }, { "/no/such", "No such" }
  };
  g_autoptr (GError) error = NULL;
  guint64 size;
  guint mode;
  int fd;

  g_assert_true (g_file_set_contents (file, "12345", 5, NULL));
  g_assert_cmpint (chmod (file, 0751), ==, 0);
  g_assert_cmpint (mkfifo (fifo, 0600), ==, 0);
  fd = dvmd_stage_source_open (file, NULL, &size, &mode, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (size, ==, 5);
  g_assert_cmpuint (mode, ==, 0751);
  close (fd);
  fd = dvmd_stage_source_open ("file", self->base, &size, &mode, &error);
  g_assert_no_error (error);
  close (fd);
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_assert_cmpint (dvmd_stage_source_open (rows[i].path, NULL, &size, &mode, &error), ==, -1);
      g_assert_nonnull (strstr (error->message, rows[i].path));
      g_assert_nonnull (strstr (error->message, rows[i].word));
      g_clear_error (&error);
    }
  g_assert_cmpint (dvmd_stage_source_open ("fifo", self->base, &size, &mode, &error), ==, -1);
  g_assert_nonnull (strstr (error->message, "was not found in PATH"));
}

/* ---- on the thread ---- */

typedef struct
{
  guint64 pass;
  gsize taken;
  guint n_done;
  char *failure;
  gboolean removed;
} Heard;

static void
on_taken (guint64 pass, gsize bytes, gpointer user_data)
{
  Heard *heard = user_data;

  heard->taken += bytes;
}

static void
on_done (guint64 pass, const GError *error, gpointer user_data)
{
  Heard *heard = user_data;

  heard->pass = pass;
  heard->n_done++;
  g_free (heard->failure);
  heard->failure = error != NULL ? g_strdup (error->message) : NULL;
}

static void
on_removed (gpointer user_data)
{
  ((Heard *)user_data)->removed = TRUE;
}

static const DvmdStageFuncs stage_funcs = { .taken = on_taken, .done = on_done };

static void
add (DvmdStage *stage, const char *target, const char *text)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));

  dvmd_stage_add_file (stage, target, 0644, strlen (text));
  dvmd_stage_add_data (stage, bytes);
}

static void
test_passes (Fixture *self, gconstpointer data)
{
  Heard heard = { 0 };
  g_autoptr (DvmdStage) stage = dvmd_stage_new (self->directory, &stage_funcs, &heard);

  dvmd_stage_begin_pass (stage, 1);
  add (stage, "a", "aaaa");
  add (stage, "b/c", "cc");
  dvmd_stage_end_pass (stage);
  wait_until (heard.n_done == 1);
  g_assert_null (heard.failure);
  g_assert_cmpuint (heard.taken, ==, 6);
  assert_content (self, "a", "aaaa");
  assert_content (self, "b/c", "cc");
  /* Once more, with a file that is another one now: the second is not even looked at. */
  dvmd_stage_begin_pass (stage, 2);
  add (stage, "a", "bbbb");
  add (stage, "d", "dd");
  dvmd_stage_end_pass (stage);
  wait_until (heard.n_done == 2);
  g_assert_cmpuint (heard.pass, ==, 2);
  g_assert_nonnull (strstr (heard.failure, "“a”"));
  assert_content (self, "a", "aaaa");
  dvmd_stage_remove (stage, on_removed, &heard);
  wait_until (heard.removed);
  g_assert_false (g_file_test (self->directory, G_FILE_TEST_EXISTS));
  g_assert_cmpuint (heard.n_done, ==, 2);
  g_free (heard.failure);
}

/* A pass that is replaced by another one is not heard of any more; half a file of it does not stay. */
static void
test_replaced (Fixture *self, gconstpointer data)
{
  Heard heard = { 0 };
  g_autoptr (DvmdStage) stage = dvmd_stage_new (self->directory, &stage_funcs, &heard);

  dvmd_stage_begin_pass (stage, 1);
  dvmd_stage_add_file (stage, "half", 0644, 1000);
  dvmd_stage_begin_pass (stage, 2);
  add (stage, "whole", "x");
  dvmd_stage_end_pass (stage);
  wait_until (heard.n_done == 1);
  g_assert_cmpuint (heard.pass, ==, 2);
  g_assert_null (heard.failure);
  g_assert_cmpuint (count_entries (self->directory), ==, 1);
}

static void
test_removed_at_once (Fixture *self, gconstpointer data)
{
  Heard heard = { 0 };
  g_autoptr (DvmdStage) stage = dvmd_stage_new (self->directory, &stage_funcs, &heard);

  dvmd_stage_begin_pass (stage, 1);
  for (guint i = 0; i < 100; i++)
    {
      g_autofree char *name = g_strdup_printf ("f%u", i);

      add (stage, name, "text");
    }
  dvmd_stage_remove (stage, on_removed, &heard);
  wait_until (heard.removed);
  g_assert_cmpuint (heard.n_done, ==, 0);
  g_assert_false (g_file_test (self->directory, G_FILE_TEST_EXISTS));
}

#define add_test(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add_test ("/stage/files", test_files);
  add_test ("/stage/existing", test_existing);
  add_test ("/stage/folders-and-links", test_folders_and_links);
  add_test ("/stage/stays-inside", test_stays_inside);
  add_test ("/stage/sizes", test_sizes);
  add_test ("/stage/no-room", test_no_room);
  add_test ("/stage/sources", test_sources);
  add_test ("/stage/passes", test_passes);
  add_test ("/stage/replaced", test_replaced);
  add_test ("/stage/removed-at-once", test_removed_at_once);
  return g_test_run ();
}
