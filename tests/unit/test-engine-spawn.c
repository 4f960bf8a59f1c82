/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Processes and tools that start jobs: a controller with two agents in one process, each with a PMIx server that the
 * test plays the clients of.
 */

#include "config.h"

#include <glib-unix.h>
#include <signal.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "dvmd-admission.h"
#include "dvmd-controller-private.h"
#include "dvmd-controller-streams.h"
#include "dvmd-job-registry.h"
#include "engine-fixture.h"
#include "process-state.h"
#include "wait-until.h"

typedef struct
{
  EngineFixture engine;
  DvmdJob *job; /* one rank on each node */
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  DvmdControllerSettings settings = { .pmix_events = TRUE };

  engine_fixture_start (&self->engine, &settings);
  self->job = engine_fixture_run_job (&self->engine);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  engine_fixture_end (&self->engine, TRUE);
  engine_fixture_clear (&self->engine);
}

static const char *
get_nspace (Fixture *self)
{
  return dvm_job_get_nspace (dvmd_job_get_record (self->job));
}

/* By rank 1, which is on the second node. */
static guint64
ask (Fixture *self, const char *job, guint timeout)
{
  return pmix_fake_spawn (self->engine.fakes[1], get_nspace (self), 1, g_variant_new_parsed (job), timeout, 0);
}

static int
wait_for_answer (Fixture *self, guint64 token, const char **nspace)
{
  int status = 0;

  wait_until (pmix_fake_get_spawn (self->engine.fakes[1], token, &status, nspace));
  return status;
}

static int
spawn (Fixture *self, const char *job)
{
  const char *nspace;
  int status = wait_for_answer (self, ask (self, job, 0), &nspace);

  g_assert_cmpint (status == DVMD_PMIX_SUCCESS, ==, nspace != NULL);
  return status;
}

static guint
count (Fixture *self, guint node, int event, GVariant **details)
{
  return pmix_fake_count_events (self->engine.fakes[node], get_nspace (self), 1, event, details);
}

/* The answer says what runs; the start and the end are told to that rank alone. */
static void
test_runs (Fixture *self, gconstpointer data)
{
  const char *nspace;
  guint64 token = ask (self, "([{'argv': <['sh', '-c', 'exit 3']>}], @a{sv} {})", 0);
  GVariant *details = NULL;
  g_autofree char *text = NULL;
  g_autofree char *expected = NULL;

  g_assert_cmpint (wait_for_answer (self, token, &nspace), ==, DVMD_PMIX_SUCCESS);
  wait_until (count (self, 1, DVMD_PMIX_EVENT_JOB_END, &details) == 1);
  g_assert_cmpuint (count (self, 1, DVMD_PMIX_EVENT_JOB_START, NULL), ==, 1);
  text = g_variant_print (details, TRUE);
  expected = g_strdup_printf ("{'pmix.evproc': <('%s', uint32 4294967294)>, 'pmix.nspace': <'%s'>, "
                              "'pmix.job.term.status': <(3,)>, 'pmix.exit.code': <3>}",
                              nspace, nspace);
  g_assert_cmpstr (text, ==, expected);
  g_assert_cmpuint (pmix_fake_get_events (self->engine.fakes[0])->len, ==, 0);
  g_assert_cmpuint (engine_count (self->engine.controller, "spawns-open"), ==, 0);
}

/* map-by of an application says for its job that there may be more processes than slots. */
static void
test_oversubscribes (Fixture *self, gconstpointer data)
{
  g_assert_cmpint (spawn (self, "([{'argv': <['/bin/true']>, 'np': <uint32 40>, 'map-by': <'slot:OVERSUBSCRIBE'>}, "
                                "{'argv': <['/bin/true']>, 'np': <uint32 1>, 'bind-to': <'none'>}], "
                                "{'personality': <'plain'>})"),
                   ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (spawn (self, "([{'argv': <['/bin/true']>, 'np': <uint32 40>, 'map-by': <'slot'>}], "
                                "{'personality': <'plain'>})"),
                   !=, DVMD_PMIX_SUCCESS);
}

/* Of many at once a few are started at a time, so that others come in between; all are answered, in their order. */
static void
test_in_turn (Fixture *self, gconstpointer data)
{
  const char *argv[] = { "/bin/true", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:2", getuid (), getpid ());
  const int fds[3] = { -1, -1, -1 };
  guint64 tokens[100];
  const char *last = NULL;
  DvmdJob *job;
  guint n_before;

  for (guint i = 0; i < G_N_ELEMENTS (tokens); i++)
    tokens[i] = ask (self, "([{'argv': <['/bin/true']>}], {'when-full': <'oversubscribe'>})", 0);
  wait_until (engine_count (self->engine.controller, "spawns-open") > 0);
  n_before = engine_count (self->engine.controller, "spawns-open");
  g_assert_cmpuint (n_before, <=, 32);
  /* It has its number before most of them. */
  job = dvmd_controller_submit (self->engine.controller, spec, requester, fds, NULL);
  g_assert_cmpuint (dvmd_job_get_id (job), <=, dvmd_job_get_id (self->job) + n_before + 1);
  for (guint i = 0; i < G_N_ELEMENTS (tokens); i++)
    {
      const char *nspace;

      g_assert_cmpint (wait_for_answer (self, tokens[i], &nspace), ==, DVMD_PMIX_SUCCESS);
      g_assert_true (last == NULL || strlen (nspace) > strlen (last) || strcmp (nspace, last) > 0);
      last = nspace;
    }
  wait_until (engine_count (self->engine.controller, "spawns-open") == 0);
  g_assert_cmpuint (engine_count (self->engine.controller, "spawns-starting"), ==, 0);
  g_assert_cmpuint (engine_count (self->engine.controller, "calls-open"), ==, 0);
}

/* Spawns that are left when the parent goes are not started, and nothing is kept of them. */
static void
test_in_turn_and_gone (Fixture *self, gconstpointer data)
{
  for (guint i = 0; i < 100; i++)
    ask (self, "([{'argv': <['/bin/true']>}], {'when-full': <'oversubscribe'>})", 0);
  wait_until (engine_count (self->engine.controller, "spawns-open") > 0);
  dvmd_core_fail_job (dvmd_controller_get_core (self->engine.controller), self->job, DVM_JOB_STATE_KILLED_BY_CMD,
                      "enough");
  wait_until (engine_count (self->engine.controller, "spawns-open") == 0
              && engine_count (self->engine.controller, "spawns-starting") == 0);
  g_assert_cmpuint (dvmd_core_get_statistics (dvmd_controller_get_core (self->engine.controller))->jobs_submitted, <,
                    101);
  g_assert_cmpuint (engine_count (self->engine.controller, "calls-open"), ==, 0);
}

/* Its PMIx server knows who has spawned it. */
static void
test_parent (Fixture *self, gconstpointer data)
{
  const char *nspace;
  guint64 token = ask (self, "([{'argv': <['/bin/sleep', '1000']>}], {'map-by': <'node'>})", 0);
  DvmdPmixJob *job;

  g_assert_cmpint (wait_for_answer (self, token, &nspace), ==, DVMD_PMIX_SUCCESS);
  job = pmix_fake_find_job (self->engine.fakes[0], nspace);
  if (job == NULL)
    job = pmix_fake_find_job (self->engine.fakes[1], nspace);
  g_assert_nonnull (job);
  g_assert_cmpstr (job->parent_nspace, ==, get_nspace (self));
  g_assert_cmpuint (job->parent_rank, ==, 1);
  job = pmix_fake_find_job (self->engine.fakes[0], get_nspace (self));
  g_assert_null (job->parent_nspace);
}

/* Each of what can go wrong has a status of its own, and nothing is told besides. */
static void
test_failures (Fixture *self, gconstpointer data)
{
  static const struct
  {
    const char *job;
    int status;
  } cases[] = {
    { "([{'argv': <['/no/such/program']>}], @a{sv} {})", DVMD_PMIX_ERR_JOB_EXE_NOT_FOUND },
    { "([{'argv': <['/etc/passwd']>}], @a{sv} {})", DVMD_PMIX_ERR_JOB_APP_NOT_EXECUTABLE },
    { "([{'argv': <['true']>, 'hosts': <['nowhere']>}], @a{sv} {})", DVMD_PMIX_ERR_JOB_FAILED_TO_MAP },
    { "([{'argv': <['true']>, 'np': <uint32 3>}], @a{sv} {})", DVMD_PMIX_ERR_JOB_FAILED_TO_MAP },
    { "([{'argv': <['true']>}], {'what': <'ever'>})", DVMD_PMIX_ERR_BAD_PARAM },
    { "([{'argv': <['true']>}], {'map-by': <'colocate'>})", DVMD_PMIX_ERR_BAD_PARAM },
    { "([{'argv': <@as []>}], @a{sv} {})", DVMD_PMIX_ERR_BAD_PARAM },
    { "(@aa{sv} [], @a{sv} {})", DVMD_PMIX_ERR_BAD_PARAM },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpint (spawn (self, cases[i].job), ==, cases[i].status);
  g_assert_cmpuint (pmix_fake_get_events (self->engine.fakes[1])->len, ==, 0);
  g_assert_cmpuint (engine_count (self->engine.controller, "spawns-open"), ==, 0);
}

/* (transfer full): a request with a file of hosts that there are not, which takes a while to read */
static GVariant *
name_file (Fixture *self)
{
  g_autofree char *path = g_build_filename (self->engine.dir, "hostfile", NULL);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < 300000; i++)
    g_string_append_printf (text, "host%u\n", i);
  g_assert_true (g_file_set_contents (path, text->str, text->len, NULL));
  return g_variant_ref_sink (g_variant_new_parsed ("([{'argv': <['true']>, 'hostfile': <%s>}], @a{sv} {})", path));
}

static gboolean
on_tick (gpointer n_ticks)
{
  ++*(guint *)n_ticks;
  return G_SOURCE_CONTINUE;
}

/* Files are read beside the main loop; who has gone meanwhile has asked for nothing. */
static void
test_files (Fixture *self, gconstpointer data)
{
  DvmdPmixHost *host = pmix_fake_get_host (self->engine.fakes[0]);
  g_autoptr (GVariant) request = name_file (self);
  g_autofree char *path = g_build_filename (self->engine.dir, "hostfile", NULL);
  guint32 rank = 0;
  g_autofree char *tool = dvmd_pmix_host_tool_connected (host, NULL, &rank);
  guint n_ticks = 0;
  guint source = g_timeout_add (1, on_tick, &n_ticks);
  const char *nspace;

  pmix_fake_spawn (self->engine.fakes[0], tool, rank, request, 0, 0);
  wait_until (engine_count (self->engine.controller, "tools") == 1);
  dvmd_pmix_host_lost (host, tool, rank);
  wait_until (engine_count (self->engine.controller, "tools") == 0);
  for (guint i = 0; i < 2; i++)
    {
      guint64 token = pmix_fake_spawn (self->engine.fakes[1], get_nspace (self), 1, request, 0, 0);

      n_ticks = 0;
      g_assert_cmpint (wait_for_answer (self, token, &nspace), ==, DVMD_PMIX_ERR_JOB_FAILED_TO_MAP);
      g_assert_cmpuint (n_ticks, >, 5);
    }
  g_source_remove (source);
  /* That of the tool is read beside them, and fails a turn after it was submitted. */
  wait_until (dvmd_core_get_statistics (dvmd_controller_get_core (self->engine.controller))->jobs_submitted == 3);
  wait_until (engine_count (self->engine.controller, "calls-open") == 0);
  g_unlink (path);
}

/* fd does not block. */
static gboolean
has_read (int fd, GString *text, const char *part)
{
  char buffer[4096];
  ssize_t n = read (fd, buffer, sizeof buffer);

  g_assert_cmpint (n, !=, 0);
  if (n > 0)
    g_string_append_len (text, buffer, n);
  return strstr (text->str, part) != NULL;
}

/* The job that asked has it on its standard error: PMIx tells it a number. */
static void
test_says_why (Fixture *self, gconstpointer data)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  int fds[3];

  g_assert_true (dvmd_controller_attach (self->engine.controller, self->job, DVM_STREAMS_STDERR, fds, &error));
  g_assert_true (g_unix_set_fd_nonblocking (fds[2], TRUE, NULL));
  spawn (self, "([{'argv': <['/no/such/program']>, 'np': <uint32 1>}], @a{sv} {})");
  wait_until (
      has_read (fds[2], text, ": what rank 1 wanted to spawn was not started: Rank 0 on two could not be started"));
  spawn (self, "([{'argv': <['true']>, 'np': <uint32 3>}], @a{sv} {})");
  wait_until (has_read (fds[2], text, "was not started: The job asks for 3 processes, but free slots are only 2 of 4"));
  spawn (self, "([{'argv': <['true']>}], {'map-by': <'colocate'>})");
  wait_until (has_read (fds[2], text, "colocate"));
  close (fds[2]);
}

/* As the job that asks was told. */
static void
test_inherits_when_full (Fixture *self, gconstpointer data)
{
  const char *job = "([{'argv': <['true']>, 'np': <uint32 3>}], @a{sv} {})";

  g_assert_cmpint (spawn (self, job), ==, DVMD_PMIX_ERR_JOB_FAILED_TO_MAP);
  dvm_job_spec_set_when_full (dvmd_job_get_spec (self->job), "oversubscribe");
  g_assert_cmpint (spawn (self, job), ==, DVMD_PMIX_SUCCESS);
  job = "([{'argv': <['true']>, 'np': <uint32 3>}], {'when-full': <'refuse'>})";
  g_assert_cmpint (spawn (self, job), ==, DVMD_PMIX_ERR_JOB_FAILED_TO_MAP);
}

/* The job that came last. */
static DvmdJob *
find_last (Fixture *self)
{
  DvmdCore *core = dvmd_controller_get_core (self->engine.controller);
  DvmdJob *last = NULL;

  for (GList *l = dvmd_core_get_live_jobs (core); l != NULL; l = l->next)
    if (last == NULL || dvmd_job_get_id (l->data) > dvmd_job_get_id (last))
      last = l->data;
  return last;
}

/* Slots of children that end are waited for, for a moment, and so in their order. */
static void
test_waits_for_children (Fixture *self, gconstpointer data)
{
  const char *sleeps = "([{'argv': <['sleep', '1000']>, 'np': <uint32 2>}], @a{sv} {})";
  const char *nspace;
  DvmdJob *first;
  DvmdJob *next;
  guint64 tokens[2];

  g_assert_cmpint (spawn (self, sleeps), ==, DVMD_PMIX_SUCCESS);
  first = find_last (self);
  tokens[0] = ask (self, sleeps, 0);
  wait_until (find_last (self) != first && dvmd_admission_is_waiting (find_last (self)));
  next = find_last (self);
  tokens[1] = ask (self, "([{'argv': <['true']>}], @a{sv} {})", 0);
  wait_until (find_last (self) != next && dvmd_admission_is_waiting (find_last (self)));
  dvmd_core_fail_job (dvmd_controller_get_core (self->engine.controller), first, DVM_JOB_STATE_KILLED_BY_CMD,
                      "for the test");
  g_assert_cmpint (wait_for_answer (self, tokens[0], &nspace), ==, DVMD_PMIX_SUCCESS);
  /* The job before it has the slots, and goes on. */
  g_assert_cmpint (wait_for_answer (self, tokens[1], &nspace), ==, DVMD_PMIX_ERR_JOB_FAILED_TO_MAP);
  g_assert_cmpint (spawn (self, "([{'argv': <['true']>, 'np': <uint32 3>}], @a{sv} {})"), ==,
                   DVMD_PMIX_ERR_JOB_FAILED_TO_MAP);
}

/* One that waits its moment ends with what it is a child of. */
static void
test_moment_and_end (Fixture *self, gconstpointer data)
{
  const char *sleeps = "([{'argv': <['sleep', '1000']>, 'np': <uint32 2>}], @a{sv} {})";
  guint64 token;
  const char *nspace;
  DvmdJob *first;

  g_assert_cmpint (spawn (self, sleeps), ==, DVMD_PMIX_SUCCESS);
  first = find_last (self);
  token = ask (self, sleeps, 0);
  wait_until (find_last (self) != first && dvmd_admission_is_waiting (find_last (self)));
  dvmd_controller_shutdown (self->engine.controller, FALSE, "for the test");
  g_assert_cmpint (wait_for_answer (self, token, &nspace), ==, DVMD_PMIX_ERR_JOB_KILLED_BY_CMD);
}

/* A caller that is no process of the node is not heard. */
static void
test_strangers (Fixture *self, gconstpointer data)
{
  const char *job = "([{'argv': <['true']>}], @a{sv} {})";
  const char *nspace;
  guint64 token = pmix_fake_spawn (self->engine.fakes[1], get_nspace (self), 0, g_variant_new_parsed (job), 0, 0);

  g_assert_cmpint (wait_for_answer (self, token, &nspace), ==, DVMD_PMIX_ERR_NO_PERMISSIONS);
  token = pmix_fake_spawn (self->engine.fakes[1], "nobody", 0, g_variant_new_parsed (job), 0, 0);
  g_assert_cmpint (wait_for_answer (self, token, &nspace), ==, DVMD_PMIX_ERR_NO_PERMISSIONS);
}

/* A job that cannot run soon enough does not run. */
static void
test_timeout (Fixture *self, gconstpointer data)
{
  const char *nspace;
  guint64 token = ask (self, "([{'argv': <['true']>, 'np': <uint32 3>}], {'when-full': <'wait'>})", 1);

  g_assert_cmpint (wait_for_answer (self, token, &nspace), ==, DVMD_PMIX_ERR_TIMEOUT);
}

/* The requester has gone before the answer: nobody is told anything. */
static void
test_gone (Fixture *self, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  guint64 token = ask (self, "([{'argv': <['true']>, 'np': <uint32 3>}], {'when-full': <'wait'>})", 0);
  const char *nspace;
  int status;

  wait_until (engine_count (self->engine.controller, "spawns-open") == 1);
  kill ((pid_t)dvmd_proc_table_row (dvmd_job_get_procs (self->job), 1)->pid, SIGKILL);
  wait_until (dvm_job_get_num_terminated (dvmd_job_get_record (self->job)) == 1);
  /* There is room for it now, so that it runs. */
  g_assert_true (dvmd_controller_cancel_job (self->engine.controller, self->job, "", &error));
  wait_until (engine_count (self->engine.controller, "spawns-open") == 0);
  /* The library hands it to nobody. */
  wait_until (pmix_fake_get_spawn (self->engine.fakes[1], token, &status, &nspace));
  g_assert_cmpuint (pmix_fake_get_events (self->engine.fakes[1])->len, ==, 0);
}

/* PMIX_ERR_RESOURCE_BUSY */
#define PMIX_BUSY (-28)

#define WAITS "([{'argv': <['true']>, 'np': <uint32 3>}], {'when-full': <'wait'>})"

/* The only one, and the last job that came. */
static DvmdJob *
find_spawned (Fixture *self)
{
  DvmdCore *core = dvmd_controller_get_core (self->engine.controller);
  guint id = 1;

  wait_until (engine_count (self->engine.controller, "spawns-open") == 1);
  while (dvmd_core_get_job (core, id + 1) != NULL)
    id++;
  return dvmd_core_get_job (core, id);
}

/* The node of who waits is lost: what it has spawned is not to be told of there. */
static void
test_lost_node (Fixture *self, gconstpointer data)
{
  DvmdJob *job;

  ask (self, WAITS, 0);
  job = find_spawned (self);
  dvmd_services_agent_gone (self->engine.controller, 1);
  g_assert_cmpuint (engine_count (self->engine.controller, "spawns-open"), ==, 1);
  dvmd_services_agent_gone (self->engine.controller, 2);
  g_assert_cmpuint (engine_count (self->engine.controller, "spawns-open"), ==, 0);
  dvmd_core_fail_job (dvmd_controller_get_core (self->engine.controller), job, DVM_JOB_STATE_KILLED_BY_CMD,
                      "for the test");
  wait_until (dvmd_job_get_ended (job));
  g_assert_cmpuint (pmix_fake_get_events (self->engine.fakes[1])->len, ==, 0);
}

/* Some of its ranks have ended badly before all were known to run: it has run all the same. */
static void
test_ended_before_it_ran (Fixture *self, gconstpointer data)
{
  const char *nspace;
  guint64 token = ask (self, WAITS, 0);
  DvmdJob *job = find_spawned (self);

  dvmd_core_fail_job (dvmd_controller_get_core (self->engine.controller), job, DVM_JOB_STATE_ABORTED_BY_SIG,
                      "for the test");
  g_assert_cmpint (wait_for_answer (self, token, &nspace), ==, DVMD_PMIX_SUCCESS);
  wait_until (count (self, 1, DVMD_PMIX_EVENT_JOB_END, NULL) == 1);
  g_assert_cmpuint (count (self, 1, DVMD_PMIX_EVENT_JOB_START, NULL), ==, 1);
  g_assert_cmpuint (engine_count (self->engine.controller, "spawns-open"), ==, 0);
}

/* Another job has one of the two slots that are left: what is with a short one waits for it. Returns what waits. */
static DvmdJob *
ask_with_one_that_waits (Fixture *self, guint timeout, guint64 *token)
{
  guint last = dvmd_core_get_last_job_id (dvmd_controller_get_core (self->engine.controller));

  *token = ask (self,
                "([{'argv': <['true']>, 'np': <uint32 1>}], {'spawn-with': <@a(aa{sv}a{sv}) "
                "[([{'argv': <['sleep', '1000']>, 'np': <uint32 2>}], {'when-full': <'wait'>})]>})",
                timeout);
  wait_until (dvmd_job_get_id (find_last (self)) == last + 2 && dvmd_admission_is_waiting (find_last (self)));
  return find_last (self);
}

/* The answer is that of all of them, also where the first one has ended before the others have begun. */
static void
test_with_short_one (Fixture *self, gconstpointer data)
{
  DvmdCore *core = dvmd_controller_get_core (self->engine.controller);
  const char *nspace;
  guint64 token;
  DvmdJob *other;
  DvmdJob *leader;
  DvmdJob *with;
  int status;

  g_assert_cmpint (spawn (self, "([{'argv': <['sleep', '1000']>, 'np': <uint32 1>}], @a{sv} {})"), ==,
                   DVMD_PMIX_SUCCESS);
  other = find_last (self);
  with = ask_with_one_that_waits (self, 0, &token);
  leader = dvmd_core_get_job (core, dvmd_job_get_id (with) - 1);
  wait_until (dvmd_job_get_ended (leader));
  g_assert_false (pmix_fake_get_spawn (self->engine.fakes[1], token, &status, &nspace));
  dvmd_core_fail_job (core, other, DVM_JOB_STATE_KILLED_BY_CMD, "for the test");
  g_assert_cmpint (wait_for_answer (self, token, &nspace), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpstr (nspace, ==, dvm_job_get_nspace (dvmd_job_get_record (leader)));
  g_assert_cmpint (dvmd_job_get_state (with), ==, DVM_JOB_STATE_RUNNING);
  wait_until (count (self, 1, DVMD_PMIX_EVENT_JOB_START, NULL) == 3);
  wait_until (count (self, 1, DVMD_PMIX_EVENT_JOB_END, NULL) == 2);
  dvmd_core_fail_job (core, with, DVM_JOB_STATE_KILLED_BY_CMD, "for the test");
  wait_until (count (self, 1, DVMD_PMIX_EVENT_JOB_END, NULL) == 3);
  g_assert_cmpuint (engine_count (self->engine.controller, "spawns-open"), ==, 0);
}

static void
test_with_short_one_fails (Fixture *self, gconstpointer data)
{
  DvmdCore *core = dvmd_controller_get_core (self->engine.controller);
  const char *nspace;
  guint64 token;
  DvmdJob *with;

  g_assert_cmpint (spawn (self, "([{'argv': <['sleep', '1000']>, 'np': <uint32 1>}], @a{sv} {})"), ==,
                   DVMD_PMIX_SUCCESS);
  with = ask_with_one_that_waits (self, 0, &token);
  wait_until (dvmd_job_get_ended (dvmd_core_get_job (core, dvmd_job_get_id (with) - 1)));
  dvmd_core_fail_job (core, with, DVM_JOB_STATE_KILLED_BY_CMD, "for the test");
  g_assert_cmpint (wait_for_answer (self, token, &nspace), ==, DVMD_PMIX_ERR_JOB_FAILED_TO_LAUNCH);
  with = ask_with_one_that_waits (self, 1, &token);
  g_assert_cmpint (wait_for_answer (self, token, &nspace), ==, DVMD_PMIX_ERR_TIMEOUT);
  wait_until (dvmd_job_get_ended (with));
  wait_until (engine_count (self->engine.controller, "spawns-open") == 1);
  with = ask_with_one_that_waits (self, 0, &token);
  wait_until (dvmd_job_get_ended (dvmd_core_get_job (core, dvmd_job_get_id (with) - 1)));
  dvmd_core_fail_job (core, self->job, DVM_JOB_STATE_KILLED_BY_CMD, "for the test");
  wait_until (engine_count (self->engine.controller, "spawns-open") == 0);
}

/* The environment of the parent is that which it was given, also where that was little. */
static void
test_inherits (Fixture *self, gconstpointer data)
{
  const char *const env[] = { "ONE=1", "TWO=2", "THREE=3", NULL };
  const char *const unset[] = { "FOUR", NULL };
  DvmAppSpec *parent = dvm_job_spec_get_app (dvmd_job_get_spec (self->job), 0);
  g_autofree char *whole = NULL;
  g_autofree char *gone = NULL;
  DvmAppSpec *app;

  dvm_app_spec_set_env (parent, env);
  dvm_app_spec_set_unset_env (parent, unset);
  dvm_app_spec_set_clear_env (parent, TRUE);
  dvm_app_spec_set_cwd (parent, "/usr");
  ask (self,
       "([{'argv': <['true']>, 'np': <uint32 3>, 'env': <{'TWO': 'new'}>, 'unset-env': <['THREE', 'TW']>}], "
       "{'when-full': "
       "<'wait'>})",
       0);
  app = dvm_job_spec_get_app (dvmd_job_get_spec (find_spawned (self)), 0);
  whole = g_strjoinv (" ", (char **)dvm_app_spec_get_env (app));
  gone = g_strjoinv (" ", (char **)dvm_app_spec_get_unset_env (app));
  g_assert_cmpstr (whole, ==, "ONE=1 TWO=2 TWO=new");
  g_assert_cmpstr (gone, ==, "FOUR THREE TW");
  g_assert_true (dvm_app_spec_get_clear_env (app));
  g_assert_cmpstr (dvm_app_spec_get_cwd (app), ==, "/usr");
}

static void
test_shutdown (Fixture *self, gconstpointer data)
{
  guint64 token = ask (self, "([{'argv': <['true']>, 'np': <uint32 3>}], {'when-full': <'wait'>})", 0);
  const char *nspace;

  wait_until (engine_count (self->engine.controller, "spawns-open") == 1);
  dvmd_controller_shutdown (self->engine.controller, FALSE, "for the test");
  g_assert_cmpint (wait_for_answer (self, token, &nspace), ==, DVMD_PMIX_ERR_JOB_KILLED_BY_CMD);
}

static void
test_tool (Fixture *self, gconstpointer data)
{
  DvmdPmixHost *host = pmix_fake_get_host (self->engine.fakes[0]);
  guint32 rank = 0;
  g_autofree char *name = dvmd_pmix_host_tool_connected (host, NULL, &rank);
  guint64 token = pmix_fake_spawn (
      self->engine.fakes[0], name, rank,
      g_variant_new_parsed ("([{'argv': <['echo', 'said']>, 'np': <uint32 1>}], @a{sv} {})"), 0,
      DVMD_PMIX_STDOUT | DVMD_PMIX_STDERR);
  g_autofree char *expected = NULL;
  const char *nspace;
  int status = 1;

  wait_until (pmix_fake_get_spawn (self->engine.fakes[0], token, &status, &nspace));
  g_assert_cmpint (status, ==, DVMD_PMIX_SUCCESS);
  wait_until (pmix_fake_count_events (self->engine.fakes[0], name, rank, DVMD_PMIX_EVENT_JOB_END, NULL) == 1);
  expected = g_strdup_printf ("%s.0:%u:said\n", nspace, DVMD_PMIX_STDOUT);
  g_assert_cmpstr (pmix_fake_get_output (self->engine.fakes[0]), ==, expected);
}

/* The tool does not get a stream that it does not want. */
static void
test_tool_withholds (Fixture *self, gconstpointer data)
{
  DvmdPmixHost *host = pmix_fake_get_host (self->engine.fakes[0]);
  guint32 rank = 0;
  g_autofree char *name = dvmd_pmix_host_tool_connected (host, NULL, &rank);
  g_autofree char *expected = NULL;
  const char *nspace;
  int status = 1;
  guint64 token = pmix_fake_spawn (
      self->engine.fakes[0], name, rank,
      g_variant_new_parsed ("([{'argv': <['sh', '-c', 'echo no; echo said >&2']>, 'np': <uint32 1>}], @a{sv} {})"), 0,
      DVMD_PMIX_STDERR);

  wait_until (pmix_fake_get_spawn (self->engine.fakes[0], token, &status, &nspace));
  wait_until (pmix_fake_count_events (self->engine.fakes[0], name, rank, DVMD_PMIX_EVENT_JOB_END, NULL) == 1);
  expected = g_strdup_printf ("%s.0:%u:said\n", nspace, DVMD_PMIX_STDERR);
  g_assert_cmpstr (pmix_fake_get_output (self->engine.fakes[0]), ==, expected);
}

/* The tool that got the output has gone: output that comes is kept for others, as it is of every job. */
static void
test_tool_gone (Fixture *self, gconstpointer data)
{
  DvmdPmixHost *host = pmix_fake_get_host (self->engine.fakes[0]);
  g_autofree char *gate = g_build_filename (self->engine.dir, "gate", NULL);
  g_autofree char *script = g_strdup_printf ("while [ ! -e %s ]; do sleep 0.02; done; echo said", gate);
  g_autoptr (GVariant) request = g_variant_ref_sink (
      g_variant_new_parsed ("([{'argv': <['sh', '-c', %s]>, 'np': <uint32 1>}], @a{sv} {})", script));
  guint32 rank = 0;
  g_autofree char *name = dvmd_pmix_host_tool_connected (host, NULL, &rank);
  guint64 token;
  int fds[3] = { -1, -1, -1 };
  char said[8] = { 0 };
  const char *nspace;
  int status = 1;
  DvmdJob *job;

  dvmd_services_settings_changed (self->engine.controller,
                                  &(DvmdControllerChanges){ .keep_output = 1024, .keep_output_total = 1024 });
  token = pmix_fake_spawn (self->engine.fakes[0], name, rank, request, 0, DVMD_PMIX_STDOUT | DVMD_PMIX_STDERR);
  wait_until (pmix_fake_get_spawn (self->engine.fakes[0], token, &status, &nspace));
  g_assert_cmpint (status, ==, DVMD_PMIX_SUCCESS);
  job = dvmd_core_find_job (dvmd_controller_get_core (self->engine.controller), nspace);
  g_assert_cmpuint (engine_count (self->engine.controller, "tools"), ==, 1);
  dvmd_pmix_host_lost (host, name, rank);
  wait_until (engine_count (self->engine.controller, "tools") == 0);
  g_assert_true (g_file_set_contents (gate, "", 0, NULL));
  wait_until (dvmd_controller_job_is_finished (self->engine.controller, job));
  g_assert_true (dvmd_controller_attach (self->engine.controller, job, DVM_STREAMS_STDOUT, fds, NULL));
  g_assert_true (g_unix_set_fd_nonblocking (fds[1], TRUE, NULL));
  wait_until (read (fds[1], said, sizeof said) == 5);
  g_assert_cmpstr (said, ==, "said\n");
  close (fds[1]);
}

/* ---- control ---- */

static int
control (Fixture *self, const char *nspace, guint32 rank, const char *operation, int signum)
{
  DvmdPmixProc target = { nspace, rank };
  guint64 token = pmix_fake_control (self->engine.fakes[1], get_nspace (self), 1, &target, nspace != NULL ? 1 : 0,
                                     operation, signum);
  int status = 1;

  wait_until (pmix_fake_get_answer (self->engine.fakes[1], token, &status, NULL));
  return status;
}

static DvmdJob *
submit (Fixture *self)
{
  const char *argv[] = { "/bin/sleep", "1000", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  const int fds[3] = { -1, -1, -1 };
  DvmdJob *job;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 1);
  job = dvmd_controller_submit (self->engine.controller, spec, requester, fds, NULL);
  wait_until (dvmd_job_get_state (job) == DVM_JOB_STATE_RUNNING);
  return job;
}

/* A job that it has spawned. */
static DvmdJob *
spawn_job (Fixture *self, const char *job)
{
  const char *nspace;

  g_assert_cmpint (wait_for_answer (self, ask (self, job, 0), &nspace), ==, DVMD_PMIX_SUCCESS);
  return dvmd_core_find_job (dvmd_controller_get_core (self->engine.controller), nspace);
}

#define SLEEP "([{'argv': <['/bin/sleep', '1000']>, 'np': <uint32 1>}], @a{sv} {})"

/* The arrival of a signal is not told, so that the state is polled. */
static void
wait_for_state (DvmdJob *job, char state)
{
  wait_until (get_process_state (dvmd_proc_table_row (dvmd_job_get_procs (job), 0)->pid) == state);
}

static void
test_control (Fixture *self, gconstpointer data)
{
  DvmdJob *child = spawn_job (self, SLEEP);
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (child));

  g_assert_cmpint (control (self, nspace, DVMD_PMIX_RANK_WILDCARD, "pause", 0), ==, DVMD_PMIX_SUCCESS);
  wait_for_state (child, 'T');
  g_assert_cmpint (control (self, nspace, DVMD_PMIX_RANK_WILDCARD, "resume", 0), ==, DVMD_PMIX_SUCCESS);
  wait_for_state (child, 'S');
  g_assert_cmpint (control (self, nspace, 0, "signal", SIGSTOP), ==, DVMD_PMIX_SUCCESS);
  wait_for_state (child, 'T');
  g_assert_cmpint (control (self, nspace, DVMD_PMIX_RANK_WILDCARD, "kill", 0), ==, DVMD_PMIX_SUCCESS);
  wait_until (dvmd_job_get_ended (child));
  g_assert_cmpint (dvmd_job_get_state (child), ==, DVM_JOB_STATE_KILLED_BY_CMD);
  g_assert_cmpint (control (self, nspace, DVMD_PMIX_RANK_WILDCARD, "kill", 0), ==, DVMD_PMIX_ERR_NOT_FOUND);
}

static void
test_control_terminate (Fixture *self, gconstpointer data)
{
  DvmdJob *child = spawn_job (self, SLEEP);

  g_assert_cmpint (
      control (self, dvm_job_get_nspace (dvmd_job_get_record (child)), DVMD_PMIX_RANK_WILDCARD, "terminate", 0), ==,
      DVMD_PMIX_SUCCESS);
  wait_until (dvmd_job_get_ended (child));
  g_assert_cmpint (dvmd_job_get_state (child), ==, DVM_JOB_STATE_KILLED_BY_CMD);
  g_assert_false (dvmd_job_get_ended (self->job));
  /* A request without a target is about the caller's own job. */
  g_assert_cmpint (control (self, NULL, 0, "terminate", 0), ==, DVMD_PMIX_SUCCESS);
  wait_until (dvmd_job_get_ended (self->job));
}

/* One that is told so goes on without its parent, also when that has ended in this moment. */
static void
test_control_separate (Fixture *self, gconstpointer data)
{
  DvmdJob *child = spawn_job (self, SLEEP);
  DvmdJob *other = spawn_job (self, SLEEP);
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (
      control (self, dvm_job_get_nspace (dvmd_job_get_record (child)), DVMD_PMIX_RANK_WILDCARD, "separate", 0), ==,
      DVMD_PMIX_SUCCESS);
  dvmd_controller_cancel_job (self->engine.controller, self->job, "the test wants it", &error);
  g_assert_no_error (error);
  wait_until (dvmd_job_get_ended (other));
  g_assert_cmpint (dvmd_job_get_state (child), ==, DVM_JOB_STATE_RUNNING);
}

static gboolean
is_called (int pid, const char *name)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/comm", pid);
  g_autofree char *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) && g_str_has_prefix (text, name);
}

/* A process that does not heed SIGTERM is not waited for. */
static void
test_control_kill (Fixture *self, gconstpointer data)
{
  DvmdJob *child = spawn_job (
      self, "([{'argv': <['sh', '-c', 'trap \"\" TERM; exec sleep 1000']>, 'np': <uint32 1>}], @a{sv} {})");

  wait_until (is_called (dvmd_proc_table_row (dvmd_job_get_procs (child), 0)->pid, "sleep"));
  self->engine.controller->kill_grace = G_TIME_SPAN_HOUR;
  g_assert_cmpint (control (self, dvm_job_get_nspace (dvmd_job_get_record (child)), DVMD_PMIX_RANK_WILDCARD, "kill", 0),
                   ==, DVMD_PMIX_SUCCESS);
  wait_until (dvmd_job_get_ended (child));
  self->engine.controller->kill_grace = 0;
}

/* The job of whoever controls it has spawned one that has spawned another, and has ended: that one is to go on. */
static void
test_control_separate_at_the_end (Fixture *self, gconstpointer data)
{
  g_autofree char *gate = g_build_filename (self->engine.dir, "gate", NULL);
  g_autofree char *script = g_strdup_printf (
      "([{'argv': <['sh', '-c', 'while [ ! -e %s ]; do sleep 0.02; done']>, 'np': <uint32 1>}], @a{sv} {})", gate);
  DvmdJob *parent = spawn_job (self, script);
  guint node = dvmd_proc_table_row (dvmd_job_get_procs (parent), 0)->node;
  guint64 token = pmix_fake_spawn (self->engine.fakes[node - 1], dvm_job_get_nspace (dvmd_job_get_record (parent)), 0,
                                   g_variant_new_parsed (SLEEP), 0, 0);
  const char *nspace;
  DvmdJob *child;
  int status;

  wait_until (pmix_fake_get_spawn (self->engine.fakes[node - 1], token, &status, &nspace));
  child = dvmd_core_find_job (dvmd_controller_get_core (self->engine.controller), nspace);
  g_assert_true (g_file_set_contents (gate, "", 0, NULL));
  wait_until (dvmd_job_get_ended (parent));
  /* The output of the one is the last of the other. In this turn of the main loop, however slow: its time is short. */
  g_assert_false (dvmd_controller_job_is_finished (self->engine.controller, parent));
  engine_call (self->engine.controller, DVMD_CALL_JOB_CONTROL, 2, get_nspace (self), 1,
               g_variant_new_parsed ("([(%s, %u)], 'separate', 0)", nspace, DVMD_PMIX_RANK_WILDCARD));
  wait_until (dvmd_controller_job_is_finished (self->engine.controller, parent));
  g_assert_cmpint (dvmd_job_get_state (child), ==, DVM_JOB_STATE_RUNNING);
}

/* Some ranks, of several nodes. */
static void
test_control_ranks (Fixture *self, gconstpointer data)
{
  const DvmdPmixProc ranks[] = { { get_nspace (self), 0 }, { get_nspace (self), 1 } };
  PmixFake *fake = self->engine.fakes[1];
  guint64 token = pmix_fake_control (fake, get_nspace (self), 1, ranks, 2, "pause", 0);
  int status = 1;

  wait_until (pmix_fake_get_answer (fake, token, &status, NULL));
  g_assert_cmpint (status, ==, DVMD_PMIX_SUCCESS);
  for (guint i = 0; i < 2; i++)
    wait_until (get_process_state (dvmd_proc_table_row (dvmd_job_get_procs (self->job), i)->pid) == 'T');
  token = pmix_fake_control (fake, get_nspace (self), 1, ranks, 2, "resume", 0);
  for (guint i = 0; i < 2; i++)
    wait_until (get_process_state (dvmd_proc_table_row (dvmd_job_get_procs (self->job), i)->pid) == 'S');
}

/* A job that waits for slots is ended, and has nothing yet to be signalled. */
static void
test_control_waiting (Fixture *self, gconstpointer data)
{
  const char *name;
  guint64 token = ask (self, WAITS, 0);
  DvmdJob *job = find_spawned (self);
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (job));

  g_assert_cmpint (control (self, nspace, DVMD_PMIX_RANK_WILDCARD, "signal", SIGSTOP), ==, PMIX_BUSY);
  g_assert_cmpint (control (self, nspace, 0, "kill", 0), ==, DVMD_PMIX_ERR_NOT_FOUND);
  g_assert_cmpint (control (self, nspace, DVMD_PMIX_RANK_WILDCARD, "kill", 0), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (wait_for_answer (self, token, &name), ==, DVMD_PMIX_ERR_JOB_KILLED_BY_CMD);
}

/* A rank is named twice, a job by its ranks and as a whole. */
static void
test_control_named_twice (Fixture *self, gconstpointer data)
{
  DvmdJob *child = spawn_job (self, SLEEP);
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (child));
  const DvmdPmixProc ranks[] = { { nspace, 0 }, { nspace, 0 } };
  const DvmdPmixProc whole[] = { { nspace, 0 }, { nspace, DVMD_PMIX_RANK_WILDCARD }, { nspace, 0 } };
  PmixFake *fake = self->engine.fakes[1];
  guint64 token = pmix_fake_control (fake, get_nspace (self), 1, ranks, 2, "signal", SIGSTOP);
  int status = 1;

  wait_until (pmix_fake_get_answer (fake, token, &status, NULL));
  g_assert_cmpint (status, ==, DVMD_PMIX_SUCCESS);
  wait_for_state (child, 'T');
  token = pmix_fake_control (fake, get_nspace (self), 1, whole, 3, "kill", 0);
  wait_until (pmix_fake_get_answer (fake, token, &status, NULL));
  g_assert_cmpint (status, ==, DVMD_PMIX_SUCCESS);
  wait_until (dvmd_job_get_ended (child));
}

static void
test_control_refused (Fixture *self, gconstpointer data)
{
  DvmdJob *other = submit (self);
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (other));
  const DvmdPmixProc targets[] = { { get_nspace (self), 0 }, { nspace, DVMD_PMIX_RANK_WILDCARD } };
  guint64 token;
  int status = 1;

  g_assert_cmpint (control (self, nspace, DVMD_PMIX_RANK_WILDCARD, "kill", 0), ==, DVMD_PMIX_ERR_NO_PERMISSIONS);
  g_assert_cmpint (control (self, "nobody", DVMD_PMIX_RANK_WILDCARD, "kill", 0), ==, DVMD_PMIX_ERR_NOT_FOUND);
  g_assert_cmpint (control (self, get_nspace (self), 2, "signal", SIGSTOP), ==, DVMD_PMIX_ERR_NOT_FOUND);
  g_assert_cmpint (control (self, get_nspace (self), 0, "signal", 0), ==, DVMD_PMIX_ERR_BAD_PARAM);
  g_assert_cmpint (control (self, get_nspace (self), 0, "signal", 1000), ==, DVMD_PMIX_ERR_BAD_PARAM);
  /* One of two may not be touched: neither is. */
  token = pmix_fake_control (self->engine.fakes[1], get_nspace (self), 1, targets, 2, "pause", 0);
  wait_until (pmix_fake_get_answer (self->engine.fakes[1], token, &status, NULL));
  g_assert_cmpint (status, ==, DVMD_PMIX_ERR_NO_PERMISSIONS);
  g_assert_cmpint (control (self, get_nspace (self), 0, "signal", SIGCONT), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (get_process_state (dvmd_proc_table_row (dvmd_job_get_procs (self->job), 0)->pid), !=, 'T');
  g_assert_false (dvmd_job_get_ended (other));
}

/* Of other jobs those that it may end; its own is not concerned. */
static void
test_abort_others (Fixture *self, gconstpointer data)
{
  DvmdJob *child = spawn_job (self, SLEEP);
  DvmdJob *other = submit (self);
  const DvmdPmixProc targets[] = { { dvm_job_get_nspace (dvmd_job_get_record (child)), DVMD_PMIX_RANK_WILDCARD },
                                   { dvm_job_get_nspace (dvmd_job_get_record (other)), DVMD_PMIX_RANK_WILDCARD } };

  dvmd_pmix_host_abort (pmix_fake_get_host (self->engine.fakes[1]), get_nspace (self), 1, 4, "enough", targets, 2);
  wait_until (dvmd_job_get_ended (child));
  g_assert_cmpint (dvmd_job_get_state (child), ==, DVM_JOB_STATE_KILLED_BY_CMD);
  g_assert_nonnull (
      strstr (dvm_job_get_reason (dvmd_job_get_record (child)), "called PMIx_Abort with status 4: enough"));
  g_assert_false (dvmd_job_get_ended (other));
  g_assert_false (dvmd_job_get_ended (self->job));
}

/* A tool has no job: what has no target is the DVM. */
static void
test_control_dvm (Fixture *self, gconstpointer data)
{
  DvmdPmixHost *host = pmix_fake_get_host (self->engine.fakes[0]);
  guint32 rank = 0;
  g_autofree char *name = dvmd_pmix_host_tool_connected (host, NULL, &rank);
  guint64 token = pmix_fake_control (self->engine.fakes[0], name, rank, NULL, 0, "pause", 0);
  int status = 1;

  wait_until (pmix_fake_get_answer (self->engine.fakes[0], token, &status, NULL));
  g_assert_cmpint (status, ==, DVMD_PMIX_ERR_BAD_PARAM);
  token = pmix_fake_control (self->engine.fakes[0], name, rank, NULL, 0, "terminate", 0);
  wait_until (pmix_fake_get_answer (self->engine.fakes[0], token, &status, NULL));
  g_assert_cmpint (status, ==, DVMD_PMIX_SUCCESS);
  wait_until (self->engine.ended);
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    void (*func) (Fixture *, gconstpointer);
  } tests[] = {
    { "/engine-spawn/oversubscribes", test_oversubscribes },
    { "/engine-spawn/runs", test_runs },
    { "/engine-spawn/in-turn", test_in_turn },
    { "/engine-spawn/in-turn-and-gone", test_in_turn_and_gone },
    { "/engine-spawn/parent", test_parent },
    { "/engine-spawn/failures", test_failures },
    { "/engine-spawn/files", test_files },
    { "/engine-spawn/says-why", test_says_why },
    { "/engine-spawn/inherits-when-full", test_inherits_when_full },
    { "/engine-spawn/waits-for-children", test_waits_for_children },
    { "/engine-spawn/moment-and-end", test_moment_and_end },
    { "/engine-spawn/strangers", test_strangers },
    { "/engine-spawn/timeout", test_timeout },
    { "/engine-spawn/gone", test_gone },
    { "/engine-spawn/lost-node", test_lost_node },
    { "/engine-spawn/ended-before-it-ran", test_ended_before_it_ran },
    { "/engine-spawn/with-short-one", test_with_short_one },
    { "/engine-spawn/with-short-one-fails", test_with_short_one_fails },
    { "/engine-spawn/inherits", test_inherits },
    { "/engine-spawn/control", test_control },
    { "/engine-spawn/control-ranks", test_control_ranks },
    { "/engine-spawn/control-terminate", test_control_terminate },
    { "/engine-spawn/control-waiting", test_control_waiting },
    { "/engine-spawn/control-kill", test_control_kill },
    { "/engine-spawn/control-named-twice", test_control_named_twice },
    { "/engine-spawn/control-refused", test_control_refused },
    { "/engine-spawn/control-separate", test_control_separate },
    { "/engine-spawn/control-separate-at-the-end", test_control_separate_at_the_end },
    { "/engine-spawn/control-dvm", test_control_dvm },
    { "/engine-spawn/abort-others", test_abort_others },
    { "/engine-spawn/shutdown", test_shutdown },
    { "/engine-spawn/tool", test_tool },
    { "/engine-spawn/tool-gone", test_tool_gone },
    { "/engine-spawn/tool-withholds", test_tool_withholds },
  };

  signal (SIGPIPE, SIG_IGN);
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (tests); i++)
    g_test_add (tests[i].name, Fixture, NULL, set_up, tests[i].func, tear_down);
  return g_test_run ();
}
