/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Wait and WaitJob: calls that are answered when a job has ended and its output is delivered, or a campaign has ended.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-caller.h"
#include "dvmd-bus-hidden.h"
#include "dvmd-bus-options.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-signals.h"
#include "dvmd-bus-wait.h"

typedef struct
{
  DvmdBusWaiters *waiters;
  DvmdBusCaller *caller;
  GDBusMethodInvocation *invocation;
  gpointer object;
  guint timer;
  guint timeout; /* ms */
} Waiter;

struct _DvmdBusWaiters
{
  DvmdBusServer *server;
  GHashTable *by_object; /* DvmdJob or DvmdCampaign, owned -> GPtrArray of Waiter */
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
  self->by_object = g_hash_table_new_full (NULL, NULL, g_object_unref, (GDestroyNotify)g_ptr_array_unref);
  return self;
}

void
dvmd_bus_waiters_free (DvmdBusWaiters *self)
{
  g_hash_table_unref (self->by_object);
  g_free (self);
}

/* (transfer floating): a{sv} */
static GVariant *
get_values (DvmJob *record, gboolean of_other, gboolean hides)
{
  const char *reason = dvm_job_get_reason (record);
  DvmJob *failed = of_other ? NULL : dvm_job_get_first_failure (record);
  GVariantBuilder builder;
  GVariant *values;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  if (of_other)
    {
      g_variant_builder_add (&builder, "{sv}", "path", g_variant_new_object_path (dvm_job_get_object_path (record)));
      g_variant_builder_add (&builder, "{sv}", "namespace", g_variant_new_string (dvm_job_get_nspace (record)));
    }
  g_variant_builder_add (&builder, "{sv}", "state", g_variant_new_uint32 (dvm_job_get_state (record)));
  g_variant_builder_add (&builder, "{sv}", "state-name",
                         g_variant_new_string (dvm_job_state_to_string (dvm_job_get_state (record))));
  g_variant_builder_add (&builder, "{sv}", "exit-code", g_variant_new_int32 (dvm_job_get_exit_code (record)));
  g_variant_builder_add (&builder, "{sv}", "exit-signal", g_variant_new_int32 (dvm_job_get_exit_signal (record)));
  g_variant_builder_add (&builder, "{sv}", "failed-rank", g_variant_new_int32 (dvm_job_get_failed_rank (record)));
  g_variant_builder_add (&builder, "{sv}", "reason", g_variant_new_string (reason != NULL ? reason : ""));
  if (dvm_job_get_reason_code (record)[0] != '\0')
    {
      g_variant_builder_add (&builder, "{sv}", "reason-code", g_variant_new_string (dvm_job_get_reason_code (record)));
      g_variant_builder_add (&builder, "{sv}", "reason-arguments",
                             g_variant_new_strv (dvm_job_get_reason_arguments (record), -1));
    }
  if (dvm_job_get_output_error (record)[0] != '\0')
    g_variant_builder_add (&builder, "{sv}", "output-error", g_variant_new_string (dvm_job_get_output_error (record)));
  if (failed != NULL)
    g_variant_builder_add (&builder, "{sv}", "first-failure", get_values (failed, TRUE, hides));
  values = g_variant_builder_end (&builder);
  return hides ? dvmd_bus_hide_values (values) : values;
}

static GVariant *
get_result (DvmdJob *job, gboolean hides)
{
  return g_variant_new ("(@a{sv})", get_values (dvmd_job_get_record (job), FALSE, hides));
}

static GVariant *
get_campaign_result (DvmdCampaign *campaign)
{
  DvmCampaign *record = dvmd_campaign_get_record (campaign);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "state",
                         g_variant_new_string (dvm_campaign_state_to_string (dvm_campaign_get_state (record))));
  g_variant_builder_add (&builder, "{sv}", "status", g_variant_new_int32 (dvm_campaign_get_status (record)));
  g_variant_builder_add (&builder, "{sv}", "cause", g_variant_new_string (dvm_campaign_get_cause (record)));
  g_variant_builder_add (&builder, "{sv}", "reason", g_variant_new_string (dvm_campaign_get_reason (record)));
  return g_variant_new ("(a{sv})", &builder);
}

static GError *
make_timeout_error (const Waiter *waiter)
{
  if (DVMD_IS_JOB (waiter->object))
    return g_error_new (DVM_ERROR, DVM_ERROR_TIMEOUT, "Job %u has not ended within %u ms",
                        dvmd_job_get_id (waiter->object), waiter->timeout);
  return g_error_new (DVM_ERROR, DVM_ERROR_TIMEOUT, "Campaign %u has not ended within %u ms",
                      dvmd_campaign_get_id (waiter->object), waiter->timeout);
}

static gboolean
on_timeout (gpointer user_data)
{
  Waiter *waiter = user_data;
  GPtrArray *list = g_hash_table_lookup (waiter->waiters->by_object, waiter->object);

  waiter->timer = 0;
  dvmd_bus_return_error (g_steal_pointer (&waiter->invocation), make_timeout_error (waiter));
  if (list->len == 1)
    g_hash_table_remove (waiter->waiters->by_object, waiter->object);
  else
    g_ptr_array_remove_fast (list, waiter);
  return G_SOURCE_REMOVE;
}

static void
add_waiter (DvmdBusWaiters *self, DvmdBusCall *call, gpointer object, guint timeout)
{
  GPtrArray *list = g_hash_table_lookup (self->by_object, object);
  Waiter *waiter;

  /* Buses count for how many answers somebody waits, and these would be none. */
  if (g_dbus_message_get_flags (g_dbus_method_invocation_get_message (call->invocation))
      & G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED)
    {
      g_object_unref (call->invocation);
      return;
    }
  waiter = g_new0 (Waiter, 1);
  waiter->waiters = self;
  waiter->caller = dvmd_bus_caller_ref (call->caller);
  waiter->invocation = call->invocation;
  waiter->object = object;
  waiter->timeout = timeout;
  if (timeout > 0)
    waiter->timer = g_timeout_add (timeout, on_timeout, waiter);
  if (list == NULL)
    {
      list = g_ptr_array_new_with_free_func (waiter_free);
      g_hash_table_insert (self->by_object, g_object_ref (object), list);
    }
  g_ptr_array_add (list, waiter);
}

static gboolean
parse_timeout (GVariant *dict, guint *timeout, GError **error)
{
  const DvmdBusOption options[] = {
    { "timeout", "u", timeout },
  };

  return dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), error);
}

void
dvmd_bus_wait (DvmdBusCall *call, DvmdJob *job, GVariant *dict)
{
  DvmdBusServer *server = call->server;
  guint timeout = 0;
  GError *error = NULL;

  if (!parse_timeout (dict, &timeout, &error))
    dvmd_bus_return_error (call->invocation, error);
  else if (dvmd_controller_job_is_finished (server->controller, job))
    {
      dvmd_bus_signals_flush_job (server->signals, job);
      dvmd_bus_return_value (call->invocation, get_result (job, dvmd_bus_hides_from (server, call->caller)));
    }
  else
    add_waiter (server->waiters, call, job, timeout);
}

/* One whose end has not been told yet is answered when it has. */
void
dvmd_bus_wait_campaign (DvmdBusCall *call, DvmdCampaign *campaign, GVariant *dict)
{
  guint timeout = 0;
  GError *error = NULL;

  if (!parse_timeout (dict, &timeout, &error))
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  add_waiter (call->server->waiters, call, campaign, timeout);
  if (dvmd_campaign_get_ended (campaign))
    dvmd_bus_signals_tell (call->server->signals, campaign);
}

/* result: floating */
static void
answer_all (DvmdBusWaiters *self, gpointer object, GVariant *result)
{
  g_autoptr (GVariant) shared = g_variant_ref_sink (result);
  g_autoptr (GPtrArray) list = NULL;
  g_autoptr (GObject) key = NULL;

  if (!g_hash_table_steal_extended (self->by_object, object, (gpointer *)&key, (gpointer *)&list))
    return;
  for (guint i = 0; i < list->len; i++)
    {
      Waiter *waiter = list->pdata[i];
      gboolean hides = DVMD_IS_JOB (object) && dvmd_bus_hides_from (self->server, waiter->caller);

      dvmd_bus_return_value (g_steal_pointer (&waiter->invocation), hides ? get_result (object, TRUE) : shared);
    }
}

void
dvmd_bus_waiters_job_finished (DvmdBusWaiters *self, DvmdJob *job)
{
  if (!g_hash_table_contains (self->by_object, job))
    return;
  /* The last values first: whoever hears of the end finds them. */
  dvmd_bus_signals_flush_job (self->server->signals, job);
  answer_all (self, job, get_result (job, FALSE));
}

void
dvmd_bus_waiters_campaign_ended (DvmdBusWaiters *self, DvmdCampaign *campaign)
{
  if (g_hash_table_contains (self->by_object, campaign))
    answer_all (self, campaign, get_campaign_result (campaign));
}

void
dvmd_bus_waiters_drop (DvmdBusWaiters *self, DvmdBusCaller *caller)
{
  GHashTableIter iter;
  GPtrArray *list;

  g_hash_table_iter_init (&iter, self->by_object);
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

  g_hash_table_iter_init (&iter, self->by_object);
  while (g_hash_table_iter_next (&iter, NULL, (gpointer *)&list))
    {
      for (guint i = 0; i < list->len; i++)
        dvmd_bus_return_error (g_steal_pointer (&((Waiter *)list->pdata[i])->invocation), g_error_copy (error));
      g_hash_table_iter_remove (&iter);
    }
}
