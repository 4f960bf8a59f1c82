/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Requests of clients of a node's PMIx servers are passed on, and answers and events passed back.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-servers-private.h"

#include "dvm.h"

/* ---- answers to clients ---- */

static void
dvmd_pmix_servers_complete_fence (DvmdPmix *pmix, guint64 token, int status, GBytes *data)
{
  DvmdPmixServers *self = DVMD_PMIX_SERVERS (pmix);
  DvmdPmixServerProcess *server;

  if (dvmd_pmix_collectives_complete (self, token, status, data))
    return;
  server = dvmd_pmix_servers_narrow (self, &token);
  if (server != NULL)
    dvmd_pmix_remote_say (server->remote, DVMD_PMIX_MSG_FENCE_DONE,
                          g_variant_new ("(ti@ay)", token, status, dvmd_pmix_bytes_to_variant (data)));
}

static void
dvmd_pmix_servers_complete_connect (DvmdPmix *pmix, guint64 token, int status)
{
  dvmd_pmix_collectives_complete (DVMD_PMIX_SERVERS (pmix), token, status, NULL);
}

static void
dvmd_pmix_servers_complete_modex (DvmdPmix *pmix, guint64 token, int status, GBytes *data)
{
  DvmdPmixServerProcess *server = dvmd_pmix_servers_narrow (DVMD_PMIX_SERVERS (pmix), &token);

  if (server != NULL)
    dvmd_pmix_remote_say (server->remote, DVMD_PMIX_MSG_MODEX_DONE,
                          g_variant_new ("(ti@ay)", token, status, dvmd_pmix_bytes_to_variant (data)));
}

typedef struct
{
  guint id; /* of the server */
  guint64 token;
  int status;
  GVariant *answer; /* (nullable) */
} CallAnswer;

static void
say_answer (DvmdPmixServers *self, gpointer user_data)
{
  g_autofree CallAnswer *answer = user_data;
  g_autoptr (GVariant) value = answer->answer;
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find (self, answer->id);

  if (server != NULL)
    dvmd_pmix_remote_say (
        server->remote, DVMD_PMIX_MSG_ANSWER,
        g_variant_new ("(tim@v)", answer->token, answer->status, value != NULL ? g_variant_new_variant (value) : NULL));
}

/* No other kind of call has such an answer. */
static gboolean
is_of_group (GVariant *answer)
{
  return answer != NULL
         && g_variant_is_of_type (answer, G_VARIANT_TYPE (dvmd_call_kind_get_type (DVMD_CALL_GROUP)->answer));
}

/* The library makes a place for what the members of a group have for one another, where it knows their jobs. */
static void
dvmd_pmix_servers_complete_call (DvmdPmix *pmix, guint64 token, int status, GVariant *answer)
{
  DvmdPmixServers *self = DVMD_PMIX_SERVERS (pmix);
  DvmdPmixServerProcess *server = dvmd_pmix_servers_narrow (self, &token);
  g_autofree const char **nspaces = NULL;
  CallAnswer *one;

  if (server == NULL)
    return;
  one = g_new (CallAnswer, 1);
  *one = (CallAnswer){ server->id, token, status, answer != NULL ? g_variant_ref (answer) : NULL };
  if (!is_of_group (answer))
    {
      say_answer (self, one);
      return;
    }
  g_variant_get_child (answer, 1, "^a&s", &nspaces);
  dvmd_pmix_servers_ensure_known (self, server, nspaces, say_answer, one);
}

/* The host has been told of a server that has ended, and expects nothing of it any more. */
static void
dvmd_pmix_servers_deliver_output (DvmdPmix *pmix, guint id, const DvmdPmixProc *source, guint stream, GBytes *bytes)
{
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find (DVMD_PMIX_SERVERS (pmix), id);

  if (server != NULL)
    dvmd_pmix_remote_say (
        server->remote, DVMD_PMIX_MSG_OUTPUT,
        g_variant_new ("(suu@ay)", source->nspace, source->rank, stream, dvmd_pmix_bytes_to_variant (bytes)));
}

/* ---- data of ranks ---- */

static void
on_fetched (GVariant *body, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) data = NULL;
  const char *text;
  gint32 code;

  if (body == NULL)
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_FAILED, "The PMIx server of that rank has ended");
      return;
    }
  g_variant_get (body, "(ti&s@ay)", NULL, &code, &text, &data);
  if (code >= 0)
    g_task_return_error (task, dvmd_pmix_servers_make_error (code, text));
  else
    g_task_return_pointer (task, g_variant_get_data_as_bytes (data), (GDestroyNotify)g_bytes_unref);
}

static void
dvmd_pmix_servers_fetch_modex_async (DvmdPmix *pmix, const char *nspace, guint32 rank, GAsyncReadyCallback callback,
                                     gpointer user_data)
{
  DvmdPmixServers *self = DVMD_PMIX_SERVERS (pmix);
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find_home (self, nspace);

  if (server == NULL)
    g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_FOUND, "The PMIx server knows no job %s", nspace);
  else
    dvmd_pmix_remote_say (server->remote, DVMD_PMIX_MSG_FETCH,
                          g_variant_new ("(tsu)",
                                         dvmd_pmix_remote_expect (server->remote, on_fetched, g_steal_pointer (&task)),
                                         nspace, rank));
}

static GBytes *
dvmd_pmix_servers_fetch_modex_finish (DvmdPmix *pmix, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

typedef struct
{
  guint64 token; /* for the host */
  char *nspace;
  guint32 rank;
  char *key;
  guint32 timeout;
} ModexQuestion;

static void
modex_question_free (ModexQuestion *self)
{
  g_free (self->nspace);
  g_free (self->key);
  g_free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (ModexQuestion, modex_question_free)

static void
on_own_fetched (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (ModexQuestion) question = user_data;
  g_autoptr (GBytes) data = dvmd_pmix_servers_fetch_modex_finish (DVMD_PMIX (source), result, NULL);

  dvmd_pmix_servers_complete_modex (DVMD_PMIX (source), question->token,
                                    data != NULL ? DVMD_PMIX_SUCCESS : DVMD_PMIX_ERR_NOT_FOUND, data);
}

static void
ask_host (DvmdPmixServers *self, const ModexQuestion *question)
{
  const char *key = question->key[0] != '\0' ? question->key : NULL;

  if (!dvmd_pmix_host_direct_modex (self->host, question->token, question->nspace, question->rank, key,
                                    question->timeout))
    dvmd_pmix_servers_complete_modex (DVMD_PMIX (self), question->token, DVMD_PMIX_ERR_NOT_SUPPORTED, NULL);
}

/* The server that asks knows the job: its library could not place the answer otherwise. */
static void
ask_for_modex (DvmdPmixServers *self, gpointer user_data)
{
  g_autoptr (ModexQuestion) question = user_data;
  DvmdPmixServersJob *job = dvmd_pmix_servers_find_job (self, question->nspace);
  guint64 token = question->token;

  if (self->host == NULL || dvmd_pmix_servers_narrow (self, &token) == NULL)
    return;
  if (job == NULL || job->home == 0 || !dvmd_pmix_job_has_local_rank (job->job, question->rank))
    ask_host (self, question);
  /* Data of the job as a whole are in its registration. */
  else if (question->rank == DVMD_PMIX_RANK_WILDCARD)
    dvmd_pmix_servers_complete_modex (DVMD_PMIX (self), question->token, DVMD_PMIX_SUCCESS, NULL);
  else
    {
      const char *nspace = question->nspace;
      guint32 rank = question->rank;

      dvmd_pmix_servers_fetch_modex_async (DVMD_PMIX (self), nspace, rank, on_own_fetched, g_steal_pointer (&question));
    }
}

static void
take_modex (DvmdPmixServerProcess *server, GVariant *body)
{
  ModexQuestion *question = g_new0 (ModexQuestion, 1);
  const char *nspaces[] = { NULL, NULL };

  g_variant_get (body, "(tsusu)", &question->token, &question->nspace, &question->rank, &question->key,
                 &question->timeout);
  question->token = dvmd_pmix_servers_widen (server, question->token);
  nspaces[0] = question->nspace;
  dvmd_pmix_servers_ensure_known (server->pool, server, nspaces, ask_for_modex, question);
}

/* ---- what clients tell ---- */

/* job (nullable) */
static void
note_connected (DvmdPmixServers *self, DvmdPmixServersJob *job, const char *nspace, guint32 rank)
{
  if (job != NULL)
    g_hash_table_add (job->connected, GUINT_TO_POINTER (rank));
  dvmd_pmix_host_connected (self->host, nspace, rank);
}

/* By g_str_hash() of its namespace; (nullable) */
static DvmdPmixServersJob *
find_job_by_hash (const DvmdPmixServerProcess *server, guint hash)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, server->pool->jobs);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      DvmdPmixServersJob *job = value;

      if (job->home == server->id && g_str_hash (job->job->nspace) == hash)
        return job;
    }
  return NULL;
}

/* Its library answers clients before it can tell of them. */
void
dvmd_pmix_servers_hear_rest (DvmdPmixServerProcess *server)
{
  DvmdPmixServers *self = server->pool;
  guint hash;
  guint32 rank;

  while (dvmd_pmix_counter_next_client (server->connections, &server->n_connected, &hash, &rank))
    {
      DvmdPmixServersJob *job = find_job_by_hash (server, hash);

      if (job != NULL)
        note_connected (self, job, job->job->nspace, rank);
    }
}

static void
take_proc (DvmdPmixServerProcess *server, DvmdPmixMessageKind kind, GVariant *body)
{
  DvmdPmixServers *self = server->pool;
  DvmdPmixServersJob *job;
  const char *nspace;
  guint32 rank;

  g_variant_get (body, "(&su)", &nspace, &rank);
  job = dvmd_pmix_servers_find_job (self, nspace);
  switch (kind)
    {
    case DVMD_PMIX_MSG_CONNECTED:
      server->n_connected++;
      note_connected (self, job, nspace, rank);
      break;
    case DVMD_PMIX_MSG_FINALIZED:
      if (job != NULL)
        g_hash_table_remove (job->connected, GUINT_TO_POINTER (rank));
      dvmd_pmix_host_finalized (self->host, nspace, rank);
      break;
    default:
      dvmd_pmix_host_ready_for_debug (self->host, nspace, rank);
      break;
    }
}

static void
take_tool (DvmdPmixServerProcess *server, GVariant *body)
{
  DvmdPmixServersTool *tool = g_new0 (DvmdPmixServersTool, 1);

  g_variant_get (body, "(su)", &tool->nspace, &tool->rank);
  tool->home = server->id;
  g_ptr_array_add (server->pool->tools, tool);
  server->n_tools++;
  dvmd_pmix_host_tool_named (server->pool->host, tool->nspace, tool->rank);
}

static gboolean
drop_tool (DvmdPmixServerProcess *server, const char *nspace, guint32 rank)
{
  GPtrArray *tools = server->pool->tools;

  for (guint i = 0; i < tools->len; i++)
    {
      DvmdPmixServersTool *tool = g_ptr_array_index (tools, i);

      if (tool->home != server->id || tool->rank != rank || !g_str_equal (tool->nspace, nspace))
        continue;
      g_ptr_array_remove_index_fast (tools, i);
      server->n_tools--;
      return TRUE;
    }
  return FALSE;
}

static void
take_lost (DvmdPmixServerProcess *server, GVariant *body)
{
  DvmdPmixServers *self = server->pool;
  DvmdPmixServersJob *job;
  const char *nspace;
  guint32 rank;
  gboolean was_tool;

  g_variant_get (body, "(&su)", &nspace, &rank);
  was_tool = drop_tool (server, nspace, rank);
  job = was_tool ? NULL : dvmd_pmix_servers_find_job (self, nspace);
  dvmd_pmix_host_lost (self->host, nspace, rank);
  if (job != NULL && g_hash_table_contains (job->connected, GUINT_TO_POINTER (rank)))
    dvmd_pmix_servers_taint (server, nspace);
  else if (was_tool)
    dvmd_pmix_servers_check_idle (server);
}

static void
take_abort (DvmdPmixServerProcess *server, GVariant *body)
{
  g_autoptr (GVariant) rows = NULL;
  g_autofree DvmdPmixProc *targets = NULL;
  const char *message;
  const char *nspace;
  guint32 rank;
  gint32 status;
  guint n;

  g_variant_get (body, "(&sui&s@a(su))", &nspace, &rank, &status, &message, &rows);
  targets = dvmd_pmix_procs_from_variant (rows, &n);
  dvmd_pmix_host_abort (server->pool->host, nspace, rank, status, message[0] != '\0' ? message : NULL, targets, n);
}

static void
take_call (DvmdPmixServerProcess *server, GVariant *body)
{
  DvmdPmixServers *self = server->pool;
  g_autoptr (GVariant) request = NULL;
  const DvmdCallType *type;
  const char *nspace;
  guint64 token;
  guint32 kind;
  guint32 rank;

  g_variant_get (body, "(tu&suv)", &token, &kind, &nspace, &rank, &request);
  type = dvmd_call_kind_get_type (kind);
  token = dvmd_pmix_servers_widen (server, token);
  if (type == NULL || !g_variant_is_of_type (request, G_VARIANT_TYPE (type->request))
      || !dvmd_pmix_host_call (self->host, token, (DvmdCallKind)kind, nspace, rank, request))
    dvmd_pmix_servers_complete_call (DVMD_PMIX (self), token, DVMD_PMIX_ERR_NOT_SUPPORTED, NULL);
}

static void
take_taken (DvmdPmixServerProcess *server, GVariant *body)
{
  guint32 n_pieces;

  g_variant_get (body, "(u)", &n_pieces);
  dvmd_pmix_host_output_taken (server->pool->host, server->id, n_pieces);
}

void
dvmd_pmix_servers_take_message (DvmdPmixRemote *remote, DvmdPmixMessageKind kind, GVariant *body, gpointer user_data)
{
  DvmdPmixServerProcess *server = user_data;

  if (server->pool->host == NULL)
    return;
  switch (kind)
    {
    case DVMD_PMIX_MSG_CONNECTED:
    case DVMD_PMIX_MSG_FINALIZED:
    case DVMD_PMIX_MSG_WAITS:
      take_proc (server, kind, body);
      break;
    case DVMD_PMIX_MSG_LOST:
      take_lost (server, body);
      break;
    case DVMD_PMIX_MSG_TOOL:
      take_tool (server, body);
      break;
    case DVMD_PMIX_MSG_ABORT:
      take_abort (server, body);
      break;
    case DVMD_PMIX_MSG_FENCE:
    case DVMD_PMIX_MSG_CONNECT:
      dvmd_pmix_collectives_join (server->pool, server, kind, body);
      break;
    case DVMD_PMIX_MSG_MODEX:
      take_modex (server, body);
      break;
    case DVMD_PMIX_MSG_CALL:
      take_call (server, body);
      break;
    case DVMD_PMIX_MSG_TAKEN:
      take_taken (server, body);
      break;
    case DVMD_PMIX_MSG_UNWANTED:
      dvmd_pmix_host_output_unwanted (server->pool->host, server->id, FALSE);
      break;
    default:
      g_message ("%s is nothing that a PMIx server says", dvmd_pmix_message_name (kind));
      break;
    }
}

/* ---- events ---- */

/* (nullable): nobody is told */
static DvmdPmixServerProcess *
find_server_of (DvmdPmixServers *self, const DvmdPmixProc *target)
{
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find_home (self, target->nspace);

  for (guint i = 0; server == NULL && i < self->tools->len; i++)
    {
      const DvmdPmixServersTool *tool = g_ptr_array_index (self->tools, i);

      if (g_str_equal (tool->nspace, target->nspace))
        server = dvmd_pmix_servers_find (self, tool->home);
    }
  return server;
}

static void
tell_event (DvmdPmixServerProcess *server, int status, const DvmdPmixProc *source, GVariant *targets, GVariant *details)
{
  GVariant *from = source != NULL ? g_variant_new ("(su)", source->nspace, source->rank) : NULL;

  dvmd_pmix_remote_say (server->remote, DVMD_PMIX_MSG_EVENT,
                        g_variant_new ("(im@(su)@a(su)m@a{sv})", status, from, targets, details));
}

static void
dvmd_pmix_servers_notify_event (DvmdPmix *pmix, int status, const DvmdPmixProc *source, const DvmdPmixProc *targets,
                                guint n_targets, GVariant *details)
{
  DvmdPmixServers *self = DVMD_PMIX_SERVERS (pmix);
  g_autoptr (GVariant) owned = details != NULL ? g_variant_ref_sink (details) : NULL;
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->servers);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      g_autofree DvmdPmixProc *theirs = g_new0 (DvmdPmixProc, MAX (n_targets, 1));
      guint n = 0;

      for (guint i = 0; i < n_targets; i++)
        if (find_server_of (self, &targets[i]) == value)
          theirs[n++] = targets[i];
      if (n > 0)
        tell_event (value, status, source, dvmd_pmix_procs_to_variant (theirs, n), owned);
    }
}

void
dvmd_pmix_servers_init_clients (DvmdPmixInterface *iface)
{
  iface->complete_fence = dvmd_pmix_servers_complete_fence;
  iface->complete_direct_modex = dvmd_pmix_servers_complete_modex;
  iface->fetch_modex_async = dvmd_pmix_servers_fetch_modex_async;
  iface->fetch_modex_finish = dvmd_pmix_servers_fetch_modex_finish;
  iface->complete_call = dvmd_pmix_servers_complete_call;
  iface->deliver_output = dvmd_pmix_servers_deliver_output;
  iface->complete_connect = dvmd_pmix_servers_complete_connect;
  iface->notify_event = dvmd_pmix_servers_notify_event;
}
