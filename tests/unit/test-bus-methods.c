/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Every method with right, wrong and hostile arguments, over the private socket.
 */

#include "config.h"

#include "bus-fixture.h"
#include "dvm-dbus-interfaces.h"
#include "dvm-records-private.h"
#include "fake-controller.h"

#include <fcntl.h>
#include <gio/gunixfdlist.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define BAD_PARAM     "org.dvm.Error.BadParam"
#define NOT_SUPPORTED "org.dvm.Error.NotSupported"
#define NOT_FOUND     "org.dvm.Error.NotFound"
#define PARSE_FAILED  "org.dvm.Error.ParseFailed"
#define INVALID_ARGS  "org.freedesktop.DBus.Error.InvalidArgs"
#define SESSION_PATH  "/org/dvm/sessions/0"

typedef struct
{
  BusFixture bus;
  BusClient *client;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  bus_fixture_set_up (&f->bus, fake_controller_new (4, 3), NULL);
  f->client = bus_client_new_private (&f->bus);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  bus_client_free (f->client);
  bus_fixture_tear_down (&f->bus);
}

static GVariant *
parse (const char *text)
{
  return g_variant_new_parsed (text);
}

static void
refused (Fixture *f, const char *path, const char *interface, const char *method, const char *parameters,
         const char *error, const char *what)
{
  bus_client_refused (f->client, path, interface, method, parse (parameters), error, what);
}

static DvmdJob *
job_at (Fixture *f, const char *path)
{
  guint id = strtoul (strrchr (path, '/') + 1, NULL, 10);

  return dvmd_core_get_job (dvmd_controller_get_core (f->bus.controller), id);
}

static void
wait_for_state (Fixture *f, const char *path, DvmJobState state)
{
  wait_until (dvmd_job_get_state (job_at (f, path)) == state);
}

static void
finish (Fixture *f, const char *path)
{
  g_autoptr (GVariant) result = bus_client_check (f->client, path, JOB, "Wait", parse ("(@a{sv} {},)"));
}

/* ---- properties ---- */

static void
check_properties (Fixture *f, const char *path, const GDBusInterfaceInfo *info)
{
  g_autoptr (GVariant)
      reply = bus_client_check (f->client, path, PROPERTIES, "GetAll", g_variant_new ("(s)", info->name));
  g_autoptr (GVariant) all = g_variant_get_child_value (reply, 0);
  guint n = 0;

  for (; info->properties[n] != NULL; n++)
    {
      g_autoptr (GVariant) one = bus_client_get (f->client, path, info->name, info->properties[n]->name);
      g_autoptr (GVariant) same = g_variant_lookup_value (all, info->properties[n]->name, NULL);

      g_assert_cmpstr (g_variant_get_type_string (one), ==, info->properties[n]->signature);
      g_assert_nonnull (same);
    }
  g_assert_cmpuint (g_variant_n_children (all), ==, n);
}

static void
test_properties (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", "{'np': <uint32 2>}");
  guint n_fields;
  const DvmRecordField *fields = _dvm_record_get_fields (DVM_TYPE_JOB, &n_fields);

  wait_for_state (f, job, DVM_JOB_STATE_RUNNING);
  check_properties (f, MANAGER_PATH, &dvm_dbus_manager_interface);
  check_properties (f, job, &dvm_dbus_job_interface);
  check_properties (f, SESSION_PATH, &dvm_dbus_session_interface);
  for (guint i = 0; i < n_fields; i++)
    {
      GDBusPropertyInfo *info = g_dbus_interface_info_lookup_property ((GDBusInterfaceInfo *)&dvm_dbus_job_interface,
                                                                       fields[i].bus_name);

      g_assert_nonnull (info);
      g_assert_cmpstr (info->signature, ==, _dvm_record_field_get_type (&fields[i]));
    }
}

static void
test_property_values (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", "{'np': <uint32 2>}");
  g_autoptr (GVariant) ready = bus_client_get (f->client, MANAGER_PATH, MANAGER, "Ready");
  g_autoptr (GVariant) slots = bus_client_get (f->client, MANAGER_PATH, MANAGER, "SlotCount");
  g_autoptr (GVariant) limit = bus_client_get (f->client, MANAGER_PATH, MANAGER, "HistoryLimit");
  g_autoptr (GVariant) submitter = bus_client_get (f->client, job, JOB, "Submitter");
  g_autoptr (GVariant) uid = bus_client_get (f->client, job, JOB, "SubmitterUid");
  g_autoptr (GVariant) pid = bus_client_get (f->client, job, JOB, "SubmitterPid");
  g_autoptr (GVariant) jobs = bus_client_get (f->client, SESSION_PATH, "org.dvm.Session", "Jobs");
  g_autofree char *text = g_variant_print (jobs, FALSE);

  g_assert_true (g_variant_get_boolean (ready));
  g_assert_cmpuint (g_variant_get_uint32 (slots), ==, 4);
  g_assert_cmpuint (g_variant_get_uint32 (limit), ==, 3);
  g_assert_true (g_str_has_prefix (g_variant_get_string (submitter, NULL), "private:"));
  g_assert_cmpuint (g_variant_get_uint32 (uid), ==, getuid ());
  g_assert_cmpuint (g_variant_get_uint32 (pid), ==, getpid ());
  g_assert_cmpstr (text, ==, "['/org/dvm/jobs/1']");
}

static void
test_wrong_properties (Fixture *f, gconstpointer data)
{
  g_autofree char *job = NULL;

  refused (f, "/org/dvm/jobs/1", PROPERTIES, "GetAll", "('org.dvm.Job',)", NOT_FOUND, "this DVM has had no job yet");
  job = bus_client_submit (f->client, "hold", NULL);
  refused (f, MANAGER_PATH, PROPERTIES, "Get", "('org.dvm.Manager', 'Nothing')", INVALID_ARGS, "Nothing");
  refused (f, MANAGER_PATH, PROPERTIES, "Get", "('org.dvm.Nothing', 'State')", INVALID_ARGS, NULL);
  refused (f, job, PROPERTIES, "Get", "('org.dvm.Job', 'Nothing')", INVALID_ARGS, "Nothing");
  refused (f, job, PROPERTIES, "Get", "(uint32 7,)", "org.freedesktop.DBus.Error.UnknownMethod", NULL);
  refused (f, job, PROPERTIES, "Set", "('org.dvm.Job', 'State', <uint32 35>)", INVALID_ARGS, NULL);
  refused (f, MANAGER_PATH, PROPERTIES, "Set", "('org.dvm.Manager', 'Ready', <false>)", INVALID_ARGS, NULL);
  refused (f, "/org/dvm/jobs/99", PROPERTIES, "Get", "('org.dvm.Job', 'State')", NOT_FOUND, "job 99");
  refused (f, "/org/dvm/jobs/99", PROPERTIES, "GetAll", "('org.dvm.Job',)", NOT_FOUND, "the last one is 1");
  refused (f, "/org/dvm/jobs/0", JOB, "Cancel", "(@a{sv} {},)", NOT_FOUND, NULL);
  refused (f, "/org/dvm/jobs/01", JOB, "Cancel", "(@a{sv} {},)", "org.freedesktop.DBus.Error.UnknownMethod", NULL);
  refused (f, "/org/dvm/jobs/99999999999999999999", JOB, "Cancel", "(@a{sv} {},)",
           "org.freedesktop.DBus.Error.UnknownMethod", NULL);
  refused (f, "/org/dvm/sessions/4", PROPERTIES, "GetAll", "('org.dvm.Session',)", NOT_FOUND, "sessions/4");
}

/* ---- Submit ---- */

static void
test_submit (Fixture *f, gconstpointer data)
{
  g_autofree char *first = bus_client_submit (f->client, "true", "{'np': <uint32 2>, 'name': <'one'>}");
  g_autofree char *second = bus_client_submit (f->client, "true", "{'label': <'many'>}");
  g_autoptr (GVariant) apps = bus_client_check (
      f->client, MANAGER_PATH, MANAGER, "SubmitApps",
      parse ("([{'argv': <['true']>, 'np': <uint32 1>}, {'argv': <['true', 'x']>, 'np': <uint32 "
             "2>}], {'name': <'mpmd'>})"));
  g_autoptr (GVariant) name = NULL;
  g_autoptr (GVariant) n = NULL;

  g_assert_cmpstr (first, ==, "/org/dvm/jobs/1");
  g_assert_cmpstr (second, ==, "/org/dvm/jobs/2");
  finish (f, "/org/dvm/jobs/3");
  name = bus_client_get (f->client, "/org/dvm/jobs/3", JOB, "Name");
  n = bus_client_get (f->client, "/org/dvm/jobs/3", JOB, "NumProcs");
  g_assert_cmpstr (g_variant_get_string (name, NULL), ==, "mpmd");
  g_assert_cmpuint (g_variant_get_uint32 (n), ==, 3);
}

static void
test_submit_refused (Fixture *f, gconstpointer data)
{
  refused (f, MANAGER_PATH, MANAGER, "Submit", "(@as [], @a{sv} {})", BAD_PARAM, "argv");
  refused (f, MANAGER_PATH, MANAGER, "Submit", "(['x'], {'npp': <uint32 4>})", BAD_PARAM, "npp");
  refused (f, MANAGER_PATH, MANAGER, "Submit", "(['x'], {'np': <'four'>})", BAD_PARAM, "np");
  refused (f, MANAGER_PATH, MANAGER, "Submit", "(['x'], {'np': <uint32 0>})", BAD_PARAM, "np");
  refused (f, MANAGER_PATH, MANAGER, "Submit", "(['x'], {'env': <['a']>})", BAD_PARAM, "env");
  refused (f, MANAGER_PATH, MANAGER, "Submit", "(['x'], {'': <uint32 0>})", BAD_PARAM, NULL);
  refused (f, MANAGER_PATH, MANAGER, "Submit", "(['x'], {'np': <<<<uint32 0>>>>})", BAD_PARAM, "np");
  refused (f, MANAGER_PATH, MANAGER, "Submit", "(['x'],)", INVALID_ARGS, NULL);
  refused (f, MANAGER_PATH, MANAGER, "Submit", "('x', @a{sv} {})", INVALID_ARGS, NULL);
  refused (f, MANAGER_PATH, MANAGER, "SubmitApps", "(@aa{sv} [], @a{sv} {})", BAD_PARAM, NULL);
  refused (f, MANAGER_PATH, MANAGER, "SubmitApps", "([{'np': <uint32 1>}], @a{sv} {})", BAD_PARAM, "argv");
  refused (f, MANAGER_PATH, MANAGER, "SubmitApps", "([{'argv': <'x'>}], @a{sv} {})", BAD_PARAM, "argv");
  refused (f, MANAGER_PATH, MANAGER, "SubmitAll", "(@a(asa{sv}) [], @a{sv} {})",
           "org.freedesktop.DBus.Error.UnknownMethod", NULL);
  g_assert_cmpuint (dvmd_core_get_last_job_id (dvmd_controller_get_core (f->bus.controller)), ==, 0);
}

static void
submit_fds_refused (Fixture *f, const char *options, GUnixFDList *fds, const char *what)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) reply = bus_client_call_with_fds (
      f->client, MANAGER_PATH, MANAGER, "Submit", g_variant_new ("(@as@a{sv})", parse ("['true']"), parse (options)),
      fds, NULL, &error);

  g_assert_null (reply);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_nonnull (strstr (error->message, what));
}

static void
test_submit_fds (Fixture *f, gconstpointer data)
{
  g_autoptr (GUnixFDList) fds = g_unix_fd_list_new ();
  g_autoptr (GVariant) reply = NULL;
  g_autoptr (GError) error = NULL;
  int null_fd = open ("/dev/null", O_RDWR | O_CLOEXEC);

  g_assert_cmpint (g_unix_fd_list_append (fds, null_fd, NULL), ==, 0);
  submit_fds_refused (f, "{'stdin-fd': <handle 1>}", fds, "stdin-fd");
  submit_fds_refused (f, "{'stdin-fd': <handle -1>}", fds, "stdin-fd");
  submit_fds_refused (f, "{'stdout-fd': <handle 0>}", NULL, "stdout-fd");
  submit_fds_refused (f, "{'stderr-fd': <int32 0>}", fds, "stderr-fd");
  submit_fds_refused (f, "{'stdin-fd': <handle 0>, 'npp': <1>}", fds, "npp");
  reply = bus_client_call_with_fds (f->client, MANAGER_PATH, MANAGER, "Submit",
                                    parse ("(['true'], {'stdin-fd': <handle 0>, 'stderr-fd': <handle 0>})"), fds, NULL,
                                    &error);
  g_assert_no_error (error);
  g_assert_true (fake_controller_had_fd (f->bus.controller, 0));
  g_assert_false (fake_controller_had_fd (f->bus.controller, 1));
  g_assert_true (fake_controller_had_fd (f->bus.controller, 2));
  close (null_fd);
}

/* ---- Wait ---- */

static void
check_result (GVariant *reply, guint state, const char *state_name, int exit_code)
{
  g_autoptr (GVariant) result = g_variant_get_child_value (reply, 0);
  const char *name;
  const char *reason;
  guint number;
  int code;
  int value;

  /* The result of a job that failed has the parts of its reason beside it. */
  g_assert_cmpuint (g_variant_n_children (result), ==, exit_code != 0 ? 8 : 6);
  g_assert_true (g_variant_lookup (result, "state", "u", &number));
  g_assert_true (g_variant_lookup (result, "state-name", "&s", &name));
  g_assert_true (g_variant_lookup (result, "exit-code", "i", &code));
  g_assert_true (g_variant_lookup (result, "exit-signal", "i", &value));
  g_assert_true (g_variant_lookup (result, "failed-rank", "i", &value));
  g_assert_true (g_variant_lookup (result, "reason", "&s", &reason));
  g_assert_cmpuint (number, ==, state);
  g_assert_cmpstr (name, ==, state_name);
  g_assert_cmpint (code, ==, exit_code);
}

static void
test_wait (Fixture *f, gconstpointer data)
{
  g_autofree char *good = bus_client_submit (f->client, "true", NULL);
  g_autofree char *bad = bus_client_submit (f->client, "false", NULL);
  g_autoptr (GVariant) nspace = bus_client_get (f->client, good, JOB, "Namespace");
  g_autoptr (GVariant) first = bus_client_check (f->client, bad, JOB, "Wait", parse ("(@a{sv} {},)"));
  g_autoptr (GVariant) again = bus_client_check (f->client, bad, JOB, "Wait", parse ("({'timeout': <uint32 1>},)"));
  g_autoptr (GVariant) by_name = bus_client_check (
      f->client, MANAGER_PATH, MANAGER, "WaitJob",
      g_variant_new ("(s@a{sv})", g_variant_get_string (nspace, NULL), parse ("@a{sv} {}")));

  check_result (first, DVM_JOB_STATE_NON_ZERO_TERM, dvm_job_state_to_string (DVM_JOB_STATE_NON_ZERO_TERM), 1);
  check_result (again, DVM_JOB_STATE_NON_ZERO_TERM, dvm_job_state_to_string (DVM_JOB_STATE_NON_ZERO_TERM), 1);
  check_result (by_name, DVM_JOB_STATE_NOTIFIED, dvm_job_state_to_string (DVM_JOB_STATE_NOTIFIED), 0);
  refused (f, MANAGER_PATH, MANAGER, "WaitJob", "('nobody@7', @a{sv} {})", NOT_FOUND, "nobody@7");
  refused (f, good, JOB, "Wait", "({'timeout': <'soon'>},)", BAD_PARAM, "timeout");
  refused (f, good, JOB, "Wait", "({'timeouts': <uint32 1>},)", BAD_PARAM, "timeouts");
}

static void
on_waited (GObject *source, GAsyncResult *result, gpointer user_data)
{
  *(GVariant **)user_data = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, NULL);
}

static void
test_wait_pending (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", NULL);
  g_autoptr (GVariant) reply = NULL;

  refused (f, job, JOB, "Wait", "({'timeout': <uint32 20>},)", "org.dvm.Error.Timeout", "20 ms");
  wait_for_state (f, job, DVM_JOB_STATE_RUNNING);
  g_dbus_connection_call (f->client->connection, NULL, job, JOB, "Wait", parse ("(@a{sv} {},)"), NULL,
                          G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL, on_waited, &reply);
  bus_client_sync (f->client);
  g_assert_null (reply);

  /* Ended is not enough: the output has to be delivered. */
  fake_controller_hold_output (f->bus.controller, TRUE);
  fake_controller_end_job (f->bus.controller, job_at (f, job), 0);
  wait_for_state (f, job, DVM_JOB_STATE_NOTIFIED);
  bus_client_sync (f->client);
  g_assert_null (reply);
  fake_controller_hold_output (f->bus.controller, FALSE);
  wait_until (reply != NULL);
  check_result (reply, DVM_JOB_STATE_NOTIFIED, dvm_job_state_to_string (DVM_JOB_STATE_NOTIFIED), 0);
}

static void
test_wait_vanishes (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", NULL);
  BusClient *other = bus_client_new_private (&f->bus);
  g_autoptr (GVariant) reply = NULL;

  wait_for_state (f, job, DVM_JOB_STATE_RUNNING);
  g_dbus_connection_call (other->connection, NULL, job, JOB, "Wait", parse ("({'timeout': <uint32 60000>},)"), NULL,
                          G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL, on_waited, &reply);
  bus_client_sync (other);
  bus_client_free (other);
  wait_until (dvmd_bus_server_get_n_connections (f->bus.server) == 1);
  fake_controller_end_job (f->bus.controller, job_at (f, job), 0);
  finish (f, job);
}

/* ---- lists ---- */

static guint
count_rows (Fixture *f, const char *filter, const char *rest)
{
  g_autoptr (GVariant) reply = bus_client_check (f->client, MANAGER_PATH, MANAGER, "ListJobs",
                                                 g_variant_new ("(@a{sv})", parse (filter)));
  g_autoptr (GVariant) rows = g_variant_get_child_value (reply, 0);
  const char *left;

  g_variant_get_child (reply, 1, "&s", &left);
  g_assert_cmpstr (left, ==, rest);
  return g_variant_n_children (rows);
}

static void
test_list_jobs (Fixture *f, gconstpointer data)
{
  g_autofree char *ended = bus_client_submit (f->client, "true", "{'label': <'a'>}");
  g_autofree char *first = bus_client_submit (f->client, "hold", "{'np': <uint32 1>, 'label': <'a'>}");
  g_autofree char *second = bus_client_submit (f->client, "hold", "{'np': <uint32 1>, 'label': <'b'>}");
  g_autofree char *third = bus_client_submit (f->client, "hold", "{'np': <uint32 1>, 'label': <'b'>}");

  finish (f, ended);
  wait_for_state (f, third, DVM_JOB_STATE_RUNNING);
  g_assert_cmpuint (count_rows (f, "@a{sv} {}", ""), ==, 3);
  g_assert_cmpuint (count_rows (f, "{'all': <true>}", ""), ==, 4);
  g_assert_cmpuint (count_rows (f, "{'ids': <'1,3-9'>}", ""), ==, 3);
  g_assert_cmpuint (count_rows (f, "{'ids': <'0-4294967294'>, 'limit': <uint32 1>}", "2-4"), ==, 1);
  g_assert_cmpuint (count_rows (f, "{'ids': <'2,4-9'>, 'limit': <uint32 1>}", "4"), ==, 1);
  g_assert_cmpuint (count_rows (f, "{'ids': <'4-9'>, 'limit': <uint32 1>}", ""), ==, 1);
  g_assert_cmpuint (count_rows (f, "{'ids': <'1-4'>, 'label': <'b'>, 'limit': <uint32 1>}", "4"), ==, 1);
  g_assert_cmpuint (count_rows (f, "{'ids': <'1-4'>, 'session': <uint32 1>, 'limit': <uint32 1>}", ""), ==, 0);
  g_assert_cmpuint (count_rows (f, "{'label': <'b'>}", ""), ==, 2);
  g_assert_cmpuint (count_rows (f, "{'label': <'a'>}", ""), ==, 1);
  g_assert_cmpuint (count_rows (f, "{'label': <'a'>, 'all': <true>}", ""), ==, 2);
  g_assert_cmpuint (count_rows (f, "{'state': <uint32 14>}", ""), ==, 3);
  g_assert_cmpuint (count_rows (f, "{'state': <uint32 35>}", ""), ==, 1);
  g_assert_cmpuint (count_rows (f, "{'session': <uint32 0>}", ""), ==, 3);
  g_assert_cmpuint (count_rows (f, "{'session': <uint32 1>}", ""), ==, 0);
  g_assert_cmpuint (count_rows (f, "{'limit': <uint32 2>}", "4"), ==, 2);
  g_assert_cmpuint (count_rows (f, "{'all': <true>, 'limit': <uint32 1>}", "2-4"), ==, 1);
  refused (f, MANAGER_PATH, MANAGER, "ListJobs", "({'labels': <'b'>},)", BAD_PARAM, "labels");
  refused (f, MANAGER_PATH, MANAGER, "ListJobs", "({'limit': <'b'>},)", BAD_PARAM, "limit");
  refused (f, MANAGER_PATH, MANAGER, "ListJobs", "({'ids': <'4-1'>},)", PARSE_FAILED, "ids");
  refused (f, MANAGER_PATH, MANAGER, "ListJobs", "({'columns': <['Id', 'Colour']>},)", BAD_PARAM, "Colour");
  refused (f, MANAGER_PATH, MANAGER, "ListJobs", "({'columns': <uint32 3>},)", BAD_PARAM, "columns");
}

static void
test_columns (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", "{'np': <uint32 1>}");
  g_autoptr (GVariant) reply = bus_client_check (f->client, MANAGER_PATH, MANAGER, "ListJobs",
                                                 parse ("({'columns': <['Id', 'Label']>},)"));
  g_autofree char *text = g_variant_print (reply, FALSE);

  g_assert_cmpstr (text, ==, "([{'Id': <uint32 1>, 'Label': <''>}], '')");
}

/* Empty properties are left out, so that a row of a job that waits costs a half of a whole one. */
static void
test_sparse (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", "{'np': <uint32 1>, 'hold': <true>}");
  g_autoptr (GVariant)
      some = bus_client_check (f->client, MANAGER_PATH, MANAGER, "ListJobs",
                               parse ("({'columns': <['Id', 'Label', 'Paused', 'Parent', 'NumLaunched', 'FailedRank',"
                                      " 'WaitsFor', 'StartedAt', 'Command']>, 'sparse': <true>},)"));
  g_autoptr (GVariant) whole = bus_client_check (f->client, MANAGER_PATH, MANAGER, "ListJobs", parse ("(@a{sv} {},)"));
  g_autoptr (GVariant)
      sparse = bus_client_check (f->client, MANAGER_PATH, MANAGER, "ListJobs", parse ("({'sparse': <true>},)"));
  g_autofree char *text = g_variant_print (some, FALSE);

  g_assert_cmpstr (text, ==, "([{'Id': <uint32 1>, 'Command': <['hold']>}], '')");
  g_assert_cmpuint (2 * g_variant_get_size (sparse), <, g_variant_get_size (whole));
  refused (f, MANAGER_PATH, MANAGER, "ListJobs", "({'sparse': <'yes'>},)", BAD_PARAM, "sparse");
  refused (f, MANAGER_PATH, MANAGER, "CancelJobs", "({'sparse': <true>},)", BAD_PARAM, "sparse");
}

static void
assert_answer (Fixture *f, const char *method, const char *parameters, const char *expected)
{
  g_autoptr (GVariant) reply = bus_client_check (f->client, MANAGER_PATH, MANAGER, method, parse (parameters));
  g_autofree char *text = g_variant_print (reply, FALSE);

  g_assert_cmpstr (text, ==, expected);
}

static void
test_by_column (Fixture *f, gconstpointer data)
{
  g_autofree char *first = bus_client_submit (f->client, "hold", "{'np': <uint32 1>, 'label': <'a'>, 'hold': <true>}");
  g_autofree char *second = bus_client_submit (f->client, "hold", "{'np': <uint32 2>, 'hold': <true>}");
  g_autofree char *third = bus_client_submit (f->client, "hold", "{'np': <uint32 2>, 'hold': <true>}");

  assert_answer (
      f, "ListJobs",
      "({'by-column': <true>, 'columns': <['Id', 'Label', 'Paused', 'FailedRank', 'Command', 'StartedAt']>},)",
      "([{'Id': <[uint32 1, 2, 3]>, 'Label': <['a', '', '']>, 'Paused': <[false, false, false]>,"
      " 'FailedRank': <[-1, -1, -1]>, 'Command': <[['hold'], ['hold'], ['hold']]>,"
      " 'StartedAt': <[uint64 0, 0, 0]>}], '')");
  /* A column stays where one job has a value. */
  assert_answer (f, "ListJobs",
                 "({'by-column': <true>, 'sparse': <true>, 'columns': <['Id', 'Label', 'Paused', 'FailedRank']>},)",
                 "([{'Id': <[uint32 1, 2, 3]>, 'Label': <['a', '', '']>}], '')");
  assert_answer (f, "ListJobs", "({'by-column': <true>, 'limit': <uint32 2>, 'columns': <['Id']>},)",
                 "([{'Id': <[uint32 1, 2]>}], '3')");
  assert_answer (f, "ListJobs", "({'by-column': <true>, 'label': <'b'>},)", "([], '')");
  /* A value that all have comes once, but for the first column. */
  assert_answer (f, "ListJobs",
                 "({'by-column': <true>, 'once': <true>, 'columns': <['Id', 'Label', 'Command', 'StartedAt']>},)",
                 "([{'Id': <[uint32 1, 2, 3]>, 'Label': <['a', '', '']>,"
                 " 'Command': <[['hold']]>, 'StartedAt': <[uint64 0]>}], '')");
  assert_answer (f, "ListJobs", "({'by-column': <true>, 'once': <true>, 'columns': <['Command', 'Paused']>},)",
                 "([{'Paused': <[false, false, false]>, 'Command': <[['hold']]>}], '')");
  assert_answer (f, "ListNodes", "('', {'by-column': <true>, 'once': <true>, 'columns': <['Rank', 'Aliases']>})",
                 "([{'Aliases': <[@as [], []]>, 'Rank': <[uint32 0, 1]>}], '')");
  assert_answer (f, "ListJobs", "({'by-column': <false>, 'label': <'a'>, 'columns': <['Id']>},)",
                 "([{'Id': <uint32 1>}], '')");
  assert_answer (f, "ListNodes", "('', {'by-column': <true>, 'columns': <['Rank', 'Name', 'Aliases']>})",
                 "([{'Name': <['here', 'here']>, 'Aliases': <[@as [], []]>, 'Rank': <[uint32 0, 1]>}], '')");
  assert_answer (f, "ListNodes", "('1', {'sparse': <true>, 'columns': <['Rank', 'Aliases']>})",
                 "([{'Rank': <uint32 1>}], '')");
  /* The same dictionary as bytes; without columns there is none. */
  assert_answer (
      f, "ListJobs", "({'packed': <true>, 'by-column': <true>, 'once': <true>, 'columns': <['Id', 'Paused']>},)",
      "([{'Packed': <[byte 0x49, 0x64, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, 0x00,"
      " 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x61, 0x75, 0x03, 0x50, 0x61, 0x75, 0x73, 0x65, 0x64, 0x00,"
      " 0x00, 0x00, 0x00, 0x61, 0x62, 0x07, 0x18, 0x25]>}], '')");
  assert_answer (f, "ListJobs", "({'packed': <true>, 'label': <'a'>, 'columns': <['Id']>},)",
                 "([{'Id': <uint32 1>}], '')");
  refused (f, MANAGER_PATH, MANAGER, "ListJobs", "({'by-column': <'yes'>},)", BAD_PARAM, "by-column");
  refused (f, MANAGER_PATH, MANAGER, "ListJobs", "({'by-column': <true>, 'columns': <['Colour']>},)", BAD_PARAM,
           "Colour");
  refused (f, MANAGER_PATH, MANAGER, "ListNodes", "('', {'by-column': <uint32 1>})", BAD_PARAM, "by-column");
  refused (f, MANAGER_PATH, MANAGER, "CancelJobs", "({'by-column': <true>},)", BAD_PARAM, "by-column");
  refused (f, MANAGER_PATH, MANAGER, "CancelJobs", "({'once': <true>},)", BAD_PARAM, "once");
}

static void
test_list_nodes (Fixture *f, gconstpointer data)
{
  g_autoptr (GVariant)
      all = bus_client_check (f->client, MANAGER_PATH, MANAGER, "ListNodes", parse ("('', @a{sv} {})"));
  g_autoptr (GVariant) one = bus_client_check (f->client, MANAGER_PATH, MANAGER, "ListNodes",
                                               parse ("('1', {'columns': <['Rank', 'Name']>})"));
  g_autoptr (GVariant) cut = bus_client_check (f->client, MANAGER_PATH, MANAGER, "ListNodes",
                                               parse ("('', {'columns': <['Rank']>, 'limit': <uint32 1>})"));
  g_autoptr (GVariant) rows = g_variant_get_child_value (all, 0);
  g_autofree char *one_text = g_variant_print (one, FALSE);
  g_autofree char *cut_text = g_variant_print (cut, FALSE);

  g_assert_cmpuint (g_variant_n_children (rows), ==, 2);
  g_assert_cmpstr (one_text, ==, "([{'Name': <'here'>, 'Rank': <uint32 1>}], '')");
  g_assert_cmpstr (cut_text, ==, "([{'Rank': <uint32 0>}], '1')");
  refused (f, MANAGER_PATH, MANAGER, "ListNodes", "('x', @a{sv} {})", PARSE_FAILED, "ids");
  refused (f, MANAGER_PATH, MANAGER, "ListNodes", "('', {'ids': <'1'>})", BAD_PARAM, "ids");
}

static gboolean
on_reload (gpointer user_data, GError **error)
{
  guint *n = user_data;

  if (++*n == 1)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, "dvm.conf:3: this is no line");
  return FALSE;
}

static void
test_reload (Fixture *f, gconstpointer data)
{
  guint n = 0;

  refused (f, MANAGER_PATH, MANAGER, "Reload", "(@a{sv} {},)", "org.dvm.Error.NotSupported", "settings");
  dvmd_bus_server_set_settings (f->bus.server, NULL, on_reload, &n);
  g_variant_unref (bus_client_check (f->client, MANAGER_PATH, MANAGER, "Reload", parse ("(@a{sv} {},)")));
  refused (f, MANAGER_PATH, MANAGER, "Reload", "(@a{sv} {},)", "org.dvm.Error.ParseFailed", "dvm.conf:3");
  refused (f, MANAGER_PATH, MANAGER, "Reload", "({'kind': <'mapper'>},)", BAD_PARAM, "kind");
  g_assert_cmpuint (n, ==, 2);
}

static void
test_list_plugins (Fixture *f, gconstpointer data)
{
  g_autoptr (GVariant) all = bus_client_check (f->client, MANAGER_PATH, MANAGER, "ListPlugins", parse ("(@a{sv} {},)"));
  g_autofree char *text = g_variant_print (all, FALSE);

  g_assert_nonnull (strstr (text, "'kind': <'mapper'>, 'name': <'fake'>"));
  refused (f, MANAGER_PATH, MANAGER, "ListPlugins", "({'kind': <'mapper'>},)", BAD_PARAM, "kind");
}

static void
test_list_procs (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", "{'np': <uint32 3>}");
  g_autoptr (GVariant) early = bus_client_check (f->client, job, JOB, "ListProcs", parse ("('', @a{sv} {})"));
  g_autoptr (GVariant) some = NULL;
  g_autoptr (GVariant) devices = NULL;
  g_autofree char *text = NULL;
  g_autofree char *no_devices = NULL;

  wait_for_state (f, job, DVM_JOB_STATE_RUNNING);
  some = bus_client_check (f->client, job, JOB, "ListProcs", parse ("('1-9', {'limit': <uint32 1>})"));
  text = g_variant_print (some, FALSE);
  g_assert_cmpstr (text, ==, "([(1, 0, 'here', 1, 1, 1001, 4, 0, 0, '')], '2')");
  devices = bus_client_check (f->client, job, JOB, "ListDevices", parse ("('', {'limit': <uint32 1>})"));
  no_devices = g_variant_print (devices, FALSE);
  g_assert_cmpstr (no_devices, ==, "([], '')");
  refused (f, job, JOB, "ListDevices", "('', {'all': <true>})", BAD_PARAM, "all");
  refused (f, job, JOB, "ListProcs", "('1,', @a{sv} {})", PARSE_FAILED, "ranks");
  refused (f, job, JOB, "ListProcs", "('', {'all': <true>})", BAD_PARAM, "all");
}

static void
test_collect_stacks (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", "{'np': <uint32 3>}");
  g_autofree char *text = NULL;
  g_autofree char *limited = NULL;
  g_autoptr (GVariant) all = NULL;
  g_autoptr (GVariant) some = NULL;

  wait_for_state (f, job, DVM_JOB_STATE_RUNNING);
  all = bus_client_check (f->client, job, JOB, "CollectStacks", parse ("('', @a{sv} {})"));
  text = g_variant_print (all, FALSE);
  g_assert_cmpstr (text, ==, "([(0, 'here', ' in 30 s', '')],)");
  some = bus_client_check (f->client, job, JOB, "CollectStacks", parse ("('0-1', {'timeout': <uint32 7>})"));
  limited = g_variant_print (some, FALSE);
  g_assert_cmpstr (limited, ==, "([(0, 'here', '0-1 in 7 s', '')],)");
  refused (f, job, JOB, "CollectStacks", "('', {'timeout': <uint32 0>})", BAD_PARAM, "1 to 3600");
  refused (f, job, JOB, "CollectStacks", "('', {'timeout': <uint32 3601>})", BAD_PARAM, "1 to 3600");
  refused (f, job, JOB, "CollectStacks", "('', {'all': <true>})", BAD_PARAM, "all");
}

static void
test_find (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", NULL);
  g_autoptr (GVariant) nspace = bus_client_get (f->client, job, JOB, "Namespace");
  g_autoptr (GVariant) found = bus_client_check (f->client, MANAGER_PATH, MANAGER, "FindJob",
                                                 g_variant_new ("(s)", g_variant_get_string (nspace, NULL)));
  const char *path;

  g_variant_get (found, "(&o)", &path);
  g_assert_cmpstr (path, ==, job);
  refused (f, MANAGER_PATH, MANAGER, "FindJob", "('',)", NOT_FOUND, NULL);
  refused (f, MANAGER_PATH, MANAGER, "FindJob", "('%s%n',)", NOT_FOUND, "%s%n");
}

/* ---- what changes jobs ---- */

static void
test_cancel (Fixture *f, gconstpointer data)
{
  g_autofree char *one = bus_client_submit (f->client, "hold", "{'np': <uint32 1>, 'label': <'x'>}");
  g_autofree char *two = bus_client_submit (f->client, "hold", "{'np': <uint32 1>}");
  g_autofree char *three = bus_client_submit (f->client, "hold", "{'np': <uint32 1>}");
  g_autoptr (GVariant) count = NULL;
  g_autoptr (GVariant) rest = NULL;
  g_autoptr (GVariant) again = NULL;
  g_autoptr (GVariant) reason = NULL;
  guint n;

  refused (f, MANAGER_PATH, MANAGER, "CancelJobs", "(@a{sv} {},)", BAD_PARAM, "empty");
  refused (f, MANAGER_PATH, MANAGER, "CancelJobs", "({'all': <false>},)", BAD_PARAM, "empty");
  refused (f, MANAGER_PATH, MANAGER, "CancelJobs", "({'ids': <''>},)", BAD_PARAM, "empty");
  refused (f, MANAGER_PATH, MANAGER, "CancelJobs", "({'limit': <uint32 1>},)", BAD_PARAM, "limit");
  wait_for_state (f, three, DVM_JOB_STATE_RUNNING);
  count = bus_client_check (f->client, MANAGER_PATH, MANAGER, "CancelJobs", parse ("({'label': <'x'>},)"));
  g_variant_get (count, "(u)", &n);
  g_assert_cmpuint (n, ==, 1);
  wait_for_state (f, one, DVM_JOB_STATE_KILLED_BY_CMD);
  reason = bus_client_get (f->client, one, JOB, "Reason");
  g_assert_true (g_str_has_prefix (g_variant_get_string (reason, NULL), "cancelled by "));
  /* As the kernel shows its name. */
  g_assert_nonnull (strstr (g_variant_get_string (reason, NULL), " (test-bus-method, pid "));
  finish (f, one);
  again = bus_client_check (f->client, one, JOB, "Cancel", parse ("(@a{sv} {},)"));
  rest = bus_client_check (f->client, MANAGER_PATH, MANAGER, "CancelJobs", parse ("({'all': <true>},)"));
  g_variant_get (rest, "(u)", &n);
  g_assert_cmpuint (n, ==, 2);
  finish (f, two);
  finish (f, three);
  refused (f, two, JOB, "Cancel", "({'force': <true>},)", BAD_PARAM, "force");
}

static void
test_signal (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", "{'np': <uint32 2>}");
  g_autoptr (GVariant) all = NULL;
  g_autoptr (GVariant) some = NULL;
  g_autoptr (GVariant) more = NULL;
  const char *ranks;

  wait_for_state (f, job, DVM_JOB_STATE_RUNNING);
  all = bus_client_check (f->client, job, JOB, "Signal", parse ("(10, @a{sv} {})"));
  g_assert_cmpint (fake_controller_get_last_signal (f->bus.controller, &ranks), ==, 10);
  g_assert_null (ranks);
  some = bus_client_check (f->client, job, JOB, "Signal", parse ("(12, {'ranks': <'0-1'>})"));
  g_assert_cmpint (fake_controller_get_last_signal (f->bus.controller, &ranks), ==, 12);
  g_assert_cmpstr (ranks, ==, "0-1");
  refused (f, job, JOB, "Signal", "(-9, @a{sv} {})", BAD_PARAM, "-9");
  more = bus_client_check (f->client, job, JOB, "Continue", parse ("(@a{sv} {},)"));
  g_assert_cmpint (fake_controller_get_last_signal (f->bus.controller, &ranks), ==, SIGCONT);
  refused (f, job, JOB, "Resize", "(@u 24, @u 80, {'ranks': <'0'>})", BAD_PARAM, "ranks");
  refused (f, job, JOB, "Resize", "(@u 24, @u 80, @a{sv} {})", BAD_PARAM, "no terminal of 24 rows and 80 columns");
  refused (f, job, JOB, "Continue", "({'ranks': <'0'>},)", BAD_PARAM, "ranks");
  refused (f, job, JOB, "Signal", "(9, {'rank': <'0'>})", BAD_PARAM, "rank");
}

/* A job that waits is held and released; one that runs has its nodes. */
static void
test_hold (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", "{'np': <uint32 1>, 'hold': <true>}");
  g_autoptr (GVariant) held = NULL;
  g_autoptr (GVariant) urgent = NULL;
  g_autoptr (GVariant) released = NULL;
  g_autoptr (GVariant) again = NULL;

  refused (f, job, JOB, "Hold", "({'ranks': <'0'>},)", BAD_PARAM, "ranks");
  refused (f, job, JOB, "Release", "({'ranks': <'0'>},)", BAD_PARAM, "ranks");
  held = bus_client_check (f->client, job, JOB, "Hold", parse ("(@a{sv} {},)"));
  refused (f, job, JOB, "SetPriority", "(1, {'ranks': <'0'>})", BAD_PARAM, "ranks");
  refused (f, job, JOB, "SetPriority", "(-1001, @a{sv} {})", BAD_PARAM, "-1000 to 1000");
  urgent = bus_client_check (f->client, job, JOB, "SetPriority", parse ("(-7, @a{sv} {})"));
  released = bus_client_check (f->client, job, JOB, "Release", parse ("(@a{sv} {},)"));
  wait_for_state (f, job, DVM_JOB_STATE_RUNNING);
  refused (f, job, JOB, "Hold", "(@a{sv} {},)", NOT_SUPPORTED, "has its nodes");
  refused (f, job, JOB, "SetPriority", "(1, @a{sv} {})", NOT_SUPPORTED, "has its nodes");
  again = bus_client_check (f->client, job, JOB, "Release", parse ("(@a{sv} {},)"));
}

static int
get_fd (GVariant *reply, GUnixFDList *fds, const char *stream)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (reply, 0);
  gint32 handle;

  if (!g_variant_lookup (dict, stream, "h", &handle))
    return -1;
  return g_unix_fd_list_get (fds, handle, NULL);
}

static void
test_attach (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", NULL);
  g_autoptr (GUnixFDList) fds = NULL;
  g_autoptr (GVariant) reply = NULL;
  char text[8] = "";
  int fd;

  reply = bus_client_call_with_fds (f->client, job, JOB, "Attach", parse ("(@a{sv} {},)"), NULL, &fds, NULL);
  g_assert_nonnull (reply);
  g_assert_cmpint (g_unix_fd_list_get_length (fds), ==, 2);
  g_assert_cmpint (get_fd (reply, fds, "stdin"), ==, -1);
  fd = get_fd (reply, fds, "stdout");
  g_assert_cmpint (read (fd, text, sizeof text), ==, 6);
  g_assert_cmpstr (text, ==, "hello\n");
  close (fd);
  refused (f, job, JOB, "Attach", "({'stdout': <false>},)", BAD_PARAM, "No stream");
  refused (f, job, JOB, "Attach", "({'pty': <true>, 'stdin': <true>},)", BAD_PARAM, "pty");
  refused (f, job, JOB, "Attach", "({'pty': <true>},)", "org.dvm.Error.NotSupported", NULL);
  refused (f, job, JOB, "Attach", "({'stdlog': <true>},)", BAD_PARAM, "stdlog");
  refused (f, job, JOB, "Attach", "({'stdin': <uint32 1>},)", BAD_PARAM, "stdin");
}

static void
test_trace (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "true", "{'np': <uint32 1>}");
  g_autoptr (GVariant) reply = NULL;
  GVariantIter *iter;
  const char *what;
  guint64 time;
  guint64 last = 0;
  guint new_state = 0;
  guint last_job_state = 0;
  guint n_procs = 0;

  finish (f, job);
  reply = bus_client_check (f->client, job, JOB, "GetTrace", parse ("(@a{sv} {},)"));
  g_variant_get (reply, "(a(tsuus))", &iter);
  while (g_variant_iter_next (iter, "(t&suu&s)", &time, &what, NULL, &new_state, NULL))
    {
      g_assert_cmpuint (time, >=, last);
      last = time;
      if (strcmp (what, "job") == 0)
        last_job_state = new_state;
      else
        {
          g_assert_cmpstr (what, ==, "rank 0");
          n_procs++;
        }
    }
  g_variant_iter_free (iter);
  g_assert_cmpuint (last_job_state, ==, DVM_JOB_STATE_NOTIFIED);
  g_assert_cmpuint (n_procs, >=, 2);
  refused (f, job, JOB, "GetTrace", "({'from': <uint32 1>},)", BAD_PARAM, "from");
}

static void
check_cancel (Fixture *f, const char *filter, guint wanted)
{
  g_autoptr (GVariant) reply = bus_client_check (f->client, MANAGER_PATH, MANAGER, "CancelJobs", parse (filter));
  guint count;

  g_variant_get (reply, "(u)", &count);
  g_assert_cmpuint (count, ==, wanted);
}

/* Each key by itself, and all that are given must fit. */
static void
test_cancel_filters (Fixture *f, gconstpointer data)
{
  g_autofree char *running = bus_client_submit (f->client, "sleep", "{'np': <uint32 3>, 'label': <'red'>}");
  g_autofree char *second = bus_client_submit (f->client, "sleep", "{'np': <uint32 1>, 'label': <'blue'>}");
  g_autofree char *waiting = bus_client_submit (f->client, "sleep", "{'np': <uint32 4>, 'label': <'red'>}");
  g_autofree char *later = bus_client_submit (f->client, "sleep", "{'np': <uint32 4>}");

  wait_for_state (f, running, DVM_JOB_STATE_RUNNING);
  wait_for_state (f, second, DVM_JOB_STATE_RUNNING);
  wait_for_state (f, later, DVM_JOB_STATE_ALLOCATE);
  check_cancel (f, "({'session': <uint32 7>},)", 0);
  check_cancel (f, "({'label': <'green'>},)", 0);
  check_cancel (f, "({'ids': <'7-9'>},)", 0);
  check_cancel (f, "({'state': <uint32 31>},)", 0);
  check_cancel (f, "({'label': <'red'>, 'state': <uint32 14>, 'ids': <'2-4'>},)", 0);
  check_cancel (f, "({'label': <'red'>, 'state': <uint32 14>},)", 1);
  finish (f, running);
  /* Its slots are free, and three are not enough for those that wait. */
  check_cancel (f, "({'ids': <'1-2'>},)", 1);
  finish (f, second);
  check_cancel (f, "({'label': <'red'>},)", 1);
  finish (f, waiting);
  check_cancel (f, "({'session': <uint32 0>},)", 1);
  finish (f, later);
  check_cancel (f, "({'all': <true>},)", 0);
}

/* ---- history, shutdown ---- */

/* An ended job is no managed object, and its path answers until one more has ended. */
static void
test_history_of_one (Fixture *f, gconstpointer data)
{
  DvmdCore *core = dvmd_controller_get_core (f->bus.controller);
  g_autofree char *first = NULL;
  g_autofree char *second = NULL;
  g_autoptr (GVariant) objects = NULL;
  g_autofree char *text = NULL;

  g_variant_unref (
      bus_client_check (f->client, "/org/dvm", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL));
  dvmd_core_set_history_limit (core, 1);
  bus_client_wait_for (f->client, MANAGER_PATH " *.PropertiesChanged *'HistoryLimit': <uint32 1>*");
  first = bus_client_submit (f->client, "true", NULL);
  finish (f, first);
  objects = bus_client_check (f->client, "/org/dvm", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL);
  text = g_variant_print (objects, FALSE);
  g_assert_null (strstr (text, first));
  finish (f, first);
  second = bus_client_submit (f->client, "true", NULL);
  finish (f, second);
  finish (f, second);
  refused (f, first, JOB, "Wait", "(@a{sv} {},)", NOT_FOUND, "more than 1 ended jobs ago");
  dvmd_core_set_history_limit (core, 0);
  g_assert_false (dvmd_core_trim_history (core));
  refused (f, second, JOB, "Wait", "(@a{sv} {},)", NOT_FOUND, "HistoryLimit");
}

/* A limit that has become much lower is reached in slices. */
static void
test_history_in_slices (Fixture *f, gconstpointer data)
{
  DvmdCore *core = dvmd_controller_get_core (f->bus.controller);
  guint n_calls = 1;

  dvmd_core_set_history_limit (core, 1000);
  for (guint i = 0; i < 200; i++)
    {
      g_autofree char *job = bus_client_submit (f->client, "true", NULL);

      finish (f, job);
    }
  dvmd_core_set_history_limit (core, 0);
  while (dvmd_core_trim_history (core))
    n_calls++;
  g_assert_cmpuint (n_calls, ==, 4);
  refused (f, "/org/dvm/jobs/200", JOB, "Wait", "(@a{sv} {},)", NOT_FOUND, "HistoryLimit");
}

static void
test_history (Fixture *f, gconstpointer data)
{
  for (guint i = 1; i <= 4; i++)
    {
      g_autofree char *job = bus_client_submit (f->client, "true", NULL);

      finish (f, job);
    }
  /* Three are kept. */
  refused (f, "/org/dvm/jobs/1", JOB, "Wait", "(@a{sv} {},)", NOT_FOUND, "forgotten");
  finish (f, "/org/dvm/jobs/2");
  g_assert_cmpuint (count_rows (f, "{'all': <true>}", ""), ==, 3);
}

static void
test_shutdown (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", NULL);
  g_autoptr (GVariant) reply = NULL;

  wait_for_state (f, job, DVM_JOB_STATE_RUNNING);
  refused (f, MANAGER_PATH, MANAGER, "Shutdown", "({'now': <true>},)", BAD_PARAM, "now");
  refused (f, MANAGER_PATH, MANAGER, "Shutdown", "({'force': <uint32 1>},)", BAD_PARAM, "force");
  g_assert_cmpuint (fake_controller_get_shutdown (f->bus.controller), ==, 0);
  reply = bus_client_check (f->client, MANAGER_PATH, MANAGER, "Shutdown", parse ("({'timeout': <uint32 3600>},)"));
  g_assert_cmpuint (fake_controller_get_shutdown (f->bus.controller), ==, 1);
  wait_until (dvmd_core_get_shutting_down (dvmd_controller_get_core (f->bus.controller)));
  refused (f, MANAGER_PATH, MANAGER, "Submit", "(['true'], @a{sv} {})", "org.dvm.Error.ShuttingDown", NULL);
}

static void
test_unsubscribe (Fixture *f, gconstpointer data)
{
  g_autoptr (GVariant) first = NULL;
  g_autoptr (GVariant) second = NULL;

  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "Unsubscribe", NULL, NOT_FOUND, "not subscribed");
  first = bus_client_check (f->client, MANAGER_PATH, MANAGER, "Subscribe", NULL);
  second = bus_client_check (f->client, MANAGER_PATH, MANAGER, "Unsubscribe", NULL);
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "Unsubscribe", NULL, NOT_FOUND, "not subscribed");
}

/* Every method with every wrong signature of a small set: nothing but errors comes back. */
static void
test_hostile (Fixture *f, gconstpointer data)
{
  static const char *const bodies[] = {
    "(uint32 1,)",
    "('',)",
    "(@a{sv} {}, @a{sv} {})",
    "({'a': <1>},)",
    "(@aa{sv} [{}], {'x': <'y'>})",
    "(<<<<'deep'>>>>,)",
    "([(1, 2.5)],)",
    "(handle 70000,)",
    "('a', 'b', 'c', 'd')",
    "(@ao [],)",
  };
  const GDBusInterfaceInfo *const infos[] = { &dvm_dbus_manager_interface, &dvm_dbus_job_interface };
  g_autofree char *job = bus_client_submit (f->client, "hold", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (infos); i++)
    for (guint j = 0; infos[i]->methods[j] != NULL; j++)
      for (guint k = 0; k < G_N_ELEMENTS (bodies); k++)
        {
          g_autoptr (GError) error = NULL;
          g_autoptr (GVariant) reply = bus_client_call (f->client, i == 0 ? MANAGER_PATH : job, infos[i]->name,
                                                        infos[i]->methods[j]->name, parse (bodies[k]), &error);

          if (reply == NULL)
            g_assert_true (g_dbus_error_is_remote_error (error));
        }
  bus_client_sync (f->client);
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *path;
    void (*func) (Fixture *, gconstpointer);
  } tests[] = {
    { "/bus/properties", test_properties },
    { "/bus/property-values", test_property_values },
    { "/bus/wrong-properties", test_wrong_properties },
    { "/bus/submit", test_submit },
    { "/bus/submit-refused", test_submit_refused },
    { "/bus/submit-fds", test_submit_fds },
    { "/bus/wait", test_wait },
    { "/bus/wait-pending", test_wait_pending },
    { "/bus/wait-vanishes", test_wait_vanishes },
    { "/bus/list-jobs", test_list_jobs },
    { "/bus/columns", test_columns },
    { "/bus/sparse", test_sparse },
    { "/bus/by-column", test_by_column },
    { "/bus/list-nodes", test_list_nodes },
    { "/bus/list-plugins", test_list_plugins },
    { "/bus/reload", test_reload },
    { "/bus/list-procs", test_list_procs },
    { "/bus/collect-stacks", test_collect_stacks },
    { "/bus/find", test_find },
    { "/bus/cancel", test_cancel },
    { "/bus/signal", test_signal },
    { "/bus/hold", test_hold },
    { "/bus/attach", test_attach },
    { "/bus/trace", test_trace },
    { "/bus/cancel-filters", test_cancel_filters },
    { "/bus/history", test_history },
    { "/bus/history-in-slices", test_history_in_slices },
    { "/bus/history-of-one", test_history_of_one },
    { "/bus/shutdown", test_shutdown },
    { "/bus/unsubscribe", test_unsubscribe },
    { "/bus/hostile", test_hostile },
  };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    g_test_add (tests[i].path, Fixture, NULL, set_up, tests[i].func, tear_down);
  return g_test_run ();
}
