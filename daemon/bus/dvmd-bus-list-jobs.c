/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ListJobs and CancelJobs: the same filter selects the jobs.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-caller.h"
#include "dvmd-bus-hidden.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-options.h"
#include "dvmd-bus-rows.h"
#include "dvmd-bus-signals.h"
#include "dvmd-rights.h"

typedef struct
{
  const char *ids;
  const char *label;
  guint session_id;
  guint state;
  guint array;
  gboolean all;
  gboolean has_session;
  gboolean has_state;
  gboolean has_array;
  guint limit;
  const char **columns;
  gboolean sparse;
  gboolean by_column;
  gboolean once;
  gboolean packed;
  DvmdIdSet *set; /* NULL: every id */
  char *session;  /* (nullable): its path */
} JobFilter;

static void
job_filter_clear (JobFilter *filter)
{
  g_clear_pointer (&filter->columns, g_free);
  g_clear_pointer (&filter->set, dvmd_id_set_free);
  g_clear_pointer (&filter->session, g_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (JobFilter, job_filter_clear)

static gboolean
parse_filter (GVariant *dict, gboolean lists, JobFilter *filter, GError **error)
{
  const DvmdBusOption options[] = {
    { "ids", "s", &filter->ids },
    { "label", "s", &filter->label },
    { "session", "u", &filter->session_id, &filter->has_session },
    { "state", "u", &filter->state, &filter->has_state },
    { "array", "u", &filter->array, &filter->has_array },
    { "all", "b", &filter->all },
    { "limit", "u", &filter->limit },
    { "columns", "as", &filter->columns },
    { "sparse", "b", &filter->sparse },
    { "by-column", "b", &filter->by_column },
    { "once", "b", &filter->once },
    { "packed", "b", &filter->packed },
  };

  /* Only lists have rows to limit and columns. */
  if (!dvmd_bus_options_parse (dict, options, lists ? G_N_ELEMENTS (options) : 6, error))
    return FALSE;
  if (filter->has_session)
    filter->session = dvmd_bus_path (DVMD_BUS_SESSION, filter->session_id);
  if (filter->ids != NULL && filter->ids[0] != '\0')
    {
      filter->set = dvmd_id_set_parse (filter->ids, "ids", error);
      return filter->set != NULL;
    }
  return TRUE;
}

static gboolean
is_selected (const JobFilter *filter, DvmdJob *job)
{
  DvmJob *record = dvmd_job_get_record (job);

  if (filter->set != NULL && !dvmd_id_set_contains (filter->set, dvmd_job_get_id (job)))
    return FALSE;
  if (filter->label != NULL && g_strcmp0 (filter->label, dvm_job_get_label (record)) != 0)
    return FALSE;
  if (filter->has_state && filter->state != dvm_job_get_state (record))
    return FALSE;
  if (filter->has_array && (filter->array == 0 || filter->array != dvm_job_get_array_id (record)))
    return FALSE;
  return filter->session == NULL || g_strcmp0 (filter->session, dvm_job_get_session (record)) == 0;
}

/* The jobs are in the order of their ids: those before the first one that is asked for are passed over. */
static DvmdJob *
first_job (DvmdCore *core, const JobFilter *filter, gboolean ended)
{
  DvmdJob *job = NULL;
  guint id;

  if (filter->set != NULL && dvmd_id_set_next (filter->set, 0, &id))
    job = dvmd_core_get_job (core, id);
  return job != NULL ? job : dvmd_core_next_job (core, NULL, ended);
}

/* Ids alone tell which jobs are left, and a page does not look at them: a long list costs as much as its rows. */
static gboolean
has_ids_alone (const JobFilter *filter)
{
  return filter->set != NULL && filter->label == NULL && !filter->has_state && !filter->has_array
         && filter->session == NULL;
}

static void
add_jobs (DvmdBusRows *rows, DvmdCore *core, const JobFilter *filter, const DvmdBusTelling *telling)
{
  gboolean ended = filter->all || filter->set != NULL || (filter->has_state && !dvm_job_state_is_live (filter->state));
  for (DvmdJob *job = first_job (core, filter, ended); job != NULL; job = dvmd_core_next_job (core, job, ended))
    if (!is_selected (filter, job))
      continue;
    else if (dvmd_bus_rows_want (rows, dvmd_job_get_id (job)))
      dvmd_bus_rows_add_record (rows, dvmd_job_get_record (job), telling);
    else if (has_ids_alone (filter))
      {
        dvmd_id_set_add_part (rows->rest, filter->set, dvmd_job_get_id (job), dvmd_core_get_last_job_id (core));
        return;
      }
}

/* A filter finds out what it is about. */
static gboolean
check_label (const JobFilter *filter, gboolean hides, GError **error)
{
  if (filter->label == NULL || !hides)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS,
               "label: those of jobs are for the user that this DVM belongs to and root (the setting private)");
  return FALSE;
}

void
dvmd_bus_list_jobs (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  DvmdBusTelling telling = { .hides = dvmd_bus_hides_from (call->server, call->caller) };
  g_auto (JobFilter) filter = { NULL };
  DvmdBusRows rows;
  GError *error = NULL;

  telling.fields = _dvm_record_get_fields (DVM_TYPE_JOB, &telling.n_fields);
  if (!parse_filter (dict, TRUE, &filter, &error) || !check_label (&filter, telling.hides, &error)
      || !dvmd_bus_check_columns (filter.columns, telling.fields, telling.n_fields, &error))
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  dvmd_bus_signals_flush_before_list (call->peer);
  dvmd_bus_rows_init (&rows, G_VARIANT_TYPE ("aa{sv}"), filter.limit);
  dvmd_bus_telling_choose (&telling, filter.columns);
  telling.sparse = filter.sparse;
  telling.by_column = filter.by_column;
  telling.once = filter.once;
  telling.packed = filter.packed;
  add_jobs (&rows, call->core, &filter, &telling);
  dvmd_bus_rows_end_records (&rows, &telling);
  dvmd_bus_return_value (call->invocation, dvmd_bus_rows_end (&rows));
}

/* (element-type DvmdJob): NULL: there is one that the caller may not end */
static GPtrArray *
select_jobs (DvmdBusCall *call, const JobFilter *filter, GError **error)
{
  DvmdCore *core = call->core;
  g_autoptr (GPtrArray) jobs = g_ptr_array_new_with_free_func (g_object_unref);

  for (DvmdJob *job = NULL; (job = dvmd_core_next_job (core, job, FALSE)) != NULL;)
    {
      if (!is_selected (filter, job) || dvmd_job_get_ended (job))
        continue;
      if (!dvmd_core_may (core, &call->caller->requester, DVMD_RIGHT_JOB, NULL, job, error))
        return NULL;
      g_ptr_array_add (jobs, g_object_ref (job));
    }
  return g_steal_pointer (&jobs);
}

static guint
cancel_selected (DvmdBusCall *call, GPtrArray *jobs)
{
  g_autofree char *who = dvmd_bus_caller_describe (call->caller);
  g_autoptr (DvmReason) reason = _dvm_reason_new (DVM_REASON_CANCELLED_BY, who);
  guint count = 0;

  for (guint i = 0; i < jobs->len; i++)
    {
      DvmdJob *job = g_ptr_array_index (jobs, i);
      g_autoptr (GError) error = NULL;

      /* It may have gone with one before it. */
      if (dvmd_job_get_ended (job))
        continue;
      if (dvmd_controller_cancel_job_for (call->controller, job, reason, &error))
        count++;
      else
        g_info ("Job %u is not cancelled: %s", dvmd_job_get_id (job), error->message);
    }
  return count;
}

void
dvmd_bus_cancel_jobs (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  g_auto (JobFilter) filter = { NULL };
  g_autoptr (GPtrArray) jobs = NULL;
  GError *error = NULL;

  if (!parse_filter (dict, FALSE, &filter, &error))
    dvmd_bus_return_error (call->invocation, error);
  else if (filter.set == NULL && filter.label == NULL && filter.session == NULL && !filter.has_state
           && !filter.has_array && !filter.all)
    dvmd_bus_return_error (
        call->invocation,
        g_error_new (DVM_ERROR, DVM_ERROR_BAD_PARAM,
                     "The filter is empty: give ids, label, session, state, array, or all to end them all"));
  else if ((jobs = select_jobs (call, &filter, &error)) == NULL)
    dvmd_bus_return_error (call->invocation, error);
  else
    dvmd_bus_return_value (call->invocation, g_variant_new ("(u)", cancel_selected (call, jobs)));
}
