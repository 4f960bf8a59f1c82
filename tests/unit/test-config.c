/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <dvm.h>
#include <glib/gstdio.h>

#include "dvmd-config.h"

typedef struct
{
  char *dir;
  char *path; /* DIR/dvm/dvm.conf */
  DvmdConfig *config;
} Fixture;

static void
set_up (Fixture *fixture, gconstpointer data)
{
  g_autofree char *sub = NULL;

  fixture->dir = g_dir_make_tmp ("dvm-config-XXXXXX", NULL);
  sub = g_build_filename (fixture->dir, "dvm", NULL);
  fixture->path = g_build_filename (sub, "dvm.conf", NULL);
  g_assert_no_errno (g_mkdir (sub, 0700));
  fixture->config = dvmd_config_new ();
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  g_autofree char *sub = g_path_get_dirname (fixture->path);

  g_unlink (fixture->path);
  g_rmdir (sub);
  g_rmdir (fixture->dir);
  g_free (fixture->dir);
  g_free (fixture->path);
  dvmd_config_unref (fixture->config);
}

static void
test_built_in (Fixture *fixture, gconstpointer data)
{
  guint n;
  const DvmdSetting *settings = dvmd_config_get_settings (&n);

  g_assert_cmpuint (dvmd_config_get_uint (fixture->config, "history-limit"), ==, 1000);
  g_assert_cmpuint (dvmd_config_get_uint (fixture->config, "keep-output"), ==, 1024 * 1024);
  g_assert_cmpint (dvmd_config_get_usec (fixture->config, "kill-grace"), ==, 5 * G_USEC_PER_SEC);
  g_assert_cmpint (dvmd_config_get_usec (fixture->config, "kill-grace"), ==, 5 * G_USEC_PER_SEC);
  g_assert_cmpstr (dvmd_config_get_string (fixture->config, "pmix"), ==, "lazy");
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *values = dvmd_setting_describe_values (&settings[i]);

      g_assert_nonnull (values);
      g_assert_true (dvmd_config_get_origin (fixture->config, settings[i].name) == DVMD_CONFIG_ORIGIN_BUILT_IN);
      g_assert_cmpstr (dvmd_config_get_place (fixture->config, settings[i].name), ==, "built-in");
      g_assert_cmpuint (strlen (settings[i].description), >, 10);
    }
}

/* A later origin wins, whatever the order in which they come. */
static void
test_origins (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *config_home = g_strdup_printf ("XDG_CONFIG_HOME=%s", fixture->dir);
  const char *const environ[] = { config_home, "DVM_HISTORY_LIMIT=7", "DVM_NO_SETTING=1", NULL };
  g_autofree char *place = g_strdup_printf ("%s:4", fixture->path);

  g_file_set_contents (fixture->path, "# mine\n\n[dvm]\nkill-grace = 250 ms\nhistory-limit=5\nkeep-output= 64 KiB \n",
                       -1, &error);
  g_assert_no_error (error);
  dvmd_config_set (fixture->config, "keep-output", "1 GiB", DVMD_CONFIG_ORIGIN_COMMAND_LINE, &error);
  g_assert_no_error (error);
  dvmd_config_load (fixture->config, environ, &error);
  g_assert_no_error (error);
  g_assert_cmpint (dvmd_config_get_usec (fixture->config, "kill-grace"), ==, 250000);
  g_assert_cmpstr (dvmd_config_get_place (fixture->config, "kill-grace"), ==, place);
  g_assert_true (dvmd_config_get_origin (fixture->config, "kill-grace") == DVMD_CONFIG_ORIGIN_USER_FILE);
  g_assert_cmpuint (dvmd_config_get_uint (fixture->config, "history-limit"), ==, 7);
  g_assert_cmpstr (dvmd_config_get_place (fixture->config, "history-limit"), ==, "DVM_HISTORY_LIMIT");
  g_assert_cmpuint (dvmd_config_get_uint (fixture->config, "keep-output"), ==, 1 << 30);
  g_assert_true (dvmd_config_get_origin (fixture->config, "keep-output") == DVMD_CONFIG_ORIGIN_COMMAND_LINE);
}

typedef struct
{
  const char *text;
  const char *place; /* behind the path */
  const char *says;
} BadFile;

static const BadFile bad_files[] = {
  { "[dvm]\nkill-grace=5\nkil-grace=6\n",
    ":3: ", "there is no setting \"kil-grace\"; there are allocator, allocator-timeout" },
  { "[dvm]\nport-range = 99999\n",
    ":2: ", "\"99999\" is no value of port-range; it takes 0 for any, a port, or two as in" },
  { "[dvm]\nport-range = 20-10\n",
    ":2: ", "\"20-10\" is no value of port-range; it takes 0 for any, a port, or two as in" },
  { "[dvm]\nport-range = 0-10\n",
    ":2: ", "\"0-10\" is no value of port-range; it takes 0 for any, a port, or two as in" },
  { "[dvm]\nport-range =\n", ":2: ", "\"\" is no value of port-range; it takes 0 for any, a port, or two as in" },
  { "[dvm]\nlauncher-command = ssh 'x\n", ":2: ", "\"ssh 'x\" is no value of launcher-command; it takes a command" },
  { "[dvm]\nlauncher-command =\n", ":2: ", "\"\" is no value of launcher-command; it takes a command" },
  { "[dvm]\n\nhistory-limit = lots\n", ":3: ", "\"lots\" is no value of history-limit; it takes a number from 0 to" },
  { "[dvm]\nhistory-limit = -1\n", ":2: ", "it takes a number from 0" },
  { "[dvm]\nhistory-limit = 99999999999999999999999\n", ":2: ", "it takes a number from 0" },
  { "[dvm]\nkill-grace = 1e400\n", ":2: ", "it takes seconds from 0 to 3600" },
  { "[dvm]\nkill-grace = nan\n", ":2: ", "it takes seconds" },
  { "[dvm]\nkill-grace = 5 parsecs\n", ":2: ", "it takes seconds" },
  { "[dvm]\nkeep-output = 0x10\n", ":2: ", "it takes bytes from 0" },
  { "[dvm]\npmix = maybe\n", ":2: ", "it takes \"lazy\" or \"eager\"" },
  { "[dvm]\npmix-gds = \xff\xfe\n", ":2: ", "no UTF-8" },
  { "kill-grace=5\n", ":1: ", "below a line [dvm]" },
  { "[dvm]\nwhat is this\n", ":2: ", "a settings file has the line [dvm]" },
  { "[dvm]\n[slurm]\nx=1\n", ":2: ", "there is no group [slurm]; settings stand in [dvm]" },
  { "[dvm]\n[gr\xe9]\nx=1\n", ":2: ", "there is no group [gr\xef\xbf\xbd]; settings stand in [dvm]" },
  { "[dvm]\nw\xe9\n", ":2: ", "a settings file has the line [dvm]" },
};

static void
test_bad_files (Fixture *fixture, gconstpointer data)
{
  for (gsize i = 0; i < G_N_ELEMENTS (bad_files); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *start = g_strconcat (fixture->path, bad_files[i].place, NULL);

      g_assert_true (g_file_set_contents (fixture->path, bad_files[i].text, -1, NULL));
      g_assert_false (dvmd_config_load_file (fixture->config, fixture->path, DVMD_CONFIG_ORIGIN_USER_FILE, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED);
      g_test_message ("%s", error->message);
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      g_assert_true (g_str_has_prefix (error->message, start));
      g_assert_nonnull (strstr (error->message, bad_files[i].says));
    }
}

static void
test_odd_files (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (dvmd_config_load_file (fixture->config, fixture->path, DVMD_CONFIG_ORIGIN_USER_FILE, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_false (dvmd_config_load_file (fixture->config, fixture->dir, DVMD_CONFIG_ORIGIN_USER_FILE, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_FAILED);
  g_clear_error (&error);
  g_file_set_contents (fixture->path, "", -1, &error);
  g_assert_true (dvmd_config_load_file (fixture->config, fixture->path, DVMD_CONFIG_ORIGIN_USER_FILE, &error));
  g_assert_no_error (error);
  g_file_set_contents (fixture->path, "[dvm]\nx\0y", 10, &error);
  g_assert_false (dvmd_config_load_file (fixture->config, fixture->path, DVMD_CONFIG_ORIGIN_USER_FILE, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED);
}

static void
test_bad_arguments (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  const char *const environ[] = { "HOME=/nonexistent", "DVM_KILL_GRACE=soon", NULL };

  g_assert_false (dvmd_config_load (fixture->config, environ, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_true (g_str_has_prefix (error->message, "DVM_KILL_GRACE: \"soon\" is no value of kill-grace"));
  g_clear_error (&error);
  g_assert_false (dvmd_config_set (fixture->config, "x", "1", DVMD_CONFIG_ORIGIN_COMMAND_LINE, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_true (g_str_has_prefix (error->message, "command line: there is no setting \"x\""));
}

static DvmdConfig *
read_text (Fixture *fixture, const char *text)
{
  DvmdConfig *config = dvmd_config_new ();
  g_autoptr (GError) error = NULL;

  g_file_set_contents (fixture->path, text, -1, &error);
  g_assert_no_error (error);
  dvmd_config_load_file (config, fixture->path, DVMD_CONFIG_ORIGIN_USER_FILE, &error);
  g_assert_no_error (error);
  return config;
}

/* Read again: some count at once, the others are remembered until the restart. */
static void
test_take (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmdConfig) newer = read_text (fixture, "[dvm]\nkill-grace = 7\npmix = eager\nhistory-limit = 1000\n");
  g_autoptr (DvmdConfig) newest = dvmd_config_new ();
  g_autoptr (GPtrArray) changed = NULL;
  g_autoptr (GPtrArray) waiting = NULL;
  g_autoptr (GPtrArray) changed_back = NULL;
  g_autoptr (GVariant) all = NULL;
  g_autoptr (GVariant) one = NULL;
  g_autofree char *text = NULL;

  changed = dvmd_config_take (fixture->config, newer, &waiting);
  g_assert_cmpuint (changed->len, ==, 1);
  g_assert_cmpstr (changed->pdata[0], ==, "kill-grace");
  g_assert_cmpuint (waiting->len, ==, 1);
  g_assert_cmpstr (waiting->pdata[0], ==, "pmix");
  g_assert_cmpint (dvmd_config_get_usec (fixture->config, "kill-grace"), ==, 7 * G_USEC_PER_SEC);
  g_assert_cmpstr (dvmd_config_get_string (fixture->config, "pmix"), ==, "lazy");
  g_assert_cmpstr (dvmd_config_get_waiting (fixture->config, "pmix"), ==, "eager");
  /* The same value, from another place. */
  g_assert_true (g_str_has_suffix (dvmd_config_get_place (fixture->config, "history-limit"), "dvm.conf:4"));
  all = g_variant_ref_sink (dvmd_config_to_dictionary (fixture->config));
  one = g_variant_lookup_value (all, "pmix", G_VARIANT_TYPE_VARDICT);
  text = g_variant_print (one, FALSE);
  g_assert_nonnull (strstr (text, "'value': <'lazy'>"));
  g_assert_nonnull (strstr (text, "'waiting': <'eager'>"));
  g_assert_nonnull (strstr (text, "'time': <'at-start'>"));
  changed_back = dvmd_config_take (fixture->config, newest, NULL);
  g_assert_cmpuint (changed_back->len, ==, 1);
  g_assert_null (dvmd_config_get_waiting (fixture->config, "pmix"));
  g_assert_cmpstr (dvmd_config_get_place (fixture->config, "kill-grace"), ==, "built-in");
}

/* The file that is installed shows every setting with its built-in value. */
static void
test_example (Fixture *fixture, gconstpointer data)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "..", "..", "data", "dvm.conf", NULL);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  guint n;
  const DvmdSetting *settings = dvmd_config_get_settings (&n);

  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  dvmd_config_load_file (fixture->config, path, DVMD_CONFIG_ORIGIN_USER_FILE, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *line = g_strdup_printf ("\n#%s =%s%s\n", settings[i].name,
                                               settings[i].built_in[0] != '\0' ? " " : "", settings[i].built_in);

      g_test_message ("%s", settings[i].name);
      g_assert_nonnull (strstr (text, line));
      g_assert_nonnull (strstr (text, settings[i].description));
    }
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("/config/built-in", test_built_in);
  ADD ("/config/origins", test_origins);
  ADD ("/config/bad-files", test_bad_files);
  ADD ("/config/odd-files", test_odd_files);
  ADD ("/config/bad-arguments", test_bad_arguments);
  ADD ("/config/example", test_example);
  ADD ("/config/take", test_take);
  return g_test_run ();
}
