/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <dvm.h>
#include <glib/gstdio.h>

#include "dvm-records-private.h"

/* L3: numbers and names of the specification. */
static void
test_job_states (void)
{
  g_autoptr (GEnumClass) klass = g_type_class_ref (DVM_TYPE_JOB_STATE);
  DvmJobState state;

  g_assert_cmpstr (dvm_job_state_to_string (11), ==, "VM_READY");
  g_assert_cmpstr (dvm_job_state_to_string (35), ==, "NOTIFIED");
  g_assert_cmpstr (dvm_job_state_to_string (51), ==, "KILLED_BY_CMD");
  g_assert_cmpstr (dvm_job_state_to_string (4711), ==, "INVALID");
  g_assert_true (dvm_job_state_from_string ("notified", &state));
  g_assert_cmpuint (state, ==, DVM_JOB_STATE_NOTIFIED);
  g_assert_false (dvm_job_state_from_string ("NOTIFIE", &state));
  g_assert_true (dvm_job_state_from_string ("MAP", NULL));
  /* Every value of the enumeration has a name of its own. */
  for (guint i = 0; i < klass->n_values; i++)
    {
      g_assert_true (dvm_job_state_from_string (dvm_job_state_to_string (klass->values[i].value), &state));
      g_assert_cmpint (state, ==, klass->values[i].value);
    }
  g_assert_true (dvm_job_state_is_live (DVM_JOB_STATE_RUNNING));
  g_assert_false (dvm_job_state_is_live (DVM_JOB_STATE_TERMINATED));
  g_assert_false (dvm_job_state_is_error (DVM_JOB_STATE_NOTIFIED));
  g_assert_true (dvm_job_state_is_error (DVM_JOB_STATE_KILLED_BY_CMD));
}

static void
test_proc_states (void)
{
  g_autoptr (GEnumClass) klass = g_type_class_ref (DVM_TYPE_PROC_STATE);
  DvmProcState state;

  g_assert_cmpstr (dvm_proc_state_to_string (20), ==, "TERMINATED");
  g_assert_cmpstr (dvm_proc_state_to_string (1000), ==, "INVALID");
  for (guint i = 0; i < klass->n_values; i++)
    {
      g_assert_true (dvm_proc_state_from_string (dvm_proc_state_to_string (klass->values[i].value), &state));
      g_assert_cmpint (state, ==, klass->values[i].value);
    }
  g_assert_false (dvm_proc_state_from_string ("", &state));
  g_assert_true (dvm_proc_state_is_live (DVM_PROC_STATE_IOF_COMPLETE));
  g_assert_false (dvm_proc_state_is_live (DVM_PROC_STATE_TERMINATED));
  g_assert_true (dvm_proc_state_is_error (DVM_PROC_STATE_TERM_NON_ZERO));
}

static void
test_node_states (void)
{
  g_autoptr (GEnumClass) klass = g_type_class_ref (DVM_TYPE_NODE_STATE);
  DvmNodeState state;

  g_assert_cmpstr (dvm_node_state_to_string (DVM_NODE_STATE_UP), ==, "UP");
  for (guint i = 0; i < klass->n_values; i++)
    {
      g_assert_true (dvm_node_state_from_string (dvm_node_state_to_string (klass->values[i].value), &state));
      g_assert_cmpint (state, ==, klass->values[i].value);
    }
  g_assert_false (dvm_node_state_from_string ("UPPER", NULL));
}

static void
test_errors (void)
{
  g_autoptr (GError) error = g_error_new (DVM_ERROR, DVM_ERROR_NOT_ELASTIC, "text");
  g_autofree char *name = g_dbus_error_encode_gerror (error);
  g_autoptr (GError) back = g_dbus_error_new_for_dbus_error ("org.dvm.Error.BadParam", "np is wrong");

  g_assert_cmpstr (name, ==, "org.dvm.Error.NotElastic");
  g_assert_error (back, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_cmpstr (_dvm_error_get_dbus_name (DVM_ERROR_SHUTTING_DOWN), ==, "org.dvm.Error.ShuttingDown");
  g_assert_cmpstr (_dvm_error_get_dbus_name (4711), ==, "org.dvm.Error.Failed");
}

static void
test_version (void)
{
  g_assert_true (DVM_CHECK_VERSION (DVM_MAJOR_VERSION, DVM_MINOR_VERSION, DVM_MICRO_VERSION));
  g_assert_false (DVM_CHECK_VERSION (DVM_MAJOR_VERSION, DVM_MINOR_VERSION + 1, 0));
  g_assert_true (DVM_CHECK_VERSION (0, 0, 99));
}

static void
test_runtime_dir (void)
{
  g_autofree char *dir = g_dir_make_tmp ("dvm-test-XXXXXX", NULL);
  g_autofree char *expected = g_build_filename (dir, "dvm", "default", NULL);
  g_autofree char *path = NULL;
  g_autofree char *fallback = NULL;

  g_setenv ("XDG_RUNTIME_DIR", dir, TRUE);
  path = _dvm_runtime_dir (NULL);
  g_assert_cmpstr (path, ==, expected);
  g_setenv ("XDG_RUNTIME_DIR", "/nonexistent", TRUE);
  fallback = _dvm_runtime_dir ("blue");
  g_assert_true (g_str_has_prefix (fallback, "/tmp/dvm-"));
  g_assert_true (g_str_has_suffix (fallback, "/blue"));
  g_assert_cmpint (g_rmdir (dir), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  /* DvmClient does so in programs. */
  dvm_error_quark ();
  g_test_add_func ("/enums/L3/job-states", test_job_states);
  g_test_add_func ("/enums/L3/proc-states", test_proc_states);
  g_test_add_func ("/enums/node-states", test_node_states);
  g_test_add_func ("/enums/errors", test_errors);
  g_test_add_func ("/enums/version", test_version);
  g_test_add_func ("/enums/runtime-dir", test_runtime_dir);
  return g_test_run ();
}
