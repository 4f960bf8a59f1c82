/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A job of Slurm that becomes larger, as the manual of scontrol describes it ("RESIZING JOBS" of salloc, FAQ 24): a
 * second job that depends on it by "expand" gets the nodes, and gives them up to it.
 */

#include "config.h"

#include "slurm-grow.h"

#include <stdlib.h>
#include <string.h>

#include "host-list.h"

/* Bytes of what a command says that are shown. */
#define SHOWN 300

typedef struct
{
  DvmdPluginHost *host;
  char *job;
  char *name;   /* of the second job, by which it is found also if its number has not been read */
  char *second; /* (nullable): its number */
  char **nodes; /* (nullable): its nodes */
} Grow;

typedef void (*Next) (GTask *task, const DvmdPluginOutcome *outcome);

typedef struct
{
  GTask *task;
  Next next;
} Step;

static void
grow_free (gpointer data)
{
  Grow *self = data;

  g_object_unref (self->host);
  g_strfreev (self->nodes);
  g_free (self->second);
  g_free (self->name);
  g_free (self->job);
  g_free (self);
}

char **
slurm_get_environ (void)
{
  char **environ = g_get_environ ();
  g_auto (GStrv) names = g_listenv ();

  for (guint i = 0; names[i] != NULL; i++)
    if (g_str_has_prefix (names[i], "SLURM_") && strcmp (names[i], "SLURM_CONF") != 0)
      environ = g_environ_unsetenv (environ, names[i]);
  return environ;
}

char *
slurm_get_words (const DvmdPluginOutcome *outcome)
{
  gsize length;
  const char *bytes = g_bytes_get_data (outcome->messages, &length);
  g_autofree char *start = g_strndup (bytes != NULL ? bytes : "", MIN (length, SHOWN));
  char *words = g_strdelimit (g_strstrip (g_utf8_make_valid (start, -1)), "\n", ' ');

  if (words[0] != '\0')
    return words;
  g_free (words);
  return g_strdup ("nothing");
}

/* (transfer full): its standard output or standard error, without spaces at its ends */
static char *
get_text (GBytes *bytes)
{
  gsize length;
  const char *data = g_bytes_get_data (bytes, &length);

  return g_strstrip (g_strndup (data != NULL ? data : "", length));
}

static void
run (GTask *task, const char *const *argv, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  Grow *self = g_task_get_task_data (task);
  g_auto (GStrv) environ = slurm_get_environ ();
  const DvmdPluginCommand command = { .argv = argv, .environ = (const char *const *)environ };

  dvmd_plugin_host_spawn_async (self->host, &command, cancellable, callback, user_data);
}

/* ---- the end ---- */

static void
on_taken_back (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  DvmdPluginOutcome outcome = { 0 };

  dvmd_plugin_host_spawn_finish (DVMD_PLUGIN_HOST (source), result, &outcome, NULL);
  dvmd_plugin_outcome_clear (&outcome);
  g_task_return_error (task, g_error_copy (g_object_get_data (G_OBJECT (task), "error")));
}

/* Takes task and error. The second job may wait, or have nodes that nobody would use. */
static void
take_back (GTask *task, GError *error)
{
  Grow *self = g_task_get_task_data (task);
  g_autofree char *name = g_strconcat ("--name=", self->name, NULL);
  const char *argv[] = { "scancel", self->second != NULL ? self->second : name, NULL };

  g_object_set_data_full (G_OBJECT (task), "error", error, (GDestroyNotify)g_error_free);
  run (task, argv, NULL, on_taken_back, task);
}

static void
fail (GTask *task, const char *command, const DvmdPluginOutcome *outcome)
{
  Grow *self = g_task_get_task_data (task);
  g_autofree char *words = slurm_get_words (outcome);

  take_back (task, g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "Job %s of Slurm gets no more nodes; %s says: %s",
                                self->job, command, words));
}

static void
on_ran (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Step *step = user_data;
  const Step own = *step;
  DvmdPluginOutcome outcome = { 0 };
  GError *error = NULL;

  g_free (step);
  if (!dvmd_plugin_host_spawn_finish (DVMD_PLUGIN_HOST (source), result, &outcome, &error))
    take_back (own.task, error);
  else
    own.next (own.task, &outcome);
  dvmd_plugin_outcome_clear (&outcome);
}

/* task is taken. cancellable: (nullable): a step that must not be left half done has none */
static void
step (GTask *task, const char *const *argv, GCancellable *cancellable, Next next)
{
  Step *one = g_new0 (Step, 1);

  one->task = task;
  one->next = next;
  run (task, argv, cancellable, on_ran, one);
}

/* ---- the steps ---- */

/* Slurm has the last word: scontrol may exit with 1 although it has worked (22.05). */
static void
check (GTask *task, const DvmdPluginOutcome *outcome)
{
  Grow *self = g_task_get_task_data (task);
  g_autofree char *text = get_text (outcome->output);
  g_auto (GStrv) all = dvmd_host_list_expand (text, "squeue", NULL);

  for (guint i = 0; self->nodes[i] != NULL; i++)
    if (all == NULL || !g_strv_contains ((const char *const *)all, self->nodes[i]))
      {
        take_back (task, g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                                      "Job %s of Slurm was to get %s, and has “%s” after that", self->job,
                                      self->nodes[i], text));
        return;
      }
  g_task_return_pointer (task, g_steal_pointer (&self->nodes), (GDestroyNotify)g_strfreev);
  g_object_unref (task);
}

static void
ask_for_nodes (GTask *task, const char *job, Next next)
{
  g_autofree char *word = g_strconcat ("--jobs=", job, NULL);
  const char *argv[] = { "squeue", "--noheader", "--format=%N", word, NULL };

  step (task, argv, NULL, next);
}

static void
ask_again (GTask *task, const DvmdPluginOutcome *outcome)
{
  Grow *self = g_task_get_task_data (task);

  ask_for_nodes (task, self->job, check);
}

static void
take_nodes (GTask *task, const DvmdPluginOutcome *outcome)
{
  Grow *self = g_task_get_task_data (task);
  g_autofree char *word = g_strconcat ("JobId=", self->job, NULL);
  const char *argv[] = { "scontrol", "update", word, "NumNodes=ALL", NULL };

  if (outcome->exit_code != 0)
    fail (task, "scontrol", outcome);
  else
    step (task, argv, NULL, ask_again);
}

static void
give_up_nodes (GTask *task, const DvmdPluginOutcome *outcome)
{
  Grow *self = g_task_get_task_data (task);
  g_autofree char *word = g_strconcat ("JobId=", self->second, NULL);
  const char *argv[] = { "scontrol", "update", word, "NumNodes=0", NULL };
  g_autofree char *text = get_text (outcome->output);

  self->nodes = dvmd_host_list_expand (text, "squeue", NULL);
  if (self->nodes == NULL)
    fail (task, "squeue", outcome);
  else
    step (task, argv, NULL, take_nodes);
}

static void
read_grant (GTask *task, const DvmdPluginOutcome *outcome)
{
  Grow *self = g_task_get_task_data (task);
  g_autofree char *text = get_text (outcome->messages);
  g_autoptr (GRegex) regex = g_regex_new ("Granted job allocation ([0-9]+)", 0, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;

  if (outcome->exit_code != 0 || !g_regex_match (regex, text, 0, &match))
    {
      fail (task, "salloc", outcome);
      return;
    }
  self->second = g_match_info_fetch (match, 1);
  ask_for_nodes (task, self->second, give_up_nodes);
}

/* The second job must be of the same kind, and is not by itself. */
static void
add_same (GPtrArray *argv, const char *option, const char *variable)
{
  const char *value = g_getenv (variable);

  if (value != NULL && value[0] != '\0')
    g_ptr_array_add (argv, g_strconcat (option, value, NULL));
}

void
slurm_grow_async (DvmdPluginHost *host, const char *job, guint count, GCancellable *cancellable,
                  GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *task = g_task_new (host, cancellable, callback, user_data);
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *uuid = g_uuid_string_random ();
  Grow *self = g_new0 (Grow, 1);

  g_task_set_check_cancellable (task, FALSE);
  g_task_set_task_data (task, self, grow_free);
  self->host = g_object_ref (host);
  self->job = g_strdup (job);
  self->name = g_strconcat ("dvm-grow-", uuid, NULL);
  g_ptr_array_add (argv, g_strdup ("salloc"));
  g_ptr_array_add (argv, g_strdup ("--no-shell"));
  g_ptr_array_add (argv, g_strdup_printf ("--nodes=%u", count));
  g_ptr_array_add (argv, g_strconcat ("--dependency=expand:", job, NULL));
  g_ptr_array_add (argv, g_strconcat ("--job-name=", self->name, NULL));
  add_same (argv, "--partition=", "SLURM_JOB_PARTITION");
  add_same (argv, "--account=", "SLURM_JOB_ACCOUNT");
  add_same (argv, "--qos=", "SLURM_JOB_QOS");
  g_ptr_array_add (argv, NULL);
  step (task, (const char *const *)argv->pdata, cancellable, read_grant);
}

char **
slurm_grow_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
