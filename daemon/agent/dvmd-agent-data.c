/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Publish and lookup of this node's processes and tools go to the controller, which has all of it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-private.h"

#include <unistd.h>

void
dvmd_agent_data (DvmdPmixHost *host, guint64 token, DvmdPmixDataOp op, const char *nspace, guint32 rank,
                 GVariant *request)
{
  /* Everybody whom the server lets in belongs to its own user. */
  dvmd_agent_call (DVMD_AGENT (host), DVMD_CALL_DATA, token, nspace, rank,
                   g_variant_new ("(uuu@a{sv})", (guint)op, (guint)geteuid (), (guint)getegid (), request));
}

static void
complete (DvmdAgent *self, guint64 token, int status, GVariant *answer)
{
  g_autoptr (GVariant) found = answer != NULL ? g_variant_get_child_value (answer, 0) : NULL;

  dvmd_pmix_complete_data (self->pmix, token, status, found);
}

static const DvmdCompletion completions[] = { { DVMD_CALL_DATA, complete }, { 0 } };

const DvmdAgentService dvmd_agent_data_service = {
  .name = "data",
  .completions = completions,
};
