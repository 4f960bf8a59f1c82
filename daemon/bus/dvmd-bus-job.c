/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The interface org.dvm.Job of each job.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-dbus-interfaces.h"
#include "dvm-records-private.h"
#include "dvmd-bus-caller.h"
#include "dvmd-bus-hidden.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-options.h"
#include "dvmd-bus-wait.h"
#include "dvmd-core-session-control.h"

#include <string.h>

static gpointer
find (DvmdCore *core, guint id, GError **error)
{
  DvmdJob *job = dvmd_core_get_job (core, id);

  if (job != NULL)
    return job;
  if (dvmd_core_get_last_job_id (core) == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "There is no job %u: this DVM has had no job yet", id);
  else if (id > dvmd_core_get_last_job_id (core))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "There is no job %u: the last one is %u", id,
                 dvmd_core_get_last_job_id (core));
  else
    g_set_error (
        error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
        "Job %u has been forgotten: its end is more than %u ended jobs ago (HistoryLimit), or those since then take "
        "more memory than history-bytes",
        id, dvmd_core_get_history_limit (core));
  return NULL;
}

static GVariant *
get_property (DvmdBusServer *server, gpointer object, const char *name)
{
  return _dvm_record_get_bus_property (G_OBJECT (dvmd_job_get_record (object)), name);
}

static void
signal_job (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = NULL;
  const char *ranks = NULL;
  int number;
  const DvmdBusOption options[] = {
    { "ranks", "s", &ranks },
  };
  GError *error = NULL;

  g_variant_get (call->parameters, "(i@a{sv})", &number, &dict);
  if (dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), &error))
    dvmd_controller_signal_job (call->controller, call->object, number, ranks, &error);
  dvmd_bus_return_result (call, error);
}

static void
continue_job (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  GError *error = NULL;

  if (dvmd_bus_options_parse (dict, NULL, 0, &error))
    dvmd_controller_continue_job (call->controller, call->object, &error);
  dvmd_bus_return_result (call, error);
}

static void
hold_job (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  GError *error = NULL;

  if (dvmd_bus_options_parse (dict, NULL, 0, &error))
    dvmd_core_hold_job (call->core, call->object, &error);
  dvmd_bus_return_result (call, error);
}

static void
release_job (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  GError *error = NULL;

  if (dvmd_bus_options_parse (dict, NULL, 0, &error))
    dvmd_core_release_job (call->core, call->object, &error);
  dvmd_bus_return_result (call, error);
}

static void
set_priority (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = NULL;
  GError *error = NULL;
  int priority;

  g_variant_get (call->parameters, "(i@a{sv})", &priority, &dict);
  if (dvmd_bus_options_parse (dict, NULL, 0, &error))
    dvmd_core_set_job_priority (call->core, call->object, priority, &error);
  dvmd_bus_return_result (call, error);
}

static void
resize_job (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = NULL;
  GError *error = NULL;
  guint rows;
  guint columns;

  g_variant_get (call->parameters, "(uu@a{sv})", &rows, &columns, &dict);
  if (dvmd_bus_options_parse (dict, NULL, 0, &error))
    dvmd_controller_resize_job (call->controller, call->object, rows, columns, &error);
  dvmd_bus_return_result (call, error);
}

static void
cancel_job (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  g_autofree char *who = dvmd_bus_caller_describe (call->caller);
  g_autoptr (DvmReason) reason = _dvm_reason_new (DVM_REASON_CANCELLED_BY, who);
  GError *error = NULL;

  /* A job that has ended or fails already is left as it is. */
  if (dvmd_bus_options_parse (dict, NULL, 0, &error) && !dvmd_job_get_ended (call->object))
    dvmd_controller_cancel_job_for (call->controller, call->object, reason, &error);
  dvmd_bus_return_result (call, error);
}

static void
wait_job (DvmdBusCall *call)
{
  g_autoptr (GVariant) options = g_variant_get_child_value (call->parameters, 0);

  dvmd_bus_wait (call, call->object, options);
}

static void
add_trace_entry (GVariantBuilder *builder, const DvmdTraceEntry *entry)
{
  const char *note = entry->note != NULL ? entry->note : "";
  g_autofree char *what = dvmd_trace_entry_describe (entry);

  g_variant_builder_add (builder, "(tsuus)", (guint64)entry->time, what, entry->old_state, entry->new_state, note);
}

static void
get_trace (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  GArray *trace = dvmd_job_get_trace (call->object);
  GVariantBuilder builder;
  GError *error = NULL;

  if (dvmd_bus_hides_from (call->server, call->caller))
    g_set_error (&error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS,
                 "traces of jobs are for the user that this DVM belongs to and root (the setting private)");
  if (error != NULL || !dvmd_bus_options_parse (dict, NULL, 0, &error))
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(tsuus)"));
  for (guint i = 0; i < trace->len; i++)
    add_trace_entry (&builder, &g_array_index (trace, DvmdTraceEntry, i));
  if (dvmd_job_get_trace_truncated (call->object) && trace->len > 0)
    g_variant_builder_add (&builder, "(tsuus)", (guint64)g_array_index (trace, DvmdTraceEntry, trace->len - 1).time,
                           "trace", 0, 0, "more transitions of processes were not kept");
  dvmd_bus_return_value (call->invocation, g_variant_new ("(a(tsuus))", &builder));
}

static const DvmdBusMethod job_methods[] = {
  { "Attach", DVMD_BUS_CHANGES_JOB, dvmd_bus_attach },
  { "Cancel", DVMD_BUS_CHANGES_JOB, cancel_job },
  { "CollectStacks", DVMD_BUS_CHANGES_JOB, dvmd_bus_collect_stacks },
  { "Continue", DVMD_BUS_CHANGES_JOB, continue_job },
  { "GetTrace", DVMD_BUS_READS, get_trace },
  { "Hold", DVMD_BUS_CHANGES_JOB, hold_job },
  { "ListDevices", DVMD_BUS_READS, dvmd_bus_list_devices },
  { "ListProcs", DVMD_BUS_READS, dvmd_bus_list_procs },
  { "Map", DVMD_BUS_READS, dvmd_bus_map_job },
  { "Release", DVMD_BUS_CHANGES_JOB, release_job },
  { "Resize", DVMD_BUS_CHANGES_JOB, resize_job },
  { "SetPriority", DVMD_BUS_CHANGES_JOB, set_priority },
  { "Signal", DVMD_BUS_CHANGES_JOB, signal_job },
  { "Wait", DVMD_BUS_TRACKED, wait_job },
};

/* The live jobs; the ended ones answer without being listed. */
static char **
enumerate (DvmdCore *core)
{
  g_autoptr (GPtrArray) jobs = dvmd_core_list_jobs (core, FALSE);
  guint n = MIN (jobs->len, DVMD_BUS_MAX_CHILDREN);
  char **nodes = g_new0 (char *, n + 1);

  for (guint i = 0; i < n; i++)
    nodes[i] = g_strdup_printf ("%u", dvmd_job_get_id (jobs->pdata[i]));
  return nodes;
}

const DvmdBusSubtree dvmd_bus_jobs = {
  .path = DVMD_BUS_JOBS_PATH,
  .enumerate = enumerate,
  .klass = { &dvm_dbus_job_interface, get_property, find, job_methods, G_N_ELEMENTS (job_methods) },
};
