/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The PMIx servers of a node: which of them a job is given, when one is retired, and what its end means.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-servers-private.h"

#include <errno.h>

#include <glib/gstdio.h>

#include "dvm.h"
#include "dvmd-remove-tree.h"

/* Idle servers beyond the first are ended after this time without a job. */
#define IDLE_TIME (10 * G_TIME_SPAN_SECOND)
/* Tools keep a retired server no longer than this. */
#define TOOL_GRACE (30 * G_TIME_SPAN_SECOND)
/* One that has read where it listens, and does not find another server there now, connects within this time. */
#define LATE_TOOLS (1 * G_TIME_SPAN_SECOND)

static void dvmd_pmix_servers_pmix_init (DvmdPmixInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (DvmdPmixServers, dvmd_pmix_servers, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (DVMD_TYPE_PMIX, dvmd_pmix_servers_pmix_init))

static DvmdPmixServerProcess *start_server (DvmdPmixServers *self, GError **error);

DvmdPmixServerProcess *
dvmd_pmix_servers_find (DvmdPmixServers *self, guint id)
{
  return g_hash_table_lookup (self->servers, GUINT_TO_POINTER (id));
}

DvmdPmixServersJob *
dvmd_pmix_servers_find_job (DvmdPmixServers *self, const char *nspace)
{
  return g_hash_table_lookup (self->jobs, nspace);
}

DvmdPmixServerProcess *
dvmd_pmix_servers_find_home (DvmdPmixServers *self, const char *nspace)
{
  DvmdPmixServersJob *job = dvmd_pmix_servers_find_job (self, nspace);

  return job != NULL && job->home != 0 ? dvmd_pmix_servers_find (self, job->home) : NULL;
}

guint64
dvmd_pmix_servers_widen (DvmdPmixServerProcess *server, guint64 token)
{
  return (guint64)server->id << DVMD_CALL_SERVER_SHIFT | token;
}

DvmdPmixServerProcess *
dvmd_pmix_servers_narrow (DvmdPmixServers *self, guint64 *token)
{
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find (self, DVMD_CALL_SERVER (*token));

  *token &= (G_GUINT64_CONSTANT (1) << DVMD_CALL_SERVER_SHIFT) - 1;
  return server;
}

/* ---- jobs ---- */

static void
job_free (gpointer data)
{
  DvmdPmixServersJob *self = data;

  dvmd_pmix_job_unref (self->job);
  g_hash_table_unref (self->environments);
  g_hash_table_unref (self->connected);
  g_clear_object (&self->registering);
  g_free (self);
}

/* ---- the life of a server ---- */

static void
dvmd_pmix_servers_tool_free (DvmdPmixServersTool *self)
{
  g_free (self->nspace);
  g_free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPmixServersTool, dvmd_pmix_servers_tool_free)

/* Of a server that has ended, and the jobs whose ranks may still have its address. */
typedef struct
{
  DvmdPmixServers *pool; /* unowned */
  DvmdPmixPorts *ports;
  GHashTable *jobs; /* set of their namespaces */
  char *reason;     /* of its end */
} LeftPorts;

static void
left_ports_free (gpointer data)
{
  LeftPorts *self = data;

  dvmd_pmix_ports_free (self->ports);
  g_hash_table_unref (self->jobs);
  g_free (self->reason);
  g_free (self);
}

/* Of which job it was is not known; it fails now, and that is not its own doing. */
static void
on_client_refused (gpointer user_data)
{
  LeftPorts *self = user_data;
  GHashTableIter iter;
  gpointer nspace;

  g_hash_table_iter_init (&iter, self->jobs);
  while (self->pool->host != NULL && g_hash_table_iter_next (&iter, &nspace, NULL))
    dvmd_pmix_host_server_lost (self->pool->host, nspace, self->reason, FALSE);
}

/* The ports stay ours as long as clients may connect, so that another process cannot listen there. */
static void
keep_ports (DvmdPmixServerProcess *server, const char *reason)
{
  LeftPorts *left = g_new0 (LeftPorts, 1);
  GHashTableIter iter;
  gpointer value;

  left->pool = server->pool;
  left->ports = g_steal_pointer (&server->ports);
  left->reason = g_strdup (reason);
  left->jobs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_hash_table_iter_init (&iter, server->pool->jobs);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((DvmdPmixServersJob *)value)->home == server->id)
      g_hash_table_add (left->jobs, g_strdup (((DvmdPmixServersJob *)value)->job->nspace));
  dvmd_pmix_ports_guard (left->ports, on_client_refused, left);
  g_ptr_array_add (server->pool->left_ports, left);
}

void
dvmd_pmix_servers_leave_ports (DvmdPmixServers *self, const char *nspace)
{
  for (guint i = self->left_ports->len; i > 0; i--)
    {
      LeftPorts *left = g_ptr_array_index (self->left_ports, i - 1);

      if (g_hash_table_remove (left->jobs, nspace) && g_hash_table_size (left->jobs) == 0)
        g_ptr_array_remove_index_fast (self->left_ports, i - 1);
    }
}

static void
server_free (gpointer data)
{
  DvmdPmixServerProcess *self = data;

  dvmd_clock_remove_timer (self->pool->clock, self->grace_timer);
  g_clear_pointer (&self->remote, dvmd_pmix_remote_free);
  g_clear_pointer (&self->catching_up, g_array_unref);
  g_clear_pointer (&self->to_catch_up, g_array_unref);
  g_clear_pointer (&self->ports, dvmd_pmix_ports_free);
  g_clear_pointer (&self->connections, dvmd_pmix_counter_free);
  g_hash_table_unref (self->known);
  g_free (self->dir);
  g_free (self->address);
  g_free (self);
}

static void
on_tool_grace (gpointer user_data)
{
  DvmdPmixServerProcess *server = user_data;

  server->grace_timer = 0;
  if (server->hidden)
    dvmd_pmix_remote_stop (server->remote);
  server->hidden = TRUE;
  dvmd_pmix_servers_check_idle (server);
}

static guint
count_usable (DvmdPmixServers *self)
{
  GHashTableIter iter;
  gpointer server;
  guint n = 0;

  g_hash_table_iter_init (&iter, self->servers);
  while (g_hash_table_iter_next (&iter, NULL, &server))
    n += ((DvmdPmixServerProcess *)server)->state == DVMD_PMIX_SERVER_USABLE;
  return n;
}

/* The next job does not wait for its server. */
static void
keep_one (DvmdPmixServers *self)
{
  g_autoptr (GError) error = NULL;

  if (self->host != NULL && count_usable (self) == 0 && start_server (self, &error) == NULL)
    g_message ("%s", error->message);
}

/* ---- tools ---- */

/* (nullable): that to which they are pointed already, if new jobs go there, else any such one, else what there is. */
static DvmdPmixServerProcess *
choose_shown (DvmdPmixServers *self)
{
  DvmdPmixServerProcess *shown = dvmd_pmix_servers_find (self, self->shown);
  DvmdPmixServerProcess *best = shown;
  GHashTableIter iter;
  gpointer value;

  if (shown != NULL && shown->state == DVMD_PMIX_SERVER_USABLE)
    return shown;
  g_hash_table_iter_init (&iter, self->servers);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      DvmdPmixServerProcess *server = value;

      if (server->address != NULL && (best == NULL || server->state == DVMD_PMIX_SERVER_USABLE))
        best = server;
    }
  return best;
}

/* Under the name by which it is looked for the file is there as a whole, or not at all. */
static gboolean
write_address (DvmdPmixServers *self, const char *address, const char *path, GError **error)
{
  g_autofree char *next = g_build_filename (dvmd_pmix_dirs_get_pmix (self->dirs), "address", NULL);

  if (!g_file_set_contents_full (next, address, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, error))
    return FALSE;
  if (g_rename (next, path) == 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "Could not make the file %s: %s", path, g_strerror (errno));
  return FALSE;
}

/* Tools find a server that lives, and as long as there is one, one that gets new jobs. */
static void
point_tools (DvmdPmixServers *self)
{
  DvmdPmixServerProcess *server = self->host != NULL && self->settings.tools ? choose_shown (self) : NULL;
  DvmdPmixServerProcess *last = dvmd_pmix_servers_find (self, self->shown);
  g_autofree char *path = NULL;
  g_autoptr (GError) error = NULL;

  if (self->host == NULL || self->shown == (server != NULL ? server->id : 0))
    return;
  self->shown = server != NULL ? server->id : 0;
  path = dvmd_pmix_settings_build_tools_path (&self->settings);
  if (server == NULL)
    g_unlink (path);
  else if (!write_address (self, server->address, path, &error))
    g_message ("Tools cannot connect to node %s: %s", self->settings.node_name, error->message);
  dvmd_pmix_host_tools_let_in (self->host, server != NULL ? server->address : NULL);
  if (last != NULL)
    dvmd_pmix_servers_check_idle (last);
}

/* It has written where it listens for tools, unless it could not, which it has said. */
static void
read_address (DvmdPmixServerProcess *server)
{
  DvmdPmixSettings settings = server->pool->settings;
  g_autofree char *path = NULL;

  settings.pmix_dir = server->dir;
  path = dvmd_pmix_settings_build_tools_path (&settings);
  g_file_get_contents (path, &server->address, NULL, NULL);
}

void
dvmd_pmix_servers_retire (DvmdPmixServerProcess *server, const char *why)
{
  if (server->state == DVMD_PMIX_SERVER_RETIRED || server->pool->host == NULL)
    return;
  g_info ("PMIx server %d gets no new jobs: %s", dvmd_pmix_remote_get_pid (server->remote), why);
  server->state = DVMD_PMIX_SERVER_RETIRED;
  keep_one (server->pool);
  point_tools (server->pool);
  dvmd_pmix_servers_check_idle (server);
}

void
dvmd_pmix_servers_taint (DvmdPmixServerProcess *server, const char *nspace)
{
  g_autofree char *why = g_strdup_printf ("a rank of job %s has gone without PMIx_Finalize", nspace);

  server->tainted = TRUE;
  dvmd_pmix_servers_retire (server, why);
}

static gboolean
has_jobs (const DvmdPmixServerProcess *server)
{
  return server->n_homes > 0 || server->n_leaving > 0;
}

static gboolean
is_idle (const DvmdPmixServerProcess *server)
{
  return !has_jobs (server) && server->n_tools == 0;
}

static void
on_idle_time (gpointer user_data)
{
  DvmdPmixServers *self = user_data;
  GHashTableIter iter;
  gpointer value;
  DvmdPmixServerProcess *shown = dvmd_pmix_servers_find (self, self->shown);
  guint n_retained = shown != NULL && shown->state == DVMD_PMIX_SERVER_USABLE && is_idle (shown) ? 1 : 0;

  self->idle_timer = 0;
  g_hash_table_iter_init (&iter, self->servers);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      DvmdPmixServerProcess *server = value;

      if (server == shown || server->state != DVMD_PMIX_SERVER_USABLE || !is_idle (server) || n_retained++ == 0)
        continue;
      server->state = DVMD_PMIX_SERVER_RETIRED;
      dvmd_pmix_remote_stop (server->remote);
    }
  point_tools (self);
}

/* Tools do not find a server gone that they were pointed to: not before there is another one, nor right after that. */
static void
end_retired (DvmdPmixServerProcess *server)
{
  DvmdPmixServers *self = server->pool;

  if (server->address == NULL || !self->settings.tools || self->host == NULL)
    server->hidden = TRUE;
  if (server->hidden && server->n_tools == 0)
    dvmd_pmix_remote_stop (server->remote);
  else if (server->grace_timer == 0 && self->shown != server->id)
    server->grace_timer = dvmd_clock_add_timer (self->clock, server->hidden ? TOOL_GRACE : LATE_TOOLS, on_tool_grace,
                                                server);
}

/* A retired server without jobs ends; of those that wait for jobs one is enough. */
void
dvmd_pmix_servers_check_idle (DvmdPmixServerProcess *server)
{
  DvmdPmixServers *self = server->pool;

  dvmd_pmix_remote_set_watched (server->remote, has_jobs (server));
  if (has_jobs (server))
    return;
  if (server->state == DVMD_PMIX_SERVER_RETIRED)
    end_retired (server);
  else if (self->idle_timer == 0 && count_usable (self) > 1)
    self->idle_timer = dvmd_clock_add_timer (self->clock, IDLE_TIME, on_idle_time, self);
}

void
dvmd_pmix_servers_leave_home (DvmdPmixServers *self, DvmdPmixServersJob *job)
{
  DvmdPmixServerProcess *server = job->home != 0 ? dvmd_pmix_servers_find (self, job->home) : NULL;

  job->home = 0;
  if (server == NULL)
    return;
  g_hash_table_remove (server->known, job->job->nspace);
  server->n_homes--;
  dvmd_pmix_servers_check_idle (server);
}

static void
on_started (DvmdPmixRemote *remote, const char *error, gpointer user_data)
{
  DvmdPmixServerProcess *server = user_data;

  if (error != NULL)
    g_message ("A PMIx server of node %s could not be started: %s", server->pool->settings.node_name, error);
  if (error != NULL)
    return;
  read_address (server);
  point_tools (server->pool);
  server->ports = dvmd_pmix_ports_take (dvmd_pmix_remote_get_pid (server->remote));
  server->connections = dvmd_pmix_counter_open (server->dir);
}

/* Jobs that had clients there end with it; the others go on, without a server. */
static void
orphan_jobs (DvmdPmixServers *self, const DvmdPmixServerProcess *server, const char *reason)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->jobs);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      DvmdPmixServersJob *job = value;

      if (job->home != server->id)
        continue;
      job->home = 0;
      if (self->host != NULL && dvmd_pmix_servers_has_anybody_connected (server, job))
        dvmd_pmix_host_server_lost (self->host, job->job->nspace, reason, g_hash_table_size (job->connected) > 0);
    }
}

static void
lose_tools (DvmdPmixServers *self, guint id)
{
  for (guint i = self->tools->len; i > 0; i--)
    {
      g_autoptr (DvmdPmixServersTool) tool = NULL;

      if (((DvmdPmixServersTool *)g_ptr_array_index (self->tools, i - 1))->home != id)
        continue;
      tool = g_ptr_array_steal_index_fast (self->tools, i - 1);
      if (self->host != NULL)
        dvmd_pmix_host_lost (self->host, tool->nspace, tool->rank);
    }
}

static void
on_ended (DvmdPmixRemote *remote, const char *reason, gpointer user_data)
{
  DvmdPmixServerProcess *server = user_data;
  DvmdPmixServers *self = server->pool;
  guint id = server->id;
  gboolean had_been_of_use = server->had_job || server->address != NULL;
  const char *cause = reason != NULL ? reason : "The PMIx server of the node has ended";

  if (reason != NULL)
    g_message ("%s; it had %u job%s", reason, server->n_homes, server->n_homes == 1 ? "" : "s");
  g_hash_table_steal (self->servers, GUINT_TO_POINTER (id));
  dvmd_pmix_collectives_server_ended (self, id);
  if (self->host != NULL)
    dvmd_pmix_host_output_unwanted (self->host, id, TRUE);
  if (server->ports != NULL && server->n_homes > 0 && self->host != NULL)
    keep_ports (server, cause);
  if (server->connections != NULL && self->host != NULL)
    dvmd_pmix_servers_hear_rest (server);
  orphan_jobs (self, server, cause);
  dvmd_pmix_servers_end_waiting (server);
  lose_tools (self, id);
  point_tools (self);
  dvmd_remove_tree (server->dir, NULL);
  server_free (server);
  /* One that came to be there neither for a job nor for tools may not be startable: it is tried again for a job. */
  if (reason != NULL && had_been_of_use)
    keep_one (self);
  if (self->host == NULL && self->stopped != NULL && g_hash_table_size (self->servers) == 0)
    g_steal_pointer (&self->stopped) (self->stopped_data);
}

static const DvmdPmixRemoteFuncs remote_funcs = {
  .started = on_started,
  .message = dvmd_pmix_servers_take_message,
  .ended = on_ended,
};

/* The id of a server is a part of tokens, which have 16 bits for it; the highest two are taken. */
static guint
next_id (DvmdPmixServers *self)
{
  do
    self->last_id = self->last_id % (DVMD_CALL_SERVER_PMI - 1) + 1;
  while (dvmd_pmix_servers_find (self, self->last_id) != NULL);
  return self->last_id;
}

static DvmdPmixServerProcess *
start_server (DvmdPmixServers *self, GError **error)
{
  DvmdPmixServerProcess *server = g_new0 (DvmdPmixServerProcess, 1);
  g_autofree char *name = g_strdup_printf ("%u", next_id (self));
  DvmdPmixSettings settings = self->settings;
  g_autofree char *prefix = NULL;

  server->pool = self;
  server->id = self->last_id;
  server->dir = g_build_filename (dvmd_pmix_dirs_get_pmix (self->dirs), name, NULL);
  server->known = dvmd_pmix_servers_known_new ();
  prefix = g_strdup_printf ("%s@tool-%u-%u-", self->settings.nspace, self->settings.rank, server->id);
  settings.pmix_dir = server->dir;
  settings.shm_dir = (char *)dvmd_pmix_dirs_get_shm (self->dirs);
  settings.tool_prefix = prefix;
  server->remote = dvmd_pmix_remote_new (self->starter, self->starter_data, self->clock, &settings, &remote_funcs,
                                         server, error);
  if (server->remote == NULL)
    {
      server_free (server);
      return NULL;
    }
  g_hash_table_insert (self->servers, GUINT_TO_POINTER (server->id), server);
  return server;
}

/* One that takes its time to forget a job may stand still. */
static gboolean
has_fewer_jobs (const DvmdPmixServerProcess *one, const DvmdPmixServerProcess *other)
{
  return one->n_homes < other->n_homes || (one->n_homes == other->n_homes && one->n_leaving < other->n_leaving);
}

/* One without jobs, else a new one, else that with the fewest. */
DvmdPmixServerProcess *
dvmd_pmix_servers_choose (DvmdPmixServers *self, DvmdPmixJob *job, GError **error)
{
  DvmdPmixServerProcess *best = job->parent_nspace != NULL ? dvmd_pmix_servers_find_home (self, job->parent_nspace)
                                                           : NULL;
  GHashTableIter iter;
  gpointer value;

  /* A family is best off together. */
  if (best != NULL && best->state == DVMD_PMIX_SERVER_USABLE)
    return best;
  best = NULL;
  g_hash_table_iter_init (&iter, self->servers);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      DvmdPmixServerProcess *server = value;

      if (server->state == DVMD_PMIX_SERVER_USABLE && (best == NULL || has_fewer_jobs (server, best)))
        best = server;
    }
  if (best != NULL && (best->n_homes == 0 || count_usable (self) >= self->n_wanted))
    return best;
  return start_server (self, error);
}

/* ---- start and stop ---- */

static void
keep_settings (DvmdPmixServers *self, const DvmdPmixSettings *settings)
{
  self->settings.runtime_dir = g_strdup (settings->runtime_dir);
  self->settings.nspace = g_strdup (settings->nspace);
  self->settings.rank = settings->rank;
  self->settings.node_name = g_strdup (settings->node_name);
  self->settings.topology = settings->topology != NULL ? dvmd_topology_ref (settings->topology) : NULL;
  self->settings.tools = settings->tools;
  self->settings.gds = g_strdup (settings->gds);
}

static gboolean
dvmd_pmix_servers_start (DvmdPmix *pmix, const DvmdPmixSettings *settings, DvmdPmixHost *host, GError **error)
{
  DvmdPmixServers *self = DVMD_PMIX_SERVERS (pmix);

  if (self->host != NULL)
    {
      g_set_error_literal (error, DVM_ERROR, DVM_ERROR_EXISTS, "The PMIx servers of this node have been started");
      return FALSE;
    }
  dvmd_pmix_settings_clear (&self->settings);
  keep_settings (self, settings);
  self->dirs = dvmd_pmix_dirs_new (settings->runtime_dir, NULL, error);
  if (self->dirs == NULL)
    return FALSE;
  self->host = host;
  if (start_server (self, error) != NULL)
    return TRUE;
  self->host = NULL;
  g_clear_pointer (&self->dirs, dvmd_pmix_dirs_free);
  return FALSE;
}

static void
fail_registrations (DvmdPmixServers *self)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->jobs);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      g_autoptr (GTask) task = g_steal_pointer (&((DvmdPmixServersJob *)value)->registering);

      if (task != NULL)
        g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The PMIx server has been stopped");
    }
}

/* Calls that wait for an answer of one of the servers fail. */
static void
drop_servers (DvmdPmixServers *self)
{
  g_autoptr (GList) servers = g_hash_table_get_values (self->servers);

  g_hash_table_steal_all (self->servers);
  g_list_free_full (g_steal_pointer (&servers), server_free);
}

static void
close_down (DvmdPmixServers *self)
{
  self->host = NULL;
  dvmd_clock_remove_timer (self->clock, self->idle_timer);
  self->idle_timer = 0;
  fail_registrations (self);
  g_hash_table_remove_all (self->collectives);
}

static gboolean
dvmd_pmix_servers_stop (DvmdPmix *pmix, DvmdPmixDone func, gpointer user_data)
{
  DvmdPmixServers *self = DVMD_PMIX_SERVERS (pmix);
  g_autoptr (GList) servers = NULL;

  if (self->host != NULL)
    close_down (self);
  self->stopped = func;
  self->stopped_data = user_data;
  if (func == NULL)
    drop_servers (self);
  servers = g_hash_table_get_values (self->servers);
  for (GList *l = servers; l != NULL; l = l->next)
    dvmd_pmix_remote_stop (((DvmdPmixServerProcess *)l->data)->remote);
  return g_hash_table_size (self->servers) == 0;
}

static void
dvmd_pmix_servers_pmix_init (DvmdPmixInterface *iface)
{
  iface->start = dvmd_pmix_servers_start;
  iface->stop = dvmd_pmix_servers_stop;
  dvmd_pmix_servers_init_jobs (iface);
  dvmd_pmix_servers_init_clients (iface);
}

static void
dvmd_pmix_servers_finalize (GObject *object)
{
  DvmdPmixServers *self = DVMD_PMIX_SERVERS (object);

  dvmd_pmix_servers_stop (DVMD_PMIX (self), NULL, NULL);
  g_hash_table_unref (self->servers);
  g_hash_table_unref (self->collectives);
  g_hash_table_unref (self->jobs);
  g_ptr_array_unref (self->tools);
  g_ptr_array_unref (self->left_ports);
  g_clear_pointer (&self->dirs, dvmd_pmix_dirs_free);
  dvmd_pmix_settings_clear (&self->settings);
  g_clear_pointer (&self->clock, dvmd_clock_unref);
  G_OBJECT_CLASS (dvmd_pmix_servers_parent_class)->finalize (object);
}

static void
dvmd_pmix_servers_class_init (DvmdPmixServersClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_pmix_servers_finalize;
}

static void
dvmd_pmix_servers_init (DvmdPmixServers *self)
{
  self->servers = g_hash_table_new_full (NULL, NULL, NULL, server_free);
  self->jobs = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, job_free);
  self->tools = g_ptr_array_new_with_free_func ((GDestroyNotify)dvmd_pmix_servers_tool_free);
  self->left_ports = g_ptr_array_new_with_free_func (left_ports_free);
  self->collectives = dvmd_pmix_collectives_new ();
}

DvmdPmix *
dvmd_pmix_servers_new (const DvmdPmixStarter *starter, gpointer starter_data, DvmdClock *clock, guint n_servers)
{
  DvmdPmixServers *self = g_object_new (DVMD_TYPE_PMIX_SERVERS, NULL);

  self->starter = starter;
  self->starter_data = starter_data;
  self->clock = dvmd_clock_ref (clock);
  self->n_wanted = MAX (n_servers, 1);
  return DVMD_PMIX (self);
}
