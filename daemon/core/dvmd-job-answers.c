/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that a job waits for.
 */

#include "config.h"

#include "dvmd-job-answers.h"

#include "dvmd-job-parts.h"

typedef struct
{
  GHashTable *left[DVMD_N_ANSWERS]; /* (nullable): ranks of agents */
} Answers;

static void
answers_clear (gpointer part)
{
  Answers *self = part;

  for (guint i = 0; i < DVMD_N_ANSWERS; i++)
    g_clear_pointer (&self->left[i], g_hash_table_unref);
}

static GHashTable *
left_of (DvmdJob *job, DvmdAnswer what)
{
  Answers *self = dvmd_job_get_part (job, DVMD_JOB_PART_ANSWERS, sizeof (Answers), answers_clear);

  if (self->left[what] == NULL)
    self->left[what] = g_hash_table_new (NULL, NULL);
  return self->left[what];
}

void
dvmd_job_answers_ask (DvmdJob *job, DvmdAnswer what)
{
  g_autoptr (GArray) agents = dvmd_map_get_nodes (dvmd_job_get_map (job));

  for (guint i = 0; i < agents->len; i++)
    g_hash_table_add (left_of (job, what), GUINT_TO_POINTER (g_array_index (agents, guint, i)));
}

void
dvmd_job_answers_add (DvmdJob *job, DvmdAnswer what, guint agent)
{
  g_hash_table_add (left_of (job, what), GUINT_TO_POINTER (agent));
}

void
dvmd_job_answers_forget (DvmdJob *job, DvmdAnswer what)
{
  g_hash_table_remove_all (left_of (job, what));
}

gboolean
dvmd_job_answers_take (DvmdJob *job, DvmdAnswer what, guint agent)
{
  return g_hash_table_remove (left_of (job, what), GUINT_TO_POINTER (agent));
}

gboolean
dvmd_job_answers_await (DvmdJob *job, DvmdAnswer what, guint agent)
{
  return g_hash_table_contains (left_of (job, what), GUINT_TO_POINTER (agent));
}

guint
dvmd_job_answers_count (DvmdJob *job, DvmdAnswer what)
{
  return g_hash_table_size (left_of (job, what));
}
