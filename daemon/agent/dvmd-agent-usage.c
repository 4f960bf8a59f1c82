/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The use of the processes of a job, or of the node itself, is measured for those who ask.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-job.h"
#include "dvmd-proc-scan.h"
#include "dvmd-usage.h"

typedef struct
{
  guint32 rank;
  int pid;
  GVariant *usage; /* (nullable): there is no such process */
} Sample;

/* Memory of large processes takes the kernel its time: it is measured on a thread. */
typedef struct
{
  DvmdAgent *agent; /* (nullable): it waits for another one */
  guint64 token;
  gint64 end; /* monotonic: nobody waits for it any more */
  char *node;
  char *nspace; /* (nullable): the node is measured */
  guint32 rank;
  GArray *samples; /* Sample */
} Measurement;

/* The kernel may never answer of a process: one thread at most waits for that. */
typedef struct
{
  DvmdAgent *agent; /* unowned */
  gboolean busy;
  GQueue waiting; /* Measurement */
} Usage;

static void
sample_clear (gpointer data)
{
  g_clear_pointer (&((Sample *)data)->usage, g_variant_unref);
}

static void
measurement_free (gpointer data)
{
  Measurement *self = data;

  g_array_unref (self->samples);
  g_clear_object (&self->agent);
  g_free (self->node);
  g_free (self->nspace);
  g_free (self);
}

static gboolean
runs (const DvmdLocalProc *proc)
{
  return proc->pid > 0 && proc->reaped_at == 0 && !(proc->flags & DVMD_PROC_EXITED);
}

/* A process that does not run now is not measured. */
static void
add_samples (Measurement *self)
{
  DvmdAgentJob *job = self->nspace != NULL ? dvmd_agent_find_job_named (self->agent, self->nspace) : NULL;
  const Sample of_node = { 0 };

  if (self->nspace == NULL)
    g_array_append_val (self->samples, of_node);
  for (guint i = 0; job != NULL && i < job->local->procs->len; i++)
    {
      const DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, i);
      const Sample sample = { .rank = proc->rank, .pid = proc->pid };

      if (runs (proc) && (self->rank == DVMD_ALL_RANKS || self->rank == proc->rank))
        g_array_append_val (self->samples, sample);
    }
}

/* ---- on the thread ---- */

static void
measure_process (Measurement *self, Sample *sample)
{
  g_auto (GVariantBuilder) fields = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE_VARDICT);

  g_variant_builder_add (&fields, "{sv}", "process", g_variant_new ("(su)", self->nspace, sample->rank));
  g_variant_builder_add (&fields, "{sv}", "node", g_variant_new_string (self->node));
  if (dvmd_usage_add_process (&fields, DVMD_PROC, sample->pid))
    sample->usage = g_variant_ref_sink (g_variant_builder_end (&fields));
}

static void
measure_node (Measurement *self, Sample *sample)
{
  g_auto (GVariantBuilder) fields = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE_VARDICT);

  g_variant_builder_add (&fields, "{sv}", "node", g_variant_new_string (self->node));
  dvmd_usage_add_node (&fields, DVMD_PROC);
  sample->usage = g_variant_ref_sink (g_variant_builder_end (&fields));
}

static void
work (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Measurement *self = data;

  for (guint i = 0; i < self->samples->len; i++)
    if (self->nspace != NULL)
      measure_process (self, &g_array_index (self->samples, Sample, i));
    else
      measure_node (self, &g_array_index (self->samples, Sample, i));
  g_task_return_boolean (task, TRUE);
}

/* ---- the answer ---- */

/* A process that has ended meanwhile may not have been the one that was looked at: its number is free for others. */
static gboolean
is_of_process (Measurement *self, const Sample *sample)
{
  const DvmdLocalProc *proc = dvmd_agent_find_proc (self->agent, self->nspace, sample->rank);

  return proc != NULL && runs (proc) && proc->pid == sample->pid;
}

static void
send_rows (Measurement *self)
{
  GVariantBuilder rows;

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; i < self->samples->len; i++)
    {
      const Sample *sample = &g_array_index (self->samples, Sample, i);

      if (sample->usage != NULL && (self->nspace == NULL || is_of_process (self, sample)))
        g_variant_builder_add_value (&rows, sample->usage);
    }
  dvmd_agent_send (self->agent, DVMD_MSG_USAGE, g_variant_new ("(taa{sv})", self->token, &rows));
}

static void start_next (Usage *self);

static void
on_measured (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Usage *usage = user_data;
  Measurement *self = g_task_get_task_data (G_TASK (result));
  g_autoptr (DvmdAgent) agent = NULL;

  send_rows (self);
  /* The thread may be the last to let go of the measurement, and an agent is not to end there. */
  agent = g_steal_pointer (&self->agent);
  usage->busy = FALSE;
  start_next (usage);
}

/* ---- one after another ---- */

static void
drop_late (Usage *self)
{
  gint64 now = dvmd_clock_monotonic (dvmd_agent_get_parts (self->agent)->clock);
  Measurement *first;

  while ((first = g_queue_peek_head (&self->waiting)) != NULL && first->end <= now)
    measurement_free (g_queue_pop_head (&self->waiting));
}

static void
start_next (Usage *self)
{
  g_autoptr (GTask) task = NULL;
  Measurement *next;

  drop_late (self);
  if (self->busy || g_queue_is_empty (&self->waiting))
    return;
  self->busy = TRUE;
  next = g_queue_pop_head (&self->waiting);
  next->agent = g_object_ref (self->agent);
  add_samples (next);
  task = g_task_new (NULL, NULL, on_measured, self);
  g_task_set_source_tag (task, start_next);
  g_task_set_task_data (task, next, measurement_free);
  g_task_run_in_thread (task, work);
}

static void
handle_usage_ask (gpointer service, guint source, GVariant *body)
{
  Usage *self = service;
  const DvmdAgentParts *parts = dvmd_agent_get_parts (self->agent);
  Measurement *measurement = g_new0 (Measurement, 1);
  const char *nspace;

  g_variant_get (body, "(t&su)", &measurement->token, &nspace, &measurement->rank);
  measurement->end = dvmd_clock_monotonic (parts->clock) + DVMD_USAGE_WAIT;
  measurement->node = g_strdup (parts->name);
  measurement->nspace = nspace[0] != '\0' ? g_strdup (nspace) : NULL;
  measurement->samples = g_array_new (FALSE, FALSE, sizeof (Sample));
  g_array_set_clear_func (measurement->samples, sample_clear);
  g_queue_push_tail (&self->waiting, measurement);
  start_next (self);
}

static gpointer
create (DvmdAgent *agent, const DvmdAgentSettings *settings)
{
  Usage *self = g_new0 (Usage, 1);

  self->agent = agent;
  return self;
}

static void
usage_free (gpointer service)
{
  Usage *self = service;

  g_queue_clear_full (&self->waiting, measurement_free);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_USAGE_ASK, handle_usage_ask },
  { 0 },
};

const DvmdAgentService dvmd_agent_usage_service = {
  .name = "usage",
  .create = create,
  .free = usage_free,
  .handlers = handlers,
};
