/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <pmix_server.h>

#include <dvm.h>

#include "dvmd-pmix-marks.h"
#include "dvmd-pmix-output.h"

static const struct
{
  const char *nspace;
  pmix_rank_t rank;
  pmix_iof_channel_t channels;
  const char *directive; /* (nullable): one that is true */
  int code;              /* -1: it is done */
  const char *text;      /* the request, or a part of the error */
} rows[] = {
  { "dvm@1", 3, PMIX_FWD_STDOUT_CHANNEL, NULL, -1, "([('dvm@1', 3)], 1)" },
  { "dvm@1", PMIX_RANK_WILDCARD, PMIX_FWD_STDERR_CHANNEL, NULL, -1, "([('dvm@1', 4294967294)], 2)" },
  { "dvm@1", 0, PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL | PMIX_FWD_STDDIAG_CHANNEL, "test.hint", -1,
    "([('dvm@1', 0)], 3)" },
  { "dvm@1", 0, PMIX_FWD_STDDIAG_CHANNEL, NULL, DVM_ERROR_NOT_SUPPORTED, "stdout, stderr, or both" },
  { "dvm@1", 0, PMIX_FWD_NO_CHANNELS, NULL, DVM_ERROR_NOT_SUPPORTED, "stdout, stderr, or both" },
  { "dvm@1", PMIX_RANK_LOCAL_NODE, PMIX_FWD_STDOUT_CHANNEL, NULL, DVM_ERROR_NOT_SUPPORTED, "PMIX_RANK_WILDCARD" },
  { "dvm@1", 0, PMIX_FWD_STDOUT_CHANNEL, PMIX_IOF_CACHE_SIZE, DVM_ERROR_NOT_SUPPORTED, PMIX_IOF_CACHE_SIZE },
  { "dvm@1", 0, PMIX_FWD_STDOUT_CHANNEL, PMIX_IOF_OUTPUT_TO_FILE, DVM_ERROR_NOT_SUPPORTED, PMIX_IOF_OUTPUT_TO_FILE },
  { "dvm@1", 0, PMIX_FWD_STDOUT_CHANNEL, PMIX_IOF_STOP, DVM_ERROR_NOT_SUPPORTED, PMIX_IOF_STOP },
  { "", 0, PMIX_FWD_STDOUT_CHANNEL, NULL, DVM_ERROR_BAD_PARAM, "no job" },
  { "\xff\xfe", 0, PMIX_FWD_STDOUT_CHANNEL, NULL, DVM_ERROR_BAD_PARAM, "no job" },
};

static void
test_read (gconstpointer data)
{
  const gsize i = GPOINTER_TO_SIZE (data);
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) request = NULL;
  pmix_info_t info;
  pmix_proc_t proc;

  PMIX_LOAD_PROCID (&proc, rows[i].nspace, rows[i].rank);
  if (rows[i].directive != NULL)
    PMIX_INFO_LOAD (&info, rows[i].directive, NULL, PMIX_BOOL);
  request = dvmd_pmix_read_pull (&proc, 1, &info, rows[i].directive != NULL ? 1 : 0, rows[i].channels, &error);
  if (rows[i].code < 0)
    {
      g_autofree char *text = NULL;

      g_assert_no_error (error);
      g_variant_ref_sink (request);
      text = g_variant_print (request, FALSE);
      g_assert_cmpstr (text, ==, rows[i].text);
      return;
    }
  g_assert_error (error, DVM_ERROR, rows[i].code);
  g_assert_nonnull (strstr (error->message, rows[i].text));
}

/* A directive that is off changes nothing; one that is required has to be known. */
static void
test_directives (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) request = NULL;
  gboolean off = FALSE;
  pmix_info_t info[2];
  pmix_proc_t proc;

  PMIX_LOAD_PROCID (&proc, "dvm@1", 0);
  PMIX_INFO_LOAD (&info[0], PMIX_IOF_TIMESTAMP_OUTPUT, &off, PMIX_BOOL);
  request = dvmd_pmix_read_pull (&proc, 1, info, 1, PMIX_FWD_STDOUT_CHANNEL, &error);
  g_assert_no_error (error);
  g_variant_ref_sink (request);
  PMIX_INFO_LOAD (&info[1], "test.hint", NULL, PMIX_BOOL);
  PMIX_INFO_REQUIRED (&info[1]);
  g_assert_null (dvmd_pmix_read_pull (&proc, 1, info, 2, PMIX_FWD_STDOUT_CHANNEL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  g_assert_null (dvmd_pmix_read_pull (&proc, 0, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
}

static GVariant *
read_marks (pmix_info_t *info, gsize n, pmix_iof_channel_t channels, GError **error)
{
  pmix_proc_t proc;

  PMIX_LOAD_PROCID (&proc, "dvm@1", 0);
  return dvmd_pmix_read_pull (&proc, 1, info, n, channels, error);
}

static const struct
{
  const char *keys[2];
  pmix_iof_channel_t channels;
  guint streams; /* 0: they contradict each other */
} mark_rows[] = {
  { { PMIX_IOF_TAG_OUTPUT }, PMIX_FWD_STDOUT_CHANNEL, DVMD_PMIX_STDOUT | DVMD_PMIX_MARK_TAG },
  { { PMIX_TAG_OUTPUT, PMIX_TIMESTAMP_OUTPUT },
    PMIX_FWD_STDERR_CHANNEL,
    DVMD_PMIX_STDERR | DVMD_PMIX_MARK_TAG | DVMD_PMIX_MARK_TIMESTAMP },
  { { PMIX_IOF_TAG_DETAILED_OUTPUT, PMIX_IOF_XML_OUTPUT },
    PMIX_FWD_STDOUT_CHANNEL,
    DVMD_PMIX_STDOUT | DVMD_PMIX_MARK_DETAILED | DVMD_PMIX_MARK_XML },
  { { PMIX_IOF_TAG_FULLNAME_OUTPUT, PMIX_IOF_OUTPUT_RAW },
    PMIX_FWD_STDOUT_CHANNEL,
    DVMD_PMIX_STDOUT | DVMD_PMIX_MARK_FULLNAME | DVMD_PMIX_MARK_RAW },
  { { PMIX_IOF_RANK_OUTPUT, PMIX_IOF_MERGE_STDERR_STDOUT },
    PMIX_FWD_STDOUT_CHANNEL,
    DVMD_PMIX_STDOUT | DVMD_PMIX_STDERR | DVMD_PMIX_MARK_RANK | DVMD_PMIX_MARK_MERGE },
  { { PMIX_IOF_TAG_OUTPUT, PMIX_IOF_RANK_OUTPUT }, PMIX_FWD_STDOUT_CHANNEL, 0 },
  { { PMIX_IOF_MERGE_STDERR_STDOUT }, PMIX_FWD_STDERR_CHANNEL, 0 },
};

static void
test_marks (void)
{
  const int contradiction = dvmd_pmix_marks_are_served () ? DVM_ERROR_BAD_PARAM : DVM_ERROR_NOT_SUPPORTED;

  for (gsize i = 0; i < G_N_ELEMENTS (mark_rows); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GVariant) request = NULL;
      pmix_info_t info[2];
      guint32 streams;
      gsize n = 0;

      for (; n < 2 && mark_rows[i].keys[n] != NULL; n++)
        PMIX_INFO_LOAD (&info[n], mark_rows[i].keys[n], NULL, PMIX_BOOL);
      request = read_marks (info, n, mark_rows[i].channels, &error);
      if (!dvmd_pmix_marks_are_served () || mark_rows[i].streams == 0)
        {
          g_assert_null (request);
          g_assert_error (error, DVM_ERROR, contradiction);
          continue;
        }
      g_assert_no_error (error);
      g_variant_get (g_variant_ref_sink (request), "(a(su)u)", NULL, &streams);
      g_assert_cmphex (streams, ==, mark_rows[i].streams);
    }
}

/* Marks that are texts are neither true nor false; one that is off may stand beside another. */
static void
test_marks_values (void)
{
  const int contradiction = dvmd_pmix_marks_are_served () ? DVM_ERROR_BAD_PARAM : DVM_ERROR_NOT_SUPPORTED;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) request = NULL;
  gboolean off = FALSE;
  pmix_info_t info[2];
  guint32 streams;

  PMIX_INFO_LOAD (&info[0], PMIX_IOF_TAG_OUTPUT, "yes", PMIX_STRING);
  g_assert_null (read_marks (info, 1, PMIX_FWD_STDOUT_CHANNEL, &error));
  g_assert_error (error, DVM_ERROR, contradiction);
  g_clear_error (&error);
  PMIX_INFO_DESTRUCT (&info[0]);
  if (!dvmd_pmix_marks_are_served ())
    {
      g_test_skip ("marks of pulls are not served with this libpmix");
      return;
    }
  PMIX_INFO_LOAD (&info[0], PMIX_IOF_TAG_OUTPUT, &off, PMIX_BOOL);
  PMIX_INFO_LOAD (&info[1], PMIX_IOF_RANK_OUTPUT, NULL, PMIX_BOOL);
  PMIX_INFO_REQUIRED (&info[1]);
  request = read_marks (info, 2, PMIX_FWD_STDOUT_CHANNEL, &error);
  g_assert_no_error (error);
  g_variant_get (g_variant_ref_sink (request), "(a(su)u)", NULL, &streams);
  g_assert_cmphex (streams, ==, DVMD_PMIX_STDOUT | DVMD_PMIX_MARK_RANK);
}

/* The number of a piece goes with it through the library. */
static void
test_marks_of_piece (void)
{
  pmix_info_t info;

  dvmd_pmix_marks_load (&info, DVMD_PMIX_MARK_XML);
  g_assert_cmphex (dvmd_pmix_marks_read (&info, 1), ==, DVMD_PMIX_MARK_XML);
  g_assert_cmphex (dvmd_pmix_marks_read (NULL, 0), ==, 0);
  PMIX_INFO_LOAD (&info, PMIX_TIMEOUT, NULL, PMIX_BOOL);
  g_assert_cmphex (dvmd_pmix_marks_read (&info, 1), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *name = g_strdup_printf ("/pmix-pull/read/%" G_GSIZE_FORMAT, i);

      g_test_add_data_func (name, GSIZE_TO_POINTER (i), test_read);
    }
  g_test_add_func ("/pmix-pull/directives", test_directives);
  g_test_add_func ("/pmix-pull/marks", test_marks);
  g_test_add_func ("/pmix-pull/marks/values", test_marks_values);
  g_test_add_func ("/pmix-pull/marks/piece", test_marks_of_piece);
  return g_test_run ();
}
