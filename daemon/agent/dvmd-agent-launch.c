/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * From the launch message to a job that can be started: what it says, and the registration with the PMIx server.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-binding.h"
#include "dvmd-agent-devices.h"
#include "dvmd-agent-fences.h"
#include "dvmd-agent-host.h"
#include "dvmd-agent-pmi.h"
#include "dvmd-agent-pmix.h"
#include "dvmd-agent-procs.h"
#include "dvmd-agent-stage.h"
#include "dvmd-id-set.h"

/* How long the PMIx server may take to know a job. */
#define REGISTER_LIMIT (30 * G_USEC_PER_SEC)

typedef struct
{
  DvmdAgent *agent;               /* unowned */
  DvmdEnvironments *environments; /* that have come */
} Launches;

typedef struct
{
  DvmdAgent *agent;
  guint32 job;
} Pending;

static void
agent_app_free (gpointer data)
{
  DvmdAgentApp *app = data;

  g_strfreev (app->argv);
  g_free (app->cwd);
  g_strfreev (app->unset_env);
  g_clear_pointer (&app->digest, g_bytes_unref);
  g_clear_pointer (&app->environment, dvmd_environment_unref);
  g_strfreev (app->defaults);
  g_clear_pointer (&app->base, dvmd_variables_free);
  g_free (app);
}

void
dvmd_agent_job_free (DvmdAgentJob *self)
{
  dvmd_agent_forget_fences (self);
  dvmd_agent_forget_pmi (self);
  dvmd_clock_remove_timer (dvmd_agent_get_parts (self->agent)->clock, self->timer);
  for (guint i = 0; self->local != NULL && i < self->local->procs->len; i++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (self->local->procs, i);

      dvmd_clock_remove_timer (dvmd_agent_get_parts (self->agent)->clock, proc->timer);
      dvmd_clock_remove_timer (dvmd_agent_get_parts (self->agent)->clock, proc->restart.timer);
      g_clear_pointer ((DvmdPipes **)&proc->streams, dvmd_pipes_free);
    }
  g_clear_pointer (&self->local, dvmd_local_job_unref);
  g_clear_pointer (&self->container, dvmd_container_free);
  g_clear_pointer (&self->credit, dvmd_credit_unref);
  g_clear_pointer (&self->map, dvmd_map_free);
  g_clear_pointer (&self->apps, g_ptr_array_unref);
  g_clear_pointer (&self->run, dvmd_agent_run_free);
  dvmd_fields_clear (dvmd_launch_fields, &self->options);
  g_clear_pointer (&self->cpus, g_ptr_array_unref);
  g_clear_pointer (&self->devices, dvmd_map_devices_free);
  g_clear_pointer (&self->early_events, g_ptr_array_unref);
  g_free (self->lost_reason);
  g_free (self->session_dir);
  g_free (self);
}

static GBytes *
get_digest (GVariant *bytes)
{
  gsize length;
  gconstpointer data = g_variant_get_fixed_array (bytes, &length, 1);

  return length > 0 ? g_bytes_new (data, length) : NULL;
}

/* Named by its digest, or here with the job. */
static void
read_environment (DvmdAgentApp *app, GVariant *row)
{
  g_autoptr (GVariant) digest = g_variant_get_child_value (row, 4);
  g_autoptr (GVariant) env = g_variant_get_child_value (row, 5);
  g_auto (GStrv) strings = NULL;

  app->digest = get_digest (digest);
  if (app->digest != NULL)
    return;
  strings = dvmd_variant_dup_bytes_array (env);
  app->environment = dvmd_environment_new (NULL, (const char *const *)strings);
}

static void
read_apps (DvmdAgentJob *job, GVariant *apps)
{
  gsize n = g_variant_n_children (apps);

  job->apps = g_ptr_array_new_with_free_func (agent_app_free);
  for (gsize i = 0; i < n; i++)
    {
      DvmdAgentApp *app = g_new0 (DvmdAgentApp, 1);
      g_autoptr (GVariant) row = g_variant_get_child_value (apps, i);
      g_autoptr (GVariant) argv = g_variant_get_child_value (row, 0);
      g_autoptr (GVariant) cwd = g_variant_get_child_value (row, 1);

      app->argv = dvmd_variant_dup_bytes_array (argv);
      app->cwd = dvmd_variant_dup_bytes (cwd);
      g_variant_get_child (row, 2, "b", &app->clear_env);
      g_variant_get_child (row, 3, "^as", &app->unset_env);
      read_environment (app, row);
      app->first_rank = G_MAXUINT32;
      g_ptr_array_add (job->apps, app);
    }
}

/* The map says how many ranks each application has on all nodes, and which is the lowest. */
static gboolean
count_app (DvmdAgentJob *job, const DvmdMapRow *row, GError **error)
{
  DvmdAgentApp *app;
  gint64 last = row->first_rank + (gint64)(row->n_nodes - 1) * row->step;

  if (row->app >= job->apps->len)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, "The map speaks of an application that is not there");
      return FALSE;
    }
  app = g_ptr_array_index (job->apps, row->app);
  app->size += row->n_nodes * row->count;
  app->first_rank = MIN (app->first_rank, MIN (row->first_rank, last));
  return TRUE;
}

/* n_before (out): see DvmdLocalProc. FALSE: the rank is not to be started by this message. */
static gboolean
is_meant (DvmdAgentJob *job, guint32 rank, guint32 *n_before)
{
  GVariant *moved = job->options.moved;

  *n_before = 0;
  for (gsize i = 0; moved != NULL && i < g_variant_n_children (moved); i++)
    {
      guint32 one;

      g_variant_get_child (moved, i, "(uu)", &one, n_before);
      if (one == rank)
        return TRUE;
    }
  return moved == NULL;
}

/* The library stops all ranks of a job that has the key: these are let go on when they say that they wait. */
static gboolean
spare_ranks (DvmdAgentJob *job, GError **error)
{
  g_autoptr (DvmdIdSet) ranks = NULL;

  if (job->options.stop_ranks == NULL)
    return TRUE;
  ranks = dvmd_id_set_parse (job->options.stop_ranks, "stop-ranks", error);
  for (guint i = 0; ranks != NULL && i < job->local->procs->len; i++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, i);

      proc->spared = !dvmd_id_set_contains (ranks, proc->rank);
    }
  return ranks != NULL;
}

/* The standard input of the job is for the ranks of the list alone. */
static gboolean
mark_readers (DvmdAgentJob *job, GError **error)
{
  g_autoptr (DvmdIdSet) ranks = NULL;

  if (job->options.stdin_target != DVMD_SOME_RANKS)
    return TRUE;
  ranks = dvmd_id_set_parse (job->options.stdin_ranks != NULL ? job->options.stdin_ranks : "", "stdin-ranks", error);
  for (guint i = 0; ranks != NULL && i < job->local->procs->len; i++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, i);

      proc->reads = dvmd_id_set_contains (ranks, proc->rank);
    }
  return ranks != NULL;
}

/* Only what runs here is expanded. */
static gboolean
read_map (DvmdAgentJob *job, guint32 n_procs, GVariant *map, GError **error)
{
  g_autoptr (GArray) ours = NULL;

  job->map = dvmd_map_new_from_variant (map, error);
  if (job->map == NULL)
    return FALSE;
  if (job->map->num_procs != n_procs)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, "The map has %u processes, and the job %u",
                   job->map->num_procs, n_procs);
      return FALSE;
    }
  for (guint i = 0; i < job->map->rows->len; i++)
    if (!count_app (job, &g_array_index (job->map->rows, DvmdMapRow, i), error))
      return FALSE;
  ours = dvmd_map_expand_node (job->map, dvmd_agent_get_parts (job->agent)->rank);
  for (guint i = 0; i < ours->len; i++)
    {
      const DvmdMapRank *proc = &g_array_index (ours, DvmdMapRank, i);
      guint32 n_before;

      if (!is_meant (job, proc->rank, &n_before))
        continue;
      dvmd_local_job_add_proc (job->local, proc->rank, proc->app, i)->n_before = n_before;
      ((DvmdAgentApp *)g_ptr_array_index (job->apps, proc->app))->n_local++;
    }
  return TRUE;
}

DvmdAgentJob *
dvmd_agent_job_new_from_message (DvmdAgent *self, GVariant *body, GError **error)
{
  DvmdAgentJob *job = g_new0 (DvmdAgentJob, 1);
  g_autoptr (GVariant) options = NULL;
  g_autoptr (GVariant) apps = NULL;
  g_autoptr (GVariant) map = NULL;
  g_autofree char *mark = NULL;
  const char *nspace;
  guint32 n_procs;
  guint32 id;

  g_variant_get (body, "(u&suu@a{sv}@" DVMD_LAUNCH_APPS_TYPE "@" DVMD_LAUNCH_MAP_TYPE ")", &id, &nspace, &n_procs,
                 &job->universe, &options, &apps, &map);
  job->agent = self;
  job->local = dvmd_local_job_new (id, nspace, dvmd_agent_get_parts (self)->queue, &dvmd_agent_local_funcs, job);
  job->run = dvmd_agent_run_new ();
  read_apps (job, apps);
  if (!dvmd_fields_from_dict (dvmd_launch_fields, &job->options, options, error) || !read_map (job, n_procs, map, error)
      || !spare_ranks (job, error) || !mark_readers (job, error))
    {
      dvmd_agent_job_free (job);
      return NULL;
    }
  job->pmix = job->options.personality == NULL || g_str_equal (job->options.personality, "pmix");
  if (job->local->procs->len > 0)
    dvmd_agent_enter_session_dir (job);
  mark = g_strdup_printf ("DVM_JOBID=%s", nspace);
  job->container = dvmd_container_new (dvmd_agent_get_parts (self)->containers, mark);
  job->credit = dvmd_credit_new (job->options.credit);
  return job;
}

static void
stop_waiting (DvmdAgentJob *job)
{
  dvmd_clock_remove_timer (dvmd_agent_get_parts (job->agent)->clock, job->timer);
  job->timer = 0;
}

/* No job hangs because a library does. */
static void
on_no_answer (gpointer user_data)
{
  DvmdAgentJob *job = user_data;
  g_autofree char *reason = g_strdup_printf ("The PMIx server of %s does not answer: jobs with --personality plain can "
                                             "still be run, others need a new DVM",
                                             dvmd_agent_get_parts (job->agent)->name);

  job->timer = 0;
  if (job->local->n_tried == 0)
    dvmd_agent_fail_procs (job, DVMD_EXIT_FAILED, reason);
}

/* The registration may be answered after the job has ended: it is gone then, or its processes have been given up. */
static void
on_registered (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autofree Pending *pending = user_data;
  g_autoptr (DvmdAgent) self = pending->agent;
  g_autoptr (GError) error = NULL;
  DvmdAgentJob *job = dvmd_agent_find_job (self, pending->job);
  gboolean registered = dvmd_pmix_register_job_finish (DVMD_PMIX (source), result, &error);

  if (job == NULL || !job->registering)
    return;
  stop_waiting (job);
  job->registering = FALSE;
  job->registered = registered;
  if (job->local->n_tried > 0)
    return;
  if (registered)
    {
      dvmd_agent_define_psets (job);
      dvmd_agent_start_procs (job);
    }
  else
    dvmd_agent_fail_procs (job, DVMD_EXIT_FAILED, error->message);
}

static void
register_job (DvmdAgent *self, DvmdAgentJob *job)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdPmixJob) description = NULL;
  Pending *pending;

  if (!dvmd_agent_has_pmix (self) && !dvmd_agent_start_pmix (self, &error))
    {
      dvmd_agent_fail_procs (job, DVMD_EXIT_FAILED, error->message);
      return;
    }
  description = dvmd_agent_describe_job (job);
  pending = g_new0 (Pending, 1);
  pending->agent = g_object_ref (self);
  pending->job = job->local->id;
  job->registering = TRUE;
  job->timer = dvmd_clock_add_timer (dvmd_agent_get_parts (self)->clock, REGISTER_LIMIT, on_no_answer, job);
  dvmd_pmix_register_job_async (dvmd_agent_get_pmix (self), description, on_registered, pending);
  dvmd_agent_tell_early_events (job);
}

static void
begin (DvmdAgent *self, DvmdAgentJob *job)
{
  g_autoptr (GError) error = NULL;

  if (!dvmd_agent_bind_procs (job, &error) || !dvmd_agent_find_devices (job, &error))
    dvmd_agent_fail_procs (job, DVMD_EXIT_FAILED, error->message);
  else if (job->pmix)
    register_job (self, job);
  else
    dvmd_agent_start_procs (job);
}

/* Environments that are not here are asked for; those that this agent has are held, so that nothing pushes them out. */
static void
await_environments (DvmdAgent *self, DvmdAgentJob *job)
{
  Launches *launches = dvmd_agent_services_get (self, &dvmd_agent_launch_service);

  for (guint i = 0; i < job->apps->len; i++)
    {
      DvmdAgentApp *app = g_ptr_array_index (job->apps, i);

      if (app->n_local > 0 && app->environment == NULL)
        app->environment = dvmd_environments_find (launches->environments, app->digest);
      if (app->n_local == 0 || app->environment != NULL)
        continue;
      job->n_awaited++;
      dvmd_agent_send (self, DVMD_MSG_ENVIRONMENT_ASK, g_variant_new ("(uu)", job->local->id, i));
    }
}

static void
give_environment (DvmdAgent *self, DvmdAgentJob *job, DvmdEnvironment *environment)
{
  for (guint i = 0; i < job->apps->len && job->n_awaited > 0; i++)
    {
      DvmdAgentApp *app = g_ptr_array_index (job->apps, i);

      if (app->n_local == 0 || app->environment != NULL || !g_bytes_equal (app->digest, environment->digest))
        continue;
      app->environment = dvmd_environment_ref (environment);
      if (--job->n_awaited == 0)
        begin (self, job);
    }
}

static void
handle_environment (gpointer service, guint source, GVariant *body)
{
  Launches *launches = service;
  DvmdAgent *self = launches->agent;
  g_autoptr (DvmdEnvironment) environment = NULL;
  g_autoptr (GVariant) bytes = g_variant_get_child_value (body, 0);
  g_autoptr (GVariant) array = g_variant_get_child_value (body, 1);
  g_autoptr (GBytes) digest = get_digest (bytes);
  g_autoptr (GList) jobs = dvmd_agent_list_jobs (self);
  g_auto (GStrv) strings = dvmd_variant_dup_bytes_array (array);

  if (digest == NULL)
    return;
  environment = dvmd_environments_add (launches->environments, digest, (const char *const *)strings);
  /* Jobs end in later turns: none of the list goes meanwhile. */
  for (GList *l = jobs; l != NULL; l = l->next)
    give_environment (self, l->data, environment);
}

static void
handle_launch (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = ((Launches *)service)->agent;
  g_autoptr (GError) error = NULL;
  DvmdAgentJob *job = dvmd_agent_job_new_from_message (self, body, &error);

  if (job == NULL)
    {
      /* A controller of the same build does not send such a message. */
      g_critical ("The launch message cannot be used: %s", error->message);
      return;
    }
  if (job->local->procs->len == 0)
    {
      dvmd_agent_job_free (job);
      return;
    }
  dvmd_agent_add_job (self, job);
  if (dvmd_agent_is_stopping (self))
    {
      dvmd_agent_fail_procs (job, DVMD_EXIT_FAILED, "The agent is ending");
      return;
    }
  await_environments (self, job);
  if (job->n_awaited == 0)
    begin (self, job);
}

/* ---- the service ---- */

static gpointer
create (DvmdAgent *agent, const DvmdAgentSettings *settings)
{
  Launches *self = g_new0 (Launches, 1);

  self->agent = agent;
  self->environments = dvmd_environments_new (DVMD_ENVIRONMENTS_LIMIT);
  return self;
}

static void
launches_free (gpointer service)
{
  Launches *self = service;

  dvmd_environments_free (self->environments);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_ENVIRONMENT, handle_environment },
  { DVMD_MSG_LAUNCH, handle_launch },
  { 0 },
};

const DvmdAgentService dvmd_agent_launch_service = {
  .name = "launch",
  .create = create,
  .free = launches_free,
  .handlers = handlers,
};
