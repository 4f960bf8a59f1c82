/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A controller with two agents in one process, each with a PMIx server that the test plays the clients of: real
 * processes, real messages.
 */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <glib-unix.h>
#include <glib/gstdio.h>

#include "dvmd-controller-jobs.h"
#include "dvmd-job-steps.h"
#include "engine-fixture.h"
#include "wait-until.h"

typedef EngineFixture Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  DvmdControllerSettings settings = { .output = { .of_one = 65536, .of_all = 5000 } };

  engine_fixture_start (self, &settings);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  engine_fixture_end (self, FALSE);
  engine_fixture_clear (self);
}

static DvmdJob *
submit (Fixture *self, guint np, const char *personality, const char *script)
{
  const char *argv[] = { "/bin/sh", "-c", script, NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  g_autoptr (GError) error = NULL;
  const int fds[3] = { -1, -1, -1 };
  DvmdJob *job;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), np);
  dvm_job_spec_set_map_by (spec, "node");
  dvm_job_spec_set_personality (spec, personality);
  job = dvmd_controller_submit (self->controller, spec, requester, fds, &error);
  g_assert_no_error (error);
  return job;
}

static char *
read_all (int fd)
{
  GString *text = g_string_new (NULL);
  char buffer[4096];
  gssize n;

  while ((n = read (fd, buffer, sizeof buffer)) > 0)
    g_string_append_len (text, buffer, n);
  close (fd);
  return g_string_free (text, FALSE);
}

static void
test_output (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit (self, 4, "plain", "echo rank $DVM_RANK of $DVM_SIZE on $DVM_NODE");
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  int fds[3];

  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_NOTIFIED);
  dvmd_controller_attach (self->controller, job, DVM_STREAMS_STDOUT, fds, &error);
  g_assert_no_error (error);
  /* The output that was kept fits into the pipe; the writer needs the main loop all the same. */
  for (guint i = 0; i < 100; i++)
    g_main_context_iteration (NULL, FALSE);
  text = read_all (fds[1]);
  g_assert_nonnull (strstr (text, "rank 0 of 4 on one\n"));
  g_assert_nonnull (strstr (text, "rank 1 of 4 on two\n"));
  g_assert_nonnull (strstr (text, "rank 2 of 4 on one\n"));
  g_assert_nonnull (strstr (text, "rank 3 of 4 on two\n"));
}

/* Kept output of ended jobs has a limit for all of them: the oldest goes first. */
static void
test_kept_in_all (Fixture *self, gconstpointer data)
{
  DvmdJob *jobs[3];

  for (guint i = 0; i < 3; i++)
    {
      jobs[i] = submit (self, 1, "plain", "printf %02000d 0");
      wait_until (dvmd_controller_job_is_finished (self->controller, jobs[i]));
    }
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *text = NULL;
      int fds[3];

      g_assert_true (dvmd_controller_attach (self->controller, jobs[i], DVM_STREAMS_STDOUT, fds, NULL));
      for (guint k = 0; k < 100; k++)
        g_main_context_iteration (NULL, FALSE);
      text = read_all (fds[1]);
      g_assert_cmpuint (strlen (text), ==, i == 0 ? 0 : 2000);
    }
}

/* ---- environments ---- */

/* Longer than what travels with the job. */
static DvmdJob *
submit_with_environment (Fixture *self, const char *value)
{
  const char *argv[] = { "/bin/sh", "-c", "echo $DVM_NODE $FIRST; test ${#SECOND} = 200", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  g_autofree char *first = g_strconcat ("FIRST=", value, NULL);
  g_autofree char *second = g_strdup_printf ("SECOND=%0200d", 0);
  const char *env[] = { first, second, NULL };
  const int fds[3] = { -1, -1, -1 };
  g_autoptr (GError) error = NULL;
  DvmdJob *job;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 2);
  dvm_app_spec_set_env (dvm_job_spec_get_app (spec, 0), env);
  dvm_job_spec_set_map_by (spec, "node");
  dvm_job_spec_set_personality (spec, "plain");
  job = dvmd_controller_submit (self->controller, spec, requester, fds, &error);
  g_assert_no_error (error);
  return job;
}

static void
check_environment (Fixture *self, DvmdJob *job, const char *value)
{
  g_autofree char *one = g_strdup_printf ("one %s\n", value);
  g_autofree char *two = g_strdup_printf ("two %s\n", value);
  g_autofree char *text = NULL;
  int fds[3];

  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_NOTIFIED);
  g_assert_true (dvmd_controller_attach (self->controller, job, DVM_STREAMS_STDOUT, fds, NULL));
  for (guint i = 0; i < 100; i++)
    g_main_context_iteration (NULL, FALSE);
  text = read_all (fds[1]);
  if (strstr (text, one) == NULL || strstr (text, two) == NULL)
    g_error ("the job wrote \"%s\"", text);
}

/* Each distinct one travels once. */
static void
test_environment (Fixture *self, gconstpointer data)
{
  const char *const values[] = { "a", "a", "b", "a", "b" };
  const guint travelled[] = { 1, 1, 2, 2, 2 };
  guint64 size = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (values); i++)
    {
      check_environment (self, submit_with_environment (self, values[i]), values[i]);
      if (i == 0)
        size = engine_count (self->controller, "environment-bytes");
      g_assert_cmpuint (size, >, 200);
      g_assert_cmpuint (engine_count (self->controller, "environment-bytes"), ==, travelled[i] * size);
    }
}

/* An agent that has not got what the controller thinks it has. */
static void
believe_sent (Fixture *self, DvmdJob *job)
{
  DvmAppSpec *app = dvm_job_spec_get_app (dvmd_job_get_spec (job), 0);
  g_autoptr (DvmdEnvironment) environment = dvmd_environments_intern (
      dvmd_controller_get_environments (self->controller), dvm_app_spec_get_env (app));

  dvmd_id_set_add_range (environment->holders, 1, 2);
}

static void
test_environment_asked (Fixture *self, gconstpointer data)
{
  DvmdJob *jobs[2];
  DvmdJob *job = submit_with_environment (self, "new");

  believe_sent (self, job);
  check_environment (self, job, "new");
  g_assert_cmpuint (engine_count (self->controller, "environment-bytes"), >, 2 * 200);
  /* Two that wait for the same. */
  for (guint i = 0; i < 2; i++)
    {
      jobs[i] = submit_with_environment (self, "newer");
      believe_sent (self, jobs[i]);
    }
  for (guint i = 0; i < 2; i++)
    {
      wait_until (dvmd_controller_job_is_finished (self->controller, jobs[i]));
      g_assert_cmpint (dvmd_job_get_state (jobs[i]), ==, DVM_JOB_STATE_NOTIFIED);
    }
}

/* Ended while it waits for an environment. */
static void
test_environment_cancel (Fixture *self, gconstpointer data)
{
  for (guint turns = 0; turns < 12; turns++)
    {
      g_autofree char *value = g_strdup_printf ("%u", turns);
      DvmdJob *job = submit_with_environment (self, value);

      believe_sent (self, job);
      for (guint i = 0; i < turns; i++)
        g_main_context_iteration (NULL, FALSE);
      dvmd_controller_cancel_job (self->controller, job, "enough", NULL);
      wait_until (dvmd_controller_job_is_finished (self->controller, job));
    }
}

static const char *
nspace_of (DvmdJob *job)
{
  return dvm_job_get_nspace (dvmd_job_get_record (job));
}

static void
test_fence (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit (self, 2, "pmix", "exec sleep 1000");
  DvmdPmixProc everybody = { .nspace = nspace_of (job), .rank = DVMD_PMIX_RANK_WILDCARD };
  g_autoptr (GBytes) one = g_bytes_new_static ("one;", 4);
  g_autoptr (GBytes) two = g_bytes_new_static ("two;", 4);
  GBytes *answer;
  guint64 tokens[2];
  int status;

  wait_until (dvmd_job_get_state (job) == DVM_JOB_STATE_RUNNING);
  g_assert_nonnull (pmix_fake_find_job (self->fakes[0], nspace_of (job)));
  g_assert_nonnull (pmix_fake_find_job (self->fakes[1], nspace_of (job)));
  tokens[0] = pmix_fake_fence (self->fakes[0], &everybody, 1, one);
  for (guint i = 0; i < 20; i++)
    g_main_context_iteration (NULL, FALSE);
  g_assert_false (pmix_fake_get_answer (self->fakes[0], tokens[0], NULL, NULL));
  tokens[1] = pmix_fake_fence (self->fakes[1], &everybody, 1, two);
  wait_until (pmix_fake_get_answer (self->fakes[0], tokens[0], NULL, NULL));
  wait_until (pmix_fake_get_answer (self->fakes[1], tokens[1], &status, &answer));
  g_assert_cmpint (status, ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpmem (g_bytes_get_data (answer, NULL), g_bytes_get_size (answer), "one;two;", 8);
  /* A fence of a job that fails ends for those who wait. */
  tokens[0] = pmix_fake_fence (self->fakes[0], &everybody, 1, one);
  dvmd_controller_signal_job (self->controller, job, SIGKILL, "1", NULL);
  wait_until (pmix_fake_get_answer (self->fakes[0], tokens[0], &status, NULL));
  g_assert_cmpint (status, ==, DVMD_PMIX_ERR_LOST_CONNECTION);
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_ABORTED_BY_SIG);
  g_assert_cmpint (dvm_job_get_failed_rank (dvmd_job_get_record (job)), ==, 1);
  g_assert_cmpuint (pmix_fake_get_n_jobs (self->fakes[0]), ==, 0);
}

/* A rank that had called PMIx_Init is not reported before the PMIx server has seen it go. */
static void
test_lost_first (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit (self, 2, "pmix", "exec sleep 1000");
  DvmdPmixHost *host;
  int pid;

  wait_until (dvmd_job_get_state (job) == DVM_JOB_STATE_RUNNING);
  host = pmix_fake_get_host (self->fakes[1]);
  dvmd_pmix_host_connected (host, nspace_of (job), 1);
  wait_until (dvm_job_get_num_registered (dvmd_job_get_record (job)) == 1);
  pid = dvmd_proc_table_row (dvmd_job_get_procs (job), 1)->pid;
  kill (pid, SIGKILL);
  /* Reaped: the agent knows. */
  wait_until (kill (pid, 0) != 0);
  for (guint i = 0; i < 20; i++)
    g_main_context_iteration (NULL, FALSE);
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_RUNNING);
  dvmd_pmix_host_lost (host, nspace_of (job), 1);
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_ABORTED_BY_SIG);
  g_assert_cmpint (dvm_job_get_failed_rank (dvmd_job_get_record (job)), ==, 1);
}

static void
test_modex (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit (self, 2, "pmix", "exec sleep 1000");
  g_autoptr (GBytes) blob = g_bytes_new_static ("address", 7);
  GBytes *answer;
  guint64 token;
  int status;

  wait_until (dvmd_job_get_state (job) == DVM_JOB_STATE_RUNNING);
  pmix_fake_put (self->fakes[1], nspace_of (job), 1, blob);
  token = pmix_fake_direct_modex (self->fakes[0], nspace_of (job), 1);
  wait_until (pmix_fake_get_answer (self->fakes[0], token, &status, &answer));
  g_assert_cmpint (status, ==, DVMD_PMIX_SUCCESS);
  g_assert_true (g_bytes_equal (answer, blob));
  token = pmix_fake_direct_modex (self->fakes[0], "no-such-job", 1);
  wait_until (pmix_fake_get_answer (self->fakes[0], token, &status, NULL));
  g_assert_cmpint (status, ==, DVMD_PMIX_ERR_NOT_FOUND);
  dvmd_controller_cancel_job (self->controller, job, "enough", NULL);
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_KILLED_BY_CMD);
  g_assert_cmpint (dvm_job_get_exit_signal (dvmd_job_get_record (job)), ==, SIGTERM);
}

/* ---- a node is lost ---- */

static void
lose (Fixture *self, guint rank)
{
  dvmd_core_agent_ended (dvmd_controller_get_core (self->controller), rank, DVMD_AGENT_LOST, DVMD_CAUSE_LOST,
                         "connection closed");
}

/* Its job ends with its name, nobody waits for it, and another job runs on what is left. */
static void
test_node_lost (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit (self, 2, "pmix", "exec sleep 1000");
  DvmdPmixProc everybody = { .nspace = nspace_of (job), .rank = DVMD_PMIX_RANK_WILDCARD };
  g_autoptr (GBytes) one = g_bytes_new_static ("one;", 4);
  guint64 token;
  int status;

  wait_until (dvmd_job_get_state (job) == DVM_JOB_STATE_RUNNING);
  token = pmix_fake_fence (self->fakes[0], &everybody, 1, one);
  for (guint i = 0; i < 20; i++)
    g_main_context_iteration (NULL, FALSE);
  lose (self, 2);
  wait_until (pmix_fake_get_answer (self->fakes[0], token, &status, NULL));
  g_assert_cmpint (status, ==, DVMD_PMIX_ERR_LOST_CONNECTION);
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_COMM_FAILED);
  g_assert_cmpstr (dvm_job_get_reason (dvmd_job_get_record (job)), ==, "two was lost: connection closed");
  g_assert_cmpuint (pmix_fake_get_n_jobs (self->fakes[0]), ==, 0);
  job = submit (self, 2, "plain", "test $DVM_NODE = one");
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_NOTIFIED);
}

static DvmdJob *
submit_recoverable (Fixture *self, int stdin_fd, const char *script)
{
  const char *argv[] = { "/bin/sh", "-c", script, NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  g_autoptr (GError) error = NULL;
  const int fds[3] = { stdin_fd, -1, -1 };
  DvmdJob *job;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 2);
  dvm_job_spec_set_map_by (spec, "node");
  dvm_job_spec_set_recoverable (spec, TRUE);
  dvm_job_spec_set_stdin_target (spec, "all");
  job = dvmd_controller_submit (self->controller, spec, requester, fds, &error);
  g_assert_no_error (error);
  return job;
}

static DvmdJob *
run_recoverable (Fixture *self, int stdin_fd, const char *script)
{
  DvmdJob *job = submit_recoverable (self, stdin_fd, script);

  wait_until (dvmd_job_get_state (job) == DVM_JOB_STATE_RUNNING);
  return job;
}

/* All of the job on the first node are, once. */
static void
assert_told (Fixture *self, const char *nspace, int status, const char *expected)
{
  GVariant *details;
  g_autofree char *text = NULL;

  g_assert_cmpuint (pmix_fake_count_events (self->fakes[0], nspace, DVMD_PMIX_RANK_WILDCARD, status, &details), ==, 1);
  text = g_variant_print (details, TRUE);
  g_assert_cmpstr (text, ==, expected);
}

static void
assert_node_down (Fixture *self, const char *nspace, const char *name, guint rank)
{
  g_autofree char *node = g_strdup_printf ("{'pmix.hname': <'%s'>, 'pmix.evaffected': <[('%s', uint32 %u)]>}", name,
                                           nspace, rank);
  g_autofree char *process = g_strdup_printf ("{'pmix.evproc': <('%s', uint32 %u)>}", nspace, rank);

  wait_until (pmix_fake_get_events (self->fakes[0])->len == 2);
  assert_told (self, nspace, DVMD_PMIX_EVENT_NODE_DOWN, node);
  assert_told (self, nspace, DVMD_PMIX_ERR_LOST_CONNECTION, process);
}

/* A job that may lose ranks goes on: the others are told, and what needs a rank that is gone is answered. */
static void
test_node_lost_recoverable (Fixture *self, gconstpointer data)
{
  DvmdJob *job = run_recoverable (self, -1, "exec sleep 1000");
  DvmdPmixProc everybody = { .nspace = nspace_of (job), .rank = DVMD_PMIX_RANK_WILDCARD };
  DvmdPmixProc survivor = { .nspace = nspace_of (job), .rank = 0 };
  g_autoptr (GBytes) none = g_bytes_new_static ("", 0);
  guint64 token;
  int status;

  lose (self, 2);
  assert_node_down (self, nspace_of (job), "two", 1);
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_RUNNING);
  token = pmix_fake_fence (self->fakes[0], &everybody, 1, none);
  wait_until (pmix_fake_get_answer (self->fakes[0], token, &status, NULL));
  g_assert_cmpint (status, ==, DVMD_PMIX_ERR_LOST_CONNECTION);
  token = pmix_fake_fence (self->fakes[0], &survivor, 1, none);
  wait_until (pmix_fake_get_answer (self->fakes[0], token, &status, NULL));
  g_assert_cmpint (status, ==, DVMD_PMIX_SUCCESS);
  token = pmix_fake_direct_modex (self->fakes[0], nspace_of (job), 1);
  wait_until (pmix_fake_get_answer (self->fakes[0], token, &status, NULL));
  g_assert_cmpint (status, ==, DVMD_PMIX_ERR_LOST_CONNECTION);
  dvmd_controller_cancel_job (self->controller, job, "enough", NULL);
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_KILLED_BY_CMD);
}

/* Ranks that start while another node is lost are told when they are there: the PMIx server keeps it for them. */
static void
test_node_lost_while_registered (Fixture *self, gconstpointer data)
{
  DvmdJob *job;

  pmix_fake_hold_registrations (self->fakes[0], TRUE);
  job = submit_recoverable (self, -1, "exec sleep 1000");
  wait_until (pmix_fake_find_job (self->fakes[0], nspace_of (job)) != NULL);
  wait_until (dvmd_proc_table_row (dvmd_job_get_procs (job), 1)->pid > 0);
  lose (self, 2);
  assert_node_down (self, nspace_of (job), "two", 1);
  pmix_fake_hold_registrations (self->fakes[0], FALSE);
  wait_until (dvmd_job_get_state (job) == DVM_JOB_STATE_RUNNING);
  dvmd_controller_cancel_job (self->controller, job, "enough", NULL);
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
}

/* Input for all of them goes on to those that are left, though one takes nothing any more. */
static void
test_node_lost_stdin (Fixture *self, gconstpointer data)
{
  const gsize size = 1 << 20;
  g_autofree char *zeros = g_malloc0 (size);
  gsize written = 0;
  DvmdJob *job;
  int ends[2];

  g_assert_true (g_unix_open_pipe (ends, FD_CLOEXEC, NULL));
  job = run_recoverable (self, ends[0], "test $DVM_RANK = 1 && exec sleep 1000; test $(wc -c) = 1048576");
  g_assert_true (g_unix_set_fd_nonblocking (ends[1], TRUE, NULL));
  /* Until the one that does not read holds it up. */
  for (guint idle = 0; idle < 2000; idle++)
    {
      gssize n = write (ends[1], zeros, size - written);

      if (n > 0)
        written += n, idle = 0;
      g_main_context_iteration (NULL, FALSE);
    }
  g_assert_cmpuint (written, <, size);
  lose (self, 2);
  while (written < size)
    {
      gssize n = write (ends[1], zeros, size - written);

      written += MAX (n, 0);
      g_main_context_iteration (NULL, FALSE);
    }
  close (ends[1]);
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_NOTIFIED);
  g_assert_cmpint (dvm_job_get_exit_code (dvmd_job_get_record (job)), ==, 0);
}

static void
test_abort (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit (self, 2, "pmix", "exec sleep 1000");
  DvmJob *record = dvmd_job_get_record (job);

  wait_until (dvmd_job_get_state (job) == DVM_JOB_STATE_RUNNING);
  dvmd_pmix_host_abort (pmix_fake_get_host (self->fakes[1]), nspace_of (job), 1, 7, "no more", NULL, 0);
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_CALLED_ABORT);
  g_assert_cmpint (dvm_job_get_exit_code (record), ==, 7);
  g_assert_cmpint (dvm_job_get_failed_rank (record), ==, 1);
  g_assert_nonnull (strstr (dvm_job_get_reason (record), "no more"));
}

static void
test_registration_fails (Fixture *self, gconstpointer data)
{
  g_autoptr (GError) wanted = g_error_new (DVM_ERROR, DVM_ERROR_FAILED, "no room for another job");
  DvmdJob *job;

  pmix_fake_set_error (self->fakes[1], wanted);
  job = submit (self, 2, "pmix", "exec sleep 1000");
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_FAILED_TO_START);
  g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (job)), "no room"));
}

/* Killed while the PMIx server still registers it. */
static void
test_cancel_early (Fixture *self, gconstpointer data)
{
  for (guint turns = 0; turns < 12; turns++)
    {
      DvmdJob *job = submit (self, 2, "pmix", "exec sleep 1000");

      for (guint i = 0; i < turns; i++)
        g_main_context_iteration (NULL, FALSE);
      dvmd_controller_cancel_job (self->controller, job, "enough", NULL);
      wait_until (dvmd_controller_job_is_finished (self->controller, job));
      g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_KILLED_BY_CMD);
      g_assert_cmpuint (pmix_fake_get_n_jobs (self->fakes[0]), ==, 0);
      g_assert_cmpuint (pmix_fake_get_n_jobs (self->fakes[1]), ==, 0);
    }
}

/* The PMIx server of a node stands still: the job ends all the same, and its answer finds nobody when it comes. */
static void
test_cancel_while_registered (Fixture *self, gconstpointer data)
{
  DvmdJob *job;

  pmix_fake_hold_registrations (self->fakes[0], TRUE);
  job = submit (self, 2, "pmix", "exec sleep 1000");
  wait_until (pmix_fake_find_job (self->fakes[0], nspace_of (job)) != NULL);
  dvmd_controller_cancel_job (self->controller, job, "enough", NULL);
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_KILLED_BY_CMD);
  g_assert_cmpuint (pmix_fake_get_n_jobs (self->fakes[0]), ==, 0);
  pmix_fake_hold_registrations (self->fakes[0], FALSE);
  job = submit (self, 2, "pmix", "exit 0");
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_NOTIFIED);
}

/* Processes are started some at a time: a job may be ended in between, whatever was started is ended with it. */
static void
test_cancel_half_started (Fixture *self, gconstpointer data)
{
  const char *argv[] = { "/bin/sh", "-c", "exec sleep 1000", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  const int fds[3] = { -1, -1, -1 };

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 100);
  dvm_job_spec_set_when_full (spec, "oversubscribe");
  dvm_job_spec_set_personality (spec, "plain");
  for (guint turns = 1; turns < 10; turns++)
    {
      DvmdJob *job = dvmd_controller_submit (self->controller, spec, requester, fds, NULL);

      for (guint i = 0; i < turns; i++)
        g_main_context_iteration (NULL, FALSE);
      dvmd_controller_cancel_job (self->controller, job, "enough", NULL);
      wait_until (dvmd_controller_job_is_finished (self->controller, job));
      g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_KILLED_BY_CMD);
    }
}

static void
on_job_finished (DvmdController *controller, DvmdJob *job, gpointer user_data)
{
  if (dvmd_job_get_id (job) == 1)
    (*(guint *)user_data)++;
}

static void
run_beyond_the_history (Fixture *self)
{
  for (guint i = 0; i < 12; i++)
    {
      DvmdJob *job = submit (self, 1, "plain", "exit 0");

      wait_until (dvmd_controller_job_is_finished (self->controller, job));
    }
  g_assert_null (dvmd_core_get_job (dvmd_controller_get_core (self->controller), 1));
}

/* Reads a little at a time, with the main loop running, so that the writer goes on. */
static gsize
read_slowly (int fd)
{
  gsize size = 0;
  char buffer[4096];
  gssize n;

  g_unix_set_fd_nonblocking (fd, TRUE, NULL);
  for (;;)
    {
      while ((n = read (fd, buffer, sizeof buffer)) > 0)
        size += n;
      if (n == 0)
        break;
      g_assert_cmpint (errno, ==, EAGAIN);
      g_main_context_iteration (NULL, FALSE);
    }
  close (fd);
  return size;
}

/* A job leaves the history while somebody still reads its output: nothing is lost, and who waits for it is told. */
static void
test_forgotten_while_read (Fixture *self, gconstpointer data)
{
  guint finished = 0;
  DvmdJob *job;
  int fds[3];

  g_signal_connect (self->controller, "job-finished", G_CALLBACK (on_job_finished), &finished);
  job = submit (self, 1, "plain", "sleep 0.2; head -c 500000 /dev/zero");
  g_assert_true (dvmd_controller_attach (self->controller, job, DVM_STREAMS_STDOUT, fds, NULL));
  wait_until (dvmd_job_get_ended (job));
  g_assert_false (dvmd_controller_job_is_finished (self->controller, job));
  run_beyond_the_history (self);
  g_assert_cmpuint (finished, ==, 0);
  g_assert_cmpuint (read_slowly (fds[1]), ==, 500000);
  wait_until (finished == 1);
  g_signal_handlers_disconnect_by_data (self->controller, &finished);
}

/* The same with output that was kept, and is being read when the job leaves the history. */
static void
test_forgotten_while_kept_is_read (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit (self, 1, "plain", "head -c 4900 /dev/zero");
  int fds[3];

  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_true (dvmd_controller_attach (self->controller, job, DVM_STREAMS_STDOUT, fds, NULL));
  fcntl (fds[1], F_SETPIPE_SZ, 4096);
  run_beyond_the_history (self);
  g_assert_cmpuint (read_slowly (fds[1]), ==, 4900);
}

/* ---- files that a job brings along ---- */

#define LARGE (G_GUINT64_CONSTANT (256) << 20)

/* A file of so many bytes that takes no room, beside the runtime directories. */
static char *
make_file (Fixture *self, const char *name, guint64 size)
{
  char *path = g_build_filename (self->dir, name, NULL);

  g_assert_true (g_file_set_contents (path, "content\n", 8, NULL));
  if (size > 0)
    g_assert_cmpint (truncate (path, size), ==, 0);
  return path;
}

static DvmdJob *
submit_with_file (Fixture *self, const char *file, const char *script)
{
  const char *argv[] = { "/bin/sh", "-c", script, NULL };
  const char *files[] = { file, NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  g_autoptr (GError) error = NULL;
  const int fds[3] = { -1, -1, -1 };
  DvmdJob *job;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 2);
  dvm_app_spec_set_preload_files (dvm_job_spec_get_app (spec, 0), files);
  dvm_app_spec_set_session_cwd (dvm_job_spec_get_app (spec, 0), TRUE);
  dvm_job_spec_set_map_by (spec, "node");
  dvm_job_spec_set_personality (spec, "plain");
  job = dvmd_controller_submit (self->controller, spec, requester, fds, &error);
  g_assert_no_error (error);
  return job;
}

static char *
session_of (Fixture *self, guint node, DvmdJob *job)
{
  return g_strdup_printf ("%s/node-%u/sessions/%s", self->dir, node, nspace_of (job));
}

static gboolean
has_session (Fixture *self, guint node, DvmdJob *job)
{
  g_autofree char *path = session_of (self, node, job);

  return g_file_test (path, G_FILE_TEST_IS_DIR);
}

static void
assert_failed_alone (Fixture *self, DvmdJob *job, DvmJobState state, const char *words)
{
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpstr (dvm_job_state_to_string (dvmd_job_get_state (job)), ==, dvm_job_state_to_string (state));
  g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (job)), words));
  for (guint node = 1; node <= 2; node++)
    g_assert_false (has_session (self, node, job));
  job = submit (self, 4, "plain", "true");
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_NOTIFIED);
}

static void
test_staging (Fixture *self, gconstpointer data)
{
  g_autofree char *file = make_file (self, "data", 0);
  DvmdJob *job = submit_with_file (self, file, "pwd; test $PWD = $DVM_SESSION_DIR && cat data");
  g_autofree char *text = NULL;
  int fds[3];

  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpstr (dvm_job_get_reason (dvmd_job_get_record (job)), ==, "");
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_NOTIFIED);
  g_assert_true (dvmd_controller_attach (self->controller, job, DVM_STREAMS_STDOUT, fds, NULL));
  for (guint i = 0; i < 100; i++)
    g_main_context_iteration (NULL, FALSE);
  text = read_all (fds[1]);
  for (guint node = 1; node <= 2; node++)
    {
      g_autofree char *session = session_of (self, node, job);

      g_assert_nonnull (strstr (text, session));
      g_assert_false (has_session (self, node, job));
    }
  g_assert_true (g_str_has_suffix (text, "content\n"));
}

static void
test_staging_cancelled (Fixture *self, gconstpointer data)
{
  g_autofree char *file = make_file (self, "data", LARGE);
  DvmdJob *job = submit_with_file (self, file, "true");

  wait_until (has_session (self, 1, job) && has_session (self, 2, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_SYSTEM_PREP);
  g_assert_true (dvmd_controller_cancel_job (self->controller, job, "enough", NULL));
  assert_failed_alone (self, job, DVM_JOB_STATE_KILLED_BY_CMD, "enough");
}

static void
test_staging_stopped (Fixture *self, gconstpointer data)
{
  g_autofree char *file = make_file (self, "data", LARGE);
  DvmdJob *job = submit_with_file (self, file, "true");

  /* The end of the DVM finds it half done, and leaves nothing. */
  wait_until (has_session (self, 1, job));
  dvmd_controller_shutdown (self->controller, TRUE, "the test is over");
  wait_until (self->ended);
  for (guint node = 1; node <= 2; node++)
    g_assert_false (has_session (self, node, job));
}

static void
test_staging_again (Fixture *self, gconstpointer data)
{
  g_autofree char *file = make_file (self, "data", LARGE / 16);
  DvmdJob *job = submit_with_file (self, file, "test $(wc -c <data) = 16777216");

  wait_until (has_session (self, 1, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_SYSTEM_PREP);
  /* As after another map. */
  dvmd_job_step_system_prep (job, NULL);
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpstr (dvm_job_get_reason (dvmd_job_get_record (job)), ==, "");
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_NOTIFIED);
}

static void
test_staging_file_changes (Fixture *self, gconstpointer data)
{
  const guint64 sizes[] = { LARGE + 1, 0 };
  const char *words[] = { "grew while it was being read", "became shorter while it was being read" };

  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *file = make_file (self, "data", i == 0 ? LARGE / 16 : LARGE);
      DvmdJob *job = submit_with_file (self, file, "true");

      wait_until (has_session (self, 1, job));
      g_assert_cmpint (truncate (file, sizes[i]), ==, 0);
      assert_failed_alone (self, job, DVM_JOB_STATE_FILES_POSN_FAILED, words[i]);
      g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (job)), file));
    }
}

static void
test_staging_fails_on_a_node (Fixture *self, gconstpointer data)
{
  g_autofree char *file = make_file (self, "data", LARGE);
  g_autofree char *node = g_build_filename (self->dir, "node-2", NULL);

  /* In the way of all session directories of the second node. */
  g_assert_true (g_file_set_contents (node, "", 0, NULL));
  assert_failed_alone (self, submit_with_file (self, file, "true"), DVM_JOB_STATE_FILES_POSN_FAILED,
                       "cannot be staged on two: ");
}

#define add(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

static DvmJobSpec *
spec_with_paths (const char *stdout_path, const char *stderr_path)
{
  const char *argv[] = { "/bin/sh", "-c", "echo new", NULL };
  DvmJobSpec *spec = dvm_job_spec_new_for_argv (argv);

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 1);
  dvm_job_spec_set_personality (spec, "plain");
  dvm_job_spec_set_stdout_path (spec, stdout_path);
  dvm_job_spec_set_stderr_path (spec, stderr_path);
  return spec;
}

static void
assert_contents (const char *path, const char *wanted)
{
  g_autofree char *text = NULL;

  g_file_get_contents (path, &text, NULL, NULL);
  g_assert_cmpstr (text, ==, wanted);
}

/* A submission that comes to nothing leaves files as they were; one that is accepted begins them anew. */
static void
test_refused_files (Fixture *self, gconstpointer data)
{
  g_autofree char *old = g_build_filename (self->dir, "old", NULL);
  g_autofree char *fresh = g_build_filename (self->dir, "fresh", NULL);
  g_autofree char *nowhere = g_build_filename (self->dir, "no", "where", NULL);
  g_autoptr (DvmJobSpec) good = spec_with_paths (old, fresh);
  g_autoptr (DvmJobSpec) bad_old = spec_with_paths (old, nowhere);
  g_autoptr (DvmJobSpec) bad_fresh = spec_with_paths (fresh, nowhere);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  const int fds[3] = { -1, -1, -1 };
  DvmdSubmission *prepared;
  DvmdJob *job;

  g_file_set_contents (old, "old", -1, NULL);
  g_assert_null (dvmd_controller_submit (self->controller, bad_old, requester, fds, NULL));
  g_assert_null (dvmd_controller_submit (self->controller, bad_fresh, requester, fds, NULL));
  assert_contents (old, "old");
  assert_contents (fresh, NULL);
  /* One of many, of which another is refused. */
  prepared = dvmd_controller_prepare_job (self->controller, good, requester, fds, NULL);
  g_assert_nonnull (prepared);
  dvmd_submission_free (prepared);
  assert_contents (old, "old");
  assert_contents (fresh, NULL);
  job = dvmd_controller_submit (self->controller, good, requester, fds, NULL);
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  assert_contents (old, "new\n");
  assert_contents (fresh, "");
}

static void
test_shared_file (Fixture *self, gconstpointer data)
{
  g_autofree char *path = g_build_filename (self->dir, "both", NULL);
  g_autoptr (DvmJobSpec) spec = spec_with_paths (path, NULL);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  const int fds[3] = { -1, -1, -1 };
  DvmdSubmission *prepared[2];

  g_file_set_contents (path, "old", -1, NULL);
  for (guint i = 0; i < 2; i++)
    prepared[i] = dvmd_controller_prepare_job (self->controller, spec, requester, fds, NULL);
  for (guint i = 0; i < 2; i++)
    dvmd_submission_begin (prepared[i]);
  for (guint i = 0; i < 2; i++)
    {
      DvmdJob *job = dvmd_controller_accept_job (self->controller, prepared[i], requester, NULL);

      wait_until (dvmd_controller_job_is_finished (self->controller, job));
    }
  assert_contents (path, "new\nnew\n");
}

int
main (int argc, char **argv)
{
  signal (SIGPIPE, SIG_IGN);
  g_test_init (&argc, &argv, NULL);
  add ("/engine/output", test_output);
  add ("/engine/kept-in-all", test_kept_in_all);
  add ("/engine/environment", test_environment);
  add ("/engine/environment-asked", test_environment_asked);
  add ("/engine/environment-cancel", test_environment_cancel);
  add ("/engine/fence", test_fence);
  add ("/engine/lost-first", test_lost_first);
  add ("/engine/modex", test_modex);
  add ("/engine/node-lost", test_node_lost);
  add ("/engine/node-lost/recoverable", test_node_lost_recoverable);
  add ("/engine/node-lost/while-registered", test_node_lost_while_registered);
  add ("/engine/node-lost/stdin", test_node_lost_stdin);
  add ("/engine/abort", test_abort);
  add ("/engine/registration-fails", test_registration_fails);
  add ("/engine/cancel-early", test_cancel_early);
  add ("/engine/cancel-while-registered", test_cancel_while_registered);
  add ("/engine/cancel-half-started", test_cancel_half_started);
  add ("/engine/forgotten-while-read", test_forgotten_while_read);
  add ("/engine/forgotten-while-kept-is-read", test_forgotten_while_kept_is_read);
  add ("/engine/refused-files", test_refused_files);
  add ("/engine/shared-file", test_shared_file);
  add ("/engine/staging", test_staging);
  add ("/engine/staging/cancelled", test_staging_cancelled);
  add ("/engine/staging/stopped", test_staging_stopped);
  add ("/engine/staging/again", test_staging_again);
  add ("/engine/staging/file-changes", test_staging_file_changes);
  add ("/engine/staging/fails-on-a-node", test_staging_fails_on_a_node);
  return g_test_run ();
}
