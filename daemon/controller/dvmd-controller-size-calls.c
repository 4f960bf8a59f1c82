/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Processes and tools that ask for nodes, or control sessions: from the agent that hosts them to the one function that
 * does it for all, and back; the event at the end goes to that process alone.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-elastic.h"
#include "dvmd-controller-session.h"
#include "dvmd-core-sessions.h"
#include "dvmd-reading.h"
#include "dvmd-services.h"
#include "dvmd-size-request.h"

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *waiting;        /* "pmix:NSPACE.RANK" -> Waiting, for a change of size */
  gboolean events;            /* those who wait are told of the end, and of limits of time */
} Requests;

/* A process or tool that waits for an answer or an event. */
typedef struct
{
  DvmdCall *call; /* its first */
  guint n_pending;
} Waiting;

/* One request. */
typedef struct
{
  DvmdController *controller;
  DvmdCall *call;
  char *directive; /* (nullable): what is done to a session instead */
  guint32 session;
  DvmdSessionRequest *control; /* (nullable): the request, read */
  GVariant *request;
  DvmdRequester *requester;
  DvmHosts *hosts; /* (nullable): what the request names, read in a thread */
} Ask;

static void
waiting_free (gpointer data)
{
  Waiting *waiting = data;

  dvmd_call_unref (waiting->call);
  g_free (waiting);
}

static Requests *
get_requests (DvmdController *controller)
{
  return dvmd_services_get (controller, &dvmd_size_calls_service);
}

static void
ask_free (Ask *ask)
{
  g_object_unref (ask->controller);
  dvmd_call_unref (ask->call);
  g_free (ask->directive);
  g_variant_unref (ask->request);
  dvmd_requester_free (ask->requester);
  g_clear_pointer (&ask->control, dvmd_session_request_free);
  g_clear_pointer (&ask->hosts, _dvm_hosts_free);
  g_free (ask);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Ask, ask_free)

/* A name belongs to one process or tool on one node, for ever. */
static void
add_waiting (Requests *self, const char *name, DvmdCall *call)
{
  Waiting *waiting = g_hash_table_lookup (self->waiting, name);

  if (waiting == NULL)
    {
      waiting = g_new0 (Waiting, 1);
      waiting->call = dvmd_call_ref (call);
      g_hash_table_insert (self->waiting, g_strdup (name), waiting);
    }
  waiting->n_pending++;
}

/* It waits for one less. */
static void
remove_waiting (Requests *self, const char *name)
{
  Waiting *waiting = g_hash_table_lookup (self->waiting, name);

  if (waiting != NULL && --waiting->n_pending == 0)
    g_hash_table_remove (self->waiting, name);
}

static void
answer (Ask *ask, GVariant *result)
{
  const char *alloc_id = "";
  const char *req_id = "";
  guint32 session = 0;
  guint32 campaign = 0;

  g_variant_lookup (result, "alloc-id", "&s", &alloc_id);
  g_variant_lookup (result, "req-id", "&s", &req_id);
  g_variant_lookup (result, "session", "u", &session);
  g_variant_lookup (result, "campaign", "u", &campaign);
  dvmd_controller_answer (ask->controller, ask->call->id, DVMD_PMIX_SUCCESS,
                          g_variant_new ("(ssu)", alloc_id, req_id, session));
  if (campaign == 0)
    remove_waiting (get_requests (ask->controller), ask->requester->name);
}

/* Takes the error. PMIx hands on a number alone. */
static void
refuse_ask (Ask *ask, GError *error)
{
  g_message ("%s %s: %s", ask->requester->name, ask->directive != NULL ? "asks for nodes" : "controls a session",
             error->message);
  dvmd_controller_answer (ask->controller, ask->call->id, dvmd_pmix_status_from_error (error), NULL);
  remove_waiting (get_requests (ask->controller), ask->requester->name);
  g_error_free (error);
}

static void
on_done (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Ask) ask = user_data;
  GError *error = NULL;
  g_autoptr (GVariant) answered = ask->directive != NULL
                                      ? dvmd_controller_change_size_finish (ask->controller, result, &error)
                                      : dvmd_controller_control_session_finish (ask->controller, result, &error);

  if (answered != NULL)
    answer (ask, answered);
  else
    refuse_ask (ask, error);
}

static void
carry_out (Ask *ask)
{
  if (ask->directive != NULL)
    dvmd_controller_change_size_async (ask->controller, ask->directive, ask->request, g_steal_pointer (&ask->hosts),
                                       ask->requester, FALSE, NULL, on_done, ask);
  else
    dvmd_controller_control_session_async (ask->controller, ask->session, ask->request, g_steal_pointer (&ask->control),
                                           ask->requester, FALSE, NULL, on_done, ask);
}

static gboolean
read_hosts (gpointer data, GError **error)
{
  Ask *ask = data;
  DvmHostsRead read = { 0 };

  if (ask->directive == NULL)
    {
      ask->control = dvmd_session_request_new (ask->request, FALSE, error);
      return ask->control != NULL && dvmd_session_request_read_hosts (ask->control, error);
    }
  return dvmd_size_request_read_hosts (ask->request, &read, &ask->hosts, error);
}

static void
on_hosts_read (gpointer data, GError *error)
{
  g_autoptr (Ask) ask = data;
  DvmdController *self = ask->controller;

  /* The DVM, or who asked, has gone meanwhile. */
  if (dvmd_controller_get_core (self) == NULL || !dvmd_controller_is_calling (self, ask->call))
    {
      g_clear_error (&error);
      if (dvmd_controller_get_core (self) == NULL)
        return;
      remove_waiting (get_requests (self), ask->requester->name);
      dvmd_controller_drop_call (self, ask->call->id);
    }
  else if (error != NULL)
    refuse_ask (ask, error);
  else
    carry_out (g_steal_pointer (&ask));
}

static Ask *
ask_new (Requests *requests, DvmdCall *call)
{
  Ask *ask = g_new0 (Ask, 1);

  ask->controller = g_object_ref (requests->controller);
  ask->call = dvmd_call_ref (call);
  ask->requester = dvmd_call_new_requester (call);
  add_waiting (requests, ask->requester->name, call);
  return ask;
}

/* Takes it. */
static void
begin (Ask *ask)
{
  if (dvmd_reading_takes_long (ask->request))
    dvmd_reading_begin (dvmd_controller_get_parts (ask->controller)->context, read_hosts, on_hosts_read, ask);
  else
    carry_out (ask);
}

static void
handle_allocate (gpointer service, DvmdCall *call, GVariant *request)
{
  Ask *ask = ask_new (service, call);

  g_variant_get (request, "(s@a{sv})", &ask->directive, &ask->request);
  begin (ask);
}

static void
handle_control_session (gpointer service, DvmdCall *call, GVariant *request)
{
  Ask *ask = ask_new (service, call);

  g_variant_get (request, "(u@a{sv})", &ask->session, &ask->request);
  begin (ask);
}

static void
campaign_ended (gpointer service, DvmdCampaign *campaign)
{
  Requests *requests = service;
  const DvmdRequester *requester = dvmd_campaign_get_requester (campaign);
  DvmCampaign *record = dvmd_campaign_get_record (campaign);
  gboolean failed = dvmd_campaign_get_state (campaign) == DVM_CAMPAIGN_STATE_FAILED;
  const Waiting *waiting = requester != NULL ? g_hash_table_lookup (requests->waiting, requester->name) : NULL;

  if (waiting == NULL)
    return;
  if (requests->events)
    dvmd_controller_send (requests->controller, waiting->call->agent, DVMD_MSG_SIZE_EVENT,
                          g_variant_new ("(suissis)", waiting->call->nspace, waiting->call->rank,
                                         failed ? DVMD_PMIX_ERR_DVM_MOD : DVMD_PMIX_DVM_IS_READY,
                                         dvm_campaign_get_alloc_id (record), dvm_campaign_get_request_id (record),
                                         failed ? dvm_campaign_get_status (record) : 0,
                                         failed ? dvm_campaign_get_reason (record) : ""));
  remove_waiting (requests, requester->name);
}

/* ---- limits of time ---- */

static void
warn_session (gpointer service, DvmdSession *session, guint seconds_left)
{
  Requests *requests = service;
  DvmdController *self = requests->controller;
  g_autofree char *nspace = NULL;
  guint32 rank;
  guint agent;

  if (!requests->events || !dvmd_requester_read_proc (dvmd_session_get_requester (session), &nspace, &rank))
    return;
  agent = dvmd_controller_find_agent (self, nspace, rank);
  if (agent != 0)
    dvmd_controller_send (self, agent, DVMD_MSG_ALLOC_WARNING,
                          g_variant_new ("(sussu)", nspace, rank, dvmd_session_get_alloc_id (session),
                                         dvm_session_get_request_id (dvmd_session_get_record (session)), seconds_left));
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  Requests *self = service;

  dvmd_services_add_number (statistics, "requesters-waiting", g_hash_table_size (self->waiting));
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Requests *self = g_new0 (Requests, 1);

  self->controller = controller;
  self->events = settings->pmix_events;
  self->waiting = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, waiting_free);
  return self;
}

static void
requests_free (gpointer service)
{
  Requests *self = service;

  g_hash_table_unref (self->waiting);
  g_free (self);
}

static const DvmdCallHandler calls[] = {
  { DVMD_CALL_ALLOCATE, handle_allocate },
  { DVMD_CALL_CONTROL_SESSION, handle_control_session },
  { 0 },
};

const DvmdService dvmd_size_calls_service = {
  .name = "size-calls",
  .create = create,
  .free = requests_free,
  .calls = calls,
  .campaign_ended = campaign_ended,
  .warn_session = warn_session,
  .add_statistics = add_statistics,
};
