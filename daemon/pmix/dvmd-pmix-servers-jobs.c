/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The jobs of a node in its PMIx servers: registration, guests, and their end.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-servers-private.h"

#include "dvm.h"
#include "dvmd-log.h"
#include "dvmd-pmix-environment.h"

/* A server that has come to have so much more memory than after its first job is retired. */
#define GROWTH_LIMIT (3 * 1024 * 1024)
/* Servers that may fail under one job before it starts. */
#define MAX_TRIES 3

/* A job in a server. */
typedef struct
{
  gboolean registered;
  GPtrArray *waiting; /* (nullable) (element-type Ensure) */
} Known;

static void
known_free (gpointer data)
{
  Known *self = data;

  g_clear_pointer (&self->waiting, g_ptr_array_unref);
  g_free (self);
}

GHashTable *
dvmd_pmix_servers_known_new (void)
{
  return g_hash_table_new_full (g_str_hash, g_str_equal, g_free, known_free);
}

static DvmdPmixServersJob *
add_job (DvmdPmixServers *self, DvmdPmixJob *description)
{
  DvmdPmixServersJob *job = g_new0 (DvmdPmixServersJob, 1);

  job->job = dvmd_pmix_job_ref (description);
  job->environments = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_strfreev);
  job->connected = g_hash_table_new (NULL, NULL);
  g_hash_table_insert (self->jobs, job->job->nspace, job);
  return job;
}

static gboolean
is_guest (DvmdPmixJob *job)
{
  return job->my_node >= job->n_nodes;
}

/* ---- registration ---- */

static void register_at_home (DvmdPmixServers *self, DvmdPmixServersJob *job);

typedef struct
{
  DvmdPmixServers *pool;
  char *nspace;
  guint id; /* of the server */
} Question;

static Question *
question_new (DvmdPmixServers *self, const char *nspace, guint id)
{
  Question *question = g_new0 (Question, 1);

  question->pool = g_object_ref (self);
  question->nspace = g_strdup (nspace);
  question->id = id;
  return question;
}

static void
question_free (Question *self)
{
  g_object_unref (self->pool);
  g_free (self->nspace);
  g_free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Question, question_free)

/* code -1: none */
GError *
dvmd_pmix_servers_make_error (gint32 code, const char *text)
{
  return code >= 0 ? g_error_new_literal (DVM_ERROR, code, text) : NULL;
}

static void
take_environments (DvmdPmixServersJob *job, GVariant *rows)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (rows, i);
      g_autoptr (GVariant) strings = g_variant_get_child_value (row, 1);
      guint32 rank;

      g_variant_get_child (row, 0, "u", &rank);
      g_hash_table_insert (job->environments, GUINT_TO_POINTER (rank), dvmd_pmix_strings_from_variant (strings));
    }
}

/* ---- jobs that a server is to forget ---- */

static void
check_growth (DvmdPmixServerProcess *server, guint64 memory)
{
  if (server->memory == 0)
    server->memory = memory;
  else if (memory > server->memory + GROWTH_LIMIT)
    dvmd_pmix_servers_retire (server, "it has grown");
}

/* The job has ended for everybody else when it comes. */
static void
on_deregistered (GVariant *body, gpointer user_data)
{
  g_autoptr (Question) question = user_data;
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find (question->pool, question->id);
  const char *text = "";
  guint64 memory = 0;
  gint32 code = -1;

  if (body != NULL)
    g_variant_get (body, "(ti&st)", NULL, &code, &text, &memory);
  if (code >= 0)
    dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, question->nspace, "the PMIx server has not forgotten the job: %s",
                  text);
  if (server == NULL)
    return;
  server->n_leaving--;
  if (body != NULL)
    check_growth (server, memory);
  dvmd_pmix_servers_check_idle (server);
}

static void
tell_to_forget (DvmdPmixServerProcess *server, const char *nspace)
{
  Question *question = question_new (server->pool, nspace, server->id);

  dvmd_pmix_remote_say (
      server->remote, DVMD_PMIX_MSG_DEREGISTER,
      g_variant_new ("(ts)", dvmd_pmix_remote_expect (server->remote, on_deregistered, question), nspace));
}

/* The job has ended before its server knew it: now that does, and has made directories, or it never will. */
static void
forget_unwanted (const Question *question, GVariant *body)
{
  DvmdPmixServers *self = question->pool;
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find (self, question->id);
  gint32 code = -1;

  dvmd_pmix_dirs_remove_job (self->dirs, question->nspace);
  if (server == NULL)
    return;
  if (body != NULL)
    g_variant_get_child (body, 1, "i", &code);
  if (body != NULL && code < 0 && !server->tainted)
    {
      tell_to_forget (server, question->nspace);
      return;
    }
  if (body != NULL && code < 0)
    dvmd_pmix_remote_say (server->remote, DVMD_PMIX_MSG_ABANDON, g_variant_new ("(s)", question->nspace));
  server->n_leaving--;
  dvmd_pmix_servers_check_idle (server);
}

/* ---- the registration of a job with ranks here ---- */

static void
fail_registration (DvmdPmixServers *self, DvmdPmixServersJob *job, GError *error)
{
  g_autoptr (GTask) task = g_steal_pointer (&job->registering);

  dvmd_pmix_servers_leave_home (self, job);
  dvmd_pmix_dirs_remove_job (self->dirs, job->job->nspace);
  dvmd_pmix_servers_leave_ports (self, job->job->nspace);
  g_hash_table_remove (self->jobs, job->job->nspace);
  g_task_return_error (task, error);
}

static void
try_again (DvmdPmixServers *self, DvmdPmixServersJob *job)
{
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find (self, job->home);
  const char *why = server != NULL ? dvmd_pmix_remote_get_reason (server->remote) : NULL;

  /* The server that failed is about to be forgotten. */
  if (server != NULL)
    server->state = DVMD_PMIX_SERVER_RETIRED;
  job->home = 0;
  if (self->host == NULL || ++job->n_tries < MAX_TRIES)
    {
      dvmd_pmix_dirs_remove_job (self->dirs, job->job->nspace);
      register_at_home (self, job);
      return;
    }
  fail_registration (self, job,
                     g_error_new (DVM_ERROR, DVM_ERROR_FAILED,
                                  "%u PMIx servers of node %s have ended before job %s could begin; the last one: %s",
                                  job->n_tries, self->settings.node_name, job->job->nspace,
                                  why != NULL ? why : "it was told to"));
}

static void
on_registered (GVariant *body, gpointer user_data)
{
  g_autoptr (Question) question = user_data;
  DvmdPmixServers *self = question->pool;
  DvmdPmixServersJob *job = dvmd_pmix_servers_find_job (self, question->nspace);
  g_autoptr (GVariant) rows = NULL;
  g_autoptr (GTask) task = NULL;
  const char *text;
  GError *error;
  gint32 code;

  if (job == NULL)
    forget_unwanted (question, body);
  if (job == NULL || job->registering == NULL || job->home != question->id)
    return;
  if (body == NULL)
    {
      try_again (self, job);
      return;
    }
  g_variant_get (body, "(ti&s@a(uay))", NULL, &code, &text, &rows);
  error = dvmd_pmix_servers_make_error (code, text);
  if (error != NULL)
    {
      fail_registration (self, job, error);
      return;
    }
  take_environments (job, rows);
  task = g_steal_pointer (&job->registering);
  g_task_return_boolean (task, TRUE);
}

static void
register_at_home (DvmdPmixServers *self, DvmdPmixServersJob *job)
{
  GError *error = NULL;
  DvmdPmixServerProcess *server = self->host != NULL ? dvmd_pmix_servers_choose (self, job->job, &error) : NULL;
  const char *nspace = job->job->nspace;
  Known *known;

  if (server == NULL)
    {
      if (error == NULL)
        error = g_error_new (DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The PMIx server has been stopped");
      fail_registration (self, job, error);
      return;
    }
  known = g_new0 (Known, 1);
  known->registered = TRUE;
  g_hash_table_insert (server->known, g_strdup (nspace), known);
  job->home = server->id;
  job->connections = server->connections != NULL ? dvmd_pmix_counter_get (server->connections) : 0;
  server->had_job = TRUE;
  server->n_homes++;
  dvmd_pmix_remote_set_watched (server->remote, TRUE);
  dvmd_pmix_remote_say (
      server->remote, DVMD_PMIX_MSG_REGISTER,
      g_variant_new ("(t@*)",
                     dvmd_pmix_remote_expect (server->remote, on_registered, question_new (self, nspace, server->id)),
                     dvmd_pmix_job_to_variant (job->job, FALSE)));
}

/* ---- jobs that a server is told of, without ranks in it ---- */

typedef struct
{
  DvmdPmixServers *pool;
  guint n_left;
  DvmdPmixServersFunc func;
  gpointer user_data;
} Ensure;

static void
ensure_step (gpointer data)
{
  Ensure *self = data;

  if (--self->n_left > 0)
    return;
  self->func (self->pool, self->user_data);
  g_object_unref (self->pool);
  g_free (self);
}

/* Known to the library, or not to be: whoever waits for it goes on. */
static void
on_guest_registered (GVariant *body, gpointer user_data)
{
  g_autoptr (Question) question = user_data;
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find (question->pool, question->id);
  Known *known = server != NULL ? g_hash_table_lookup (server->known, question->nspace) : NULL;
  g_autoptr (GPtrArray) waiting = known != NULL ? g_steal_pointer (&known->waiting) : NULL;

  if (known != NULL)
    known->registered = TRUE;
  for (guint i = 0; waiting != NULL && i < waiting->len; i++)
    ensure_step (g_ptr_array_index (waiting, i));
}

static void
tell_of_guest (DvmdPmixServerProcess *server, DvmdPmixServersJob *job, Ensure *ensure)
{
  const char *nspace = job->job->nspace;
  Known *known = g_hash_table_lookup (server->known, nspace);

  if (known != NULL && known->registered)
    return;
  ensure->n_left++;
  if (known != NULL)
    {
      g_ptr_array_add (known->waiting, ensure);
      return;
    }
  known = g_new0 (Known, 1);
  known->waiting = g_ptr_array_new ();
  g_ptr_array_add (known->waiting, ensure);
  g_hash_table_insert (server->known, g_strdup (nspace), known);
  dvmd_pmix_remote_say (server->remote, DVMD_PMIX_MSG_REGISTER,
                        g_variant_new ("(t@*)",
                                       dvmd_pmix_remote_expect (server->remote, on_guest_registered,
                                                                question_new (server->pool, nspace, server->id)),
                                       dvmd_pmix_job_to_variant (job->job, TRUE)));
}

static Ensure *
ensure_new (DvmdPmixServers *self, DvmdPmixServersFunc func, gpointer user_data)
{
  Ensure *ensure = g_new0 (Ensure, 1);

  ensure->pool = g_object_ref (self);
  ensure->n_left = 1;
  ensure->func = func;
  ensure->user_data = user_data;
  return ensure;
}

void
dvmd_pmix_servers_ensure_known (DvmdPmixServers *self, DvmdPmixServerProcess *server, const char *const *nspaces,
                                DvmdPmixServersFunc func, gpointer user_data)
{
  Ensure *ensure = ensure_new (self, func, user_data);

  for (gsize i = 0; nspaces[i] != NULL; i++)
    {
      DvmdPmixServersJob *job = dvmd_pmix_servers_find_job (self, nspaces[i]);

      if (job != NULL)
        tell_of_guest (server, job, ensure);
    }
  ensure_step (ensure);
}

static void
forget_guest (DvmdPmixServers *self, const char *nspace)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->servers);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      DvmdPmixServerProcess *server = value;
      Known *known = g_hash_table_lookup (server->known, nspace);

      /* The answer to its registration finds nobody any more. */
      if (known == NULL || !known->registered)
        continue;
      g_hash_table_remove (server->known, nspace);
      if (!server->tainted)
        dvmd_pmix_remote_say (server->remote, DVMD_PMIX_MSG_DEREGISTER, g_variant_new ("(ts)", (guint64)0, nspace));
    }
}

static void
on_guest_known (DvmdPmixServers *self, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;

  g_task_return_boolean (task, TRUE);
}

static void
register_guest (DvmdPmixServers *self, DvmdPmixServersJob *job, GTask *task)
{
  Ensure *ensure = ensure_new (self, on_guest_known, task);
  g_autoptr (GList) servers = g_hash_table_get_values (self->servers);

  for (GList *l = servers; l != NULL; l = l->next)
    if (((DvmdPmixServerProcess *)l->data)->n_homes > 0)
      tell_of_guest (l->data, job, ensure);
  ensure_step (ensure);
}

static void
dvmd_pmix_servers_register_job_async (DvmdPmix *pmix, DvmdPmixJob *description, GAsyncReadyCallback callback,
                                      gpointer user_data)
{
  DvmdPmixServers *self = DVMD_PMIX_SERVERS (pmix);
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  g_autoptr (GError) error = NULL;
  DvmdPmixServersJob *job;

  g_task_set_source_tag (task, dvmd_pmix_servers_register_job_async);
  if (self->host == NULL)
    g_set_error (&error, DVM_ERROR, DVM_ERROR_NOT_READY, "The PMIx server is not running");
  else if (dvmd_pmix_job_validate (description, &error) && g_hash_table_contains (self->jobs, description->nspace))
    g_set_error (&error, DVM_ERROR, DVM_ERROR_EXISTS, "The PMIx server has a job %s already", description->nspace);
  if (error != NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  job = add_job (self, description);
  if (is_guest (description))
    {
      register_guest (self, job, g_steal_pointer (&task));
      return;
    }
  job->registering = g_steal_pointer (&task);
  register_at_home (self, job);
}

static gboolean
dvmd_pmix_servers_job_finish (DvmdPmix *pmix, GAsyncResult *result, GError **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

static gboolean
has_job (DvmdPmixServers *self, const char *nspace, GError **error)
{
  if (dvmd_pmix_servers_find_job (self, nspace) != NULL)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "The PMIx server knows no job %s", nspace);
  return FALSE;
}

static char **
dvmd_pmix_servers_dup_environment (DvmdPmix *pmix, const char *nspace, guint32 rank, GError **error)
{
  DvmdPmixServers *self = DVMD_PMIX_SERVERS (pmix);
  DvmdPmixServersJob *job;
  char **environment;

  if (!has_job (self, nspace, error))
    return NULL;
  job = dvmd_pmix_servers_find_job (self, nspace);
  environment = g_hash_table_lookup (job->environments, GUINT_TO_POINTER (rank));
  if (environment == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "No environment for rank %u of job %s", rank, nspace);
  return g_strdupv (environment);
}

static char **
dvmd_pmix_servers_dup_default_environment (DvmdPmix *pmix, const char *nspace, guint n_pus, GError **error)
{
  DvmdPmixServers *self = DVMD_PMIX_SERVERS (pmix);
  g_autofree char *shm = NULL;
  DvmdPmixJob *job;

  if (!has_job (self, nspace, error))
    return NULL;
  job = dvmd_pmix_servers_find_job (self, nspace)->job;
  shm = dvmd_pmix_dirs_build_shm (self->dirs, nspace);
  return dvmd_pmix_build_default_environment (dvmd_pmix_job_count_on_node (job, job->my_node), n_pus, shm);
}

/* ---- the end of ranks and jobs ---- */

static void
dvmd_pmix_servers_deregister_client (DvmdPmix *pmix, const char *nspace, guint32 rank)
{
  DvmdPmixServers *self = DVMD_PMIX_SERVERS (pmix);
  DvmdPmixServersJob *job = dvmd_pmix_servers_find_job (self, nspace);
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find_home (self, nspace);

  if (job == NULL)
    return;
  if (g_hash_table_remove (job->connected, GUINT_TO_POINTER (rank)) && server != NULL)
    dvmd_pmix_servers_taint (server, nspace);
  if (server != NULL)
    dvmd_pmix_remote_say (server->remote, DVMD_PMIX_MSG_GONE, g_variant_new ("(su)", nspace, rank));
  dvmd_pmix_collectives_fail (self, nspace, rank);
}

/* body NULL: the server has ended, which is told besides. */
static void
on_taken_back (GVariant *body, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;
  const char *text;
  gint32 code;

  if (body == NULL)
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "its PMIx server has ended");
      return;
    }
  g_variant_get (body, "(ti&st)", NULL, &code, &text, NULL);
  error = dvmd_pmix_servers_make_error (code, text);
  if (error != NULL)
    g_task_return_error (task, g_steal_pointer (&error));
  else
    g_task_return_boolean (task, TRUE);
}

static void
dvmd_pmix_servers_take_back_async (DvmdPmix *pmix, const char *nspace, guint32 rank, GAsyncReadyCallback callback,
                                   gpointer user_data)
{
  DvmdPmixServers *self = DVMD_PMIX_SERVERS (pmix);
  DvmdPmixServersJob *job = dvmd_pmix_servers_find_job (self, nspace);
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find_home (self, nspace);
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);

  g_task_set_source_tag (task, dvmd_pmix_servers_take_back_async);
  if (job == NULL || server == NULL)
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_FOUND, "no PMIx server has its job");
      return;
    }
  if (g_hash_table_remove (job->connected, GUINT_TO_POINTER (rank)))
    dvmd_pmix_servers_taint (server, nspace);
  dvmd_pmix_collectives_fail (self, nspace, rank);
  dvmd_pmix_remote_say (server->remote, DVMD_PMIX_MSG_TAKE_BACK,
                        g_variant_new ("(tsu)",
                                       dvmd_pmix_remote_expect (server->remote, on_taken_back, g_steal_pointer (&task)),
                                       nspace, rank));
}

/*
 * The job ends without waiting for the library, which takes longer to forget it than a short job takes. The library of
 * a server that lost a rank may hang over it: it is not asked, and keeps what it has until it ends.
 */
static void
let_go (DvmdPmixServers *self, DvmdPmixServersJob *job)
{
  const char *nspace = job->job->nspace;
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find_home (self, nspace);

  /* The server does so too, but later than the end of the job is known. */
  if (!is_guest (job->job))
    dvmd_pmix_dirs_remove_job (self->dirs, nspace);
  if (server == NULL || server->tainted)
    {
      if (server != NULL)
        dvmd_pmix_remote_say (server->remote, DVMD_PMIX_MSG_ABANDON, g_variant_new ("(s)", nspace));
      dvmd_pmix_servers_leave_home (self, job);
      return;
    }
  g_hash_table_remove (server->known, nspace);
  server->n_homes--;
  server->n_leaving++;
  tell_to_forget (server, nspace);
}

/* Its server is told when it has answered: only then has it got all of the job that it is to forget. */
static void
give_up_registration (DvmdPmixServers *self, DvmdPmixServersJob *job)
{
  g_autoptr (GTask) task = g_steal_pointer (&job->registering);
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find_home (self, job->job->nspace);

  dvmd_pmix_dirs_remove_job (self->dirs, job->job->nspace);
  g_hash_table_remove (server->known, job->job->nspace);
  server->n_homes--;
  server->n_leaving++;
  g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_FOUND, "Job %s has ended before its PMIx server knew it",
                           job->job->nspace);
}

static void
dvmd_pmix_servers_deregister_job_async (DvmdPmix *pmix, const char *nspace, GAsyncReadyCallback callback,
                                        gpointer user_data)
{
  DvmdPmixServers *self = DVMD_PMIX_SERVERS (pmix);
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  g_autoptr (GError) error = NULL;
  DvmdPmixServersJob *job;

  g_task_set_source_tag (task, dvmd_pmix_servers_deregister_job_async);
  if (!has_job (self, nspace, &error))
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  dvmd_pmix_collectives_fail (self, nspace, DVMD_PMIX_RANK_WILDCARD);
  job = dvmd_pmix_servers_find_job (self, nspace);
  if (job->registering != NULL)
    give_up_registration (self, job);
  else
    let_go (self, job);
  g_hash_table_remove (self->jobs, nspace);
  dvmd_pmix_servers_leave_ports (self, nspace);
  forget_guest (self, nspace);
  g_task_return_boolean (task, TRUE);
}

static void
dvmd_pmix_servers_abandon_job (DvmdPmix *pmix, const char *nspace)
{
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find_home (DVMD_PMIX_SERVERS (pmix), nspace);

  if (server != NULL)
    dvmd_pmix_servers_taint (server, nspace);
  dvmd_pmix_servers_deregister_job_async (pmix, nspace, NULL, NULL);
}

/* A caller that waits until everything is known that clients have reported. */
typedef struct
{
  DvmdPmixDone func;
  gpointer user_data;
} Waiter;

static void catch_up (DvmdPmixServerProcess *server);

static void
tell_waiters (GArray *waiters)
{
  for (guint i = 0; i < waiters->len; i++)
    {
      const Waiter *waiter = &g_array_index (waiters, Waiter, i);

      waiter->func (waiter->user_data);
    }
}

/* body NULL: its end is told first. */
static void
on_caught_up (GVariant *body, gpointer user_data)
{
  g_autoptr (Question) question = user_data;
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find (question->pool, question->id);
  g_autoptr (GArray) waiters = NULL;

  if (server == NULL || body == NULL)
    return;
  waiters = g_steal_pointer (&server->catching_up);
  if (server->to_catch_up != NULL)
    catch_up (server);
  tell_waiters (waiters);
}

void
dvmd_pmix_servers_end_waiting (DvmdPmixServerProcess *server)
{
  g_autoptr (GArray) first = g_steal_pointer (&server->catching_up);
  g_autoptr (GArray) later = g_steal_pointer (&server->to_catch_up);

  if (first != NULL)
    tell_waiters (first);
  if (later != NULL)
    tell_waiters (later);
}

static void
catch_up (DvmdPmixServerProcess *server)
{
  server->catching_up = g_steal_pointer (&server->to_catch_up);
  dvmd_pmix_remote_say (server->remote, DVMD_PMIX_MSG_CATCH_UP,
                        g_variant_new ("(t)", dvmd_pmix_remote_expect (server->remote, on_caught_up,
                                                                       question_new (server->pool, "", server->id))));
}

/* Before that a client has not connected, and has told nothing. */
gboolean
dvmd_pmix_servers_has_anybody_connected (const DvmdPmixServerProcess *server, const DvmdPmixServersJob *job)
{
  return server->connections == NULL || dvmd_pmix_counter_get (server->connections) != job->connections;
}

/* Ranks end in numbers: one question at a time, for all that have come until then. */
static gboolean
dvmd_pmix_servers_catch_up (DvmdPmix *pmix, const char *nspace, DvmdPmixDone func, gpointer user_data)
{
  DvmdPmixServers *self = DVMD_PMIX_SERVERS (pmix);
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find_home (self, nspace);
  const Waiter waiter = { func, user_data };

  if (server == NULL || !dvmd_pmix_servers_has_anybody_connected (server, dvmd_pmix_servers_find_job (self, nspace)))
    return TRUE;
  if (server->to_catch_up == NULL)
    server->to_catch_up = g_array_new (FALSE, FALSE, sizeof (Waiter));
  g_array_append_val (server->to_catch_up, waiter);
  if (server->catching_up == NULL)
    catch_up (server);
  return FALSE;
}

void
dvmd_pmix_servers_init_jobs (DvmdPmixInterface *iface)
{
  iface->register_job_async = dvmd_pmix_servers_register_job_async;
  iface->register_job_finish = dvmd_pmix_servers_job_finish;
  iface->dup_environment = dvmd_pmix_servers_dup_environment;
  iface->dup_default_environment = dvmd_pmix_servers_dup_default_environment;
  iface->deregister_client = dvmd_pmix_servers_deregister_client;
  iface->take_back_async = dvmd_pmix_servers_take_back_async;
  iface->take_back_finish = dvmd_pmix_servers_job_finish;
  iface->deregister_job_async = dvmd_pmix_servers_deregister_job_async;
  iface->deregister_job_finish = dvmd_pmix_servers_job_finish;
  iface->abandon_job = dvmd_pmix_servers_abandon_job;
  iface->catch_up = dvmd_pmix_servers_catch_up;
}
