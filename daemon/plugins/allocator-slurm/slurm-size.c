/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Changes of the size of a job, as scontrol(1) and the FAQ of Slurm describe them: a second job that depends on the
 * first one by "expand" gets the nodes, and gives them up to it; "NodeList" names the nodes that are left.
 */

#include "config.h"

#include "slurm-size.h"

#include <string.h>

#include "slurm-command.h"
#include "slurm-environment.h"
#include "slurm-second-job.h"
#include "slurm-view.h"

#define NODE_LIST "NodeList="

struct _SlurmSize
{
  gint ref_count;
  DvmdPluginHost *host;
  char *id;          /* its number, by which other jobs make it larger */
  char *name;        /* by which scontrol knows it */
  char *script_node; /* (nullable) */
  guint32 slots;     /* of the first node */
  guint64 memory;    /* likewise, in bytes; 0: nothing is said of it */
  GPtrArray *held;   /* names, as Slurm tells them */
  GHashTable *used;  /* those that the DVM has, in lower case */
  GHashTable *left;  /* those that the job had once, likewise */
  GQueue waiting;    /* Change */
  gboolean is_busy;
};

typedef struct _Change Change;

struct _Change
{
  SlurmSize *size;
  GTask *task; /* (nullable): nobody waits for it */
  void (*begin) (Change *change);
  GPtrArray *names; /* those that come, or leave */
  GArray *slots;    /* guint32: of those that are named, as far as somebody said */
  guint missing;    /* nodes that Slurm is asked for */
  GHashTable *before;
  SlurmSecondJob *second; /* (nullable) */
  char *second_id;        /* (nullable): it has its nodes */
  gulong withdrawn_id;
  gint64 granted; /* in seconds, as Slurm counts */
  gboolean has_asked_all;
  GError *error; /* (nullable) */
  char *words;   /* (nullable): of scontrol */
};

/* ---- names ---- */

static char *
make_key (const char *name)
{
  return g_ascii_strdown (name, -1);
}

static gboolean
has_key (GHashTable *table, const char *name)
{
  g_autofree char *key = make_key (name);

  return g_hash_table_contains (table, key);
}

static GHashTable *
make_set (const char *const *names)
{
  GHashTable *set = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (; names != NULL && *names != NULL; names++)
    g_hash_table_add (set, make_key (*names));
  return set;
}

static GHashTable *
make_set_of (GPtrArray *names)
{
  GHashTable *set = make_set (NULL);

  for (guint i = 0; i < names->len; i++)
    g_hash_table_add (set, make_key (names->pdata[i]));
  return set;
}

/* ---- the size ---- */

SlurmSize *
slurm_size_new (DvmdPluginHost *host, const SlurmJob *job)
{
  SlurmSize *self = g_new0 (SlurmSize, 1);
  g_auto (GStrv) environ = g_get_environ ();
  guint n_nodes;
  const DvmdPluginNode *nodes = dvmd_allocation_get_nodes (job->allocation, &n_nodes);

  self->ref_count = 1;
  self->host = g_object_ref (host);
  self->id = g_strdup (dvmd_allocation_get_id (job->allocation));
  self->name = slurm_make_job_name ((const char *const *)environ);
  self->script_node = g_strdup (job->script_node);
  self->slots = n_nodes > 0 ? nodes[0].slots : 0;
  self->memory = n_nodes > 0 ? nodes[0].memory : 0;
  self->held = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < n_nodes; i++)
    g_ptr_array_add (self->held, g_strdup (nodes[i].name));
  self->used = make_set_of (self->held);
  self->left = make_set (NULL);
  g_queue_init (&self->waiting);
  return self;
}

SlurmSize *
slurm_size_ref (SlurmSize *self)
{
  self->ref_count++;
  return self;
}

/* Each change has a reference. */
void
slurm_size_unref (SlurmSize *self)
{
  if (--self->ref_count > 0)
    return;
  g_object_unref (self->host);
  g_free (self->id);
  g_free (self->name);
  g_free (self->script_node);
  g_ptr_array_unref (self->held);
  g_hash_table_unref (self->used);
  g_hash_table_unref (self->left);
  g_free (self);
}

static void
set_held (SlurmSize *self, const char *const *names)
{
  g_autoptr (GHashTable) now = make_set (names);

  for (guint i = 0; i < self->held->len; i++)
    if (!has_key (now, self->held->pdata[i]))
      g_hash_table_add (self->left, make_key (self->held->pdata[i]));
  g_ptr_array_set_size (self->held, 0);
  for (; *names != NULL; names++)
    g_ptr_array_add (self->held, g_strdup (*names));
}

void
slurm_size_learn (SlurmSize *self, const char *const *names)
{
  if (!self->is_busy)
    set_held (self, names);
}

gboolean
slurm_size_are_spare (SlurmSize *self, const char *const *names)
{
  g_autoptr (GHashTable) held = make_set_of (self->held);

  for (; *names != NULL; names++)
    if (!has_key (held, *names) || has_key (self->used, *names))
      return FALSE;
  return TRUE;
}

gboolean
slurm_size_leave (SlurmSize *self, const char *const *names)
{
  g_autoptr (GHashTable) held = make_set_of (self->held);
  gboolean found = FALSE;

  for (; *names != NULL; names++)
    {
      g_autofree char *key = make_key (*names);

      g_hash_table_remove (self->used, key);
      found |= g_hash_table_contains (held, key);
    }
  return found;
}

/* ---- one change after another ---- */

static void
begin_next (SlurmSize *self)
{
  Change *change = self->is_busy ? NULL : g_queue_pop_head (&self->waiting);

  if (change == NULL)
    return;
  self->is_busy = TRUE;
  change->begin (change);
}

static Change *
change_new (SlurmSize *size, GTask *task, void (*begin) (Change *change))
{
  Change *self = g_new0 (Change, 1);

  self->size = size;
  size->ref_count++;
  self->task = task;
  self->begin = begin;
  self->names = g_ptr_array_new_with_free_func (g_free);
  self->slots = g_array_new (FALSE, TRUE, sizeof (guint32));
  return self;
}

static void
enqueue (Change *change)
{
  g_queue_push_tail (&change->size->waiting, change);
  begin_next (change->size);
}

/* The change is freed, and the next one begins. */
static void
end_change (Change *change)
{
  SlurmSize *size = change->size;

  if (change->error != NULL)
    dvmd_plugin_host_log (size->host, G_LOG_LEVEL_INFO, "%s", change->error->message);
  g_clear_object (&change->task);
  g_ptr_array_unref (change->names);
  g_array_unref (change->slots);
  g_clear_pointer (&change->before, g_hash_table_unref);
  g_clear_error (&change->error);
  g_free (change->second_id);
  g_free (change->words);
  g_free (change);
  size->is_busy = FALSE;
  begin_next (size);
  slurm_size_unref (size);
}

static void
end_with_error (Change *change)
{
  if (change->task != NULL)
    g_task_return_error (change->task, g_error_copy (change->error));
  end_change (change);
}

static gboolean
is_withdrawn (Change *change)
{
  GCancellable *cancellable = change->task != NULL ? g_task_get_cancellable (change->task) : NULL;

  return cancellable != NULL && g_cancellable_is_cancelled (cancellable);
}

static void
set_error (Change *change, const char *what)
{
  if (change->error == NULL)
    change->error = g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "job %s of Slurm %s; scontrol says: %s",
                                 change->size->id, what, change->words != NULL ? change->words : "nothing");
}

static void
keep_words (Change *change, const DvmdPluginOutcome *outcome, const GError *error)
{
  g_free (change->words);
  change->words = error != NULL ? g_strdup (error->message) : dvmd_timed_command_get_words (outcome->messages);
}

/* FALSE: it has an error */
static gboolean
take_size (Change *change, const DvmdPluginOutcome *outcome, const GError *error)
{
  g_autofree char *text = slurm_get_last_line (outcome->output);
  g_auto (GStrv) names = error == NULL ? dvm_host_list_expand (text, "squeue", NULL) : NULL;

  if (names == NULL)
    {
      if (change->error == NULL && error != NULL)
        change->error = g_error_copy (error);
      set_error (change, "does not say which nodes it has");
      return FALSE;
    }
  set_held (change->size, (const char *const *)names);
  return TRUE;
}

static void
ask_size (Change *change, DvmdTimedCommandEnded ran)
{
  g_auto (GStrv) environ = g_get_environ ();
  g_auto (GStrv) argv = slurm_make_squeue_argv ((const char *const *)environ, "%N", FALSE);

  slurm_run (change->size->host, (const char *const *)argv, ran, change);
}

static void
update (Change *change, const char *id, const char *words, DvmdTimedCommandEnded ran)
{
  g_autofree char *job = g_strconcat ("JobId=", id, NULL);
  const char *argv[] = { "scontrol", "update", job, words, NULL };

  slurm_run (change->size->host, argv, ran, change);
}

/* ---- smaller ---- */

static void
on_smaller (const DvmdPluginOutcome *outcome, const GError *error, gpointer user_data)
{
  Change *change = user_data;
  g_autoptr (GHashTable) held = NULL;

  if (!take_size (change, outcome, error))
    {
      end_with_error (change);
      return;
    }
  held = make_set_of (change->size->held);
  for (guint i = 0; i < change->names->len; i++)
    if (has_key (held, change->names->pdata[i]))
      set_error (change, "keeps them");
  if (change->error != NULL)
    {
      end_with_error (change);
      return;
    }
  if (change->task != NULL)
    g_task_return_boolean (change->task, TRUE);
  end_change (change);
}

static void
on_released (const DvmdPluginOutcome *outcome, const GError *error, gpointer user_data)
{
  Change *change = user_data;

  keep_words (change, outcome, error);
  ask_size (change, on_smaller);
}

static gboolean
runs_script (SlurmSize *self, const char *name)
{
  return self->script_node != NULL && g_ascii_strcasecmp (self->script_node, name) == 0;
}

/* Nodes that cannot leave are taken out of the names. stays: (out): the one that runs the script is among them.
 * (transfer container): those that are left in the job */
static GPtrArray *
sort_out (Change *change, gboolean *stays)
{
  SlurmSize *size = change->size;
  g_autoptr (GHashTable) leaving = make_set_of (change->names);
  GPtrArray *kept = g_ptr_array_new ();

  *stays = FALSE;
  g_ptr_array_set_size (change->names, 0);
  for (guint i = 0; i < size->held->len; i++)
    {
      char *name = size->held->pdata[i];
      gboolean leaves = has_key (leaving, name) && !has_key (size->used, name);

      if (leaves && !runs_script (size, name))
        {
          g_ptr_array_add (change->names, g_strdup (name));
          continue;
        }
      *stays |= leaves;
      g_ptr_array_add (kept, name);
    }
  return kept;
}

static GError *
explain_stay (SlurmSize *self)
{
  return g_error_new (DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                      "%s stays in job %s of Slurm: what has started the DVM runs on it", self->script_node, self->id);
}

static void
begin_release (Change *change)
{
  gboolean stays;
  g_autoptr (GPtrArray) kept = sort_out (change, &stays);
  g_autoptr (GError) stay = stays ? explain_stay (change->size) : NULL;

  /* Slurm takes the nodes that a job keeps, not those that it gives back. */
  if (change->names->len > 0 && kept->len > 0)
    {
      g_autofree char *list = dvm_host_list_compress ((const char *const *)kept->pdata, kept->len);
      g_autofree char *words = g_strconcat (NODE_LIST, list, NULL);

      if (stays)
        dvmd_plugin_host_log (change->size->host, G_LOG_LEVEL_MESSAGE, "%s", stay->message);
      update (change, change->size->name, words, on_released);
      return;
    }
  if (change->names->len > 0)
    change->error = g_error_new (DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                                 "job %s of Slurm would have no node left; \"scancel %s\" ends it", change->size->id,
                                 change->size->id);
  else
    change->error = g_steal_pointer (&stay);
  if (change->error != NULL)
    {
      end_with_error (change);
      return;
    }
  /* The job has none of them any more. */
  if (change->task != NULL)
    g_task_return_boolean (change->task, TRUE);
  end_change (change);
}

void
slurm_size_release (SlurmSize *self, const char *const *names, GTask *task)
{
  Change *change = change_new (self, task, begin_release);

  for (; *names != NULL; names++)
    g_ptr_array_add (change->names, g_strdup (*names));
  enqueue (change);
}

/* ---- larger ---- */

/* Nodes that have come go back: nobody waits for them any more. */
static void
return_new (Change *change)
{
  Change *back = change_new (change->size, NULL, begin_release);

  for (guint i = 0; i < change->size->held->len; i++)
    if (!has_key (change->before, change->size->held->pdata[i]))
      g_ptr_array_add (back->names, g_strdup (change->size->held->pdata[i]));
  g_queue_push_tail (&change->size->waiting, back);
}

static gboolean
has_left_before (Change *change)
{
  for (guint i = 0; i < change->names->len; i++)
    if (has_key (change->size->left, change->names->pdata[i]))
      return TRUE;
  return FALSE;
}

static void finish_grow (Change *change);

static gboolean
on_next_second (gpointer user_data)
{
  finish_grow (user_data);
  return G_SOURCE_REMOVE;
}

/* Where the job has been before, slurmd starts no step whose credential is as old as the end of the job there, in whole
 * seconds; the node was free when it was granted. */
static void
end_grow (Change *change)
{
  gint64 now = g_get_real_time ();
  gint64 from = (change->granted + 1) * G_USEC_PER_SEC;

  if (change->error == NULL && now < from && has_left_before (change))
    g_timeout_add ((guint)((from - now) / 1000 + 1), on_next_second, change);
  else
    finish_grow (change);
}

static void
finish_grow (Change *change)
{
  SlurmSize *size = change->size;
  DvmdAllocation *allocation;

  if (change->error != NULL || is_withdrawn (change))
    {
      if (change->second_id != NULL)
        return_new (change);
      if (change->error == NULL)
        g_cancellable_set_error_if_cancelled (g_task_get_cancellable (change->task), &change->error);
      end_with_error (change);
      return;
    }
  allocation = dvmd_allocation_new (NULL);
  for (guint i = 0; i < change->names->len; i++)
    {
      guint32 slots = i < change->slots->len ? g_array_index (change->slots, guint32, i) : 0;

      dvmd_allocation_add_node (allocation, change->names->pdata[i], slots > 0 ? slots : size->slots, 0);
      dvmd_allocation_set_memory (allocation, i, size->memory);
      g_hash_table_add (size->used, make_key (change->names->pdata[i]));
    }
  g_task_return_pointer (change->task, allocation, (GDestroyNotify)dvmd_allocation_unref);
  end_change (change);
}

/* The second job has done what it was there for, or has failed. */
static void
end_second (Change *change)
{
  if (change->second != NULL)
    slurm_second_job_end (change->second, change->error == NULL);
  else
    end_grow (change);
}

static void on_larger (const DvmdPluginOutcome *outcome, const GError *error, gpointer user_data);

static void
on_asked_all (const DvmdPluginOutcome *outcome, const GError *error, gpointer user_data)
{
  ask_size (user_data, on_larger);
}

/* The status of scontrol says nothing: it may be 1 although it has worked (22.05). */
static void
on_larger (const DvmdPluginOutcome *outcome, const GError *error, gpointer user_data)
{
  Change *change = user_data;
  SlurmSize *size = change->size;
  guint n = 0;

  if (take_size (change, outcome, error))
    {
      for (guint i = 0; i < size->held->len; i++)
        if (!has_key (change->before, size->held->pdata[i]) && n < change->missing)
          {
            g_ptr_array_add (change->names, g_strdup (size->held->pdata[i]));
            n++;
          }
      if (n < change->missing && !change->has_asked_all)
        {
          change->has_asked_all = TRUE;
          g_ptr_array_set_size (change->names, (gint)(change->names->len - n));
          update (change, size->name, "NumNodes=ALL", on_asked_all);
          return;
        }
      if (n < change->missing)
        set_error (change, "gets no more nodes");
    }
  end_second (change);
}

static void
on_given_up (const DvmdPluginOutcome *outcome, const GError *error, gpointer user_data)
{
  Change *change = user_data;

  keep_words (change, outcome, error);
  ask_size (change, on_larger);
}

static void
stop_listening (Change *change)
{
  if (change->withdrawn_id != 0)
    g_signal_handler_disconnect (g_task_get_cancellable (change->task), change->withdrawn_id);
  change->withdrawn_id = 0;
}

static void
on_granted (const char *id, gpointer user_data)
{
  Change *change = user_data;

  if (change->second_id != NULL)
    return;
  change->second_id = g_strdup (id);
  change->granted = g_get_real_time () / G_USEC_PER_SEC;
  update (change, id, "NumNodes=0", on_given_up);
}

static void
on_second_ended (const GError *reason, gpointer user_data)
{
  Change *change = user_data;
  gboolean is_over = change->second_id == NULL || reason == NULL;

  change->second = NULL;
  stop_listening (change);
  if (change->second_id == NULL && change->error == NULL && reason != NULL)
    change->error = g_error_copy (reason);
  if (is_over)
    end_grow (change);
}

static const SlurmSecondJobFuncs second_job_funcs = { .granted = on_granted, .ended = on_second_ended };

/* With its nodes it is too late: they are given back then. */
static void
on_withdrawn (GCancellable *cancellable, gpointer user_data)
{
  Change *change = user_data;

  if (change->second != NULL && change->second_id == NULL)
    slurm_second_job_end (change->second, FALSE);
}

static void
take_spare (Change *change)
{
  SlurmSize *size = change->size;

  for (guint i = 0; change->missing > 0 && i < size->held->len; i++)
    if (!has_key (size->used, size->held->pdata[i]))
      {
        g_ptr_array_add (change->names, g_strdup (size->held->pdata[i]));
        change->missing--;
      }
}

static gboolean
are_named_spare (Change *change)
{
  g_autoptr (GHashTable) held = make_set_of (change->size->held);

  for (guint i = 0; i < change->names->len && change->error == NULL; i++)
    if (!has_key (held, change->names->pdata[i]) || has_key (change->size->used, change->names->pdata[i]))
      change->error = g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "%s has left job %s of Slurm, or is in the DVM",
                                   (char *)change->names->pdata[i], change->size->id);
  return change->error == NULL;
}

/* The needs of the job are known: more nodes are asked for. */
static void
on_wishes (const DvmdPluginOutcome *outcome, const GError *error, gpointer user_data)
{
  Change *change = user_data;
  SlurmSize *size = change->size;
  GCancellable *cancellable = g_task_get_cancellable (change->task);
  g_autofree char *text = error == NULL ? slurm_get_last_line (outcome->output) : g_strdup ("");
  const SlurmSecondJobRequest request = {
    .job = size->id,
    .held = size->held,
    .count = change->missing,
    .slots = size->slots,
    .wishes = text,
  };

  if (error != NULL)
    change->error = g_error_copy (error);
  else if (!is_withdrawn (change))
    change->second = slurm_second_job_start (size->host, &request, &second_job_funcs, change, &change->error);
  if (change->second == NULL)
    end_grow (change);
  else if (cancellable != NULL)
    change->withdrawn_id = g_signal_connect (cancellable, "cancelled", G_CALLBACK (on_withdrawn), change);
}

static void
begin_grow (Change *change)
{
  SlurmSize *size = change->size;
  g_auto (GStrv) environ = g_get_environ ();
  g_auto (GStrv) argv = slurm_make_squeue_argv ((const char *const *)environ, SLURM_WISHES_FORMAT, FALSE);

  if (is_withdrawn (change) || !are_named_spare (change))
    {
      end_grow (change);
      return;
    }
  take_spare (change);
  change->before = make_set_of (size->held);
  if (change->missing > 0)
    slurm_run (size->host, (const char *const *)argv, on_wishes, change);
  else
    end_grow (change);
}

void
slurm_size_grow (SlurmSize *self, const DvmdAllocationRequest *request, GTask *task)
{
  Change *change = change_new (self, task, begin_grow);

  for (guint i = 0; request->hosts != NULL && request->hosts[i] != NULL; i++)
    {
      guint32 slots = i < request->n_nodes && request->nodes != NULL ? request->nodes[i].slots : 0;

      g_ptr_array_add (change->names, g_strdup (request->hosts[i]));
      g_array_append_val (change->slots, slots);
    }
  change->missing = request->hosts == NULL ? request->count : 0;
  enqueue (change);
}
