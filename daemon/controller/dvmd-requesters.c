/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Processes and tools are authenticated, their calls handed to the services, and the answers sent back.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-requesters.h"

#include <string.h>
#include <unistd.h>

#include "dvmd-services.h"
#include "dvmd-core-sessions.h"

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *tools;          /* namespace -> rank of the agent, of tools that are connected */
  GHashTable *open;           /* id -> DvmdCall */
  guint64 last_id;
} Requesters;

static Requesters *
get_requesters (DvmdController *controller)
{
  return dvmd_services_get (controller, &dvmd_requesters_service);
}

/* ---- calls ---- */

static void
call_clear (gpointer data)
{
  g_free (((DvmdCall *)data)->nspace);
}

DvmdCall *
dvmd_call_ref (DvmdCall *call)
{
  return g_rc_box_acquire (call);
}

void
dvmd_call_unref (DvmdCall *call)
{
  g_rc_box_release_full (call, call_clear);
}

DvmdRequester *
dvmd_call_new_requester (const DvmdCall *call)
{
  g_autofree char *name = g_strdup_printf ("pmix:%s.%u", call->nspace, call->rank);

  return dvmd_requester_new (name, geteuid (), call->pid);
}

gboolean
dvmd_requester_read_proc (const DvmdRequester *requester, char **nspace, guint32 *rank)
{
  gboolean pmix = requester != NULL && g_str_has_prefix (requester->name, "pmix:");
  const char *dot = pmix ? strrchr (requester->name, '.') : NULL;
  guint64 number;

  if (dot == NULL || !g_ascii_string_to_unsigned (dot + 1, 10, 0, G_MAXUINT32, &number, NULL))
    return FALSE;
  *rank = (guint32)number;
  *nspace = g_strndup (requester->name + 5, (gsize)(dot - requester->name) - 5);
  return TRUE;
}

void
dvmd_controller_answer (DvmdController *controller, guint64 id, int status, GVariant *answer)
{
  Requesters *self = get_requesters (controller);
  DvmdCall *call = g_hash_table_lookup (self->open, &id);
  g_autoptr (GVariant) owned = g_variant_ref_sink (answer != NULL ? answer : g_variant_new ("()"));

  if (call == NULL)
    return;
  dvmd_controller_send (controller, call->agent, DVMD_MSG_ANSWER,
                        g_variant_new ("(tuiv)", call->token, call->kind, status, owned));
  g_hash_table_remove (self->open, &id);
}

void
dvmd_controller_drop_call (DvmdController *controller, guint64 id)
{
  g_hash_table_remove (get_requesters (controller)->open, &id);
}

gboolean
dvmd_controller_is_calling (DvmdController *self, const DvmdCall *call)
{
  return dvmd_controller_find_agent (self, call->nspace, call->rank) == call->agent;
}

static void
handle_call (gpointer service, guint source, GVariant *body)
{
  Requesters *self = service;
  g_autoptr (DvmdCall) call = g_rc_box_new0 (DvmdCall);
  g_autoptr (GVariant) request = NULL;
  const DvmdCallType *type;
  guint32 kind;

  g_variant_get (body, "(tusuuv)", &call->token, &kind, &call->nspace, &call->rank, &call->pid, &request);
  call->id = ++self->last_id;
  call->kind = (DvmdCallKind)kind;
  call->agent = source;
  g_hash_table_insert (self->open, &call->id, dvmd_call_ref (call));
  type = dvmd_call_kind_get_type (kind);
  if (!dvmd_call_kind_is_anonymous (call->kind)
      && !dvmd_controller_authenticate (self->controller, source, call->nspace, call->rank))
    dvmd_controller_answer (self->controller, call->id, DVMD_PMIX_ERR_NO_PERMISSIONS, NULL);
  else if (type == NULL || !g_variant_is_of_type (request, G_VARIANT_TYPE (type->request)))
    {
      g_message ("Agent %u sends a call %u of the type %s, which is unknown", source, kind,
                 g_variant_get_type_string (request));
      dvmd_controller_answer (self->controller, call->id, DVMD_PMIX_ERR_NOT_SUPPORTED, NULL);
    }
  else
    dvmd_services_call (self->controller, call, request);
}

/* ---- who they are ---- */

/* As an agent names the tools of its node. */
static gboolean
is_tool_of (DvmdController *self, guint agent, const char *nspace)
{
  g_autofree char *prefix = g_strdup_printf ("%s@tool-%u-", dvmd_controller_get_parts (self)->nspace, agent);

  return g_str_has_prefix (nspace, prefix);
}

guint
dvmd_controller_find_tool (DvmdController *self, const char *nspace)
{
  const char *number = strstr (nspace, "@tool-");
  guint64 agent = number != NULL ? g_ascii_strtoull (number + strlen ("@tool-"), NULL, 10) : 0;

  return agent > 0 && agent < G_MAXUINT && is_tool_of (self, (guint)agent, nspace)
                 && !dvmd_controller_is_lost (self, (guint)agent)
             ? (guint)agent
             : 0;
}

gboolean
dvmd_controller_has_tool (DvmdController *self, const char *nspace)
{
  return g_hash_table_contains (get_requesters (self)->tools, nspace);
}

gboolean
dvmd_controller_authenticate (DvmdController *self, guint agent, const char *nspace, guint32 rank)
{
  DvmdJob *job = dvmd_core_find_job (dvmd_controller_get_core (self), nspace);
  DvmdProcTable *procs = job != NULL ? dvmd_job_get_procs (job) : NULL;

  if (procs != NULL && rank < procs->n_rows && dvmd_proc_table_row (procs, rank)->node == agent)
    return TRUE;
  if (is_tool_of (self, agent, nspace))
    {
      g_hash_table_insert (get_requesters (self)->tools, g_strdup (nspace), GUINT_TO_POINTER (agent));
      return TRUE;
    }
  g_message ("Agent %u speaks for %s.%u, who is not on its node", agent, nspace, rank);
  return FALSE;
}

guint
dvmd_controller_find_agent (DvmdController *self, const char *nspace, guint32 rank)
{
  DvmdJob *job = dvmd_core_find_job (dvmd_controller_get_core (self), nspace);
  DvmdProcTable *procs = job != NULL ? (DvmdProcTable *)dvmd_job_get_procs (job) : NULL;

  if (job == NULL)
    return GPOINTER_TO_UINT (g_hash_table_lookup (get_requesters (self)->tools, nspace));
  return procs != NULL && rank < procs->n_rows ? dvmd_proc_table_row (procs, rank)->node : 0;
}

void
dvmd_controller_add_agents_of_tools (DvmdController *self, GHashTable *agents)
{
  GHashTableIter iter;
  gpointer agent;

  g_hash_table_iter_init (&iter, get_requesters (self)->tools);
  while (g_hash_table_iter_next (&iter, NULL, &agent))
    g_hash_table_add (agents, agent);
}

/* ---- they come and go ---- */

static void
end_tool (Requesters *requesters, const char *nspace)
{
  DvmdController *self = requesters->controller;
  g_autofree char *kept = g_strdup (nspace);

  g_debug ("The tool %s has gone", kept);
  g_hash_table_remove (requesters->tools, kept);
  dvmd_services_requester_gone (self, kept);
  dvmd_core_namespace_ended (dvmd_controller_get_core (self), kept);
}

static void
handle_tool_came (gpointer service, guint rank, GVariant *body)
{
  Requesters *self = service;
  const char *nspace;

  g_variant_get (body, "(&s)", &nspace);
  if (is_tool_of (self->controller, rank, nspace))
    g_hash_table_insert (self->tools, g_strdup (nspace), GUINT_TO_POINTER (rank));
}

static void
handle_tool_gone (gpointer service, guint rank, GVariant *body)
{
  const char *nspace;

  g_variant_get (body, "(&s)", &nspace);
  if (is_tool_of (((Requesters *)service)->controller, rank, nspace))
    end_tool (service, nspace);
}

static gboolean
is_of_agent (gpointer key, gpointer value, gpointer user_data)
{
  return ((const DvmdCall *)value)->agent == GPOINTER_TO_UINT (user_data);
}

/* The tools that were connected to it have gone, too; nobody there can be answered. */
static void
agent_gone (gpointer service, guint rank)
{
  Requesters *self = service;
  g_autoptr (GPtrArray) gone = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer nspace;
  gpointer agent;

  g_hash_table_foreach_remove (self->open, is_of_agent, GUINT_TO_POINTER (rank));
  g_hash_table_iter_init (&iter, self->tools);
  while (g_hash_table_iter_next (&iter, &nspace, &agent))
    if (GPOINTER_TO_UINT (agent) == rank)
      g_ptr_array_add (gone, g_strdup (nspace));
  for (guint i = 0; i < gone->len; i++)
    end_tool (self, g_ptr_array_index (gone, i));
}

/* ---- the service ---- */

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  Requesters *self = service;

  dvmd_services_add_number (statistics, "calls-open", g_hash_table_size (self->open));
  dvmd_services_add_number (statistics, "tools", g_hash_table_size (self->tools));
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Requesters *self = g_new0 (Requesters, 1);

  self->controller = controller;
  self->tools = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->open = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, (GDestroyNotify)dvmd_call_unref);
  return self;
}

static void
requesters_free (gpointer service)
{
  Requesters *self = service;

  g_hash_table_unref (self->tools);
  g_hash_table_unref (self->open);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_CALL, handle_call },
  { DVMD_MSG_TOOL_CAME, handle_tool_came },
  { DVMD_MSG_TOOL_GONE, handle_tool_gone },
  { 0 },
};

const DvmdService dvmd_requesters_service = {
  .name = "requesters",
  .create = create,
  .free = requesters_free,
  .handlers = handlers,
  .agent_gone = agent_gone,
  .add_statistics = add_statistics,
};
