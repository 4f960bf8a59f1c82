/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Data that a rank on one node wants of a rank on another: passed on to the agent of that rank, and back.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-private.h"

/* What an agent is asked; the token is that of the agent that wants to know. */
typedef struct
{
  guint64 token;
  guint asker;
  guint asked;
  guint job;   /* of the rank that is asked for */
  guint timer; /* 0: it may take any time */
  DvmdController *controller;
} ModexAsk;

static guint
modex_ask_hash (gconstpointer ask)
{
  return g_int64_hash (&((const ModexAsk *)ask)->token) * 31 + ((const ModexAsk *)ask)->asker;
}

static gboolean
modex_ask_equal (gconstpointer a, gconstpointer b)
{
  const ModexAsk *left = a;
  const ModexAsk *right = b;

  return left->token == right->token && left->asker == right->asker && left->asked == right->asked;
}

static void
modex_ask_free (gpointer data)
{
  ModexAsk *self = data;

  dvmd_clock_remove_timer (self->controller->clock, self->timer);
  g_free (self);
}

GHashTable *
dvmd_modex_asks_new (void)
{
  return g_hash_table_new_full (modex_ask_hash, modex_ask_equal, modex_ask_free, NULL);
}

static void
answer_modex (DvmdController *self, guint agent, guint64 token, int status, GVariant *data)
{
  dvmd_controller_send (self, agent, DVMD_MSG_MODEX_ANSWER, g_variant_new ("(ti@ay)", token, status, data));
}

static void
refuse_modex (DvmdController *self, guint agent, guint64 token, int status)
{
  answer_modex (self, agent, token, status,
                g_variant_new_from_data (G_VARIANT_TYPE_BYTESTRING, "", 0, TRUE, NULL, NULL));
}

static void
on_timeout (gpointer user_data)
{
  ModexAsk *ask = user_data;

  ask->timer = 0;
  refuse_modex (ask->controller, ask->asker, ask->token, DVMD_PMIX_ERR_TIMEOUT);
  g_hash_table_remove (ask->controller->modex_asks, ask);
}

static void
ask_for_modex (DvmdController *self, const ModexAsk *ask, const char *nspace, guint32 rank, guint32 timeout)
{
  ModexAsk *kept;

  if (dvmd_controller_is_lost (self, ask->asked))
    {
      refuse_modex (self, ask->asker, ask->token, DVMD_PMIX_ERR_LOST_CONNECTION);
      return;
    }
  kept = g_memdup2 (ask, sizeof *ask);
  kept->controller = self;
  if (timeout > 0)
    kept->timer = dvmd_clock_add_timer (self->clock, (gint64)timeout * G_USEC_PER_SEC, on_timeout, kept);
  g_hash_table_add (self->modex_asks, kept);
  dvmd_controller_send (self, ask->asked, DVMD_MSG_MODEX_ASK,
                        g_variant_new ("(utsu)", ask->asker, ask->token, nspace, rank));
}

void
dvmd_controller_handle_modex (DvmdController *self, guint source, GVariant *body)
{
  const char *nspace;
  DvmdProcTable *procs;
  DvmdJob *job;
  guint64 token;
  guint32 rank;
  guint32 timeout;

  g_variant_get (body, "(t&suu)", &token, &nspace, &rank, &timeout);
  job = dvmd_core_find_job (self->core, nspace);
  procs = job != NULL && dvmd_job_get_state (job) < DVM_JOB_STATE_UNTERMINATED ? dvmd_job_get_procs (job) : NULL;
  if (procs == NULL || (rank >= procs->n_rows && rank != DVMD_PMIX_RANK_WILDCARD))
    {
      refuse_modex (self, source, token, DVMD_PMIX_ERR_NOT_FOUND);
      return;
    }
  /* What belongs to the job as a whole is in that; the library of the asker cannot place anything else without it. */
  dvmd_controller_tell_of_job (self, source, job);
  if (rank == DVMD_PMIX_RANK_WILDCARD)
    refuse_modex (self, source, token, DVMD_PMIX_SUCCESS);
  else
    ask_for_modex (self, &(ModexAsk){ token, source, dvmd_proc_table_row (procs, rank)->node, dvmd_job_get_id (job) },
                   nspace, rank, timeout);
}

void
dvmd_controller_handle_modex_data (DvmdController *self, guint source, GVariant *body)
{
  g_autoptr (GVariant) data = NULL;
  guint32 asker;
  guint64 token;
  gint32 status;

  g_variant_get (body, "(uti@ay)", &asker, &token, &status, &data);
  /* It was answered, or nobody has asked this agent. */
  if (g_hash_table_remove (self->modex_asks, &(ModexAsk){ .token = token, .asker = asker, .asked = source }))
    answer_modex (self, asker, token, status, data);
}

void
dvmd_controller_break_modex_asks (DvmdController *self, guint rank)
{
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, self->modex_asks);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      const ModexAsk *ask = key;

      if (ask->asked == rank && ask->asker != rank)
        refuse_modex (self, ask->asker, ask->token, DVMD_PMIX_ERR_LOST_CONNECTION);
      if (ask->asked == rank || ask->asker == rank)
        g_hash_table_iter_remove (&iter);
    }
}

/* Ranks of other jobs may wait for data that will never be put. */
void
dvmd_controller_fail_modex_asks (DvmdController *self, DvmdJob *job)
{
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, self->modex_asks);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      const ModexAsk *ask = key;

      if (ask->job != dvmd_job_get_id (job))
        continue;
      refuse_modex (self, ask->asker, ask->token, DVMD_PMIX_ERR_NOT_FOUND);
      g_hash_table_iter_remove (&iter);
    }
}
