/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The data of fences go through messages and files as they are.
 */

#include "config.h"

#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "dvm.h"
#include "dvmd-pmix-bulk.h"

#define LARGE (3 * 1024 * 1024 + 7)

typedef struct
{
  char *dir;
} Fixture;

static void
setup (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  fixture->dir = g_dir_make_tmp ("dvm-test-XXXXXX", &error);
  g_assert_no_error (error);
}

static void
teardown (Fixture *fixture, gconstpointer data)
{
  g_assert_cmpint (g_rmdir (fixture->dir), ==, 0);
  g_free (fixture->dir);
}

static GBytes *
make_bytes (gsize size)
{
  guint8 *data = g_malloc (size);

  for (gsize i = 0; i < size; i++)
    data[i] = (guint8)(i * 7 % 251);
  return g_bytes_new_take (data, size);
}

static guint
count_files (Fixture *fixture)
{
  g_autoptr (GDir) dir = g_dir_open (fixture->dir, 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
check_round (Fixture *fixture, GBytes *bytes, guint n_files)
{
  g_autoptr (GVariant) bulk = g_variant_ref_sink (dvmd_pmix_bulk_new (fixture->dir, bytes));
  g_autoptr (GBytes) nothing = g_bytes_new (NULL, 0);
  g_autoptr (GBytes) read = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (g_variant_is_of_type (bulk, G_VARIANT_TYPE (DVMD_PMIX_BULK_TYPE)));
  g_assert_cmpuint (count_files (fixture), ==, n_files);
  if (n_files > 0)
    g_assert_cmpuint (g_variant_get_size (bulk), <, 100);
  read = dvmd_pmix_bulk_read (fixture->dir, bulk, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (count_files (fixture), ==, 0);
  g_assert_true (g_bytes_equal (read, bytes != NULL ? bytes : nothing));
}

static void
test_sizes (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GBytes) empty = g_bytes_new (NULL, 0);
  g_autoptr (GBytes) little = make_bytes (1000);
  g_autoptr (GBytes) much = make_bytes (LARGE);

  check_round (fixture, NULL, 0);
  check_round (fixture, empty, 0);
  check_round (fixture, little, 0);
  check_round (fixture, much, 1);
}

/* A directory where nothing can be written */
static void
test_no_room (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GBytes) much = make_bytes (LARGE);
  g_autofree char *missing = g_build_filename (fixture->dir, "missing", NULL);
  g_autoptr (GVariant) bulk = g_variant_ref_sink (dvmd_pmix_bulk_new (missing, much));
  g_autoptr (GBytes) read = NULL;
  g_autoptr (GError) error = NULL;

  read = dvmd_pmix_bulk_read (missing, bulk, &error);
  g_assert_no_error (error);
  g_assert_true (g_bytes_equal (read, much));
}

static GBytes *
read_name (Fixture *fixture, const char *name, GError **error)
{
  g_autoptr (GVariant) bulk = g_variant_ref_sink (g_variant_new (DVMD_PMIX_BULK_TYPE, NULL, name));

  return dvmd_pmix_bulk_read (fixture->dir, bulk, error);
}

/* A file of somebody else's is neither read nor removed. */
static void
test_wrong_names (Fixture *fixture, gconstpointer data)
{
  static const char *const names[] = { "other", "/etc/passwd", "bulk-/../other", "../bulk-1", "." };
  g_autofree char *other = g_build_filename (fixture->dir, "other", NULL);
  g_autofree char *link = g_build_filename (fixture->dir, "bulk-link", NULL);

  g_file_set_contents (other, "x", 1, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (read_name (fixture, names[i], &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
    }
  g_assert_cmpint (symlink ("other", link), ==, 0);
  g_assert_null (read_name (fixture, "bulk-link", NULL));
  g_assert_cmpint (g_unlink (link), ==, 0);
  g_assert_cmpint (g_unlink (other), ==, 0);
}

static void
test_missing (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (read_name (fixture, "bulk-123456", &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "bulk-123456"));
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/pmix/bulk/sizes", Fixture, NULL, setup, test_sizes, teardown);
  g_test_add ("/pmix/bulk/no-room", Fixture, NULL, setup, test_no_room, teardown);
  g_test_add ("/pmix/bulk/wrong-names", Fixture, NULL, setup, test_wrong_names, teardown);
  g_test_add ("/pmix/bulk/missing", Fixture, NULL, setup, test_missing, teardown);
  return g_test_run ();
}
