/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Data that a rank on one node wants of a rank on another: passed on to the agent of that rank, and back.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-services.h"
#include "dvmd-controller-collectives.h"

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *asks;           /* set of ModexAsk, that agents were asked and have not answered */
} Modex;

/* An agent is asked for the data of one rank; the token is that of the agent that wants to know. */
typedef struct
{
  guint64 token;
  guint asker;
  guint asked;
  guint job;   /* of the rank that is asked for */
  guint timer; /* 0: it may take any time */
  Modex *modex;
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

  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->modex->controller)->clock, self->timer);
  g_free (self);
}

static void
answer_modex (Modex *self, guint agent, guint64 token, int status, GVariant *data)
{
  dvmd_controller_send (self->controller, agent, DVMD_MSG_MODEX_ANSWER, g_variant_new ("(ti@ay)", token, status, data));
}

static void
refuse_modex (Modex *self, guint agent, guint64 token, int status)
{
  answer_modex (self, agent, token, status,
                g_variant_new_from_data (G_VARIANT_TYPE_BYTESTRING, "", 0, TRUE, NULL, NULL));
}

static void
on_timeout (gpointer user_data)
{
  ModexAsk *ask = user_data;

  ask->timer = 0;
  refuse_modex (ask->modex, ask->asker, ask->token, DVMD_PMIX_ERR_TIMEOUT);
  g_hash_table_remove (ask->modex->asks, ask);
}

static void
ask_for_modex (Modex *self, const ModexAsk *ask, const char *nspace, guint32 rank, guint32 timeout)
{
  ModexAsk *kept;

  if (dvmd_controller_is_lost (self->controller, ask->asked))
    {
      refuse_modex (self, ask->asker, ask->token, DVMD_PMIX_ERR_LOST_CONNECTION);
      return;
    }
  kept = g_memdup2 (ask, sizeof *ask);
  kept->modex = self;
  if (timeout > 0)
    kept->timer = dvmd_clock_add_timer (dvmd_controller_get_parts (self->controller)->clock,
                                        (gint64)timeout * G_USEC_PER_SEC, on_timeout, kept);
  g_hash_table_add (self->asks, kept);
  dvmd_controller_send (self->controller, ask->asked, DVMD_MSG_MODEX_ASK,
                        g_variant_new ("(utsu)", ask->asker, ask->token, nspace, rank));
}

static void
handle_modex (gpointer service, guint source, GVariant *body)
{
  Modex *self = service;
  const char *nspace;
  DvmdProcTable *procs;
  DvmdJob *job;
  guint64 token;
  guint32 rank;
  guint32 timeout;

  g_variant_get (body, "(t&suu)", &token, &nspace, &rank, &timeout);
  job = dvmd_core_find_job (dvmd_controller_get_core (self->controller), nspace);
  procs = job != NULL && dvmd_job_get_state (job) < DVM_JOB_STATE_UNTERMINATED ? dvmd_job_get_procs (job) : NULL;
  if (procs == NULL || (rank >= procs->n_rows && rank != DVMD_PMIX_RANK_WILDCARD))
    {
      refuse_modex (self, source, token, DVMD_PMIX_ERR_NOT_FOUND);
      return;
    }
  /* The asker's library needs the data of the job as a whole: it cannot place any other data without them. */
  dvmd_controller_tell_of_job (self->controller, source, job);
  if (rank == DVMD_PMIX_RANK_WILDCARD)
    refuse_modex (self, source, token, DVMD_PMIX_SUCCESS);
  else
    ask_for_modex (self, &(ModexAsk){ token, source, dvmd_proc_table_row (procs, rank)->node, dvmd_job_get_id (job) },
                   nspace, rank, timeout);
}

static void
handle_modex_data (gpointer service, guint source, GVariant *body)
{
  Modex *self = service;
  g_autoptr (GVariant) data = NULL;
  guint32 asker;
  guint64 token;
  gint32 status;

  g_variant_get (body, "(uti@ay)", &asker, &token, &status, &data);
  /* It was answered, or nobody has asked this agent. */
  if (g_hash_table_remove (self->asks, &(ModexAsk){ .token = token, .asker = asker, .asked = source }))
    answer_modex (self, asker, token, status, data);
}

static void
agent_gone (gpointer service, guint rank)
{
  Modex *self = service;
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, self->asks);
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
static void
job_ended (gpointer service, DvmdJob *job)
{
  Modex *self = service;
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, self->asks);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      const ModexAsk *ask = key;

      if (ask->job != dvmd_job_get_id (job))
        continue;
      refuse_modex (self, ask->asker, ask->token, DVMD_PMIX_ERR_NOT_FOUND);
      g_hash_table_iter_remove (&iter);
    }
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  Modex *self = service;

  dvmd_services_add_number (statistics, "modex-waiting", g_hash_table_size (self->asks));
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Modex *self = g_new0 (Modex, 1);

  self->controller = controller;
  self->asks = g_hash_table_new_full (modex_ask_hash, modex_ask_equal, modex_ask_free, NULL);
  return self;
}

static void
modex_free (gpointer service)
{
  Modex *self = service;

  g_hash_table_unref (self->asks);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_MODEX, handle_modex },
  { DVMD_MSG_MODEX_DATA, handle_modex_data },
  { 0 },
};

const DvmdService dvmd_modex_service = {
  .name = "modex",
  .create = create,
  .free = modex_free,
  .handlers = handlers,
  .job_ended = job_ended,
  .agent_gone = agent_gone,
  .add_statistics = add_statistics,
};
