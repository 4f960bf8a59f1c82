/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Events of processes, tools and the DVM for processes and tools of this node.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-host.h"
#include "dvmd-agent-ranks.h"
#include "dvmd-log.h"

typedef struct
{
  gint32 status;
  DvmdPmixProc source; /* nspace "": the DVM */
  GVariant *details;
} Event;

static void
tell (DvmdAgent *self, const Event *event, const DvmdPmixProc *targets, guint n_targets)
{
  if (n_targets > 0 && dvmd_agent_has_pmix (self))
    dvmd_pmix_notify_event (dvmd_agent_get_pmix (self), event->status,
                            event->source.nspace[0] != '\0' ? &event->source : NULL, targets, n_targets,
                            event->details);
}

/* Its ranks start, and the event may come, before the environment of those of another node has. */
static gboolean
is_on_its_way (const DvmdAgentJob *job)
{
  return job->pmix && !job->registering && !job->registered;
}

/* Whether there is somebody to be told. */
static gboolean
is_alive (DvmdAgent *self, const DvmdAgentJob *job, const DvmdPmixProc *target)
{
  if (job == NULL || target->rank != DVMD_PMIX_RANK_WILDCARD)
    return dvmd_agent_is_here (self, target->nspace, target->rank);
  for (guint i = 0; i < job->local->procs->len; i++)
    if ((((const DvmdLocalProc *)g_ptr_array_index (job->local->procs, i))->flags & DVMD_PROC_EXITED) == 0)
      return TRUE;
  return FALSE;
}

/* As many, and so many bytes, as a PMIx server keeps for processes that are yet to connect. */
#define MAX_EARLY      512
#define MAX_EARLY_SIZE (4 * 1024 * 1024)

static void
drop_oldest (DvmdAgentJob *job)
{
  if (!job->early_lost)
    dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, job->local->nspace,
                  "its processes miss events, the oldest of more than can be kept while they start");
  job->early_lost = TRUE;
  job->early_size -= g_variant_get_size (g_ptr_array_index (job->early_events, 0));
  g_ptr_array_remove_index (job->early_events, 0);
}

static void
keep (DvmdAgentJob *job, GVariant *body)
{
  if (job->early_events == NULL)
    job->early_events = g_ptr_array_new_with_free_func ((GDestroyNotify)g_variant_unref);
  if (g_ptr_array_find (job->early_events, body, NULL))
    return;
  g_ptr_array_add (job->early_events, g_variant_ref (body));
  job->early_size += g_variant_get_size (body);
  while (job->early_events->len > MAX_EARLY || job->early_size > MAX_EARLY_SIZE)
    drop_oldest (job);
}

/* only (nullable): this job alone is meant, which has been told nothing of the event yet */
static void
deliver (DvmdAgent *self, GVariant *body, const DvmdAgentJob *only)
{
  g_autoptr (GVariant) rows = NULL;
  g_autoptr (GVariant) details = NULL;
  g_autoptr (GArray) targets = g_array_new (FALSE, FALSE, sizeof (DvmdPmixProc));
  Event event;
  GVariantIter iter;
  DvmdPmixProc target;
  gboolean tools;

  g_variant_get (body, "(i&su@a(su)b@a{sv})", &event.status, &event.source.nspace, &event.source.rank, &rows, &tools,
                 &details);
  event.details = details;
  if (tools && only == NULL)
    dvmd_agent_list_tools (self, targets);
  g_variant_iter_init (&iter, rows);
  while (g_variant_iter_next (&iter, "(&su)", &target.nspace, &target.rank))
    {
      DvmdAgentJob *job = dvmd_agent_find_job_named (self, target.nspace);

      if (only != NULL && job != only)
        continue;
      /* A rank that has waited is told by the agent, which has to know of it. */
      if (event.status == DVMD_PMIX_DEBUGGER_RELEASE && job != NULL && dvmd_agent_release (job, target.rank))
        continue;
      if (job != NULL && is_on_its_way (job))
        keep (job, body);
      else if (is_alive (self, job, &target))
        g_array_append_val (targets, target);
    }
  tell (self, &event, (const DvmdPmixProc *)targets->data, targets->len);
}

static void
handle_event (gpointer service, guint source, GVariant *body)
{
  deliver (service, body, NULL);
}

void
dvmd_agent_tell_early_events (DvmdAgentJob *job)
{
  g_autoptr (GPtrArray) events = g_steal_pointer (&job->early_events);

  job->early_size = 0;
  for (guint i = 0; events != NULL && i < events->len; i++)
    deliver (job->agent, g_ptr_array_index (events, i), job);
}

/* ---- a node is lost ---- */

/* details: taken if floating */
static void
tell_job (DvmdAgentJob *job, int status, GVariant *details)
{
  g_autoptr (GVariant) body = g_variant_ref_sink (g_variant_new_parsed (
      "(%i, '', uint32 0, [(%s, %u)], false, %@a{sv})", status, job->local->nspace, DVMD_PMIX_RANK_WILDCARD, details));

  deliver (job->agent, body, NULL);
}

static void
tell_node_down (DvmdAgentJob *job, const char *node, const guint32 *lost, gsize n)
{
  GVariantBuilder details;
  GVariantBuilder procs;

  g_variant_builder_init (&procs, G_VARIANT_TYPE ("a(su)"));
  for (gsize i = 0; i < n; i++)
    g_variant_builder_add (&procs, "(su)", job->local->nspace, lost[i]);
  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_HOSTNAME, g_variant_new_string (node));
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_AFFECTED_PROCS, g_variant_builder_end (&procs));
  tell_job (job, DVMD_PMIX_EVENT_NODE_DOWN, g_variant_builder_end (&details));
}

static void
tell_rank_lost (DvmdAgentJob *job, guint32 rank)
{
  GVariantBuilder details;

  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_AFFECTED_PROC,
                         g_variant_new ("(su)", job->local->nspace, rank));
  tell_job (job, DVMD_PMIX_ERR_LOST_CONNECTION, g_variant_builder_end (&details));
}

/* The ranks of the job that are here learn which others are not any more. */
static void
handle_node_lost (gpointer service, guint source, GVariant *body)
{
  g_autoptr (GVariant) ranks = NULL;
  DvmdAgentJob *job;
  const guint32 *lost;
  const char *name;
  guint32 id;
  gsize n;

  g_variant_get (body, "(uu&s@au)", &id, NULL, &name, &ranks);
  lost = g_variant_get_fixed_array (ranks, &n, sizeof *lost);
  job = dvmd_agent_find_job (service, id);
  if (job == NULL || !job->pmix)
    return;
  tell_node_down (job, name, lost, n);
  for (gsize i = 0; i < n; i++)
    tell_rank_lost (job, lost[i]);
}

/* (transfer full) */
static GVariant *
mark_for_now (GVariant *details)
{
  g_auto (GVariantBuilder) builder = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE_VARDICT);
  GVariantIter iter;
  GVariant *entry;

  g_variant_iter_init (&iter, details);
  while (g_variant_iter_loop (&iter, "@{sv}", &entry))
    g_variant_builder_add_value (&builder, entry);
  g_variant_builder_add (&builder, "{sv}", DVMD_PMIX_KEY_DO_NOT_CACHE, g_variant_new_boolean (TRUE));
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

/* Processes of other jobs are not to lose what the library keeps for them. */
static void
tell_others (DvmdAgentJob *job, gint32 status, GVariant *details)
{
  g_autoptr (GList) jobs = dvmd_agent_list_jobs (job->agent);
  g_autoptr (GVariant) marked = mark_for_now (details);
  g_autoptr (GVariant) body = NULL;
  GVariantBuilder targets;

  g_variant_builder_init (&targets, G_VARIANT_TYPE ("a(su)"));
  for (GList *l = jobs; l != NULL; l = l->next)
    {
      const DvmdAgentJob *other = l->data;

      if (other != job && other->pmix)
        g_variant_builder_add (&targets, "(su)", other->local->nspace, DVMD_PMIX_RANK_WILDCARD);
    }
  body = g_variant_ref_sink (g_variant_new ("(isua(su)b@a{sv})", status, "", 0, &targets, TRUE, marked));
  deliver (job->agent, body, NULL);
}

void
dvmd_agent_tell_node (DvmdAgentJob *job, gint32 status, GVariant *details)
{
  g_autoptr (GVariant) owned = g_variant_ref_sink (details);

  tell_job (job, status, owned);
  tell_others (job, status, owned);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_EVENT, handle_event },
  { DVMD_MSG_NODE_LOST, handle_node_lost },
  { 0 },
};

const DvmdAgentService dvmd_agent_events_service = {
  .name = "events",
  .handlers = handlers,
};
