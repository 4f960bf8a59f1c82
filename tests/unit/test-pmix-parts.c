/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "dvm.h"
#include "dvmd-pmix-counter.h"
#include "dvmd-pmix-dirs.h"
#include "dvmd-pmix-environment.h"
#include "pmix-fake.h"
#include "dvmd-pmix-queue.h"
#include "dvmd-remove-tree.h"

/* The parts that need no libpmix. */

static DvmdPmixJob *
new_job (const char *nspace)
{
  static const char *const nodes[] = { "a", "b", NULL };
  static const char *const argv[] = { "true", NULL };
  DvmdPmixJob *job = dvmd_pmix_job_new (nspace, nodes, 1);

  dvmd_pmix_job_add_app (job, argv, "/", 1);
  dvmd_pmix_job_add_app (job, argv, "/", 0);
  dvmd_pmix_job_add_app (job, argv, "/", 2);
  for (guint16 i = 0; i < 3; i++)
    dvmd_pmix_job_add_rank (job, i > 0, i > 0 ? i - 1 : 0, 0, NULL);
  return job;
}

static void
test_job (void)
{
  g_autoptr (DvmdPmixJob) job = new_job ("job-1");
  g_autoptr (DvmdPmixJob) bad = new_job ("a/b");
  g_autoptr (GError) error = NULL;

  g_assert_true (dvmd_pmix_job_validate (job, &error));
  g_assert_cmpuint (dvmd_pmix_job_get_size (job), ==, 3);
  g_assert_cmpuint (dvmd_pmix_job_get_rank (job, 0)->app, ==, 0);
  g_assert_cmpuint (dvmd_pmix_job_get_rank (job, 1)->app, ==, 2);
  g_assert_cmpuint (dvmd_pmix_job_get_rank (job, 2)->app_rank, ==, 1);
  g_assert_cmpuint (dvmd_pmix_job_count_on_node (job, 1), ==, 2);

  g_assert_false (dvmd_pmix_job_validate (bad, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_clear_error (&error);
  dvmd_pmix_job_add_rank (job, 0, 0, 0, NULL);
  g_assert_false (dvmd_pmix_job_validate (job, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
}

static void
test_environment (void)
{
  g_auto (GStrv) enough = dvmd_pmix_build_default_environment (2, 2, NULL);
  g_auto (GStrv) crowded = dvmd_pmix_build_default_environment (3, 2, "/dev/shm/x");

  g_assert_cmpstr (enough[0], ==, "OMPI_MCA_schizo=^orte");
  g_assert_null (enough[1]);
  g_assert_true (g_strv_contains ((const char *const *)crowded, "OMPI_MCA_mpi_yield_when_idle=1"));
  g_assert_true (g_strv_contains ((const char *const *)crowded, "OMPI_MCA_btl_vader_backing_directory=/dev/shm/x"));
}

static void
test_dirs (void)
{
  g_autofree char *base = g_dir_make_tmp ("dvm-dirs-XXXXXX", NULL);
  g_autofree char *runtime = g_build_filename (base, "runtime", NULL);
  g_autofree char *outside = g_build_filename (base, "outside", NULL);
  g_autofree char *dead = g_strdup_printf ("%s/dvm-%u-dead", base, (guint)geteuid ());
  g_autofree char *alive = g_strdup_printf ("%s/dvm-%u-alive", base, (guint)geteuid ());
  g_autofree char *session = NULL;
  g_autofree char *link = NULL;
  g_autofree char *shm = NULL;
  g_autoptr (DvmdPmixDirs) dirs = NULL;
  g_autoptr (GError) error = NULL;
  int fd;

  g_assert_cmpint (g_mkdir (runtime, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (dead, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (alive, 0700), ==, 0);
  g_assert_true (g_file_set_contents (outside, "mine", -1, NULL));
  fd = open (alive, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  g_assert_cmpint (flock (fd, LOCK_EX | LOCK_NB), ==, 0);

  dirs = dvmd_pmix_dirs_new (runtime, base, &error);
  g_assert_no_error (error);
  g_assert_false (g_file_test (dead, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (alive, G_FILE_TEST_IS_DIR));

  g_assert_true (dvmd_pmix_dirs_create_job (dirs, "j1", &error));
  g_assert_true (dvmd_pmix_dirs_create_rank (dirs, "j1", 0, &error));
  g_assert_false (dvmd_pmix_dirs_create_job (dirs, "j1", &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_EXISTS);
  session = dvmd_pmix_dirs_build_session (dirs, "j1");
  shm = dvmd_pmix_dirs_build_shm (dirs, "j1");
  link = g_build_filename (session, "0", "link", NULL);
  g_assert_cmpint (symlink (outside, link), ==, 0);
  dvmd_pmix_dirs_remove_job (dirs, "j1");
  g_assert_false (g_file_test (session, G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test (shm, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (outside, G_FILE_TEST_IS_REGULAR));

  close (fd);
  g_clear_pointer (&dirs, dvmd_pmix_dirs_free);
  g_assert_true (dvmd_remove_tree (base, NULL));
}

typedef struct
{
  DvmdPmixItem item;
  guint number;
} Number;

static guint n_freed;

static void
free_number (DvmdPmixItem *item)
{
  g_atomic_int_inc (&n_freed);
  g_free (item);
}

static void
run_number (DvmdPmixItem *item, gpointer owner)
{
  guint *next = owner;

  g_assert_cmpuint (((Number *)item)->number, ==, *next);
  (*next)++;
  g_free (item);
}

static gpointer
post_numbers (gpointer data)
{
  for (guint i = 0; i < 10000; i++)
    {
      Number *number = g_new0 (Number, 1);

      number->item.run = run_number;
      number->item.free = free_number;
      number->number = i;
      dvmd_pmix_queue_post (data, &number->item);
    }
  return NULL;
}

static void
test_queue (void)
{
  guint next = 0;
  g_autoptr (DvmdPmixQueue) queue = dvmd_pmix_queue_new (NULL, &next);
  GThread *thread = g_thread_new ("poster", post_numbers, queue);

  while (next < 10000)
    g_main_context_iteration (NULL, TRUE);
  g_thread_join (thread);

  /* After the end everything is freed and nothing run. */
  thread = g_thread_new ("poster", post_numbers, queue);
  dvmd_pmix_queue_close (queue);
  g_thread_join (thread);
  g_assert_cmpuint (n_freed, ==, 10000);
  g_assert_false (g_main_context_pending (NULL));
}

static void
store_result (GObject *source, GAsyncResult *result, gpointer user_data)
{
  *(GAsyncResult **)user_data = g_object_ref (result);
}

static void
test_fake (void)
{
  g_autoptr (PmixFake) fake = pmix_fake_new ();
  g_autoptr (DvmdPmixJob) job = new_job ("job-1");
  DvmdPmixSettings settings = { 0 };
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (dvmd_pmix_start (DVMD_PMIX (fake), &settings, NULL, &error));
  dvmd_pmix_register_job_async (DVMD_PMIX (fake), job, store_result, &result);
  g_assert_null (result);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_assert_true (dvmd_pmix_register_job_finish (DVMD_PMIX (fake), result, &error));
  g_assert_cmpuint (pmix_fake_get_n_jobs (fake), ==, 1);
  dvmd_pmix_stop (DVMD_PMIX (fake), NULL, NULL);
  g_assert_cmpuint (pmix_fake_get_n_jobs (fake), ==, 0);
}

/* Of more clients than there is room for the last ones are told. */
static void
test_counter (void)
{
  g_autofree char *dir = g_dir_make_tmp ("dvm-counter-XXXXXX", NULL);
  g_autoptr (DvmdPmixCounter) writer = dvmd_pmix_counter_new (dir);
  g_autoptr (DvmdPmixCounter) reader = dvmd_pmix_counter_open (dir);
  guint n = 0;
  guint n_told = 0;
  guint job;
  guint32 rank;

  g_assert_false (dvmd_pmix_counter_next_client (reader, &n, &job, &rank));
  dvmd_pmix_counter_add_client (writer, "job-1", 7);
  dvmd_pmix_counter_add_client (writer, "job-2", 0);
  g_assert_true (dvmd_pmix_counter_next_client (reader, &n, &job, &rank));
  g_assert_cmpuint (job, ==, g_str_hash ("job-1"));
  g_assert_cmpuint (rank, ==, 7);
  g_assert_true (dvmd_pmix_counter_next_client (reader, &n, &job, &rank));
  g_assert_cmpuint (job, ==, g_str_hash ("job-2"));
  g_assert_false (dvmd_pmix_counter_next_client (reader, &n, &job, &rank));
  for (guint32 i = 0; i < 5000; i++)
    dvmd_pmix_counter_add_client (writer, "job-3", i);
  for (; dvmd_pmix_counter_next_client (reader, &n, &job, &rank); n_told++)
    g_assert_cmpuint (rank, ==, n - 3);
  g_assert_cmpuint (n_told, ==, 1024);
  g_assert_cmpuint (rank, ==, 4999);
  g_assert_true (dvmd_remove_tree (dir, NULL));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pmix-parts/job", test_job);
  g_test_add_func ("/pmix-parts/environment", test_environment);
  g_test_add_func ("/pmix-parts/dirs", test_dirs);
  g_test_add_func ("/pmix-parts/queue", test_queue);
  g_test_add_func ("/pmix-parts/fake", test_fake);
  g_test_add_func ("/pmix-parts/counter", test_counter);
  return g_test_run ();
}
