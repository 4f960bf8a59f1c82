/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One campaign: found, waited for, cancelled.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include "dvm-client-private.h"

static GTask *
new_task (DvmClient *self, DvmCampaign *campaign, gpointer tag, GCancellable *cancellable, GAsyncReadyCallback callback,
          gpointer user_data)
{
  GTask *task = _dvm_client_new_task (self, tag, cancellable, callback, user_data);

  g_task_set_task_data (task, g_object_ref (campaign), g_object_unref);
  return task;
}

/**
 * dvm_client_find_campaign_async:
 * @self: a client that is connected
 * @reference: the number of a campaign or its object path
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Finds a campaign.
 *
 * Since: 0.1
 */
void
dvm_client_find_campaign_async (DvmClient *self, const char *reference, GCancellable *cancellable,
                                GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (reference != NULL);

  _dvm_client_find_async (self, DVM_KIND_CAMPAIGN, reference, dvm_client_find_campaign_async, cancellable, callback,
                          user_data);
}

/**
 * dvm_client_find_campaign_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_find_campaign_async().
 *
 * Returns: (transfer full): the campaign as it is now; %NULL on error, %DVM_ERROR_NOT_FOUND if there is none
 * Since: 0.1
 */
DvmCampaign *
dvm_client_find_campaign_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return _dvm_client_find_finish (result, error);
}

/**
 * dvm_client_find_campaign:
 * @self: a client that is connected
 * @reference: the number of a campaign or its object path
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Finds a campaign.
 *
 * Returns: (transfer full): the campaign as it is now; %NULL on error, %DVM_ERROR_NOT_FOUND if there is none
 * Since: 0.1
 */
DvmCampaign *
dvm_client_find_campaign (DvmClient *self, const char *reference, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (reference != NULL, NULL);

  return _dvm_client_find (self, DVM_KIND_CAMPAIGN, reference, cancellable, error);
}

static void
on_read (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;

  if (_dvm_client_refresh_finish (DVM_CLIENT (source), result, &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

static void
on_ended (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);

  if (reply != NULL)
    _dvm_client_refresh_async (g_task_get_source_object (task), g_task_get_task_data (task), NULL,
                               g_task_get_cancellable (task), on_read, task);
  else
    g_object_unref (task);
}

/**
 * dvm_client_wait_campaign_async:
 * @self: a client that is connected
 * @campaign: a campaign of its DVM
 * @timeout_ms: after how many milliseconds to give up, 0 for never
 * @cancellable: (nullable): a way to stop waiting; the campaign goes on
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Waits until a campaign has ended; its record is then up to date, and tells whether it has failed and why.
 *
 * Since: 0.1
 */
void
dvm_client_wait_campaign_async (DvmClient *self, DvmCampaign *campaign, guint timeout_ms, GCancellable *cancellable,
                                GAsyncReadyCallback callback, gpointer user_data)
{
  DvmCall call = { NULL, DVM_CAMPAIGN_INTERFACE, "Wait", NULL, "(a{sv})", G_MAXINT, NULL };
  GVariantBuilder options;

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_CAMPAIGN (campaign));

  g_variant_builder_init (&options, G_VARIANT_TYPE_VARDICT);
  if (timeout_ms > 0)
    g_variant_builder_add (&options, "{sv}", "timeout", g_variant_new_uint32 (timeout_ms));
  call.path = dvm_campaign_get_object_path (campaign);
  call.parameters = g_variant_new ("(a{sv})", &options);
  _dvm_client_call (self, &call,
                    new_task (self, campaign, dvm_client_wait_campaign_async, cancellable, callback, user_data),
                    on_ended);
}

/**
 * dvm_client_wait_campaign_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_wait_campaign_async().
 *
 * Returns: %TRUE if the campaign has ended, however it did; on error %DVM_ERROR_TIMEOUT, %DVM_ERROR_NOT_FOUND,
 *   %DVM_ERROR_SHUTTING_DOWN if the DVM went away
 * Since: 0.1
 */
gboolean
dvm_client_wait_campaign_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_wait_campaign:
 * @self: a client that is connected
 * @campaign: a campaign of its DVM
 * @timeout_ms: after how many milliseconds to give up, 0 for never
 * @cancellable: (nullable): a way to stop waiting; the campaign goes on
 * @error: return location for an error
 *
 * Waits until a campaign has ended; its record is then up to date, and tells whether it has failed and why.
 *
 * Returns: %TRUE if the campaign has ended, however it did; on error %DVM_ERROR_TIMEOUT, %DVM_ERROR_NOT_FOUND,
 *   %DVM_ERROR_SHUTTING_DOWN if the DVM went away
 * Since: 0.1
 */
gboolean
dvm_client_wait_campaign (DvmClient *self, DvmCampaign *campaign, guint timeout_ms, GCancellable *cancellable,
                          GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_CAMPAIGN (campaign), FALSE);

  dvm_client_wait_campaign_async (self, campaign, timeout_ms, cancellable, _dvm_sync_done, &sync);
  return dvm_client_wait_campaign_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_cancel_campaign_async:
 * @self: a client that is connected
 * @campaign: a campaign of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Cancels a grow: what has come of it leaves again, and the DVM is as it was before. dvm_client_wait_campaign()
 * tells when that is done; the campaign has failed then.
 *
 * Since: 0.1
 */
void
dvm_client_cancel_campaign_async (DvmClient *self, DvmCampaign *campaign, GCancellable *cancellable,
                                  GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_CAMPAIGN (campaign));

  _dvm_client_call_object (
      self, campaign, "Cancel", g_variant_new ("(a{sv})", NULL),
      _dvm_client_new_task (self, dvm_client_cancel_campaign_async, cancellable, callback, user_data));
}

/**
 * dvm_client_cancel_campaign_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_cancel_campaign_async().
 *
 * Returns: %TRUE if the way back has begun; on error %DVM_ERROR_NOT_SUPPORTED for a shrink, %DVM_ERROR_NOT_FOUND
 * Since: 0.1
 */
gboolean
dvm_client_cancel_campaign_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_cancel_campaign:
 * @self: a client that is connected
 * @campaign: a campaign of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Cancels a grow: what has come of it leaves again, and the DVM is as it was before. dvm_client_wait_campaign()
 * tells when that is done; the campaign has failed then.
 *
 * Returns: %TRUE if the way back has begun; on error %DVM_ERROR_NOT_SUPPORTED for a shrink, %DVM_ERROR_NOT_FOUND
 * Since: 0.1
 */
gboolean
dvm_client_cancel_campaign (DvmClient *self, DvmCampaign *campaign, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_CAMPAIGN (campaign), FALSE);

  dvm_client_cancel_campaign_async (self, campaign, cancellable, _dvm_sync_done, &sync);
  return dvm_client_cancel_campaign_finish (self, _dvm_sync_wait (&sync), error);
}
