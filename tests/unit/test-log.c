/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "test-log"

#include <string.h>
#include <unistd.h>

#include "dvmd-log.h"

static void
test_line (void)
{
  const GLogField fields[] = {
    { "GLIB_DOMAIN", "dvmd-state", -1 },
    { "JOB", "default@1", -1 },
    { "MESSAGE", "two\nlines \x1b[31m\xff end of the text", 20 },
  };
  g_autofree char *line = dvmd_log_format_line ("dvmd", G_LOG_LEVEL_INFO, fields, G_N_ELEMENTS (fields));
  g_autofree char *start = g_strdup_printf ("dvmd[%d]: info: dvmd-state: two\\nlines \\x1b[31m", getpid ());

  g_assert_true (g_str_has_prefix (line, start));
  g_assert_true (g_utf8_validate (line, -1, NULL));
  g_assert_null (strchr (line, '\n'));
}

static void
test_long (void)
{
  g_autofree char *text = g_strnfill (1000000, 'x');
  const GLogField fields[] = { { "MESSAGE", text, -1 } };
  g_autofree char *line = dvmd_log_format_line ("dvmd", G_LOG_LEVEL_WARNING, fields, 1);

  g_assert_cmpuint (strlen (line), <, 10000);
}

/* GDBus logs a message that it could not read like this. */
static void
test_payload (void)
{
  const GLogField fields[] = {
    { "GLIB_DOMAIN", "GLib-GIO", -1 },
    { "MESSAGE",
      "Error decoding D-Bus message of 90 bytes\nThe error is: Value nested too deeply\n"
      "The payload is as follows:\n  0000: 54 4f 4b 45  4e 3d 73 65    TOKEN=se\n",
      -1 },
  };
  g_autofree char *line = dvmd_log_format_line ("dvmd", G_LOG_LEVEL_WARNING, fields, G_N_ELEMENTS (fields));

  g_assert_nonnull (strstr (line, "nested too deeply"));
  g_assert_null (strstr (line, "TOKEN"));
}

/* The child speaks as a daemon does; what it wrote is looked at here. */
static void
test_stderr (void)
{
  if (g_test_subprocess ())
    {
      dvmd_log_install ("dvmd");
      g_message ("plain");
      g_info ("not asked for");
      dvmd_log_job ("dvmd-exec", G_LOG_LEVEL_INFO, "7", "pid %d", 42);
      dvmd_log_job ("dvmd-io", G_LOG_LEVEL_DEBUG, "7", "silent");
      return;
    }
  g_setenv ("G_MESSAGES_DEBUG", "dvmd-exec", TRUE);
  g_test_trap_subprocess (NULL, 0, 0);
  g_unsetenv ("G_MESSAGES_DEBUG");
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("*dvmd[*]: message: test-log: plain\n*");
  g_test_trap_assert_stderr ("*dvmd[*]: info: dvmd-exec: job 7: pid 42\n*");
  g_test_trap_assert_stderr_unmatched ("*not asked for*");
  g_test_trap_assert_stderr_unmatched ("*silent*");
}

static void
test_fatal (void)
{
  if (g_test_subprocess ())
    {
      dvmd_log_install ("dvmd");
      dvmd_log_job ("dvmd-exec", G_LOG_LEVEL_WARNING, "7", "must not happen");
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_failed ();
  g_test_trap_assert_stderr ("*warning: dvmd-exec: job 7: must not happen*");
}

static GLogWriterOutput
collect (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer user_data)
{
  GString *text = user_data;

  for (gsize i = 0; i < n_fields; i++)
    {
      g_assert_cmpint (fields[i].length, ==, -1);
      g_string_append_printf (text, "%s=%s ", fields[i].key, (const char *)fields[i].value);
    }
  g_string_append_c (text, '|');
  return G_LOG_WRITER_HANDLED;
}

/* The subjects of a message are fields of the journal; one that it does not have is none. */
static void
test_fields (void)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const guint32 rank = 3;

  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, 0);
      g_test_trap_assert_passed ();
      return;
    }
  g_log_set_writer_func (collect, text, NULL);
  dvmd_log_job ("d", G_LOG_LEVEL_MESSAGE, "default@1", "%s", "one");
  dvmd_log_rank ("d", G_LOG_LEVEL_WARNING, "default@1", 0, "two");
  dvmd_log_about ("d", G_LOG_LEVEL_CRITICAL, &(DvmdLogSubject){ "default@1", &rank, "n1" }, "three");
  dvmd_log_about ("d", G_LOG_LEVEL_MESSAGE, &(DvmdLogSubject){ .node = "n1" }, "four");
  g_assert_cmpstr (text->str, ==,
                   "PRIORITY=5 GLIB_DOMAIN=d MESSAGE=job default@1: one JOB=default@1 |"
                   "PRIORITY=4 GLIB_DOMAIN=d MESSAGE=job default@1 rank 0: two JOB=default@1 RANK=0 |"
                   "PRIORITY=4 GLIB_DOMAIN=d MESSAGE=job default@1 rank 3 on n1: three JOB=default@1 RANK=3 NODE=n1 |"
                   "PRIORITY=5 GLIB_DOMAIN=d MESSAGE=node n1: four NODE=n1 |");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/log/line", test_line);
  g_test_add_func ("/log/long", test_long);
  g_test_add_func ("/log/payload", test_payload);
  g_test_add_func ("/log/stderr", test_stderr);
  g_test_add_func ("/log/fatal", test_fatal);
  g_test_add_func ("/log/fields", test_fields);
  return g_test_run ();
}
