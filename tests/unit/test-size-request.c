/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Requests to change the size of the DVM, as they are read, and what is said of those that make no sense.
 */

#include "config.h"

#include <glib/gstdio.h>

#include "dvmd-size-request.h"

static DvmdSizeRequest *
read_text (const char *directive, const char *text, GError **error)
{
  GError *own = NULL;
  g_autoptr (GVariant) request = g_variant_parse (G_VARIANT_TYPE_VARDICT, text, NULL, NULL, &own);

  g_assert_no_error (own);
  return dvmd_size_request_new (directive, request, NULL, error);
}

static void
test_grow (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdSizeRequest) request = read_text (
      "grow", "{'hosts': <['n9:2', 'ann@n10:2222', 'n9']>, 'req-id': <'mine'>, 'share': <false>}", &error);
  g_autofree const char **names = NULL;

  g_assert_no_error (error);
  g_assert_cmpint (request->kind, ==, DVMD_SIZE_GROW);
  g_assert_cmpstr (request->req_id, ==, "mine");
  g_assert_null (request->alloc_id);
  g_assert_null (request->of_req_id);
  g_assert_false (request->share);
  g_assert_true (request->share_given);
  g_assert_true (request->is_new);
  names = dvmd_size_request_list_hosts (request);
  g_assert_cmpuint (g_strv_length ((char **)names), ==, 2);
  g_assert_cmpstr (names[0], ==, "n9");
  g_assert_cmpstr (names[1], ==, "n10");
  g_assert_cmpuint (_dvm_hosts_get (request->hosts, 0)->slots, ==, 3);
}

static void
test_others (void)
{
  g_autoptr (DvmdSizeRequest) count = read_text ("new", "{'count': <uint32 3>, 'req-id': <''>}", NULL);
  g_autoptr (DvmdSizeRequest) extend = read_text ("extend", "{'count': <uint32 1>, 'of-req-id': <'r'>}", NULL);
  g_autoptr (DvmdSizeRequest) release = read_text ("release", "{'alloc-id': <'a'>, 'drain-timeout': <uint32 9>}", NULL);
  g_autoptr (DvmdSizeRequest) cancel = read_text ("cancel", "{'alloc-id': <'a'>}", NULL);

  g_assert_cmpuint (count->count, ==, 3);
  g_assert_null (count->req_id);
  g_assert_true (count->share);
  g_assert_null (dvmd_size_request_list_hosts (count));
  g_assert_cmpstr (extend->of_req_id, ==, "r");
  g_assert_cmpint (release->kind, ==, DVMD_SIZE_SHRINK);
  g_assert_cmpuint (release->drain_timeout, ==, 9);
  g_assert_cmpint (cancel->kind, ==, DVMD_SIZE_CANCEL);
}

/* D19: who says who is to have the nodes, says that not everybody is. */
static void
test_share (void)
{
  static const struct
  {
    const char *directive;
    const char *request;
    gboolean share;
    gboolean given;
  } rows[] = {
    { "new", "{'count': <uint32 1>}", TRUE, FALSE },
    { "grow", "{'count': <uint32 1>}", TRUE, FALSE },
    { "new", "{'count': <uint32 1>, 'target': <'job-1'>}", FALSE, FALSE },
    { "new", "{'count': <uint32 1>, 'session': <uint32 3>}", FALSE, FALSE },
    { "grow", "{'count': <uint32 1>, 'session': <uint32 3>}", FALSE, FALSE },
    { "new", "{'count': <uint32 1>, 'target': <'job-1'>, 'share': <true>}", TRUE, TRUE },
    { "new", "{'count': <uint32 1>, 'share': <false>}", FALSE, TRUE },
    { "extend", "{'count': <uint32 1>, 'alloc-id': <'a'>}", FALSE, FALSE },
    { "extend", "{'count': <uint32 1>, 'alloc-id': <'a'>, 'share': <true>}", TRUE, TRUE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (DvmdSizeRequest) request = read_text (rows[i].directive, rows[i].request, NULL);

      g_test_message ("%s %s", rows[i].directive, rows[i].request);
      g_assert_nonnull (request);
      g_assert_cmpint (request->share, ==, rows[i].share);
      g_assert_cmpint (request->share_given, ==, rows[i].given);
    }
}

static void
test_keys (void)
{
  g_autoptr (DvmdSizeRequest) full = read_text (
      "new",
      "{'hosts': <['n9']>, 'target': <'job-1'>, 'session': <uint32 3>, 'inheritance': <'child-default'>, "
      "'child-separate': <true>, 'time': <uint32 60>, 'warn-timeout': <uint32 5>}",
      NULL);
  g_autoptr (DvmdSizeRequest) time = read_text ("extend", "{'session': <uint32 3>, 'time': <uint32 9>}", NULL);
  g_autoptr (DvmdSizeRequest) all = read_text ("reaquire", "{'alloc-id': <'a'>, 'inheritance': <'none'>}", NULL);
  g_autoptr (DvmdSizeRequest) some = read_text ("reaquire", "{'of-req-id': <'r'>, 'hosts': <['n9']>}", NULL);
  g_autoptr (DvmdSizeRequest) both = read_text ("release", "{'alloc-id': <'a'>, 'of-req-id': <'r'>}", NULL);

  g_assert_cmpstr (full->target, ==, "job-1");
  g_assert_cmpuint (full->session, ==, 3);
  g_assert_true (full->is_new);
  g_assert_cmpint (full->inheritance, ==, DVMD_INHERIT_CHILD_DEFAULT);
  g_assert_true (full->inheritance_given);
  g_assert_true (full->child_separate);
  g_assert_cmpuint (full->time, ==, 60);
  g_assert_cmpuint (full->warn_timeout, ==, 5);
  g_assert_false (time->is_new);
  g_assert_cmpuint (time->time, ==, 9);
  g_assert_false (time->inheritance_given);
  g_assert_true (all->reaquire);
  g_assert_cmpint (all->kind, ==, DVMD_SIZE_GROW);
  g_assert_false (all->is_new);
  g_assert_nonnull (some->hosts);
  g_assert_cmpstr (both->of_req_id, ==, "r");
}

/* Errors in a file name the line. */
static void
test_hostfile (void)
{
  g_autofree char *path = g_build_filename (g_get_tmp_dir (), "dvm-test-size-XXXXXX", NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  g_autofree char *place = NULL;
  int fd = g_mkstemp (path);

  g_assert_cmpint (fd, >=, 0);
  g_close (fd, NULL);
  g_assert_true (g_file_set_contents (path, "n1 slots=2\nn2 slots=many\n", -1, NULL));
  text = g_strdup_printf ("{'hostfile': <'%s'>}", path);
  place = g_strdup_printf ("%s:2", path);
  g_assert_null (read_text ("new", text, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED);
  g_assert_nonnull (strstr (error->message, place));
  g_unlink (path);
}

typedef struct
{
  const char *directive;
  const char *request;
  DvmError code;
  const char *says;
} Bad;

static const Bad bad[] = {
  { "", "{}", DVM_ERROR_BAD_PARAM, "is no directive: there are new" },
  { "shrink", "{}", DVM_ERROR_BAD_PARAM, "is no directive" },
  { "reaquire", "{}", DVM_ERROR_BAD_PARAM, "gets nodes back" },
  { "reaquire", "{'alloc-id': <'a'>, 'count': <uint32 1>}", DVM_ERROR_BAD_PARAM, "“count” is no key" },
  { "new", "{'count': <uint32 1>, 'inheritance': <'mine'>}", DVM_ERROR_BAD_PARAM, "child-default" },
  { "new", "{'count': <uint32 1>, 'time': <'1'>}", DVM_ERROR_BAD_PARAM, "“time” is of type u" },
  { "new", "{'time': <uint32 1>}", DVM_ERROR_BAD_PARAM, "hosts" },
  { "extend", "{'alloc-id': <'a'>}", DVM_ERROR_BAD_PARAM, "what is to be extended" },
  { "extend", "{'session': <uint32 0>, 'count': <uint32 1>}", DVM_ERROR_NOT_SUPPORTED, "default session" },
  { "release", "{'session': <uint32 0>}", DVM_ERROR_NOT_SUPPORTED, "default session" },
  { "release", "{'alloc-id': <'a'>, 'time': <uint32 1>}", DVM_ERROR_BAD_PARAM, "“time” is no key" },
  { "new", "{}", DVM_ERROR_BAD_PARAM, "hosts" },
  { "new", "{'hosts': <@as []>}", DVM_ERROR_BAD_PARAM, "no host" },
  { "new", "{'hosts': <'n1'>}", DVM_ERROR_BAD_PARAM, "“hosts” is of type as, not s" },
  { "new", "{'hosts': <['+e:2']>}", DVM_ERROR_BAD_PARAM, "relative names" },
  { "new", "{'colour': <'red'>}", DVM_ERROR_BAD_PARAM, "“colour” is no key" },
  { "new", "{'count': <uint32 0>}", DVM_ERROR_BAD_PARAM, "“count” is 0" },
  { "new", "{'count': <uint32 1>, 'hosts': <['n1']>}", DVM_ERROR_BAD_PARAM, "the one or the other" },
  { "new", "{'count': <uint32 1>, 'alloc-id': <'a'>}", DVM_ERROR_BAD_PARAM, "extend" },
  { "new", "{'count': <uint32 1>, 'drain-timeout': <uint32 1>}", DVM_ERROR_BAD_PARAM, "“drain-timeout” is no key" },
  { "new", "{'hostfile': <'here'>}", DVM_ERROR_BAD_PARAM, "absolute" },
  { "new", "{'hostfile': <'/nowhere/at/all'>}", DVM_ERROR_NOT_FOUND, "/nowhere/at/all" },
  { "extend", "{'count': <uint32 1>}", DVM_ERROR_BAD_PARAM, "which allocation" },
  { "release", "{}", DVM_ERROR_BAD_PARAM, "what is to be released" },
  { "release", "{'hosts': <['n1']>, 'share': <true>}", DVM_ERROR_BAD_PARAM, "“share” is no key" },
  { "cancel", "{}", DVM_ERROR_BAD_PARAM, "what is to be cancelled" },
};

static void
test_bad (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;

      g_test_message ("%s %s", bad[i].directive, bad[i].request);
      g_assert_null (read_text (bad[i].directive, bad[i].request, &error));
      g_assert_error (error, DVM_ERROR, (int)bad[i].code);
      if (strstr (error->message, bad[i].says) == NULL)
        g_error ("“%s” does not say “%s”", error->message, bad[i].says);
    }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/size-request/grow", test_grow);
  g_test_add_func ("/size-request/others", test_others);
  g_test_add_func ("/size-request/D19/share", test_share);
  g_test_add_func ("/size-request/R13,R52/keys", test_keys);
  g_test_add_func ("/size-request/hostfile", test_hostfile);
  g_test_add_func ("/size-request/R48,R52/bad", test_bad);
  return g_test_run ();
}
