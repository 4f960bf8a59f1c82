/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Changes of the size of the DVM: grow, shrink, and allocations.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include "dvm-client-private.h"

/* The answer names the allocation and the campaign that the request has led to. */
typedef struct
{
  char *alloc_id;        /* (nullable): of a session, which has one already */
  DvmCampaign *campaign; /* (nullable): nothing changes */
} Answer;

static void
answer_free (gpointer data)
{
  Answer *answer = data;

  g_free (answer->alloc_id);
  g_clear_object (&answer->campaign);
  g_free (answer);
}

/* Its record is as new as it can be had; one that has ended and is forgotten already has its number alone. */
static void
on_campaign (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  DvmClient *self = DVM_CLIENT (source);
  Answer *answer = g_task_get_task_data (task);
  g_autofree char *path = g_strdup (dvm_campaign_get_object_path (answer->campaign));
  g_autofree char *alloc_id = g_strdup (answer->alloc_id);
  g_autoptr (GError) error = NULL;

  if (!_dvm_client_refresh_finish (self, result, &error))
    g_debug ("%s: %s", path, error->message);
  g_task_return_boolean (task, TRUE);
  _dvm_client_events_release (self, path, alloc_id);
}

static void
on_answer (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);
  DvmClient *self = g_task_get_source_object (task);
  Answer *answer;
  const char *path;
  guint id;

  if (reply == NULL)
    {
      g_object_unref (task);
      return;
    }
  answer = g_new0 (Answer, 1);
  g_task_set_task_data (task, answer, answer_free);
  if (g_variant_is_of_type (reply, G_VARIANT_TYPE ("(so)")))
    g_variant_get (reply, "(s&o)", &answer->alloc_id, &path);
  else
    g_variant_get (reply, "(&o)", &path);
  if (!_dvm_kind_parse_path (DVM_KIND_CAMPAIGN, path, &id))
    {
      g_task_return_boolean (task, TRUE);
      g_object_unref (task);
      return;
    }
  answer->campaign = _dvm_campaign_new (id);
  /* Events of a request are held until it has been answered. */
  if (self->events != NULL)
    _dvm_client_events_hold (self->events, path, answer->alloc_id);
  _dvm_client_refresh_async (self, answer->campaign, NULL, g_task_get_cancellable (task), on_campaign, task);
}

static GVariant *
make_request (GVariant *request)
{
  return request != NULL ? request : g_variant_new_array (G_VARIANT_TYPE ("{sv}"), NULL, 0);
}

static void
change_size (DvmClient *self, const char *method, GVariant *request, GTask *task)
{
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, method, NULL, "(so)", G_MAXINT, NULL };

  call.parameters = g_variant_new ("(@a{sv})", make_request (request));
  _dvm_client_call (self, &call, task, on_answer);
}

void
_dvm_client_change_session (DvmClient *self, DvmSession *session, const char *method, GVariant *request, GTask *task)
{
  DvmCall call = { dvm_session_get_object_path (session), DVM_SESSION_INTERFACE, method, NULL, "(o)", G_MAXINT, NULL };

  call.parameters = g_variant_new ("(@a{sv})", make_request (request));
  _dvm_client_call (self, &call, task, on_answer);
}

gboolean
_dvm_client_change_size_finish (GAsyncResult *result, char **alloc_id, DvmCampaign **campaign, GError **error)
{
  Answer *answer = g_task_get_task_data (G_TASK (result));
  gboolean ok = g_task_propagate_boolean (G_TASK (result), error);

  if (alloc_id != NULL)
    *alloc_id = ok ? g_steal_pointer (&answer->alloc_id) : NULL;
  if (campaign != NULL)
    *campaign = ok ? g_steal_pointer (&answer->campaign) : NULL;
  return ok;
}

/**
 * dvm_client_grow_async:
 * @self: a client that is connected
 * @request: (nullable): a value of type a{sv}: "hosts" (as, such as "n9:2"), "hostfile" (s), "count" (u), "alloc-id" or
 *   "of-req-id" (s, of an allocation that is to be extended), "req-id" (s); if it is floating, it is consumed
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Makes the DVM larger: nodes are added to it.
 *
 * When this is answered, the agents are being started; #DvmClient::dvm-is-ready or #DvmClient::dvm-mod-failed tells
 * how that ended, and dvm_client_wait_campaign() waits for it. Jobs that come meanwhile wait, and then may run on the
 * new nodes. The description of Grow in the interface org.dvm.Manager tells more of the request.
 *
 * Since: 0.1
 */
void
dvm_client_grow_async (DvmClient *self, GVariant *request, GCancellable *cancellable, GAsyncReadyCallback callback,
                       gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (request == NULL || g_variant_is_of_type (request, G_VARIANT_TYPE_VARDICT));

  change_size (self, "Grow", request,
               _dvm_client_new_task (self, dvm_client_grow_async, cancellable, callback, user_data));
}

/**
 * dvm_client_grow_finish:
 * @self: a client
 * @result: what the callback got
 * @alloc_id: (out) (transfer full) (optional): return location for the id of the allocation
 * @campaign: (out) (transfer full) (optional) (nullable): return location for the campaign that does it; %NULL if all
 * of the hosts are in the DVM already
 * @error: return location for an error
 *
 * Ends dvm_client_grow_async().
 *
 * Returns: %TRUE if it has begun; on error %DVM_ERROR_NOT_ELASTIC if the DVM was not started elastic,
 *   %DVM_ERROR_BAD_PARAM, %DVM_ERROR_EXISTS if another campaign is adding one of the hosts
 * Since: 0.1
 */
gboolean
dvm_client_grow_finish (DvmClient *self, GAsyncResult *result, char **alloc_id, DvmCampaign **campaign, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return _dvm_client_change_size_finish (result, alloc_id, campaign, error);
}

/**
 * dvm_client_grow:
 * @self: a client that is connected
 * @request: (nullable): a value of type a{sv}: "hosts" (as, such as "n9:2"), "hostfile" (s), "count" (u), "alloc-id" or
 *   "of-req-id" (s, of an allocation that is to be extended), "req-id" (s); if it is floating, it is consumed
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @alloc_id: (out) (transfer full) (optional): return location for the id of the allocation
 * @campaign: (out) (transfer full) (optional) (nullable): return location for the campaign that does it; %NULL if all
 * of the hosts are in the DVM already
 * @error: return location for an error
 *
 * Makes the DVM larger: nodes are added to it.
 *
 * When this is answered, the agents are being started; #DvmClient::dvm-is-ready or #DvmClient::dvm-mod-failed tells
 * how that ended, and dvm_client_wait_campaign() waits for it. Jobs that come meanwhile wait, and then may run on the
 * new nodes. The description of Grow in the interface org.dvm.Manager tells more of the request.
 *
 * Returns: %TRUE if it has begun; on error %DVM_ERROR_NOT_ELASTIC if the DVM was not started elastic,
 *   %DVM_ERROR_BAD_PARAM, %DVM_ERROR_EXISTS if another campaign is adding one of the hosts
 * Since: 0.1
 */
gboolean
dvm_client_grow (DvmClient *self, GVariant *request, GCancellable *cancellable, char **alloc_id, DvmCampaign **campaign,
                 GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (request == NULL || g_variant_is_of_type (request, G_VARIANT_TYPE_VARDICT), FALSE);

  dvm_client_grow_async (self, request, cancellable, _dvm_sync_done, &sync);
  return dvm_client_grow_finish (self, _dvm_sync_wait (&sync), alloc_id, campaign, error);
}

/**
 * dvm_client_shrink_async:
 * @self: a client that is connected
 * @request: (nullable): a value of type a{sv}: "hosts" (as), "alloc-id" or "of-req-id" (s, of an allocation that is
 *   given back), "drain-timeout" (u, seconds for which running jobs are waited for), "req-id" (s); if it is floating,
 * it is consumed
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Makes the DVM smaller: nodes leave it.
 *
 * When this is answered, the agents have been told to leave, or are going to be; #DvmClient::dvm-is-ready or
 * #DvmClient::dvm-mod-failed tells when they have, and dvm_client_wait_campaign() waits for it. Jobs that were placed
 * on them and have not been launched are placed anew, those that run there are ended. The description of Shrink in the
 * interface org.dvm.Manager tells more of the request.
 *
 * Since: 0.1
 */
void
dvm_client_shrink_async (DvmClient *self, GVariant *request, GCancellable *cancellable, GAsyncReadyCallback callback,
                         gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (request == NULL || g_variant_is_of_type (request, G_VARIANT_TYPE_VARDICT));

  change_size (self, "Shrink", request,
               _dvm_client_new_task (self, dvm_client_shrink_async, cancellable, callback, user_data));
}

/**
 * dvm_client_shrink_finish:
 * @self: a client
 * @result: what the callback got
 * @alloc_id: (out) (transfer full) (optional): return location for the id of the allocation
 * @campaign: (out) (transfer full) (optional) (nullable): return location for the campaign that does it; %NULL if
 * nothing leaves
 * @error: return location for an error
 *
 * Ends dvm_client_shrink_async().
 *
 * Returns: %TRUE if it has begun; on error %DVM_ERROR_NOT_ELASTIC if the DVM was not started elastic,
 *   %DVM_ERROR_BAD_PARAM, %DVM_ERROR_NOT_FOUND if a host or an allocation is not known
 * Since: 0.1
 */
gboolean
dvm_client_shrink_finish (DvmClient *self, GAsyncResult *result, char **alloc_id, DvmCampaign **campaign,
                          GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return _dvm_client_change_size_finish (result, alloc_id, campaign, error);
}

/**
 * dvm_client_shrink:
 * @self: a client that is connected
 * @request: (nullable): a value of type a{sv}: "hosts" (as), "alloc-id" or "of-req-id" (s, of an allocation that is
 *   given back), "drain-timeout" (u, seconds for which running jobs are waited for), "req-id" (s); if it is floating,
 * it is consumed
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @alloc_id: (out) (transfer full) (optional): return location for the id of the allocation
 * @campaign: (out) (transfer full) (optional) (nullable): return location for the campaign that does it; %NULL if
 * nothing leaves
 * @error: return location for an error
 *
 * Makes the DVM smaller: nodes leave it.
 *
 * When this is answered, the agents have been told to leave, or are going to be; #DvmClient::dvm-is-ready or
 * #DvmClient::dvm-mod-failed tells when they have, and dvm_client_wait_campaign() waits for it. Jobs that were placed
 * on them and have not been launched are placed anew, those that run there are ended. The description of Shrink in the
 * interface org.dvm.Manager tells more of the request.
 *
 * Returns: %TRUE if it has begun; on error %DVM_ERROR_NOT_ELASTIC if the DVM was not started elastic,
 *   %DVM_ERROR_BAD_PARAM, %DVM_ERROR_NOT_FOUND if a host or an allocation is not known
 * Since: 0.1
 */
gboolean
dvm_client_shrink (DvmClient *self, GVariant *request, GCancellable *cancellable, char **alloc_id,
                   DvmCampaign **campaign, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (request == NULL || g_variant_is_of_type (request, G_VARIANT_TYPE_VARDICT), FALSE);

  dvm_client_shrink_async (self, request, cancellable, _dvm_sync_done, &sync);
  return dvm_client_shrink_finish (self, _dvm_sync_wait (&sync), alloc_id, campaign, error);
}

/**
 * dvm_client_allocate_async:
 * @self: a client that is connected
 * @directive: "new", "extend", "release", "reaquire" or "cancel"
 * @request: (nullable): a value of type a{sv}, with the keys that the description of Allocate in the interface
 *   org.dvm.Manager lists; if it is floating, it is consumed
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Asks for an allocation, changes it or gives it back, as dvm_client_allocate() does.
 *
 * Since: 0.1
 */
void
dvm_client_allocate_async (DvmClient *self, const char *directive, GVariant *request, GCancellable *cancellable,
                           GAsyncReadyCallback callback, gpointer user_data)
{
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "Allocate", NULL, "(a{sv})", G_MAXINT, NULL };

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (directive != NULL);
  g_return_if_fail (request == NULL || g_variant_is_of_type (request, G_VARIANT_TYPE_VARDICT));

  call.parameters = g_variant_new ("(s@a{sv})", directive, make_request (request));
  _dvm_client_call (self, &call,
                    _dvm_client_new_task (self, dvm_client_allocate_async, cancellable, callback, user_data),
                    _dvm_client_on_value);
}

/**
 * dvm_client_allocate_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_allocate_async().
 *
 * Returns: (transfer full): a value of type a{sv}: "alloc-id" (s), "req-id" (s), "session" (o), "campaign" (o, "/" if
 *   nothing changes); %NULL on error
 * Since: 0.1
 */
GVariant *
dvm_client_allocate_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_allocate:
 * @self: a client that is connected
 * @directive: "new", "extend", "release", "reaquire" or "cancel"
 * @request: (nullable): a value of type a{sv}, with the keys that the description of Allocate in the interface
 *   org.dvm.Manager lists; if it is floating, it is consumed
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Asks for an allocation, changes it or gives it back. dvm_client_grow() and dvm_client_shrink() do the same for those
 * who want nodes to come and go, and no more.
 *
 * Returns: (transfer full): a value of type a{sv}: "alloc-id" (s), "req-id" (s), "session" (o), "campaign" (o, "/" if
 *   nothing changes); %NULL on error
 * Since: 0.1
 */
GVariant *
dvm_client_allocate (DvmClient *self, const char *directive, GVariant *request, GCancellable *cancellable,
                     GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (directive != NULL, NULL);
  g_return_val_if_fail (request == NULL || g_variant_is_of_type (request, G_VARIANT_TYPE_VARDICT), NULL);

  dvm_client_allocate_async (self, directive, request, cancellable, _dvm_sync_done, &sync);
  return dvm_client_allocate_finish (self, _dvm_sync_wait (&sync), error);
}
