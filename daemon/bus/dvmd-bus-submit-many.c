/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SubmitMany: thousands of jobs in one call. They are read, prepared and accepted in slices, with the rest of the main
 * loop between them; none exists before all of them are known to be good.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-job-spec-private.h"
#include "dvmd-bus-options.h"
#include "dvmd-bus-submit.h"

/* Each job is some KiB in the DVM. */
#define MAX_JOBS 50000
/* A slice ends after this; what follows from it takes its time too. */
#define SLICE_USEC 3000
/* One descriptor of the message can be given to every job. */
#define MAX_FDS 512

typedef struct
{
  DvmdBusCallOptions own;
  DvmdSubmission *submission; /* NULL when it was accepted */
} Item;

typedef struct
{
  DvmdBusServer *server;
  DvmdBusCaller *caller;
  GDBusMethodInvocation *invocation;
  GVariant *jobs;
  DvmdBusCallOptions defaults;
  GArray *items; /* Item */
  guint n_fds;
  guint n_accepted;
  GVariantBuilder paths;
  guint source;
} Batch;

static gpointer
free_jobs (gpointer data)
{
  g_variant_unref (data);
  return NULL;
}

static void
batch_free (gpointer data)
{
  Batch *batch = data;

  g_clear_handle_id (&batch->source, g_source_remove);
  /* Backwards, so that their numbers can be given back. */
  for (guint i = batch->items->len; i > 0; i--)
    {
      Item *item = &g_array_index (batch->items, Item, i - 1);

      g_clear_pointer (&item->submission, dvmd_submission_free);
    }
  g_array_unref (batch->items);
  g_variant_builder_clear (&batch->paths);
  /* Millions of small pieces: nobody is to wait for that. */
  g_thread_unref (g_thread_new ("dvmd-bus-free", free_jobs, batch->jobs));
  g_clear_object (&batch->invocation);
  dvmd_bus_caller_unref (batch->caller);
  g_free (batch);
}

static void
drop (Batch *batch)
{
  g_ptr_array_remove (batch->server->batches, batch);
}

static void
fail (Batch *batch, GError *error)
{
  dvmd_bus_return_error (g_steal_pointer (&batch->invocation), error);
  drop (batch);
}

static gboolean
count_fds (Batch *batch, const DvmdBusCallOptions *own, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (own->fds); i++)
    batch->n_fds += own->fds[i] >= 0;
  if (batch->n_fds <= MAX_FDS)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "the jobs before it have %u descriptors already, as many as one call takes", MAX_FDS);
  return FALSE;
}

static gboolean
prepare (Batch *batch, guint index, GError **error)
{
  DvmdBusCall call = { .server = batch->server, .invocation = batch->invocation };
  g_autoptr (GVariant) argv = NULL;
  g_autoptr (GVariant) dict = NULL;
  g_autoptr (GVariant) options = NULL;
  g_autoptr (DvmJobSpec) spec = NULL;
  Item item = { .own = batch->defaults };

  g_variant_get_child (batch->jobs, index, "(@as@a{sv})", &argv, &dict);
  options = dvmd_bus_split_options (&call, dict, &item.own, error);
  if (options != NULL && count_fds (batch, &item.own, error))
    spec = _dvm_job_spec_new_from_submit (argv, options, error);
  if (spec != NULL)
    item.submission = dvmd_controller_prepare_job (batch->server->controller, spec, item.own.fds, error);
  else
    dvmd_bus_call_options_close (&item.own);
  if (item.submission == NULL)
    {
      g_prefix_error (error, "jobs[%u]: ", index);
      return FALSE;
    }
  g_array_append_val (batch->items, item);
  return TRUE;
}

/* Files are emptied before the first job starts: several may write to the same one. */
static void
begin (Batch *batch)
{
  for (guint i = 0; i < batch->items->len; i++)
    dvmd_submission_begin (g_array_index (batch->items, Item, i).submission);
}

/* Whatever happens to the caller now: it is all of them. */
static gboolean
accept (Batch *batch, GError **error)
{
  Item *item = &g_array_index (batch->items, Item, batch->n_accepted++);
  g_autofree char *path = NULL;
  DvmdJob *job;

  if (batch->caller->peer != NULL)
    batch->caller->peer->submits_quietly = !item->own.signals;
  job = dvmd_controller_accept_job (batch->server->controller, g_steal_pointer (&item->submission),
                                    &batch->caller->requester, error);
  if (job == NULL)
    return FALSE;
  dvmd_bus_submitted (batch->server, batch->caller, job, &item->own);
  path = dvmd_bus_job_path (dvmd_job_get_id (job));
  g_variant_builder_add (&batch->paths, "o", path);
  return TRUE;
}

static void
finish (Batch *batch)
{
  dvmd_bus_return_value (g_steal_pointer (&batch->invocation),
                         g_variant_new ("(@ao)", g_variant_builder_end (&batch->paths)));
  /* What an ended builder holds is gone. */
  g_variant_builder_init (&batch->paths, G_VARIANT_TYPE_OBJECT_PATH_ARRAY);
  drop (batch);
}

static gboolean
on_slice (gpointer user_data)
{
  Batch *batch = user_data;
  gsize n_jobs = g_variant_n_children (batch->jobs);
  gint64 limit = g_get_monotonic_time () + SLICE_USEC;
  GError *error = NULL;

  do
    {
      if (batch->n_accepted == n_jobs)
        {
          batch->source = 0;
          finish (batch);
          return G_SOURCE_REMOVE;
        }
      if (batch->items->len == n_jobs && batch->n_accepted == 0)
        begin (batch);
      if (batch->items->len < n_jobs ? !prepare (batch, batch->items->len, &error) : !accept (batch, &error))
        {
          batch->source = 0;
          fail (batch, error);
          return G_SOURCE_REMOVE;
        }
    }
  while (g_get_monotonic_time () < limit);
  return G_SOURCE_CONTINUE;
}

static void
start (DvmdBusCall *call, GVariant *jobs, const DvmdBusCallOptions *defaults)
{
  Batch *batch = g_new0 (Batch, 1);

  batch->server = call->server;
  batch->caller = dvmd_bus_caller_ref (call->caller);
  batch->invocation = call->invocation;
  batch->jobs = g_variant_ref (jobs);
  batch->defaults = *defaults;
  batch->items = g_array_new (FALSE, FALSE, sizeof (Item));
  g_variant_builder_init (&batch->paths, G_VARIANT_TYPE_OBJECT_PATH_ARRAY);
  g_ptr_array_add (call->server->batches, batch);
  batch->source = g_idle_add_full (G_PRIORITY_DEFAULT, on_slice, batch, NULL);
}

void
dvmd_bus_submit_many (DvmdBusCall *call)
{
  g_autoptr (GVariant) jobs = g_variant_get_child_value (call->parameters, 0);
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 1);
  gsize n_jobs = g_variant_n_children (jobs);
  DvmdBusCallOptions defaults = DVMD_BUS_CALL_OPTIONS_INIT;
  const DvmdBusOption options[] = {
    { "end-with-caller", "b", &defaults.end_with_caller },
    { "signals", "b", &defaults.signals },
  };
  GError *error = NULL;

  if (!dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), &error))
    dvmd_bus_return_error (call->invocation, error);
  else if (n_jobs > MAX_JOBS)
    dvmd_bus_return_error (call->invocation,
                           g_error_new (DVM_ERROR, DVM_ERROR_BAD_PARAM,
                                        "There are %" G_GSIZE_FORMAT " jobs, and one call takes %u: use several calls",
                                        n_jobs, MAX_JOBS));
  else
    start (call, jobs, &defaults);
}

GPtrArray *
dvmd_bus_batches_new (void)
{
  return g_ptr_array_new_with_free_func (batch_free);
}

void
dvmd_bus_batches_drop (DvmdBusServer *server, DvmdBusCaller *caller)
{
  for (guint i = server->batches->len; i > 0; i--)
    {
      Batch *batch = server->batches->pdata[i - 1];

      if (batch->caller == caller && batch->n_accepted == 0)
        g_ptr_array_remove_index (server->batches, i - 1);
    }
}

void
dvmd_bus_batches_fail (DvmdBusServer *server, const GError *error)
{
  while (server->batches->len > 0)
    fail (server->batches->pdata[server->batches->len - 1], g_error_copy (error));
}
