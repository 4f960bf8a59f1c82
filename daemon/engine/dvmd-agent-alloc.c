/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Processes and tools that ask for nodes, and what they are told of changes of the DVM's size; the tools themselves.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-private.h"

#include "dvmd-log.h"

/* The PMIx server of an elastic DVM is there without a job, but not in the way of the start (µs). */
#define TOOLS_DELAY (500 * G_TIME_SPAN_MILLISECOND)

typedef struct
{
  char *nspace;
  guint32 rank;
  guint n_connections;
  gboolean own; /* its name is that of no process */
} Tool;

static void
tool_free (gpointer data)
{
  Tool *tool = data;

  g_free (tool->nspace);
  g_free (tool);
}

GHashTable *
dvmd_agent_tools_new (void)
{
  return g_hash_table_new_full (g_str_hash, g_str_equal, g_free, tool_free);
}

static Tool *
find_tool (DvmdAgent *self, const char *nspace, guint32 rank)
{
  g_autofree char *key = g_strdup_printf ("%s.%u", nspace, rank);

  return g_hash_table_lookup (self->tools, key);
}

/* ---- tools come and go ---- */

static void
on_tools_timer (gpointer user_data)
{
  DvmdAgent *self = user_data;
  g_autoptr (GError) error = NULL;

  self->tools_timer = 0;
  if (!self->pmix_started && !dvmd_agent_start_pmix (self, &error))
    g_message ("Tools cannot connect to node %s: %s", self->name, error->message);
}

void
dvmd_agent_serve_tools (DvmdAgent *self)
{
  if (self->pmix_tools && !self->pmix_started && self->tools_timer == 0)
    self->tools_timer = dvmd_clock_add_timer (self->clock, TOOLS_DELAY, on_tools_timer, self);
}

/*
 * A tool that was started by a rank, with its environment, is the same as that rank. Any other is given a name that no
 * tool on no node has had, whatever it calls itself.
 */
char *
dvmd_agent_tool_connected (DvmdPmixHost *host, const char *nspace, guint32 *rank)
{
  DvmdAgent *self = DVMD_AGENT (host);
  char *name;
  Tool *tool;

  if (nspace != NULL && dvmd_agent_find_proc (self, nspace, *rank) != NULL)
    name = g_strdup (nspace);
  else
    {
      name = g_strdup_printf ("%s@tool-%u-%u", self->dvm_nspace, self->rank, ++self->last_tool);
      *rank = 0;
    }
  tool = find_tool (self, name, *rank);
  if (tool == NULL)
    {
      tool = g_new0 (Tool, 1);
      tool->nspace = g_strdup (name);
      tool->rank = *rank;
      tool->own = dvmd_agent_find_proc (self, name, *rank) == NULL;
      g_hash_table_insert (self->tools, g_strdup_printf ("%s.%u", name, *rank), tool);
    }
  tool->n_connections++;
  return name;
}

gboolean
dvmd_agent_tool_lost (DvmdAgent *self, const char *nspace, guint32 rank)
{
  Tool *tool = find_tool (self, nspace, rank);
  g_autofree char *key = NULL;

  if (tool == NULL)
    return FALSE;
  if (--tool->n_connections > 0)
    return TRUE;
  if (tool->own)
    dvmd_agent_send (self, DVMD_MSG_TOOL_GONE, g_variant_new ("(s)", nspace));
  key = g_strdup_printf ("%s.%u", nspace, rank);
  g_hash_table_remove (self->tools, key);
  return TRUE;
}

static void
tell_end (DvmdAgent *self, const Tool *tool)
{
  DvmdPmixProc target = { tool->nspace, tool->rank };
  GVariantBuilder details;

  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_AFFECTED_PROC,
                         g_variant_new ("(su)", self->dvm_nspace, DVMD_PMIX_RANK_WILDCARD));
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_STATUS, g_variant_new ("(i)", DVMD_PMIX_SUCCESS));
  dvmd_pmix_notify_event (self->pmix, DVMD_PMIX_EVENT_JOB_END, NULL, &target, 1, g_variant_builder_end (&details));
}

void
dvmd_agent_end_tools (DvmdAgent *self)
{
  GHashTableIter iter;
  gpointer tool;

  dvmd_clock_remove_timer (self->clock, self->tools_timer);
  self->tools_timer = 0;
  self->pmix_tools = FALSE;
  g_hash_table_iter_init (&iter, self->tools);
  while (self->pmix_started && g_hash_table_iter_next (&iter, NULL, &tool))
    tell_end (self, tool);
  g_hash_table_remove_all (self->tools);
}

/* ---- requests ---- */

gboolean
dvmd_agent_is_here (DvmdAgent *self, const char *nspace, guint32 rank)
{
  const DvmdLocalProc *proc = dvmd_agent_find_proc (self, nspace, rank);

  return (proc != NULL && !(proc->flags & DVMD_PROC_EXITED)) || find_tool (self, nspace, rank) != NULL;
}

void
dvmd_agent_allocate (DvmdPmixHost *host, guint64 token, const char *nspace, guint32 rank, const char *directive,
                     GVariant *request)
{
  DvmdAgent *self = DVMD_AGENT (host);
  const DvmdLocalProc *proc = dvmd_agent_find_proc (self, nspace, rank);

  if (!dvmd_agent_is_here (self, nspace, rank))
    {
      g_message ("%s.%u asks for nodes, and is no process of this node", nspace, rank);
      dvmd_pmix_complete_allocation (self->pmix, token, DVMD_PMIX_ERR_NO_PERMISSIONS, NULL);
      return;
    }
  dvmd_agent_send (
      self, DVMD_MSG_ALLOCATE,
      g_variant_new ("(tsuus@a{sv})", token, nspace, rank, proc != NULL ? (guint)proc->pid : 0, directive, request));
}

/* The ids of an answer and of an event. */
static void
add_ids (GVariantBuilder *builder, const char *alloc_id, const char *req_id)
{
  g_variant_builder_init (builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (builder, "{sv}", DVMD_PMIX_KEY_ALLOC_ID, g_variant_new_string (alloc_id));
  if (req_id[0] != '\0')
    g_variant_builder_add (builder, "{sv}", DVMD_PMIX_KEY_ALLOC_REQ_ID, g_variant_new_string (req_id));
}

void
dvmd_agent_handle_allocated (DvmdAgent *self, GVariant *body)
{
  GVariantBuilder answer;
  const char *alloc_id;
  const char *req_id;
  guint64 token;
  guint32 session;
  gint32 status;

  g_variant_get (body, "(ti&s&su)", &token, &status, &alloc_id, &req_id, &session);
  if (status != DVMD_PMIX_SUCCESS)
    {
      dvmd_pmix_complete_allocation (self->pmix, token, status, NULL);
      return;
    }
  add_ids (&answer, alloc_id, req_id);
  g_variant_builder_add (&answer, "{sv}", DVMD_PMIX_KEY_SESSION_ID, g_variant_new_uint32 (session));
  dvmd_pmix_complete_allocation (self->pmix, token, status, g_variant_builder_end (&answer));
}

/* ---- events ---- */

void
dvmd_agent_handle_size_event (DvmdAgent *self, GVariant *body)
{
  GVariantBuilder details;
  DvmdPmixProc target;
  const char *alloc_id;
  const char *req_id;
  const char *reason;
  gint32 event;
  gint32 cause;

  g_variant_get (body, "(&sui&s&si&s)", &target.nspace, &target.rank, &event, &alloc_id, &req_id, &cause, &reason);
  if (!self->pmix_started || !dvmd_agent_is_here (self, target.nspace, target.rank))
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
  dvmd_pmix_notify_event (self->pmix, event, NULL, &target, 1, g_variant_builder_end (&details));
}

void
dvmd_agent_handle_alloc_warning (DvmdAgent *self, GVariant *body)
{
  GVariantBuilder details;
  DvmdPmixProc target;
  const char *alloc_id;
  const char *req_id;
  guint32 seconds;

  g_variant_get (body, "(&su&s&su)", &target.nspace, &target.rank, &alloc_id, &req_id, &seconds);
  if (!self->pmix_started || !dvmd_agent_is_here (self, target.nspace, target.rank))
    return;
  add_ids (&details, alloc_id, req_id);
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_TIME_REMAINING, g_variant_new_uint32 (seconds));
  dvmd_pmix_notify_event (self->pmix, DVMD_PMIX_ALLOC_TIMEOUT_WARNING, NULL, &target, 1,
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

void
dvmd_agent_handle_warn (DvmdAgent *self, GVariant *body)
{
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
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_HOSTNAME, g_variant_new_string (self->name));
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_TERMINATE_NODE, g_variant_new_boolean (TRUE));
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_ACTION_TIMEOUT,
                         g_variant_new_int32 ((gint32)(MAX (left, 0) / G_USEC_PER_SEC)));
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_AFFECTED_PROCS, list_ranks (job));
  dvmd_pmix_notify_event (self->pmix, DVMD_PMIX_EVENT_NODE_OFFLINE, NULL, &target, 1, g_variant_builder_end (&details));
}
