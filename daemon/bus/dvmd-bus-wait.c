/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Wait and WaitJob: calls that are answered when a job has ended and its output is delivered.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-options.h"
#include "dvmd-bus-private.h"

typedef struct
{
  DvmdBusWaiters *waiters;
  DvmdBusCaller *caller;
  GDBusMethodInvocation *invocation;
  guint job_id;
  guint timer;
  guint timeout; /* ms */
} Waiter;

struct _DvmdBusWaiters
{
  DvmdBusServer *server;
  GHashTable *by_job; /* id -> GPtrArray of Waiter */
};

static void
waiter_free (gpointer data)
{
  Waiter *waiter = data;

  g_clear_handle_id (&waiter->timer, g_source_remove);
  g_clear_object (&waiter->invocation);
  dvmd_bus_caller_unref (waiter->caller);
  g_free (waiter);
}

DvmdBusWaiters *
dvmd_bus_waiters_new (DvmdBusServer *server)
{
  DvmdBusWaiters *self = g_new0 (DvmdBusWaiters, 1);

  self->server = server;
  self->by_job = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
  return self;
}

void
dvmd_bus_waiters_free (DvmdBusWaiters *self)
{
  g_hash_table_unref (self->by_job);
  g_free (self);
}

static GVariant *
get_result (DvmdJob *job)
{
  DvmJob *record = dvmd_job_get_record (job);
  const char *reason = dvm_job_get_reason (record);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "state", g_variant_new_uint32 (dvm_job_get_state (record)));
  g_variant_builder_add (&builder, "{sv}", "state-name",
                         g_variant_new_string (dvm_job_state_to_string (dvm_job_get_state (record))));
  g_variant_builder_add (&builder, "{sv}", "exit-code", g_variant_new_int32 (dvm_job_get_exit_code (record)));
  g_variant_builder_add (&builder, "{sv}", "exit-signal", g_variant_new_int32 (dvm_job_get_exit_signal (record)));
  g_variant_builder_add (&builder, "{sv}", "failed-rank", g_variant_new_int32 (dvm_job_get_failed_rank (record)));
  g_variant_builder_add (&builder, "{sv}", "reason", g_variant_new_string (reason != NULL ? reason : ""));
  return g_variant_new ("(a{sv})", &builder);
}

static gboolean
on_timeout (gpointer user_data)
{
  Waiter *waiter = user_data;
  GPtrArray *list = g_hash_table_lookup (waiter->waiters->by_job, GUINT_TO_POINTER (waiter->job_id));

  waiter->timer = 0;
  dvmd_bus_return_error (
      g_steal_pointer (&waiter->invocation),
      g_error_new (DVM_ERROR, DVM_ERROR_TIMEOUT, "Job %u has not ended within %u ms", waiter->job_id, waiter->timeout));
  if (list->len == 1)
    g_hash_table_remove (waiter->waiters->by_job, GUINT_TO_POINTER (waiter->job_id));
  else
    g_ptr_array_remove_fast (list, waiter);
  return G_SOURCE_REMOVE;
}

static void
add_waiter (DvmdBusWaiters *self, DvmdBusCall *call, guint job_id, guint timeout)
{
  GPtrArray *list = g_hash_table_lookup (self->by_job, GUINT_TO_POINTER (job_id));
  Waiter *waiter = g_new0 (Waiter, 1);

  waiter->waiters = self;
  waiter->caller = dvmd_bus_caller_ref (call->caller);
  waiter->invocation = call->invocation;
  waiter->job_id = job_id;
  waiter->timeout = timeout;
  if (timeout > 0)
    waiter->timer = g_timeout_add (timeout, on_timeout, waiter);
  if (list == NULL)
    {
      list = g_ptr_array_new_with_free_func (waiter_free);
      g_hash_table_insert (self->by_job, GUINT_TO_POINTER (job_id), list);
    }
  g_ptr_array_add (list, waiter);
}

void
dvmd_bus_wait (DvmdBusCall *call, DvmdJob *job, GVariant *dict)
{
  DvmdBusServer *server = call->server;
  guint timeout = 0;
  const DvmdBusOption options[] = {
    { "timeout", "u", &timeout },
  };
  GError *error = NULL;

  if (!dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), &error))
    dvmd_bus_return_error (call->invocation, error);
  else if (dvmd_controller_job_is_finished (server->controller, job))
    {
      dvmd_bus_signals_flush_job (server->signals, job);
      dvmd_bus_return_value (call->invocation, get_result (job));
    }
  else
    add_waiter (server->waiters, call, dvmd_job_get_id (job), timeout);
}

void
dvmd_bus_waiters_job_finished (DvmdBusWaiters *self, DvmdJob *job)
{
  g_autoptr (GPtrArray) list = NULL;
  g_autoptr (GVariant) result = NULL;

  if (!g_hash_table_steal_extended (self->by_job, GUINT_TO_POINTER (dvmd_job_get_id (job)), NULL, (gpointer *)&list))
    return;
  /* The last values first: whoever hears of the end finds them. */
  dvmd_bus_signals_flush_job (self->server->signals, job);
  result = g_variant_ref_sink (get_result (job));
  for (guint i = 0; i < list->len; i++)
    {
      Waiter *waiter = list->pdata[i];

      dvmd_bus_return_value (g_steal_pointer (&waiter->invocation), result);
    }
}

void
dvmd_bus_waiters_drop (DvmdBusWaiters *self, DvmdBusCaller *caller)
{
  GHashTableIter iter;
  GPtrArray *list;

  g_hash_table_iter_init (&iter, self->by_job);
  while (g_hash_table_iter_next (&iter, NULL, (gpointer *)&list))
    {
      for (guint i = list->len; i > 0; i--)
        if (((Waiter *)list->pdata[i - 1])->caller == caller)
          g_ptr_array_remove_index_fast (list, i - 1);
      if (list->len == 0)
        g_hash_table_iter_remove (&iter);
    }
}

void
dvmd_bus_waiters_fail (DvmdBusWaiters *self, const GError *error)
{
  GHashTableIter iter;
  GPtrArray *list;

  g_hash_table_iter_init (&iter, self->by_job);
  while (g_hash_table_iter_next (&iter, NULL, (gpointer *)&list))
    {
      for (guint i = 0; i < list->len; i++)
        dvmd_bus_return_error (g_steal_pointer (&((Waiter *)list->pdata[i])->invocation), g_error_copy (error));
      g_hash_table_iter_remove (&iter);
    }
}
