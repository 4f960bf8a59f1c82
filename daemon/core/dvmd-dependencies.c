/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs wait for other jobs, and go on, or end, with what becomes of those.
 */

#include "config.h"

#include "dvmd-dependencies.h"

#include "dvm-job-spec-private.h"
#include "dvm-reason-private.h"
#include "dvm-records-private.h"
#include "dvmd-arrays.h"
#include "dvmd-core-news.h"
#include "dvmd-core-parts.h"
#include "dvmd-job-hold.h"
#include "dvmd-job-parts.h"
#include "dvmd-queue.h"

#include <string.h>

#define JOB_PATH     "/org/dvm/jobs/"
#define ARRAY_PREFIX "array:"

struct _DvmdDependencies
{
  GHashTable *by_job;   /* id -> GArray of guint: the jobs that wait for it, in their order */
  GHashTable *by_array; /* likewise, for arrays */
  GHashTable *by_name;  /* name -> Namesakes, while one of these is to be the only one */
};

typedef struct
{
  GQueue ids; /* of live jobs, ascending */
  guint n_singletons;
} Namesakes;

/* A job, or all jobs of an array, which others wait for. */
typedef struct
{
  guint id;
  gboolean is_array;
  gboolean started;
  gboolean ended;
  const char *failed; /* (nullable): the namespace of the job that has */
  const char *failed_why;
} Target;

typedef struct
{
  guint id;
  gboolean is_array;
  DvmdAfter kind;
} Dependency;

typedef struct
{
  GArray *open; /* (nullable): Dependency */
} Dependent;

static void
dependent_clear (gpointer part)
{
  g_clear_pointer (&((Dependent *)part)->open, g_array_unref);
}

static Dependent *
dependent_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_DEPENDS, sizeof (Dependent), dependent_clear);
}

static void
namesakes_free (gpointer data)
{
  g_queue_clear (&((Namesakes *)data)->ids);
  g_free (data);
}

DvmdDependencies *
dvmd_dependencies_new (void)
{
  DvmdDependencies *self = g_new0 (DvmdDependencies, 1);

  self->by_job = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_array_unref);
  self->by_array = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_array_unref);
  self->by_name = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, namesakes_free);
  return self;
}

void
dvmd_dependencies_free (DvmdDependencies *self)
{
  g_hash_table_unref (self->by_job);
  g_hash_table_unref (self->by_array);
  g_hash_table_unref (self->by_name);
  g_free (self);
}

/* ---- the jobs that are named ---- */

static const char *const *
get_named (DvmJobSpec *spec, DvmdAfter kind)
{
  if (kind == DVMD_AFTER_START)
    return dvm_job_spec_get_after (spec);
  return kind == DVMD_AFTER_OK ? dvm_job_spec_get_after_ok (spec) : dvm_job_spec_get_after_any (spec);
}

/* By its number, its namespace or its path; live or in the history */
static DvmdJob *
find_job (DvmdCore *core, const char *name)
{
  const char *digits = g_str_has_prefix (name, JOB_PATH) ? name + strlen (JOB_PATH) : name;
  guint64 id;

  if (digits == name && !g_ascii_isdigit (name[0]))
    return dvmd_core_find_job (core, name);
  return g_ascii_string_to_unsigned (digits, 10, 1, G_MAXUINT, &id, NULL) ? dvmd_core_get_job (core, (guint)id) : NULL;
}

static Target
make_job_target (DvmdJob *job)
{
  DvmJob *record = dvmd_job_get_record (job);
  gboolean failed = dvm_job_state_is_error (dvmd_job_get_state (job));

  return (Target){ .id = dvmd_job_get_id (job),
                   .started = dvm_job_get_started_at (record) != 0,
                   .ended = dvmd_job_get_ended (job),
                   .failed = failed ? dvm_job_get_nspace (record) : NULL,
                   .failed_why = dvm_job_get_reason (record) };
}

static gboolean
find_array_target (DvmdCore *core, guint id, Target *target)
{
  DvmdArrayState state;

  if (!dvmd_arrays_get_state (core, id, &state))
    return FALSE;
  *target = (Target){ .id = id,
                      .is_array = TRUE,
                      .started = state.started,
                      .ended = state.ended,
                      .failed = state.failed,
                      .failed_why = state.failed_why };
  return TRUE;
}

static gboolean
find_target (DvmdCore *core, const char *name, Target *target)
{
  guint64 id;
  DvmdJob *job;

  if (g_str_has_prefix (name, ARRAY_PREFIX))
    return g_ascii_string_to_unsigned (name + strlen (ARRAY_PREFIX), 10, 1, G_MAXUINT, &id, NULL)
           && find_array_target (core, (guint)id, target);
  job = find_job (core, name);
  if (job != NULL)
    *target = make_job_target (job);
  return job != NULL;
}

gboolean
dvmd_dependencies_check (DvmdCore *core, DvmJobSpec *spec, GError **error)
{
  static const char *const keys[DVMD_AFTER_N_KINDS] = { "after", "after-ok", "after-any" };

  if (dvm_job_spec_get_hold (spec) && dvmd_core_get_settings (core)->one_shot)
    {
      g_set_error (
          error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
          "hold: this DVM is there for the one job, and nobody could release it; submit it to a DVM that runs");
      return FALSE;
    }
  for (DvmdAfter kind = 0; kind < DVMD_AFTER_N_KINDS; kind++)
    {
      const char *const *named = get_named (spec, kind);
      Target target;

      for (gsize i = 0; named[i] != NULL; i++)
        if (!find_target (core, named[i], &target))
          {
            g_autofree char *shown = g_strescape (named[i], NULL);

            g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
                         "%s: there is no job “%s”, or it has been forgotten; a job is a number or a namespace, "
                         "all jobs of an array are such as array:3, and they come before those that depend on them",
                         keys[kind], shown);
            return FALSE;
          }
    }
  return TRUE;
}

/* ---- it waits ---- */

static void
publish (DvmdJob *job)
{
  GArray *open = dependent_of (job)->open;
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; open != NULL && i < open->len; i++)
    g_ptr_array_add (paths, g_strdup_printf (JOB_PATH "%u", g_array_index (open, Dependency, i).id));
  g_ptr_array_add (paths, NULL);
  _dvm_job_set_awaited_jobs (dvmd_job_get_record (job), paths->len > 1 ? (const char *const *)paths->pdata : NULL);
}

static DvmdDependencyState
judge_dependency (DvmdAfter kind, const Target *target)
{
  return dvmd_queue_judge_dependency (kind, target->started, target->ended, target->failed != NULL);
}

/* The job will never run. */
static void
give_up (DvmdJob *job, const Target *target)
{
  g_autoptr (DvmReason) reason = _dvm_reason_new (DVM_REASON_DEPENDENCY_FAILED, target->failed, target->failed_why);

  dvmd_core_post_reason (job, DVM_JOB_STATE_NEVER_LAUNCHED, reason);
}

static void
await (DvmdJob *job, const Target *target, DvmdAfter kind)
{
  DvmdDependencies *self = dvmd_core_get_dependencies (dvmd_job_get_core (job));
  GHashTable *table = target->is_array ? self->by_array : self->by_job;
  Dependent *dependent = dependent_of (job);
  Dependency dependency = { .id = target->id, .is_array = target->is_array, .kind = kind };
  guint id = dvmd_job_get_id (job);
  GArray *waiting = g_hash_table_lookup (table, GUINT_TO_POINTER (dependency.id));

  if (dependent->open == NULL)
    dependent->open = g_array_new (FALSE, FALSE, sizeof (Dependency));
  g_array_append_val (dependent->open, dependency);
  if (waiting == NULL)
    {
      waiting = g_array_new (FALSE, FALSE, sizeof (guint));
      g_hash_table_insert (table, GUINT_TO_POINTER (dependency.id), waiting);
    }
  /* It may name the same job twice, as after and as after-ok. */
  if (waiting->len == 0 || g_array_index (waiting, guint, waiting->len - 1) != id)
    g_array_append_val (waiting, id);
}

/* The jobs of that name that came before it; there is no table for names of which no job is a singleton. */
static Namesakes *
collect_namesakes (DvmdJob *job, const char *name)
{
  DvmdDependencies *self = dvmd_core_get_dependencies (dvmd_job_get_core (job));
  Namesakes *namesakes = g_new0 (Namesakes, 1);

  g_queue_init (&namesakes->ids);
  for (DvmdJob *other = NULL; (other = dvmd_core_next_job (dvmd_job_get_core (job), other, FALSE)) != NULL;)
    if (other != job && g_strcmp0 (dvm_job_get_name (dvmd_job_get_record (other)), name) == 0)
      g_queue_push_tail (&namesakes->ids, GUINT_TO_POINTER (dvmd_job_get_id (other)));
  g_hash_table_insert (self->by_name, g_strdup (name), namesakes);
  return namesakes;
}

static void
join_namesakes (DvmdJob *job)
{
  DvmdDependencies *self = dvmd_core_get_dependencies (dvmd_job_get_core (job));
  gboolean is_singleton = dvm_job_spec_get_singleton (dvmd_job_get_spec (job));
  const char *name = dvm_job_get_name (dvmd_job_get_record (job));
  Namesakes *namesakes;

  if (!is_singleton && g_hash_table_size (self->by_name) == 0)
    return;
  namesakes = g_hash_table_lookup (self->by_name, name);
  if (namesakes == NULL && is_singleton)
    namesakes = collect_namesakes (job, name);
  if (namesakes == NULL)
    return;
  g_queue_push_tail (&namesakes->ids, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  namesakes->n_singletons += is_singleton;
  if (is_singleton && namesakes->ids.length > 1)
    dvmd_job_hold (job, DVMD_HOLD_NAMESAKES);
}

void
dvmd_dependencies_begin (DvmdJob *job)
{
  DvmJobSpec *spec = dvmd_job_get_spec (job);

  if (dvm_job_spec_get_hold (spec))
    dvmd_job_hold (job, DVMD_HOLD_USER);
  join_namesakes (job);
  for (DvmdAfter kind = 0; kind < DVMD_AFTER_N_KINDS; kind++)
    {
      const char *const *named = get_named (spec, kind);

      for (gsize i = 0; named[i] != NULL; i++)
        {
          Target target;
          DvmdDependencyState state = find_target (dvmd_job_get_core (job), named[i], &target)
                                          ? judge_dependency (kind, &target)
                                          : DVMD_DEPENDENCY_FULFILLED;

          if (state == DVMD_DEPENDENCY_OPEN)
            await (job, &target, kind);
          else if (state == DVMD_DEPENDENCY_BROKEN)
            {
              give_up (job, &target);
              return;
            }
        }
    }
  if (dependent_of (job)->open == NULL)
    return;
  dvmd_job_hold (job, DVMD_HOLD_JOBS);
  publish (job);
}

/* ---- it goes on ---- */

/* The target, for which this job waits, has come further. */
static void
look_again (DvmdJob *job, const Target *target)
{
  GArray *open = dependent_of (job)->open;

  if (dvmd_job_get_state (job) >= DVM_JOB_STATE_UNTERMINATED)
    return;
  for (guint i = 0; open != NULL && i < open->len;)
    {
      const Dependency *dependency = &g_array_index (open, Dependency, i);
      gboolean is_it = dependency->id == target->id && dependency->is_array == target->is_array;
      DvmdDependencyState state = is_it ? judge_dependency (dependency->kind, target) : DVMD_DEPENDENCY_OPEN;

      if (state == DVMD_DEPENDENCY_BROKEN)
        {
          give_up (job, target);
          return;
        }
      if (state == DVMD_DEPENDENCY_FULFILLED)
        g_array_remove_index (open, i);
      else
        i++;
    }
  publish (job);
  if (open != NULL && open->len == 0)
    dvmd_job_unhold (job, DVMD_HOLD_JOBS);
}

static void
tell_waiting (DvmdCore *core, const Target *target)
{
  DvmdDependencies *self = dvmd_core_get_dependencies (core);
  GHashTable *table = target->is_array ? self->by_array : self->by_job;
  gpointer id = GUINT_TO_POINTER (target->id);
  GArray *found = g_hash_table_lookup (table, id);
  g_autoptr (GArray) waiting = found != NULL ? g_array_ref (found) : NULL;

  if (waiting == NULL)
    return;
  if (target->ended)
    g_hash_table_remove (table, id);
  for (guint i = 0; i < waiting->len; i++)
    {
      DvmdJob *job = dvmd_core_get_job (core, g_array_index (waiting, guint, i));

      if (job != NULL)
        look_again (job, target);
    }
}

/* Those that wait for its array have waited for this if no other one is behind. */
static void
tell_array (DvmdCore *core, guint id)
{
  Target target;

  if (g_hash_table_size (dvmd_core_get_dependencies (core)->by_array) > 0 && find_array_target (core, id, &target)
      && (target.started || target.ended))
    tell_waiting (core, &target);
}

static void
tell_job (DvmdJob *job)
{
  Target target = make_job_target (job);

  tell_waiting (dvmd_job_get_core (job), &target);
  tell_array (dvmd_job_get_core (job), dvm_job_get_array_id (dvmd_job_get_record (job)));
}

void
dvmd_dependencies_started (DvmdJob *job)
{
  tell_job (job);
}

static void
leave_namesakes (DvmdJob *job)
{
  DvmdDependencies *self = dvmd_core_get_dependencies (dvmd_job_get_core (job));
  const char *name = dvm_job_get_name (dvmd_job_get_record (job));
  Namesakes *namesakes;
  DvmdJob *first;

  if (g_hash_table_size (self->by_name) == 0)
    return;
  namesakes = g_hash_table_lookup (self->by_name, name);
  if (namesakes == NULL || !g_queue_remove (&namesakes->ids, GUINT_TO_POINTER (dvmd_job_get_id (job))))
    return;
  namesakes->n_singletons -= dvm_job_spec_get_singleton (dvmd_job_get_spec (job));
  if (namesakes->n_singletons == 0)
    {
      g_hash_table_remove (self->by_name, name);
      return;
    }
  first = dvmd_core_get_job (dvmd_job_get_core (job), GPOINTER_TO_UINT (g_queue_peek_head (&namesakes->ids)));
  if (first != NULL && dvmd_job_get_state (first) < DVM_JOB_STATE_UNTERMINATED)
    dvmd_job_unhold (first, DVMD_HOLD_NAMESAKES);
}

void
dvmd_dependencies_ended (DvmdJob *job)
{
  leave_namesakes (job);
  tell_job (job);
}

void
dvmd_dependencies_lost (DvmdCore *core, DvmJobSpec *spec)
{
  const DvmArrayPlace *place = _dvm_job_spec_get_place (spec);

  if (place != NULL)
    tell_array (core, place->id);
}
