/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SubmitMany: thousands of jobs in one call. They are read, prepared and accepted in slices, with the rest of the main
 * loop between them; none exists before all of them are known to be good. A message of many megabytes holds up the
 * reading of all connections: so they may come in several calls, the parts of a batch with a name.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-job-spec-private.h"
#include "dvmd-bus-caller.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-options.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"
#include "dvmd-bus-submit.h"
#include "dvmd-reading.h"

/* Each job is some KiB in the DVM. */
#define MAX_JOBS 50000
/* A slice ends after this; what follows from it takes its time too. */
#define SLICE_USEC 3000
/* One descriptor of the message can be given to every job. */
#define MAX_FDS 512
/* Batches of one caller that are not complete. */
#define MAX_OPEN 16

typedef struct
{
  DvmdBusCallOptions own;
  DvmdSubmission *submission; /* NULL when it was accepted */
} Item;

typedef struct _Reading Reading;

/* The last job that was read stands for many. */
typedef struct
{
  DvmJobSpec *spec; /* (nullable): NULL: it does not, or all of them are prepared */
  GArray *indexes;  /* guint32 */
  guint n_prepared;
  DvmArrayPlace place; /* of the next one */
  DvmdBusCallOptions own;
} Array;

typedef struct
{
  DvmdBusServer *server;
  DvmdBusCaller *caller;
  char *name;                        /* (nullable): more calls may belong to it */
  GDBusMethodInvocation *invocation; /* NULL between two of them */
  GVariant *jobs;                    /* of this call */
  guint n_before;                    /* jobs of the calls before it */
  guint n_read;                      /* of jobs */
  gboolean more;                     /* it is not the last one */
  DvmdBusCallOptions defaults;
  GArray *items; /* Item */
  guint n_fds;
  guint n_accepted;
  GVariantBuilder paths;
  guint source;
  DvmHostsRead read; /* by this call */
  Reading *reading;  /* (nullable): the next job is read in a thread, and there is no source */
  Array array;
} Batch;

/* A job that names files, or is long. */
struct _Reading
{
  Batch *batch; /* (nullable): it has gone meanwhile */
  GDBusMethodInvocation *invocation;
  GVariant *job;
  DvmdBusCallOptions own;
  DvmHostsRead read;
  DvmJobSpec *spec;
};

static gpointer
free_jobs (gpointer data)
{
  g_variant_unref (data);
  return NULL;
}

static void
drop_jobs (Batch *batch)
{
  /* Millions of small pieces: nobody is to wait for that. */
  if (batch->jobs != NULL)
    g_thread_unref (g_thread_new ("dvmd-bus-free", free_jobs, g_steal_pointer (&batch->jobs)));
}

static void
array_clear (Array *array)
{
  g_clear_object (&array->spec);
  g_clear_pointer (&array->indexes, g_array_unref);
}

static void
batch_free (gpointer data)
{
  Batch *batch = data;

  array_clear (&batch->array);
  g_clear_handle_id (&batch->source, g_source_remove);
  if (batch->reading != NULL)
    batch->reading->batch = NULL;
  /* Backwards, so that their numbers can be given back. */
  for (guint i = batch->items->len; i > 0; i--)
    {
      Item *item = &g_array_index (batch->items, Item, i - 1);

      g_clear_pointer (&item->submission, dvmd_submission_free);
    }
  g_array_unref (batch->items);
  g_variant_builder_clear (&batch->paths);
  drop_jobs (batch);
  g_free (batch->name);
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
  if (batch->invocation != NULL)
    dvmd_bus_return_error (g_steal_pointer (&batch->invocation), error);
  else
    g_error_free (error);
  drop (batch);
}

static gboolean
check_room (Batch *batch, const DvmdBusCallOptions *own, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (own->fds); i++)
    batch->n_fds += own->fds[i] >= 0;
  if (batch->items->len >= MAX_JOBS)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "the arrays before it make %u jobs already, as many as one call or batch takes: use several calls",
                 MAX_JOBS);
  else if (batch->n_fds > MAX_FDS)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "the jobs before it have %u descriptors already, as many as one call takes", MAX_FDS);
  else
    return TRUE;
  return FALSE;
}

/* Takes the descriptors. */
static gboolean
add_item (Batch *batch, DvmJobSpec *spec, DvmdBusCallOptions *own, GError **error)
{
  Item item = { .own = *own };

  if (check_room (batch, own, error))
    item.submission = dvmd_controller_prepare_job (batch->server->controller, spec, &batch->caller->requester, own->fds,
                                                   error);
  else
    dvmd_bus_call_options_close (own);
  if (item.submission != NULL)
    g_array_append_val (batch->items, item);
  return item.submission != NULL;
}

static gboolean
check_array (Batch *batch, const DvmdBusCallOptions *own, guint n, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (own->fds); i++)
    if (own->fds[i] >= 0)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                     "array: its jobs cannot share a descriptor; give a path with %%a in it");
        return FALSE;
      }
  if (batch->items->len + n <= MAX_JOBS)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "array: with its %u jobs there are %u, and one call or batch takes %u: use several calls", n,
               batch->items->len + n, MAX_JOBS);
  return FALSE;
}

static void
begin_array (Batch *batch, DvmJobSpec *spec, DvmdBusCallOptions *own, GError **error)
{
  Array *array = &batch->array;
  guint32 most;
  g_autoptr (GArray) indexes = NULL;

  /* A mistake in the description is one of all its jobs. */
  if (dvm_job_spec_validate (spec, error))
    indexes = _dvm_array_parse (dvm_job_spec_get_array (spec), "", &most, error);
  if (indexes == NULL || !check_array (batch, own, indexes->len, error))
    {
      dvmd_bus_call_options_close (own);
      return;
    }
  array->place = (DvmArrayPlace){ .count = indexes->len,
                                  .min = g_array_index (indexes, guint32, 0),
                                  .max = g_array_index (indexes, guint32, indexes->len - 1),
                                  .most = most };
  array->spec = g_object_ref (spec);
  array->own = *own;
  array->n_prepared = 0;
  array->indexes = g_steal_pointer (&indexes);
}

/* The next one of the array. */
static void
prepare_element (Batch *batch, GError **error)
{
  Array *array = &batch->array;
  g_autoptr (DvmJobSpec) element = NULL;
  DvmdBusCallOptions own = array->own;

  array->place.index = g_array_index (array->indexes, guint32, array->n_prepared++);
  element = _dvm_job_spec_new_element (array->spec, &array->place);
  if (!add_item (batch, element, &own, error))
    return;
  /* The number of the first one is that of the array. */
  array->place.id = _dvm_job_spec_get_place (element)->id;
  if (array->n_prepared == array->indexes->len)
    array_clear (array);
}

/* A job has been read. Takes the descriptors. */
static void
add_job (Batch *batch, DvmJobSpec *spec, DvmdBusCallOptions *own, GError **error)
{
  if (dvm_job_spec_get_array (spec) != NULL)
    begin_array (batch, spec, own, error);
  else
    add_item (batch, spec, own, error);
}

/* (nullable) */
static DvmJobSpec *
read_job (GDBusMethodInvocation *invocation, GVariant *job, DvmdBusCallOptions *own, DvmHostsRead *read, GError **error)
{
  g_autoptr (GVariant) argv = g_variant_get_child_value (job, 0);
  g_autoptr (GVariant) dict = g_variant_get_child_value (job, 1);

  return dvmd_bus_read_spec (invocation, _dvm_job_spec_new_from_submit, argv, dict, own, read, error);
}

static gboolean
read_in_thread (gpointer data, GError **error)
{
  Reading *reading = data;

  reading->spec = read_job (reading->invocation, reading->job, &reading->own, &reading->read, error);
  return reading->spec != NULL;
}

static gboolean on_slice (gpointer user_data);
static void fail_job (Batch *batch, GError *error);

static void
on_job_read (gpointer data, GError *error)
{
  g_autofree Reading *reading = data;
  g_autoptr (GDBusMethodInvocation) invocation = reading->invocation;
  g_autoptr (GVariant) job = reading->job;
  g_autoptr (DvmJobSpec) spec = reading->spec;
  Batch *batch = reading->batch;

  if (batch == NULL)
    {
      g_clear_error (&error);
      dvmd_bus_call_options_close (&reading->own);
      return;
    }
  batch->reading = NULL;
  batch->read = reading->read;
  batch->n_read++;
  if (error == NULL)
    add_job (batch, spec, &reading->own, &error);
  if (error == NULL)
    batch->source = g_idle_add_full (G_PRIORITY_DEFAULT, on_slice, batch, NULL);
  else
    fail_job (batch, error);
}

static void
begin_reading (Batch *batch, GVariant *job)
{
  Reading *reading = g_new0 (Reading, 1);

  reading->batch = batch;
  reading->invocation = g_object_ref (batch->invocation);
  reading->job = g_variant_ref (job);
  reading->own = batch->defaults;
  reading->read = batch->read;
  batch->reading = reading;
  dvmd_reading_begin (NULL, read_in_thread, on_job_read, reading);
}

/* The next job: it is prepared, or there is an error, or it is read in a thread first. */
static void
prepare (Batch *batch, GError **error)
{
  DvmdBusCallOptions own = batch->defaults;
  g_autoptr (GVariant) job = NULL;
  g_autoptr (DvmJobSpec) spec = NULL;

  if (batch->array.spec != NULL)
    {
      prepare_element (batch, error);
      return;
    }
  job = g_variant_get_child_value (batch->jobs, batch->n_read);
  if (dvmd_reading_takes_long (job))
    {
      begin_reading (batch, job);
      return;
    }
  batch->n_read++;
  spec = read_job (batch->invocation, job, &own, &batch->read, error);
  if (spec != NULL)
    add_job (batch, spec, &own, error);
}

/* Takes the error, which is one of the job that was read last. */
static void
fail_job (Batch *batch, GError *error)
{
  g_prefix_error (&error, "jobs[%u]: ", batch->n_before + batch->n_read - 1);
  fail (batch, error);
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
  path = dvmd_bus_path (DVMD_BUS_JOB, dvmd_job_get_id (job));
  g_variant_builder_add (&batch->paths, "o", path);
  return TRUE;
}

static void
finish (Batch *batch)
{
  dvmd_bus_return_value (g_steal_pointer (&batch->invocation),
                         g_variant_new ("(@ao)", g_variant_builder_end (&batch->paths)));
  /* A builder that was ended holds nothing, and is initialized again so that it can be cleared with the batch. */
  g_variant_builder_init (&batch->paths, G_VARIANT_TYPE_OBJECT_PATH_ARRAY);
  drop (batch);
}

/* All of this call are good, and others follow. */
static void
park (Batch *batch)
{
  batch->n_before += batch->n_read;
  drop_jobs (batch);
  dvmd_bus_return_value (g_steal_pointer (&batch->invocation), g_variant_new ("(ao)", NULL));
}

/* Whether that was all of the call. */
static gboolean
end_slices (Batch *batch, gboolean all_are_good)
{
  if (!all_are_good || (!batch->more && batch->n_accepted < batch->items->len))
    return FALSE;
  batch->source = 0;
  if (batch->more)
    park (batch);
  else
    finish (batch);
  return TRUE;
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
      gboolean all_are_good = batch->n_read == n_jobs && batch->array.spec == NULL;

      if (end_slices (batch, all_are_good))
        return G_SOURCE_REMOVE;
      if (all_are_good && batch->n_accepted == 0)
        begin (batch);
      if (all_are_good)
        accept (batch, &error);
      else
        prepare (batch, &error);
      if (error != NULL || batch->reading != NULL)
        {
          batch->source = 0;
          if (error != NULL && all_are_good)
            fail (batch, error);
          else if (error != NULL)
            fail_job (batch, error);
          return G_SOURCE_REMOVE;
        }
    }
  while (g_get_monotonic_time () < limit);
  return G_SOURCE_CONTINUE;
}

/* ---- calls ---- */

/* A call of SubmitMany has these options beside its jobs. */
typedef struct
{
  DvmdBusCallOptions defaults;
  const char *name;
  gboolean more;
  gboolean forget;
} Options;

static Batch *
batch_new (DvmdBusCall *call, const char *name)
{
  Batch *batch = g_new0 (Batch, 1);

  batch->server = call->server;
  batch->caller = dvmd_bus_caller_ref (call->caller);
  batch->name = g_strdup (name);
  batch->items = g_array_new (FALSE, FALSE, sizeof (Item));
  g_variant_builder_init (&batch->paths, G_VARIANT_TYPE_OBJECT_PATH_ARRAY);
  g_ptr_array_add (call->server->batches, batch);
  return batch;
}

/* (nullable): the batch of this name that the caller has begun; n_open: how many there are of any */
static Batch *
find_open (DvmdBusCall *call, const char *name, guint *n_open)
{
  GPtrArray *batches = call->server->batches;
  Batch *found = NULL;

  *n_open = 0;
  for (guint i = 0; i < batches->len; i++)
    {
      Batch *batch = batches->pdata[i];

      if (batch->caller != call->caller || batch->name == NULL)
        continue;
      ++*n_open;
      if (g_strcmp0 (batch->name, name) == 0)
        found = batch;
    }
  return found;
}

static gboolean
check_options (const Options *options, gsize n_jobs, GError **error)
{
  if (options->name == NULL && (options->more || options->forget))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“%s” is said of a batch: give it a name with “batch” (s)",
                 options->more ? "more" : "forget");
  else if (options->name != NULL && options->name[0] == '\0')
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“batch” is empty: any other word can be the name");
  else if (options->forget && (options->more || n_jobs > 0))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“forget” ends a batch: there are no jobs with it, nor more");
  else
    return TRUE;
  return FALSE;
}

/* (nullable): the batch that the call begins or goes on with */
static Batch *
get_batch (DvmdBusCall *call, const Options *options, gsize n_jobs, GError **error)
{
  guint n_open;
  Batch *batch = options->name != NULL ? find_open (call, options->name, &n_open) : NULL;

  if (batch != NULL && batch->invocation != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "The call before it for the batch “%s” has not been answered yet: wait for that", options->name);
  else if (batch == NULL && options->more && n_open >= MAX_OPEN)
    g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE,
                 "%s has %u batches that are not complete, as many as one caller may have",
                 call->caller->requester.name, MAX_OPEN);
  else if (n_jobs + (batch != NULL ? batch->n_before : 0) > MAX_JOBS)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "There are %" G_GSIZE_FORMAT " jobs, and one call or batch takes %u: use several calls",
                 n_jobs + (batch != NULL ? batch->n_before : 0), MAX_JOBS);
  else
    return batch != NULL ? batch : batch_new (call, options->name);
  /* It is all of them or none. */
  if (batch != NULL && batch->invocation == NULL)
    drop (batch);
  return NULL;
}

static void
start (Batch *batch, DvmdBusCall *call, GVariant *jobs, const Options *options)
{
  batch->invocation = call->invocation;
  batch->jobs = g_variant_ref (jobs);
  batch->defaults = options->defaults;
  batch->more = options->more;
  batch->n_read = 0;
  batch->read = (DvmHostsRead){ 0 };
  batch->source = g_idle_add_full (G_PRIORITY_DEFAULT, on_slice, batch, NULL);
}

static void
forget (DvmdBusCall *call, const char *name)
{
  guint n_open;
  Batch *batch = find_open (call, name, &n_open);

  if (batch != NULL)
    fail (batch, g_error_new (DVM_ERROR, DVM_ERROR_FAILED, "The batch was given up"));
  dvmd_bus_return_value (call->invocation, g_variant_new ("(ao)", NULL));
}

void
dvmd_bus_submit_many (DvmdBusCall *call)
{
  g_autoptr (GVariant) jobs = g_variant_get_child_value (call->parameters, 0);
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 1);
  gsize n_jobs = g_variant_n_children (jobs);
  Options own = { .defaults = DVMD_BUS_CALL_OPTIONS_INIT };
  const DvmdBusOption options[] = {
    { "batch", "s", &own.name },
    { "end-with-caller", "b", &own.defaults.end_with_caller },
    { "forget", "b", &own.forget },
    { "more", "b", &own.more },
    { "signals", "b", &own.defaults.signals },
  };
  GError *error = NULL;
  Batch *batch;

  if (!dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), &error) || !check_options (&own, n_jobs, &error))
    dvmd_bus_return_error (call->invocation, error);
  else if (own.forget)
    forget (call, own.name);
  else if ((batch = get_batch (call, &own, n_jobs, &error)) == NULL)
    dvmd_bus_return_error (call->invocation, error);
  else
    start (batch, call, jobs, &own);
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
