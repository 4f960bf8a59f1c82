/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The PMIx server that libpmix provides: start, jobs, events, stop.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-missed.h"
#include "dvmd-pmix-server.h"

#include "dvm.h"
#include "dvmd-devices.h"
#include "dvmd-log.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-environment.h"
#include "dvmd-pmix-events.h"
#include "dvmd-pmix-forget.h"
#include "dvmd-pmix-monitor.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-modex.h"
#include "dvmd-pmix-private.h"
#include "dvmd-pmix-spawn.h"
#include "dvmd-pmix-thread.h"
#include "dvmd-pmix-tools.h"
#include "dvmd-pmix-upcalls.h"

#include <string.h>
#include <unistd.h>

/* Between two looks at the library's thread (ms). */
#define IDLE_PAUSE 1

static void dvmd_pmix_server_pmix_init (DvmdPmixInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (DvmdPmixServer, dvmd_pmix_server, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (DVMD_TYPE_PMIX, dvmd_pmix_server_pmix_init))

static void
server_job_free (gpointer data)
{
  DvmdPmixServerJob *self = data;

  dvmd_pmix_info_clear (&self->info);
  dvmd_pmix_job_unref (self->job);
  dvmd_pmix_audience_free (self->audience);
  g_hash_table_unref (self->gone);
  g_free (self);
}

GError *
dvmd_pmix_error_new (int status, const char *format, ...)
{
  va_list args;
  g_autofree char *text = NULL;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  return g_error_new (DVM_ERROR, status == PMIX_ERR_NOT_SUPPORTED ? DVM_ERROR_NOT_SUPPORTED : DVM_ERROR_FAILED,
                      "%s: PMIx says %s", text, PMIx_Error_string (status));
}

GTask *
dvmd_pmix_server_new_task (DvmdPmixServer *self, gpointer tag, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);

  g_task_set_source_tag (task, tag);
  if (self->running)
    return g_steal_pointer (&task);
  g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_READY, "The PMIx server is not running");
  return NULL;
}

/* Operations */

static void
operation_free (DvmdPmixItem *item)
{
  DvmdPmixOperation *self = (DvmdPmixOperation *)item;

  g_clear_pointer (&self->data, g_bytes_unref);
  dvmd_pmix_queue_unref (self->queue);
  g_free (self);
}

static void
operation_run (DvmdPmixItem *item, gpointer owner)
{
  DvmdPmixOperation *self = (DvmdPmixOperation *)item;
  DvmdPmixServer *server = owner;
  g_autoptr (GTask) task = g_object_ref (self->task);

  server->library_thread = self->thread;
  if (g_hash_table_remove (server->tasks, task))
    self->done (server, task, self->status, self->data);
  else
    g_hash_table_remove (server->answered, task);
  operation_free (item);
}

DvmdPmixHost *
dvmd_pmix_server_get_host (DvmdPmixServer *self)
{
  return self->host;
}

void
dvmd_pmix_server_get_proc (DvmdPmixServer *self, pmix_proc_t *proc)
{
  PMIX_LOAD_PROCID (proc, self->nspace, self->rank);
}

DvmdTopology *
dvmd_pmix_server_get_topology (DvmdPmixServer *self)
{
  return self->topology;
}

GHashTable *
dvmd_pmix_server_get_allowances (DvmdPmixServer *self)
{
  return self->allowances;
}

DvmdPmixOutputs *
dvmd_pmix_server_get_outputs (DvmdPmixServer *self)
{
  return self->outputs;
}

gboolean
dvmd_pmix_server_is_running (DvmdPmixServer *self)
{
  return self->running;
}

gboolean
dvmd_pmix_server_has_job (DvmdPmixServer *self, const char *nspace)
{
  return g_hash_table_contains (self->jobs, nspace);
}

DvmdPmixOperation *
dvmd_pmix_operation_new (DvmdPmixServer *server, GTask *task, gint count, DvmdPmixOperationDone done)
{
  DvmdPmixOperation *self = g_new0 (DvmdPmixOperation, 1);

  self->item.run = operation_run;
  self->item.free = operation_free;
  self->queue = dvmd_pmix_queue_ref (server->queue);
  self->task = task;
  self->count = count;
  self->done = done;
  g_hash_table_add (server->tasks, g_object_ref (task));
  return self;
}

void
dvmd_pmix_operation_step (pmix_status_t status, void *data)
{
  DvmdPmixOperation *self = data;

  if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
    g_atomic_int_compare_and_exchange (&self->status, PMIX_SUCCESS, status);
  self->thread = gettid ();
  if (g_atomic_int_dec_and_test (&self->count))
    dvmd_pmix_queue_post (self->queue, &self->item);
}

void
dvmd_pmix_operation_called (DvmdPmixOperation *self, pmix_status_t status)
{
  if (status != PMIX_SUCCESS)
    dvmd_pmix_operation_step (status, self);
}

/* Start and stop */

/*
 * Clients that are handed our topology need not look for themselves, which makes an MPI program 8 % faster. It has
 * Ethernet adapters alone, though: where ranks may choose the fabric or GPU that is near, they had better look.
 */
static gboolean
may_share_topology (DvmdTopology *topology)
{
  static const char *const classes[] = { "/sys/class/infiniband", "/sys/class/cxi" };
  GPtrArray *devices = dvmd_topology_get_devices (topology);

  for (gsize i = 0; i < G_N_ELEMENTS (classes); i++)
    {
      g_autoptr (GDir) dir = g_dir_open (classes[i], 0, NULL);

      if (dir != NULL && g_dir_read_name (dir) != NULL)
        return FALSE;
    }
  for (guint i = 0; i < devices->len; i++)
    if (((const DvmdDevice *)devices->pdata[i])->type == DVMD_DEVICE_GPU)
      return FALSE;
  return TRUE;
}

static int
init_library (DvmdPmixServer *self, const DvmdPmixSettings *settings)
{
  g_auto (DvmdPmixInfo) info = DVMD_PMIX_INFO_INIT;
  char source[] = "hwloc";
  pmix_topology_t topology = { .source = source };

  dvmd_pmix_info_add_string (&info, PMIX_SERVER_NSPACE, settings->nspace);
  dvmd_pmix_info_add_rank (&info, PMIX_SERVER_RANK, settings->rank);
  dvmd_pmix_info_add_string (&info, PMIX_SERVER_TMPDIR, dvmd_pmix_dirs_get_pmix (self->dirs));
  dvmd_pmix_info_add_string (&info, PMIX_SYSTEM_TMPDIR, dvmd_pmix_dirs_get_pmix (self->dirs));
  dvmd_pmix_info_add_string (&info, PMIX_HOSTNAME, settings->node_name);
  /* Output that goes to tools must not appear on our own streams as well. */
  dvmd_pmix_info_add_flag (&info, PMIX_IOF_LOCAL_OUTPUT, FALSE);
  if (settings->tools)
    {
      g_autofree char *report = dvmd_pmix_server_build_report_path (self);

      dvmd_pmix_info_add_string (&info, PMIX_TCP_REPORT_URI, report);
    }
  if (self->topology != NULL)
    {
      topology.topology = dvmd_topology_get_hwloc (self->topology);
      dvmd_pmix_info_add_topology (&info, PMIX_TOPOLOGY2, &topology);
      dvmd_pmix_info_add_flag (&info, PMIX_SERVER_SHARE_TOPOLOGY, may_share_topology (self->topology));
    }
  dvmd_pmix_prepare_environment (settings->gds);
  return PMIx_server_init (dvmd_pmix_upcalls_set_queue (self->queue, settings->nspace), info.items, info.length);
}

static gboolean
check_start (DvmdPmixServer *self, GError **error)
{
  /* Once finalized it aborts the process when it is started again. */
  if (!self->running && self->queue == NULL && !PMIx_Initialized ())
    return TRUE;
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                       "libpmix can be started only once in a process, and has been");
  return FALSE;
}

static gboolean
dvmd_pmix_server_start (DvmdPmix *pmix, const DvmdPmixSettings *settings, DvmdPmixHost *host, GError **error)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (pmix);
  g_autoptr (GMainContext) context = g_main_context_ref_thread_default ();
  g_autofree char *tools_path = dvmd_pmix_settings_build_tools_path (settings);
  g_autoptr (GError) tools_error = NULL;
  int rc;

  if (!check_start (self, error))
    return FALSE;
  self->dirs = settings->pmix_dir != NULL
                   ? dvmd_pmix_dirs_new_shared (settings->runtime_dir, settings->pmix_dir, settings->shm_dir, error)
                   : dvmd_pmix_dirs_new (settings->runtime_dir, NULL, error);
  if (self->dirs == NULL)
    return FALSE;
  self->queue = dvmd_pmix_queue_new (context, self);
  self->topology = settings->topology != NULL ? dvmd_topology_with_adapters (settings->topology) : NULL;
  rc = init_library (self, settings);
  if (rc != PMIX_SUCCESS)
    {
      g_clear_pointer (&self->dirs, dvmd_pmix_dirs_free);
      g_clear_pointer (&self->topology, dvmd_topology_unref);
      g_propagate_error (error, dvmd_pmix_error_new (rc, "The PMIx server could not be started"));
      return FALSE;
    }
  self->host = host;
  self->nspace = g_strdup (settings->nspace);
  self->rank = settings->rank;
  self->node_name = g_strdup (settings->node_name);
  self->places = dvmd_pmix_places_new (self->topology);
  self->running = TRUE;
  dvmd_pmix_upcalls_watch_clients ();
  dvmd_pmix_server_find_port (self, settings);
  dvmd_pmix_outputs_start (self->outputs, self->port, self->nspace, self->rank);
  if (settings->tools && !dvmd_pmix_server_let_tools_in (self, tools_path, &tools_error))
    g_message ("Tools cannot connect to node %s: %s", self->node_name, tools_error->message);
  return TRUE;
}

/* The library answers them no more. */
static void
fail_tasks (DvmdPmixServer *self)
{
  GHashTableIter iter;
  gpointer task;

  g_hash_table_iter_init (&iter, self->tasks);
  while (g_hash_table_iter_next (&iter, &task, NULL))
    g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The PMIx server has been stopped");
  g_hash_table_remove_all (self->tasks);
}

static void
close_down (DvmdPmixServer *self)
{
  self->running = FALSE;
  /*
   * PMIx_server_finalize() is not called: after a client was killed while it connected, that of 4.2.2 walks over peers
   * that were freed, and hangs. The library has one life in a process anyway; its thread finds the queue closed.
   */
  dvmd_pmix_queue_close (self->queue);
  fail_tasks (self);
  g_hash_table_remove_all (self->tokens);
  dvmd_pmix_server_drop_monitors (self, NULL);
  dvmd_pmix_server_fail_calls (self, NULL);
  g_hash_table_remove_all (self->jobs);
  g_clear_pointer (&self->dirs, dvmd_pmix_dirs_free);
  dvmd_pmix_outputs_stop (self->outputs);
  self->host = NULL;
}

static void
drop_idle_timer (DvmdPmixServer *self)
{
  if (self->idle_timer == NULL)
    return;
  g_source_destroy (self->idle_timer);
  g_clear_pointer (&self->idle_timer, g_source_unref);
}

static gboolean
on_idle_time (gpointer user_data)
{
  DvmdPmixServer *self = user_data;
  DvmdPmixDone stopped = self->stopped;

  if (!dvmd_pmix_thread_is_asleep (self->library_thread))
    return G_SOURCE_CONTINUE;
  drop_idle_timer (self);
  close_down (self);
  if (self->relay == NULL || dvmd_pmix_relay_finish (self->relay, stopped, self->stopped_data))
    stopped (self->stopped_data);
  return G_SOURCE_REMOVE;
}

static void
on_last_answer (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (source);

  if (!self->running || self->idle_timer != NULL)
    return;
  self->idle_timer = g_timeout_source_new (IDLE_PAUSE);
  g_source_set_callback (self->idle_timer, on_idle_time, self, NULL);
  g_source_attach (self->idle_timer, g_main_context_get_thread_default ());
  g_source_set_ready_time (self->idle_timer, 0);
}

static void
stop_at_once (DvmdPmixServer *self)
{
  drop_idle_timer (self);
  if (self->running)
    close_down (self);
  if (self->relay != NULL)
    dvmd_pmix_relay_finish (self->relay, NULL, NULL);
}

/* The library has answered all that came before the last ping, and then it has written the answers. */
static gboolean
dvmd_pmix_server_stop (DvmdPmix *pmix, DvmdPmixDone func, gpointer user_data)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (pmix);

  if (func == NULL)
    stop_at_once (self);
  if (!self->running)
    return TRUE;
  self->stopped = func;
  self->stopped_data = user_data;
  dvmd_pmix_ping_async (pmix, on_last_answer, NULL);
  return FALSE;
}

static gboolean
dvmd_pmix_server_catch_up (DvmdPmix *pmix, const char *nspace, DvmdPmixDone func, gpointer user_data)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (pmix);

  if (self->running)
    dvmd_pmix_queue_run_pending (self->queue);
  return TRUE;
}

static void
on_pinged (DvmdPmixServer *self, GTask *task, int status, GBytes *data)
{
  g_task_return_boolean (task, TRUE);
}

/* The library's thread looks for a client that nobody can be, finds none, and says so. */
void
dvmd_pmix_server_run_on_thread (pmix_op_cbfunc_t func, void *data)
{
  pmix_proc_t nobody;

  PMIX_LOAD_PROCID (&nobody, "", 0);
  PMIx_server_deregister_client (&nobody, func, data);
}

static void
dvmd_pmix_server_ping_async (DvmdPmix *pmix, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (pmix);
  g_autoptr (GTask) task = dvmd_pmix_server_new_task (self, dvmd_pmix_server_ping_async, callback, user_data);

  if (task != NULL)
    dvmd_pmix_server_run_on_thread (dvmd_pmix_operation_step, dvmd_pmix_operation_new (self, task, 1, on_pinged));
}

/* Jobs */

static DvmdPmixServerJob *
find_job (DvmdPmixServer *self, const char *nspace, GError **error)
{
  DvmdPmixServerJob *job = g_hash_table_lookup (self->jobs, nspace);

  if (job == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "The PMIx server knows no job %s", nspace);
  return job;
}

static gboolean
create_dirs (DvmdPmixServer *self, DvmdPmixJob *job, GError **error)
{
  if (job->my_node >= job->n_nodes)
    return TRUE;
  if (!dvmd_pmix_dirs_create_job (self->dirs, job->nspace, error))
    return FALSE;
  for (guint32 rank = 0; rank < dvmd_pmix_job_get_size (job); rank++)
    if (dvmd_pmix_job_get_rank (job, rank)->node == job->my_node
        && !dvmd_pmix_dirs_create_rank (self->dirs, job->nspace, rank, error))
      {
        dvmd_pmix_dirs_remove_job (self->dirs, job->nspace);
        return FALSE;
      }
  return TRUE;
}

static DvmdPmixServerJob *
add_job (DvmdPmixServer *self, DvmdPmixJob *job, GError **error)
{
  DvmdPmixServerJob *entry;
  g_autofree char *session = NULL;

  if (!dvmd_pmix_job_validate (job, error))
    return NULL;
  if (g_hash_table_contains (self->jobs, job->nspace))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, "The PMIx server has a job %s already", job->nspace);
      return NULL;
    }
  if (!create_dirs (self, job, error))
    return NULL;
  entry = g_new0 (DvmdPmixServerJob, 1);
  entry->job = dvmd_pmix_job_ref (job);
  entry->audience = dvmd_pmix_audience_new ();
  entry->gone = g_hash_table_new (NULL, NULL);
  session = dvmd_pmix_dirs_build_session (self->dirs, job->nspace);
  dvmd_pmix_build_job_info (&entry->info, job,
                            &(DvmdPmixView){
                                .nspace = self->nspace,
                                .rank = self->rank,
                                .node_name = self->node_name,
                                .sessions_dir = dvmd_pmix_dirs_get_sessions (self->dirs),
                                .places = self->places,
                            },
                            session);
  g_hash_table_insert (self->jobs, entry->job->nspace, entry);
  return entry;
}

static void
ignore_status (pmix_status_t status, void *data)
{
}

static void
on_registered (DvmdPmixServer *self, GTask *task, int status, GBytes *data)
{
  const char *nspace = g_task_get_task_data (task);
  DvmdPmixServerJob *entry = g_hash_table_lookup (self->jobs, nspace);
  pmix_proc_t proc;

  if (entry != NULL)
    dvmd_pmix_info_clear (&entry->info);
  if (status == PMIX_SUCCESS)
    {
      g_task_return_boolean (task, TRUE);
      return;
    }
  PMIX_LOAD_PROCID (&proc, nspace, PMIX_RANK_WILDCARD);
  PMIx_server_deregister_nspace (proc.nspace, ignore_status, NULL);
  dvmd_pmix_dirs_remove_job (self->dirs, nspace);
  g_hash_table_remove (self->jobs, nspace);
  g_task_return_error (task, dvmd_pmix_error_new (status, "Job %s could not be registered", nspace));
}

static void
dvmd_pmix_server_register_job_async (DvmdPmix *pmix, DvmdPmixJob *job, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (pmix);
  g_autoptr (GTask) task = dvmd_pmix_server_new_task (self, dvmd_pmix_server_register_job_async, callback, user_data);
  g_autoptr (GError) error = NULL;
  DvmdPmixServerJob *entry;
  DvmdPmixOperation *operation;
  guint32 n_local;
  pmix_proc_t proc;

  if (task == NULL)
    return;
  entry = add_job (self, job, &error);
  if (entry == NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  g_task_set_task_data (task, g_strdup (job->nspace), g_free);
  n_local = dvmd_pmix_job_count_on_node (job, job->my_node);
  operation = dvmd_pmix_operation_new (self, task, (gint)n_local + 1, on_registered);
  PMIX_LOAD_PROCID (&proc, job->nspace, PMIX_RANK_WILDCARD);
  /* All are worked off in this order by the library's thread. */
  dvmd_pmix_operation_called (operation,
                              PMIx_server_register_nspace (proc.nspace, (int)n_local, entry->info.items,
                                                           entry->info.length, dvmd_pmix_operation_step, operation));
  for (proc.rank = 0; proc.rank < dvmd_pmix_job_get_size (job); proc.rank++)
    if (dvmd_pmix_job_get_rank (job, proc.rank)->node == job->my_node)
      dvmd_pmix_operation_called (operation, PMIx_server_register_client (&proc, job->uid, job->gid, NULL,
                                                                          dvmd_pmix_operation_step, operation));
}

static gboolean
dvmd_pmix_server_job_finish (DvmdPmix *pmix, GAsyncResult *result, GError **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

static char **
dvmd_pmix_server_dup_environment (DvmdPmix *pmix, const char *nspace, guint32 rank, GError **error)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (pmix);
  char **strings = NULL;
  char **copy;
  pmix_proc_t proc;
  pmix_status_t rc;

  if (find_job (self, nspace, error) == NULL)
    return NULL;
  PMIX_LOAD_PROCID (&proc, nspace, rank);
  rc = PMIx_server_setup_fork (&proc, &strings);
  if (rc != PMIX_SUCCESS)
    {
      g_propagate_error (error, dvmd_pmix_error_new (rc, "No environment for rank %u of job %s", rank, nspace));
      return NULL;
    }
  copy = g_strdupv (strings);
  PMIX_ARGV_FREE (strings);
  return copy;
}

static char **
dvmd_pmix_server_dup_default_environment (DvmdPmix *pmix, const char *nspace, guint n_pus, GError **error)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (pmix);
  DvmdPmixServerJob *entry = find_job (self, nspace, error);
  g_autofree char *shm = NULL;

  if (entry == NULL)
    return NULL;
  shm = dvmd_pmix_dirs_build_shm (self->dirs, nspace);
  return dvmd_pmix_build_default_environment (dvmd_pmix_job_count_on_node (entry->job, entry->job->my_node), n_pus,
                                              shm);
}

/*
 * Nothing to be told to the library: it sees the connection break and then ends the local collectives with an error.
 * PMIx_server_deregister_client() would close the connection before that, and the others would wait for ever; it also
 * leaves an event behind for a descriptor that the next client may get. The namespace takes its ranks with it.
 */
static void
dvmd_pmix_server_deregister_client (DvmdPmix *pmix, const char *nspace, guint32 rank)
{
  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, nspace, rank, "gone");
  dvmd_pmix_server_note_gone (DVMD_PMIX_SERVER (pmix), nspace, rank);
}

static void
take_back (pmix_status_t status, void *data)
{
  g_autoptr (GTask) task = data;
  g_autoptr (GError) error = NULL;

  if (dvmd_pmix_expect_again (g_task_get_task_data (task), &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, g_steal_pointer (&error));
}

static void
dvmd_pmix_server_take_back_async (DvmdPmix *pmix, const char *nspace, guint32 rank, GAsyncReadyCallback callback,
                                  gpointer user_data)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (pmix);
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  g_autoptr (GError) error = NULL;
  DvmdPmixServerJob *job = find_job (self, nspace, &error);
  pmix_proc_t proc;

  g_task_set_source_tag (task, dvmd_pmix_server_take_back_async);
  if (job == NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  g_hash_table_remove (job->gone, GUINT_TO_POINTER (rank));
  PMIX_LOAD_PROCID (&proc, nspace, rank);
  g_task_set_task_data (task, g_memdup2 (&proc, sizeof proc), g_free);
  dvmd_pmix_server_run_on_thread (take_back, g_steal_pointer (&task));
}

static gboolean
dvmd_pmix_server_take_back_finish (DvmdPmix *pmix, GAsyncResult *result, GError **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

static void
dvmd_pmix_server_abandon_job (DvmdPmix *pmix, const char *nspace)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (pmix);

  if (find_job (self, nspace, NULL) == NULL)
    return;
  dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_INFO, nspace,
                "a rank was ended while it may have been connecting: libpmix keeps what it has of the job");
  dvmd_pmix_dirs_remove_job (self->dirs, nspace);
  g_hash_table_remove (self->jobs, nspace);
}

static void
dvmd_pmix_server_pmix_init (DvmdPmixInterface *iface)
{
  iface->start = dvmd_pmix_server_start;
  iface->stop = dvmd_pmix_server_stop;
  iface->register_job_async = dvmd_pmix_server_register_job_async;
  iface->register_job_finish = dvmd_pmix_server_job_finish;
  iface->dup_environment = dvmd_pmix_server_dup_environment;
  iface->dup_default_environment = dvmd_pmix_server_dup_default_environment;
  iface->deregister_client = dvmd_pmix_server_deregister_client;
  iface->take_back_async = dvmd_pmix_server_take_back_async;
  iface->take_back_finish = dvmd_pmix_server_take_back_finish;
  iface->deregister_job_async = dvmd_pmix_server_deregister_job_async;
  iface->deregister_job_finish = dvmd_pmix_server_job_finish;
  iface->abandon_job = dvmd_pmix_server_abandon_job;
  iface->catch_up = dvmd_pmix_server_catch_up;
  iface->ping_async = dvmd_pmix_server_ping_async;
  iface->complete_fence = dvmd_pmix_server_complete;
  iface->complete_direct_modex = dvmd_pmix_server_complete;
  iface->fetch_modex_async = dvmd_pmix_server_fetch_modex_async;
  iface->fetch_modex_finish = dvmd_pmix_server_fetch_modex_finish;
  iface->complete_call = dvmd_pmix_server_complete_call;
  iface->deliver_output = dvmd_pmix_server_deliver_output;
  iface->complete_connect = dvmd_pmix_server_complete_connect;
  iface->notify_event = dvmd_pmix_server_notify_event;
}

static void
dvmd_pmix_server_finalize (GObject *object)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (object);

  dvmd_pmix_server_stop (DVMD_PMIX (self), NULL, NULL);
  g_clear_pointer (&self->queue, dvmd_pmix_queue_unref);
  g_clear_pointer (&self->places, dvmd_pmix_places_free);
  g_clear_pointer (&self->topology, dvmd_topology_unref);
  g_clear_pointer (&self->jobs, g_hash_table_unref);
  g_clear_pointer (&self->unknown, g_hash_table_unref);
  g_clear_pointer (&self->tokens, g_hash_table_unref);
  g_clear_pointer (&self->relay, dvmd_pmix_relay_free);
  g_clear_pointer (&self->calls, g_hash_table_unref);
  g_clear_pointer (&self->told, g_hash_table_unref);
  g_clear_pointer (&self->allowances, g_hash_table_unref);
  g_clear_pointer (&self->outputs, dvmd_pmix_outputs_free);
  g_clear_pointer (&self->tasks, g_hash_table_unref);
  g_clear_pointer (&self->answered, g_hash_table_unref);
  g_free (self->nspace);
  g_free (self->node_name);
  G_OBJECT_CLASS (dvmd_pmix_server_parent_class)->finalize (object);
}

static void
dvmd_pmix_server_class_init (DvmdPmixServerClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_pmix_server_finalize;
}

static void
dvmd_pmix_server_init (DvmdPmixServer *self)
{
  self->jobs = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, server_job_free);
  self->unknown = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->tokens = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, dvmd_pmix_request_free);
  self->calls = dvmd_pmix_calls_new ();
  self->allowances = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->told = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->outputs = dvmd_pmix_outputs_new ();
  self->tasks = g_hash_table_new_full (NULL, NULL, g_object_unref, NULL);
  self->answered = g_hash_table_new_full (NULL, NULL, g_object_unref, NULL);
}

DvmdPmixServer *
dvmd_pmix_server_new (void)
{
  return g_object_new (DVMD_TYPE_PMIX_SERVER, NULL);
}

const char *
dvmd_pmix_server_get_library (void)
{
  return PMIx_Get_version ();
}
