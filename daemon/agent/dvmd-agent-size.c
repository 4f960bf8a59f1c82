/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Processes and tools that have asked for nodes are told of changes of the DVM's size.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-host.h"
#include "dvmd-agent-job.h"

#include "dvmd-log.h"

/* The ids that an event tells. */
static void
add_ids (GVariantBuilder *builder, const char *alloc_id, const char *req_id)
{
  g_variant_builder_init (builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (builder, "{sv}", DVMD_PMIX_KEY_ALLOC_ID, g_variant_new_string (alloc_id));
  if (req_id[0] != '\0')
    g_variant_builder_add (builder, "{sv}", DVMD_PMIX_KEY_ALLOC_REQ_ID, g_variant_new_string (req_id));
}

static void
handle_size_event (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = service;
  GVariantBuilder details;
  DvmdPmixProc target;
  const char *alloc_id;
  const char *req_id;
  const char *reason;
  gint32 event;
  gint32 cause;

  g_variant_get (body, "(&sui&s&si&s)", &target.nspace, &target.rank, &event, &alloc_id, &req_id, &cause, &reason);
  if (!dvmd_agent_has_pmix (self) || !dvmd_agent_is_here (self, target.nspace, target.rank))
    {
      dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, target.nspace, target.rank,
                     "has gone, and is not told of the end of allocation %s", alloc_id);
      return;
    }
  add_ids (&details, alloc_id, req_id);
  if (cause != DVMD_PMIX_SUCCESS)
    g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_STATUS, g_variant_new ("(i)", cause));
  if (reason[0] != '\0')
    g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_TEXT, g_variant_new_string (reason));
  dvmd_pmix_notify_event (dvmd_agent_get_pmix (self), event, NULL, &target, 1, g_variant_builder_end (&details));
}

static void
handle_alloc_warning (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = service;
  GVariantBuilder details;
  DvmdPmixProc target;
  const char *alloc_id;
  const char *req_id;
  guint32 seconds;

  g_variant_get (body, "(&su&s&su)", &target.nspace, &target.rank, &alloc_id, &req_id, &seconds);
  if (!dvmd_agent_has_pmix (self) || !dvmd_agent_is_here (self, target.nspace, target.rank))
    return;
  add_ids (&details, alloc_id, req_id);
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_TIME_REMAINING, g_variant_new_uint32 (seconds));
  dvmd_pmix_notify_event (dvmd_agent_get_pmix (self), DVMD_PMIX_ALLOC_TIMEOUT_WARNING, NULL, &target, 1,
                          g_variant_builder_end (&details));
}

/* The ranks that the job has here. */
static GVariant *
list_ranks (DvmdAgentJob *job)
{
  GVariantBuilder ranks;

  g_variant_builder_init (&ranks, G_VARIANT_TYPE ("a(su)"));
  for (guint i = 0; i < job->local->procs->len; i++)
    {
      const DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, i);

      g_variant_builder_add (&ranks, "(su)", job->local->nspace, proc->rank);
    }
  return g_variant_builder_end (&ranks);
}

static void
handle_warn (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = service;
  DvmdPmixProc target = { .rank = DVMD_PMIX_RANK_WILDCARD };
  GVariantBuilder details;
  DvmdAgentJob *job;
  guint32 id;
  gint64 left;

  g_variant_get (body, "(ux)", &id, &left);
  job = dvmd_agent_find_job (self, id);
  if (job == NULL || !job->registered)
    return;
  target.nspace = job->local->nspace;
  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_HOSTNAME,
                         g_variant_new_string (dvmd_agent_get_parts (self)->name));
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_TERMINATE_NODE, g_variant_new_boolean (TRUE));
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_ACTION_TIMEOUT,
                         g_variant_new_int32 ((gint32)(MAX (left, 0) / G_USEC_PER_SEC)));
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_AFFECTED_PROCS, list_ranks (job));
  dvmd_pmix_notify_event (dvmd_agent_get_pmix (self), DVMD_PMIX_EVENT_NODE_OFFLINE, NULL, &target, 1,
                          g_variant_builder_end (&details));
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_SIZE_EVENT, handle_size_event },
  { DVMD_MSG_ALLOC_WARNING, handle_alloc_warning },
  { DVMD_MSG_WARN, handle_warn },
  { 0 },
};

const DvmdAgentService dvmd_agent_size_service = {
  .name = "size",
  .handlers = handlers,
};
