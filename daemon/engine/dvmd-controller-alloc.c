/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Processes and tools that ask for nodes: from the agent that hosts them to the one function that changes the size of
 * the DVM, and back; the event at the end goes to that process alone.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <string.h>
#include <unistd.h>

#include "dvmd-controller-elastic.h"
#include "dvmd-controller-private.h"
#include "dvmd-core-sessions.h"

/* Somebody who waits for an answer or an event. */
typedef struct
{
  char *nspace;
  guint32 rank;
  guint agent;
  guint n_pending;
} Asker;

/* One request. */
typedef struct
{
  DvmdController *controller;
  char *name; /* of the asker */
  guint agent;
  guint64 token;
} Ask;

static void
asker_free (gpointer data)
{
  Asker *asker = data;

  g_free (asker->nspace);
  g_free (asker);
}

GHashTable *
dvmd_controller_askers_new (void)
{
  return g_hash_table_new_full (g_str_hash, g_str_equal, g_free, asker_free);
}

static void
ask_free (Ask *ask)
{
  g_object_unref (ask->controller);
  g_free (ask->name);
  g_free (ask);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Ask, ask_free)

/* A name belongs to one process or tool on one node, for ever. */
static void
add_asker (DvmdController *self, const char *name, const char *nspace, guint32 rank, guint agent)
{
  Asker *asker = g_hash_table_lookup (self->askers, name);

  if (asker == NULL)
    {
      asker = g_new0 (Asker, 1);
      asker->nspace = g_strdup (nspace);
      asker->rank = rank;
      asker->agent = agent;
      g_hash_table_insert (self->askers, g_strdup (name), asker);
    }
  asker->n_pending++;
}

/* As an agent names the tools of its node. */
static gboolean
is_tool_of (DvmdController *self, guint agent, const char *nspace)
{
  g_autofree char *prefix = g_strdup_printf ("%s@tool-%u-", self->nspace, agent);

  return g_str_has_prefix (nspace, prefix);
}

gboolean
dvmd_controller_hear (DvmdController *self, guint agent, const char *nspace, guint32 rank)
{
  DvmdJob *job = dvmd_core_find_job (self->core, nspace);
  DvmdProcTable *procs = job != NULL ? dvmd_job_get_procs (job) : NULL;

  if (procs != NULL && rank < procs->n_rows && dvmd_proc_table_row (procs, rank)->node == agent)
    return TRUE;
  if (is_tool_of (self, agent, nspace))
    {
      g_hash_table_insert (self->tools, g_strdup (nspace), GUINT_TO_POINTER (agent));
      return TRUE;
    }
  g_message ("Agent %u speaks for %s.%u, who is not on its node", agent, nspace, rank);
  return FALSE;
}

/* It waits for one less. */
static void
remove_asker (DvmdController *self, const char *name)
{
  Asker *asker = g_hash_table_lookup (self->askers, name);

  if (asker != NULL && --asker->n_pending == 0)
    g_hash_table_remove (self->askers, name);
}

static void
answer (Ask *ask, GVariant *result)
{
  const char *alloc_id = "";
  const char *req_id = "";
  guint32 session = 0;
  guint32 campaign = 0;

  g_variant_lookup (result, "alloc-id", "&s", &alloc_id);
  g_variant_lookup (result, "req-id", "&s", &req_id);
  g_variant_lookup (result, "session", "u", &session);
  g_variant_lookup (result, "campaign", "u", &campaign);
  dvmd_controller_send (ask->controller, ask->agent, DVMD_MSG_ALLOCATED,
                        g_variant_new ("(tissu)", ask->token, DVMD_PMIX_SUCCESS, alloc_id, req_id, session));
  if (campaign == 0)
    remove_asker (ask->controller, ask->name);
}

static void
refuse (DvmdController *self, guint agent, guint64 token, int status)
{
  dvmd_controller_send (self, agent, DVMD_MSG_ALLOCATED, g_variant_new ("(tissu)", token, status, "", "", 0));
}

static void
on_size_changed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Ask) ask = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) answered = dvmd_controller_change_size_finish (ask->controller, result, &error);

  if (answered != NULL)
    {
      answer (ask, answered);
      return;
    }
  /* PMIx hands on a number alone. */
  g_message ("%s asks for nodes: %s", ask->name, error->message);
  refuse (ask->controller, ask->agent, ask->token, dvmd_pmix_status_from_error (error));
  remove_asker (ask->controller, ask->name);
}

void
dvmd_controller_handle_allocate (DvmdController *self, guint rank, GVariant *body)
{
  g_autoptr (GVariant) request = NULL;
  g_autoptr (DvmdRequester) requester = NULL;
  const char *directive;
  const char *nspace;
  guint64 token;
  guint32 asker;
  guint32 pid;
  Ask *ask;

  g_variant_get (body, "(t&suu&s@a{sv})", &token, &nspace, &asker, &pid, &directive, &request);
  if (!dvmd_controller_hear (self, rank, nspace, asker))
    {
      refuse (self, rank, token, DVMD_PMIX_ERR_NO_PERMISSIONS);
      return;
    }
  ask = g_new0 (Ask, 1);
  ask->token = token;
  ask->controller = g_object_ref (self);
  ask->name = g_strdup_printf ("pmix:%s.%u", nspace, asker);
  ask->agent = rank;
  add_asker (self, ask->name, nspace, asker, rank);
  /* Everybody whom a node's server lets in belongs to the DVM's own user. */
  requester = dvmd_requester_new (ask->name, geteuid (), pid);
  dvmd_controller_change_size_async (self, directive, request, requester, FALSE, NULL, on_size_changed, ask);
}

void
dvmd_controller_campaign_ended (gpointer world, DvmdCampaign *campaign)
{
  DvmdController *self = world;
  const DvmdRequester *requester = dvmd_campaign_get_requester (campaign);
  DvmCampaign *record = dvmd_campaign_get_record (campaign);
  gboolean failed = dvmd_campaign_get_state (campaign) == DVM_CAMPAIGN_STATE_FAILED;
  const Asker *asker = requester != NULL ? g_hash_table_lookup (self->askers, requester->name) : NULL;

  if (asker == NULL)
    return;
  if (self->pmix_events)
    dvmd_controller_send (
        self, asker->agent, DVMD_MSG_SIZE_EVENT,
        g_variant_new ("(suissis)", asker->nspace, asker->rank, failed ? DVMD_PMIX_ERR_DVM_MOD : DVMD_PMIX_DVM_IS_READY,
                       dvm_campaign_get_alloc_id (record), dvm_campaign_get_request_id (record),
                       failed ? dvm_campaign_get_status (record) : 0, failed ? dvm_campaign_get_reason (record) : ""));
  remove_asker (self, requester->name);
}

/* ---- limits of time ---- */

/* Where a process or tool is: 0: nowhere any more. */
static guint
find_agent (DvmdController *self, const char *nspace, guint32 rank)
{
  DvmdJob *job = dvmd_core_find_job (self->core, nspace);
  DvmdProcTable *procs = job != NULL ? (DvmdProcTable *)dvmd_job_get_procs (job) : NULL;

  if (job == NULL)
    return GPOINTER_TO_UINT (g_hash_table_lookup (self->tools, nspace));
  return procs != NULL && rank < procs->n_rows ? dvmd_proc_table_row (procs, rank)->node : 0;
}

void
dvmd_controller_warn_session (gpointer world, DvmdSession *session, guint seconds_left)
{
  DvmdController *self = world;
  g_autofree char *nspace = NULL;
  guint32 rank;
  guint agent;

  if (!self->pmix_events || !dvmd_requester_read_proc (dvmd_session_get_requester (session), &nspace, &rank))
    return;
  agent = find_agent (self, nspace, rank);
  if (agent != 0)
    dvmd_controller_send (self, agent, DVMD_MSG_ALLOC_WARNING,
                          g_variant_new ("(sussu)", nspace, rank, dvmd_session_get_alloc_id (session),
                                         dvm_session_get_request_id (dvmd_session_get_record (session)), seconds_left));
}

/* ---- tools that go ---- */

static void
end_tool (DvmdController *self, const char *nspace)
{
  g_autofree char *kept = g_strdup (nspace);

  g_debug ("The tool %s has gone", kept);
  g_hash_table_remove (self->tools, kept);
  dvmd_controller_withdraw_requests (self, kept);
  dvmd_controller_tool_ended (self, kept);
  dvmd_controller_stop_forwarding (self, kept);
  dvmd_core_namespace_ended (self->core, kept);
}

void
dvmd_controller_handle_tool_gone (DvmdController *self, guint rank, GVariant *body)
{
  const char *nspace;

  g_variant_get (body, "(&s)", &nspace);
  if (is_tool_of (self, rank, nspace))
    end_tool (self, nspace);
}

void
dvmd_controller_end_tools (DvmdController *self, guint rank)
{
  g_autoptr (GPtrArray) gone = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer nspace;
  gpointer agent;

  g_hash_table_iter_init (&iter, self->tools);
  while (g_hash_table_iter_next (&iter, &nspace, &agent))
    if (GPOINTER_TO_UINT (agent) == rank)
      g_ptr_array_add (gone, g_strdup (nspace));
  for (guint i = 0; i < gone->len; i++)
    end_tool (self, g_ptr_array_index (gone, i));
}

void
dvmd_controller_warn_job (gpointer world, DvmdJob *job, DvmdNode *node, gint64 when)
{
  DvmdController *self = world;

  dvmd_controller_send (self, node->rank, DVMD_MSG_WARN,
                        g_variant_new ("(ux)", dvmd_job_get_id (job), when - dvmd_clock_monotonic (self->clock)));
}
