/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Data that processes and tools publish for others is in one store for the DVM, asked by every agent.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-services.h"

#include "dvmd-core-sessions.h"
#include "dvmd-data-store.h"
#include "dvmd-log.h"

typedef struct
{
  DvmdController *controller; /* unowned */
  DvmdDataStore *store;
} Data;

static void
answer (gpointer service, guint node, guint64 call, int status, GVariant *found)
{
  DvmdController *controller = ((Data *)service)->controller;

  if (found != NULL)
    dvmd_controller_answer (controller, call, status, g_variant_new ("(@a(susay))", found));
  else
    dvmd_controller_drop_call (controller, call);
}

static void
on_session_removed (DvmdCore *core, DvmdSession *session, gpointer user_data)
{
  Data *self = user_data;

  dvmd_data_store_session_ended (self->store, dvmd_session_get_id (session));
}

/* Nothing is kept for a tool that has gone, and of it only what it wanted to outlive it. */
static void
requester_gone (gpointer service, const char *nspace)
{
  Data *self = service;

  dvmd_data_store_proc_ended (self->store, nspace, 0);
  dvmd_data_store_job_ended (self->store, nspace);
}

static void
handle_data (gpointer service, DvmdCall *call, GVariant *body)
{
  /* Tools, and all that no session keeps to itself. */
  static const guint32 default_session = 0;
  g_autoptr (GVariant) request = NULL;
  DvmdDataParty who = {
    .nspace = call->nspace,
    .rank = call->rank,
    .node = call->agent,
    .sessions = &default_session,
    .n_sessions = 1,
  };
  Data *self = service;
  GArray *sessions = NULL;
  guint32 op;
  DvmdJob *job;

  g_variant_get (body, "(uuu@a{sv})", &op, &who.uid, &who.gid, &request);
  job = dvmd_core_find_job (dvmd_controller_get_core (self->controller), who.nspace);
  if (job != NULL)
    sessions = dvmd_job_get_sessions (job);
  if (sessions != NULL && sessions->len > 0)
    {
      who.sessions = (const guint32 *)sessions->data;
      who.n_sessions = sessions->len;
    }
  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, who.nspace, who.rank, "data request %u", op);
  dvmd_data_store_handle (self->store, call->id, op, &who, request);
}

static void
job_ended (gpointer service, DvmdJob *job)
{
  dvmd_data_store_job_ended (((Data *)service)->store, dvm_job_get_nspace (dvmd_job_get_record (job)));
}

static void
proc_ended (gpointer service, DvmdJob *job, guint32 rank)
{
  dvmd_data_store_proc_ended (((Data *)service)->store, dvm_job_get_nspace (dvmd_job_get_record (job)), rank);
}

static void
proc_failed (gpointer service, DvmdJob *job, guint32 rank, int exit_code, int exit_signal)
{
  proc_ended (service, job, rank);
}

static void
agent_gone (gpointer service, guint rank)
{
  dvmd_data_store_node_lost (((Data *)service)->store, rank);
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  Data *self = service;

  dvmd_services_add_number (statistics, "data-published", dvmd_data_store_count_items (self->store));
  dvmd_services_add_number (statistics, "data-waiting", dvmd_data_store_count_waiting (self->store));
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Data *self = g_new0 (Data, 1);

  self->controller = controller;
  self->store = dvmd_data_store_new (dvmd_controller_get_parts (controller)->clock, answer, self);
  g_signal_connect (dvmd_controller_get_core (controller), "session-removed", G_CALLBACK (on_session_removed), self);
  return self;
}

static void
data_free (gpointer service)
{
  Data *self = service;

  g_signal_handlers_disconnect_by_data (dvmd_controller_get_core (self->controller), self);
  dvmd_data_store_free (self->store);
  g_free (self);
}

static const DvmdCallHandler calls[] = { { DVMD_CALL_DATA, handle_data }, { 0 } };

const DvmdService dvmd_data_service = {
  .name = "data",
  .create = create,
  .free = data_free,
  .calls = calls,
  .job_ended = job_ended,
  .proc_ended = proc_ended,
  .proc_failed = proc_failed,
  .agent_gone = agent_gone,
  .requester_gone = requester_gone,
  .add_statistics = add_statistics,
};
