/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "dvm.h"
#include "dvmd-pmix-alloc.h"
#include "dvmd-pmix-info.h"
#include "dvmd-pmix-session.h"
#include "pmix-fixture.h"

/* Requests for nodes of real clients and tools, and the events that answer them. */

static const char *
get_program (void)
{
  return g_test_get_filename (G_TEST_BUILT, "..", "lib", "pmix-alloc", NULL);
}

static PmixRun *
start_job (PmixFixture *fixture, const char *nspace, guint n, const char *const *argv)
{
  g_autoptr (DvmdPmixJob) job = pmix_fixture_new_job (fixture, nspace, n, argv);
  g_autoptr (GError) error = NULL;

  fixture->host->n_allocations = 0;
  pmix_fixture_register (fixture, job, &error);
  g_assert_no_error (error);
  return pmix_fixture_start (fixture, job);
}

static void
assert_request (PmixFixture *fixture, const char *requester, const char *directive, const char *request)
{
  TestHost *host = fixture->host;
  g_autoptr (GVariant) expected = g_variant_ref_sink (g_variant_new_parsed (request));
  GVariantIter iter;
  const char *key;
  GVariant *value;

  g_assert_cmpstr (host->alloc_requester, ==, requester);
  g_assert_cmpstr (host->alloc_directive, ==, directive);
  g_assert_cmpuint (g_variant_n_children (host->alloc_request), ==, g_variant_n_children (expected));
  g_variant_iter_init (&iter, expected);
  while (g_variant_iter_loop (&iter, "{&sv}", &key, &value))
    {
      g_autoptr (GVariant) got = g_variant_lookup_value (host->alloc_request, key, NULL);

      g_assert_nonnull (got);
      g_assert_cmpvariant (got, value);
    }
}

static void
tell (PmixFixture *fixture, const char *nspace, guint32 rank, int status, const char *details)
{
  DvmdPmixProc target = { nspace, rank };

  dvmd_pmix_notify_event (fixture->pmix, status, NULL, &target, 1, g_variant_new_parsed (details));
}

static void
assert_output (PmixRun *run, guint rank, const char *expected)
{
  const char *output = pmix_run_get_output (run, rank);

  g_assert_cmpstr (output != NULL ? output : "", ==, expected);
  g_assert_cmpint (pmix_run_get_status (run, rank), ==, 0);
}

/* The process that has asked hears of it once, and no other one of its job does. */
static void
test_new (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *argv[] = {
    get_program (), "register", "fence",  "rank", "1",    "new", "list=n9:2, n10", "count=3", "req=mine",
    "wait",         "1",        "settle", "200",  "rank", "0",   "settle",         "400",     NULL
  };
  g_autoptr (PmixRun) run = start_job (fixture, "new-1", 2, argv);

  pmix_wait_for (&fixture->host->n_allocations, 1);
  assert_request (fixture, "new-1.1", "new",
                  "{'hosts': <['n9:2', 'n10']>, 'count': <uint32 3>, 'req-id': <'mine'>, 'share': <false>}");
  dvmd_pmix_complete_call (fixture->pmix, fixture->host->alloc_token, DVMD_PMIX_SUCCESS,
                           g_variant_new ("(ssu)", "a-1", "mine", 4));
  tell (fixture, "new-1", 1, DVMD_PMIX_DVM_IS_READY, "{'pmix.alloc.id': <'a-1'>, 'pmix.alloc.reqid': <'mine'>}");
  pmix_run_wait (run);
  assert_output (run, 1, "1 new 0 id=a-1 req=mine session=4\n1 event -195 id=a-1 req=mine\n");
  assert_output (run, 0, "");
  pmix_fixture_deregister (fixture, "new-1");
}

/* The event may come before its handler does, and it is not for handlers of everything. */
static void
test_late (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  g_autofree char *go = g_build_filename (fixture->runtime_dir, "go", NULL);
  const char *argv[] = { get_program (), "register-all", "release", "id=a-1", "req=again", "file", go,
                         "register",     "wait",         "1",       "settle", "200",       NULL };
  g_autoptr (PmixRun) run = start_job (fixture, "late-1", 1, argv);

  pmix_wait_for (&fixture->host->n_allocations, 1);
  assert_request (fixture, "late-1.0", "release", "{'alloc-id': <'a-1'>, 'req-id': <'again'>}");
  dvmd_pmix_complete_call (fixture->pmix, fixture->host->alloc_token, DVMD_PMIX_SUCCESS,
                           g_variant_new ("(ssu)", "a-1", "", 4));
  tell (fixture, "late-1", 0, DVMD_PMIX_ERR_DVM_MOD,
        "{'pmix.alloc.id': <'a-1'>, 'pmix.job.term.status': <(-61,)>, 'pmix.evtext': <'gone'>}");
  g_file_set_contents (go, "", 0, NULL);
  pmix_run_wait (run);
  assert_output (run, 0, "0 release 0 id=a-1 session=4\n0 event -196 id=a-1 status=-61\n");
  pmix_fixture_deregister (fixture, "late-1");
  g_unlink (go);
}

/* Without the id of the allocation, that of the request says which one is meant. */
static void
test_extend (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *argv[] = { get_program (), "extend", "req=mine", "add=n9", "file=/some/hosts", NULL };
  g_autoptr (GError) error = g_error_new_literal (DVM_ERROR, DVM_ERROR_NOT_ELASTIC, "no");
  g_autoptr (PmixRun) run = start_job (fixture, "extend-1", 1, argv);

  pmix_wait_for (&fixture->host->n_allocations, 1);
  assert_request (fixture, "extend-1.0", "extend",
                  "{'hosts': <['n9']>, 'hostfile': <'/some/hosts'>, 'req-id': <'mine'>, 'of-req-id': <'mine'>}");
  dvmd_pmix_complete_call (fixture->pmix, fixture->host->alloc_token, dvmd_pmix_status_from_error (error), NULL);
  /* A second answer is dropped. */
  dvmd_pmix_complete_call (fixture->pmix, fixture->host->alloc_token, DVMD_PMIX_SUCCESS, NULL);
  pmix_run_wait (run);
  assert_output (run, 0, "0 extend -158\n");
  pmix_fixture_deregister (fixture, "extend-1");
}

/* One request of a real client, whose headers may not have the keys, and what comes of it here. */
static void
check_words (PmixFixture *fixture, const char *const *words, const char *request)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autofree char *nspace = g_strdup_printf ("words-%s", words[0]);
  g_autofree char *asker = g_strdup_printf ("%s.0", nspace);
  g_autofree char *expected = g_strdup_printf ("0 %s 0\n", words[0]);
  g_autoptr (PmixRun) run = NULL;

  g_ptr_array_add (argv, (char *)get_program ());
  for (gsize i = 0; words[i] != NULL; i++)
    g_ptr_array_add (argv, (char *)words[i]);
  g_ptr_array_add (argv, NULL);
  run = start_job (fixture, nspace, 1, (const char *const *)argv->pdata);
  pmix_wait_for (&fixture->host->n_allocations, 1);
  assert_request (fixture, asker, words[0], request);
  dvmd_pmix_complete_call (fixture->pmix, fixture->host->alloc_token, DVMD_PMIX_SUCCESS, NULL);
  pmix_run_wait (run);
  assert_output (run, 0, expected);
  pmix_fixture_deregister (fixture, nspace);
}

/* R9, R11, R13, R18: keys that the library does not know come through it; who asks is whom its connection proves. */
static void
test_keys (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *full[] = { "new",     "list=n9", "target=other-1", "share=1",    "inherit=4", "time=90",
                         "warn=10", "sep=1",   "session=7",      "claim=else", NULL };
  const char *time[] = { "extend", "id=a-1", "limit=1:02:03", "inherit=1", "warn=0", NULL };
  const char *again[] = { "reaquire", "session=7", "req=mine", NULL };
  const char *drop[] = { "cancel", "req=mine", NULL };

  check_words (fixture, full,
               "{'hosts': <['n9']>, 'target': <'other-1'>, 'share': <true>, 'inheritance': <'child-default'>, "
               "'time': <uint32 90>, 'warn-timeout': <uint32 10>, 'child-separate': <true>, 'session': <uint32 7>}");
  check_words (fixture, time,
               "{'alloc-id': <'a-1'>, 'time': <uint32 3723>, 'inheritance': <'none'>, 'warn-timeout': <uint32 0>}");
  check_words (fixture, again, "{'session': <uint32 7>, 'req-id': <'mine'>}");
  check_words (fixture, drop, "{'req-id': <'mine'>, 'of-req-id': <'mine'>}");
}

/* R67, R68: the warning comes to the one who asked, with what is left. */
static void
test_time_warning (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *argv[] = { get_program (), "register", "fence", "rank", "1", "wait", "1", "all", "settle", "200", NULL };
  guint n_before = fixture->host->n_connected;
  g_autoptr (PmixRun) run = start_job (fixture, "time-1", 2, argv);

  /* As one that has asked. libpmix 5 drops what is told before: the client hears it before it can have a handler. */
  pmix_wait_for (&fixture->host->n_connected, n_before + 2);
  tell (fixture, "time-1", 1, DVMD_PMIX_ALLOC_TIMEOUT_WARNING,
        "{'pmix.alloc.id': <'a-1'>, 'pmix.alloc.reqid': <'mine'>, 'pmix.time.remaining': <uint32 30>}");
  pmix_run_wait (run);
  assert_output (run, 1, "1 event -194 id=a-1 req=mine left=30\n");
  assert_output (run, 0, "");
  pmix_fixture_deregister (fixture, "time-1");
}

/* A request that could not be granted by anybody is refused before anybody is asked. */
static void
test_refused (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *argv[] = {
    get_program (), "new", "cpus=4", "new", "list=pmix[n:1[1-3]]", "new", "count=99999999999", NULL
  };
  g_autoptr (PmixRun) run = start_job (fixture, "refused-1", 1, argv);

  pmix_run_wait (run);
  assert_output (run, 0, "0 new -47\n0 new -47\n0 new -27\n");
  g_assert_cmpuint (fixture->host->n_allocations, ==, 0);
  pmix_fixture_deregister (fixture, "refused-1");
}

static void
assert_wrong (pmix_alloc_directive_t directive, const pmix_info_t *info, DvmError code)
{
  g_autoptr (GError) error = NULL;
  const char *word;

  g_assert_null (dvmd_pmix_read_allocation (directive, info, info != NULL ? 1 : 0, &word, &error));
  g_assert_error (error, DVM_ERROR, (int)code);
  g_assert_cmpint (dvmd_pmix_status_from_error (error), <, 0);
}

static void
assert_bad_times (pmix_info_t *info)
{
  static char *const bad[] = { (char *)"",     (char *)"-1", (char *)"1h",          (char *)"1:2:3:4:5:6",
                               (char *)"1::2", NULL,         (char *)"4294967295:0" };

  PMIX_LOAD_KEY (info->key, PMIX_ALLOC_TIME);
  info->value.type = PMIX_STRING;
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      info->value.data.string = bad[i];
      assert_wrong (PMIX_ALLOC_NEW, info, DVM_ERROR_BAD_PARAM);
    }
}

/* Clients send what they like. */
static void
test_words (gconstpointer data)
{
  static char latin[] = "n\xe9";
  pmix_info_t info = { .key = PMIX_ALLOC_NODE_LIST, .value = { .type = PMIX_STRING } };
  g_autoptr (GVariant) request = NULL;
  g_autoptr (GError) error = NULL;
  const char *word;

  assert_wrong (PMIX_ALLOC_NEW, &info, DVM_ERROR_BAD_PARAM);
  info.value.data.string = latin;
  assert_wrong (PMIX_ALLOC_RELEASE, &info, DVM_ERROR_BAD_PARAM);
  info.value.type = PMIX_UINT32;
  assert_wrong (PMIX_ALLOC_NEW, &info, DVM_ERROR_BAD_PARAM);
  PMIX_LOAD_KEY (info.key, PMIX_ALLOC_NUM_NODES);
  info.value.type = PMIX_INT;
  info.value.data.integer = -1;
  assert_wrong (PMIX_ALLOC_NEW, &info, DVM_ERROR_BAD_PARAM);
  info.value.type = PMIX_UNDEF;
  assert_wrong (PMIX_ALLOC_NEW, &info, DVM_ERROR_BAD_PARAM);
  PMIX_LOAD_KEY (info.key, "pmix.alloc.share");
  info.value.type = PMIX_UINT32;
  assert_wrong (PMIX_ALLOC_NEW, &info, DVM_ERROR_BAD_PARAM);
  PMIX_LOAD_KEY (info.key, "pmix.alloc.inhrt");
  info.value.data.uint32 = 5;
  assert_wrong (PMIX_ALLOC_NEW, &info, DVM_ERROR_BAD_PARAM);
  info.value.data.uint32 = 0;
  assert_wrong (PMIX_ALLOC_NEW, &info, DVM_ERROR_BAD_PARAM);
  PMIX_LOAD_KEY (info.key, "pmix.alloc.tgt");
  assert_wrong (PMIX_ALLOC_NEW, &info, DVM_ERROR_BAD_PARAM);
  assert_bad_times (&info);
  info.value.type = PMIX_UNDEF;
  PMIX_LOAD_KEY (info.key, PMIX_ALLOC_QUEUE);
  assert_wrong (PMIX_ALLOC_NEW, &info, DVM_ERROR_NOT_SUPPORTED);
  PMIX_LOAD_KEY (info.key, "mine");
  info.flags = PMIX_INFO_REQD;
  assert_wrong (PMIX_ALLOC_NEW, &info, DVM_ERROR_NOT_SUPPORTED);
  assert_wrong (PMIX_ALLOC_EXTERNAL, NULL, DVM_ERROR_NOT_SUPPORTED);
  info.flags = 0;
  request = dvmd_pmix_read_allocation (PMIX_ALLOC_REAQUIRE, &info, 1, &word, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_variant_n_children (request), ==, 0);
  g_assert_cmpstr (word, ==, "reaquire");
}

/* ---- sessions ---- */

static void
assert_session (DvmdPmixInfo *info, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) request = dvmd_pmix_read_session_control (info->items, info->length, &error);
  g_autoptr (GVariant) wanted = g_variant_ref_sink (g_variant_new_parsed (expected));

  g_assert_no_error (error);
  g_assert_cmpuint (g_variant_n_children (request), ==, g_variant_n_children (wanted));
  for (gsize i = 0; i < g_variant_n_children (wanted); i++)
    {
      g_autoptr (GVariant) value = NULL;
      g_autoptr (GVariant) found = NULL;
      const char *key;

      g_variant_get_child (wanted, i, "{&sv}", &key, &value);
      found = g_variant_lookup_value (request, key, NULL);
      g_assert_cmpvariant (found, value);
    }
  dvmd_pmix_info_clear (info);
}

static void
assert_no_session (DvmdPmixInfo *info, DvmError code)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (dvmd_pmix_read_session_control (info->items, info->length, &error));
  g_assert_error (error, DVM_ERROR, (int)code);
  dvmd_pmix_info_clear (info);
}

/* Each directive is one of the bus, what is off says nothing, and nodes may stand in an array. */
static void
test_session (gconstpointer data)
{
  g_auto (DvmdPmixInfo) info = DVMD_PMIX_INFO_INIT;
  g_auto (DvmdPmixInfo) nodes = DVMD_PMIX_INFO_INIT;

  dvmd_pmix_info_add_flag (&info, PMIX_SESSION_PAUSE, TRUE);
  dvmd_pmix_info_add_flag (&info, PMIX_SESSION_RESUME, FALSE);
  dvmd_pmix_info_add_string (&info, PMIX_SESSION_CTRL_ID, "mine");
  assert_session (&info, "{'pause': <true>}");
  dvmd_pmix_info_add_uint32 (&info, PMIX_SESSION_SIGNAL, 10);
  dvmd_pmix_info_add_string (&info, PMIX_NSPACE, "dvm-1@2");
  assert_session (&info, "{'signal': <10>, 'nspace': <'dvm-1@2'>}");
  dvmd_pmix_info_add_flag (&info, PMIX_SESSION_INSTANTIATE, TRUE);
  dvmd_pmix_info_add_flag (&info, PMIX_SESSION_SEP, FALSE);
  dvmd_pmix_info_add_string (&nodes, PMIX_ALLOC_NODE_LIST, "n1,n2");
  dvmd_pmix_info_add_uint32 (&nodes, PMIX_ALLOC_TIME, 60);
  dvmd_pmix_info_add_array (&info, PMIX_SESSION_RESOURCES, &nodes);
  dvmd_pmix_info_add_string (&info, PMIX_ADD_HOST, "n3");
  assert_session (&info, "{'instantiate': <true>, 'separate': <false>, 'hosts': <['n1', 'n2', 'n3']>, "
                         "'time': <uint32 60>}");
  dvmd_pmix_info_add_flag (&info, PMIX_SESSION_EXTEND, TRUE);
  assert_session (&info, "{'extend': <uint32 0>}");
  assert_session (&info, "@a{sv} {}");
}

static void
test_session_refused (gconstpointer data)
{
  static const char *const never[] = { PMIX_SESSION_APP,
                                       PMIX_SESSION_JOB,
                                       PMIX_SESSION_PROVISION,
                                       PMIX_SESSION_PROVISION_NODES,
                                       PMIX_SESSION_PROVISION_IMAGE,
                                       PMIX_SESSION_COMPLETE,
                                       "pmix.ssn.later" };
  static const char *const twice[] = { PMIX_SESSION_TERMINATE, PMIX_SESSION_SEP, PMIX_SESSION_EXTEND };
  g_auto (DvmdPmixInfo) info = DVMD_PMIX_INFO_INIT;

  for (gsize i = 0; i < G_N_ELEMENTS (never); i++)
    {
      dvmd_pmix_info_add_flag (&info, never[i], TRUE);
      assert_no_session (&info, DVM_ERROR_NOT_SUPPORTED);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (twice); i++)
    {
      dvmd_pmix_info_add_flag (&info, twice[i], TRUE);
      dvmd_pmix_info_add_flag (&info, twice[i], TRUE);
      assert_no_session (&info, DVM_ERROR_BAD_PARAM);
      dvmd_pmix_info_add_string (&info, twice[i], "yes");
      assert_no_session (&info, DVM_ERROR_BAD_PARAM);
    }
  dvmd_pmix_info_add_string (&info, PMIX_SESSION_SIGNAL, "KILL");
  assert_no_session (&info, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_add_string (&info, PMIX_NSPACE, "");
  assert_no_session (&info, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_add_string (&info, PMIX_SESSION_RESOURCES, "n1");
  assert_no_session (&info, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_add_flag (&info, PMIX_SESSION_PAUSE, TRUE);
  dvmd_pmix_info_add_string (&info, PMIX_ALLOC_QUEUE, "fast");
  assert_no_session (&info, DVM_ERROR_NOT_SUPPORTED);
}

/* ---- tools ---- */

static char *
find_file (PmixFixture *fixture)
{
  g_autofree char *name = g_strdup_printf ("pmix.%s.tool", g_get_host_name ());

  return g_build_filename (fixture->runtime_dir, "pmix", name, NULL);
}

static void
become_nobody (gpointer user_data)
{
  if (setgid (65534) != 0 || setuid (65534) != 0)
    _exit (99);
}

static GSubprocess *
start_tool (const char *file, GSpawnChildSetupFunc setup, const char *const *words)
{
  g_autoptr (GSubprocessLauncher)
      launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_SILENCE);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  GSubprocess *tool;

  g_ptr_array_add (argv, (char *)get_program ());
  g_ptr_array_add (argv, (char *)"--tool");
  g_ptr_array_add (argv, (char *)file);
  for (; *words != NULL; words++)
    g_ptr_array_add (argv, (char *)*words);
  g_ptr_array_add (argv, NULL);
  g_subprocess_launcher_unsetenv (launcher, "G_DEBUG");
  if (setup != NULL)
    g_subprocess_launcher_set_child_setup (launcher, setup, NULL, NULL);
  tool = g_subprocess_launcher_spawnv (launcher, (const char *const *)argv->pdata, &error);
  g_assert_no_error (error);
  return tool;
}

/* (transfer full): its output, when it has ended with status */
static char *
wait_tool (GSubprocess *tool, int status)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  char *output = NULL;

  g_subprocess_communicate_utf8_async (tool, NULL, NULL, pmix_store_result, &result);
  pmix_wait_result (&result);
  g_subprocess_communicate_utf8_finish (tool, result, &output, NULL, &error);
  g_assert_no_error (error);
  if (status >= 0)
    g_assert_cmpint (g_subprocess_get_exit_status (tool), ==, status);
  return output;
}

/* Its name is what it is given, whatever it calls itself, and what is told to others does not come to it. */
static void
check_tool (PmixFixture *fixture, const char *const *words, const char *claim)
{
  TestHost *host = fixture->host;
  g_autofree char *name = g_strdup_printf ("test@tool-%u", host->n_tools + 1);
  g_autofree char *requester = g_strdup_printf ("%s.0", name);
  g_autofree char *expected = NULL;
  g_autofree char *file = find_file (fixture);
  g_autoptr (GSubprocess) tool = NULL;
  g_autofree char *output = NULL;

  host->n_allocations = 0;
  host->n_lost = 0;
  host->n_connected = 0;
  tool = start_tool (file, NULL, words);
  pmix_wait_for (&host->n_allocations, 1);
  g_assert_cmpstr (host->tool_claim, ==, claim);
  assert_request (fixture, requester, "new", "{'hosts': <['n9']>, 'req-id': <'mine'>, 'share': <false>}");
  dvmd_pmix_complete_call (fixture->pmix, host->alloc_token, DVMD_PMIX_SUCCESS, g_variant_new ("(ssu)", "a-2", "", 4));
  tell (fixture, "test@tool-0", 0, DVMD_PMIX_DVM_IS_READY, "{'pmix.alloc.id': <'of another'>}");
  tell (fixture, name, 0, DVMD_PMIX_DVM_IS_READY, "{'pmix.alloc.id': <'a-2'>}");
  output = wait_tool (tool, 0);
  expected = g_strdup_printf ("%s.0 is a tool\n0 new 0 id=a-2 session=4\n0 event -195 id=a-2\n",
                              claim != NULL ? claim : name);
  g_assert_cmpstr (output, ==, expected);
  pmix_wait_for (&host->n_lost, 1);
  g_assert_cmpuint (host->n_connected, ==, 0);
}

static void
test_tool (gconstpointer data)
{
  const char *words[] = { "register", "new", "list=n9", "req=mine", "wait", "1", "settle", "200", NULL };

  check_tool ((PmixFixture *)data, words, NULL);
}

static void
test_named_tool (gconstpointer data)
{
  const char *words[] = { "--tool-name", "data-1", "register", "new", "list=n9", "req=mine",
                          "wait",        "1",      "settle",   "200", NULL };

  check_tool ((PmixFixture *)data, words, "data-1");
}

static void
test_tool_killed (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *words[] = { "register", "new", "list=n9", "stay", NULL };
  g_autofree char *file = find_file (fixture);
  g_autoptr (GSubprocess) tool = NULL;
  g_autofree char *output = NULL;

  fixture->host->n_allocations = 0;
  fixture->host->n_lost = 0;
  tool = start_tool (file, NULL, words);
  pmix_wait_for (&fixture->host->n_allocations, 1);
  g_subprocess_force_exit (tool);
  output = wait_tool (tool, -1);
  pmix_wait_for (&fixture->host->n_lost, 1);
  /* It asks for the answer no more. */
  dvmd_pmix_complete_call (fixture->pmix, fixture->host->alloc_token, DVMD_PMIX_SUCCESS, NULL);
}

static gboolean
on_moment (gpointer user_data)
{
  *(gboolean *)user_data = TRUE;
  return G_SOURCE_REMOVE;
}

/* Tools that are killed while they come, at any moment, do not take the server along. */
static void
test_tools_killed_early (gconstpointer data)
{
  const char *words[] = { "stay", NULL };
  const char *others[] = { "settle", "0", NULL };
  g_autofree char *file = find_file ((PmixFixture *)data);
  g_autoptr (GSubprocess) last = NULL;
  g_autofree char *said = NULL;

  for (guint i = 0; i < 40; i++)
    {
      g_autoptr (GSubprocess) tool = start_tool (file, NULL, words);
      g_autofree char *output = NULL;
      gboolean past = FALSE;

      g_timeout_add (10 + 2 * i, on_moment, &past);
      while (!past)
        g_main_context_iteration (NULL, TRUE);
      g_subprocess_force_exit (tool);
      output = wait_tool (tool, -1);
    }
  last = start_tool (file, NULL, others);
  said = wait_tool (last, 0);
}

/* Another user who learns the port stays outside, whoever it says it is. */
static void
test_stranger (gconstpointer data)
{
  PmixFixture *fixture = (PmixFixture *)data;
  const char *words[] = { "settle", "0", NULL };
  g_autofree char *file = find_file (fixture);
  g_autofree char *dir = NULL;
  g_autofree char *copy = NULL;
  g_autofree char *text = NULL;
  g_autofree char *output = NULL;
  g_autoptr (GSubprocess) tool = NULL;
  guint n_tools = fixture->host->n_tools;
  gsize length;

  if (geteuid () != 0)
    {
      g_test_skip ("only root can be somebody else");
      return;
    }
  dir = g_dir_make_tmp ("dvm-stranger-XXXXXX", NULL);
  g_chmod (dir, 0755);
  copy = g_build_filename (dir, "file", NULL);
  g_assert_true (g_file_get_contents (file, &text, &length, NULL));
  g_assert_true (g_file_set_contents (copy, text, (gssize)length, NULL));
  g_chmod (copy, 0644);
  tool = start_tool (copy, become_nobody, words);
  output = wait_tool (tool, 10);
  g_assert_cmpuint (fixture->host->n_tools, ==, n_tools);
  g_unlink (copy);
  g_rmdir (dir);
}

int
main (int argc, char **argv)
{
  g_autoptr (PmixFixture) fixture = NULL;

  signal (SIGPIPE, SIG_IGN);
  g_test_init (&argc, &argv, NULL);
  fixture = pmix_fixture_new (NULL);
  g_test_add_data_func ("/pmix-alloc/new", fixture, test_new);
  g_test_add_data_func ("/pmix-alloc/keys", fixture, test_keys);
  g_test_add_data_func ("/pmix-alloc/time-warning", fixture, test_time_warning);
  g_test_add_data_func ("/pmix-alloc/late", fixture, test_late);
  g_test_add_data_func ("/pmix-alloc/extend", fixture, test_extend);
  g_test_add_data_func ("/pmix-alloc/refused", fixture, test_refused);
  g_test_add_data_func ("/pmix-alloc/words", fixture, test_words);
  g_test_add_data_func ("/pmix-alloc/session", fixture, test_session);
  g_test_add_data_func ("/pmix-alloc/session-refused", fixture, test_session_refused);
  g_test_add_data_func ("/pmix-alloc/tool", fixture, test_tool);
  g_test_add_data_func ("/pmix-alloc/tool-killed", fixture, test_tool_killed);
  g_test_add_data_func ("/pmix-alloc/named-tool", fixture, test_named_tool);
  g_test_add_data_func ("/pmix-alloc/tools-killed-early", fixture, test_tools_killed_early);
  g_test_add_data_func ("/pmix-alloc/stranger", fixture, test_stranger);
  return g_test_run ();
}
