/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ListJobs and CancelJobs: the same filter selects the jobs.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-options.h"
#include "dvmd-bus-rows.h"

#include <string.h>

typedef struct
{
  const char *ids;
  const char *label;
  guint session;
  guint state;
  gboolean all;
  gboolean has_session;
  gboolean has_state;
  guint limit;
  const char **columns;
  DvmdIdSet *set; /* NULL: every id */
} JobFilter;

static void
job_filter_clear (JobFilter *filter)
{
  g_clear_pointer (&filter->columns, g_free);
  g_clear_pointer (&filter->set, dvmd_id_set_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (JobFilter, job_filter_clear)

static gboolean
parse_filter (GVariant *dict, gboolean lists, JobFilter *filter, GError **error)
{
  const DvmdBusOption options[] = {
    { "ids", "s", &filter->ids },
    { "label", "s", &filter->label },
    { "session", "u", &filter->session, &filter->has_session },
    { "state", "u", &filter->state, &filter->has_state },
    { "all", "b", &filter->all },
    { "limit", "u", &filter->limit },
    { "columns", "as", &filter->columns },
  };

  /* Only lists have rows to limit and columns. */
  if (!dvmd_bus_options_parse (dict, options, lists ? 7 : 5, error))
    return FALSE;
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
  /* All jobs are in the default session so far. */
  return !filter->has_session || filter->session == 0;
}

void
dvmd_bus_list_jobs (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  g_auto (JobFilter) filter = { NULL };
  DvmdCore *core = call->server->core;
  gboolean ended;
  const DvmRecordField *fields;
  guint n_fields;
  DvmdBusRows rows;
  GError *error = NULL;

  fields = _dvm_record_get_fields (DVM_TYPE_JOB, &n_fields);
  if (!parse_filter (dict, TRUE, &filter, &error) || !dvmd_bus_check_columns (filter.columns, fields, n_fields, &error))
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  dvmd_bus_rows_init (&rows, G_VARIANT_TYPE ("aa{sv}"), filter.limit);
  ended = filter.all || filter.set != NULL || (filter.has_state && !dvm_job_state_is_live (filter.state));
  for (DvmdJob *job = dvmd_core_next_job (core, NULL, ended); job != NULL; job = dvmd_core_next_job (core, job, ended))
    if (is_selected (&filter, job) && dvmd_bus_rows_want (&rows, dvmd_job_get_id (job)))
      dvmd_bus_rows_add (&rows, dvmd_bus_record_row (dvmd_job_get_record (job), fields, n_fields, filter.columns));
  dvmd_bus_return_value (call->invocation, dvmd_bus_rows_end (&rows));
}

static guint
cancel_selected (DvmdBusCall *call, const JobFilter *filter)
{
  g_autoptr (GPtrArray) jobs = dvmd_core_list_jobs (call->server->core, FALSE);
  g_autofree char *reason = g_strdup_printf ("cancelled by %s", call->caller->requester.name);
  guint count = 0;

  for (guint i = 0; i < jobs->len; i++)
    {
      g_autoptr (DvmdJob) job = g_object_ref (jobs->pdata[i]);
      g_autoptr (GError) error = NULL;

      if (!is_selected (filter, job) || dvmd_job_get_ended (job))
        continue;
      if (dvmd_controller_cancel_job (call->server->controller, job, reason, &error))
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
  GError *error = NULL;

  if (!parse_filter (dict, FALSE, &filter, &error))
    dvmd_bus_return_error (call->invocation, error);
  else if (filter.set == NULL && filter.label == NULL && !filter.has_session && !filter.has_state && !filter.all)
    dvmd_bus_return_error (
        call->invocation, g_error_new (DVM_ERROR, DVM_ERROR_BAD_PARAM,
                                       "The filter is empty: give ids, label, session, state, or all to end them all"));
  else
    dvmd_bus_return_value (call->invocation, g_variant_new ("(u)", cancel_selected (call, &filter)));
}
