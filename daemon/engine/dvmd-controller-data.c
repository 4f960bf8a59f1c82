/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What processes and tools publish for others: one store for the DVM, asked by every agent.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-private.h"

#include "dvmd-core-sessions.h"
#include "dvmd-log.h"

static void
answer (gpointer world, guint node, guint64 token, int status, GVariant *found)
{
  DvmdController *self = world;
  g_autoptr (GVariant) owned = g_variant_ref_sink (found);

  if (dvmd_controller_is_lost (self, node))
    return;
  dvmd_controller_send (self, node, DVMD_MSG_DATA_DONE, g_variant_new ("(ti@a(susay))", token, status, owned));
}

static void
on_session_removed (DvmdCore *core, DvmdSession *session, gpointer user_data)
{
  DvmdController *self = user_data;

  dvmd_data_store_session_ended (self->data, dvmd_session_get_id (session));
}

void
dvmd_controller_open_data (DvmdController *self)
{
  self->data = dvmd_data_store_new (self->clock, answer, self);
  g_signal_connect (self->core, "session-removed", G_CALLBACK (on_session_removed), self);
}

void
dvmd_controller_tool_ended (DvmdController *self, const char *nspace)
{
  dvmd_data_store_proc_ended (self->data, nspace, 0);
  dvmd_data_store_job_ended (self->data, nspace);
}

void
dvmd_controller_handle_data (DvmdController *self, guint source, GVariant *body)
{
  /* Tools, and all that no session keeps to itself. */
  static const guint32 default_session = 0;
  g_autoptr (GVariant) request = NULL;
  DvmdDataParty who = { .node = source, .sessions = &default_session, .n_sessions = 1 };
  GArray *sessions = NULL;
  guint64 token;
  guint32 op;
  DvmdJob *job;

  g_variant_get (body, "(tu&suuu@a{sv})", &token, &op, &who.nspace, &who.rank, &who.uid, &who.gid, &request);
  if (!dvmd_controller_hear (self, source, who.nspace, who.rank))
    {
      answer (self, source, token, DVMD_PMIX_ERR_NO_PERMISSIONS,
              g_variant_new_array (G_VARIANT_TYPE ("(susay)"), NULL, 0));
      return;
    }
  job = dvmd_core_find_job (self->core, who.nspace);
  if (job != NULL)
    sessions = dvmd_job_get_sessions (job);
  if (sessions != NULL && sessions->len > 0)
    {
      who.sessions = (const guint32 *)sessions->data;
      who.n_sessions = sessions->len;
    }
  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, who.nspace, who.rank, "data request %u", op);
  dvmd_data_store_handle (self->data, token, op, &who, request);
}
