/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <glib.h>
#include <string.h>

#include "dvm-cli-environment.h"
#include "dvm-cli-info.h"
#include "dvm-cli-json.h"
#include "dvm-cli-output.h"
#include "dvm-cli-signals.h"
#include "dvm-cli-table.h"

static const DvmCliColumn columns[] = {
  { "id", "ID", DVM_CLI_KIND_NUMBER },   { "name", "NAME", DVM_CLI_KIND_TEXT },       { "at", NULL, DVM_CLI_KIND_TIME },
  { NULL, "STATE", DVM_CLI_KIND_STATE }, { "command", "COMMAND", DVM_CLI_KIND_TEXT }, { NULL, NULL, 0 },
};

static void
add (DvmCliTable *table, guint id, const char *name, guint64 at, const char *state, const char *command)
{
  GVariant *const values[] = { g_variant_new_uint32 (id), g_variant_new_string (name), g_variant_new_uint64 (at),
                               g_variant_new_string (state), g_variant_new_string (command) };

  dvm_cli_table_add (table, values);
}

static void
test_text (void)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);
  g_autofree char *wide = NULL;
  g_autofree char *narrow = NULL;
  g_autofree char *coloured = NULL;

  add (table, 7, "größe", 0, "RUNNING", "/bin/sh -c 'echo a lot of words'");
  add (table, 123, "日本", 0, "NOTIFIED", "");
  wide = dvm_cli_table_to_text (table, 0, FALSE);
  g_assert_cmpstr (wide, ==,
                   " ID  NAME   STATE     COMMAND\n"
                   "  7  größe  RUNNING   /bin/sh -c 'echo a lot of words'\n"
                   "123  日本   NOTIFIED  -\n");
  narrow = dvm_cli_table_to_text (table, 34, FALSE);
  g_assert_cmpstr (narrow, ==,
                   " ID  NAME   STATE     COMMAND\n"
                   "  7  größe  RUNNING   /bin/sh -c …\n"
                   "123  日本   NOTIFIED  -\n");
  coloured = dvm_cli_table_to_text (table, 0, TRUE);
  g_assert_nonnull (strstr (coloured, "\033[32mRUNNING\033[0m   /bin/sh"));
}

/* From wide to narrow: cut the last, drop what can be dropped, one line for each value. */
static void
test_narrow (void)
{
  static const DvmCliColumn narrow[] = {
    { "id", "ID", DVM_CLI_KIND_NUMBER },      { "size", "SIZE", DVM_CLI_KIND_NUMBER, 2 },
    { "of", "OWNER", DVM_CLI_KIND_TEXT, 1 },  { "state", "STATE", DVM_CLI_KIND_STATE },
    { "what", "COMMAND", DVM_CLI_KIND_TEXT }, { NULL, NULL, 0 },
  };
  static const struct
  {
    guint width;
    const char *text;
  } cases[] = {
    { 44, "ID  SIZE  OWNER  STATE    COMMAND\n 7     3  me     RUNNING  e\xcc\x81 tu, and all the…\n" },
    { 30, "ID  SIZE  STATE    COMMAND\n 7     3  RUNNING  e\xcc\x81 tu, and …\n" },
    { 22, "ID  STATE    COMMAND\n 7  RUNNING  e\xcc\x81 tu, an…\n" },
    { 20, "     ID: 7\n   SIZE: 3\n  OWNER: me\n  STATE: RUNNING\nCOMMAND: e\xcc\x81 tu, and …\n" },
    { 1, "     ID: 7\n   SIZE: 3\n  OWNER: me\n  STATE: RUNNING\nCOMMAND: e\xcc\x81 tu, a…\n" },
  };
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (narrow);
  GVariant *const values[] = { g_variant_new_uint32 (7), g_variant_new_uint32 (3), g_variant_new_string ("me"),
                               g_variant_new_string ("RUNNING"),
                               g_variant_new_string ("e\xcc\x81 tu, and all the rest") };

  dvm_cli_table_add (table, values);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = dvm_cli_table_to_text (table, cases[i].width, FALSE);

      g_assert_cmpstr (text, ==, cases[i].text);
    }
}

static void
test_empty (void)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);
  g_autofree char *text = dvm_cli_table_to_text (table, 80, FALSE);
  g_autofree char *json = dvm_cli_table_to_json (table);

  g_assert_cmpstr (text, ==, "ID  NAME  STATE  COMMAND\n");
  g_assert_cmpstr (json, ==, "[]\n");
}

/* Nothing that a job is called may move the cursor of who looks. */
static void
test_hostile (void)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);
  g_autofree char *text = NULL;
  g_autofree char *raw = dvm_cli_escape ("\xff\033[2J");

  add (table, 1, "a\nb\t\033[31m", 0, "", "\xc2\x9b");
  text = dvm_cli_table_to_text (table, 0, FALSE);
  g_assert_nonnull (strstr (text, "a\\nb\\t\\x1b[31m"));
  g_assert_nonnull (strstr (text, "\\x9b"));
  g_assert_null (strchr (text, '\033'));
  g_assert_cmpstr (raw, ==, "\\xff\\x1b[2J");
}

static void
test_json (void)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);
  g_autofree char *array = NULL;
  g_autofree char *object = NULL;
  g_autofree char *lines = NULL;

  add (table, 7, "a\"\\\n", 1767323045000006, "RUNNING", "x");
  add (table, 8, "", 0, "RUNNING", "y");
  array = dvm_cli_table_to_json (table);
  object = dvm_cli_table_to_json_object (table);
  g_assert_cmpstr (
      array, ==,
      "[{\"id\":7,\"name\":\"a\\\"\\\\\\u000a\",\"at\":\"2026-01-02T03:04:05.000006Z\",\"command\":\"x\"},\n"
      " {\"id\":8,\"name\":\"\",\"at\":null,\"command\":\"y\"}]\n");
  g_assert_cmpstr (
      object, ==,
      "{\"id\":7,\"name\":\"a\\\"\\\\\\u000a\",\"at\":\"2026-01-02T03:04:05.000006Z\",\"command\":\"x\"}\n");
  lines = dvm_cli_table_to_json_lines (table);
  g_assert_true (g_str_has_prefix (lines, object));
  g_assert_cmpstr (lines + strlen (object), ==, "{\"id\":8,\"name\":\"\",\"at\":null,\"command\":\"y\"}\n");
}

static void
test_list (void)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);
  g_autofree char *list = NULL;

  add (table, 7, "n", 0, "UP", "c");
  list = dvm_cli_table_to_list (table, FALSE);
  g_assert_cmpstr (list, ==, "     ID: 7\n   NAME: n\n  STATE: UP\nCOMMAND: c\n");
}

static void
test_info (void)
{
  g_autoptr (GVariant) properties = g_variant_ref_sink (g_variant_new_parsed (
      "{'State': <uint32 11>, 'StateName': <'VM_READY'>, 'Ready': <true>, 'TreeRepairs': <uint64 3>, "
      "'StartedAt': <uint64 1767323045000006>, 'Statistics': <{'jobs-ended': <uint64 2>}>}"));
  g_autofree char *json = dvm_cli_info_to_json (properties);
  g_autofree char *text = dvm_cli_info_to_text (properties);

  g_assert_cmpstr (json, ==,
                   "{\"state\":\"VM_READY\",\"ready\":true,\"tree-repairs\":3,"
                   "\"started-at\":\"2026-01-02T03:04:05.000006Z\",\"statistics\":{\"jobs-ended\":2}}\n");
  g_assert_cmpstr (text, ==,
                   "ready: yes\nstarted-at: 2026-01-02T03:04:05.000006Z\nstate: VM_READY\nstatistics.jobs-ended: 2\n"
                   "tree-repairs: 3\n");
}

/* Texts of another user's DVM may stand on one's screen: its keys, too. */
static void
test_info_of_others (void)
{
  g_autoptr (GVariant) properties = g_variant_ref_sink (
      g_variant_new_parsed ("{'A\\u001b[2J': <'\\u001b[2J'>, 'B': <{'\\u0007': <1>}>}"));
  g_autofree char *text = dvm_cli_info_to_text (properties);

  g_assert_cmpstr (text, ==, "a\\x1b[2-j: \\x1b[2J\nb.\\x07: 1\n");
}

static void
test_environment (void)
{
  g_autoptr (DvmCliEnvironment) environment = NULL;

  g_setenv ("G_SLICE", "x", TRUE);
  g_setenv ("DVM_DVMD", "x", TRUE);
  g_setenv ("CLI_TEST_ONE", "1", TRUE);
  environment = dvm_cli_environment_new ();
  g_assert_false (dvm_cli_environment_has (environment, "G_SLICE"));
  g_assert_false (dvm_cli_environment_has (environment, "DVM_DVMD"));
  g_assert_true (dvm_cli_environment_has (environment, "CLI_TEST_*"));
  g_assert_false (dvm_cli_environment_has (environment, "CLI_TEST_"));
  dvm_cli_environment_assign (environment, "CLI_TEST_ONE=2=3");
  dvm_cli_environment_set (environment, "CLI_TEST_TWO", "");
  g_assert_true (g_strv_contains (dvm_cli_environment_get (environment), "CLI_TEST_ONE=2=3"));
  g_assert_false (g_strv_contains (dvm_cli_environment_get (environment), "CLI_TEST_ONE=1"));
  g_assert_true (g_strv_contains (dvm_cli_environment_get (environment), "CLI_TEST_TWO="));
}

static void
test_signals (void)
{
  g_autofree char *name = dvm_cli_signal_name (15);

  g_assert_cmpint (dvm_cli_signal_from_name ("TERM"), ==, 15);
  g_assert_cmpint (dvm_cli_signal_from_name ("sigkill"), ==, 9);
  g_assert_cmpint (dvm_cli_signal_from_name ("10"), ==, 10);
  g_assert_cmpint (dvm_cli_signal_from_name ("RTMIN+1"), >, 32);
  g_assert_cmpint (dvm_cli_signal_from_name ("RTMIN+99"), ==, 0);
  g_assert_cmpint (dvm_cli_signal_from_name ("0"), ==, 0);
  g_assert_cmpint (dvm_cli_signal_from_name ("65"), ==, 0);
  g_assert_cmpint (dvm_cli_signal_from_name ("NOPE"), ==, 0);
  g_assert_cmpint (dvm_cli_signal_from_name (""), ==, 0);
  g_assert_cmpstr (name, ==, "SIGTERM");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/table/text", test_text);
  g_test_add_func ("/cli/table/narrow", test_narrow);
  g_test_add_func ("/cli/table/empty", test_empty);
  g_test_add_func ("/cli/table/hostile", test_hostile);
  g_test_add_func ("/cli/table/json", test_json);
  g_test_add_func ("/cli/table/list", test_list);
  g_test_add_func ("/cli/info", test_info);
  g_test_add_func ("/cli/info-of-others", test_info_of_others);
  g_test_add_func ("/cli/environment", test_environment);
  g_test_add_func ("/cli/signals", test_signals);
  return g_test_run ();
}
