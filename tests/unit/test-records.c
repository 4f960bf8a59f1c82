/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <dvm.h>
#include <math.h>
#include <string.h>

#include "dvm-record-codec-private.h"

typedef struct
{
  GString *log;
} Observer;

static void
on_notify (GObject *object, GParamSpec *pspec, gpointer user_data)
{
  Observer *observer = user_data;

  g_string_append_printf (observer->log, "%s ", pspec->name);
}

static void
on_state_changed (GObject *object, int old_state, int new_state, const char *reason, gpointer user_data)
{
  Observer *observer = user_data;
  int state;

  /* The new value is there before the signal that tells of it. */
  g_object_get (object, "state", &state, NULL);
  g_assert_cmpint (state, ==, new_state);
  g_string_append_printf (observer->log, "%d->%d(%s) ", old_state, new_state, reason);
}

static void
observe (Observer *observer, gpointer record)
{
  observer->log = g_string_new (NULL);
  g_signal_connect (record, "notify", G_CALLBACK (on_notify), observer);
  g_signal_connect (record, "state-changed", G_CALLBACK (on_state_changed), observer);
}

static void
assert_log (Observer *observer, const char *expected)
{
  g_assert_cmpstr (observer->log->str, ==, expected);
  g_string_truncate (observer->log, 0);
}

static void
count (GObject *object, int old_state, int new_state, const char *reason, gpointer user_data)
{
  guint *n = user_data;

  ++*n;
}

static void
test_job_state (void)
{
  g_autoptr (DvmJob) job = _dvm_job_new (7, "dvm@7");
  Observer observer;
  guint failed = 0;

  observe (&observer, job);
  g_signal_connect (job, "state-changed::MAP_FAILED", G_CALLBACK (count), &failed);
  g_assert_cmpstr (dvm_job_get_object_path (job), ==, "/org/dvm/jobs/7");
  g_assert_cmpint (dvm_job_get_failed_rank (job), ==, -1);
  _dvm_job_set_state (job, DVM_JOB_STATE_INIT, NULL);
  assert_log (&observer, "state state-name 0->1() ");
  _dvm_job_set_state (job, DVM_JOB_STATE_INIT, NULL);
  assert_log (&observer, "");
  _dvm_job_set_state (job, DVM_JOB_STATE_MAP_FAILED, "no room");
  assert_log (&observer, "reason state state-name failed 1->69(no room) ");
  g_assert_cmpuint (failed, ==, 1);
  g_assert_true (dvm_job_get_failed (job));
  g_assert_cmpstr (dvm_job_get_state_name (job), ==, "MAP_FAILED");
  g_assert_false (dvm_job_get_ended (job));
  _dvm_job_set_ended (job, 1700000000000001);
  assert_log (&observer, "ended-at ended ");
  g_assert_true (dvm_job_get_ended (job));
  _dvm_job_set_ended (job, 1700000000000001);
  assert_log (&observer, "");
  g_string_free (observer.log, TRUE);
}

static void
fill_job (DvmJob *job)
{
  const char *const command[] = { "./ring", "-v", NULL };
  const char *const nodes[] = { "node1", "node2", NULL };

  _dvm_job_set_description (job, "my ring", "nightly", command);
  _dvm_job_set_submitter (job, "private:7", 1000, 4242);
  _dvm_job_set_session (job, "/org/dvm/sessions/0");
  _dvm_job_set_held_at (job, "slots");
  _dvm_job_set_num_procs (job, 4);
  _dvm_job_set_nodes (job, nodes);
  _dvm_job_set_counts (job, 4, 3, 2);
  _dvm_job_set_exit (job, 3, 9, 1);
  _dvm_job_set_created_at (job, 1700000000000000);
  _dvm_job_set_started_at (job, 1700000001500000);
  _dvm_job_set_ended (job, 1700000002000001);
  _dvm_job_set_state (job, DVM_JOB_STATE_NON_ZERO_TERM, "rank 1 ended with status 3");
}

/* A setter that changes nothing tells nobody. */
static void
test_job_quiet (void)
{
  g_autoptr (DvmJob) job = _dvm_job_new (7, "dvm@7");
  Observer observer;

  fill_job (job);
  observe (&observer, job);
  fill_job (job);
  assert_log (&observer, "");
  _dvm_job_set_counts (job, 4, 4, 2);
  assert_log (&observer, "num-registered ");
  _dvm_job_set_held_at (job, "");
  assert_log (&observer, "held-at ");
  _dvm_job_set_held_at (job, NULL);
  assert_log (&observer, "");
  _dvm_job_set_paused (job, TRUE);
  _dvm_job_set_paused (job, TRUE);
  assert_log (&observer, "paused ");
  g_assert_cmpstr (dvm_job_get_held_at (job), ==, "");
  g_string_free (observer.log, TRUE);
}

static void
test_job_variant (void)
{
  g_autoptr (DvmJob) job = _dvm_job_new (7, "dvm@7");
  g_autoptr (DvmJob) copy = _dvm_job_new (7, NULL);
  g_autoptr (GVariant) value = NULL;
  g_autoptr (GVariant) value2 = NULL;
  g_autoptr (GError) error = NULL;
  Observer observer;
  const char *text;
  gboolean failed;
  guint state;

  fill_job (job);
  value = dvm_job_to_variant (job);
  g_assert_cmpstr (g_variant_get_type_string (value), ==, "a{sv}");
  g_assert_true (g_variant_lookup (value, "Namespace", "&s", &text));
  g_assert_cmpstr (text, ==, "dvm@7");
  g_assert_true (g_variant_lookup (value, "State", "u", &state));
  g_assert_cmpuint (state, ==, 62);
  g_assert_true (g_variant_lookup (value, "Failed", "b", &failed));
  g_assert_true (failed);
  observe (&observer, copy);
  g_assert_true (_dvm_record_update (G_OBJECT (copy), value, &error));
  g_assert_no_error (error);
  g_assert_true (g_str_has_prefix (observer.log->str, "0->62(rank 1 ended with status 3) "));
  g_string_truncate (observer.log, 0);
  value2 = dvm_job_to_variant (copy);
  g_assert_cmpvariant (value, value2);
  /* The same once more changes nothing. */
  g_assert_true (_dvm_record_update (G_OBJECT (copy), value, &error));
  assert_log (&observer, "");
  g_string_free (observer.log, TRUE);
}

/* A sparse row leaves out values that a new record has, of each class. */
static void
test_sparse (void)
{
  g_autoptr (DvmJob) job = _dvm_job_new (7, "dvm@7");
  g_autoptr (DvmNode) node = _dvm_node_new (3, "node3");
  g_autoptr (DvmSession) session = _dvm_session_new (3);
  g_autoptr (DvmCampaign) campaign = _dvm_campaign_new (2);
  gpointer records[] = { job, node, session, campaign };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (records); i++)
    {
      gpointer record = records[i % G_N_ELEMENTS (records)];
      g_autoptr (GObject) copy = g_object_new (G_OBJECT_TYPE (record), NULL);
      g_autoptr (GVariant) sparse = _dvm_record_to_sparse_variant (record);
      g_autoptr (GVariant) whole = _dvm_record_to_variant (record);
      g_autoptr (GVariant) again = NULL;

      g_assert_cmpuint (g_variant_n_children (sparse), <, g_variant_n_children (whole));
      g_assert_true (_dvm_record_update (copy, sparse, NULL));
      again = _dvm_record_to_variant (copy);
      g_assert_cmpvariant (again, whole);
      if (i > 0)
        continue;
      fill_job (job);
      _dvm_job_set_exit (job, 3, 0, 0);
    }
}

/* A record of each class is made again of what was kept of it. */
static void
test_restored (void)
{
  g_autoptr (DvmJob) job = _dvm_job_new (7, "dvm@7");
  g_autoptr (GVariant) job_values = NULL;
  g_autoptr (DvmNode) node = _dvm_node_new (3, "node3");
  g_autoptr (GVariant) node_values = dvm_node_to_variant (node);
  g_autoptr (DvmSession) session = _dvm_session_new (3);
  g_autoptr (GVariant) session_values = dvm_session_to_variant (session);
  g_autoptr (DvmCampaign) campaign = _dvm_campaign_new (2);
  g_autoptr (GVariant) campaign_values = dvm_campaign_to_variant (campaign);
  g_autoptr (GVariant) wrong = g_variant_ref_sink (g_variant_new_parsed ("{'Id': <'seven'>}"));
  g_autoptr (GVariant) no_dict = g_variant_ref_sink (g_variant_new_string ("seven"));
  g_autoptr (GError) error = NULL;

  fill_job (job);
  job_values = dvm_job_to_variant (job);
  {
    g_autoptr (DvmJob) job_again = dvm_job_new_from_variant (job_values, &error);
    g_autoptr (DvmNode) node_again = dvm_node_new_from_variant (node_values, &error);
    g_autoptr (DvmSession) session_again = dvm_session_new_from_variant (session_values, &error);
    g_autoptr (DvmCampaign) campaign_again = dvm_campaign_new_from_variant (campaign_values, &error);
    gpointer pairs[][2] = {
      { job, job_again }, { node, node_again }, { session, session_again }, { campaign, campaign_again }
    };

    g_assert_no_error (error);
    for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
      {
        g_autoptr (GVariant) one = _dvm_record_to_variant (pairs[i][0]);
        g_autoptr (GVariant) two = _dvm_record_to_variant (pairs[i][1]);

        g_assert_cmpvariant (one, two);
      }
  }
  g_assert_null (dvm_job_new_from_variant (wrong, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_clear_error (&error);
  g_assert_null (dvm_node_new_from_variant (no_dict, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
}

/* (transfer full): a{sv} of the columns of these records */
static GVariant *
make_columns (gpointer const *records, guint n_records)
{
  guint n_fields;
  const DvmRecordField *fields = _dvm_record_get_fields (G_OBJECT_TYPE (records[0]), &n_fields);
  GVariantBuilder dict;

  g_variant_builder_init (&dict, G_VARIANT_TYPE_VARDICT);
  for (guint i = 0; i < n_fields; i++)
    g_variant_builder_add (&dict, "{sv}", fields[i].bus_name, _dvm_record_make_column (records, n_records, &fields[i]));
  return g_variant_ref_sink (g_variant_builder_end (&dict));
}

/* Columns are written as bytes: they are those that a GVariant of these values has. */
static void
assert_columns (GVariant *columns, gpointer const *records, guint n_records)
{
  GVariantIter iter;
  const char *name;
  GVariant *column;

  g_assert_true (g_variant_is_normal_form (columns));
  g_variant_iter_init (&iter, columns);
  while (g_variant_iter_loop (&iter, "{&sv}", &name, &column))
    {
      g_assert_cmpuint (g_variant_n_children (column), ==, n_records);
      for (guint i = 0; i < n_records; i++)
        {
          g_autoptr (GVariant) told = g_variant_get_child_value (column, i);
          g_autoptr (GVariant) value = g_variant_ref_sink (_dvm_record_get_bus_property (records[i], name));

          g_assert_cmpvariant (told, value);
        }
    }
}

static void
assert_same_columns (gpointer const *records, guint n_records)
{
  g_autoptr (GPtrArray) copies = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GVariant) columns = make_columns (records, n_records);
  /* As it comes from the bus: no longer made of the values that it was made of. */
  g_autoptr (GBytes) bytes = g_variant_get_data_as_bytes (columns);
  g_autoptr (GVariant) received = g_variant_ref_sink (g_variant_new_from_bytes (G_VARIANT_TYPE_VARDICT, bytes, FALSE));
  g_autoptr (GVariant) packed = g_variant_ref_sink (_dvm_record_pack_columns (columns));
  g_autoptr (GError) error = NULL;

  assert_columns (received, records, n_records);
  g_assert_cmpuint (g_variant_n_children (packed), ==, 1);
  g_ptr_array_add (copies, g_object_ref (records[0]));
  g_assert_true (_dvm_records_add_columns (copies, G_OBJECT_TYPE (records[0]), received, &error));
  g_assert_true (_dvm_records_add_columns (copies, G_OBJECT_TYPE (records[0]), packed, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (copies->len, ==, 2 * n_records + 1);
  for (guint i = 0; i < 2 * n_records; i++)
    {
      g_autoptr (GVariant) whole = _dvm_record_to_variant (records[i % n_records]);
      g_autoptr (GVariant) again = _dvm_record_to_variant (copies->pdata[i + 1]);

      g_assert_cmpvariant (again, whole);
    }
}

/* Values that are the same in records beside each other are one, and others are not. */
static void
test_columns (void)
{
  const guint32 targets[] = { 3, 4 };
  g_autoptr (DvmJob) job = _dvm_job_new (7, "dvm@7");
  g_autoptr (DvmJob) full = _dvm_job_new (8, "dvm@8");
  g_autoptr (DvmJob) last = _dvm_job_new (9, "dvm@9");
  g_autoptr (DvmNode) node = _dvm_node_new (3, "node3");
  g_autoptr (DvmNode) other = _dvm_node_new (4, "node4");
  g_autoptr (DvmSession) session = _dvm_session_new (3);
  g_autoptr (DvmCampaign) campaign = _dvm_campaign_new (2);
  g_autoptr (DvmCampaign) grow = _dvm_campaign_new (3);
  gpointer jobs[] = { job, full, full, last };
  gpointer nodes[] = { node, other };
  gpointer sessions[] = { session };
  gpointer campaigns[] = { campaign, grow };

  fill_job (full);
  _dvm_job_set_exit (full, 3, 0, 0);
  _dvm_node_set_state (other, DVM_NODE_STATE_UP, "");
  _dvm_node_set_contact (other, "there:1", 12, (const char *const[]){ "four", "iv", NULL });
  _dvm_campaign_set_targets (grow, targets, G_N_ELEMENTS (targets), (const char *const[]){ "a", "b", NULL });
  assert_same_columns (jobs, G_N_ELEMENTS (jobs));
  assert_same_columns (nodes, G_N_ELEMENTS (nodes));
  assert_same_columns (sessions, 1);
  assert_same_columns (campaigns, G_N_ELEMENTS (campaigns));
}

/* Where a text ends is told in one byte, in two or in four, by the length of all; and one of no text has no byte. */
static void
test_long_columns (void)
{
  static const guint lengths[] = {
    0, 1, 240, 253, 254, 255, 256, 300, 65000, 65530, 65531, 65532, 65533, 65536, 70000
  };
  g_autoptr (DvmJob) empty = _dvm_job_new (1, "");

  for (guint i = 0; i < G_N_ELEMENTS (lengths); i++)
    {
      g_autoptr (DvmJob) job = _dvm_job_new (2, "dvm@2");
      g_autoptr (DvmJob) two = _dvm_job_new (3, "dvm@3");
      g_autofree char *text = g_strnfill (lengths[i], 'x');
      gpointer jobs[] = { empty, job, two };

      _dvm_job_set_description (job, text, "", (const char *const[]){ text, "", NULL });
      _dvm_job_set_description (two, "two", text, (const char *const[]){ text, NULL });
      assert_same_columns (jobs, G_N_ELEMENTS (jobs));
      assert_same_columns (&jobs[1], 1);
    }
}

/* Bytes that are no dictionary give none, and such without an end no text behind it. */
static void
test_packed_nonsense (void)
{
  static const guint8 nonsense[] = { 'I', 'd', 0, 0, 0, 0, 0, 0, 7, 0, 0, 'a', 'u', 200, 3, 9 };
  g_autoptr (GVariant) whole = g_variant_ref_sink (
      g_variant_new_parsed ("{'Id': <[uint32 5, 6]>, 'Name': <['here', 'there']>, 'Command': <[['a'], ['b', 'c']]>}"));
  g_autoptr (GBytes) bytes = g_variant_get_data_as_bytes (whole);
  gsize n;
  const guint8 *good = g_bytes_get_data (bytes, &n);

  for (gsize i = 0; i <= n + 1; i++)
    {
      g_autoptr (GPtrArray) records = g_ptr_array_new_with_free_func (g_object_unref);
      g_autofree guint8 *bad = g_memdup2 (good, n);
      GVariant *array;
      g_autoptr (GVariant) dict = NULL;
      g_autoptr (GError) error = NULL;

      if (i < n)
        bad[i] ^= 0xff;
      array = i <= n ? g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, bad, i < n ? n : n / 2, 1)
                     : g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, nonsense, sizeof nonsense, 1);
      dict = g_variant_ref_sink (g_variant_new_parsed ("{'Packed': <%*>}", array));
      if (!_dvm_records_add_columns (records, DVM_TYPE_JOB, dict, &error))
        g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
      for (guint j = 0; j < records->len; j++)
        g_assert_true (g_utf8_validate (dvm_job_get_name (records->pdata[j]), -1, NULL));
    }
}

/* A value that all records have comes once. */
static void
test_once (void)
{
  g_autoptr (GPtrArray) records = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GVariant) columns = g_variant_ref_sink (g_variant_new_parsed (
      "{'Id': <[uint32 5, 6, 7]>, 'State': <[uint32 11]>, 'Reason': <['late']>, 'Command': <[['a', 'b']]>,"
      " 'CreatedAt': <[uint64 9]>, 'NumProcs': <[uint32 4]>, 'Paused': <[true]>, 'Session': <[objectpath '/s']>}"));
  guint n_fields;
  const DvmRecordField *fields = _dvm_record_get_fields (DVM_TYPE_JOB, &n_fields);
  gpointer two[2];

  g_assert_true (_dvm_records_add_columns (records, DVM_TYPE_JOB, columns, NULL));
  g_assert_cmpuint (records->len, ==, 3);
  for (guint i = 0; i < 3; i++)
    {
      DvmJob *job = records->pdata[i];

      g_assert_cmpuint (dvm_job_get_id (job), ==, 5 + i);
      g_assert_cmpint (dvm_job_get_state (job), ==, 11);
      g_assert_cmpstr (dvm_job_get_reason (job), ==, "late");
      g_assert_cmpstr (dvm_job_get_command (job)[1], ==, "b");
      g_assert_cmpint (dvm_job_get_created_at (job), ==, 9);
      g_assert_cmpuint (dvm_job_get_num_procs (job), ==, 4);
      g_assert_true (dvm_job_get_paused (job));
      g_assert_cmpstr (dvm_job_get_session (job), ==, "/s");
    }
  /* A time has 64 bits, of which the upper half may be all that differs. */
  two[0] = records->pdata[0];
  two[1] = records->pdata[1];
  _dvm_job_set_created_at (two[1], 9 + (G_GINT64_CONSTANT (1) << 32));
  for (guint i = 0; i < n_fields; i++)
    {
      gboolean differs = strcmp (fields[i].bus_name, "CreatedAt") == 0 || strcmp (fields[i].bus_name, "Id") == 0;

      g_assert_true (_dvm_records_are_same (two, 2, &fields[i]) == !differs);
    }
}

static void
refuse_columns (const char *text, const char *part)
{
  g_autoptr (GPtrArray) records = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GVariant) columns = g_variant_ref_sink (g_variant_new_parsed (text));
  g_autoptr (GError) error = NULL;

  g_assert_false (_dvm_records_add_columns (records, DVM_TYPE_JOB, columns, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_nonnull (strstr (error->message, part));
  g_assert_cmpuint (records->len, ==, 0);
}

static void
test_wrong_columns (void)
{
  g_autoptr (GPtrArray) records = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GVariant) newer = g_variant_ref_sink (
      g_variant_new_parsed ("{'Id': <[uint32 5, 6]>, 'Fashion': <['new']>, 'NumProcs': <[uint32 1, 2]>}"));
  g_autoptr (GVariant) none = g_variant_ref_sink (g_variant_new_parsed ("{'Id': <@au []>, 'Name': <@as []>}"));

  refuse_columns ("{'Id': <uint32 5>}", "Id is of type u, not au");
  refuse_columns ("{'Id': <[uint32 5, 6]>, 'Namespace': <'dvm@5'>}", "Namespace is of type s, not as");
  refuse_columns ("{'Id': <[uint32 5, 6]>, 'NumProcs': <[1, 2]>}", "NumProcs is of type ai, not au");
  refuse_columns ("{'Id': <[uint32 5, 6, 7]>, 'Name': <['one', 'two']>}", "Name has 2 values, where others have 3");
  refuse_columns ("{'Id': <[uint32 5]>, 'NumProcs': <[uint32 1, 2]>}", "NumProcs has 2 values, where others have 1");
  refuse_columns ("{'Id': <@au []>, 'Name': <['one']>}", "Name has 1 values, where others have 0");
  refuse_columns ("{'Id': <[uint32 5]>, 'State': <@au []>}", "State has 0 values, where others have 1");
  g_assert_true (_dvm_records_add_columns (records, DVM_TYPE_JOB, newer, NULL));
  g_assert_true (_dvm_records_add_columns (records, DVM_TYPE_JOB, none, NULL));
  g_assert_cmpuint (records->len, ==, 2);
  g_assert_cmpuint (dvm_job_get_id (records->pdata[1]), ==, 6);
  g_assert_cmpuint (dvm_job_get_num_procs (records->pdata[1]), ==, 2);
}

static void
test_job_update (void)
{
  g_autoptr (DvmJob) job = _dvm_job_new (1, "a");
  g_autoptr (GVariant) wrong = g_variant_ref_sink (g_variant_new_parsed ("{'NumProcs': <uint32 4>, 'State': <'MAP'>}"));
  g_autoptr (GVariant)
      newer = g_variant_ref_sink (g_variant_new_parsed ("{'NumProcs': <uint32 5>, 'Fashion': <'new'>}"));
  g_autoptr (GVariant) number = g_variant_ref_sink (g_variant_new_uint32 (1));
  g_autoptr (GVariant) reason = g_variant_ref_sink (g_variant_new_parsed ("{'Reason': <'because'>}"));
  g_autoptr (GError) error = NULL;

  g_assert_false (_dvm_record_update (G_OBJECT (job), wrong, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_nonnull (strstr (error->message, "State"));
  g_assert_cmpuint (dvm_job_get_num_procs (job), ==, 0);
  g_clear_error (&error);
  g_assert_true (_dvm_record_update (G_OBJECT (job), newer, &error));
  g_assert_cmpuint (dvm_job_get_num_procs (job), ==, 5);
  g_assert_false (_dvm_record_update (G_OBJECT (job), number, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_clear_error (&error);
  g_assert_true (_dvm_record_update (G_OBJECT (job), reason, &error));
  g_assert_cmpstr (dvm_job_get_reason (job), ==, "because");
}

static void
test_job_json (void)
{
  g_autoptr (DvmJob) job = _dvm_job_new (7, "dvm@7");
  g_autofree char *empty = dvm_job_to_json (job);
  g_autofree char *json = NULL;

  g_assert_nonnull (strstr (empty, "\"started-at\":null"));
  fill_job (job);
  json = dvm_job_to_json (job);
  g_assert_nonnull (strstr (json, "\"namespace\":\"dvm@7\""));
  g_assert_nonnull (strstr (json, "\"state\":\"NON_ZERO_TERM\""));
  g_assert_nonnull (strstr (json, "\"num-procs\":4"));
  g_assert_nonnull (strstr (json, "\"ended-at\":\"2023-11-14T22:13:22.000001Z\""));
  g_assert_nonnull (strstr (json, "\"command\":[\"./ring\",\"-v\"]"));
  g_assert_null (strstr (json, "state-name"));
  g_assert_null (strchr (json, '\n'));
}

/* Controls of C0 and C1 are escaped wherever they stand, and what is no ASCII stays as it is. */
static void
test_json_text (void)
{
  const char *const command[] = {
    "a\"\\\b\f\n\r\t", "\x01\x1b\x1f\x7f", "\xc2\x80\xc2\x9f\xc2\xa0", "\xc3\xa4/\xe2\x82\xac", "", NULL
  };
  g_autoptr (DvmJob) job = _dvm_job_new (7, "dvm@7");
  g_autofree char *json = NULL;

  _dvm_job_set_description (job, "", "", command);
  json = dvm_job_to_json (job);
  g_assert_nonnull (strstr (json, "\"command\":[\"a\\\"\\\\\\b\\f\\n\\r\\t\",\"\\u0001\\u001b\\u001f\\u007f\","
                                  "\"\\u0080\\u009f\xc2\xa0\",\"\xc3\xa4/\xe2\x82\xac\",\"\"]"));
}

/* A record is written as its variant is, whose way is by other functions. */
static void
test_json_of_fields (void)
{
  g_autoptr (DvmJob) job = _dvm_job_new (7, "dvm@7");
  g_autoptr (DvmCampaign) campaign = _dvm_campaign_new (2);
  gpointer records[] = { job, campaign };

  fill_job (job);
  for (guint i = 0; i < G_N_ELEMENTS (records); i++)
    {
      g_autoptr (GVariant) properties = _dvm_record_to_variant (records[i]);
      g_autofree char *expected = _dvm_variant_to_json (properties);
      g_autofree char *json = i == 0 ? dvm_job_to_json (records[i]) : dvm_campaign_to_json (records[i]);

      g_assert_cmpstr (json, ==, expected);
    }
}

static void
test_json_numbers (void)
{
  g_autoptr (GVariant) value = g_variant_ref_sink (
      g_variant_new_parsed ("[<-1>, <int64 -9223372036854775808>, <0>, <uint32 4294967295>, <1.0>, <0.5>, <1e300>, "
                            "<@as []>, <@a{ss} {}>, <@a{sv} {}>]"));
  g_autoptr (GVariant) none = g_variant_ref_sink (g_variant_new_double (NAN));
  g_autoptr (GVariant) never = g_variant_ref_sink (
      g_variant_new_parsed ("{'EndedAt': <uint64 18446744073709551615>, 'LastSeen': <uint64 253402300800000000>,"
                            " 'StartedAt': <uint64 253402300799999999>, 'At': <uint64 951782400000001>}"));
  g_autofree char *json = _dvm_variant_to_json (value);
  g_autofree char *nothing = _dvm_variant_to_json (none);
  g_autofree char *late = _dvm_variant_to_json (never);

  g_assert_cmpstr (json, ==, "[-1,-9223372036854775808,0,4294967295,1.0,0.5,1.0000000000000001e+300,[],{},{}]");
  g_assert_cmpstr (nothing, ==, "null");
  g_assert_cmpstr (late, ==,
                   "{\"ended-at\":null,\"last-seen\":null,\"started-at\":\"9999-12-31T23:59:59.999999Z\","
                   "\"at\":\"2000-02-29T00:00:00.000001Z\"}");
}

/* Whatever is notified has a name on the bus, and each name there is of its type. */
static void
check_fields (GObject *record, const DvmRecordField *fields, guint n_fields)
{
  g_autofree GParamSpec **pspecs = NULL;
  guint n_pspecs;

  for (guint i = 0; i < n_fields; i++)
    {
      g_autoptr (GVariant) value = _dvm_record_get_bus_property (record, fields[i].bus_name);

      g_assert_nonnull (value);
      g_variant_ref_sink (value);
      g_assert_cmpstr (g_variant_get_type_string (value), ==, _dvm_record_field_get_type (&fields[i]));
    }
  pspecs = g_object_class_list_properties (G_OBJECT_GET_CLASS (record), &n_pspecs);
  g_assert_cmpuint (n_pspecs, ==, n_fields);
  for (guint i = 0; i < n_pspecs; i++)
    {
      g_auto (GValue) value = G_VALUE_INIT;

      g_assert_cmpuint (_dvm_record_get_changed_fields (record, pspecs[i]->name), !=, 0);
      g_object_get_property (record, pspecs[i]->name, &value);
    }
  g_assert_null (_dvm_record_get_bus_property (record, "Nonsense"));
  g_assert_cmpuint (_dvm_record_get_changed_fields (record, "nonsense"), ==, 0);
}

static char *
list_changed_fields (DvmJob *job, const char *property)
{
  guint64 changed = _dvm_record_get_changed_fields (G_OBJECT (job), property);
  GString *names = g_string_new (NULL);
  const DvmRecordField *fields;
  guint n_fields;

  fields = _dvm_record_get_fields (DVM_TYPE_JOB, &n_fields);
  for (guint i = 0; i < n_fields; i++)
    if ((changed & (G_GUINT64_CONSTANT (1) << i)) != 0)
      g_string_append_printf (names, "%s ", fields[i].bus_name);
  return g_string_free (names, FALSE);
}

static void
test_fields (void)
{
  g_autoptr (DvmJob) job = _dvm_job_new (7, "dvm@7");
  g_autoptr (DvmNode) node = _dvm_node_new (1, "node1");
  g_autoptr (DvmSession) session = _dvm_session_new (1);
  g_autoptr (DvmCampaign) campaign = _dvm_campaign_new (1);
  g_autofree char *state_fields = NULL;
  g_autofree char *nspace_fields = NULL;
  const DvmRecordField *fields;
  guint n_fields;

  fields = _dvm_record_get_fields (DVM_TYPE_JOB, &n_fields);
  check_fields (G_OBJECT (job), fields, n_fields);
  fields = _dvm_record_get_fields (DVM_TYPE_NODE, &n_fields);
  check_fields (G_OBJECT (node), fields, n_fields);
  fields = _dvm_record_get_fields (DVM_TYPE_SESSION, &n_fields);
  check_fields (G_OBJECT (session), fields, n_fields);
  fields = _dvm_record_get_fields (DVM_TYPE_CAMPAIGN, &n_fields);
  check_fields (G_OBJECT (campaign), fields, n_fields);
  state_fields = list_changed_fields (job, "state");
  g_assert_cmpstr (state_fields, ==, "State StateName ");
  nspace_fields = list_changed_fields (job, "nspace");
  g_assert_cmpstr (nspace_fields, ==, "Namespace ");
}

static void
on_proc_state_changed (DvmJob *job, guint rank, DvmProcState old_state, DvmProcState new_state, gpointer user_data)
{
  guint *sum = user_data;

  *sum += rank * 10000 + old_state * 100 + new_state;
}

static void
test_procs (void)
{
  g_autoptr (DvmJob) job = _dvm_job_new (7, "dvm@7");
  g_autoptr (GVariant) row = g_variant_ref_sink (
      g_variant_new ("(uusuuiuiis)", 3, 1, "node2", 1, 2, 4242, DVM_PROC_STATE_RUNNING, 0, 0, "0-1"));
  g_autoptr (DvmProc) proc = _dvm_proc_new_from_variant (row);
  g_autoptr (DvmProc) copy = NULL;
  guint sum = 0;

  g_assert_cmpstr (dvm_proc_get_devices (proc), ==, "");
  _dvm_proc_set_devices (proc, "nvml0,nvml1");
  copy = dvm_proc_copy (proc);
  g_assert_cmpstr (dvm_proc_get_devices (copy), ==, "nvml0,nvml1");
  g_assert_cmpuint (dvm_proc_get_rank (copy), ==, 3);
  g_assert_cmpuint (dvm_proc_get_app (copy), ==, 1);
  g_assert_cmpstr (dvm_proc_get_node (copy), ==, "node2");
  g_assert_cmpuint (dvm_proc_get_local_rank (copy), ==, 1);
  g_assert_cmpuint (dvm_proc_get_node_rank (copy), ==, 2);
  g_assert_cmpint (dvm_proc_get_pid (copy), ==, 4242);
  g_assert_cmpint (dvm_proc_get_state (copy), ==, DVM_PROC_STATE_RUNNING);
  g_assert_cmpint (dvm_proc_get_exit_code (copy), ==, 0);
  g_assert_cmpint (dvm_proc_get_exit_signal (copy), ==, 0);
  g_assert_cmpstr (dvm_proc_get_cpuset (copy), ==, "0-1");
  g_signal_connect (job, "proc-state-changed", G_CALLBACK (on_proc_state_changed), &sum);
  _dvm_job_proc_state_changed (job, 3, DVM_PROC_STATE_INIT, DVM_PROC_STATE_RUNNING);
  g_assert_cmpuint (sum, ==, 30104);
}

static void
test_node (void)
{
  g_autoptr (DvmNode) node = _dvm_node_new (3, "node3");
  g_autoptr (DvmNode) copy = _dvm_node_new (3, NULL);
  const char *const aliases[] = { "n3", "10.0.0.3", NULL };
  const char *const jobs[] = { "/org/dvm/jobs/1", NULL };
  const char *const sessions[] = { "/org/dvm/sessions/0", NULL };
  g_autoptr (GVariant) value = NULL;
  g_autoptr (GVariant) value2 = NULL;
  g_autofree char *json = NULL;
  Observer observer;

  observe (&observer, node);
  _dvm_node_set_state (node, DVM_NODE_STATE_UP, "reported");
  assert_log (&observer, "reason state state-name 0->3(reported) ");
  _dvm_node_set_devices (node, (const char *const[]){ "nvml0=dvm@4:0", NULL });
  assert_log (&observer, "devices ");
  g_assert_cmpstr (dvm_node_get_devices (node)[0], ==, "nvml0=dvm@4:0");
  _dvm_node_set_slots (node, 8, 16);
  _dvm_node_set_slots_in_use (node, 2);
  _dvm_node_set_contact (node, "unix:/x", 99, aliases);
  _dvm_node_set_topology (node, "sig");
  _dvm_node_set_memory_allotted (node, 4096);
  _dvm_node_set_last_seen (node, 1700000000000000);
  _dvm_node_set_origin (node, "local", "hosts");
  _dvm_node_set_jobs (node, jobs);
  _dvm_node_set_sessions (node, sessions);
  g_assert_true (_dvm_node_set_place (node, 2, 3));
  g_string_truncate (observer.log, 0);
  _dvm_node_set_slots (node, 8, 16);
  _dvm_node_set_jobs (node, jobs);
  g_assert_false (_dvm_node_set_place (node, 2, 3));
  assert_log (&observer, "");
  value = dvm_node_to_variant (node);
  g_assert_true (_dvm_record_update (G_OBJECT (copy), value, NULL));
  value2 = dvm_node_to_variant (copy);
  g_assert_cmpvariant (value, value2);
  g_assert_cmpstr (dvm_node_get_launcher (copy), ==, "local");
  g_assert_cmpint (dvm_node_get_memory_allotted (copy), ==, 4096);
  g_assert_cmpuint (dvm_node_get_parent_rank (copy), ==, 2);
  g_assert_cmpuint (dvm_node_get_depth (copy), ==, 3);
  g_assert_cmpstr (dvm_node_get_sessions (copy)[0], ==, "/org/dvm/sessions/0");
  g_assert_cmpstr (dvm_node_get_object_path (copy), ==, "/org/dvm/nodes/3");
  json = dvm_node_to_json (node);
  g_assert_nonnull (strstr (json, "\"state\":\"UP\""));
  g_assert_nonnull (strstr (json, "\"memory-allotted\":4096"));
  g_assert_nonnull (strstr (json, "\"last-seen\":\"2023-11-14T22:13:20.000000Z\""));
  g_string_free (observer.log, TRUE);
}

static void
fill_session (DvmSession *session)
{
  const char *const nodes[] = { "node1", "node2", NULL };
  const char *const jobs[] = { "/org/dvm/jobs/7", NULL };
  const char *const children[] = { "/org/dvm/sessions/4", NULL };
  const char *const owners[] = { "dvm@7", "bus.1000", NULL };

  _dvm_session_set_allocation (session, "dvm.3", "mine");
  _dvm_session_set_nodes (session, nodes);
  _dvm_session_set_jobs (session, jobs);
  _dvm_session_set_family (session, "/org/dvm/sessions/0", children);
  _dvm_session_set_owners (session, "dvm@7", owners);
  _dvm_session_set_sharing (session, "child-default", TRUE, FALSE);
  _dvm_session_set_expires_at (session, 1700000000000000);
  _dvm_session_set_state (session, DVM_SESSION_STATE_PAUSED, "told to");
}

static void
test_session (void)
{
  g_autoptr (DvmSession) session = _dvm_session_new (3);
  g_autoptr (DvmSession) copy = _dvm_session_new (3);
  g_autoptr (GVariant) value = NULL;
  g_autoptr (GVariant) value2 = NULL;
  g_autoptr (GVariant)
      newer = g_variant_ref_sink (g_variant_new_parsed ("{'State': <'asleep'>, 'Dreams': <uint32 5>}"));
  g_autofree char *json = NULL;
  Observer observer;
  guint ended = 0;

  g_assert_cmpstr (dvm_session_get_parent (session), ==, "/");
  fill_session (session);
  observe (&observer, session);
  g_signal_connect (session, "state-changed::ended", G_CALLBACK (count), &ended);
  fill_session (session);
  assert_log (&observer, "");
  value = dvm_session_to_variant (session);
  g_assert_true (_dvm_record_update (G_OBJECT (copy), value, NULL));
  value2 = dvm_session_to_variant (copy);
  g_assert_cmpvariant (value, value2);
  g_assert_cmpstr (dvm_session_get_reason (copy), ==, "told to");
  g_assert_cmpstr (dvm_session_get_object_path (copy), ==, "/org/dvm/sessions/3");
  json = dvm_session_to_json (session);
  g_assert_nonnull (strstr (json, "\"state\":\"paused\""));
  g_assert_nonnull (strstr (json, "\"expires-at\":\"2023-11-14T22:13:20.000000Z\""));
  _dvm_session_set_state (session, DVM_SESSION_STATE_ACTIVE, NULL);
  assert_log (&observer, "reason state 2->1() ");
  g_assert_cmpuint (ended, ==, 0);
  _dvm_session_set_state (session, DVM_SESSION_STATE_ENDED, "released");
  assert_log (&observer, "reason state 1->4(released) ");
  g_assert_cmpuint (ended, ==, 1);
  /* A newer daemon may have states and properties that we do not know. */
  g_assert_true (_dvm_record_update (G_OBJECT (session), newer, NULL));
  g_assert_cmpint (dvm_session_get_state (session), ==, DVM_SESSION_STATE_UNDEF);
  g_string_free (observer.log, TRUE);
}

static void
fill_campaign (DvmCampaign *campaign)
{
  const guint32 targets[] = { 4, 5, 9 };
  const char *const hosts[] = { "node4", "node5", "node9", NULL };
  const char *const held[] = { "/org/dvm/jobs/7", "/org/dvm/jobs/8", NULL };

  _dvm_campaign_set_request (campaign, DVM_CAMPAIGN_KIND_GROW, "dvm.3", "mine", "private:7");
  _dvm_campaign_set_targets (campaign, targets, G_N_ELEMENTS (targets), hosts);
  _dvm_campaign_set_pending (campaign, 2);
  _dvm_campaign_set_started_at (campaign, 1700000000000000);
  _dvm_campaign_set_repairs (campaign, 1, 6);
  _dvm_campaign_set_held_jobs (campaign, held);
  _dvm_campaign_set_state (campaign, DVM_CAMPAIGN_STATE_ROLLING_BACK, "node9 did not come");
}

static void
test_campaign (void)
{
  g_autoptr (DvmCampaign) campaign = _dvm_campaign_new (2);
  g_autoptr (DvmCampaign) copy = _dvm_campaign_new (2);
  g_autoptr (GVariant) read = NULL;
  g_autoptr (GVariant) value = NULL;
  g_autoptr (GVariant) value2 = NULL;
  g_autofree char *json = NULL;
  const guint32 *targets;
  Observer observer;
  gsize n_targets;

  g_assert_null (dvm_campaign_get_targets (campaign, &n_targets));
  g_assert_cmpuint (n_targets, ==, 0);
  fill_campaign (campaign);
  observe (&observer, campaign);
  fill_campaign (campaign);
  assert_log (&observer, "");
  targets = dvm_campaign_get_targets (campaign, &n_targets);
  g_assert_cmpuint (n_targets, ==, 3);
  g_assert_cmpuint (targets[2], ==, 9);
  /* The caller takes it; one that is not floating would be kept for ever. */
  read = _dvm_record_get_bus_property (G_OBJECT (campaign), "Targets");
  g_assert_true (g_variant_is_floating (read));
  value = dvm_campaign_to_variant (campaign);
  g_assert_true (_dvm_record_update (G_OBJECT (copy), value, NULL));
  value2 = dvm_campaign_to_variant (copy);
  g_assert_cmpvariant (value, value2);
  g_assert_cmpint (dvm_campaign_get_kind (copy), ==, DVM_CAMPAIGN_KIND_GROW);
  g_assert_cmpstr (dvm_campaign_get_object_path (copy), ==, "/org/dvm/campaigns/2");
  json = dvm_campaign_to_json (campaign);
  g_assert_nonnull (strstr (json, "\"kind\":\"grow\",\"state\":\"rolling-back\""));
  g_assert_nonnull (strstr (json, "\"targets\":[4,5,9]"));
  g_assert_nonnull (strstr (json, "\"ended-at\":null"));
  _dvm_campaign_set_outcome (campaign, -25, "lost");
  assert_log (&observer, "status cause ");
  _dvm_campaign_set_ended_at (campaign, 1700000000000001);
  assert_log (&observer, "ended-at ");
  _dvm_campaign_set_state (campaign, DVM_CAMPAIGN_STATE_FAILED, "node9 did not come");
  assert_log (&observer, "state 3->5(node9 did not come) ");
  g_string_free (observer.log, TRUE);
}

static void
test_words (void)
{
  for (int i = DVM_SESSION_STATE_ACTIVE; i <= DVM_SESSION_STATE_ENDED; i++)
    g_assert_cmpint (dvm_session_state_from_string (dvm_session_state_to_string (i)), ==, i);
  for (int i = DVM_CAMPAIGN_STATE_WAITING; i <= DVM_CAMPAIGN_STATE_FAILED; i++)
    g_assert_cmpint (dvm_campaign_state_from_string (dvm_campaign_state_to_string (i)), ==, i);
  for (int i = DVM_CAMPAIGN_KIND_GROW; i <= DVM_CAMPAIGN_KIND_SHRINK; i++)
    g_assert_cmpint (dvm_campaign_kind_from_string (dvm_campaign_kind_to_string (i)), ==, i);
  g_assert_cmpint (dvm_session_state_from_string (NULL), ==, DVM_SESSION_STATE_UNDEF);
  g_assert_cmpint (dvm_campaign_kind_from_string ("explode"), ==, DVM_CAMPAIGN_KIND_UNDEF);
  g_assert_cmpstr (dvm_campaign_state_to_string ((DvmCampaignState)99), ==, "undef");
}

static void
test_variant_json (void)
{
  g_autoptr (GVariant) value = g_variant_ref_sink (g_variant_new_parsed (
      "{'NumProcs': <uint32 3>, 'State': <uint32 11>, 'StateName': <'VM_READY'>, 'StartedAt': <uint64 1>,"
      " 'Env': <{'PATH': '/bin'}>, 'Statistics': <{'jobs-ended': <uint64 2>}>, 'Bytes': <b'ab\\377'>,"
      " 'Rows': <[(1, 'x', true, 2.5)]>}"));
  g_autofree char *json = _dvm_variant_to_json (value);

  g_assert_cmpstr (json, ==,
                   "{\"num-procs\":3,\"state\":\"VM_READY\",\"started-at\":\"1970-01-01T00:00:00.000001Z\","
                   "\"env\":{\"PATH\":\"/bin\"},\"statistics\":{\"jobs-ended\":2},\"bytes\":\"ab\\\\377\","
                   "\"rows\":[[1,\"x\",true,2.5]]}");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/records/job/state", test_job_state);
  g_test_add_func ("/records/job/quiet", test_job_quiet);
  g_test_add_func ("/records/job/variant", test_job_variant);
  g_test_add_func ("/records/restored", test_restored);
  g_test_add_func ("/records/sparse", test_sparse);
  g_test_add_func ("/records/columns", test_columns);
  g_test_add_func ("/records/long-columns", test_long_columns);
  g_test_add_func ("/records/packed-nonsense", test_packed_nonsense);
  g_test_add_func ("/records/once", test_once);
  g_test_add_func ("/records/wrong-columns", test_wrong_columns);
  g_test_add_func ("/records/job/update", test_job_update);
  g_test_add_func ("/records/job/json", test_job_json);
  g_test_add_func ("/records/json/text", test_json_text);
  g_test_add_func ("/records/json/fields", test_json_of_fields);
  g_test_add_func ("/records/json/numbers", test_json_numbers);
  g_test_add_func ("/records/fields", test_fields);
  g_test_add_func ("/records/procs", test_procs);
  g_test_add_func ("/records/node", test_node);
  g_test_add_func ("/records/session", test_session);
  g_test_add_func ("/records/campaign", test_campaign);
  g_test_add_func ("/records/words", test_words);
  g_test_add_func ("/records/variant-json", test_variant_json);
  return g_test_run ();
}
