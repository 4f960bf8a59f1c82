/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The requester alone is told: how a change of the size has ended, and that the time of an allocation is soon over. The
 * answer to the request goes first. One that has gone gets nothing, and nobody else in its place.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-caller.h"
#include "dvmd-bus-events.h"
#include "dvmd-bus-log.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"
#include "dvmd-bus-signals.h"
#include "dvmd-bus-wait.h"
#include "dvmd-core-sessions.h"

#include <string.h>

/* An asker is the caller that asked last for a session. */
typedef struct
{
  DvmdBusCaller *caller; /* (nullable): has not been answered yet */
  guint n_asking;        /* requests about this session that have not been answered */
  gboolean warned;       /* it is to be told, and has not been */
  guint seconds_left;    /* at that time (monotonic) */
  gint64 warned_at;
} Asker;

struct _DvmdBusEvents
{
  GHashTable *requesters; /* number of a campaign -> DvmdBusCaller who asked for it, and has been answered */
  GHashTable *askers;     /* number of a session -> Asker */
};

static void
asker_free (gpointer data)
{
  Asker *asker = data;

  g_clear_pointer (&asker->caller, dvmd_bus_caller_unref);
  g_free (asker);
}

DvmdBusEvents *
dvmd_bus_events_new (void)
{
  DvmdBusEvents *self = g_new0 (DvmdBusEvents, 1);

  self->requesters = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)dvmd_bus_caller_unref);
  self->askers = g_hash_table_new_full (NULL, NULL, NULL, asker_free);
  return self;
}

void
dvmd_bus_events_free (DvmdBusEvents *self)
{
  g_hash_table_unref (self->requesters);
  g_hash_table_unref (self->askers);
  g_free (self);
}

static Asker *
get_asker (DvmdBusServer *server, DvmdSession *session)
{
  gpointer key = GUINT_TO_POINTER (dvmd_session_get_id (session));
  Asker *asker = g_hash_table_lookup (server->events->askers, key);

  if (asker == NULL)
    {
      asker = g_new0 (Asker, 1);
      g_hash_table_insert (server->events->askers, key, asker);
    }
  return asker;
}

static gboolean
is_requester (DvmdBusCaller *caller, const DvmdRequester *requester)
{
  return caller != NULL && requester != NULL && g_strcmp0 (requester->name, caller->requester.name) == 0;
}

/* ---- sending ---- */

static void
send_event (DvmdBusCaller *caller, const char *signal, GVariant *body)
{
  DvmdBusPeer *peer = caller->peer;
  const char *destination = peer->is_bus ? caller->requester.name : NULL;

  if (peer->backlog != NULL)
    dvmd_bus_log_add_event (peer->backlog, destination, signal, body);
  else
    dvmd_bus_peer_send_directed (peer, destination, signal, body);
}

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
send_end (DvmdBusCaller *caller, DvmCampaign *record)
{
  const char *alloc_id = dvm_campaign_get_alloc_id (record);
  const char *req_id = dvm_campaign_get_request_id (record);

  if (dvm_campaign_get_state (record) == DVM_CAMPAIGN_STATE_COMPLETED)
    send_event (caller, "DvmIsReady", g_variant_new ("(ss@a{sv})", alloc_id, req_id, make_details (record)));
  else
    send_event (caller, "DvmModFailed",
                g_variant_new ("(ssis@a{sv})", alloc_id, req_id, dvm_campaign_get_status (record),
                               dvm_campaign_get_reason (record), make_details (record)));
}

void
dvmd_bus_events_tell_end (DvmdBusServer *server, DvmdCampaign *campaign)
{
  g_autoptr (DvmdBusCaller) caller = NULL;

  dvmd_bus_waiters_campaign_ended (server->waiters, campaign);
  if (g_hash_table_steal_extended (server->events->requesters, GUINT_TO_POINTER (dvmd_campaign_get_id (campaign)), NULL,
                                   (gpointer *)&caller)
      && caller->peer != NULL)
    send_end (caller, dvmd_campaign_get_record (campaign));
}

void
dvmd_bus_events_tell_warning (DvmdBusServer *server, DvmdSession *session)
{
  Asker *asker = g_hash_table_lookup (server->events->askers, GUINT_TO_POINTER (dvmd_session_get_id (session)));
  DvmSession *record = dvmd_session_get_record (session);
  guint passed;

  /* It may have ended or been asked about since, and whoever asked may have gone. */
  if (asker == NULL || !asker->warned || asker->n_asking > 0
      || !is_requester (asker->caller, dvmd_session_get_requester (session)))
    return;
  asker->warned = FALSE;
  passed = (g_get_monotonic_time () - asker->warned_at) / G_USEC_PER_SEC;
  if (asker->caller->peer != NULL)
    send_event (asker->caller, "AllocTimeoutWarning",
                g_variant_new ("(ssu)", dvm_session_get_alloc_id (record), dvm_session_get_request_id (record),
                               asker->seconds_left - MIN (passed, asker->seconds_left)));
}

/* ---- what happens ---- */

void
dvmd_bus_events_warned (DvmdBusServer *server, DvmdSession *session, guint seconds_left)
{
  const DvmdRequester *requester = dvmd_session_get_requester (session);
  Asker *asker;

  /* Processes and tools of PMIx are told by their agents, and a scheduler knows. */
  if (requester == NULL || g_str_has_prefix (requester->name, "pmix:") || dvmd_requester_is_scheduler (requester))
    return;
  asker = get_asker (server, session);
  asker->warned = TRUE;
  asker->seconds_left = seconds_left;
  asker->warned_at = g_get_monotonic_time ();
  dvmd_bus_signals_tell (server->signals, session);
}

void
dvmd_bus_events_session_gone (DvmdBusServer *server, DvmdSession *session)
{
  g_hash_table_remove (server->events->askers, GUINT_TO_POINTER (dvmd_session_get_id (session)));
}

void
dvmd_bus_events_asking (DvmdBusServer *server, DvmdSession *session)
{
  get_asker (server, session)->n_asking++;
}

/* FALSE: it has ended meanwhile */
static gboolean
ask_ends (DvmdBusServer *server, guint session)
{
  Asker *asker = g_hash_table_lookup (server->events->askers, GUINT_TO_POINTER (session));

  if (asker == NULL || asker->n_asking == 0)
    return FALSE;
  asker->n_asking--;
  return TRUE;
}

void
dvmd_bus_events_not_answered (DvmdBusServer *server, guint about)
{
  DvmdSession *session;

  if (about == 0 || server->stopped || !ask_ends (server, about))
    return;
  session = dvmd_core_get_session (server->core, about);
  if (session != NULL)
    dvmd_bus_signals_tell (server->signals, session);
}

static void
answered_session (DvmdBusServer *server, DvmdBusCaller *caller, DvmdSession *session)
{
  Asker *asker;

  if (!caller->peer->is_bus)
    dvmd_bus_signals_own_session (server->signals, session, caller->peer);
  if (!is_requester (caller, dvmd_session_get_requester (session)))
    return;
  asker = get_asker (server, session);
  g_clear_pointer (&asker->caller, dvmd_bus_caller_unref);
  asker->caller = dvmd_bus_caller_ref (caller);
  if (asker->warned)
    dvmd_bus_signals_tell (server->signals, session);
}

static void
answered_campaign (DvmdBusServer *server, DvmdBusCaller *caller, DvmdCampaign *campaign)
{
  guint id = dvmd_campaign_get_id (campaign);

  if (!is_requester (caller, dvmd_campaign_get_requester (campaign)))
    return;
  g_hash_table_insert (server->events->requesters, GUINT_TO_POINTER (id), dvmd_bus_caller_ref (caller));
  if (dvmd_campaign_get_ended (campaign))
    dvmd_bus_signals_tell (server->signals, campaign);
}

void
dvmd_bus_events_answered (DvmdBusServer *server, DvmdBusCaller *caller, guint about, guint session_id,
                          guint campaign_id)
{
  DvmdSession *session;
  DvmdCampaign *campaign;

  dvmd_bus_events_not_answered (server, about);
  if (server->stopped || caller->peer == NULL)
    return;
  session = session_id != 0 ? dvmd_core_get_session (server->core, session_id) : NULL;
  campaign = campaign_id != 0 ? dvmd_core_get_campaign (server->core, campaign_id) : NULL;
  if (session != NULL)
    answered_session (server, caller, session);
  if (campaign != NULL)
    answered_campaign (server, caller, campaign);
}
