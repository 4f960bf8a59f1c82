/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Processes and tools that want jobs, and what they are told of those.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-private.h"

#include "dvmd-log.h"

void
dvmd_agent_spawn (DvmdPmixHost *host, guint64 token, const char *nspace, guint32 rank, GVariant *job, guint timeout)
{
  DvmdAgent *self = DVMD_AGENT (host);
  const DvmdLocalProc *proc = dvmd_agent_find_proc (self, nspace, rank);
  g_autoptr (GVariant) apps = g_variant_get_child_value (job, 0);
  g_autoptr (GVariant) options = g_variant_get_child_value (job, 1);

  if (!dvmd_agent_is_here (self, nspace, rank))
    {
      g_message ("%s.%u wants a job, and is no process of this node", nspace, rank);
      dvmd_pmix_complete_spawn (self->pmix, token, DVMD_PMIX_ERR_NO_PERMISSIONS, NULL);
      return;
    }
  dvmd_agent_send (self, DVMD_MSG_SPAWN,
                   g_variant_new ("(tsuu@aa{sv}@a{sv}u)", token, nspace, rank, proc != NULL ? (guint)proc->pid : 0,
                                  apps, options, timeout));
}

void
dvmd_agent_handle_spawned (DvmdAgent *self, GVariant *body)
{
  const char *nspace;
  guint64 token;
  gint32 status;

  g_variant_get (body, "(ti&s)", &token, &status, &nspace);
  if (self->pmix_started)
    dvmd_pmix_complete_spawn (self->pmix, token, status, nspace[0] != '\0' ? nspace : NULL);
}

void
dvmd_agent_handle_job_event (DvmdAgent *self, GVariant *body)
{
  DvmdPmixProc target;
  GVariantBuilder details;
  const char *nspace;
  gint32 event;
  gint32 status;
  gint32 exit_code;

  g_variant_get (body, "(&sui&sii)", &target.nspace, &target.rank, &event, &nspace, &status, &exit_code);
  if (!self->pmix_started || !dvmd_agent_is_here (self, target.nspace, target.rank))
    {
      dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, target.nspace, target.rank, "has gone, and is told nothing of %s",
                     nspace);
      return;
    }
  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_AFFECTED_PROC,
                         g_variant_new ("(su)", nspace, DVMD_PMIX_RANK_WILDCARD));
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_NSPACE, g_variant_new_string (nspace));
  if (event == DVMD_PMIX_EVENT_JOB_END)
    {
      g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_STATUS, g_variant_new ("(i)", status));
      g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_EXIT_CODE, g_variant_new_int32 (exit_code));
    }
  dvmd_pmix_notify_event (self->pmix, event, NULL, &target, 1, g_variant_builder_end (&details));
}
