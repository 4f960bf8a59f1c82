/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <glib.h>
#include <string.h>

#include "dvm-cli-options.h"
#include "dvm-cli-suggest.h"

static const DvmCliOption own[] = {
  { "np", 'n', "-c -np --n", DVM_CLI_ARG_COUNT, "N", NULL, "" },
  { "x", 'x', NULL, DVM_CLI_ARG_STRING, "NAME", NULL, "" },
  { "bus", 0, NULL, DVM_CLI_ARG_CHOICE, "BUS", "session|system|none", "" },
  { "delay", 0, NULL, DVM_CLI_ARG_NUMBER, "N", NULL, "" },
  { "time", 0, NULL, DVM_CLI_ARG_TIME, "TIME", NULL, "" },
  { NULL },
};

static const DvmCliOption common[] = {
  { "json", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, "" },
  { "quiet", 'q', NULL, DVM_CLI_ARG_NONE, NULL, NULL, "" },
  { "verbose", 'v', NULL, DVM_CLI_ARG_NONE, NULL, NULL, "" },
  { NULL },
};

static const DvmCliOption *const lists[] = { own, common, NULL };

/* line: words separated by spaces; (transfer full) */
static DvmCliArgs *
parse (char ***keep, const char *line, DvmCliParseFlags flags, GError **error)
{
  g_autoptr (DvmCliArgs) args = dvm_cli_args_new ();

  *keep = g_strsplit (line, " ", -1);
  if (!dvm_cli_args_parse (args, lists, (const char *const *)*keep, flags, error))
    return NULL;
  return g_steal_pointer (&args);
}

static void
test_spellings (void)
{
  static const char *const lines[] = {
    "-n 4", "-n4", "-np 4", "-c 4", "-c4", "--np 4", "--np=4", "--n 4", "-qn 4", NULL
  };

  for (gsize i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) keep = NULL;
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmCliArgs) args = parse (&keep, lines[i], DVM_CLI_PARSE_DEFAULT, &error);

      g_assert_no_error (error);
      g_assert_cmpuint (dvm_cli_args_get_uint (args, "np", 0), ==, 4);
      g_assert_cmpuint (dvm_cli_args_get_n_words (args), ==, 0);
    }
}

static void
test_words (void)
{
  g_auto (GStrv) keep = NULL;
  g_autoptr (DvmCliArgs) args = parse (&keep, "-q a --json b - -- -n c", DVM_CLI_PARSE_DEFAULT, NULL);

  g_assert_nonnull (args);
  g_assert_true (dvm_cli_args_has (args, "quiet"));
  g_assert_true (dvm_cli_args_has (args, "json"));
  g_assert_false (dvm_cli_args_has (args, "verbose"));
  g_assert_false (dvm_cli_args_has (args, "np"));
  g_assert_cmpuint (dvm_cli_args_get_n_words (args), ==, 5);
  g_assert_cmpstr (dvm_cli_args_get_words (args)[2], ==, "-");
  g_assert_cmpstr (dvm_cli_args_get_words (args)[3], ==, "-n");
  g_assert_null (dvm_cli_args_get_words (args)[5]);
}

/* Arguments that belong to the program are not looked at. */
static void
test_program (void)
{
  g_auto (GStrv) keep = NULL;
  g_autoptr (DvmCliArgs) args = parse (&keep, "-n 2 prog -n 3 --nonsense -- x", DVM_CLI_PARSE_STOP_AT_WORD, NULL);

  g_assert_nonnull (args);
  g_assert_cmpuint (dvm_cli_args_get_uint (args, "np", 0), ==, 2);
  g_assert_cmpuint (dvm_cli_args_get_n_words (args), ==, 6);
  g_assert_cmpstr (dvm_cli_args_get_words (args)[4], ==, "--");
}

static void
test_repeated (void)
{
  g_auto (GStrv) keep = NULL;
  g_autoptr (DvmCliArgs) args = parse (&keep, "-x A=1 -x B -n 1 -n 2", DVM_CLI_PARSE_DEFAULT, NULL);
  g_autofree const char **values = NULL;

  g_assert_nonnull (args);
  values = dvm_cli_args_get_all (args, "x");
  g_assert_cmpstr (values[0], ==, "A=1");
  g_assert_cmpstr (values[1], ==, "B");
  g_assert_null (values[2]);
  g_assert_cmpuint (dvm_cli_args_get_uint (args, "np", 0), ==, 2);
}

static void
test_refused (void)
{
  static const struct
  {
    const char *line;
    const char *mentions;
  } cases[] = {
    { "-n 0", "'0'" },
    { "-n -1", "'-1'" },
    { "-n 1.5", "'1.5'" },
    { "-n 99999999999", "'99999999999'" },
    { "-n", "needs a value" },
    { "--np=", "''" },
    { "--jsn", "--json" },
    { "--quite", "--quiet" },
    { "-z", "'-z'" },
    { "-qz", "'-qz'" },
    { "--json=1", "no value" },
    { "--bus sesion", "'session'" },
    { "--bus x", "session, system, none" },
    { "--delay -1", "'-1'" },
    { "--time -1", "'-1'" },
    { "--time soon", "'soon'" },
    { "--time m", "'m'" },
    { "--time 5x", "'5x'" },
    { "--time 1:", "'1:'" },
    { "--time 1:2:3:4:5", "'1:2:3:4:5'" },
    { "--time 99999d", "'99999d'" },
    { "--time 9999999:0:0", "'9999999:0:0'" },
    { "--x=", "empty" },
    { "--zzzzzz", "'--zzzzzz'" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (GStrv) keep = NULL;
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmCliArgs) args = parse (&keep, cases[i].line, DVM_CLI_PARSE_DEFAULT, &error);

      g_assert_null (args);
      g_assert_error (error, DVM_CLI_USAGE_ERROR, 0);
      if (strstr (error->message, cases[i].mentions) == NULL)
        g_error ("'%s': '%s' does not mention %s", cases[i].line, error->message, cases[i].mentions);
    }
}

static void
test_times (void)
{
  static const struct
  {
    const char *line;
    guint seconds;
  } cases[] = {
    { "--time 0", 0 },        { "--time 90", 90 },    { "--time=90s", 90 },        { "--time 10m", 600 },
    { "--time 2h", 7200 },    { "--time 1d", 86400 }, { "--time 1:30", 90 },       { "--time 1:30:00", 5400 },
    { "--time 90:00", 5400 }, { "--time 0:90", 90 },  { "--time 1:0:0:1", 86401 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (GStrv) keep = NULL;
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmCliArgs) args = parse (&keep, cases[i].line, DVM_CLI_PARSE_DEFAULT, &error);

      g_assert_no_error (error);
      g_assert_cmpuint (dvm_cli_args_get_seconds (args, "time", 7), ==, cases[i].seconds);
      g_assert_cmpuint (dvm_cli_args_get_seconds (args, "delay", 7), ==, 7);
    }
}

static void
test_suggest (void)
{
  const char *const letters[] = { "x", NULL };
  static const char *const verbs[] = { "start", "status", "stop", "run", "submit", "wait", "jobs", "job", NULL };

  g_assert_cmpuint (dvm_cli_word_distance ("", "abc"), ==, 3);
  g_assert_cmpuint (dvm_cli_word_distance ("kitten", "sitting"), ==, 3);
  g_assert_cmpuint (dvm_cli_word_distance ("ab", "ba"), ==, 1);
  g_assert_cmpstr (dvm_cli_suggest ("rn", verbs), ==, "run");
  g_assert_cmpstr (dvm_cli_suggest ("sbumit", verbs), ==, "submit");
  g_assert_cmpstr (dvm_cli_suggest ("stat", verbs), ==, "status");
  g_assert_cmpstr (dvm_cli_suggest ("jobz", verbs), ==, "jobs");
  g_assert_null (dvm_cli_suggest ("grow", verbs));
  g_assert_null (dvm_cli_suggest ("N", verbs));
  g_assert_null (dvm_cli_suggest ("N", letters));
  g_assert_null (dvm_cli_suggest ("", verbs));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/options/spellings", test_spellings);
  g_test_add_func ("/cli/options/words", test_words);
  g_test_add_func ("/cli/options/program", test_program);
  g_test_add_func ("/cli/options/repeated", test_repeated);
  g_test_add_func ("/cli/options/refused", test_refused);
  g_test_add_func ("/cli/options/S23/times", test_times);
  g_test_add_func ("/cli/options/suggest", test_suggest);
  return g_test_run ();
}
