/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tools that connect to the node's PMIx server: they get names, and are known until they have gone.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-host.h"
#include "dvmd-agent-pmix.h"
#include "dvmd-agent-rendezvous.h"

/* The PMIx server is there for tools without a job, but not in the way of the start (µs). */
#define TOOLS_DELAY (500 * G_TIME_SPAN_MILLISECOND)

typedef struct
{
  DvmdAgent *agent;      /* unowned */
  GHashTable *connected; /* "NSPACE.RANK" -> Tool */
  guint last;
  gboolean wanted;     /* they may come, when the agent has begun */
  gboolean everywhere; /* on this node without a job, whatever part of a machine it is */
  DvmdAgentRendezvous *rendezvous;
  char *address; /* (nullable): by which they find the server */
  gboolean begun;
  gboolean first; /* of the DVM's nodes */
  guint timer;
  gboolean ended;
} Tools;

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

static Tools *
get_tools (DvmdAgent *self)
{
  return dvmd_agent_services_get (self, &dvmd_agent_tools_service);
}

static Tool *
find_tool (DvmdAgent *self, const char *nspace, guint32 rank)
{
  g_autofree char *key = g_strdup_printf ("%s.%u", nspace, rank);

  return g_hash_table_lookup (get_tools (self)->connected, key);
}

/* The node is the whole machine, or the first of its parts: it has the machine's name for tools, too. */
static gboolean
is_machine (Tools *self)
{
  return self->first || !dvmd_agent_is_logical (self->agent);
}

void
dvmd_agent_tools_let_in (DvmdPmixHost *host, const char *address)
{
  DvmdAgent *self = (DvmdAgent *)host;
  Tools *tools = get_tools (self);

  if (tools->ended)
    return;
  g_free (tools->address);
  tools->address = g_strdup (address);
  dvmd_agent_rendezvous_show (tools->rendezvous, address, is_machine (tools));
}

static void
on_tools_timer (gpointer user_data)
{
  Tools *tools = user_data;
  DvmdAgent *self = tools->agent;
  g_autoptr (GError) error = NULL;

  tools->timer = 0;
  if (!dvmd_agent_has_pmix (self) && !dvmd_agent_start_pmix (self, &error))
    g_message ("Tools cannot connect to node %s: %s", dvmd_agent_get_parts (self)->name, error->message);
}

void
dvmd_agent_tool_named (DvmdPmixHost *host, const char *nspace, guint32 rank)
{
  DvmdAgent *self = (DvmdAgent *)host;
  Tool *tool = find_tool (self, nspace, rank);

  if (tool == NULL)
    {
      tool = g_new0 (Tool, 1);
      tool->nspace = g_strdup (nspace);
      tool->rank = rank;
      tool->own = dvmd_agent_find_proc (self, nspace, rank) == NULL;
      g_hash_table_insert (get_tools (self)->connected, g_strdup_printf ("%s.%u", nspace, rank), tool);
      if (tool->own)
        dvmd_agent_send (self, DVMD_MSG_TOOL_CAME, g_variant_new ("(s)", nspace));
    }
  tool->n_connections++;
}

/*
 * A tool that was started by a rank, with its environment, is the same as that rank. Any other is given a name that no
 * tool on no node has had, whatever it calls itself.
 */
char *
dvmd_agent_tool_connected (DvmdPmixHost *host, const char *nspace, guint32 *rank)
{
  DvmdAgent *self = (DvmdAgent *)host;
  char *name;

  if (nspace != NULL && dvmd_agent_find_proc (self, nspace, *rank) != NULL)
    name = g_strdup (nspace);
  else
    {
      name = g_strdup_printf ("%s@tool-%u-%u", dvmd_agent_get_parts (self)->nspace, dvmd_agent_get_parts (self)->rank,
                              ++get_tools (self)->last);
      *rank = 0;
    }
  dvmd_agent_tool_named (host, name, *rank);
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
  g_hash_table_remove (get_tools (self)->connected, key);
  return TRUE;
}

static void
tell_end (DvmdAgent *self, const Tool *tool)
{
  DvmdPmixProc target = { tool->nspace, tool->rank };
  GVariantBuilder details;

  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_AFFECTED_PROC,
                         g_variant_new ("(su)", dvmd_agent_get_parts (self)->nspace, DVMD_PMIX_RANK_WILDCARD));
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_STATUS, g_variant_new ("(i)", DVMD_PMIX_SUCCESS));
  dvmd_pmix_notify_event (dvmd_agent_get_pmix (self), DVMD_PMIX_EVENT_JOB_END, NULL, &target, 1,
                          g_variant_builder_end (&details));
}

gboolean
dvmd_agent_is_here (DvmdAgent *self, const char *nspace, guint32 rank)
{
  const DvmdLocalProc *proc = dvmd_agent_find_proc (self, nspace, rank);

  return (proc != NULL && !(proc->flags & DVMD_PROC_EXITED)) || find_tool (self, nspace, rank) != NULL;
}

void
dvmd_agent_list_tools (DvmdAgent *self, GArray *targets)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, get_tools (self)->connected);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const Tool *tool = value;
      DvmdPmixProc target = { tool->nspace, tool->rank };

      if (tool->own)
        g_array_append_val (targets, target);
    }
}

/* ---- the service ---- */

/* Tells each connected tool that the server ends, and forgets it. */
static void
ending (gpointer service)
{
  Tools *self = service;
  GHashTableIter iter;
  gpointer tool;

  dvmd_clock_remove_timer (dvmd_agent_get_parts (self->agent)->clock, self->timer);
  self->timer = 0;
  self->ended = TRUE;
  g_clear_pointer (&self->rendezvous, dvmd_agent_rendezvous_free);
  g_hash_table_iter_init (&iter, self->connected);
  while (dvmd_agent_has_pmix (self->agent) && g_hash_table_iter_next (&iter, NULL, &tool))
    tell_end (self->agent, tool);
  g_hash_table_remove_all (self->connected);
}

static void
start_when_idle (Tools *self)
{
  if (!self->begun || !self->wanted || self->ended)
    return;
  if ((self->everywhere || is_machine (self)) && !dvmd_agent_has_pmix (self->agent) && self->timer == 0)
    self->timer = dvmd_clock_add_timer (dvmd_agent_get_parts (self->agent)->clock, TOOLS_DELAY, on_tools_timer, self);
}

void
dvmd_agent_set_first (DvmdAgent *agent, gboolean first)
{
  Tools *self = get_tools (agent);
  gboolean changed = self->first != first;

  self->first = first;
  if (self->ended)
    return;
  if (changed && self->address != NULL)
    dvmd_agent_rendezvous_show (self->rendezvous, self->address, is_machine (self));
  if (is_machine (self))
    dvmd_agent_rendezvous_sweep (self->rendezvous);
  start_when_idle (self);
}

/* The agent has begun. */
static void
told_members (gpointer service)
{
  Tools *self = service;

  self->begun = TRUE;
  start_when_idle (self);
}

static gpointer
create (DvmdAgent *agent, const DvmdAgentSettings *settings)
{
  Tools *self = g_new0 (Tools, 1);

  self->agent = agent;
  self->wanted = settings->pmix_tools;
  self->everywhere = settings->pmix_everywhere;
  self->rendezvous = dvmd_agent_rendezvous_new (agent, settings->pmix_system);
  self->connected = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, tool_free);
  return self;
}

static void
tools_free (gpointer service)
{
  Tools *self = service;

  dvmd_clock_remove_timer (dvmd_agent_get_parts (self->agent)->clock, self->timer);
  g_clear_pointer (&self->rendezvous, dvmd_agent_rendezvous_free);
  g_hash_table_unref (self->connected);
  g_free (self->address);
  g_free (self);
}

const DvmdAgentService dvmd_agent_tools_service = {
  .name = "tools",
  .create = create,
  .free = tools_free,
  .ending = ending,
  .told_members = told_members,
};
