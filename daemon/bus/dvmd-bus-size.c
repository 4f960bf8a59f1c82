/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Changes of the size of the DVM: the four methods that ask for one, and who is told how it ended. The answer goes
 * first, then the signal, once, to the connection that asked; one that has gone gets none, and nobody else in its
 * place.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-behind.h"
#include "dvmd-bus-options.h"
#include "dvmd-controller-elastic.h"

#include <string.h>

/* What the engine answered. */
typedef struct
{
  char *alloc_id;
  char *req_id; /* (nullable) */
  guint session;
  guint campaign; /* 0: nothing changes */
} Answer;

static void
answer_clear (Answer *answer)
{
  g_free (answer->alloc_id);
  g_free (answer->req_id);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Answer, answer_clear)

/* (transfer floating): the values of the method */
typedef GVariant *(*MakeReply) (const Answer *answer);

/* A call that waits for its answer. */
typedef struct
{
  DvmdBusCaller *caller;
  GDBusMethodInvocation *invocation;
  MakeReply make_reply;
} Asked;

static void
asked_free (Asked *asked)
{
  dvmd_bus_caller_unref (asked->caller);
  g_free (asked);
}

static GVariant *
reply_campaign (const Answer *answer)
{
  g_autofree char *campaign = dvmd_bus_campaign_path (answer->campaign);

  return g_variant_new ("(o)", campaign);
}

static GVariant *
reply_alloc_id (const Answer *answer)
{
  g_autofree char *campaign = dvmd_bus_campaign_path (answer->campaign);

  return g_variant_new ("(so)", answer->alloc_id, campaign);
}

static GVariant *
reply_dictionary (const Answer *answer)
{
  g_autofree char *session = dvmd_bus_session_path (answer->session);
  g_autofree char *campaign = dvmd_bus_campaign_path (answer->campaign);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "alloc-id", g_variant_new_string (answer->alloc_id));
  if (answer->req_id != NULL)
    g_variant_builder_add (&builder, "{sv}", "req-id", g_variant_new_string (answer->req_id));
  g_variant_builder_add (&builder, "{sv}", "session", g_variant_new_object_path (session));
  g_variant_builder_add (&builder, "{sv}", "campaign", g_variant_new_object_path (campaign));
  return g_variant_new ("(a{sv})", &builder);
}

/* From now on the caller may hear of the end. */
static void
answered (DvmdBusCaller *caller, const Answer *answer)
{
  DvmdBusServer *server = caller->peer != NULL ? caller->peer->server : NULL;
  const DvmdRequester *requester;
  DvmdCampaign *campaign;
  DvmdSession *session;

  if (server == NULL || server->stopped)
    return;
  session = answer->session != 0 ? dvmd_core_get_session (server->core, answer->session) : NULL;
  if (session != NULL && !caller->peer->is_bus)
    dvmd_bus_signals_own_session (server->signals, session, caller->peer);
  campaign = answer->campaign != 0 ? dvmd_core_get_campaign (server->core, answer->campaign) : NULL;
  requester = campaign != NULL ? dvmd_campaign_get_requester (campaign) : NULL;
  if (requester == NULL || g_strcmp0 (requester->name, caller->requester.name) != 0)
    return;
  g_hash_table_insert (server->requesters, GUINT_TO_POINTER (answer->campaign), dvmd_bus_caller_ref (caller));
  if (dvmd_campaign_get_ended (campaign))
    dvmd_bus_signals_tell_end (server->signals, campaign);
}

static void
on_answer (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Asked *asked = user_data;
  GError *error = NULL;
  g_autoptr (GVariant) dict = dvmd_controller_change_size_finish (DVMD_CONTROLLER (source), result, &error);
  g_auto (Answer) answer = { NULL };

  if (dict != NULL)
    {
      g_variant_lookup (dict, "alloc-id", "s", &answer.alloc_id);
      g_variant_lookup (dict, "req-id", "s", &answer.req_id);
      g_variant_lookup (dict, "session", "u", &answer.session);
      g_variant_lookup (dict, "campaign", "u", &answer.campaign);
      dvmd_bus_return_value (asked->invocation, asked->make_reply (&answer));
      answered (asked->caller, &answer);
    }
  else
    dvmd_bus_return_error (asked->invocation, error);
  asked_free (asked);
}

static void
change_size (DvmdBusCall *call, const char *directive, GVariant *request, MakeReply make_reply)
{
  Asked *asked = g_new0 (Asked, 1);

  asked->caller = dvmd_bus_caller_ref (call->caller);
  asked->invocation = call->invocation;
  asked->make_reply = make_reply;
  dvmd_controller_change_size_async (call->server->controller, directive, request, &call->caller->requester, FALSE,
                                     NULL, on_answer, asked);
}

/* ---- the methods ---- */

void
dvmd_bus_grow (DvmdBusCall *call)
{
  g_autoptr (GVariant) request = g_variant_get_child_value (call->parameters, 0);
  g_autoptr (GVariant) alloc_id = g_variant_lookup_value (request, "alloc-id", NULL);
  g_autoptr (GVariant) of_req_id = g_variant_lookup_value (request, "of-req-id", NULL);

  change_size (call, alloc_id != NULL || of_req_id != NULL ? "extend" : "new", request, reply_alloc_id);
}

void
dvmd_bus_shrink (DvmdBusCall *call)
{
  g_autoptr (GVariant) request = g_variant_get_child_value (call->parameters, 0);

  change_size (call, "release", request, reply_alloc_id);
}

void
dvmd_bus_allocate (DvmdBusCall *call)
{
  g_autoptr (GVariant) request = g_variant_get_child_value (call->parameters, 1);
  const char *directive;

  g_variant_get_child (call->parameters, 0, "&s", &directive);
  change_size (call, directive, request, reply_dictionary);
}

void
dvmd_bus_release (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  g_autoptr (GVariant) request = NULL;
  const char *req_id = NULL;
  guint drain_timeout = 0;
  const DvmdBusOption options[] = {
    { "drain-timeout", "u", &drain_timeout },
    { "req-id", "s", &req_id },
  };
  DvmdSession *session = call->object;
  GVariantDict keys;
  GError *error = NULL;

  if (dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), &error) && dvmd_session_get_id (session) == 0)
    error = g_error_new (DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                         "The default session lives as long as the DVM: it cannot be released");
  if (error != NULL)
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  g_variant_dict_init (&keys, dict);
  g_variant_dict_insert (&keys, "alloc-id", "s", dvmd_session_get_alloc_id (session));
  request = g_variant_ref_sink (g_variant_dict_end (&keys));
  change_size (call, "release", request, reply_campaign);
}

/* ---- the end ---- */

/* (transfer floating) */
static GVariant *
make_details (DvmCampaign *record)
{
  const char *cause = dvm_campaign_get_cause (record);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "campaign",
                         g_variant_new_object_path (dvm_campaign_get_object_path (record)));
  g_variant_builder_add (&builder, "{sv}", "kind",
                         g_variant_new_string (dvm_campaign_kind_to_string (dvm_campaign_get_kind (record))));
  g_variant_builder_add (&builder, "{sv}", "nodes", g_variant_new_strv (dvm_campaign_get_hosts (record), -1));
  if (cause[0] != '\0')
    g_variant_builder_add (&builder, "{sv}", "cause", g_variant_new_string (cause));
  return g_variant_builder_end (&builder);
}

static void
send_event (DvmdBusPeer *peer, const char *destination, const char *signal, GVariant *body)
{
  if (peer->behind != NULL)
    dvmd_bus_behind_miss_directed (peer->behind, destination, signal, body);
  else
    dvmd_bus_peer_send_directed (peer, destination, signal, body);
}

static void
tell_requester (DvmdBusCaller *caller, DvmCampaign *record)
{
  const char *destination = caller->peer->is_bus ? caller->requester.name : NULL;
  const char *alloc_id = dvm_campaign_get_alloc_id (record);
  const char *req_id = dvm_campaign_get_request_id (record);

  if (dvm_campaign_get_state (record) == DVM_CAMPAIGN_STATE_COMPLETED)
    send_event (caller->peer, destination, "DvmIsReady",
                g_variant_new ("(ss@a{sv})", alloc_id, req_id, make_details (record)));
  else
    send_event (caller->peer, destination, "DvmModFailed",
                g_variant_new ("(ssis@a{sv})", alloc_id, req_id, dvm_campaign_get_status (record),
                               dvm_campaign_get_reason (record), make_details (record)));
}

void
dvmd_bus_size_tell (DvmdBusServer *server, DvmdCampaign *campaign)
{
  g_autoptr (DvmdBusCaller) caller = NULL;

  dvmd_bus_waiters_campaign_ended (server->waiters, campaign);
  if (g_hash_table_steal_extended (server->requesters, GUINT_TO_POINTER (dvmd_campaign_get_id (campaign)), NULL,
                                   (gpointer *)&caller)
      && caller->peer != NULL)
    tell_requester (caller, dvmd_campaign_get_record (campaign));
}
