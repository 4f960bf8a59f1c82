/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Calls of this node's processes and tools go to the controller, and its answers back to the PMIx server.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-host.h"
#include "dvmd-agent-pmi-calls.h"

void
dvmd_agent_call (DvmdPmixHost *host, guint64 token, DvmdCallKind kind, const char *nspace, guint32 rank,
                 GVariant *request)
{
  DvmdAgent *self = (DvmdAgent *)host;
  const DvmdLocalProc *proc = dvmd_agent_find_proc (self, nspace, rank);
  g_autoptr (GVariant) cleaned = NULL;

  if (!dvmd_call_kind_is_anonymous (kind) && !dvmd_agent_is_here (self, nspace, rank))
    {
      g_message ("%s.%u wants to %s, and is no process of this node", nspace, rank,
                 dvmd_call_kind_get_type (kind)->name);
      dvmd_pmix_complete_call (dvmd_agent_get_pmix (self), token, DVMD_PMIX_ERR_NO_PERMISSIONS, NULL);
      return;
    }
  if (kind == DVMD_CALL_SPAWN && proc != NULL)
    cleaned = dvmd_agent_clean_spawn (self, nspace, proc, request);
  dvmd_agent_send (self, DVMD_MSG_CALL,
                   g_variant_new ("(tusuuv)", token, (guint)kind, nspace, rank, proc != NULL ? (guint)proc->pid : 0,
                                  cleaned != NULL ? cleaned : request));
}

static void
give_answer (DvmdAgent *self, GVariant *body)
{
  g_autoptr (GVariant) answer = NULL;
  guint64 token;
  guint32 kind;
  gint32 status;

  g_variant_get (body, "(tuiv)", &token, &kind, &status, &answer);
  if (DVMD_CALL_SERVER (token) == DVMD_CALL_SERVER_PMI)
    dvmd_agent_answer_pmi_call (self, token, kind, status, answer);
  else if (dvmd_agent_has_pmix (self))
    dvmd_pmix_complete_call (dvmd_agent_get_pmix (self), token, status, status == DVMD_PMIX_SUCCESS ? answer : NULL);
}

static void
handle_answer (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = service;
  g_autoptr (GVariant) answer = NULL;
  const DvmdCallType *type;
  guint32 kind;
  gint32 status;

  g_variant_get (body, "(tuiv)", NULL, &kind, &status, &answer);
  type = dvmd_call_kind_get_type (kind);
  if (type == NULL || (status == DVMD_PMIX_SUCCESS && !g_variant_is_of_type (answer, G_VARIANT_TYPE (type->answer))))
    {
      /* A controller of the same build does not send such an answer. */
      g_critical ("An answer to a call %u has the type %s", kind, g_variant_get_type_string (answer));
      return;
    }
  /* The members of a group may be of jobs that are on their way here. */
  if (kind == DVMD_CALL_GROUP)
    dvmd_agent_give_or_defer (self, give_answer, body);
  else
    give_answer (self, body);
}

/* ---- output that they want ---- */

static void
handle_pulled_output (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = service;
  g_autoptr (GVariant) data = NULL;
  g_autoptr (GBytes) bytes = NULL;
  DvmdPmixProc writer;
  guint32 server;
  guint32 stream;

  g_variant_get (body, "(u&suu@ay)", &server, &writer.nspace, &writer.rank, &stream, &data);
  if (!dvmd_agent_has_pmix (self))
    return;
  bytes = g_variant_get_data_as_bytes (data);
  dvmd_pmix_deliver_output (dvmd_agent_get_pmix (self), server, &writer, stream, bytes);
}

void
dvmd_agent_output_taken (DvmdPmixHost *host, guint server, guint n_pieces)
{
  dvmd_agent_send ((DvmdAgent *)host, DVMD_MSG_OUTPUT_TAKEN, g_variant_new ("(uu)", server, n_pieces));
}

void
dvmd_agent_output_unwanted (DvmdPmixHost *host, guint server, gboolean ended)
{
  dvmd_agent_send ((DvmdAgent *)host, DVMD_MSG_OUTPUT_UNWANTED, g_variant_new ("(ub)", server, ended));
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_ANSWER, handle_answer },
  { DVMD_MSG_PULLED_OUTPUT, handle_pulled_output },
  { 0 },
};

const DvmdAgentService dvmd_agent_calls_service = {
  .name = "calls",
  .handlers = handlers,
};
