/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "test-trace-file"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dvmd-trace-file.h"

static char *
make_path (void)
{
  g_autofree char *dir = g_dir_make_tmp ("dvm-trace-XXXXXX", NULL);

  return g_build_filename (dir, "trace", NULL);
}

static void
remove_path (const char *path)
{
  g_autofree char *dir = g_path_get_dirname (path);

  g_unlink (path);
  g_rmdir (dir);
}

static char *
read_path (const char *path)
{
  char *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  return text;
}

static void
add (DvmdTraceFile *file, guint rank, const char *note)
{
  DvmdTraceEntry entry = {
    .time = G_GINT64_CONSTANT (1767323045000006),
    .rank = rank,
    .old_state = DVM_JOB_STATE_INIT,
    .new_state = DVM_JOB_STATE_MAP,
    .note = (char *)note,
  };
  g_autofree char *what = dvmd_trace_entry_describe (&entry);

  dvmd_trace_file_add (file, "dvm@1", what, &entry);
}

static void
run_idle (void)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static void
test_lines (void)
{
  g_autofree char *path = make_path ();
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdTraceFile) file = dvmd_trace_file_new (path, NULL, &error);
  g_autofree char *before = NULL;
  g_autofree char *text = NULL;

  g_assert_no_error (error);
  add (file, DVMD_TRACE_JOB, "a\"b\\\n\xff");
  add (file, 3, NULL);
  /* Nothing is written in the middle of work. */
  before = read_path (path);
  g_assert_cmpstr (before, ==, "");
  run_idle ();
  text = read_path (path);
  g_assert_cmpstr (text, ==,
                   "{\"time\":\"2026-01-02T03:04:05.000006Z\",\"job\":\"dvm@1\",\"what\":\"job\",\"old\":\"INIT\","
                   "\"new\":\"MAP\",\"old-number\":1,\"new-number\":5,\"note\":\"a\\\"b\\\\\\u000a\xef\xbf\xbd\"}\n"
                   "{\"time\":\"2026-01-02T03:04:05.000006Z\",\"job\":\"dvm@1\",\"rank\":3,\"what\":\"rank 3\","
                   "\"old\":\"INIT\",\"new\":\"REGISTERED\",\"old-number\":1,\"new-number\":5,\"note\":\"\"}\n");
  remove_path (path);
}

/* Many lines do not wait for a main loop that is never idle, and the last ones are written at the end. */
static void
test_much (void)
{
  g_autofree char *path = make_path ();
  DvmdTraceFile *file = dvmd_trace_file_new (path, NULL, NULL);
  g_autofree char *note = g_strnfill (1000, 'x');
  g_autofree char *early = NULL;
  g_autofree char *text = NULL;

  for (guint i = 0; i < 100; i++)
    add (file, i, note);
  early = read_path (path);
  g_assert_cmpuint (strlen (early), >, 50000);
  dvmd_trace_file_free (file);
  text = read_path (path);
  g_assert_cmpuint (strlen (text), >, 100000);
  g_assert_true (g_str_has_suffix (text, "}\n"));
  remove_path (path);
}

/* One message when it begins, one when it is over; what stands in the file is whole lines but for the one cut off. */
static void
full_disk (void)
{
  g_autofree char *path = make_path ();
  struct rlimit limit = { 250, RLIM_INFINITY };
  g_autoptr (DvmdTraceFile) file = dvmd_trace_file_new (path, NULL, NULL);
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;

  signal (SIGXFSZ, SIG_IGN);
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
  for (guint i = 0; i < 5; i++)
    {
      add (file, 7, "full");
      run_idle ();
    }
  limit.rlim_cur = RLIM_INFINITY;
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
  add (file, 8, "room");
  run_idle ();
  text = read_path (path);
  lines = g_strsplit (text, "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 4);
  g_assert_true (g_str_has_suffix (lines[0], "\"note\":\"full\"}"));
  g_assert_true (g_str_has_suffix (lines[2], "\"note\":\"room\"}"));
  remove_path (path);
}

static void
test_full_disk (void)
{
  if (g_test_subprocess ())
    {
      full_disk ();
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("*cannot be written*missing from here*written again*");
  g_test_trap_assert_stderr_unmatched ("*cannot be written*cannot be written*");
}

static void
test_refused (void)
{
  g_autofree char *path = make_path ();
  g_autoptr (GError) error = NULL;
  int reader;

  g_assert_null (dvmd_trace_file_new ("/nowhere/at/all", NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "/nowhere/at/all"));
  g_clear_error (&error);
  g_assert_cmpint (mkfifo (path, 0600), ==, 0);
  reader = open (path, O_RDONLY | O_NONBLOCK);
  g_assert_null (dvmd_trace_file_new (path, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  close (reader);
  remove_path (path);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/trace-file/lines", test_lines);
  g_test_add_func ("/trace-file/much", test_much);
  g_test_add_func ("/trace-file/full-disk", test_full_disk);
  g_test_add_func ("/trace-file/refused", test_refused);
  return g_test_run ();
}
