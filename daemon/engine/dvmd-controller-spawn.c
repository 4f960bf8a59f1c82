/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs that processes and tools want: submitted like any other, answered when they run or will not, and the end told to
 * whoever wanted them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <string.h>
#include <unistd.h>

#include "dvmd-controller-private.h"

/* A job that somebody waits for, or is to be told the end of. */
typedef struct
{
  DvmdController *controller; /* unowned */
  guint id;
  char *nspace; /* of who wanted it */
  guint32 rank;
  guint agent;
  guint64 token;
  gboolean answered;
  guint timer;
  gboolean late; /* its time was up before it ran */
} Spawn;

static void
stop_forwarding (Spawn *spawn)
{
  GHashTable *all = spawn->controller->streams;
  DvmdJobStreams *streams = all != NULL ? g_hash_table_lookup (all, GUINT_TO_POINTER (spawn->id)) : NULL;

  if (streams != NULL)
    dvmd_output_set_tap (streams->output, 0, NULL, NULL);
}

static void
spawn_free (gpointer data)
{
  Spawn *spawn = data;

  stop_forwarding (spawn);
  dvmd_clock_remove_timer (spawn->controller->clock, spawn->timer);
  g_free (spawn->nspace);
  g_free (spawn);
}

GHashTable *
dvmd_controller_spawns_new (void)
{
  return g_hash_table_new_full (NULL, NULL, NULL, spawn_free);
}

static void
send_answer (DvmdController *self, guint agent, guint64 token, int status, const char *nspace)
{
  dvmd_controller_send (self, agent, DVMD_MSG_SPAWNED, g_variant_new ("(tis)", token, status, nspace));
}

/* ---- what a job inherits ---- */

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

/* (nullable): the application of the job that this rank belongs to */
static DvmAppSpec *
find_app (DvmdController *self, const char *nspace, guint32 rank)
{
  DvmdJob *job = dvmd_core_find_job (self->core, nspace);
  DvmdProcTable *procs = job != NULL ? dvmd_job_get_procs (job) : NULL;

  if (procs == NULL || rank >= procs->n_rows)
    return NULL;
  return dvm_job_spec_get_app (dvmd_job_get_spec (job), dvmd_proc_table_row (procs, rank)->app);
}

static gboolean
names_variable (const char *const *names, const char *variable)
{
  gsize length = strcspn (variable, "=");

  for (gsize i = 0; names != NULL && names[i] != NULL; i++)
    if (strlen (names[i]) == length && strncmp (names[i], variable, length) == 0)
      return TRUE;
  return FALSE;
}

static void
add_all (GStrvBuilder *list, const char *const *texts)
{
  for (gsize i = 0; texts != NULL && texts[i] != NULL; i++)
    g_strv_builder_add (list, texts[i]);
}

/* As a child has it from its parent: the environment that was given to that, changed by what is said here. */
static void
inherit_environment (DvmAppSpec *app, DvmAppSpec *parent)
{
  const char *const *unset = dvm_app_spec_get_unset_env (app);
  const char *const *given = dvm_app_spec_get_env (parent);
  g_autoptr (GStrvBuilder) env = g_strv_builder_new ();
  g_autoptr (GStrvBuilder) gone = g_strv_builder_new ();
  g_auto (GStrv) whole = NULL;
  g_auto (GStrv) names = NULL;

  for (gsize i = 0; given != NULL && given[i] != NULL; i++)
    if (!names_variable (unset, given[i]))
      g_strv_builder_add (env, given[i]);
  add_all (env, dvm_app_spec_get_env (app));
  add_all (gone, dvm_app_spec_get_unset_env (parent));
  add_all (gone, unset);
  whole = g_strv_builder_end (env);
  names = g_strv_builder_end (gone);
  dvm_app_spec_set_env (app, (const char *const *)whole);
  dvm_app_spec_set_unset_env (app, (const char *const *)names);
  if (dvm_app_spec_get_clear_env (parent))
    dvm_app_spec_set_clear_env (app, TRUE);
  if (dvm_app_spec_get_cwd (app) == NULL)
    dvm_app_spec_set_cwd (app, dvm_app_spec_get_cwd (parent));
}

/*
 * Whoever waits here for a job holds slots that it may be waiting for: one that does not fit now is refused, as mpirun
 * has it.
 */
static void
inherit (DvmJobSpec *spec, DvmAppSpec *parent)
{
  if (dvm_job_spec_get_when_full (spec) == NULL)
    dvm_job_spec_set_when_full (spec, "refuse");
  for (guint i = 0; parent != NULL && i < dvm_job_spec_get_n_apps (spec); i++)
    inherit_environment (dvm_job_spec_get_app (spec, i), parent);
}

/* ---- the request ---- */

static void
on_timeout (gpointer user_data)
{
  Spawn *spawn = user_data;
  DvmdController *self = spawn->controller;
  DvmdJob *job = dvmd_core_get_job (self->core, spawn->id);

  spawn->timer = 0;
  spawn->late = TRUE;
  if (job != NULL)
    dvmd_core_fail_job (self->core, job, DVM_JOB_STATE_KILLED_BY_CMD,
                        "It did not run when the time was up that its spawn had been given");
}

static Spawn *
add_spawn (DvmdController *self, DvmdJob *job, guint agent, guint64 token, const char *nspace, guint32 rank,
           guint timeout)
{
  Spawn *spawn = g_new0 (Spawn, 1);

  spawn->controller = self;
  spawn->id = dvmd_job_get_id (job);
  spawn->nspace = g_strdup (nspace);
  spawn->rank = rank;
  spawn->agent = agent;
  spawn->token = token;
  if (timeout > 0)
    spawn->timer = dvmd_clock_add_timer (self->clock, (gint64)timeout * G_USEC_PER_SEC, on_timeout, spawn);
  g_hash_table_insert (self->spawns, GUINT_TO_POINTER (spawn->id), spawn);
  return spawn;
}

static DvmdJob *
submit (DvmdController *self, GVariant *apps, GVariant *options, const char *nspace, guint32 rank, guint pid,
        GError **error)
{
  g_autofree char *name = g_strdup_printf ("pmix:%s.%u", nspace, rank);
  /* Everybody whom a node's server lets in belongs to the DVM's own user. */
  g_autoptr (DvmdRequester) requester = dvmd_requester_new (name, geteuid (), pid);
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_from_variant (apps, options, error);
  const int fds[3] = { -1, -1, -1 };

  if (spec == NULL)
    return NULL;
  inherit (spec, find_app (self, nspace, rank));
  return dvmd_controller_submit (self, spec, requester, fds, error);
}

static void
on_output (DvmdOutput *output, guint rank, DvmdStream stream, GBytes *bytes, gpointer user_data)
{
  Spawn *spawn = user_data;
  DvmdJob *job = dvmd_core_get_job (spawn->controller->core, spawn->id);

  if (job == NULL)
    return;
  dvmd_controller_send (spawn->controller, spawn->agent, DVMD_MSG_SPAWN_OUTPUT,
                        g_variant_new ("(susuu@ay)", spawn->nspace, spawn->rank,
                                       dvm_job_get_nspace (dvmd_job_get_record (job)), rank,
                                       stream == DVMD_STREAM_STDERR ? DVMD_PMIX_STDERR : DVMD_PMIX_STDOUT,
                                       g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING, bytes, TRUE)));
}

/* To the process or tool itself. */
static void
forward_output (Spawn *spawn, guint wanted)
{
  DvmdJobStreams *streams = g_hash_table_lookup (spawn->controller->streams, GUINT_TO_POINTER (spawn->id));
  guint bits = 0;

  if (wanted & DVMD_PMIX_STDOUT)
    bits |= 1u << DVMD_STREAM_STDOUT;
  if (wanted & DVMD_PMIX_STDERR)
    bits |= 1u << DVMD_STREAM_STDERR;
  if (streams != NULL && bits != 0)
    dvmd_output_set_tap (streams->output, bits, on_output, spawn);
}

/* Where the output of a process goes, there goes that of what it spawns. */
static void
share_output (DvmdController *self, DvmdJob *job, const char *nspace)
{
  DvmdJob *parent = dvmd_core_find_job (self->core, nspace);
  DvmdJobStreams *streams = g_hash_table_lookup (self->streams, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  DvmdJobStreams *leader = NULL;

  if (parent != NULL)
    leader = g_hash_table_lookup (self->streams, GUINT_TO_POINTER (dvmd_job_get_id (parent)));
  if (streams != NULL && leader != NULL)
    dvmd_job_streams_follow (streams, leader);
}

void
dvmd_controller_handle_spawn (DvmdController *self, guint agent, GVariant *body)
{
  g_autoptr (GVariant) apps = NULL;
  g_autoptr (GVariant) options = NULL;
  g_autoptr (GError) error = NULL;
  const char *nspace;
  DvmdJob *job;
  guint64 token;
  guint32 rank;
  guint32 pid;
  guint32 timeout;
  guint32 wanted;

  g_variant_get (body, "(t&suu@aa{sv}@a{sv}uu)", &token, &nspace, &rank, &pid, &apps, &options, &timeout, &wanted);
  if (!dvmd_controller_hear (self, agent, nspace, rank))
    {
      send_answer (self, agent, token, DVMD_PMIX_ERR_NO_PERMISSIONS, "");
      return;
    }
  job = submit (self, apps, options, nspace, rank, pid, &error);
  if (job != NULL)
    {
      share_output (self, job, nspace);
      forward_output (add_spawn (self, job, agent, token, nspace, rank, timeout), wanted);
      return;
    }
  /* PMIx hands on a number alone. */
  g_message ("%s.%u wants a job: %s", nspace, rank, error->message);
  send_answer (self, agent, token, dvmd_pmix_status_from_error (error), "");
}

/* ---- what becomes of it ---- */

static int
find_status (DvmdJob *job)
{
  int exit_code = dvm_job_get_exit_code (dvmd_job_get_record (job));

  switch ((guint)dvmd_job_get_state (job))
    {
    case DVM_JOB_STATE_ALLOC_FAILED:
      return DVMD_PMIX_ERR_JOB_ALLOC_FAILED;
    case DVM_JOB_STATE_MAP_FAILED:
    case DVM_JOB_STATE_CANNOT_LAUNCH:
      return DVMD_PMIX_ERR_JOB_FAILED_TO_MAP;
    case DVM_JOB_STATE_FAILED_TO_START:
      if (exit_code == 127)
        return DVMD_PMIX_ERR_JOB_EXE_NOT_FOUND;
      return exit_code == 126 ? DVMD_PMIX_ERR_JOB_APP_NOT_EXECUTABLE : DVMD_PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    case DVM_JOB_STATE_FAILED_TO_LAUNCH:
    case DVM_JOB_STATE_FILES_POSN_FAILED:
      return DVMD_PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    case DVM_JOB_STATE_NEVER_LAUNCHED:
      return DVMD_PMIX_ERR_JOB_CANCELED;
    case DVM_JOB_STATE_KILLED_BY_CMD:
    case DVM_JOB_STATE_FORCED_EXIT:
      return DVMD_PMIX_ERR_JOB_KILLED_BY_CMD;
    case DVM_JOB_STATE_ABORTED_BY_SIG:
      return DVMD_PMIX_ERR_JOB_ABORTED_BY_SIG;
    case DVM_JOB_STATE_ABORTED_WO_SYNC:
      return DVMD_PMIX_ERR_JOB_TERM_WO_SYNC;
    case DVM_JOB_STATE_COMM_FAILED:
      return DVMD_PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT;
    case DVM_JOB_STATE_NON_ZERO_TERM:
      return DVMD_PMIX_ERR_JOB_NON_ZERO_TERM;
    default:
      return dvmd_job_get_state (job) > DVM_JOB_STATE_ERROR ? DVMD_PMIX_ERR_JOB_ABORTED : DVMD_PMIX_SUCCESS;
    }
}

static void
tell (Spawn *spawn, DvmdJob *job, int event, int status)
{
  DvmJob *record = dvmd_job_get_record (job);

  dvmd_controller_send (spawn->controller, spawn->agent, DVMD_MSG_JOB_EVENT,
                        g_variant_new ("(suisii)", spawn->nspace, spawn->rank, event, dvm_job_get_nspace (record),
                                       status, dvm_job_get_exit_code (record)));
}

/* The start is told behind the answer: who has the one knows what the other is about. */
static void
answer (Spawn *spawn, DvmdJob *job, int status)
{
  const char *nspace = status == DVMD_PMIX_SUCCESS ? dvm_job_get_nspace (dvmd_job_get_record (job)) : "";

  spawn->answered = TRUE;
  dvmd_clock_remove_timer (spawn->controller->clock, spawn->timer);
  spawn->timer = 0;
  send_answer (spawn->controller, spawn->agent, spawn->token, status, nspace);
  if (status == DVMD_PMIX_SUCCESS)
    tell (spawn, job, DVMD_PMIX_EVENT_JOB_START, status);
}

void
dvmd_controller_spawn_changed (DvmdController *self, DvmdJob *job, DvmJobState state)
{
  Spawn *spawn = g_hash_table_lookup (self->spawns, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  if (spawn != NULL && !spawn->answered && state == DVM_JOB_STATE_RUNNING)
    answer (spawn, job, DVMD_PMIX_SUCCESS);
}

/*
 * Processes of it ran, and one has ended badly before all were known to run. Whether that comes first is chance, and
 * the answer is not to be.
 */
static gboolean
has_run (DvmdJob *job)
{
  switch ((guint)dvmd_job_get_state (job))
    {
    case DVM_JOB_STATE_ABORTED:
    case DVM_JOB_STATE_ABORTED_BY_SIG:
    case DVM_JOB_STATE_ABORTED_WO_SYNC:
    case DVM_JOB_STATE_CALLED_ABORT:
    case DVM_JOB_STATE_NON_ZERO_TERM:
      return TRUE;
    default:
      return find_status (job) == DVMD_PMIX_SUCCESS;
    }
}

void
dvmd_controller_spawn_ended (DvmdController *self, DvmdJob *job)
{
  Spawn *spawn = g_hash_table_lookup (self->spawns, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  int status = find_status (job);

  if (spawn == NULL)
    return;
  if (!spawn->answered && has_run (job))
    answer (spawn, job, DVMD_PMIX_SUCCESS);
  if (spawn->answered)
    tell (spawn, job, DVMD_PMIX_EVENT_JOB_END, status);
  else
    answer (spawn, job, spawn->late ? DVMD_PMIX_ERR_TIMEOUT : status);
  g_hash_table_remove (self->spawns, GUINT_TO_POINTER (dvmd_job_get_id (job)));
}

void
dvmd_controller_stop_forwarding (DvmdController *self, const char *nspace)
{
  GHashTableIter iter;
  gpointer spawn;

  g_hash_table_iter_init (&iter, self->spawns);
  while (g_hash_table_iter_next (&iter, NULL, &spawn))
    if (strcmp (((Spawn *)spawn)->nspace, nspace) == 0)
      stop_forwarding (spawn);
}

static gboolean
is_of_agent (gpointer key, gpointer value, gpointer user_data)
{
  return ((const Spawn *)value)->agent == GPOINTER_TO_UINT (user_data);
}

void
dvmd_controller_forget_spawns (DvmdController *self, guint agent)
{
  g_hash_table_foreach_remove (self->spawns, is_of_agent, GUINT_TO_POINTER (agent));
}
