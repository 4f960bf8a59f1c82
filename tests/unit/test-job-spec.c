/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <dvm.h>
#include <string.h>

#include "dvm-job-spec-private.h"
#include "job-spec-fixture.h"

static const char *const ring[] = { "./ring", "-v", NULL };

static void
test_builder (void)
{
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (ring);
  g_autoptr (GError) error = NULL;
  DvmAppSpec *app = dvm_job_spec_get_app (spec, 0);

  g_assert_cmpuint (dvm_job_spec_get_n_apps (spec), ==, 1);
  dvm_app_spec_setenv (app, "A", "1");
  dvm_app_spec_setenv (app, "AB", "2");
  dvm_app_spec_setenv (app, "A", "3");
  g_assert_cmpstr (dvm_app_spec_get_env (app)[0], ==, "A=3");
  g_assert_cmpstr (dvm_app_spec_get_env (app)[1], ==, "AB=2");
  g_assert_null (dvm_app_spec_get_env (app)[2]);
  g_object_set (spec, "name", "n", "map-by", "node", "timeout", 7, "pty", TRUE, "stdin-target", "all", NULL);
  g_assert_cmpstr (dvm_job_spec_get_name (spec), ==, "n");
  g_assert_cmpstr (dvm_job_spec_get_stdin_target (spec), ==, "all");
  g_assert_cmpuint (dvm_job_spec_get_timeout (spec), ==, 7);
  g_assert_true (dvm_job_spec_get_pty (spec));
  g_assert_true (dvm_job_spec_validate (spec, &error));
  g_assert_no_error (error);
}

static DvmJobSpec *
make_large (void)
{
  const char *const env[] = { "A=1", "B=", "C=x=y", "A=2", "D=\xff", NULL };
  const char *const unset[] = { "LANG", NULL };
  const char *const hosts[] = { "node1", "node2:4", NULL };
  const char *const added[] = { "node8", "node9:2", NULL };
  const char *const target[] = { "a7", "", NULL };
  const char *const after[] = { "1", "dvm@2", NULL };
  const char *const after_ok[] = { "3", NULL };
  const char *const after_any[] = { "/org/dvm/jobs/4", NULL };
  const char *const bytes[] = { "/bin/\xe4", "", "x", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (ring);
  g_autoptr (DvmAppSpec) second = dvm_app_spec_new (bytes);
  DvmAppSpec *app = dvm_job_spec_get_app (spec, 0);

  g_object_set (app, "np", 4, "cwd", "/tmp", "env", env, "unset-env", unset, "clear-env", TRUE, "hosts", hosts, NULL);
  dvm_app_spec_set_cwd (second, "/tmp/\xff");
  dvm_job_spec_add_app (spec, second);
  g_object_set (spec, "name", "große Sache", "label", "l", "personality", "plain", "map-by", "node", "rank-by", "slot",
                "bind-to", "none", "when-full", "refuse", "output", "tag,dir=/tmp/x:nocopy,timestamp", "stdin-target",
                "3", "stdout-path", "/tmp/o", "stderr-path", "/tmp/e", "runtime-options",
                "error-nonzero-status=no,recov", "timeout", 60, "recoverable", TRUE, "max-restarts", 4, "spawn-timeout",
                9, "exec-agent", after_ok, "pty", TRUE, "add-hosts", added, "add-hostfile", "/tmp/more", "target",
                target, "session", 0, "alloc-id", "a1", "alloc-req-id", "mine", "child-separate", TRUE, NULL);
  g_object_set (spec, "priority", -1000, "hold", TRUE, "after", after, "after-ok", after_ok, "after-any", after_any,
                "singleton", TRUE, NULL);
  return g_steal_pointer (&spec);
}

static void
test_round_trip (void)
{
  g_autoptr (DvmJobSpec) spec = make_large ();
  g_autoptr (GVariant) value = dvm_job_spec_to_variant (spec);
  g_autoptr (GVariant) apps = g_variant_get_child_value (value, 0);
  g_autoptr (GVariant) options = g_variant_get_child_value (value, 1);
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmJobSpec) copy = dvm_job_spec_new_from_variant (apps, options, &error);
  g_autoptr (GVariant) value2 = NULL;
  g_autoptr (DvmJobSpec) copy3 = NULL;
  g_autoptr (GVariant) value3 = NULL;
  g_autofree char *json = NULL;
  DvmAppSpec *app;

  g_assert_no_error (error);
  value2 = dvm_job_spec_to_variant (copy);
  g_assert_cmpvariant (value, value2);
  g_assert_cmpstr (dvm_job_spec_get_add_hosts (copy)[1], ==, "node9:2");
  g_assert_cmpstr (dvm_job_spec_get_add_hostfile (copy), ==, "/tmp/more");
  g_assert_cmpstr (dvm_job_spec_get_target (copy)[0], ==, "a7");
  g_assert_cmpstr (dvm_job_spec_get_target (copy)[1], ==, "");
  g_assert_cmpuint (dvm_job_spec_get_session (copy), ==, 0);
  g_assert_cmpstr (dvm_job_spec_get_alloc_id (copy), ==, "a1");
  g_assert_cmpstr (dvm_job_spec_get_alloc_req_id (copy), ==, "mine");
  g_assert_true (dvm_job_spec_get_child_separate (copy));
  g_assert_cmpuint (dvm_job_spec_get_max_restarts (copy), ==, 4);
  g_assert_cmpuint (dvm_job_spec_get_spawn_timeout (copy), ==, 9);
  g_assert_cmpstr (dvm_job_spec_get_exec_agent (copy)[0], ==, "3");
  g_assert_cmpint (dvm_job_spec_get_priority (copy), ==, -1000);
  g_assert_true (dvm_job_spec_get_hold (copy));
  g_assert_true (dvm_job_spec_get_singleton (copy));
  g_assert_cmpstr (dvm_job_spec_get_after (copy)[1], ==, "dvm@2");
  g_assert_cmpstr (dvm_job_spec_get_after_ok (copy)[0], ==, "3");
  g_assert_cmpstr (dvm_job_spec_get_after_any (copy)[0], ==, "/org/dvm/jobs/4");
  app = dvm_job_spec_get_app (copy, 0);
  g_assert_cmpuint (g_strv_length ((char **)dvm_app_spec_get_env (app)), ==, 4);
  g_assert_true (g_strv_contains (dvm_app_spec_get_env (app), "A=2"));
  g_assert_true (g_strv_contains (dvm_app_spec_get_env (app), "C=x=y"));
  g_assert_true (g_strv_contains (dvm_app_spec_get_env (app), "D=\xff"));
  app = dvm_job_spec_get_app (copy, 1);
  g_assert_cmpstr (dvm_app_spec_get_argv (app)[0], ==, "/bin/\xe4");
  g_assert_cmpstr (dvm_app_spec_get_argv (app)[1], ==, "");
  g_assert_cmpstr (dvm_app_spec_get_cwd (app), ==, "/tmp/\xff");

  json = dvm_job_spec_to_json (spec);
  g_assert_true (g_utf8_validate (json, -1, NULL));
  copy3 = dvm_job_spec_new_from_json (json, -1, &error);
  g_assert_no_error (error);
  value3 = dvm_job_spec_to_variant (copy3);
  g_assert_cmpvariant (value, value3);
}

/* Options of the job are the defaults of its applications. */
static void
test_defaults (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmJobSpec) spec = test_job_spec_from_text (
      "[{'argv': <['a']>, 'np': <uint32 3>, 'env': <{'X': '2', 'Y': '3'}>}, {'argv': <['b']>}]",
      "{'np': <uint32 2>, 'env': <{'X': '1'}>, 'cwd': <'/d'>, 'hosts': <['h:2']>, 'env-clear': <true>}", &error);
  DvmAppSpec *a, *b;

  g_assert_no_error (error);
  a = dvm_job_spec_get_app (spec, 0);
  b = dvm_job_spec_get_app (spec, 1);
  g_assert_cmpuint (dvm_app_spec_get_np (a), ==, 3);
  g_assert_cmpuint (dvm_app_spec_get_np (b), ==, 2);
  g_assert_cmpstr (dvm_app_spec_get_env (a)[0], ==, "X=1");
  g_assert_cmpstr (dvm_app_spec_get_env (a)[1], ==, "X=2");
  g_assert_cmpstr (dvm_app_spec_get_env (b)[0], ==, "X=1");
  g_assert_cmpstr (dvm_app_spec_get_cwd (a), ==, "/d");
  g_assert_cmpstr (dvm_app_spec_get_hosts (b)[0], ==, "h:2");
  g_assert_true (dvm_app_spec_get_clear_env (b));
}

static void
test_submit (void)
{
  g_autoptr (GVariant) argv = g_variant_ref_sink (g_variant_new_strv (ring, -1));
  g_autoptr (GVariant) none = g_variant_ref_sink (g_variant_new_strv (NULL, 0));
  g_autoptr (GVariant)
      options = g_variant_ref_sink (g_variant_new_parsed ("{'np': <uint32 2>, 'stdin-fd': <handle 0>}"));
  g_autoptr (GVariant) bytes = g_variant_ref_sink (g_variant_new_parsed ("{'argv-bytes': <[b'a', b'\\377']>}"));
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmJobSpec) spec = _dvm_job_spec_new_from_submit (argv, options, &error);
  g_autoptr (DvmJobSpec) spec2 = NULL;

  g_assert_no_error (error);
  g_assert_cmpuint (dvm_app_spec_get_np (dvm_job_spec_get_app (spec, 0)), ==, 2);
  spec2 = _dvm_job_spec_new_from_submit (none, bytes, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (dvm_app_spec_get_argv (dvm_job_spec_get_app (spec2, 0))[1], ==, "\xff");
  g_assert_null (_dvm_job_spec_new_from_submit (argv, bytes, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
}

typedef struct
{
  const char *apps;
  const char *options;
  int code;
  const char *words[4];
} Refusal;

static const Refusal refusals[] = {
  { "[]", "{}", DVM_ERROR_BAD_PARAM, { "apps", "1" } },
  { "[{}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].argv", "program" } },
  { "[{'argv': <['']>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].argv" } },
  { "[{'argv': <@as []>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].argv" } },
  { "[{'argv': <['a']>}]", "{'np': <uint32 0>}", DVM_ERROR_BAD_PARAM, { "np", "at least 1", "0" } },
  { "[{'argv': <['a']>}, {'argv': <['b']>, 'np': <uint32 0>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[1].np" } },
  { "[{'argv': <['a']>}]", "{'np': <-1>}", DVM_ERROR_BAD_PARAM, { "np", "type u", "not i" } },
  { "[{'argv': <['a']>}]", "{'np': <'4'>}", DVM_ERROR_BAD_PARAM, { "np", "type u", "not s" } },
  { "[{'argv': <['a']>, 'np': <uint32 2147483648>}]", "{}", DVM_ERROR_BAD_PARAM, { "np", "2147483648" } },
  { "[{'argv': <['a']>}]", "{'npp': <uint32 1>}", DVM_ERROR_BAD_PARAM, { "npp", "unknown", "“np”" } },
  { "[{'argv': <['a']>}]", "{'zzzzzzzzzzzz': <1>}", DVM_ERROR_BAD_PARAM, { "zzzzzzzzzzzz", "unknown" } },
  { "[{'argv': <['a']>}]", "{'rankfile': <'x'>}", DVM_ERROR_NOT_SUPPORTED, { "rankfile" } },
  { "[{'argv': <['a']>}]", "{'target': <'x'>}", DVM_ERROR_BAD_PARAM, { "target", "as" } },
  { "[{'argv': <['a']>}]", "{'target': <['x', '', 'x']>}", DVM_ERROR_BAD_PARAM, { "target", "“x”", "twice" } },
  { "[{'argv': <['a']>, 'target': <['x']>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].target", "whole job" } },
  { "[{'argv': <['a']>}]", "{'session': <'1'>}", DVM_ERROR_BAD_PARAM, { "session", "type u" } },
  { "[{'argv': <['a']>}]", "{'session': <uint32 4294967295>}", DVM_ERROR_BAD_PARAM, { "session", "every session" } },
  { "[{'argv': <['a']>}]", "{'alloc-id': <''>}", DVM_ERROR_BAD_PARAM, { "alloc-id", "empty" } },
  { "[{'argv': <['a']>}]", "{'alloc-req-id': <''>}", DVM_ERROR_BAD_PARAM, { "alloc-req-id", "empty" } },
  { "[{'argv': <['a']>}]", "{'child-separate': <1>}", DVM_ERROR_BAD_PARAM, { "child-separate", "type b" } },
  { "[{'argv': <['a']>}]", "{'add-host': <['x']>}", DVM_ERROR_BAD_PARAM, { "add-host", "add-hosts" } },
  { "[{'argv': <['a']>}]", "{'add-hosts': <'x'>}", DVM_ERROR_BAD_PARAM, { "add-hosts", "as" } },
  { "[{'argv': <['a']>, 'add-hosts': <['x']>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].add-hosts", "whole job" } },
  { "[{'argv': <['a']>}]", "{'add-hosts': <['x', 'y:0']>}", DVM_ERROR_BAD_PARAM, { "add-hosts", "y:0" } },
  { "[{'argv': <['a']>}]", "{'add-hosts': <['']>}", DVM_ERROR_BAD_PARAM, { "add-hosts" } },
  { "[{'argv': <['a']>}]", "{'add-hosts': <['+n1']>}", DVM_ERROR_BAD_PARAM, { "add-hosts", "relative" } },
  { "[{'argv': <['a']>}]", "{'add-hosts': <['^x']>}", DVM_ERROR_BAD_PARAM, { "add-hosts", "no host" } },
  { "[{'argv': <['a']>}]", "{'add-hostfile': <'here'>}", DVM_ERROR_BAD_PARAM, { "add-hostfile", "here", "absolute" } },
  { "[{'argv': <['a']>}]", "{'add-hostfile': <''>}", DVM_ERROR_BAD_PARAM, { "add-hostfile", "empty" } },
  { "[{'argv': <['a']>, 'timeout': <uint32 1>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].timeout", "whole job" } },
  { "[{'argv': <['a']>, 'map-by': <1>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].map-by", "type s" } },
  { "[{'argv': <['a']>, 'bind-to': <''>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].bind-to", "empty" } },
  { "[{'argv': <['a']>, 'pset': <''>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].pset", "empty" } },
  { "[{'argv': <['a']>}]", "{'pset': <''>}", DVM_ERROR_BAD_PARAM, { "pset", "empty" } },
  { "[{'argv': <['a']>}]", "{'pset': <'a,b'>}", DVM_ERROR_BAD_PARAM, { "apps[0].pset", "“a,b”", "commas" } },
  { "[{'argv': <['a']>, 'pset': <'a\\nb'>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].pset", "control characters" } },
  { "[{'argv': <['a']>, 'pset': <'a\\u0085b'>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].pset", "control characters" } },
  { "[{'argv': <['a']>, 'pset': <['a']>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].pset", "type s" } },
  { "[{'argv': <['a']>, 'pset': <'b'>}]",
    "{'personality': <'plain'>}",
    DVM_ERROR_BAD_PARAM,
    { "pset", "personality" } },
  { "[{'argv': <['a']>}]", "{'argv': <['x']>}", DVM_ERROR_BAD_PARAM, { "argv", "application" } },
  { "[{'argv': <['a']>, 'stdin-fd': <handle 0>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].stdin-fd" } },
  { "[{'argv': <['a']>}]", "{'stdin-fd': <1>}", DVM_ERROR_BAD_PARAM, { "stdin-fd", "type h" } },
  { "[{'argv': <['a']>}]", "{'np': <uint32 1>, 'np': <uint32 2>}", DVM_ERROR_BAD_PARAM, { "np", "twice" } },
  { "[{'argv': <['a']>}]", "{'env': <{'': 'x'}>}", DVM_ERROR_BAD_PARAM, { "env", "empty" } },
  { "[{'argv': <['a']>, 'env': <{'A=B': 'x'}>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].env", "A=B" } },
  { "[{'argv': <['a']>, 'env-bytes': <[b'AB']>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].env", "AB" } },
  { "[{'argv': <['a']>, 'env-bytes': <[b'=x']>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].env", "name" } },
  { "[{'argv': <['a']>, 'unset-env': <['A=']>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].unset-env", "A=" } },
  { "[{'argv-bytes': <[[byte 97, 0, 98]]>}]", "{}", DVM_ERROR_BAD_PARAM, { "argv-bytes", "NUL" } },
  { "[{'argv-bytes': <[b'a']>, 'argv': <['a']>}]", "{}", DVM_ERROR_BAD_PARAM, { "argv-bytes" } },
  { "[{'argv': <['a']>, 'cwd': <'here'>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].cwd", "here", "absolute" } },
  { "[{'argv': <['a']>, 'cwd': <''>}]", "{}", DVM_ERROR_BAD_PARAM, { "apps[0].cwd" } },
  { "[{'argv': <['a']>, 'cwd': <'/a'>, 'cwd-bytes': <b'/a'>}]", "{}", DVM_ERROR_BAD_PARAM, { "cwd-bytes" } },
  { "[{'argv': <['a']>}]", "{'hosts': <['']>}", DVM_ERROR_BAD_PARAM, { "hosts" } },
  { "[{'argv': <['a']>}]", "{'hosts': <['h:0']>}", DVM_ERROR_BAD_PARAM, { "hosts", "h:0" } },
  { "[{'argv': <['a']>}]", "{'hosts': <['h:x']>}", DVM_ERROR_BAD_PARAM, { "hosts", "h:x" } },
  { "[{'argv': <['a']>}]", "{'hosts': <['+x1']>}", DVM_ERROR_BAD_PARAM, { "hosts", "+x1" } },
  { "[{'argv': <['a']>}]", "{'hostfile': <'here'>}", DVM_ERROR_BAD_PARAM, { "hostfile", "here", "absolute" } },
  { "[{'argv': <['a']>}]", "{'personality': <'prte'>}", DVM_ERROR_BAD_PARAM, { "personality", "prte" } },
  { "[{'argv': <['a']>}]", "{'when-full': <'wiat'>}", DVM_ERROR_BAD_PARAM, { "when-full", "“wait”" } },
  { "[{'argv': <['a']>}]", "{'when-full': <''>}", DVM_ERROR_BAD_PARAM, { "when-full", "empty" } },
  { "[{'argv': <['a']>}]", "{'stdin': <'-1'>}", DVM_ERROR_BAD_PARAM, { "stdin", "-1" } },
  { "[{'argv': <['a']>}]", "{'stdin': <'most'>}", DVM_ERROR_BAD_PARAM, { "stdin", "most" } },
  { "[{'argv': <['a']>}]", "{'map-by': <'two words'>}", DVM_ERROR_BAD_PARAM, { "map-by", "“two words”" } },
  { "[{'argv': <['a']>}]", "{'map-by': <'2slots'>}", DVM_ERROR_BAD_PARAM, { "map-by", "“2slots”" } },
  { "[{'argv': <['a']>}]", "{'map-by': <'=2'>}", DVM_ERROR_BAD_PARAM, { "map-by", "“=2”" } },
  { "[{'argv': <['a']>}]", "{'map-by': <'slot:'>}", DVM_ERROR_BAD_PARAM, { "map-by", "“slot:”" } },
  { "[{'argv': <['a']>}]", "{'map-by': <'ppr::node'>}", DVM_ERROR_BAD_PARAM, { "map-by", "ppr:2:node" } },
  { "[{'argv': <['a']>}]", "{'map-by': <'node:over'>, 'when-full': <'wait'>}", DVM_ERROR_BAD_PARAM, { "when-full" } },
  { "[{'argv': <['a']>}]", "{'map-by': <'word:a\\nb'>}", DVM_ERROR_BAD_PARAM, { "map-by", "WORD" } },
  { "[{'argv': <['a']>}]", "{'rank-by': <'file'>}", DVM_ERROR_BAD_PARAM, { "rank-by", "“fill”" } },
  { "[{'argv': <['a']>}]", "{'bind-to': <'numa'>, 'map-by': <'core'>}", DVM_ERROR_BAD_PARAM, { "“numa”", "“core”" } },
  { "[{'argv': <['a']>}]", "{'bind-to': <'l'>}", DVM_ERROR_BAD_PARAM, { "bind-to", "more than one" } },
  { "[{'argv': <['a']>}]", "{'output': <'xml=x'>}", DVM_ERROR_BAD_PARAM, { "output", "=x" } },
  { "[{'argv': <['a']>}]", "{'output': <'tagg'>}", DVM_ERROR_BAD_PARAM, { "output", "“tag”" } },
  { "[{'argv': <['a']>}]", "{'output': <'dir'>}", DVM_ERROR_BAD_PARAM, { "output", "dir=PATH" } },
  { "[{'argv': <['a']>}]", "{'output': <'tag,,rank'>}", DVM_ERROR_BAD_PARAM, { "output", "missing" } },
  { "[{'argv': <['a']>}]", "{'output': <'file=/x:zip'>}", DVM_ERROR_BAD_PARAM, { "output", "zip" } },
  { "[{'argv': <['a']>}]", "{'output': <'t'>}", DVM_ERROR_BAD_PARAM, { "output", "more than one word" } },
  { "[{'argv': <['a']>}]", "{'output': <'tag=1'>}", DVM_ERROR_BAD_PARAM, { "output", "=1" } },
  { "[{'argv': <['a']>}]", "{'output': <'tag:'>}", DVM_ERROR_BAD_PARAM, { "output", "missing" } },
  { "[{'argv': <['a']>}]", "{'output': <'dir=:copy'>}", DVM_ERROR_BAD_PARAM, { "output", "dir=PATH" } },
  { "[{'argv': <['a']>}]", "{'output': <'dir=a,file=b'>}", DVM_ERROR_BAD_PARAM, { "output", "together" } },
  { "[{'argv': <['a']>}]", "{'output': <'file=a%x:pattern'>}", DVM_ERROR_BAD_PARAM, { "output", "%x" } },
  { "[{'argv': <['a']>}]", "{'output': <'file=a%:pattern'>}", DVM_ERROR_BAD_PARAM, { "output", "in the pattern" } },
  { "[{'argv': <['a']>}]", "{'output': <':pattern'>}", DVM_ERROR_BAD_PARAM, { "output", "file=PATH" } },
  { "[{'argv': <['a']>}]",
    "{'runtime-options': <'continuous,max-restarts=0'>}",
    DVM_ERROR_BAD_PARAM,
    { "max-restarts is 0" } },
  { "[{'argv': <['a']>}]",
    "{'runtime-options': <'get-stack-traces'>}",
    DVM_ERROR_BAD_PARAM,
    { "get-stack-traces", "timeout" } },
  { "[{'argv': <['a']>}]",
    "{'runtime-options': <'report-state=yes'>}",
    DVM_ERROR_BAD_PARAM,
    { "report-state-on-timeout", "timeout" } },
  { "[{'argv': <['a']>}]", "{'autorestart': <true>}", DVM_ERROR_NOT_SUPPORTED, { "autorestart" } },
  { "[{'argv': <['a']>}]", "{'priority': <1001>}", DVM_ERROR_BAD_PARAM, { "priority", "-1000 to 1000" } },
  { "[{'argv': <['a']>}]", "{'priority': <-1001>}", DVM_ERROR_BAD_PARAM, { "priority", "-1001" } },
  { "[{'argv': <['a']>}]", "{'priority': <uint32 1>}", DVM_ERROR_BAD_PARAM, { "priority", "type i" } },
  { "[{'argv': <['a']>}]", "{'after': <'1'>}", DVM_ERROR_BAD_PARAM, { "after", "type as" } },
  { "[{'argv': <['a']>}]", "{'after-any': <['1', '']>}", DVM_ERROR_BAD_PARAM, { "after-any", "no job" } },
  { "[{'argv': <['a']>}]", "{'after-ok': <['1', '2', '1']>}", DVM_ERROR_BAD_PARAM, { "after-ok", "twice" } },
  { "[{'argv': <['a']>}]",
    "{'wait-for-slots': <true>, 'when-full': <'oversubscribe'>}",
    DVM_ERROR_BAD_PARAM,
    { "wait-for-slots", "oversubscribe" } },
  { "[{'argv': <['a']>}]",
    "{'wait-for-slots': <true>, 'map-by': <':nooversubscribe'>}",
    DVM_ERROR_BAD_PARAM,
    { "wait-for-slots", "map-by" } },
  { "[{'argv': <['a']>, 'hold': <true>}]", "{}", DVM_ERROR_BAD_PARAM, { "hold", "whole job" } },
  { "[{'argv': <['a']>}]", "{'max-restarts': <3>}", DVM_ERROR_BAD_PARAM, { "max-restarts", "type u" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'max-restarts'>}", DVM_ERROR_BAD_PARAM, { "max-restarts", "number" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'max-restarts=no'>}", DVM_ERROR_BAD_PARAM, { "“no”", "number" } },
  { "[{'argv': <['a']>}]",
    "{'runtime-options': <'max-restarts=4294967296'>}",
    DVM_ERROR_BAD_PARAM,
    { "4294967296", "4294967295" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'max-r=1,max-restarts=2'>}", DVM_ERROR_BAD_PARAM, { "twice" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'autorestart'>}", DVM_ERROR_BAD_PARAM, { "max-restarts=N" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'autorestart=no,max-restarts=1'>}", DVM_ERROR_BAD_PARAM, { "is no" } },
  { "[{'argv': <['a']>}]",
    "{'runtime-options': <'max-restarts=1'>, 'max-restarts': <uint32 2>}",
    DVM_ERROR_BAD_PARAM,
    { "2", "1", "max-restarts" } },
  { "[{'argv': <['a']>}]",
    "{'runtime-options': <'stop-in-app'>, 'max-restarts': <uint32 2>}",
    DVM_ERROR_BAD_PARAM,
    { "stop-in-app", "max-restarts" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'recoverable=perhaps'>}", DVM_ERROR_BAD_PARAM, { "perhaps" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'recov,recov=0'>}", DVM_ERROR_BAD_PARAM, { "recoverable", "twice" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'notifyerrors'>}", DVM_ERROR_BAD_PARAM, { "needs recoverable" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'output-proctable=a'>}", DVM_ERROR_NOT_SUPPORTED, { "proctable" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'exec-agent'>}", DVM_ERROR_BAD_PARAM, { "exec-agent", "command" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'exec-agent=\"'>}", DVM_ERROR_BAD_PARAM, { "exec-agent", "command" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'exec-agent=\"\" a'>}", DVM_ERROR_BAD_PARAM, { "exec-agent" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'exec-agent=a,exec-agent=b'>}", DVM_ERROR_BAD_PARAM, { "twice" } },
  { "[{'argv': <['a']>}]",
    "{'runtime-options': <'exec-agent=a,default-exec-agent'>}",
    DVM_ERROR_BAD_PARAM,
    { "default-exec-agent" } },
  { "[{'argv': <['a']>}]",
    "{'runtime-options': <'exec-agent=a b'>, 'exec-agent': <['a', 'c']>}",
    DVM_ERROR_BAD_PARAM,
    { "exec-agent", "something else" } },
  { "[{'argv': <['a']>}]",
    "{'runtime-options': <'default-exec-agent'>, 'exec-agent': <['a']>}",
    DVM_ERROR_BAD_PARAM,
    { "something else" } },
  { "[{'argv': <['a']>}]", "{'exec-agent': <['']>}", DVM_ERROR_BAD_PARAM, { "exec-agent", "empty" } },
  { "[{'argv': <['a']>}]", "{'exec-agent': <'a'>}", DVM_ERROR_BAD_PARAM, { "exec-agent", "type as" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'timeout=0'>}", DVM_ERROR_BAD_PARAM, { "timeout", "“0”", "above 0" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'spawn-timeout=1:x'>}", DVM_ERROR_BAD_PARAM, { "“1:x”", "1:30:00" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'timeout=1:0:0:0:0'>}", DVM_ERROR_BAD_PARAM, { "timeout" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'timeout=99999:0:0:0'>}", DVM_ERROR_BAD_PARAM, { "99999" } },
  { "[{'argv': <['a']>}]",
    "{'runtime-options': <'timeout=2:0'>, 'timeout': <uint32 60>}",
    DVM_ERROR_BAD_PARAM,
    { "timeout", "60", "120" } },
  { "[{'argv': <['a']>}]",
    "{'runtime-options': <'spawn-timeout=2'>, 'spawn-timeout': <uint32 3>}",
    DVM_ERROR_BAD_PARAM,
    { "spawn-timeout", "3", "2" } },
  { "[{'argv': <['a']>}]",
    "{'runtime-options': <'aggregate-help-messages=no'>}",
    DVM_ERROR_NOT_SUPPORTED,
    { "aggregate-help-messages" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'donotlunch'>}", DVM_ERROR_BAD_PARAM, { "“donotlaunch”" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'stop-on-exec,stop-in-init'>}", DVM_ERROR_BAD_PARAM, { "one place" } },
  { "[{'argv': <['a']>}]",
    "{'runtime-options': <'stop-in-init'>, 'personality': <'plain'>}",
    DVM_ERROR_BAD_PARAM,
    { "stop-in-init", "pmix" } },
  { "[{'argv': <['a']>}]", "{'runtime-options': <'stop'>}", DVM_ERROR_BAD_PARAM, { "more than one" } },
  { "[{'argv': <['a']>}]", "{'pty-rows': <uint32 65536>}", DVM_ERROR_BAD_PARAM, { "pty-rows", "65535" } },
  { "[{'argv': <['a']>}]", "{'timeout': <-5>}", DVM_ERROR_BAD_PARAM, { "timeout", "type u" } },
  { "[{'argv': <['a']>}]", "{'env': <['A=1']>}", DVM_ERROR_BAD_PARAM, { "env", "a{ss}", "as" } },
};

static void
test_refusals (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (refusals); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmJobSpec) spec = test_job_spec_from_text (refusals[i].apps, refusals[i].options, &error);

      if (spec != NULL)
        g_error ("accepted: %s %s", refusals[i].apps, refusals[i].options);
      test_job_spec_assert_refused (spec, error, refusals[i].code, refusals[i].words);
    }
}

/* One byte less than the system's limit goes, one more names the variable. */
static void
test_long_strings (void)
{
  g_autofree char *longest = g_strnfill (131071 - 4, 'x');
  g_autofree char *longer = g_strnfill (131071 - 3, 'x');
  g_autofree char *huge = g_strnfill (1024 * 1024, 'x');
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (ring);
  DvmAppSpec *app = dvm_job_spec_get_app (spec, 0);
  const char *const argv[] = { "a", huge, NULL };
  g_autoptr (GError) error = NULL;

  dvm_app_spec_setenv (app, "BIG", longest);
  g_assert_true (dvm_job_spec_validate (spec, &error));
  dvm_app_spec_setenv (app, "BIG", longer);
  g_assert_false (dvm_job_spec_validate (spec, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_nonnull (strstr (error->message, "BIG"));
  g_assert_nonnull (strstr (error->message, "131072"));
  g_clear_error (&error);
  dvm_app_spec_setenv (app, "BIG", huge);
  g_assert_false (dvm_job_spec_validate (spec, &error));
  g_assert_nonnull (strstr (error->message, "BIG"));
  g_clear_error (&error);
  dvm_app_spec_set_env (app, NULL);
  dvm_app_spec_set_argv (app, argv);
  g_assert_false (dvm_job_spec_validate (spec, &error));
  g_assert_nonnull (strstr (error->message, "argv[1]"));
  g_clear_error (&error);
  dvm_app_spec_set_argv (app, ring);
  dvm_app_spec_setenv (app, huge, "");
  g_assert_false (dvm_job_spec_validate (spec, &error));
  g_assert_cmpuint (strlen (error->message), <, 500);
}

static void
test_not_utf8 (void)
{
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (ring);
  g_autoptr (GVariant) value = NULL;
  g_autoptr (GError) error = NULL;

  dvm_job_spec_set_map_by (spec, "\xff\xfe");
  g_assert_false (dvm_job_spec_validate (spec, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_nonnull (strstr (error->message, "map-by"));
  value = dvm_job_spec_to_variant (spec);
  g_assert_nonnull (value);
}

/* Which words there are the DVM knows: what has the form of one is kept as it is. */
static void
test_map_by (void)
{
  static const char *const right[] = { "slot", "PPR:12:NO", "Own-Word=3:arg:QUAL=a value, of two", ":PE=2", "x" };

  for (gsize i = 0; i < G_N_ELEMENTS (right); i++)
    {
      g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (ring);
      g_autoptr (DvmJobSpec) copy = NULL;
      g_autoptr (GVariant) value = NULL;
      g_autoptr (GVariant) apps = NULL;
      g_autoptr (GVariant) options = NULL;
      g_autoptr (GError) error = NULL;

      dvm_job_spec_set_map_by (spec, right[i]);
      dvm_job_spec_validate (spec, &error);
      g_assert_no_error (error);
      value = dvm_job_spec_to_variant (spec);
      g_variant_get (value, "(@aa{sv}@a{sv})", &apps, &options);
      copy = dvm_job_spec_new_from_variant (apps, options, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (dvm_job_spec_get_map_by (copy), ==, right[i]);
    }
}

static void
test_parsers (void)
{
  DvmRuntimeOptions options;
  DvmStdinTarget target;
  DvmWhenFull when_full;

  g_assert_true (_dvm_runtime_options_parse (NULL, "", &options, NULL));
  g_assert_true (options.error_nonzero_status);
  g_assert_false (options.recoverable);
  g_assert_true (_dvm_runtime_options_parse ("ERROR-NON=N,recov,donotl=yes", "", &options, NULL));
  g_assert_false (options.error_nonzero_status);
  g_assert_true (options.recoverable);
  g_assert_true (options.do_not_launch);
  g_assert_cmpint (options.notify_errors, ==, -1);
  g_assert_cmpint (options.stop, ==, DVM_STOP_NONE);
  g_assert_true (_dvm_runtime_options_parse ("stop-on-exec,stop-in-init=no", "", &options, NULL));
  g_assert_cmpint (options.stop, ==, DVM_STOP_ON_EXEC);
  g_assert_true (_dvm_runtime_options_parse ("stop-in-i", "", &options, NULL));
  g_assert_cmpint (options.stop, ==, DVM_STOP_IN_INIT);
  g_assert_cmpuint (options.max_restarts, ==, 0);
  g_assert_true (_dvm_runtime_options_parse ("max-restarts=0,autorestart=no", "", &options, NULL));
  g_assert_cmpuint (options.max_restarts, ==, 0);
  g_assert_true (_dvm_runtime_options_parse ("autorestart,recov,max-restarts=4294967295", "", &options, NULL));
  g_assert_cmpuint (options.max_restarts, ==, G_MAXUINT32);
  g_assert_true (_dvm_runtime_options_parse ("continuous,max-restarts=2", "", &options, NULL));
  g_assert_cmpuint (options.max_restarts, ==, 2);
  g_assert_true (_dvm_runtime_options_parse ("continuous=no", "", &options, NULL));
  g_assert_cmpuint (options.max_restarts, ==, 0);
  g_assert_true (_dvm_runtime_options_parse ("continuous", "", &options, NULL));
  g_assert_cmpuint (options.max_restarts, ==, G_MAXUINT32);
  g_assert_false (options.report_children_apart);
  g_assert_cmpuint (options.timeout, ==, 0);
  g_assert_true (_dvm_runtime_options_parse ("timeout=1:30,spawn-timeout=1:0:0:1,report-child,donotspawn,aggregate", "",
                                             &options, NULL));
  g_assert_cmpuint (options.timeout, ==, 90);
  g_assert_cmpuint (options.spawn_timeout, ==, 86401);
  g_assert_true (options.report_children_apart);
  g_assert_true (options.do_not_launch);
  g_assert_true (_dvm_stdin_target_parse ("7", "", &target, NULL));
  g_assert_cmpint (target.kind, ==, DVM_STDIN_RANK);
  g_assert_cmpuint (target.rank, ==, 7);
  g_assert_true (_dvm_stdin_target_parse ("0,2-4,3", "", &target, NULL));
  g_assert_cmpint (target.kind, ==, DVM_STDIN_LIST);
  g_assert_cmpuint (target.rank, ==, 4);
  g_assert_false (_dvm_stdin_target_parse ("4-2", "", &target, NULL));
  g_assert_false (_dvm_stdin_target_parse ("1,", "", &target, NULL));
  g_assert_true (_dvm_stdin_target_parse ("None", "", &target, NULL));
  g_assert_cmpint (target.kind, ==, DVM_STDIN_NONE);
  g_assert_true (_dvm_when_full_parse ("over", "", &when_full, NULL));
  g_assert_cmpint (when_full, ==, DVM_WHEN_FULL_OVERSUBSCRIBE);
}

/* The words of the command are those of a shell; key and word may say the same. */
static void
test_exec_agent (void)
{
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (ring);
  const char *const words[] = { "strace", "-o", "a b", NULL };
  g_auto (GStrv) none = _dvm_job_spec_dup_exec_agent (spec);
  g_auto (GStrv) of_word = NULL;
  g_auto (GStrv) of_key = NULL;

  g_assert_null (none);
  dvm_job_spec_set_runtime_options (spec, "recoverable,exec-agent=strace -o 'a b'");
  g_assert_true (dvm_job_spec_validate (spec, NULL));
  of_word = _dvm_job_spec_dup_exec_agent (spec);
  g_assert_cmpstrv (of_word, words);
  dvm_job_spec_set_exec_agent (spec, words);
  g_assert_true (dvm_job_spec_validate (spec, NULL));
  dvm_job_spec_set_runtime_options (spec, NULL);
  of_key = _dvm_job_spec_dup_exec_agent (spec);
  g_assert_cmpstrv (of_key, words);
  _dvm_job_spec_set_index_argv (spec, TRUE);
  g_assert_false (dvm_job_spec_validate (spec, NULL));
}

/* The time limit is that of the key, or of the word. */
static void
test_time_limits (void)
{
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (ring);
  DvmRuntimeOptions options;

  g_assert_cmpuint (_dvm_job_spec_get_time_limit (spec), ==, 0);
  dvm_job_spec_set_runtime_options (spec, "timeout=1:00,spawn-timeout=7,get-stack-traces");
  g_assert_true (dvm_job_spec_validate (spec, NULL));
  g_assert_cmpuint (_dvm_job_spec_get_time_limit (spec), ==, 60);
  dvm_job_spec_set_timeout (spec, 60);
  dvm_job_spec_set_spawn_timeout (spec, 7);
  g_assert_true (dvm_job_spec_validate (spec, NULL));
  dvm_job_spec_set_runtime_options (spec, "recoverable");
  g_assert_cmpuint (_dvm_job_spec_get_time_limit (spec), ==, 60);
  _dvm_job_spec_get_runtime (spec, &options);
  g_assert_cmpuint (options.timeout, ==, 60);
  g_assert_cmpuint (options.spawn_timeout, ==, 7);
}

static void
test_policies (void)
{
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (ring);
  DvmRuntimeOptions options;

  g_assert_false (_dvm_job_spec_is_plain (spec));
  g_assert_cmpint (_dvm_job_spec_get_when_full_policy (spec), ==, DVM_WHEN_FULL_WAIT);
  g_object_set (spec, "personality", "plain", "map-by", "node", "when-full", "refuse", "recoverable", TRUE,
                "max-restarts", 5, NULL);
  g_assert_true (_dvm_job_spec_is_plain (spec));
  g_assert_true (_dvm_job_spec_is_recoverable (spec));
  _dvm_job_spec_get_runtime (spec, &options);
  g_assert_cmpuint (options.max_restarts, ==, 5);
  g_assert_true (options.recoverable);
  g_assert_true (options.notify_errors);
  g_assert_true (options.error_nonzero_status);
  g_assert_cmpint (_dvm_job_spec_get_when_full_policy (spec), ==, DVM_WHEN_FULL_REFUSE);
  dvm_job_spec_set_runtime_options (spec, "notifyerrors");
  g_assert_true (dvm_job_spec_validate (spec, NULL));
  dvm_job_spec_set_runtime_options (spec, "notifyerrors=no");
  _dvm_job_spec_get_runtime (spec, &options);
  g_assert_false (options.notify_errors);
}

typedef struct
{
  const char *json;
  int code;
  const char *words[4];
} JsonRefusal;

static const JsonRefusal json_refusals[] = {
  { "", DVM_ERROR_BAD_PARAM, { "$" } },
  { "[]", DVM_ERROR_BAD_PARAM, { "$", "object", "list" } },
  { "{", DVM_ERROR_PARSE_FAILED, { "line 1" } },
  { "{\n\"a\" 1}", DVM_ERROR_PARSE_FAILED, { "line 2" } },
  { "{\"apps\": 1}", DVM_ERROR_BAD_PARAM, { "$.apps", "list" } },
  { "{\"apps\": []}", DVM_ERROR_BAD_PARAM, { "$.apps" } },
  { "{\"apps\": [1]}", DVM_ERROR_BAD_PARAM, { "$.apps[0]", "object" } },
  { "{\"apps\": [{\"argv\": [\"a\"]}, {\"argv\": [\"b\"], \"np\": 0}]}", DVM_ERROR_BAD_PARAM, { "$.apps[1].np" } },
  { "{\"argv\": [\"a\"], \"np\": -1}", DVM_ERROR_BAD_PARAM, { "$.np", "-1" } },
  { "{\"argv\": [\"a\"], \"np\": 1.5}", DVM_ERROR_BAD_PARAM, { "$.np", "whole" } },
  { "{\"argv\": [\"a\"], \"np\": 99999999999999999999}", DVM_ERROR_BAD_PARAM, { "$.np" } },
  { "{\"argv\": [\"a\"], \"np\": \"4\"}", DVM_ERROR_BAD_PARAM, { "$.np", "whole", "text" } },
  { "{\"argv\": [\"a\"], \"np\": null}", DVM_ERROR_BAD_PARAM, { "$.np", "null" } },
  { "{\"argv\": [\"a\", 1]}", DVM_ERROR_BAD_PARAM, { "$.argv[1]", "text" } },
  { "{\"argv\": \"a\"}", DVM_ERROR_BAD_PARAM, { "$.argv", "list" } },
  { "{\"argv\": [\"a\"], \"env\": {\"A\": 1}}", DVM_ERROR_BAD_PARAM, { "$.env.A" } },
  { "{\"argv\": [\"a\"], \"env\": [\"A=1\"]}", DVM_ERROR_BAD_PARAM, { "$.env", "object" } },
  { "{\"argv\": [\"a\"], \"mapby\": \"slot\"}", DVM_ERROR_BAD_PARAM, { "$.mapby", "“map-by”" } },
  { "{\"argv\": [\"a\"], \"stdin-fd\": 0}", DVM_ERROR_BAD_PARAM, { "$.stdin-fd" } },
  { "{\"argv\": [\"a\"], \"rankfile\": 0}", DVM_ERROR_NOT_SUPPORTED, { "$.rankfile" } },
  { "{\"argv\": [\"a\"], \"apps\": []}", DVM_ERROR_BAD_PARAM, { "$.argv" } },
  { "{\"argv-bytes\": [[97, 256]]}", DVM_ERROR_BAD_PARAM, { "$.argv-bytes[0][1]", "255" } },
  { "{\"argv\": [\"a\\u0000b\"]}", DVM_ERROR_PARSE_FAILED, { "NUL" } },
  { "{\"argv\": [\"\xff\"]}", DVM_ERROR_PARSE_FAILED, { "UTF-8" } },
  { "{\"argv\": ['a']}", DVM_ERROR_PARSE_FAILED, { "line 1" } },
  { "/* \" */{}", DVM_ERROR_PARSE_FAILED, { "comments" } },
  { "{\"argv\": [\"a\"], \"map-by\": \"co re\"}", DVM_ERROR_BAD_PARAM, { "$.map-by" } },
  { "{\"apps\": [{\"argv\": [\"a\"], \"cwd\": \"x\"}]}", DVM_ERROR_BAD_PARAM, { "$.apps[0].cwd" } },
};

static void
test_json (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_from_json (
      "{\"argv\": [\"[[\", \"\\\"[\", \"\\\\u0000\"], \"np\": 2, \"env\": {\"A\": \"1\"}, \"name\": \"x\"}", -1,
      &error);
  g_autofree char *deep = g_strnfill (1000000, '[');

  g_assert_no_error (error);
  g_assert_cmpstr (dvm_app_spec_get_argv (dvm_job_spec_get_app (spec, 0))[1], ==, "\"[");
  g_assert_cmpstr (dvm_app_spec_get_argv (dvm_job_spec_get_app (spec, 0))[2], ==, "\\u0000");
  g_assert_cmpuint (dvm_app_spec_get_np (dvm_job_spec_get_app (spec, 0)), ==, 2);
  g_assert_cmpstr (dvm_job_spec_get_name (spec), ==, "x");
  g_assert_null (dvm_job_spec_new_from_json (deep, -1, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED);
  for (gsize i = 0; i < G_N_ELEMENTS (json_refusals); i++)
    {
      g_autoptr (GError) json_error = NULL;
      g_autoptr (DvmJobSpec) refused = dvm_job_spec_new_from_json (json_refusals[i].json, -1, &json_error);

      if (refused != NULL)
        g_error ("accepted: %s", json_refusals[i].json);
      test_job_spec_assert_refused (refused, json_error, json_refusals[i].code, json_refusals[i].words);
    }
}

/* Cut anywhere, a job file is refused with a sentence and nothing else happens. */
static void
test_json_cut (void)
{
  g_autoptr (DvmJobSpec) spec = make_large ();
  g_autofree char *json = dvm_job_spec_to_json (spec);
  gsize length = strlen (json);

  while (length > 0 && g_ascii_isspace (json[length - 1]))
    length--;
  for (gsize i = 0; i < length; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmJobSpec) cut = dvm_job_spec_new_from_json (json, i, &error);

      g_assert_null (cut);
      g_assert_nonnull (error);
      g_assert_true (error->domain == DVM_ERROR);
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
    }
}

static void
test_output (void)
{
  g_auto (DvmOutputOptions) none = { 0 };
  g_auto (DvmOutputOptions) all = { 0 };
  g_auto (DvmOutputOptions) colons = { 0 };
  g_autoptr (GError) error = NULL;

  g_assert_true (_dvm_output_parse (NULL, "", &none, &error));
  g_assert_cmpint (none.tag, ==, DVM_OUTPUT_TAG_NONE);
  g_assert_true (!none.timestamp && !none.merge && none.dir == NULL && none.file == NULL);
  g_assert_true (_dvm_output_parse ("TAG-FULL:raw,time,merge,file=/x/%r:Pattern:co,:nocopy", "", &all, &error));
  g_assert_no_error (error);
  g_assert_cmpint (all.tag, ==, DVM_OUTPUT_TAG_FULLNAME);
  g_assert_true (all.timestamp && all.merge && all.raw && all.pattern && !all.copy);
  g_assert_cmpstr (all.file, ==, "/x/%r");
  /* A time of day may be part of a path. */
  g_assert_true (_dvm_output_parse ("dir=/a/12:30:05:copy:raw,rank", "", &colons, &error));
  g_assert_no_error (error);
  g_assert_cmpstr (colons.dir, ==, "/a/12:30:05");
  g_assert_true (colons.copy && colons.raw);
  g_assert_cmpint (colons.tag, ==, DVM_OUTPUT_TAG_RANK);
}

/* The option of the job is that of each application that does not say it. */
static void
test_psets (void)
{
  static const char json[] =
      "{\"pset\": \"größe\", \"apps\": [{\"argv\": [\"p\"], \"pset\": \"ice\"}, {\"argv\": [\"q\"]}]}";
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmJobSpec) first = dvm_job_spec_new_from_json (json, -1, &error);
  g_autofree char *text = first != NULL ? dvm_job_spec_to_json (first) : NULL;
  g_autoptr (DvmJobSpec) second = text != NULL ? dvm_job_spec_new_from_json (text, -1, &error) : NULL;

  g_assert_no_error (error);
  g_assert_cmpstr (dvm_app_spec_get_pset (dvm_job_spec_get_app (second, 0)), ==, "ice");
  g_assert_cmpstr (dvm_app_spec_get_pset (dvm_job_spec_get_app (second, 1)), ==, "größe");
}

static void
test_pset_limits (void)
{
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new ();
  g_autofree char *longest = g_strnfill (511, 'x');
  g_autofree char *longer = g_strnfill (512, 'x');
  g_autoptr (GError) error = NULL;
  DvmAppSpec *app;

  for (guint i = 0; i < 512; i++)
    {
      g_autoptr (DvmAppSpec) one = dvm_app_spec_new (ring);
      g_autofree char *name = g_strdup_printf ("set %u", i);

      dvm_app_spec_set_pset (one, name);
      dvm_job_spec_add_app (spec, one);
      /* Not of another set. */
      dvm_job_spec_add_app (spec, one);
    }
  app = dvm_job_spec_get_app (spec, 0);
  dvm_app_spec_set_pset (app, longest);
  dvm_job_spec_validate (spec, &error);
  g_assert_no_error (error);
  dvm_app_spec_set_pset (app, longer);
  g_assert_false (dvm_job_spec_validate (spec, &error));
  test_job_spec_assert_refused (NULL, error, DVM_ERROR_BAD_PARAM, (const char *[]){ "apps[0].pset", "511", NULL });
  g_clear_error (&error);
  dvm_app_spec_set_pset (app, "\xff");
  g_assert_false (dvm_job_spec_validate (spec, &error));
  test_job_spec_assert_refused (NULL, error, DVM_ERROR_BAD_PARAM, (const char *[]){ "apps[0].pset", "UTF-8", NULL });
  g_clear_error (&error);
  dvm_app_spec_set_pset (app, "set 0");
  app = dvm_app_spec_new (ring);
  dvm_app_spec_set_pset (app, "one more");
  dvm_job_spec_add_app (spec, app);
  g_object_unref (app);
  g_assert_false (dvm_job_spec_validate (spec, &error));
  test_job_spec_assert_refused (NULL, error, DVM_ERROR_BAD_PARAM, (const char *[]){ "pset", "512", "513", NULL });
}

static void
on_notify (GObject *object, GParamSpec *pspec, gpointer user_data)
{
  g_string_append_printf (user_data, "%s ", pspec->name);
}

/* Something else than the default, of the types that descriptions have. */
static void
fill_value (GValue *value, const char *name)
{
  const char *const list[] = { name, "b", NULL };

  if (G_VALUE_HOLDS_STRING (value))
    g_value_set_string (value, name);
  else if (G_VALUE_HOLDS_UINT (value))
    g_value_set_uint (value, 7);
  else if (G_VALUE_HOLDS_INT (value))
    g_value_set_int (value, -7);
  else if (G_VALUE_HOLDS_BOOLEAN (value))
    g_value_set_boolean (value, TRUE);
  else
    g_value_set_boxed (value, list);
}

static gboolean
is_same (const GValue *a, const GValue *b)
{
  if (G_VALUE_HOLDS_STRING (a))
    return g_strcmp0 (g_value_get_string (a), g_value_get_string (b)) == 0;
  if (G_VALUE_HOLDS_UINT (a))
    return g_value_get_uint (a) == g_value_get_uint (b);
  if (G_VALUE_HOLDS_INT (a))
    return g_value_get_int (a) == g_value_get_int (b);
  if (G_VALUE_HOLDS_BOOLEAN (a))
    return g_value_get_boolean (a) == g_value_get_boolean (b);
  if (g_value_get_boxed (a) == NULL || g_value_get_boxed (b) == NULL)
    return g_value_get_boxed (a) == g_value_get_boxed (b);
  return g_strv_equal (g_value_get_boxed (a), g_value_get_boxed (b));
}

static void
set_and_check (GObject *object, GParamSpec *pspec, const GValue *value, GString *log, const char *expected)
{
  g_auto (GValue) now = G_VALUE_INIT;

  g_string_truncate (log, 0);
  g_object_set_property (object, pspec->name, value);
  g_object_get_property (object, pspec->name, &now);
  g_assert_true (is_same (&now, value));
  g_assert_cmpstr (log->str, ==, expected);
}

/* A value that is set is read again; a listener hears of that property alone and once, and only of a change. */
static void
check_property (GObject *object, GParamSpec *pspec, GString *log)
{
  g_autofree char *told = g_strconcat (pspec->name, " ", NULL);
  g_auto (GValue) before = G_VALUE_INIT;
  g_auto (GValue) value = G_VALUE_INIT;

  g_object_get_property (object, pspec->name, &before);
  g_value_init (&value, pspec->value_type);
  fill_value (&value, pspec->name);
  set_and_check (object, pspec, &value, log, told);
  set_and_check (object, pspec, &value, log, "");
  set_and_check (object, pspec, &before, log, told);
}

static void
check_properties (GObject *object)
{
  g_autofree GParamSpec **pspecs = g_object_class_list_properties (G_OBJECT_GET_CLASS (object), NULL);
  g_autoptr (GString) log = g_string_new (NULL);

  g_signal_connect (object, "notify", G_CALLBACK (on_notify), log);
  for (guint i = 0; pspecs[i] != NULL; i++)
    if ((pspecs[i]->flags & G_PARAM_WRITABLE) != 0)
      check_property (object, pspecs[i], log);
    else
      g_assert_cmpstr (pspecs[i]->name, ==, "n-apps");
  g_signal_handlers_disconnect_by_data (object, log);
}

static void
test_properties (void)
{
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new ();
  g_autoptr (DvmAppSpec) app = dvm_app_spec_new (NULL);
  g_autoptr (GString) log = g_string_new (NULL);

  check_properties (G_OBJECT (spec));
  check_properties (G_OBJECT (app));
  g_signal_connect (spec, "notify", G_CALLBACK (on_notify), log);
  dvm_job_spec_add_app (spec, app);
  g_assert_cmpstr (log->str, ==, "n-apps ");
  g_string_truncate (log, 0);
  g_signal_connect (app, "notify", G_CALLBACK (on_notify), log);
  dvm_app_spec_setenv (app, "A", "1");
  dvm_app_spec_setenv (app, "A", "2");
  g_assert_cmpstr (log->str, ==, "env env ");
  g_assert_cmpstr (dvm_app_spec_get_env (app)[0], ==, "A=2");
  g_assert_null (dvm_app_spec_get_env (app)[1]);
  g_signal_handlers_disconnect_by_data (app, log);
  g_signal_handlers_disconnect_by_data (spec, log);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/job-spec/properties", test_properties);
  g_test_add_func ("/job-spec/builder", test_builder);
  g_test_add_func ("/job-spec/round-trip", test_round_trip);
  g_test_add_func ("/job-spec/defaults", test_defaults);
  g_test_add_func ("/job-spec/submit", test_submit);
  g_test_add_func ("/job-spec/refusals", test_refusals);
  g_test_add_func ("/job-spec/long-strings", test_long_strings);
  g_test_add_func ("/job-spec/not-utf8", test_not_utf8);
  g_test_add_func ("/job-spec/map-by", test_map_by);
  g_test_add_func ("/job-spec/parsers", test_parsers);
  g_test_add_func ("/job-spec/exec-agent", test_exec_agent);
  g_test_add_func ("/job-spec/time-limits", test_time_limits);
  g_test_add_func ("/job-spec/policies", test_policies);
  g_test_add_func ("/job-spec/json", test_json);
  g_test_add_func ("/job-spec/json-cut", test_json_cut);
  g_test_add_func ("/job-spec/output", test_output);
  g_test_add_func ("/job-spec/psets", test_psets);
  g_test_add_func ("/job-spec/pset-limits", test_pset_limits);
  return g_test_run ();
}
