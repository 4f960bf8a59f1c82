/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <glib.h>
#include <string.h>

#include "dvm-cli-top-lines.h"
#include "dvm-cli-watch-model.h"

static void
put (DvmCliWatchModel *model, DvmCliWatchPanel panel, const char *text)
{
  g_autoptr (GVariant) row = g_variant_ref_sink (g_variant_new_parsed (text));

  dvm_cli_watch_model_put (model, panel, row, 1);
}

static void
put_job (DvmCliWatchModel *model, guint id, const char *command, gboolean ended)
{
  g_autofree char *text = g_strdup_printf (
      "{'Id': <uint32 %u>, 'Namespace': <'dvm@%u'>, 'State': <uint32 14>, 'Command': <['%s']>, "
      "'NumProcs': <uint32 %u>, 'NumLaunched': <uint32 %u>, 'Ended': <%s>}",
      id, id, command, id % 7, id % 7, ended ? "true" : "false");

  put (model, DVM_CLI_WATCH_JOBS, text);
}

static guint
get_id (DvmCliWatchModel *model, guint index)
{
  const DvmCliWatchRow *row = dvm_cli_watch_model_get (model, DVM_CLI_WATCH_JOBS, index);

  return row != NULL ? row->id : 0;
}

static void
test_rows (void)
{
  g_autoptr (DvmCliWatchModel) model = dvm_cli_watch_model_new ();
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (guint));
  guint forgotten = 3;

  put_job (model, 3, "three", FALSE);
  put_job (model, 1, "one", FALSE);
  put_job (model, 2, "two", FALSE);
  g_assert_cmpuint (get_id (model, 0), ==, 1);
  put_job (model, 2, "two", TRUE);
  g_assert_cmpuint (dvm_cli_watch_model_count (model, DVM_CLI_WATCH_JOBS), ==, 2);
  /* The DVM has forgotten one that was asked for. */
  g_array_append_val (ids, forgotten);
  dvm_cli_watch_model_begin (model, DVM_CLI_WATCH_JOBS, ids);
  dvm_cli_watch_model_end (model, DVM_CLI_WATCH_JOBS, ids);
  g_assert_cmpuint (get_id (model, 0), ==, 1);
  g_assert_cmpuint (get_id (model, 1), ==, 0);
  dvm_cli_watch_model_set_all (model, TRUE);
  put_job (model, 2, "two", TRUE);
  g_assert_cmpuint (dvm_cli_watch_model_count (model, DVM_CLI_WATCH_JOBS), ==, 2);
  dvm_cli_watch_model_begin (model, DVM_CLI_WATCH_JOBS, NULL);
  dvm_cli_watch_model_end (model, DVM_CLI_WATCH_JOBS, NULL);
  g_assert_cmpuint (dvm_cli_watch_model_count (model, DVM_CLI_WATCH_JOBS), ==, 0);
}

/* Many rows at once, in which some have no values, and none is read where a column has ended. */
static void
test_columns (void)
{
  g_autoptr (DvmCliWatchModel) model = dvm_cli_watch_model_new ();
  g_autoptr (DvmCliWatchModel) single = dvm_cli_watch_model_new ();
  g_autoptr (GVariant) columns = g_variant_ref_sink (
      g_variant_new_parsed ("{'Id': <[uint32 1, 2, 3]>, 'Namespace': <['dvm@1', 'dvm@2', 'dvm@3']>,"
                            " 'State': <[uint32 14, 14, 14]>, 'Command': <[['one'], ['two', '2'], []]>,"
                            " 'NumProcs': <[uint32 1, 2, 3]>, 'NumLaunched': <[uint32 1, 2, 3]>,"
                            " 'Ended': <[false, false, true]>}"));
  g_autoptr (GVariant) ragged = g_variant_ref_sink (
      g_variant_new_parsed ("{'Id': <[uint32 7, 8, 9]>, 'State': <[uint32 14, 14]>, 'Namespace': <['dvm@7']>}"));
  g_autoptr (GVariant) wrong = g_variant_ref_sink (g_variant_new_parsed ("{'Id': <uint32 9>}"));
  g_autofree char *whole = NULL;
  g_autofree char *rows = NULL;

  dvm_cli_watch_model_put_columns (model, DVM_CLI_WATCH_JOBS, columns, 1);
  put_job (single, 1, "one", FALSE);
  put_job (single, 2, "two', '2", FALSE);
  whole = dvm_cli_watch_model_to_json (model, "default", 1);
  rows = dvm_cli_watch_model_to_json (single, "default", 1);
  g_assert_cmpstr (whole, ==, rows);
  dvm_cli_watch_model_put_columns (model, DVM_CLI_WATCH_JOBS, ragged, 1);
  dvm_cli_watch_model_put_columns (model, DVM_CLI_WATCH_JOBS, wrong, 1);
  g_assert_cmpuint (dvm_cli_watch_model_count (model, DVM_CLI_WATCH_JOBS), ==, 4);
  g_assert_cmpuint (get_id (model, 3), ==, 8);
  /* One value of a column is that of all. */
  g_assert_cmpstr (dvm_cli_watch_model_get (model, DVM_CLI_WATCH_JOBS, 3)->texts[1], ==, "dvm@7");
}

static void
put_packed (DvmCliWatchModel *model, const guint8 *bytes, gsize n)
{
  g_autoptr (GVariant) packed = g_variant_ref_sink (
      g_variant_new_parsed ("{'Packed': <%*>}", g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, bytes, n, 1)));

  dvm_cli_watch_model_put_columns (model, DVM_CLI_WATCH_JOBS, packed, 1);
}

/* Columns that come as bytes are the same; of bytes that are wrong no text is read that is none. */
static void
test_packed (void)
{
  g_autoptr (DvmCliWatchModel) model = dvm_cli_watch_model_new ();
  g_autoptr (GVariant) columns = g_variant_ref_sink (g_variant_new_parsed (
      "{'Id': <[uint32 1, 2]>, 'Namespace': <['dvm@1', 'dvm@2']>, 'Command': <[['one'], ['two', '2']]>}"));
  gsize n = g_variant_get_size (columns);
  g_autofree guint8 *bytes = g_memdup2 (g_variant_get_data (columns), n);
  const DvmCliWatchRow *row;

  put_packed (model, bytes, n);
  g_assert_cmpuint (dvm_cli_watch_model_count (model, DVM_CLI_WATCH_JOBS), ==, 2);
  g_assert_cmpstr (dvm_cli_watch_model_get (model, DVM_CLI_WATCH_JOBS, 1)->texts[1], ==, "dvm@2");
  g_assert_cmpstr (dvm_cli_watch_model_get (model, DVM_CLI_WATCH_JOBS, 1)->texts[8], ==, "two 2");
  for (gsize i = 0; i < n; i++)
    {
      bytes[i] ^= 0xff;
      put_packed (model, bytes, n);
      put_packed (model, bytes, i);
      bytes[i] ^= 0xff;
    }
  for (guint i = 0; (row = dvm_cli_watch_model_get (model, DVM_CLI_WATCH_JOBS, i)) != NULL; i++)
    g_assert_true (g_utf8_validate (row->texts[1], -1, NULL) && g_utf8_validate (row->texts[8], -1, NULL));
}

static void
test_order (void)
{
  g_autoptr (DvmCliWatchModel) model = dvm_cli_watch_model_new ();

  for (guint id = 1; id <= 10000; id++)
    put_job (model, id, id % 2 == 0 ? "even" : "odd", FALSE);
  g_assert_false (dvm_cli_watch_model_sort_by (model, DVM_CLI_WATCH_JOBS, "colour"));
  g_assert_true (dvm_cli_watch_model_sort_by (model, DVM_CLI_WATCH_JOBS, "procs"));
  g_assert_cmpuint (get_id (model, 0), ==, 6);
  g_assert_cmpuint (get_id (model, 1), ==, 13);
  g_assert_cmpint (dvm_cli_watch_model_find (model, DVM_CLI_WATCH_JOBS, 13), ==, 1);
  dvm_cli_watch_model_set_filter (model, DVM_CLI_WATCH_JOBS, "EVEN");
  g_assert_cmpuint (dvm_cli_watch_model_count_shown (model, DVM_CLI_WATCH_JOBS), ==, 5000);
  g_assert_cmpuint (get_id (model, 1), ==, 20);
  g_assert_cmpint (dvm_cli_watch_model_find (model, DVM_CLI_WATCH_JOBS, 13), ==, -1);
}

static void
test_nodes (void)
{
  g_autoptr (DvmCliWatchModel) model = dvm_cli_watch_model_new ();
  g_autoptr (GVariant) usage = g_variant_ref_sink (g_variant_new_parsed (
      "{'load-1': <0.256>, 'mem-total': <uint64 4096>, 'mem-free': <uint64 512>, 'cached': <uint64 512>}"));
  g_autofree char *wide = NULL;
  g_autofree char *narrow = NULL;
  DvmCliTopLayout layout;

  put (model, DVM_CLI_WATCH_NODES, "{'Rank': <uint32 0>, 'Name': <'controller'>}");
  put (model, DVM_CLI_WATCH_NODES,
       "{'Rank': <uint32 1>, 'Name': <'n1'>, 'StateName': <'UP'>, 'Slots': <uint32 8>, 'MemoryAllotted': <uint64 0>}");
  dvm_cli_top_layout (model, DVM_CLI_WATCH_NODES, 0, 9, 0, 1, &layout);
  wide = dvm_cli_top_line (DVM_CLI_WATCH_NODES, dvm_cli_watch_model_get (model, DVM_CLI_WATCH_NODES, 0), &layout, 1,
                           FALSE);
  g_assert_cmpstr (wide, ==, "    1 n1    UP         0      8     -    -   -         - -");
  dvm_cli_watch_model_set_usage (model, 1, usage);
  g_clear_pointer (&wide, g_free);
  dvm_cli_top_layout (model, DVM_CLI_WATCH_NODES, 0, 9, 0, 1, &layout);
  wide = dvm_cli_top_line (DVM_CLI_WATCH_NODES, dvm_cli_watch_model_get (model, DVM_CLI_WATCH_NODES, 0), &layout, 1,
                           FALSE);
  g_assert_cmpstr (wide, ==, "    1 n1    UP         0      8  0.26 3.0K 4.0K         - -");
  put (model, DVM_CLI_WATCH_NODES,
       "{'Rank': <uint32 1>, 'Name': <'n1'>, 'StateName': <'UP'>, 'Slots': <uint32 8>, 'MemoryAllotted': <uint64 "
       "2048>}");
  g_clear_pointer (&wide, g_free);
  dvm_cli_top_layout (model, DVM_CLI_WATCH_NODES, 0, 9, 0, 1, &layout);
  wide = dvm_cli_top_line (DVM_CLI_WATCH_NODES, dvm_cli_watch_model_get (model, DVM_CLI_WATCH_NODES, 0), &layout, 1,
                           FALSE);
  g_assert_cmpstr (wide, ==, "    1 n1    UP         0      8  0.26 3.0K 4.0K      2.0K -");
  dvm_cli_top_layout (model, DVM_CLI_WATCH_NODES, 0, 9, 20, 1, &layout);
  narrow = dvm_cli_top_titles (model, DVM_CLI_WATCH_NODES, &layout, "+");
  g_assert_cmpuint (strlen (narrow), <=, 20);
  g_assert_nonnull (strstr (narrow, "NAME"));
}

static void
assert_campaign (const char *kind, const char *state, guint pending, const char *done)
{
  g_autoptr (DvmCliWatchModel) model = dvm_cli_watch_model_new ();
  g_autoptr (GString) json = g_string_new (NULL);
  g_autofree char *row = g_strdup_printf (
      "{'Id': <uint32 1>, 'Kind': <'%s'>, 'State': <'%s'>, 'Targets': <[uint32 3, 4]>, "
      "'Pending': <uint32 %u>}",
      kind, state, pending);

  put (model, DVM_CLI_WATCH_CAMPAIGNS, row);
  dvm_cli_watch_append_row (json, DVM_CLI_WATCH_CAMPAIGNS, dvm_cli_watch_model_get (model, DVM_CLI_WATCH_CAMPAIGNS, 0),
                            1);
  g_assert_nonnull (strstr (json->str, done));
}

/* A growth brings all of its nodes or none, and nodes that leave again are none that have come. */
static void
test_campaigns (void)
{
  assert_campaign ("shrink", "running", 1, "\"done\":1,\"total\":2");
  assert_campaign ("shrink", "completed", 0, "\"done\":2,\"total\":2");
  assert_campaign ("grow", "running", 2, "\"done\":0,\"total\":2");
  assert_campaign ("grow", "rolling-back", 1, "\"done\":0,\"total\":2");
  assert_campaign ("grow", "failed", 0, "\"done\":0,\"total\":2");
  assert_campaign ("grow", "completed", 0, "\"done\":2,\"total\":2");
}

static void
put_output (DvmCliWatchModel *model, guint64 bytes, gboolean ended, gint64 now)
{
  g_autoptr (GVariant) row = g_variant_ref_sink (
      g_variant_new_parsed ("{'Id': <uint32 1>, 'State': <uint32 14>, 'CreatedAt': <uint64 3000000>,"
                            " 'OutputBytes': <%t>, 'Ended': <%b>, 'EndedAt': <uint64 9>}",
                            bytes, ended));

  dvm_cli_watch_model_put (model, DVM_CLI_WATCH_JOBS, row, now);
}

static gint64
get_rate (DvmCliWatchModel *model)
{
  guint column = (guint)dvm_cli_watch_find_column (DVM_CLI_WATCH_JOBS, "output-rate");

  return dvm_cli_watch_model_get (model, DVM_CLI_WATCH_JOBS, 0)->numbers[column];
}

/* A rate needs two readings that are apart, and is one of a job that runs. */
static void
test_rates (void)
{
  g_autoptr (DvmCliWatchModel) model = dvm_cli_watch_model_new ();
  g_autoptr (GString) json = g_string_new (NULL);
  g_autoptr (GString) shown = g_string_new (NULL);
  const DvmCliWatchRow *row;

  dvm_cli_watch_model_set_all (model, TRUE);
  put_output (model, 1000, FALSE, 10 * G_USEC_PER_SEC);
  g_assert_cmpint (get_rate (model), ==, -1);
  put_output (model, 9000, FALSE, 10 * G_USEC_PER_SEC + 1);
  g_assert_cmpint (get_rate (model), ==, -1);
  put_output (model, 9000, FALSE, 14 * G_USEC_PER_SEC);
  g_assert_cmpint (get_rate (model), ==, 2000);
  row = dvm_cli_watch_model_get (model, DVM_CLI_WATCH_JOBS, 0);
  dvm_cli_watch_append_cell (shown, DVM_CLI_WATCH_JOBS,
                             (guint)dvm_cli_watch_find_column (DVM_CLI_WATCH_JOBS, "output-rate"), row, 1);
  g_assert_cmpstr (shown->str, ==, "2.0K");
  dvm_cli_watch_append_row (json, DVM_CLI_WATCH_JOBS, row, 0);
  g_assert_nonnull (strstr (json->str, "\"output-rate\":2000,"));
  g_assert_nonnull (strstr (json->str, "\"output-bytes\":9000"));
  g_assert_nonnull (strstr (json->str, "\"created-at\":3.000000"));
  /* A second one without output is a zero, and the end is none. */
  put_output (model, 9000, FALSE, 15 * G_USEC_PER_SEC);
  g_assert_cmpint (get_rate (model), ==, 0);
  put_output (model, 9500, TRUE, 16 * G_USEC_PER_SEC);
  g_assert_cmpint (get_rate (model), ==, -1);
}

static void
check_span (gint64 span)
{
  g_autoptr (GString) shown = g_string_new (NULL);
  g_autofree char *expected = NULL;

  dvm_cli_watch_append_cell (shown, DVM_CLI_WATCH_JOBS, (guint)dvm_cli_watch_find_column (DVM_CLI_WATCH_JOBS, "time"),
                             &(DvmCliWatchRow){ .numbers = { 7, 7, 7, 7, 7, 7, 7 }, .ended_at = 7 + span }, 1);
  if (span < 60 * G_USEC_PER_SEC)
    expected = g_strdup_printf ("%.3fs", (double)span / G_USEC_PER_SEC);
  else
    expected = g_strdup_printf ("%dm%02ds", (int)(span / G_USEC_PER_SEC / 60), (int)(span / G_USEC_PER_SEC % 60));
  g_assert_cmpstr (shown->str, ==, expected);
}

/* Without floating point times are rounded as with it, halves too. */
static void
test_spans (void)
{
  for (gint64 span = 0; span < 3 * G_USEC_PER_SEC; span += 100)
    check_span (span);
  for (gint64 span = 59 * G_USEC_PER_SEC; span < 61 * G_USEC_PER_SEC; span += 100)
    check_span (span + 499);
  check_span (3599 * (gint64)G_USEC_PER_SEC);
}

static void
set_info (DvmCliWatchModel *model, guint64 bytes, gint64 now)
{
  g_autoptr (GVariant)
      info = g_variant_ref_sink (g_variant_new_parsed ("{'Statistics': <{'output-bytes': <%t>}>}", bytes));

  dvm_cli_watch_model_set_info (model, info, now);
}

/* The head has the rate of all jobs, which another DVM begins anew. */
static void
test_head (void)
{
  g_autoptr (DvmCliWatchModel) model = dvm_cli_watch_model_new ();
  g_autoptr (GString) json = g_string_new (NULL);
  g_autofree char *before = NULL, *after = NULL, *other = NULL;

  set_info (model, 1 << 20, 10 * G_USEC_PER_SEC);
  before = dvm_cli_watch_model_describe (model, "dvm", 10 * G_USEC_PER_SEC);
  g_assert_null (strstr (before, "output"));
  set_info (model, 3 << 20, 12 * G_USEC_PER_SEC);
  after = dvm_cli_watch_model_describe (model, "dvm", 12 * G_USEC_PER_SEC);
  g_assert_nonnull (strstr (after, "; output 1.0M/s"));
  dvm_cli_watch_model_append_dvm (model, json);
  g_assert_nonnull (strstr (json->str, "\"output-rate\":1048576"));
  set_info (model, 7, 14 * G_USEC_PER_SEC);
  other = dvm_cli_watch_model_describe (model, "dvm", 14 * G_USEC_PER_SEC);
  g_assert_null (strstr (other, "output"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli-watch-model/rows", test_rows);
  g_test_add_func ("/cli-watch-model/columns", test_columns);
  g_test_add_func ("/cli-watch-model/packed", test_packed);
  g_test_add_func ("/cli-watch-model/order", test_order);
  g_test_add_func ("/cli-watch-model/nodes", test_nodes);
  g_test_add_func ("/cli-watch-model/campaigns", test_campaigns);
  g_test_add_func ("/cli-watch-model/rates", test_rates);
  g_test_add_func ("/cli-watch-model/spans", test_spans);
  g_test_add_func ("/cli-watch-model/head", test_head);
  return g_test_run ();
}
