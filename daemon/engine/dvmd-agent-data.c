/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What processes and tools of this node publish, and what they look for: the controller has all of it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-private.h"

#include <unistd.h>

void
dvmd_agent_data (DvmdPmixHost *host, guint64 token, DvmdPmixDataOp op, const char *nspace, guint32 rank,
                 GVariant *request)
{
  DvmdAgent *self = DVMD_AGENT (host);

  if (!dvmd_agent_is_here (self, nspace, rank))
    {
      g_message ("%s.%u publishes or looks up, and is no process of this node", nspace, rank);
      dvmd_pmix_complete_data (self->pmix, token, DVMD_PMIX_ERR_NO_PERMISSIONS, NULL);
      return;
    }
  /* Everybody whom the server lets in belongs to its own user. */
  dvmd_agent_send (
      self, DVMD_MSG_DATA,
      g_variant_new ("(tusuuu@a{sv})", token, (guint)op, nspace, rank, (guint)geteuid (), (guint)getegid (), request));
}

void
dvmd_agent_handle_data_done (DvmdAgent *self, GVariant *body)
{
  g_autoptr (GVariant) found = NULL;
  guint64 token;
  gint32 status;

  g_variant_get (body, "(ti@a(susay))", &token, &status, &found);
  dvmd_pmix_complete_data (self->pmix, token, status, found);
}
