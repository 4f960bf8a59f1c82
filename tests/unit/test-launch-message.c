/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How large the launch message is (P11), and the environments that it names.
 */

#include "config.h"

#include <string.h>

#include "dvmd-launch-message.h"
#include "dvmd-map-driver.h"
#include "dvmd-message.h"
#include "dvmd-plugins.h"

/* A user's environment looks like this. */
static char **
make_environment (guint n, guint seed)
{
  GStrvBuilder *builder = g_strv_builder_new ();
  char **strings;

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *string = g_strdup_printf ("VARIABLE_%u=value number %u of %u, and some text", i, seed, n);

      g_strv_builder_add (builder, string);
    }
  strings = g_strv_builder_end (builder);
  g_strv_builder_unref (builder);
  return strings;
}

/* ---- the message ---- */

static DvmdMap *
make_map (DvmdPlugins *plugins, const char *map_by, guint n_nodes, guint per_node)
{
  g_autofree DvmdMapNode *nodes = g_new0 (DvmdMapNode, n_nodes);
  guint np = n_nodes * per_node;
  DvmdMapRequest request = { .app_np = &np, .n_apps = 1, .nodes = nodes, .n_nodes = n_nodes };
  const DvmdMapWishes wishes = { .map_by = map_by };
  g_autoptr (GError) error = NULL;
  DvmdMap *map;

  for (guint i = 0; i < n_nodes; i++)
    nodes[i] = (DvmdMapNode){ .name = "node", .rank = i + 1, .limit = per_node };
  map = dvmd_map_driver_map (dvmd_plugins_get_active (plugins, DVMD_PLUGIN_MAPPER), &wishes, &request, NULL, &error);
  g_assert_no_error (error);
  return map;
}

static GVariant *
make_message (DvmdPlugins *plugins, const char *map_by, guint n_nodes, guint per_node)
{
  const char *argv[] = { "/opt/science/bin/simulation", "--input", "/data/run-17/input.h5", "--steps", "100000", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  DvmAppSpec *app = dvm_job_spec_get_app (spec, 0);
  g_autoptr (DvmdMap) map = make_map (plugins, map_by, n_nodes, per_node);
  g_autoptr (DvmdEnvironments) kept = dvmd_environments_new (DVMD_ENVIRONMENTS_LIMIT);
  g_autoptr (GPtrArray) environments = g_ptr_array_new_with_free_func ((GDestroyNotify)dvmd_environment_unref);
  g_auto (GStrv) env = make_environment (100, 0);
  DvmdLaunchMessage message = {
    .job = 4711,
    .nspace = "dvm-a-rather-long-name.4711@4711",
    .spec = spec,
    .map = map,
    .universe = n_nodes * per_node,
    .options.kill_grace = 5 * G_USEC_PER_SEC,
    .options.credit = 1024 * 1024,
    .environments = environments,
  };
  GVariant *body;

  dvm_app_spec_set_env (app, (const char *const *)env);
  dvm_job_spec_set_map_by (spec, map_by);
  g_assert_true (dvmd_launch_message_names_environment (app));
  g_ptr_array_add (environments, dvmd_environments_intern (kept, dvm_app_spec_get_env (app)));
  body = g_variant_ref_sink (dvmd_launch_message_build (&message));
  g_assert_true (g_variant_is_of_type (body, dvmd_message_kind_type (DVMD_MSG_LAUNCH)));
  return body;
}

static void
test_size (void)
{
  const DvmdPluginsSettings none = { 0 };
  g_autoptr (DvmdPlugins) plugins = dvmd_plugins_new (&none, NULL);
  const char *const ways[][2] = { { "slot", "slot" }, { "node", "node" }, { "ppr:001:node", "ppr:128:node" } };

  for (gsize i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      g_autoptr (GVariant) one = make_message (plugins, ways[i][0], 1000, 1);
      g_autoptr (GVariant) many = make_message (plugins, ways[i][1], 1000, 128);
      g_autoptr (GVariant) few = make_message (plugins, ways[i][1], 2, 128);

      g_test_message ("P11, %s: %" G_GSIZE_FORMAT " bytes", ways[i][1], g_variant_get_size (many));
      g_assert_cmpuint (g_variant_get_size (many), <=, 4096);
      g_assert_cmpuint (g_variant_get_size (many), ==, g_variant_get_size (one));
      g_assert_cmpuint (g_variant_get_size (many), ==, g_variant_get_size (few));
    }
}

/* An agent reads what the controller writes, and refuses what it does not know. */
static void
test_options (void)
{
  guint32 apps[] = { 0, 2 };
  g_autoptr (GVariant)
      list = g_variant_ref_sink (g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, apps, G_N_ELEMENTS (apps), 4));
  const DvmdLaunchOptions options = {
    .personality = (char *)"plain",
    .pty = TRUE,
    .pty_rows = 24,
    .pty_columns = 80,
    .stop = 2,
    .stop_ranks = (char *)"0,3-4",
    .max_restarts = 6,
    .status_is_no_failure = TRUE,
    .preloaded_apps = list,
    .kill_grace = -1,
    .stdin_target = DVMD_NO_STDIN,
    .credit = G_MAXUINT64,
    .parent = (char *)"a@1",
    .parent_rank = 3,
    .offset = 4,
    .session = 5,
    .tree_fences = TRUE,
  };
  g_autoptr (GVariant) dict = g_variant_ref_sink (dvmd_fields_to_dict (dvmd_launch_fields, &options));
  const char *const wrong[] = { "{'merge': <true>}", "{'pty': <uint32 1>}", "{'preloaded-apps': <['a']>}" };
  DvmdLaunchOptions read = { 0 };
  g_autoptr (GVariant) again = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (g_variant_n_children (dict), ==, 17);
  g_assert_true (dvmd_fields_from_dict (dvmd_launch_fields, &read, dict, &error));
  g_assert_no_error (error);
  again = g_variant_ref_sink (dvmd_fields_to_dict (dvmd_launch_fields, &read));
  g_assert_true (g_variant_equal (again, dict));
  g_assert_cmpstr (read.parent, ==, "a@1");
  g_assert_cmpint (read.kill_grace, ==, -1);
  g_assert_cmpuint (g_variant_n_children (read.preloaded_apps), ==, 2);
  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GVariant) bad = g_variant_ref_sink (g_variant_new_parsed (wrong[i]));

      g_assert_false (dvmd_fields_from_dict (dvmd_launch_fields, &read, bad, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED);
      g_clear_error (&error);
    }
  dvmd_fields_clear (dvmd_launch_fields, &read);
  g_assert_null (read.parent);
  g_assert_null (read.preloaded_apps);
}

/* ---- environments ---- */

static void
test_environments (void)
{
  g_autoptr (DvmdEnvironments) kept = dvmd_environments_new (DVMD_ENVIRONMENTS_LIMIT);
  g_auto (GStrv) strings = make_environment (10, 1);
  g_auto (GStrv) same = make_environment (10, 1);
  const char *joined[] = { "A=1", "B", NULL };
  const char *apart[] = { "A=1B", NULL };
  const char *none[] = { NULL };
  g_autoptr (DvmdEnvironment) first = dvmd_environments_intern (kept, (const char *const *)strings);
  g_autoptr (DvmdEnvironment) second = dvmd_environments_intern (kept, (const char *const *)same);
  g_autoptr (DvmdEnvironment) third = dvmd_environments_intern (kept, joined);
  g_autoptr (DvmdEnvironment) fourth = dvmd_environments_intern (kept, apart);
  g_autoptr (DvmdEnvironment) empty = dvmd_environments_intern (kept, none);
  g_autoptr (DvmdEnvironment) found = dvmd_environments_find (kept, second->digest);

  g_assert_true (first == second && first == found);
  g_assert_cmpuint (g_bytes_get_size (first->digest), ==, 32);
  g_assert_false (g_bytes_equal (third->digest, fourth->digest));
  g_assert_true (g_strv_equal ((const char *const *)first->strings, (const char *const *)same));
  g_assert_cmpuint (empty->n_bytes, ==, 0);
  g_assert_cmpuint (dvmd_environments_get_n (kept), ==, 4);
}

/* The environment that was not used for the longest time goes first; the last one stays, however large it is. */
static void
test_limit (void)
{
  g_autoptr (DvmdEnvironments) kept = dvmd_environments_new (10000);
  g_autoptr (GPtrArray) digests = g_ptr_array_new_with_free_func ((GDestroyNotify)g_bytes_unref);
  g_auto (GStrv) large = make_environment (1000, 0);
  g_autoptr (DvmdEnvironment) last = NULL;

  for (guint i = 0; i < 100; i++)
    {
      g_auto (GStrv) strings = make_environment (30, i);
      g_autoptr (DvmdEnvironment) environment = dvmd_environments_intern (kept, (const char *const *)strings);
      g_autoptr (DvmdEnvironment) again = NULL;

      g_ptr_array_add (digests, g_bytes_ref (environment->digest));
      again = dvmd_environments_find (kept, digests->pdata[0]);
      g_assert_nonnull (again);
      g_assert_cmpuint (dvmd_environments_get_n (kept), <=, 10);
    }
  for (guint i = 1; i < 80; i++)
    {
      g_autoptr (DvmdEnvironment) gone = dvmd_environments_find (kept, digests->pdata[i]);

      g_assert_null (gone);
    }
  last = dvmd_environments_intern (kept, (const char *const *)large);
  g_assert_cmpuint (dvmd_environments_get_n (kept), ==, 1);
  g_assert_cmpuint (g_strv_length (last->strings), ==, 1000);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/launch-message/size", test_size);
  g_test_add_func ("/launch-message/options", test_options);
  g_test_add_func ("/launch-message/environments", test_environments);
  g_test_add_func ("/launch-message/limit", test_limit);
  return g_test_run ();
}
