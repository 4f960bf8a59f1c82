/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "pmix-fixture.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <sys/prctl.h>

#include "dvmd-remove-tree.h"

#define LIMIT_SECONDS 60

static void test_host_pmix_host_init (DvmdPmixHostInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (TestHost, test_host, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (DVMD_TYPE_PMIX_HOST, test_host_pmix_host_init))

static void
on_connected (DvmdPmixHost *host, const char *nspace, guint32 rank)
{
  TEST_HOST (host)->n_connected++;
}

static void
on_finalized (DvmdPmixHost *host, const char *nspace, guint32 rank)
{
  TEST_HOST (host)->n_finalized++;
}

static void
on_lost (DvmdPmixHost *host, const char *nspace, guint32 rank)
{
  TEST_HOST (host)->n_lost++;
}

static void
on_abort (DvmdPmixHost *host, const char *nspace, guint32 rank, int status, const char *message,
          const DvmdPmixProc *targets, guint n_targets)
{
  TestHost *self = TEST_HOST (host);

  self->n_aborts++;
  self->abort_rank = rank;
  self->abort_status = status;
  g_free (self->abort_message);
  self->abort_message = g_strdup (message);
}

static void
on_fence (DvmdPmixHost *host, guint64 token, const DvmdPmixProc *participants, guint n_participants, GBytes *data,
          gboolean collect, guint timeout)
{
  TestHost *self = TEST_HOST (host);

  self->n_fences++;
  self->fence_token = token;
  g_clear_pointer (&self->fence_data, g_bytes_unref);
  self->fence_data = g_bytes_ref (data);
}

static void
on_direct_modex (DvmdPmixHost *host, guint64 token, const char *nspace, guint32 rank, const char *key, guint timeout)
{
  TestHost *self = TEST_HOST (host);

  self->modex_token = token;
  self->modex_rank = rank;
  self->n_modexes++;
}

static char *
on_tool_connected (DvmdPmixHost *host, const char *nspace, guint32 *rank)
{
  TestHost *self = TEST_HOST (host);

  g_free (self->tool_claim);
  self->tool_claim = g_strdup (nspace);
  *rank = 0;
  /* The server knows the tools of a DVM by such a name. */
  return g_strdup_printf ("test@tool-%u", ++self->n_tools);
}

static void
on_call (DvmdPmixHost *host, guint64 token, DvmdCallKind kind, const char *nspace, guint32 rank, GVariant *request)
{
  TestHost *self = TEST_HOST (host);

  if (kind == DVMD_CALL_EVENT)
    {
      DvmdPmixProc source = { nspace, rank };
      DvmdPmixProc target = { nspace, DVMD_PMIX_RANK_WILDCARD };
      int status;

      self->n_events++;
      g_variant_get_child (request, 0, "i", &status);
      dvmd_pmix_notify_event (self->pmix, status, &source, &target, 1, NULL);
      dvmd_pmix_complete_call (self->pmix, token, DVMD_PMIX_SUCCESS, NULL);
      return;
    }
  if (kind != DVMD_CALL_ALLOCATE)
    {
      dvmd_pmix_complete_call (self->pmix, token, DVMD_PMIX_ERR_NOT_SUPPORTED, NULL);
      return;
    }
  self->n_allocations++;
  self->alloc_token = token;
  g_free (self->alloc_requester);
  self->alloc_requester = g_strdup_printf ("%s.%u", nspace, rank);
  g_clear_pointer (&self->alloc_directive, g_free);
  g_clear_pointer (&self->alloc_request, g_variant_unref);
  g_variant_get (request, "(s@a{sv})", &self->alloc_directive, &self->alloc_request);
}

static void
test_host_pmix_host_init (DvmdPmixHostInterface *iface)
{
  iface->connected = on_connected;
  iface->finalized = on_finalized;
  iface->lost = on_lost;
  iface->abort = on_abort;
  iface->fence = on_fence;
  iface->direct_modex = on_direct_modex;
  iface->tool_connected = on_tool_connected;
  iface->call = on_call;
}

static void
test_host_finalize (GObject *object)
{
  TestHost *self = TEST_HOST (object);

  g_free (self->abort_message);
  g_free (self->tool_claim);
  g_free (self->alloc_requester);
  g_free (self->alloc_directive);
  g_clear_pointer (&self->alloc_request, g_variant_unref);
  g_clear_pointer (&self->fence_data, g_bytes_unref);
  G_OBJECT_CLASS (test_host_parent_class)->finalize (object);
}

static void
test_host_class_init (TestHostClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = test_host_finalize;
}

static void
test_host_init (TestHost *self)
{
}

PmixFixture *
pmix_fixture_new (const char *gds)
{
  PmixFixture *self = g_new0 (PmixFixture, 1);
  g_auto (DvmdPmixSettings) settings = { 0 };
  g_autoptr (GError) error = NULL;

  self->runtime_dir = g_dir_make_tmp ("dvm-pmix-XXXXXX", &error);
  g_assert_no_error (error);
  self->topology = dvmd_topology_new_local (&error);
  g_assert_no_error (error);
  self->pmix = DVMD_PMIX (dvmd_pmix_server_new ());
  self->host = g_object_new (TEST_TYPE_HOST, NULL);
  self->host->pmix = self->pmix;
  settings.runtime_dir = g_strdup (self->runtime_dir);
  settings.nspace = g_strdup ("test-dvm");
  settings.rank = 1;
  settings.node_name = g_strdup (g_get_host_name ());
  settings.topology = dvmd_topology_ref (self->topology);
  settings.tools = TRUE;
  settings.gds = g_strdup (gds);
  dvmd_pmix_start (self->pmix, &settings, DVMD_PMIX_HOST (self->host), &error);
  g_assert_no_error (error);
  return self;
}

static void
assert_empty (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);

  g_assert_nonnull (dir);
  g_assert_cmpstr (g_dir_read_name (dir), ==, NULL);
}

void
pmix_fixture_free (PmixFixture *self)
{
  g_autofree char *sessions = g_build_filename (self->runtime_dir, "sessions", NULL);
  g_autoptr (GError) error = NULL;

  dvmd_pmix_stop (self->pmix, NULL, NULL);
  assert_empty (sessions);
  g_rmdir (sessions);
  assert_empty (self->runtime_dir);
  g_rmdir (self->runtime_dir);
  g_object_unref (self->pmix);
  g_object_unref (self->host);
  dvmd_topology_unref (self->topology);
  g_free (self->runtime_dir);
  g_free (self);
}

void
pmix_store_result (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GAsyncResult **slot = user_data;

  *slot = g_object_ref (result);
}

void
pmix_wait_result (GAsyncResult **slot)
{
  while (*slot == NULL)
    g_main_context_iteration (NULL, TRUE);
}

gboolean
pmix_fixture_register (PmixFixture *self, DvmdPmixJob *job, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  dvmd_pmix_register_job_async (self->pmix, job, pmix_store_result, &result);
  pmix_wait_result (&result);
  return dvmd_pmix_register_job_finish (self->pmix, result, error);
}

void
pmix_fixture_deregister (PmixFixture *self, const char *nspace)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;

  dvmd_pmix_deregister_job_async (self->pmix, nspace, pmix_store_result, &result);
  pmix_wait_result (&result);
  dvmd_pmix_deregister_job_finish (self->pmix, result, &error);
  g_assert_no_error (error);
}

DvmdPmixJob *
pmix_fixture_new_job (PmixFixture *self, const char *nspace, guint n, const char *const *argv)
{
  const char *nodes[] = { g_get_host_name (), NULL };
  g_autofree char *cwd = g_get_current_dir ();
  DvmdPmixJob *job = dvmd_pmix_job_new (nspace, nodes, 0);

  dvmd_pmix_job_add_app (job, argv, cwd, n);
  for (guint i = 0; i < n; i++)
    dvmd_pmix_job_add_rank (job, 0, (guint16)i, (guint16)i, NULL);
  return job;
}

typedef struct
{
  PmixRun *run;
  guint rank;
} Ended;

static void
on_ended (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autofree Ended *ended = user_data;
  GSubprocess *proc = G_SUBPROCESS (source);
  g_autoptr (GBytes) out = NULL;
  g_autoptr (GError) error = NULL;
  int status;

  g_subprocess_communicate_finish (proc, result, &out, NULL, &error);
  g_assert_no_error (error);
  if (g_subprocess_get_if_exited (proc))
    status = g_subprocess_get_exit_status (proc);
  else
    status = 128 + g_subprocess_get_term_sig (proc);
  g_array_index (ended->run->statuses, int, ended->rank) = status;
  if (out != NULL)
    g_ptr_array_index (ended->run->outputs, ended->rank) = g_strndup (g_bytes_get_data (out, NULL),
                                                                      g_bytes_get_size (out));
  ended->run->n_running--;
}

static char **
build_environment (PmixFixture *self, const char *nspace, guint rank)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) own = dvmd_pmix_dup_environment (self->pmix, nspace, rank, &error);
  g_auto (GStrv) defaults = dvmd_pmix_dup_default_environment (self->pmix, nspace,
                                                               dvmd_topology_get_n_pus (self->topology), &error);
  char **all = g_get_environ ();
  GStrv lists[] = { defaults, own };

  g_assert_no_error (error);
  all = g_environ_unsetenv (all, "G_DEBUG");
  for (gsize i = 0; i < G_N_ELEMENTS (lists); i++)
    for (char **string = lists[i]; *string != NULL; string++)
      {
        g_auto (GStrv) pair = g_strsplit (*string, "=", 2);

        all = g_environ_setenv (all, pair[0], pair[1], i == 1);
      }
  return all;
}

/* A test that fails must not leave ranks behind that hold its output open. */
static void
die_with_parent (gpointer user_data)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
}

static void
start_rank (PmixFixture *self, PmixRun *run, DvmdPmixJob *job, guint rank)
{
  const DvmdPmixApp *app = g_ptr_array_index (job->apps, dvmd_pmix_job_get_rank (job, rank)->app);
  GSubprocessFlags flags = self->quick ? G_SUBPROCESS_FLAGS_INHERIT_FDS : G_SUBPROCESS_FLAGS_STDOUT_PIPE;
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (flags);
  g_auto (GStrv) environment = build_environment (self, job->nspace, rank);
  g_autoptr (GError) error = NULL;
  GSubprocess *proc;
  Ended *ended = g_new0 (Ended, 1);

  g_subprocess_launcher_set_environ (launcher, environment);
  if (!self->quick)
    g_subprocess_launcher_set_child_setup (launcher, die_with_parent, NULL, NULL);
  proc = g_subprocess_launcher_spawnv (launcher, (const char *const *)app->argv, &error);
  g_assert_no_error (error);
  g_ptr_array_index (run->procs, rank) = proc;
  ended->run = run;
  ended->rank = rank;
  run->n_running++;
  g_subprocess_communicate_async (proc, NULL, NULL, on_ended, ended);
}

/* Ranks of other nodes have none. */
static void
unref_proc (gpointer proc)
{
  if (proc != NULL)
    g_object_unref (proc);
}

PmixRun *
pmix_fixture_start (PmixFixture *self, DvmdPmixJob *job)
{
  PmixRun *run = g_new0 (PmixRun, 1);
  guint n = dvmd_pmix_job_get_size (job);

  run->procs = g_ptr_array_new_with_free_func (unref_proc);
  run->outputs = g_ptr_array_new_with_free_func (g_free);
  run->statuses = g_array_new (FALSE, TRUE, sizeof (int));
  g_ptr_array_set_size (run->procs, (gint)n);
  g_ptr_array_set_size (run->outputs, (gint)n);
  g_array_set_size (run->statuses, n);
  for (guint rank = 0; rank < n; rank++)
    if (dvmd_pmix_job_get_rank (job, rank)->node == job->my_node)
      start_rank (self, run, job, rank);
  return run;
}

static gboolean
on_limit (gpointer user_data)
{
  PmixRun *run = user_data;

  for (guint i = 0; i < run->procs->len; i++)
    if (g_ptr_array_index (run->procs, i) != NULL)
      g_subprocess_force_exit (g_ptr_array_index (run->procs, i));
  g_error ("The processes have not ended within %d s", LIMIT_SECONDS);
  return G_SOURCE_REMOVE;
}

void
pmix_run_wait (PmixRun *self)
{
  guint limit = g_timeout_add_seconds (LIMIT_SECONDS, on_limit, self);

  while (self->n_running > 0)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (limit);
}

int
pmix_run_get_status (PmixRun *self, guint rank)
{
  return g_array_index (self->statuses, int, rank);
}

const char *
pmix_run_get_output (PmixRun *self, guint rank)
{
  return g_ptr_array_index (self->outputs, rank);
}

void
pmix_run_free (PmixRun *self)
{
  g_ptr_array_unref (self->procs);
  g_ptr_array_unref (self->outputs);
  g_array_unref (self->statuses);
  g_free (self);
}

PmixRun *
pmix_fixture_run (PmixFixture *self, const char *nspace, guint n, const char *const *argv)
{
  g_autoptr (DvmdPmixJob) job = pmix_fixture_new_job (self, nspace, n, argv);
  g_autoptr (GError) error = NULL;
  PmixRun *run;

  pmix_fixture_register (self, job, &error);
  g_assert_no_error (error);
  run = pmix_fixture_start (self, job);
  pmix_run_wait (run);
  return run;
}

static gboolean
on_wait_limit (gpointer user_data)
{
  g_error ("What the test waits for has not come within %d s", LIMIT_SECONDS);
  return G_SOURCE_REMOVE;
}

void
pmix_wait_for (const guint *counter, guint value)
{
  guint limit = g_timeout_add_seconds (LIMIT_SECONDS, on_wait_limit, NULL);

  while (*counter < value)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (limit);
}
