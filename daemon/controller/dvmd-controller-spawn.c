/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs that processes and tools want: submitted like any other, answered when they run or will not. Their start and end
 * is told to whoever wanted them; that of every job to all tools.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <string.h>

#include "dvm-placement-private.h"
#include "dvmd-colocation.h"
#include "dvmd-services.h"
#include "dvmd-controller-inherit.h"
#include "dvmd-controller-input.h"
#include "dvmd-controller-jobs.h"
#include "dvmd-controller-pulls.h"
#include "dvmd-controller-show.h"
#include "dvmd-controller-streams.h"
#include "dvmd-reading.h"

/* Jobs of one parent that are started at the same time: others come in between. */
#define MAX_STARTING 32

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *spawns;         /* job id -> Spawn: jobs that processes and tools have wanted */
  GHashTable *spawners;       /* namespace -> Spawner */
  GHashTable *started;        /* ids of jobs whose start has been told, and whose end has not */
  GHashTable *beside;         /* ids of jobs that are placed beside others: they are few where thousands end */
  guint timer;
} Spawns;

/* A request, until there is a job, or not. */
typedef struct
{
  DvmdController *controller; /* NULL: it waits with its spawner */
  DvmdCall *call;
  guint32 timeout;
  gint64 came;           /* by the clock */
  guint32 wanted;        /* of its output */
  gboolean bare;         /* without the environment of the parent */
  gboolean not_told;     /* as in Spawn */
  gboolean not_told_end; /* likewise */
  GVariant *apps;
  GVariant *options;
  DvmJobSpec *spec; /* (nullable): as it was read */
  GPtrArray *with;  /* (nullable): Request of jobs that are started when this one's processes are */
  guint leader;     /* the job with which this one is spawned; 0: none */
} Request;

/* A job that somebody waits for, or is to be told the end of. */
typedef struct
{
  Spawns *all; /* unowned */
  guint id;
  DvmdCall *call;
  gboolean answered;
  gboolean not_told;     /* the one who asked wants to hear of neither start nor end */
  gboolean not_told_end; /* or not of the end */
  guint timer;
  gboolean late;   /* its time was up before it ran */
  GPtrArray *with; /* as in Request, until they are asked for */
  guint n_with;    /* of these that have not started yet */
  guint leader;    /* as in Request */
  DvmdJob *ended;  /* (nullable): the job has, before all that are with it have started */
} Spawn;

/* A job or tool that wants jobs. */
typedef struct
{
  GQueue waiting;       /* Request, in the order in which they came */
  GHashTable *starting; /* set of Spawn that are not answered yet, unowned */
} Spawner;

static void
leave_spawner (Spawn *spawn)
{
  Spawner *spawner = g_hash_table_lookup (spawn->all->spawners, spawn->call->nspace);

  if (spawner == NULL)
    return;
  g_hash_table_remove (spawner->starting, spawn);
  if (g_hash_table_size (spawner->starting) == 0 && spawner->waiting.length == 0)
    g_hash_table_remove (spawn->all->spawners, spawn->call->nspace);
}

static void
spawn_free (gpointer data)
{
  Spawn *spawn = data;

  leave_spawner (spawn);
  dvmd_clock_remove_timer (dvmd_controller_get_parts (spawn->all->controller)->clock, spawn->timer);
  dvmd_call_unref (spawn->call);
  g_clear_pointer (&spawn->with, g_ptr_array_unref);
  g_clear_object (&spawn->ended);
  g_free (spawn);
}

static void request_free (gpointer data);

static void
spawner_free (gpointer data)
{
  Spawner *self = data;

  g_queue_clear_full (&self->waiting, request_free);
  g_hash_table_unref (self->starting);
  g_free (self);
}

static Spawns *
get_spawns (DvmdController *controller)
{
  return dvmd_services_get (controller, &dvmd_spawn_service);
}

static Spawner *
get_spawner (Spawns *self, const char *nspace)
{
  Spawner *spawner = g_hash_table_lookup (self->spawners, nspace);

  if (spawner != NULL)
    return spawner;
  spawner = g_new0 (Spawner, 1);
  g_queue_init (&spawner->waiting);
  spawner->starting = g_hash_table_new (NULL, NULL);
  g_hash_table_insert (self->spawners, g_strdup (nspace), spawner);
  return spawner;
}

/* ---- the request ---- */

static void end_spawn (Spawn *spawn, int status);

static void
on_timeout (gpointer user_data)
{
  Spawn *spawn = user_data;
  DvmdCore *core = dvmd_controller_get_core (spawn->all->controller);
  DvmdJob *job = dvmd_core_get_job (core, spawn->id);
  g_autoptr (DvmReason) reason = _dvm_reason_new (DVM_REASON_SPAWN_TIME_LIMIT);

  spawn->timer = 0;
  spawn->late = TRUE;
  if (spawn->ended != NULL)
    end_spawn (spawn, DVMD_PMIX_ERR_TIMEOUT);
  else if (job != NULL)
    dvmd_core_fail_job_for (core, job, DVM_JOB_STATE_KILLED_BY_CMD, reason);
}

static void
add_spawn (const Request *request, DvmdJob *job)
{
  Spawns *self = get_spawns (request->controller);
  DvmdClock *clock = dvmd_controller_get_parts (request->controller)->clock;
  Spawn *spawn = g_new0 (Spawn, 1);
  /* Tools that listen hear of every job, and prun says no by chance: its flag has no value. */
  gboolean is_tool = dvmd_controller_find_tool (request->controller, request->call->nspace) > 0;

  spawn->all = self;
  spawn->id = dvmd_job_get_id (job);
  spawn->call = dvmd_call_ref (request->call);
  spawn->with = request->with != NULL ? g_ptr_array_ref (request->with) : NULL;
  spawn->leader = request->leader;
  spawn->not_told = request->not_told && !is_tool;
  spawn->not_told_end = request->not_told_end && !is_tool;
  if (request->timeout > 0)
    spawn->timer = dvmd_clock_add_timer (
        clock, MAX (0, request->came + (gint64)request->timeout * G_USEC_PER_SEC - dvmd_clock_monotonic (clock)),
        on_timeout, spawn);
  g_hash_table_add (get_spawner (self, spawn->call->nspace)->starting, spawn);
  g_hash_table_insert (self->spawns, GUINT_TO_POINTER (spawn->id), spawn);
}

/* Where the output of a process goes, there goes that of what it spawns. */
static void
share_output (DvmdController *self, DvmdJob *job, const char *nspace)
{
  DvmdJob *parent = dvmd_core_find_job (dvmd_controller_get_core (self), nspace);
  DvmdJobStreams *streams = dvmd_controller_get_streams (self, dvmd_job_get_id (job));
  DvmdJobStreams *leader = NULL;

  if (parent != NULL)
    leader = dvmd_controller_get_streams (self, dvmd_job_get_id (parent));
  if (streams != NULL && leader != NULL)
    dvmd_job_streams_follow (streams, leader);
}

/* PMIx hands on a number alone: the people who look at the output of the job that asked are told why. */
static void
say_refused (DvmdController *self, const char *nspace, guint32 rank, const char *reason)
{
  DvmdJob *job = dvmd_core_find_job (dvmd_controller_get_core (self), nspace);
  DvmdJobStreams *streams = NULL;
  g_autofree char *text = NULL;

  if (job != NULL)
    streams = dvmd_controller_get_streams (self, dvmd_job_get_id (job));
  if (streams == NULL)
    return;
  text = g_strdup_printf ("what rank %u wanted to spawn was not started: %s", rank, reason);
  dvmd_job_streams_say (streams, text);
}

static void
request_free (gpointer data)
{
  Request *request = data;

  g_clear_object (&request->controller);
  dvmd_call_unref (request->call);
  g_variant_unref (request->apps);
  g_variant_unref (request->options);
  g_clear_object (&request->spec);
  g_clear_pointer (&request->with, g_ptr_array_unref);
  g_free (request);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Request, request_free)

static DvmdJob *
submit (Request *request, GError **error)
{
  DvmdController *self = request->controller;
  g_autoptr (DvmdRequester) requester = dvmd_call_new_requester (request->call);
  const int fds[3] = { -1, -1, -1 };

  if (_dvm_job_spec_get_display (request->spec) != NULL && !dvmd_controller_can_show (self, error))
    return NULL;
  dvmd_controller_inherit (self, request->spec, request->call, !request->bare);
  return dvmd_controller_submit (self, request->spec, requester, fds, error);
}

/* ---- jobs that are spawned with another one ---- */

/* (nullable): the spawn of the job with which another one is, while that is awaited. */
static Spawn *
find_leader (Spawns *self, guint id)
{
  Spawn *leader = id != 0 ? g_hash_table_lookup (self->spawns, GUINT_TO_POINTER (id)) : NULL;

  return leader != NULL && !leader->answered ? leader : NULL;
}

/* All of them are started, or none is. */
static void
fail_leader (Spawns *self, guint id, const char *reason)
{
  DvmdCore *core = dvmd_controller_get_core (self->controller);
  g_autofree char *text = g_strdup_printf ("What was to be spawned with it was not started: %s", reason);
  Spawn *leader = find_leader (self, id);

  if (leader != NULL && leader->ended != NULL)
    {
      say_refused (self->controller, leader->call->nspace, leader->call->rank, text);
      end_spawn (leader, DVMD_PMIX_ERR_JOB_FAILED_TO_LAUNCH);
    }
  else if (leader != NULL)
    dvmd_core_fail_job (core, dvmd_core_get_job (core, id), DVM_JOB_STATE_FAILED_TO_LAUNCH, text);
}

/* They have nothing to be beside. */
static void
end_followers (Spawns *self, guint leader)
{
  DvmdCore *core = dvmd_controller_get_core (self->controller);
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->spawns);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const Spawn *spawn = value;
      DvmdJob *job = spawn->leader == leader ? dvmd_core_get_job (core, spawn->id) : NULL;

      if (job != NULL && !dvmd_job_get_ended (job))
        dvmd_core_fail_job (core, job, DVM_JOB_STATE_KILLED_BY_CMD, "The job with which it was spawned did not start");
    }
}

/* Daemons of a debugger are placed beside the job, and told which it is. */
static void
put_beside (DvmJobSpec *spec, DvmdJob *leader)
{
  const char *map_by = dvm_job_spec_get_map_by (spec);
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (leader));
  GVariant *info = _dvm_job_spec_get_pmix_info (spec);
  g_autofree char *whole = NULL;
  GVariantBuilder rows;

  if (map_by == NULL || !g_str_has_prefix (map_by, DVMD_SPAWN_BESIDE))
    return;
  whole = g_strdup_printf ("colocate=%s%s", nspace, map_by + strlen (DVMD_SPAWN_BESIDE));
  dvm_job_spec_set_map_by (spec, whole);
  g_variant_builder_init (&rows, G_VARIANT_TYPE (DVMD_SPAWN_INFO_TYPE));
  for (gsize i = 0; info != NULL && i < g_variant_n_children (info); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (info, i);

      g_variant_builder_add_value (&rows, row);
    }
  g_variant_builder_add (&rows, "(us@ay)", G_MAXUINT32, DVMD_PMIX_KEY_DEBUG_TARGET, dvmd_pmix_text_new (nspace));
  _dvm_job_spec_set_pmix_info (spec, g_variant_builder_end (&rows));
}

static void serve_later (Spawns *self);

/* They come before what else the caller wants, which may have to wait for it. */
static void
ask_for_followers (Spawn *leader, DvmdJob *job)
{
  g_autoptr (GPtrArray) with = g_steal_pointer (&leader->with);
  Spawner *spawner = get_spawner (leader->all, leader->call->nspace);

  g_ptr_array_set_free_func (with, NULL);
  leader->n_with = with->len;
  for (guint i = with->len; i > 0; i--)
    {
      Request *request = g_ptr_array_index (with, i - 1);

      request->leader = leader->id;
      put_beside (request->spec, job);
      g_queue_push_head (&spawner->waiting, request);
    }
  serve_later (leader->all);
}

/* Takes the error: of its reading. */
static void
carry_out (Request *request, GError *reading_error)
{
  DvmdController *self = request->controller;
  g_autoptr (GError) error = reading_error;
  DvmdJob *job = NULL;

  /* As the job has ended with which it was to be. */
  if (request->leader != 0 && find_leader (get_spawns (self), request->leader) == NULL)
    return;
  /* The one who asked may have gone while the request was read, or waited. */
  if (!dvmd_controller_is_calling (self, request->call))
    {
      dvmd_controller_drop_call (self, request->call->id);
      return;
    }
  if (error == NULL)
    job = submit (request, &error);
  if (job != NULL)
    {
      share_output (self, job, request->call->nspace);
      add_spawn (request, job);
      dvmd_controller_pull_spawned (self, job, request->call, request->wanted);
      return;
    }
  g_message ("%s.%u wants a job: %s", request->call->nspace, request->call->rank, error->message);
  if (request->leader != 0)
    {
      fail_leader (get_spawns (self), request->leader, error->message);
      return;
    }
  say_refused (self, request->call->nspace, request->call->rank, error->message);
  dvmd_controller_answer (self, request->call->id, dvmd_pmix_status_from_error (error), NULL);
}

/* One that waits for slots, for a change of the size, or for jobs that are with it, keeps nobody busy. */
static guint
count_starting (Spawns *self, Spawner *spawner)
{
  GHashTableIter iter;
  gpointer spawn;
  guint n = 0;

  g_hash_table_iter_init (&iter, spawner->starting);
  while (g_hash_table_iter_next (&iter, &spawn, NULL))
    {
      DvmdJob *job = dvmd_core_get_job (dvmd_controller_get_core (self->controller), ((Spawn *)spawn)->id);

      n += job != NULL && dvmd_job_get_state (job) != DVM_JOB_STATE_ALLOCATE && ((Spawn *)spawn)->n_with == 0
           && dvm_job_get_held_at (dvmd_job_get_record (job))[0] == '\0';
    }
  return n;
}

static void
serve (Spawns *self, const char *nspace)
{
  Spawner *spawner;

  /* A request that fails may be the last of its spawner. */
  while ((spawner = g_hash_table_lookup (self->spawners, nspace)) != NULL && spawner->waiting.length > 0
         && count_starting (self, spawner) < MAX_STARTING)
    {
      g_autoptr (Request) request = g_queue_pop_head (&spawner->waiting);

      request->controller = g_object_ref (self->controller);
      carry_out (request, NULL);
    }
  if (spawner != NULL && spawner->waiting.length == 0 && g_hash_table_size (spawner->starting) == 0)
    g_hash_table_remove (self->spawners, nspace);
}

static void
on_spawn_timer (gpointer user_data)
{
  Spawns *self = user_data;
  g_autoptr (GList) names = g_hash_table_get_keys (self->spawners);
  g_autoptr (GPtrArray) copies = g_ptr_array_new_with_free_func (g_free);

  self->timer = 0;
  for (GList *l = names; l != NULL; l = l->next)
    g_ptr_array_add (copies, g_strdup (l->data));
  for (guint i = 0; i < copies->len; i++)
    serve (self, g_ptr_array_index (copies, i));
}

/* In a turn of its own: jobs change while the machine is at work. */
static void
serve_later (Spawns *self)
{
  if (self->timer == 0 && g_hash_table_size (self->spawners) > 0)
    self->timer = dvmd_clock_add_timer (dvmd_controller_get_parts (self->controller)->clock, 0, on_spawn_timer, self);
}

/* Takes it. */
static void
take_request (Request *request)
{
  g_autoptr (DvmdController) controller = g_steal_pointer (&request->controller);
  Spawns *self = get_spawns (controller);
  g_autofree char *nspace = g_strdup (request->call->nspace);

  g_queue_push_tail (&get_spawner (self, nspace)->waiting, request);
  serve (self, nspace);
}

/* (transfer full) (nullable) */
static GVariant *
take_option (GVariantDict *options, const char *key, const char *type)
{
  GVariant *value = g_variant_dict_lookup_value (options, key, G_VARIANT_TYPE (type));

  g_variant_dict_remove (options, key);
  return value;
}

/* default_value: without the option */
static gboolean
take_flag (GVariantDict *options, const char *key, gboolean default_value)
{
  g_autoptr (GVariant) value = take_option (options, key, "b");

  return value != NULL ? g_variant_get_boolean (value) : default_value;
}

static gboolean
read_spec (gpointer data, GError **error)
{
  Request *request = data;
  g_auto (GVariantDict) options;
  g_autoptr (GVariant) whole = NULL;
  g_autoptr (GVariant) info = NULL;
  g_autoptr (GVariant) edits = NULL;
  g_autoptr (GVariant) stop_ranks = NULL;
  g_autoptr (GVariant) display = NULL;
  gboolean index_argv;

  g_variant_dict_init (&options, request->options);
  info = take_option (&options, DVMD_SPAWN_INFO, DVMD_SPAWN_INFO_TYPE);
  edits = take_option (&options, DVMD_SPAWN_EDITS, DVMD_SPAWN_EDITS_TYPE);
  g_variant_dict_remove (&options, DVMD_SPAWN_WITH);
  stop_ranks = take_option (&options, DVMD_SPAWN_STOP_RANKS, "s");
  display = take_option (&options, DVMD_SPAWN_DISPLAY, "s");
  index_argv = take_flag (&options, DVMD_SPAWN_INDEX_ARGV, FALSE);
  request->bare = !take_flag (&options, DVMD_SPAWN_FORWARD_ENV, TRUE);
  request->not_told = !take_flag (&options, DVMD_SPAWN_NOTIFY, TRUE);
  request->not_told_end = !take_flag (&options, DVMD_SPAWN_NOTIFY_END, TRUE);
  whole = g_variant_ref_sink (g_variant_dict_end (&options));
  request->spec = dvm_job_spec_new_from_variant (request->apps, whole, error);
  if (request->spec == NULL)
    return FALSE;
  _dvm_job_spec_set_pmix_info (request->spec, info);
  _dvm_job_spec_set_env_edits (request->spec, edits);
  _dvm_job_spec_set_index_argv (request->spec, index_argv);
  if (stop_ranks != NULL && g_variant_get_size (stop_ranks) > 1)
    _dvm_job_spec_set_stop_ranks (request->spec, g_variant_get_string (stop_ranks, NULL));
  if (display != NULL)
    _dvm_job_spec_set_display (request->spec, g_variant_get_string (display, NULL));
  if (!_dvm_job_spec_load_hosts (request->spec, "", error))
    return FALSE;
  for (guint i = 0; request->with != NULL && i < request->with->len; i++)
    if (!read_spec (request->with->pdata[i], error))
      return FALSE;
  return TRUE;
}

static void
on_spec_read (gpointer data, GError *error)
{
  g_autoptr (Request) request = data;
  DvmdController *self = request->controller;

  /* The DVM may have gone meanwhile. */
  if (dvmd_controller_get_core (self) == NULL)
    g_clear_error (&error);
  else if (error != NULL)
    carry_out (request, error);
  else
    take_request (g_steal_pointer (&request));
}

static void
add_followers (Request *request)
{
  g_autoptr (GVariant)
      with = g_variant_lookup_value (request->options, DVMD_SPAWN_WITH, G_VARIANT_TYPE (DVMD_SPAWN_WITH_TYPE));

  if (with == NULL)
    return;
  request->with = g_ptr_array_new_with_free_func (request_free);
  for (gsize i = 0; i < g_variant_n_children (with); i++)
    {
      Request *other = g_new0 (Request, 1);

      other->call = dvmd_call_ref (request->call);
      other->came = request->came;
      g_variant_get_child (with, i, "(@aa{sv}@a{sv})", &other->apps, &other->options);
      g_ptr_array_add (request->with, other);
    }
}

static void
handle_spawn (gpointer service, DvmdCall *call, GVariant *body)
{
  DvmdController *self = ((Spawns *)service)->controller;
  g_autoptr (Request) request = g_new0 (Request, 1);
  GError *error = NULL;

  request->controller = g_object_ref (self);
  request->call = dvmd_call_ref (call);
  request->came = dvmd_clock_monotonic (dvmd_controller_get_parts (self)->clock);
  g_variant_get (body, "(@aa{sv}@a{sv}uu)", &request->apps, &request->options, &request->timeout, &request->wanted);
  add_followers (request);
  if (dvmd_reading_takes_long (body))
    dvmd_reading_begin (dvmd_controller_get_parts (self)->context, read_spec, on_spec_read, g_steal_pointer (&request));
  else if (read_spec (request, &error))
    take_request (g_steal_pointer (&request));
  else
    carry_out (request, error);
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

/* The status that a process has returned, as a shell says it, where the job ended by that: tools end with it. */
static int
find_term_status (DvmdJob *job)
{
  DvmJob *record = dvmd_job_get_record (job);

  switch ((guint)dvmd_job_get_state (job))
    {
    case DVM_JOB_STATE_NON_ZERO_TERM:
      return dvm_job_get_exit_code (record);
    case DVM_JOB_STATE_ABORTED_BY_SIG:
      return 128 + dvm_job_get_exit_signal (record);
    default:
      return find_status (job);
    }
}

/* That its processes wait for a debugger is no event that the attributes of a spawn speak of. */
static gboolean
wants_event (const Spawn *spawn, int event)
{
  return event == DVMD_PMIX_READY_FOR_DEBUG
         || (!spawn->not_told && (!spawn->not_told_end || event != DVMD_PMIX_EVENT_JOB_END));
}

/* Where all ranks wait, as far as that was said before they did; "": it was not. */
static const char *
find_breakpoint (DvmdJob *job)
{
  GVariant *info = _dvm_job_spec_get_pmix_info (dvmd_job_get_spec (job));
  DvmRuntimeOptions runtime;

  _dvm_job_spec_get_runtime (dvmd_job_get_spec (job), &runtime);
  if (runtime.stop == DVM_STOP_IN_INIT)
    return "pmix-init";
  for (gsize i = 0; runtime.stop == DVM_STOP_IN_APP && info != NULL && i < g_variant_n_children (info); i++)
    {
      g_autoptr (GVariant) packed = NULL;
      const char *key;
      guint32 app;

      g_variant_get_child (info, i, "(u&s@ay)", &app, &key, &packed);
      if (app == G_MAXUINT32 && g_str_equal (key, DVMD_PMIX_KEY_BREAKPOINT) && dvmd_pmix_text_get (packed) != NULL)
        return dvmd_pmix_text_get (packed);
    }
  return "";
}

/* spawn (nullable): no process and no tool has wanted the job */
static void
tell_agent (Spawns *self, guint agent, const Spawn *spawn, DvmdJob *job, int event)
{
  DvmJob *record = dvmd_job_get_record (job);
  gboolean has_spawner = spawn != NULL && spawn->call->agent == agent;
  guint32 rank = has_spawner && wants_event (spawn, event) ? spawn->call->rank : DVMD_PMIX_RANK_UNDEF;

  dvmd_controller_send (
      self->controller, agent, DVMD_MSG_JOB_EVENT,
      g_variant_new ("(suisiis)", has_spawner ? spawn->call->nspace : "", rank, event, dvm_job_get_nspace (record),
                     event == DVMD_PMIX_EVENT_JOB_END ? find_term_status (job) : DVMD_PMIX_SUCCESS,
                     dvm_job_get_exit_code (record), event == DVMD_PMIX_READY_FOR_DEBUG ? find_breakpoint (job) : ""));
}

/* Debuggers and monitors that are beside it, and may have nothing more to do. */
static void
tell_end_to_jobs_beside (Spawns *self, DvmdJob *job)
{
  DvmJob *record = dvmd_job_get_record (job);
  const char *nspace = dvm_job_get_nspace (record);
  DvmdCore *core = dvmd_controller_get_core (self->controller);
  GHashTableIter iter;
  gpointer id;

  g_hash_table_iter_init (&iter, self->beside);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    {
      DvmdJob *other = dvmd_core_get_job (core, GPOINTER_TO_UINT (id));

      if (dvmd_job_is_launched (other) && dvmd_colocation_is_beside (other, job))
        dvmd_controller_send_to_job (
            self->controller, other, DVMD_MSG_EVENT,
            g_variant_new_parsed ("(%i, '', uint32 0, [(%s, %u)], false, {%s: <(%s, %u)>, %s: <%s>, %s: <(%i,)>, "
                                  "%s: <%i>})",
                                  DVMD_PMIX_EVENT_JOB_END, dvm_job_get_nspace (dvmd_job_get_record (other)),
                                  DVMD_PMIX_RANK_WILDCARD, DVMD_PMIX_KEY_AFFECTED_PROC, nspace, DVMD_PMIX_RANK_WILDCARD,
                                  DVMD_PMIX_KEY_NSPACE, nspace, DVMD_PMIX_KEY_STATUS, find_term_status (job),
                                  DVMD_PMIX_KEY_EXIT_CODE, dvm_job_get_exit_code (record)));
    }
}

/*
 * The process or tool that has wanted the job is told, unless it does not want to be, all tools are, and of its end the
 * jobs beside it.
 */
static void
tell (Spawns *self, const Spawn *spawn, DvmdJob *job, int event)
{
  g_autoptr (GHashTable) agents = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer agent;

  if (event == DVMD_PMIX_EVENT_JOB_START)
    g_hash_table_add (self->started, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  if (event == DVMD_PMIX_EVENT_JOB_END)
    {
      g_hash_table_remove (self->started, GUINT_TO_POINTER (dvmd_job_get_id (job)));
      tell_end_to_jobs_beside (self, job);
    }
  dvmd_controller_add_agents_of_tools (self->controller, agents);
  if (spawn != NULL && wants_event (spawn, event))
    g_hash_table_add (agents, GUINT_TO_POINTER (spawn->call->agent));
  g_hash_table_iter_init (&iter, agents);
  while (g_hash_table_iter_next (&iter, &agent, NULL))
    tell_agent (self, GPOINTER_TO_UINT (agent), spawn, job, event);
}

/* The start is told behind the answer: who has the one knows what the other is about. */
static void
answer (Spawn *spawn, DvmdJob *job, int status)
{
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (job));

  spawn->answered = TRUE;
  leave_spawner (spawn);
  dvmd_clock_remove_timer (dvmd_controller_get_parts (spawn->all->controller)->clock, spawn->timer);
  spawn->timer = 0;
  dvmd_controller_answer (spawn->all->controller, spawn->call->id, status,
                          status == DVMD_PMIX_SUCCESS ? g_variant_new ("(s)", nspace) : NULL);
  if (status != DVMD_PMIX_SUCCESS)
    return;
  dvmd_controller_release_spawned (spawn->all->controller, job);
  dvmd_controller_open_input (spawn->all->controller, spawn->call, job);
  tell (spawn->all, spawn, job, DVMD_PMIX_EVENT_JOB_START);
}

/* The end of one that has ended before its answer. */
static void
end_spawn (Spawn *spawn, int status)
{
  Spawns *self = spawn->all;
  guint id = spawn->id;

  answer (spawn, spawn->ended, status);
  if (status == DVMD_PMIX_SUCCESS)
    tell (self, spawn, spawn->ended, DVMD_PMIX_EVENT_JOB_END);
  g_hash_table_remove (self->spawns, GUINT_TO_POINTER (id));
  if (status != DVMD_PMIX_SUCCESS)
    end_followers (self, id);
}

/* One that is with another job is of its answer. */
static void
follower_started (Spawn *spawn, DvmdJob *job)
{
  Spawns *self = spawn->all;
  Spawn *leader = find_leader (self, spawn->leader);

  spawn->answered = TRUE;
  leave_spawner (spawn);
  if (leader != NULL && --leader->n_with == 0 && leader->ended != NULL)
    end_spawn (leader, DVMD_PMIX_SUCCESS);
  else if (leader != NULL && leader->n_with == 0)
    answer (leader, dvmd_core_get_job (dvmd_controller_get_core (self->controller), leader->id), DVMD_PMIX_SUCCESS);
  tell (self, spawn, job, DVMD_PMIX_EVENT_JOB_START);
}

static void
started (Spawn *spawn, DvmdJob *job)
{
  if (spawn->leader != 0)
    follower_started (spawn, job);
  else if (spawn->with != NULL)
    ask_for_followers (spawn, job);
  else if (spawn->n_with == 0)
    answer (spawn, job, DVMD_PMIX_SUCCESS);
}

/* A job that stops for a debugger runs when that has let it go on, who is to know of it before. */
static gboolean
has_started (DvmdJob *job, DvmJobState state)
{
  return state == DVM_JOB_STATE_RUNNING || (state == DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE && dvmd_job_stops (job));
}

static void
job_changed (gpointer service, DvmdJob *job, DvmJobState state)
{
  Spawns *self = service;
  Spawn *spawn = g_hash_table_lookup (self->spawns, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  if (state == DVM_JOB_STATE_LAUNCH_APPS && dvmd_colocation_get (job) != NULL)
    g_hash_table_add (self->beside, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  if (spawn == NULL && has_started (job, state)
      && !g_hash_table_contains (self->started, GUINT_TO_POINTER (dvmd_job_get_id (job))))
    tell (self, NULL, job, DVMD_PMIX_EVENT_JOB_START);
  if (spawn != NULL && !spawn->answered && has_started (job, state))
    started (spawn, job);
  if (state == DVM_JOB_STATE_READY_FOR_DEBUG)
    tell (self, spawn, job, DVMD_PMIX_READY_FOR_DEBUG);
  if (spawn != NULL)
    serve_later (self);
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

/* Of a job that has not run nothing is told. */
static void
tell_end_of_other (Spawns *self, DvmdJob *job)
{
  gboolean told = g_hash_table_contains (self->started, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  if (!told && (dvmd_job_is_mapped_only (job) || !has_run (job)))
    return;
  if (!told)
    tell (self, NULL, job, DVMD_PMIX_EVENT_JOB_START);
  tell (self, NULL, job, DVMD_PMIX_EVENT_JOB_END);
}

/* Short jobs end while what is with them has not begun: all are started, or the answer says that they are not. */
static gboolean
waits_for_followers (Spawn *spawn, DvmdJob *job)
{
  if (spawn->answered || (spawn->with == NULL && spawn->n_with == 0) || !has_run (job))
    return FALSE;
  spawn->ended = g_object_ref (job);
  if (spawn->with != NULL)
    ask_for_followers (spawn, job);
  serve_later (spawn->all);
  return TRUE;
}

static void
job_ended (gpointer service, DvmdJob *job)
{
  Spawns *self = service;
  Spawn *spawn = g_hash_table_lookup (self->spawns, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  int status = find_status (job);

  g_hash_table_remove (self->beside, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  if (spawn == NULL)
    {
      tell_end_of_other (self, job);
      return;
    }
  if (waits_for_followers (spawn, job))
    return;
  if (!spawn->answered && has_run (job) && spawn->leader != 0)
    follower_started (spawn, job);
  else if (!spawn->answered && has_run (job))
    answer (spawn, job, DVMD_PMIX_SUCCESS);
  if (spawn->answered)
    tell (self, spawn, job, DVMD_PMIX_EVENT_JOB_END);
  else if (spawn->leader != 0)
    fail_leader (self, spawn->leader, dvm_job_get_reason (dvmd_job_get_record (job)));
  else
    {
      say_refused (self->controller, spawn->call->nspace, spawn->call->rank,
                   dvm_job_get_reason (dvmd_job_get_record (job)));
      answer (spawn, job, spawn->late ? DVMD_PMIX_ERR_TIMEOUT : status);
      end_followers (self, spawn->id);
    }
  g_hash_table_remove (self->spawns, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  serve_later (self);
}

/* Output of what it has spawned is kept for others. */
static void
requester_gone (gpointer service, const char *nspace)
{
  Spawns *self = service;
  Spawner *spawner = g_hash_table_lookup (self->spawners, nspace);
  GHashTableIter iter;
  gpointer spawn;

  /* Nor does it want any more what it has asked for. */
  for (GList *l = spawner != NULL ? spawner->waiting.head : NULL; l != NULL; l = l->next)
    dvmd_controller_drop_call (self->controller, ((Request *)l->data)->call->id);
  g_hash_table_remove (self->spawners, nspace);
  g_hash_table_iter_init (&iter, self->spawns);
  while (g_hash_table_iter_next (&iter, NULL, &spawn))
    if (strcmp (((Spawn *)spawn)->call->nspace, nspace) == 0)
      {
        dvmd_controller_drop_spawned (self->controller, ((Spawn *)spawn)->id);
        if (((Spawn *)spawn)->ended != NULL)
          g_hash_table_iter_remove (&iter);
      }
}

/* The processes of a node that has gone wait for no answer. */
static void
agent_gone (gpointer service, guint agent)
{
  Spawns *self = service;
  GHashTableIter iter;
  gpointer spawn;

  g_hash_table_iter_init (&iter, self->spawns);
  while (g_hash_table_iter_next (&iter, NULL, &spawn))
    if (((const Spawn *)spawn)->call->agent == agent)
      {
        dvmd_controller_drop_spawned (self->controller, ((const Spawn *)spawn)->id);
        g_hash_table_iter_remove (&iter);
      }
  serve_later (self);
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  Spawns *self = service;

  dvmd_services_add_number (statistics, "spawns-open", g_hash_table_size (self->spawns));
  dvmd_services_add_number (statistics, "spawns-starting", g_hash_table_size (self->spawners));
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Spawns *self = g_new0 (Spawns, 1);

  self->controller = controller;
  self->spawners = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, spawner_free);
  self->spawns = g_hash_table_new_full (NULL, NULL, NULL, spawn_free);
  self->started = g_hash_table_new (NULL, NULL);
  self->beside = g_hash_table_new (NULL, NULL);
  return self;
}

static void
spawns_free (gpointer service)
{
  Spawns *self = service;

  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->controller)->clock, self->timer);
  g_hash_table_unref (self->spawns);
  g_hash_table_unref (self->spawners);
  g_hash_table_unref (self->started);
  g_hash_table_unref (self->beside);
  g_free (self);
}

static const DvmdCallHandler calls[] = { { DVMD_CALL_SPAWN, handle_spawn }, { 0 } };

const DvmdService dvmd_spawn_service = {
  .name = "spawn",
  .create = create,
  .free = spawns_free,
  .calls = calls,
  .job_changed = job_changed,
  .job_ended = job_ended,
  .agent_gone = agent_gone,
  .requester_gone = requester_gone,
  .add_statistics = add_statistics,
};
