/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The description of a job is checked before it is sent.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-job-spec-fields-private.h"
#include "dvm-placement-private.h"
#include "dvm-preload-private.h"
#include "dvm-words-private.h"

/* So many applications in one job are a mistake. */
#define MOST_APPS 65536
/* As many events as are kept for a process that is yet to connect. */
#define MOST_PSETS 512

static gboolean
check_text (const char *text, const char *key, const char *place, GError **error)
{
  if (text == NULL || g_utf8_validate (text, -1, NULL))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s is not UTF-8"), place, key);
  return FALSE;
}

static gboolean
check_target (DvmJobSpec *self, const char *place, GError **error)
{
  const char *const *target = dvm_job_spec_get_target (self);

  for (gsize i = 0; target[i] != NULL; i++)
    {
      if (!check_text (target[i], "target", place, error))
        return FALSE;
      if (g_strv_contains (target + i + 1, target[i]))
        {
          g_autofree char *shown = _dvm_words_show (target[i]);

          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%starget: “%s” is named twice"), place, shown);
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
check_texts (DvmJobSpec *self, const char *place, GError **error)
{
  return check_text (dvm_job_spec_get_name (self), "name", place, error)
         && check_text (dvm_job_spec_get_label (self), "label", place, error)
         && check_text (dvm_job_spec_get_personality (self), "personality", place, error)
         && check_text (dvm_job_spec_get_map_by (self), "map-by", place, error)
         && check_text (dvm_job_spec_get_rank_by (self), "rank-by", place, error)
         && check_text (dvm_job_spec_get_bind_to (self), "bind-to", place, error)
         && check_text (dvm_job_spec_get_when_full (self), "when-full", place, error)
         && check_text (dvm_job_spec_get_output (self), "output", place, error)
         && check_text (dvm_job_spec_get_stdin_target (self), "stdin", place, error)
         && check_text (dvm_job_spec_get_stdout_path (self), "stdout-path", place, error)
         && check_text (dvm_job_spec_get_stderr_path (self), "stderr-path", place, error)
         && check_text (dvm_job_spec_get_runtime_options (self), "runtime-options", place, error)
         && check_text (dvm_job_spec_get_add_hostfile (self), "add-hostfile", place, error)
         && check_text (dvm_job_spec_get_array (self), "array", place, error)
         && check_text (dvm_job_spec_get_alloc_id (self), "alloc-id", place, error)
         && check_text (dvm_job_spec_get_alloc_req_id (self), "alloc-req-id", place, error)
         && check_target (self, place, error);
}

static gboolean
check_pty_size (guint number, const char *name, const char *place, GError **error)
{
  if (number <= G_MAXUINT16)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%s%s: %u is too large for a terminal; it can be 65535 at most"), place, name, number);
  return FALSE;
}

/* Only a PMIx client stops by itself. */
static gboolean
check_stop (const DvmRuntimeOptions *options, gboolean plain, const char *place, GError **error)
{
  if (!plain || options->stop == DVM_STOP_NONE || options->stop == DVM_STOP_ON_EXEC)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%sruntime-options: %s needs the personality pmix; a plain program can stop-on-exec"), place,
               options->stop == DVM_STOP_IN_INIT ? "stop-in-init" : "stop-in-app");
  return FALSE;
}

/* PMIx alone knows of sets, and tells of each by an event. */
static gboolean
check_psets (DvmJobSpec *self, gboolean plain, const char *place, GError **error)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < dvm_job_spec_get_n_apps (self); i++)
    {
      const char *name = dvm_app_spec_get_pset (dvm_job_spec_get_app (self, i));

      if (name != NULL)
        g_hash_table_add (names, (gpointer)name);
    }
  if (g_hash_table_size (names) > MOST_PSETS)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%spset: a job can have %d process sets, not %u"), place,
                 MOST_PSETS, g_hash_table_size (names));
  else if (plain && g_hash_table_size (names) > 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 _ ("%spset: a process set needs the personality pmix, for PMIx alone knows of it"), place);
  else
    return TRUE;
  return FALSE;
}

/* Where nobody outlives an error there is nobody to be told. */
static gboolean
check_notify_errors (DvmJobSpec *self, const DvmRuntimeOptions *options, const char *place, GError **error)
{
  if (options->notify_errors != TRUE || options->recoverable || dvm_job_spec_get_recoverable (self))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%sruntime-options: notifyerrors needs recoverable: any other job ends when a process fails"), place);
  return FALSE;
}

/* A key and the word of runtime-options say the same; 0: nothing */
static gboolean
check_same_seconds (guint key, guint word, const char *name, const char *place, GError **error)
{
  if (key == 0 || word == 0 || key == word)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: it is %u, and in runtime-options it is %u"), place,
               name, key, word);
  return FALSE;
}

/* Both are about the end by the time limit. */
static gboolean
check_time_limit (DvmJobSpec *self, const DvmRuntimeOptions *options, const char *place, GError **error)
{
  if (!check_same_seconds (dvm_job_spec_get_timeout (self), options->timeout, "timeout", place, error)
      || !check_same_seconds (dvm_job_spec_get_spawn_timeout (self), options->spawn_timeout, "spawn-timeout", place,
                              error))
    return FALSE;
  if ((!options->stack_traces && !options->report_state) || dvm_job_spec_get_timeout (self) > 0 || options->timeout > 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%sruntime-options: %s needs a timeout, after which the job is ended"), place,
               options->stack_traces ? "get-stack-traces" : "report-state-on-timeout");
  return FALSE;
}

/* A debugger that holds all processes would be held up by one that comes anew. */
static gboolean
check_restarts (DvmJobSpec *self, const DvmRuntimeOptions *options, const char *place, GError **error)
{
  guint number = dvm_job_spec_get_max_restarts (self);

  /* The largest number is no limit, which another one narrows. */
  if (number > 0 && options->max_restarts > 0 && options->max_restarts != G_MAXUINT32
      && number != options->max_restarts)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%smax-restarts: it is %u, and in runtime-options it is %u"), place, number,
                   options->max_restarts);
      return FALSE;
    }
  if ((number == 0 && options->max_restarts == 0) || options->stop == DVM_STOP_NONE)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%smax-restarts: processes that wait for a debugger are not started again; leave out “%s”"), place,
               options->stop == DVM_STOP_ON_EXEC   ? "stop-on-exec"
               : options->stop == DVM_STOP_IN_INIT ? "stop-in-init"
                                                   : "stop-in-app");
  return FALSE;
}

/* The name of a program that has its rank behind it is no name that a command could start. */
static gboolean
check_exec_agent (DvmJobSpec *self, const DvmRuntimeOptions *options, const char *place, GError **error)
{
  const char *const *key = dvm_job_spec_get_exec_agent (self);
  g_auto (GStrv) word = _dvm_runtime_options_dup_exec_agent (dvm_job_spec_get_runtime_options (self));

  for (gsize i = 0; key[i] != NULL; i++)
    if (!check_text (key[i], "exec-agent", place, error))
      return FALSE;
  if (key[0] != NULL && key[0][0] == '\0')
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%sexec-agent: the name of the command is empty"), place);
  else if (key[0] != NULL
           && (options->no_exec_agent || (word != NULL && !g_strv_equal (key, (const char *const *)word))))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%sexec-agent: runtime-options say something else"), place);
  else if ((key[0] != NULL || word != NULL) && self->index_argv)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 _ ("%sexec-agent: it cannot start programs whose names have the rank behind them"), place);
  else
    return TRUE;
  return FALSE;
}

/* when-full and a qualifier of map-by say the same. */
static gboolean
check_when_full (DvmJobSpec *self, gint8 oversubscribe, const char *place, GError **error)
{
  const char *text = dvm_job_spec_get_when_full (self);
  DvmWhenFull when_full;

  if (!_dvm_when_full_parse (text, place, &when_full, error))
    return FALSE;
  if (text == NULL || oversubscribe < 0 || oversubscribe == (when_full == DVM_WHEN_FULL_OVERSUBSCRIBE))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%swhen-full: “%s” contradicts map-by “%s”"), place,
               when_full == DVM_WHEN_FULL_OVERSUBSCRIBE ? "oversubscribe"
               : when_full == DVM_WHEN_FULL_REFUSE      ? "refuse"
                                                        : "wait",
               oversubscribe == TRUE ? "oversubscribe" : "nooversubscribe");
  return FALSE;
}

/* Numbers or namespaces, each once: whether there are such jobs the DVM knows. */
static gboolean
check_jobs (const char *const *jobs, const char *key, const char *place, GError **error)
{
  for (gsize i = 0; jobs[i] != NULL; i++)
    {
      g_autofree char *shown = _dvm_words_show (jobs[i]);

      if (!g_utf8_validate (jobs[i], -1, NULL) || jobs[i][0] == '\0')
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                     _ ("%s%s: “%s” is no job; a job is a number or a namespace"), place, key, shown);
      else if (g_strv_contains (jobs + i + 1, jobs[i]))
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: “%s” is named twice"), place, key, shown);
      else
        continue;
      return FALSE;
    }
  return TRUE;
}

/* A job that is not to wait, or that takes slots that others have, contradicts itself where it says what it waits for.
 */
static gboolean
check_waiting (DvmJobSpec *self, const char *place, GError **error)
{
  const char *when_full = dvm_job_spec_get_when_full (self);
  int priority = dvm_job_spec_get_priority (self);

  if (priority < -DVM_PRIORITY_MOST || priority > DVM_PRIORITY_MOST)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%spriority: it is a number from %d to %d, not %d"), place,
                   -DVM_PRIORITY_MOST, DVM_PRIORITY_MOST, priority);
      return FALSE;
    }
  if (dvm_job_spec_get_wait_for_slots (self) && _dvm_job_spec_get_when_full_policy (self) != DVM_WHEN_FULL_WAIT)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%swait-for-slots: “%s” contradicts it"), place,
                   when_full != NULL ? when_full : "map-by");
      return FALSE;
    }
  return check_jobs (dvm_job_spec_get_after (self), "after", place, error)
         && check_jobs (dvm_job_spec_get_after_ok (self), "after-ok", place, error)
         && check_jobs (dvm_job_spec_get_after_any (self), "after-any", place, error);
}

/* The jobs of an array differ by their index alone: %a says it, and is of no use elsewhere. */
static gboolean
check_array (DvmJobSpec *self, const DvmOutputOptions *output, const char *place, GError **error)
{
  const char *text = dvm_job_spec_get_array (self);
  g_autoptr (GArray) indexes = NULL;
  guint32 most;

  if (text == NULL && _dvm_job_spec_get_place (self) == NULL)
    {
      if (!output->pattern || !_dvm_array_path_has_place (output->file))
        return TRUE;
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%soutput: %%a and %%A are for the jobs of an array, and this is one job; %%n is its namespace"),
                   place);
      return FALSE;
    }
  if (text == NULL)
    return TRUE;
  if (dvm_job_spec_get_n_apps (self) != 1)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%sarray: each job of an array has one application, not %u"), place,
                   dvm_job_spec_get_n_apps (self));
      return FALSE;
    }
  indexes = _dvm_array_parse (text, place, &most, error);
  return indexes != NULL;
}

gboolean
_dvm_job_spec_check_policies (DvmJobSpec *self, const char *place, GError **error)
{
  gint8 oversubscribe;

  return _dvm_job_spec_check_placement (self, place, &oversubscribe, error)
         && check_when_full (self, oversubscribe, place, error);
}

static gboolean
check_words (DvmJobSpec *self, const char *place, GError **error)
{
  DvmRuntimeOptions options;
  DvmStdinTarget target;
  g_auto (DvmOutputOptions) output = { 0 };
  gboolean plain;

  return _dvm_personality_parse (dvm_job_spec_get_personality (self), place, &plain, error)
         && _dvm_job_spec_check_policies (self, place, error) && check_waiting (self, place, error)
         && _dvm_output_parse (dvm_job_spec_get_output (self), place, &output, error)
         && check_array (self, &output, place, error)
         && _dvm_stdin_target_parse (dvm_job_spec_get_stdin_target (self), place, &target, error)
         && _dvm_runtime_options_parse (dvm_job_spec_get_runtime_options (self), place, &options, error)
         && check_stop (&options, plain, place, error) && check_time_limit (self, &options, place, error)
         && check_notify_errors (self, &options, place, error) && check_restarts (self, &options, place, error)
         && check_psets (self, plain, place, error) && check_exec_agent (self, &options, place, error);
}

/* np: of all applications, 0: not known before the job is mapped */
static gboolean
check_stdin_rank (DvmJobSpec *self, guint64 np, const char *place, GError **error)
{
  DvmStdinTarget target;

  if (!_dvm_stdin_target_parse (dvm_job_spec_get_stdin_target (self), place, &target, error))
    return FALSE;
  if (np == 0 || (target.kind != DVM_STDIN_RANK && target.kind != DVM_STDIN_LIST) || target.rank < np)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%sstdin: there is no rank %u, the ranks of this job are 0 to %u"), place, (guint)target.rank,
               (guint)np - 1);
  return FALSE;
}

static gboolean
check_preloads (DvmJobSpec *self, const char *place, GError **error)
{
  g_autoptr (GPtrArray) preloads = NULL;

  if (!_dvm_job_spec_has_preloads (self))
    return TRUE;
  preloads = _dvm_job_spec_list_preloads (self, place, error);
  return preloads != NULL;
}

gboolean
_dvm_job_spec_validate_at (DvmJobSpec *self, const char *place, GError **error)
{
  guint n_apps = dvm_job_spec_get_n_apps (self);
  gboolean np_known = TRUE;
  guint64 np = 0;
  gboolean loaded = _dvm_job_spec_has_loaded_hosts (self);
  DvmHostsRead read = { 0 };

  if (n_apps == 0 || n_apps > MOST_APPS)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%sapps: a job has 1 to %d applications, not %u"), place,
                   MOST_APPS, n_apps);
      return FALSE;
    }
  for (guint i = 0; i < n_apps; i++)
    {
      DvmAppSpec *app = dvm_job_spec_get_app (self, i);
      g_autofree char *app_place = g_strdup_printf ("%sapps[%u].", place, i);

      if (!_dvm_app_spec_validate (app, app_place, loaded ? NULL : &read, error))
        return FALSE;
      np += dvm_app_spec_get_np (app);
      np_known = np_known && dvm_app_spec_get_np (app) > 0;
    }
  if (np > G_MAXINT)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%snp: %lu processes are more than ranks can be numbered (%d)"), place, (gulong)np, G_MAXINT);
      return FALSE;
    }
  return check_texts (self, place, error) && check_words (self, place, error)
         && check_pty_size (dvm_job_spec_get_pty_rows (self), "pty-rows", place, error)
         && check_pty_size (dvm_job_spec_get_pty_columns (self), "pty-columns", place, error)
         && check_stdin_rank (self, np_known ? np : 0, place, error) && check_preloads (self, place, error)
         && (loaded || _dvm_job_spec_check_additions (self, place, &read, error));
}

/**
 * dvm_job_spec_validate:
 * @self: a job description
 * @error: return location for an error
 *
 * Checks everything that can be known without the DVM. Submitting does so too.
 *
 * Returns: %TRUE if the description is right; on error %DVM_ERROR_BAD_PARAM, or %DVM_ERROR_NOT_SUPPORTED for what a
 *   later version will do
 * Since: 0.1
 */
gboolean
dvm_job_spec_validate (DvmJobSpec *self, GError **error)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return _dvm_job_spec_validate_at (self, "", error);
}

void
_dvm_job_spec_get_runtime (DvmJobSpec *self, DvmRuntimeOptions *options)
{
  if (!_dvm_runtime_options_parse (dvm_job_spec_get_runtime_options (self), "", options, NULL))
    _dvm_runtime_options_parse (NULL, "", options, NULL);
  if (dvm_job_spec_get_recoverable (self))
    options->recoverable = TRUE;
  if (options->notify_errors < 0)
    options->notify_errors = options->recoverable;
  if (dvm_job_spec_get_max_restarts (self) > 0)
    options->max_restarts = dvm_job_spec_get_max_restarts (self);
  if (self->timeout > 0)
    options->timeout = self->timeout;
  if (self->spawn_timeout > 0)
    options->spawn_timeout = self->spawn_timeout;
}

guint
_dvm_job_spec_get_time_limit (DvmJobSpec *self)
{
  DvmRuntimeOptions options;

  /* Asked for often, and most jobs have no such options. */
  if (self->timeout > 0 || self->runtime_options == NULL)
    return self->timeout;
  _dvm_job_spec_get_runtime (self, &options);
  return options.timeout;
}

GStrv
_dvm_job_spec_dup_exec_agent (DvmJobSpec *self)
{
  const char *const *key = dvm_job_spec_get_exec_agent (self);

  return key[0] != NULL ? g_strdupv ((char **)key) : _dvm_runtime_options_dup_exec_agent (self->runtime_options);
}

gboolean
_dvm_job_spec_is_recoverable (DvmJobSpec *self)
{
  DvmRuntimeOptions options;

  _dvm_job_spec_get_runtime (self, &options);
  return options.recoverable;
}

gboolean
_dvm_job_spec_is_plain (DvmJobSpec *self)
{
  gboolean plain;

  return _dvm_personality_parse (dvm_job_spec_get_personality (self), "", &plain, NULL) && plain;
}

DvmWhenFull
_dvm_job_spec_get_when_full_policy (DvmJobSpec *self)
{
  const char *text = dvm_job_spec_get_when_full (self);
  DvmWhenFull when_full;
  gint8 oversubscribe;

  if (!_dvm_when_full_parse (text, "", &when_full, NULL))
    return DVM_WHEN_FULL_WAIT;
  oversubscribe = _dvm_job_spec_get_oversubscribe (self);
  if (oversubscribe < 0)
    return when_full;
  if (oversubscribe)
    return DVM_WHEN_FULL_OVERSUBSCRIBE;
  return text == NULL || when_full == DVM_WHEN_FULL_OVERSUBSCRIBE ? DVM_WHEN_FULL_REFUSE : when_full;
}
