/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Processes and tools that want jobs, and what they are told of those.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-environment.h"
#include "dvmd-agent-host.h"

#include "dvmd-log.h"

/* Open MPI hands on what it finds in its own environment: where its shared memory is, for one. */
GVariant *
dvmd_agent_clean_spawn (DvmdAgent *self, const char *nspace, const DvmdLocalProc *proc, GVariant *request)
{
  g_autoptr (GVariant) apps = g_variant_get_child_value (request, 0);
  g_autoptr (GVariant) options = g_variant_get_child_value (request, 1);
  g_autoptr (GVariant) own = NULL;
  guint32 timeout;
  guint32 streams;

  own = dvmd_agent_strip_defaults (dvmd_agent_find_job_named (self, nspace), proc, apps);
  g_variant_get_child (request, 2, "u", &timeout);
  g_variant_get_child (request, 3, "u", &streams);
  return g_variant_ref_sink (g_variant_new ("(@aa{sv}@a{sv}uu)", own, options, timeout, streams));
}

static void
handle_job_event (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = service;
  DvmdPmixProc target;
  GVariantBuilder details;
  const char *nspace;
  gint32 event;
  gint32 status;
  gint32 exit_code;

  g_variant_get (body, "(&sui&sii)", &target.nspace, &target.rank, &event, &nspace, &status, &exit_code);
  if (!dvmd_agent_has_pmix (self) || !dvmd_agent_is_here (self, target.nspace, target.rank))
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
  dvmd_pmix_notify_event (dvmd_agent_get_pmix (self), event, NULL, &target, 1, g_variant_builder_end (&details));
}

static GVariant *
describe_targets (const DvmdPmixProc *targets, guint n_targets)
{
  GVariantBuilder rows;

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(su)"));
  for (guint i = 0; i < n_targets; i++)
    g_variant_builder_add (&rows, "(su)", targets[i].nspace, targets[i].rank);
  return g_variant_builder_end (&rows);
}

void
dvmd_agent_abort_procs (DvmdAgent *self, const char *nspace, guint32 rank, int status, const char *message,
                        const DvmdPmixProc *targets, guint n_targets)
{
  const DvmdLocalProc *proc = dvmd_agent_find_proc (self, nspace, rank);

  dvmd_agent_send (self, DVMD_MSG_ABORT_PROCS,
                   g_variant_new ("(suuis@a(su))", nspace, rank, proc != NULL ? (guint)proc->pid : 0, status,
                                  message != NULL ? message : "", describe_targets (targets, n_targets)));
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_JOB_EVENT, handle_job_event },
  { 0 },
};

const DvmdAgentService dvmd_agent_spawn_service = {
  .name = "spawn",
  .handlers = handlers,
};
