/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Arrays of jobs: how far they have come, and how many of their jobs run at once.
 */

#include "config.h"

#include "dvmd-arrays.h"

#include "dvm-job-spec-private.h"
#include "dvmd-job-hold.h"

struct _DvmdArrays
{
  GHashTable *by_id; /* id -> Array, while one of its jobs is known */
};

typedef struct
{
  guint most;            /* that run at once; 0: any number */
  guint n_missing;       /* have not come yet */
  guint n_open;          /* have come, and not ended */
  guint n_known;         /* have come, and are not forgotten */
  GHashTable *unstarted; /* ids of those that have come */
  GHashTable *going;     /* ids of those that may run, if there is a limit */
  GQueue held;           /* ids of the others, in their order; some may have ended */
  char *failed;          /* (nullable) */
  char *failed_why;      /* (nullable) */
} Array;

static void
array_free (gpointer data)
{
  Array *self = data;

  g_hash_table_unref (self->unstarted);
  g_hash_table_unref (self->going);
  g_queue_clear (&self->held);
  g_free (self->failed);
  g_free (self->failed_why);
  g_free (self);
}

DvmdArrays *
dvmd_arrays_new (void)
{
  DvmdArrays *self = g_new0 (DvmdArrays, 1);

  self->by_id = g_hash_table_new_full (NULL, NULL, NULL, array_free);
  return self;
}

void
dvmd_arrays_free (DvmdArrays *self)
{
  g_hash_table_unref (self->by_id);
  g_free (self);
}

/* (nullable): 0: no array */
static Array *
find_array (DvmdCore *core, guint id)
{
  return id != 0 ? g_hash_table_lookup (dvmd_core_get_arrays (core)->by_id, GUINT_TO_POINTER (id)) : NULL;
}

static Array *
find_array_of (DvmdJob *job)
{
  return find_array (dvmd_job_get_core (job), dvm_job_get_array_id (dvmd_job_get_record (job)));
}

static Array *
add_array (DvmdCore *core, const DvmArrayPlace *place)
{
  Array *array = g_new0 (Array, 1);

  array->most = place->most;
  array->n_missing = place->count;
  array->unstarted = g_hash_table_new (NULL, NULL);
  array->going = g_hash_table_new (NULL, NULL);
  g_queue_init (&array->held);
  g_hash_table_insert (dvmd_core_get_arrays (core)->by_id, GUINT_TO_POINTER (place->id), array);
  return array;
}

void
dvmd_arrays_begin (DvmdJob *job)
{
  const DvmArrayPlace *place = _dvm_job_spec_get_place (dvmd_job_get_spec (job));
  gpointer id = GUINT_TO_POINTER (dvmd_job_get_id (job));
  Array *array;

  if (place == NULL)
    return;
  array = find_array (dvmd_job_get_core (job), place->id);
  if (array == NULL)
    array = add_array (dvmd_job_get_core (job), place);
  array->n_missing--;
  array->n_open++;
  array->n_known++;
  g_hash_table_add (array->unstarted, id);
  if (array->most == 0)
    return;
  if (g_hash_table_size (array->going) < array->most)
    {
      g_hash_table_add (array->going, id);
      return;
    }
  g_queue_push_tail (&array->held, id);
  dvmd_job_hold (job, DVMD_HOLD_ARRAY);
}

void
dvmd_arrays_started (DvmdJob *job)
{
  Array *array = find_array_of (job);

  if (array != NULL)
    g_hash_table_remove (array->unstarted, GUINT_TO_POINTER (dvmd_job_get_id (job)));
}

static void
let_next_go (DvmdCore *core, Array *array)
{
  while (!g_queue_is_empty (&array->held) && g_hash_table_size (array->going) < array->most)
    {
      gpointer id = g_queue_pop_head (&array->held);
      DvmdJob *next = dvmd_core_get_job (core, GPOINTER_TO_UINT (id));

      if (next == NULL || dvmd_job_get_state (next) >= DVM_JOB_STATE_UNTERMINATED)
        continue;
      g_hash_table_add (array->going, id);
      dvmd_job_unhold (next, DVMD_HOLD_ARRAY);
    }
}

void
dvmd_arrays_ended (DvmdJob *job)
{
  DvmJob *record = dvmd_job_get_record (job);
  gpointer id = GUINT_TO_POINTER (dvmd_job_get_id (job));
  Array *array = find_array_of (job);

  if (array == NULL)
    return;
  array->n_open--;
  g_hash_table_remove (array->unstarted, id);
  if (array->failed == NULL && dvm_job_state_is_error (dvmd_job_get_state (job)))
    {
      array->failed = g_strdup (dvm_job_get_nspace (record));
      array->failed_why = g_strdup (dvm_job_get_reason (record));
    }
  if (g_hash_table_remove (array->going, id))
    let_next_go (dvmd_job_get_core (job), array);
}

void
dvmd_arrays_forget (DvmdJob *job)
{
  guint id = dvm_job_get_array_id (dvmd_job_get_record (job));
  Array *array = find_array_of (job);

  if (array != NULL && --array->n_known == 0 && array->n_missing == 0)
    g_hash_table_remove (dvmd_core_get_arrays (dvmd_job_get_core (job))->by_id, GUINT_TO_POINTER (id));
}

void
dvmd_arrays_lose (DvmdCore *core, DvmJobSpec *spec)
{
  const DvmArrayPlace *place = _dvm_job_spec_get_place (spec);
  Array *array = place != NULL ? find_array (core, place->id) : NULL;

  if (array == NULL || array->n_missing == 0)
    return;
  array->n_missing--;
  if (array->failed != NULL)
    return;
  array->failed = g_strdup_printf ("array:%u", place->id);
  array->failed_why = g_strdup ("the DVM did not take all of its jobs");
}

gboolean
dvmd_arrays_get_state (DvmdCore *core, guint id, DvmdArrayState *state)
{
  Array *array = find_array (core, id);

  if (array == NULL)
    return FALSE;
  state->started = array->n_missing == 0 && g_hash_table_size (array->unstarted) == 0;
  state->ended = array->n_missing == 0 && array->n_open == 0;
  state->failed = array->failed;
  state->failed_why = array->failed_why;
  return TRUE;
}
