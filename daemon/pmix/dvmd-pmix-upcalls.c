/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The upcalls of libpmix are copied on its thread and posted to the main context.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-upcalls.h"

#include "dvmd-log.h"
#include "dvmd-pmix-alloc.h"
#include "dvmd-pmix-control.h"
#include "dvmd-pmix-credentials.h"
#include "dvmd-pmix-events.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-input.h"
#include "dvmd-pmix-log.h"
#include "dvmd-pmix-monitor.h"
#include "dvmd-pmix-modex.h"
#include "dvmd-pmix-output.h"
#include "dvmd-pmix-query.h"
#include "dvmd-pmix-session.h"
#include "dvmd-pmix-spawn.h"
#include "dvmd-pmix-tools.h"
#include "dvmd-pmix-upcall.h"
#include "dvmd-pmix-upcalls-data.h"

#include <stdlib.h>
#include <string.h>

/*
 * PMIx calls the module's functions on its own thread and without a user pointer. Each captures its arguments into an
 * Upcall, posts it to the main context and does nothing else; on_*() below run there.
 */

typedef struct
{
  DvmdPmixItem item;
  void (*func) (DvmdPmixServer *server, gpointer upcall);
  pmix_proc_t proc;
  int status;
  char *text; /* message of an abort, key of a direct modex */
  pmix_proc_t *procs;
  guint n_procs;
  void *data; /* from malloc */
  gsize size;
  gboolean collect;
  guint timeout;
  pmix_modex_cbfunc_t callback;
  pmix_info_cbfunc_t info_callback;
  pmix_tool_connection_cbfunc_t tool_callback;
  void *callback_data;
  const pmix_info_t *info; /* the library's, until it is called back */
  gsize n_info;
  pmix_alloc_directive_t directive;
  const pmix_query_t *queries; /* likewise */
  const pmix_app_t *apps;
  gsize n_apps;
  pmix_spawn_cbfunc_t spawn_callback;
} Upcall;

/* Frees what malloc gave, for GBytes. */
static void
free_data (gpointer data)
{
  free (data);
}

static void
upcall_free (DvmdPmixItem *item)
{
  Upcall *self = (Upcall *)item;

  g_free (self->text);
  g_free (self->procs);
  free (self->data);
  g_free (self);
}

static void
upcall_run (DvmdPmixItem *item, gpointer owner)
{
  Upcall *self = (Upcall *)item;
  g_autoptr (DvmdPmixServer) server = g_object_ref (owner);

  self->func (server, self);
  upcall_free (item);
}

static Upcall *
upcall_new (void (*func) (DvmdPmixServer *, gpointer), const pmix_proc_t *proc)
{
  Upcall *self = g_new0 (Upcall, 1);

  self->item.run = upcall_run;
  self->item.free = upcall_free;
  self->func = func;
  if (proc != NULL)
    self->proc = *proc;
  return self;
}

static void
upcall_post (Upcall *self)
{
  dvmd_pmix_upcall_post_item (&self->item);
}

static void
capture_procs (Upcall *self, const pmix_proc_t *procs, size_t n)
{
  self->procs = g_memdup2 (procs, n * sizeof *procs);
  self->n_procs = (guint)n;
}

static void
capture_directives (Upcall *self, const pmix_info_t *info, size_t n)
{
  for (size_t i = 0; i < n; i++)
    {
      const pmix_value_t *value = &info[i].value;

      if (g_strcmp0 (info[i].key, PMIX_COLLECT_DATA) == 0)
        self->collect = value->type != PMIX_BOOL || value->data.flag;
      else if (g_strcmp0 (info[i].key, PMIX_TIMEOUT) == 0 && value->type == PMIX_INT)
        self->timeout = (guint)MAX (value->data.integer, 0);
      else if (g_strcmp0 (info[i].key, PMIX_TIMEOUT) == 0 && value->type == PMIX_UINT32)
        self->timeout = value->data.uint32;
#ifdef DVMD_PMIX_HAS_REQUIRED_KEY
      else if (g_strcmp0 (info[i].key, PMIX_REQUIRED_KEY) == 0 && value->type == PMIX_STRING && self->text == NULL)
        self->text = g_strdup (value->data.string);
#endif
    }
}

/* On the main context */

static void
on_connected (DvmdPmixServer *server, gpointer upcall)
{
  const Upcall *self = upcall;

  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, self->proc.nspace, self->proc.rank, "connected");
  dvmd_pmix_server_rank_connected (server, &self->proc);
  dvmd_pmix_host_connected (dvmd_pmix_server_get_host (server), self->proc.nspace, self->proc.rank);
}

static void
on_finalized (DvmdPmixServer *server, gpointer upcall)
{
  const Upcall *self = upcall;

  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, self->proc.nspace, self->proc.rank, "finalized");
  dvmd_pmix_server_rank_left (server, &self->proc);
  /* With 5.0 its library takes one that nobody has launched for a client, and does not tell that its connection ends.
   */
  if (dvmd_pmix_is_tool (self->proc.nspace))
    dvmd_pmix_host_lost (dvmd_pmix_server_get_host (server), self->proc.nspace, self->proc.rank);
  else
    dvmd_pmix_host_finalized (dvmd_pmix_server_get_host (server), self->proc.nspace, self->proc.rank);
}

static void
on_waits (DvmdPmixServer *server, gpointer upcall)
{
  const Upcall *self = upcall;

  g_debug ("%s.%u: ready for a debugger", self->proc.nspace, self->proc.rank);
  dvmd_pmix_host_ready_for_debug (dvmd_pmix_server_get_host (server), self->proc.nspace, self->proc.rank);
}

static void
on_lost (DvmdPmixServer *server, gpointer upcall)
{
  const Upcall *self = upcall;

  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, self->proc.nspace, self->proc.rank, "connection lost");
  dvmd_pmix_server_rank_left (server, &self->proc);
  dvmd_pmix_host_lost (dvmd_pmix_server_get_host (server), self->proc.nspace, self->proc.rank);
}

static DvmdPmixProc *
make_procs (const Upcall *self)
{
  DvmdPmixProc *procs = g_new0 (DvmdPmixProc, self->n_procs);

  for (guint i = 0; i < self->n_procs; i++)
    {
      procs[i].nspace = self->procs[i].nspace;
      procs[i].rank = self->procs[i].rank;
    }
  return procs;
}

static void
on_abort (DvmdPmixServer *server, gpointer upcall)
{
  const Upcall *self = upcall;
  g_autofree DvmdPmixProc *procs = make_procs (self);

  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, self->proc.nspace, self->proc.rank, "abort with %d", self->status);
  if (dvmd_pmix_server_is_among_strangers (server, &self->proc))
    {
      dvmd_pmix_server_expel_strangers (server);
      return;
    }
  dvmd_pmix_host_abort (dvmd_pmix_server_get_host (server), self->proc.nspace, self->proc.rank, self->status,
                        self->text, procs, self->n_procs);
}

static void
on_fence (DvmdPmixServer *server, gpointer upcall)
{
  Upcall *self = upcall;
  g_autofree DvmdPmixProc *procs = make_procs (self);
  g_autoptr (GBytes) data = g_bytes_new_with_free_func (self->data, self->size, free_data, self->data);
  guint64 token = dvmd_pmix_server_add_request (server, NULL, self->callback, self->callback_data);

  self->data = NULL;
  g_debug ("fence %" G_GUINT64_FORMAT " of %u participants, %" G_GSIZE_FORMAT " bytes", token, self->n_procs,
           self->size);
  if (!dvmd_pmix_host_fence (dvmd_pmix_server_get_host (server), token, procs, self->n_procs, data, self->collect,
                             self->timeout))
    dvmd_pmix_server_answer (server, token, PMIX_ERR_NOT_SUPPORTED, NULL);
}

static void
on_direct_modex (DvmdPmixServer *server, gpointer upcall)
{
  const Upcall *self = upcall;
  guint64 token;

  /* When the job is registered that an open question is about, the library asks it again. */
  if (dvmd_pmix_server_has_request (server, self->callback_data))
    return;
  token = dvmd_pmix_server_add_request (server, self->proc.nspace, self->callback, self->callback_data);
  g_debug ("direct modex %" G_GUINT64_FORMAT " for %s.%u", token, self->proc.nspace, self->proc.rank);
  if (!dvmd_pmix_host_direct_modex (dvmd_pmix_server_get_host (server), token, self->proc.nspace, self->proc.rank,
                                    self->text, self->timeout))
    dvmd_pmix_server_answer (server, token, PMIX_ERR_NOT_SUPPORTED, NULL);
}

static void
on_allocate (DvmdPmixServer *server, gpointer upcall)
{
  const Upcall *self = upcall;

  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, self->proc.nspace, self->proc.rank,
                 "allocation request, directive %u", (guint)self->directive);
  dvmd_pmix_server_allocate (server, &self->proc, self->directive, self->info, self->n_info, self->info_callback,
                             self->callback_data);
}

static void
on_query (DvmdPmixServer *server, gpointer upcall)
{
  const Upcall *self = upcall;

  dvmd_pmix_server_query (server, self->queries, self->n_info, self->info_callback, self->callback_data);
}

static void
on_spawn (DvmdPmixServer *server, gpointer upcall)
{
  const Upcall *self = upcall;

  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, self->proc.nspace, self->proc.rank,
                 "spawn of %" G_GSIZE_FORMAT " applications", self->n_apps);
  dvmd_pmix_server_spawn (server, &self->proc, self->info, self->n_info, self->apps, self->n_apps, self->spawn_callback,
                          self->callback_data);
}

static void
on_control (DvmdPmixServer *server, gpointer upcall)
{
  const Upcall *self = upcall;
  g_autofree DvmdPmixProc *targets = make_procs (self);

  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, self->proc.nspace, self->proc.rank, "control of %u targets",
                 self->n_procs);
  dvmd_pmix_server_control (server, &self->proc, targets, self->n_procs, self->info, self->n_info, self->info_callback,
                            self->callback_data);
}

static void
on_tool_of_rank (DvmdPmixServer *server, gpointer upcall)
{
  Upcall *self = upcall;
  g_autofree char *name = dvmd_pmix_host_tool_connected (dvmd_pmix_server_get_host (server), self->proc.nspace,
                                                         &self->proc.rank);

  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, name, self->proc.rank, "a tool with the environment of %s",
                 self->proc.nspace);
  dvmd_pmix_server_rank_connected (server, &self->proc);
}

static void
on_tool_connected (DvmdPmixServer *server, gpointer upcall)
{
  const Upcall *self = upcall;

  dvmd_pmix_server_connect_tool (server, self->info, self->n_info, self->tool_callback, self->callback_data);
}

/* On PMIx's thread */

/* The status for the library when nothing is left to be waited for. */
static pmix_status_t
done (pmix_op_cbfunc_t callback, void *callback_data)
{
  return PMIX_OPERATION_SUCCEEDED;
}

#ifdef HAVE_PMIX_SERVER_MODULE_CLIENT_CONNECTED2
static pmix_status_t
client_connected2 (const pmix_proc_t *proc, void *object, pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t callback,
                   void *callback_data)
{
  dvmd_pmix_upcall_count_client (proc);
  upcall_post (upcall_new (on_connected, proc));
  return done (callback, callback_data);
}
#else
static pmix_status_t
client_connected (const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t callback, void *callback_data)
{
  dvmd_pmix_upcall_count_client (proc);
  upcall_post (upcall_new (on_connected, proc));
  return done (callback, callback_data);
}
#endif

static pmix_status_t
client_finalized (const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t callback, void *callback_data)
{
  upcall_post (upcall_new (on_finalized, proc));
  return done (callback, callback_data);
}

static pmix_status_t
abort_procs (const pmix_proc_t *proc, void *object, int status, const char message[], pmix_proc_t procs[],
             size_t n_procs, pmix_op_cbfunc_t callback, void *callback_data)
{
  Upcall *upcall = upcall_new (on_abort, proc);

  upcall->status = status;
  upcall->text = g_strdup (message);
  capture_procs (upcall, procs, n_procs);
  upcall_post (upcall);
  return done (callback, callback_data);
}

static pmix_status_t
fence_nb (const pmix_proc_t procs[], size_t n_procs, const pmix_info_t info[], size_t n_info, char *data, size_t n_data,
          pmix_modex_cbfunc_t callback, void *callback_data)
{
  Upcall *upcall = upcall_new (on_fence, NULL);

  capture_procs (upcall, procs, n_procs);
  capture_directives (upcall, info, n_info);
  upcall->data = data; /* ours from here */
  upcall->size = n_data;
  upcall->callback = callback;
  upcall->callback_data = callback_data;
  upcall_post (upcall);
  return PMIX_SUCCESS;
}

static pmix_status_t
direct_modex (const pmix_proc_t *proc, const pmix_info_t info[], size_t n_info, pmix_modex_cbfunc_t callback,
              void *callback_data)
{
  Upcall *upcall = upcall_new (on_direct_modex, proc);

  capture_directives (upcall, info, n_info);
  upcall->callback = callback;
  upcall->callback_data = callback_data;
  if (dvmd_pmix_queue_post_about (dvmd_pmix_upcall_get_queue (), &upcall->item, proc->nspace))
    return PMIX_SUCCESS;
  upcall_free (&upcall->item);
  return PMIX_ERR_NOT_FOUND;
}

static pmix_status_t
allocate_nodes (const pmix_proc_t *proc, pmix_alloc_directive_t directive, const pmix_info_t info[], size_t n_info,
                pmix_info_cbfunc_t callback, void *callback_data)
{
  Upcall *upcall = upcall_new (on_allocate, proc);

  upcall->directive = directive;
  upcall->info = info;
  upcall->n_info = n_info;
  upcall->info_callback = callback;
  upcall->callback_data = callback_data;
  upcall_post (upcall);
  return PMIX_SUCCESS;
}

static pmix_status_t
spawn (const pmix_proc_t *proc, const pmix_info_t info[], size_t n_info, const pmix_app_t apps[], size_t n_apps,
       pmix_spawn_cbfunc_t callback, void *callback_data)
{
  Upcall *upcall = upcall_new (on_spawn, proc);

  upcall->info = info;
  upcall->n_info = n_info;
  upcall->apps = apps;
  upcall->n_apps = n_apps;
  upcall->spawn_callback = callback;
  upcall->callback_data = callback_data;
  upcall_post (upcall);
  return PMIX_SUCCESS;
}

static pmix_status_t
job_control (const pmix_proc_t *proc, const pmix_proc_t targets[], size_t n_targets, const pmix_info_t info[],
             size_t n_info, pmix_info_cbfunc_t callback, void *callback_data)
{
  Upcall *upcall = upcall_new (on_control, proc);

  capture_procs (upcall, targets, n_targets);
  upcall->info = info;
  upcall->n_info = n_info;
  upcall->info_callback = callback;
  upcall->callback_data = callback_data;
  upcall_post (upcall);
  return PMIX_SUCCESS;
}

/* NSPACE@NUMBER, with one of our ranks' environment. */
static gboolean
is_job (const char *nspace)
{
  const char *own = dvmd_pmix_upcall_get_nspace ();
  const gsize length = strlen (own);

  return strncmp (nspace, own, length) == 0 && nspace[length] == '@' && nspace[length + 1] != '\0'
         && strspn (nspace + length + 1, "0123456789") == strlen (nspace + length + 1);
}

/*
 * A tool that a rank has started comes straight to the library, and may be killed with its rank at any moment: it is
 * answered at once, because the library cannot bear to answer one that has gone. It cannot be given another name
 * either.
 */
static void
tool_connected (pmix_info_t *info, size_t n_info, pmix_tool_connection_cbfunc_t callback, void *callback_data)
{
  guint32 rank = 0;
  const char *nspace = dvmd_pmix_read_claim (info, n_info, &rank);
  pmix_proc_t proc;
  Upcall *upcall;

  if (nspace != NULL && is_job (nspace))
    {
      PMIX_LOAD_PROCID (&proc, nspace, rank);
      upcall_post (upcall_new (on_tool_of_rank, &proc));
      callback (PMIX_SUCCESS, &proc, callback_data);
      return;
    }
  upcall = upcall_new (on_tool_connected, NULL);
  upcall->info = info;
  upcall->n_info = n_info;
  upcall->tool_callback = callback;
  upcall->callback_data = callback_data;
  upcall_post (upcall);
}

/* proc: the server itself, whoever asks */
static pmix_status_t
query (pmix_proc_t *proc, pmix_query_t *queries, size_t n_queries, pmix_info_cbfunc_t callback, void *callback_data)
{
  Upcall *upcall = upcall_new (on_query, proc);

  upcall->queries = queries;
  upcall->n_info = n_queries;
  upcall->info_callback = callback;
  upcall->callback_data = callback_data;
  upcall_post (upcall);
  return PMIX_SUCCESS;
}

static pmix_status_t
push_stdin (const pmix_proc_t *source, const pmix_proc_t targets[], size_t n_targets, const pmix_info_t directives[],
            size_t n_directives, const pmix_byte_object_t *data, pmix_op_cbfunc_t callback, void *callback_data)
{
  dvmd_pmix_upcall_input (source, targets, n_targets, directives, n_directives, data, callback, callback_data);
  return PMIX_SUCCESS;
}

/*
 * Events of the system are the host's to tell, and without this nobody can register for them. Who is concerned is told,
 * whoever registers: by the DVM of a node that is lost or leaves, of the others by processes and tools.
 */
static pmix_status_t
register_events (pmix_status_t *codes, size_t n_codes, const pmix_info_t info[], size_t n_info,
                 pmix_op_cbfunc_t callback, void *callback_data)
{
  return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t
deregister_events (pmix_status_t *codes, size_t n_codes, pmix_op_cbfunc_t callback, void *callback_data)
{
  return PMIX_OPERATION_SUCCEEDED;
}

static void
event_lost (size_t registration, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t n_info,
            pmix_info_t *results, size_t n_results, pmix_event_notification_cbfunc_fn_t callback, void *callback_data)
{
  upcall_post (upcall_new (on_lost, source));
  /* Those whose connections broke in the same moment have no event of their own. */
  for (size_t i = 0; i < n_info; i++)
    if (PMIX_CHECK_KEY (&info[i], PMIX_PROCID) && info[i].value.type == PMIX_PROC && info[i].value.data.proc != NULL)
      upcall_post (upcall_new (on_lost, info[i].value.data.proc));
  if (callback != NULL)
    callback (PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, callback_data);
}

/* The library's own handler, which counts what it never set, is not asked. */
static void
event_waits (size_t registration, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t n_info,
             pmix_info_t *results, size_t n_results, pmix_event_notification_cbfunc_fn_t callback, void *callback_data)
{
  upcall_post (upcall_new (on_waits, source));
  if (callback != NULL)
    callback (PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, callback_data);
}

static void
registered (pmix_status_t status, size_t registration, void *data)
{
  if (status != PMIX_SUCCESS)
    g_message ("PMIx will not tell of clients that %s: %s", (const char *)data, PMIx_Error_string (status));
}

/* Functions that are not there are refused by the library as not supported. */
static pmix_server_module_t module = {
#ifdef HAVE_PMIX_SERVER_MODULE_CLIENT_CONNECTED2
  .client_connected2 = client_connected2,
#else
  .client_connected = client_connected,
#endif
  .client_finalized = client_finalized,
  .abort = abort_procs,
  .fence_nb = fence_nb,
  .direct_modex = direct_modex,
  .allocate = allocate_nodes,
  .job_control = job_control,
  .spawn = spawn,
  .publish = dvmd_pmix_upcall_publish,
  .lookup = dvmd_pmix_upcall_lookup,
  .unpublish = dvmd_pmix_upcall_unpublish,
  .connect = dvmd_pmix_upcall_connect,
  .disconnect = dvmd_pmix_upcall_disconnect,
  .log = dvmd_pmix_upcall_log,
  .monitor = dvmd_pmix_upcall_monitor,
  .tool_connected = tool_connected,
  .query = query,
  .push_stdin = push_stdin,
  .get_credential = dvmd_pmix_upcall_get_credential,
  .validate_credential = dvmd_pmix_upcall_validate_credential,
  .iof_pull = dvmd_pmix_upcall_pull,
  .register_events = register_events,
  .deregister_events = deregister_events,
  .notify_event = dvmd_pmix_upcall_told_event,
#ifdef HAVE_PMIX_SESSION_CONTROL
  .session_control = dvmd_pmix_upcall_session_control,
#endif
};

pmix_server_module_t *
dvmd_pmix_upcalls_set_queue (DvmdPmixQueue *queue, const char *nspace)
{
  dvmd_pmix_upcall_set_queue (queue, nspace);
  return &module;
}

void
dvmd_pmix_upcalls_watch_clients (void)
{
  static char lost[] = "are lost";
  static char wait[] = "wait for a debugger";
  static pmix_info_t first; /* read by the library's thread */
  pmix_status_t code = PMIX_ERR_LOST_CONNECTION;

  PMIx_Register_event_handler (&code, 1, NULL, 0, event_lost, registered, lost);
  code = PMIX_READY_FOR_DEBUG;
  PMIX_INFO_LOAD (&first, PMIX_EVENT_HDLR_PREPEND, NULL, PMIX_BOOL);
  PMIx_Register_event_handler (&code, 1, &first, 1, event_waits, registered, wait);
}
