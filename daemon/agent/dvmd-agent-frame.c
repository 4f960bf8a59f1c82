/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The agent is the frame of one node's services: what they may ask of it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-private.h"

#include <malloc.h>

/* How long (µs) an agent keeps what it does not need, for the next job may need it. */
#define MEMORY_DELAY (1 * G_TIME_SPAN_SECOND)

const DvmdAgentParts *
dvmd_agent_get_parts (DvmdAgent *self)
{
  return &self->parts;
}

DvmdPmix *
dvmd_agent_get_pmix (DvmdAgent *self)
{
  return self->pmix;
}

gboolean
dvmd_agent_has_pmix (DvmdAgent *self)
{
  return self->pmix_started;
}

gboolean
dvmd_agent_is_logical (DvmdAgent *self)
{
  return self->options.logical;
}

gboolean
dvmd_agent_is_stopping (DvmdAgent *self)
{
  return self->daemon->stopping;
}

void
dvmd_agent_set_pmix (DvmdAgent *self, DvmdPmix *pmix, gboolean started)
{
  self->pmix = pmix;
  self->pmix_started = started;
}

const char *
dvmd_agent_get_node_name (DvmdAgent *self, guint rank)
{
  const char *name = g_hash_table_lookup (self->node_names, GUINT_TO_POINTER (rank));

  if (name != NULL && name[0] != '\0')
    return name;
  return rank == self->parts.rank ? self->parts.name : "unknown";
}

void
dvmd_agent_send (DvmdAgent *self, DvmdMessageKind kind, GVariant *body)
{
  g_autoptr (DvmdMessage) message = dvmd_message_new (kind, self->parts.rank, 0, body);

  dvmd_link_send (self->link, message);
}

/* ---- jobs ---- */

void
dvmd_agent_add_job (DvmdAgent *self, DvmdAgentJob *job)
{
  g_hash_table_insert (self->jobs, GUINT_TO_POINTER (job->local->id), job);
  g_hash_table_insert (self->by_nspace, job->local->nspace, job);
}

void
dvmd_agent_remove_job (DvmdAgent *self, DvmdAgentJob *job)
{
  g_hash_table_remove (self->by_nspace, job->local->nspace);
  g_hash_table_remove (self->jobs, GUINT_TO_POINTER (job->local->id));
}

DvmdAgentJob *
dvmd_agent_find_job (DvmdAgent *self, guint32 id)
{
  return self->jobs != NULL ? g_hash_table_lookup (self->jobs, GUINT_TO_POINTER (id)) : NULL;
}

DvmdAgentJob *
dvmd_agent_find_job_named (DvmdAgent *self, const char *nspace)
{
  return g_hash_table_lookup (self->by_nspace, nspace);
}

GList *
dvmd_agent_list_jobs (DvmdAgent *self)
{
  return g_hash_table_get_values (self->jobs);
}

DvmdLocalProc *
dvmd_agent_find_proc (DvmdAgent *self, const char *nspace, guint32 rank)
{
  DvmdAgentJob *job = dvmd_agent_find_job_named (self, nspace);

  return job != NULL ? dvmd_local_job_find_proc (job->local, rank) : NULL;
}

/* ---- the end ---- */

static void
on_memory_time (gpointer user_data)
{
  ((DvmdAgent *)user_data)->memory_timer = 0;
#ifdef __GLIBC__
  malloc_trim (0);
#endif
}

void
dvmd_agent_give_memory_back (DvmdAgent *self)
{
  if (self->memory_timer == 0)
    self->memory_timer = dvmd_clock_add_timer (self->parts.clock, MEMORY_DELAY, on_memory_time, self);
}

void
dvmd_agent_check_end (DvmdAgent *self)
{
  if (g_hash_table_size (self->jobs) > 0 || dvmd_agent_services_are_busy (self))
    return;
  dvmd_agent_give_memory_back (self);
  dvmd_local_daemon_empty (self->daemon);
}
