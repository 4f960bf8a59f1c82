/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files that a job brings along: what its specification makes of them.
 */

#include "config.h"

#include <dvm.h>
#include <string.h>

#include "dvm-job-spec-private.h"
#include "dvm-preload-private.h"
#include "job-spec-fixture.h"

static GPtrArray *
list_preloads (const char *apps, GError **error)
{
  g_autoptr (DvmJobSpec) spec = test_job_spec_from_text (apps, "{}", error);

  return spec != NULL ? _dvm_job_spec_list_preloads (spec, "", error) : NULL;
}

static void
test_preload_targets (void)
{
  static const struct
  {
    const char *path;
    const char *source;
    const char *target;
  } rows[] = {
    { "a", "/here/a", "a" },           { "./a//b", "/here/./a//b", "a/b" }, { "../../a/b", "/here/../../a/b", "a/b" },
    { "a/../b", "/here/a/../b", "b" }, { "/x/y/z", "/x/y/z", "z" },         { "12a", "/here/12a", "12a" },
    { "a b", "/here/a b", "a b" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *apps = g_strdup_printf ("[{'argv': <['p']>, 'cwd': <'/here'>, 'preload-files': <['%s']>}]",
                                               rows[i].path);
      g_autoptr (GError) error = NULL;
      g_autoptr (GPtrArray) list = list_preloads (apps, &error);
      const DvmPreload *preload;

      g_assert_no_error (error);
      g_assert_cmpuint (list->len, ==, 1);
      preload = g_ptr_array_index (list, 0);
      g_assert_cmpstr (preload->source, ==, rows[i].source);
      g_assert_cmpstr (preload->target, ==, rows[i].target);
      g_assert_false (preload->program);
    }
}

/* By their names; a program stays what it is. */
static void
test_preload_archives (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray)
      list = list_preloads ("[{'argv': <['./p.zip']>, 'cwd': <'/here'>, 'preload-binary': <true>, 'preload-files': "
                            "<['d/a.tar', 'b.tgz', 'c.tar.bz2', 'tar', 'e.zip.old']>}]",
                            &error);

  g_assert_no_error (error);
  g_assert_cmpuint (list->len, ==, 6);
  for (guint i = 0; i < list->len; i++)
    g_assert_cmpint (((const DvmPreload *)g_ptr_array_index (list, i))->archive, ==, i >= 1 && i <= 3);
}

/* The same program for several applications: once. */
static void
test_preload_program_twice (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) list = list_preloads ("[{'argv': <['./p', 'a']>, 'cwd': <'/here'>, 'preload-binary': <true>},"
                                              " {'argv': <['./p', 'b']>, 'cwd': <'/here'>, 'preload-binary': <true>}]",
                                              &error);

  g_assert_no_error (error);
  g_assert_cmpuint (list->len, ==, 1);
}

static void
test_preload_lists (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray)
      list = list_preloads ("[{'argv': <['./p', 'x']>, 'cwd': <'/here'>, 'preload-binary': <true>, 'preload-files': "
                            "<['a', './a', '/here/a']>},"
                            " {'argv': <['q']>, 'cwd': <'/there'>, 'preload-dir': <'/here'>, 'preload-binary': <true>,"
                            "  'preload-files': <['a', 'd/a']>}]",
                            &error);
  const DvmPreload *preload;

  /* The same file for several: once. */
  g_assert_no_error (error);
  g_assert_cmpuint (list->len, ==, 4);
  preload = g_ptr_array_index (list, 0);
  g_assert_true (preload->program);
  g_assert_cmpstr (preload->source, ==, "/here/./p");
  g_assert_cmpstr (preload->target, ==, "p");
  preload = g_ptr_array_index (list, 2);
  g_assert_true (preload->program);
  g_assert_cmpuint (preload->app, ==, 1);
  g_assert_cmpstr (preload->source, ==, "q");
  preload = g_ptr_array_index (list, 3);
  g_assert_cmpstr (preload->source, ==, "/here/d/a");
}

static void
test_preload_refusals (void)
{
  static const struct
  {
    const char *apps;
    int code;
    const char *words[3];
  } rows[] = {
    { "[{'argv': <['p']>, 'preload-files': <['']>}]", DVM_ERROR_BAD_PARAM, { "apps[0].preload-files", "name" } },
    { "[{'argv': <['p']>, 'preload-files': <['..']>}]", DVM_ERROR_BAD_PARAM, { "preload-files", ".." } },
    { "[{'argv': <['p']>, 'preload-files': <['a/']>}]", DVM_ERROR_BAD_PARAM, { "preload-files", "a/" } },
    { "[{'argv': <['p']>, 'preload-files': <['/']>}]", DVM_ERROR_BAD_PARAM, { "preload-files" } },
    { "[{'argv': <['p']>, 'preload-files': <['a/../../b']>}]", DVM_ERROR_BAD_PARAM, { "a/../../b", "leads out" } },
    { "[{'argv': <['p']>, 'preload-files': <['0']>}]", DVM_ERROR_BAD_PARAM, { "“0”", "ranks" } },
    { "[{'argv': <['p']>, 'preload-files': <['12/a']>}]", DVM_ERROR_BAD_PARAM, { "12/a", "ranks" } },
    { "[{'argv': <['p']>, 'preload-files': <['/x/a', '/y/a']>}]", DVM_ERROR_BAD_PARAM, { "/y/a", "/x/a" } },
    { "[{'argv': <['p']>, 'preload-files': <['a']>, 'cwd': <'/x'>},"
      " {'argv': <['q']>, 'preload-files': <['a']>, 'cwd': <'/y'>}]",
      DVM_ERROR_BAD_PARAM,
      { "apps[1].preload-files", "/y/a", "/x/a" } },
    { "[{'argv': <['./a']>, 'preload-binary': <true>, 'preload-files': <['/x/a']>}]",
      DVM_ERROR_BAD_PARAM,
      { "/x/a", "same name" } },
    { "[{'argv': <['p']>, 'preload-files': <['a', 'a/b']>}]", DVM_ERROR_BAD_PARAM, { "a/b", "part of its path" } },
    { "[{'argv': <['p']>, 'preload-dir': <'x'>}]", DVM_ERROR_BAD_PARAM, { "preload-dir", "absolute" } },
    { "[{'argv': <['p']>, 'preload-files': <'a'>}]", DVM_ERROR_BAD_PARAM, { "preload-files", "as" } },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const char *words[] = { rows[i].words[0], rows[i].words[1], rows[i].words[2], NULL };
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmJobSpec) spec = test_job_spec_from_text (rows[i].apps, "{}", &error);

      test_job_spec_assert_refused (spec, error, rows[i].code, words);
    }
}

static void
test_preload_round_trip (void)
{
  static const char json[] = "{\"argv\": [\"p\"], \"preload-files\": [\"a\", \"/b\"], \"preload-dir\": \"/d\","
                             " \"preload-binary\": true, \"set-cwd-to-session-dir\": true}";
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmJobSpec) first = dvm_job_spec_new_from_json (json, -1, &error);
  g_autofree char *text = first != NULL ? dvm_job_spec_to_json (first) : NULL;
  g_autoptr (DvmJobSpec) second = text != NULL ? dvm_job_spec_new_from_json (text, -1, &error) : NULL;
  DvmAppSpec *app;

  g_assert_no_error (error);
  app = dvm_job_spec_get_app (second, 0);
  g_assert_cmpstr (dvm_app_spec_get_preload_files (app)[0], ==, "a");
  g_assert_cmpstr (dvm_app_spec_get_preload_files (app)[1], ==, "/b");
  g_assert_null (dvm_app_spec_get_preload_files (app)[2]);
  g_assert_cmpstr (dvm_app_spec_get_preload_dir (app), ==, "/d");
  g_assert_true (dvm_app_spec_get_preload_binary (app));
  g_assert_true (dvm_app_spec_get_session_cwd (app));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/job-spec-preload/targets", test_preload_targets);
  g_test_add_func ("/job-spec-preload/program-twice", test_preload_program_twice);
  g_test_add_func ("/job-spec-preload/archives", test_preload_archives);
  g_test_add_func ("/job-spec-preload/lists", test_preload_lists);
  g_test_add_func ("/job-spec-preload/refusals", test_preload_refusals);
  g_test_add_func ("/job-spec-preload/round-trip", test_preload_round_trip);
  return g_test_run ();
}
