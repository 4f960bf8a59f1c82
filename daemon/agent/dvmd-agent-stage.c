/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The session directory of a job on this node: the files that come for it, and its end.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-stage.h"
#include "dvmd-stage.h"

typedef struct
{
  DvmdAgent *agent; /* unowned */
  guint32 job;
  DvmdStage *stage;
  gboolean ending;
} DvmdAgentStage;

typedef struct
{
  DvmdAgent *agent;   /* unowned */
  GHashTable *stages; /* job id -> DvmdAgentStage, also of jobs that are not launched */
} Stages;

static GHashTable *
get_stages (DvmdAgent *self)
{
  return ((Stages *)dvmd_agent_services_get (self, &dvmd_agent_stage_service))->stages;
}

static void
stage_free (gpointer data)
{
  DvmdAgentStage *self = data;

  dvmd_stage_free (self->stage);
  g_free (self);
}

static void
on_taken (guint64 pass, gsize bytes, gpointer user_data)
{
  DvmdAgentStage *self = user_data;

  dvmd_agent_send (self->agent, DVMD_MSG_STAGE_TAKEN, g_variant_new ("(utt)", self->job, pass, (guint64)bytes));
}

static void
on_begun (guint64 pass, gpointer user_data)
{
  on_taken (pass, DVMD_STAGE_FILE_COST, user_data);
}

static void
on_done (guint64 pass, const GError *error, gpointer user_data)
{
  DvmdAgentStage *self = user_data;

  dvmd_agent_send (self->agent, DVMD_MSG_STAGED,
                   g_variant_new ("(uts)", self->job, pass, error != NULL ? error->message : ""));
}

static const DvmdStageFuncs stage_funcs = { .begun = on_begun, .taken = on_taken, .done = on_done };

/* Where the PMIx server has it too. */
static char *
build_session_dir (DvmdAgent *self, const char *nspace)
{
  return g_build_filename (dvmd_agent_get_parts (self)->runtime_dir, "sessions", nspace, NULL);
}

static DvmdAgentStage *
ensure_stage (DvmdAgent *self, guint32 job, const char *nspace)
{
  DvmdAgentStage *stage = g_hash_table_lookup (get_stages (self), GUINT_TO_POINTER (job));
  g_autofree char *directory = NULL;

  if (stage != NULL)
    return stage;
  directory = build_session_dir (self, nspace);
  stage = g_new0 (DvmdAgentStage, 1);
  stage->agent = self;
  stage->job = job;
  stage->stage = dvmd_stage_new (directory, &stage_funcs, stage);
  g_hash_table_insert (get_stages (self), GUINT_TO_POINTER (job), stage);
  return stage;
}

/* NULL: it is refused. */
static DvmdAgentStage *
enter_pass (DvmdAgent *self, guint32 job, const char *nspace, guint64 pass)
{
  DvmdAgentStage *stage;

  if (dvmd_agent_is_stopping (self))
    {
      dvmd_agent_send (self, DVMD_MSG_STAGED, g_variant_new ("(uts)", job, pass, "the agent is ending"));
      return NULL;
    }
  stage = ensure_stage (self, job, nspace);
  if (dvmd_stage_get_pass (stage->stage) != pass)
    dvmd_stage_begin_pass (stage->stage, pass);
  return stage;
}

static void
handle_stage_file (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = ((Stages *)service)->agent;
  g_autoptr (GVariant) bytes = NULL;
  g_autofree char *target = NULL;
  DvmdAgentStage *stage;
  const char *nspace;
  guint32 job;
  guint64 pass;
  guint32 mode;
  guint64 size;

  g_variant_get (body, "(u&st@ayut)", &job, &nspace, &pass, &bytes, &mode, &size);
  stage = enter_pass (self, job, nspace, pass);
  if (stage == NULL)
    return;
  target = dvmd_variant_dup_bytes (bytes);
  dvmd_stage_add_file (stage->stage, target, mode, size);
}

/* NULL: this belongs to files that nobody waits for any more. */
static DvmdAgentStage *
find_stage (DvmdAgent *self, guint32 job, guint64 pass)
{
  DvmdAgentStage *stage = g_hash_table_lookup (get_stages (self), GUINT_TO_POINTER (job));

  return stage != NULL && dvmd_stage_get_pass (stage->stage) == pass ? stage : NULL;
}

static void
handle_stage_data (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = ((Stages *)service)->agent;
  g_autoptr (GVariant) data = NULL;
  g_autoptr (GBytes) bytes = NULL;
  DvmdAgentStage *stage;
  guint32 job;
  guint64 pass;

  g_variant_get (body, "(ut@ay)", &job, &pass, &data);
  stage = find_stage (self, job, pass);
  if (stage == NULL)
    return;
  bytes = g_variant_get_data_as_bytes (data);
  dvmd_stage_add_data (stage->stage, bytes);
}

/* No file needs to have come before: an archive can have nothing in it. */
static void
handle_stage_end (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = ((Stages *)service)->agent;
  DvmdAgentStage *stage;
  const char *nspace;
  guint32 job;
  guint64 pass;

  g_variant_get (body, "(u&st)", &job, &nspace, &pass);
  stage = enter_pass (self, job, nspace, pass);
  if (stage != NULL)
    dvmd_stage_end_pass (stage->stage);
}

/* Those of the applications in the list (nullable). */
static void
for_each_app (DvmdAgentJob *job, GVariant *list, void (*func) (DvmdAgentApp *, const char *))
{
  gsize n = list != NULL ? g_variant_n_children (list) : 0;

  for (gsize i = 0; i < n; i++)
    {
      guint32 index;

      g_variant_get_child (list, i, "u", &index);
      if (index < job->apps->len)
        func (g_ptr_array_index (job->apps, index), job->session_dir);
    }
}

static void
start_there (DvmdAgentApp *app, const char *session_dir)
{
  g_free (app->cwd);
  app->cwd = g_strdup (session_dir);
}

static void
run_copy (DvmdAgentApp *app, const char *session_dir)
{
  g_autofree char *program = g_steal_pointer (&app->argv[0]);
  g_autofree char *name = g_path_get_basename (program);

  app->argv[0] = g_build_filename (session_dir, name, NULL);
}

void
dvmd_agent_enter_session_dir (DvmdAgentJob *job)
{
  DvmdAgent *self = job->agent;
  g_autoptr (GError) error = NULL;

  if (job->options.session_dir_apps == NULL
      && !g_hash_table_contains (get_stages (self), GUINT_TO_POINTER (job->local->id)))
    return;
  job->session_dir = build_session_dir (self, job->local->nspace);
  for_each_app (job, job->options.session_dir_apps, start_there);
  for_each_app (job, job->options.preloaded_apps, run_copy);
  /* Its processes say so too when they cannot start there. */
  if (!dvmd_stage_create (ensure_stage (self, job->local->id, job->local->nspace)->stage, &error))
    g_message ("job %s: %s", job->local->nspace, error->message);
}

/* The PMIx server makes one for each of its jobs. Other jobs would pay for one that they have no use for. */
char *
dvmd_agent_dup_session_dir (DvmdAgentJob *job)
{
  if (job->session_dir == NULL && job->pmix)
    return build_session_dir (job->agent, job->local->nspace);
  return g_strdup (job->session_dir);
}

static void
say_gone (DvmdAgent *self, guint32 job)
{
  dvmd_agent_send (self, DVMD_MSG_JOB_GONE, g_variant_new ("(u)", job));
}

static void
on_removed (gpointer user_data)
{
  DvmdAgentStage *stage = user_data;
  DvmdAgent *self = stage->agent;
  guint32 job = stage->job;

  g_hash_table_remove (get_stages (self), GUINT_TO_POINTER (job));
  say_gone (self, job);
  dvmd_agent_check_end (self);
}

void
dvmd_agent_end_stage (DvmdAgent *self, guint32 job)
{
  DvmdAgentStage *stage = g_hash_table_lookup (get_stages (self), GUINT_TO_POINTER (job));

  if (stage == NULL)
    {
      say_gone (self, job);
      return;
    }
  if (stage->ending)
    return;
  stage->ending = TRUE;
  dvmd_stage_remove (stage->stage, on_removed, stage);
}

void
dvmd_agent_end_unused_stages (DvmdAgent *self)
{
  GHashTableIter iter;
  gpointer id;

  g_hash_table_iter_init (&iter, get_stages (self));
  while (g_hash_table_iter_next (&iter, &id, NULL))
    if (dvmd_agent_find_job (self, GPOINTER_TO_UINT (id)) == NULL)
      dvmd_agent_end_stage (self, GPOINTER_TO_UINT (id));
}

/* ---- the service ---- */

static gboolean
is_busy (gpointer service)
{
  return g_hash_table_size (((Stages *)service)->stages) > 0;
}

static gpointer
create (DvmdAgent *agent, const DvmdAgentSettings *settings)
{
  Stages *self = g_new0 (Stages, 1);

  self->agent = agent;
  self->stages = g_hash_table_new_full (NULL, NULL, NULL, stage_free);
  return self;
}

static void
stages_free (gpointer service)
{
  Stages *self = service;

  g_hash_table_unref (self->stages);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_STAGE_FILE, handle_stage_file },
  { DVMD_MSG_STAGE_DATA, handle_stage_data },
  { DVMD_MSG_STAGE_END, handle_stage_end },
  { 0 },
};

const DvmdAgentService dvmd_agent_stage_service = {
  .name = "stage",
  .create = create,
  .free = stages_free,
  .handlers = handlers,
  .is_busy = is_busy,
};
