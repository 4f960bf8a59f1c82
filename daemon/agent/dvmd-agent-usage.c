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
  DvmdAgent *agent;
  guint64 token;
  char *node;
  char *nspace;    /* (nullable): the node is measured */
  GArray *samples; /* Sample */
} Measurement;

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

static void
add_samples (Measurement *self, DvmdLocalJob *job, guint32 rank)
{
  for (guint i = 0; i < job->procs->len; i++)
    {
      const DvmdLocalProc *proc = g_ptr_array_index (job->procs, i);
      const Sample sample = { .rank = proc->rank, .pid = proc->pid };

      if (runs (proc) && (rank == DVMD_ALL_RANKS || rank == proc->rank))
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
on_measured (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Measurement *self = g_task_get_task_data (G_TASK (result));
  GVariantBuilder rows;

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; i < self->samples->len; i++)
    {
      const Sample *sample = &g_array_index (self->samples, Sample, i);

      if (sample->usage != NULL && (self->nspace == NULL || is_of_process (self, sample)))
        g_variant_builder_add_value (&rows, sample->usage);
    }
  dvmd_agent_send (self->agent, DVMD_MSG_USAGE, g_variant_new ("(taa{sv})", self->token, &rows));
  /* The thread may be the last to let go of the measurement, and an agent is not to end there. */
  g_clear_object (&self->agent);
}

static void
handle_usage_ask (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *agent = service;
  g_autoptr (GTask) task = g_task_new (NULL, NULL, on_measured, NULL);
  Measurement *self = g_new0 (Measurement, 1);
  const Sample of_node = { 0 };
  DvmdAgentJob *job;
  const char *nspace;
  guint32 rank;

  g_variant_get (body, "(t&su)", &self->token, &nspace, &rank);
  self->agent = g_object_ref (agent);
  self->node = g_strdup (dvmd_agent_get_parts (agent)->name);
  self->nspace = nspace[0] != '\0' ? g_strdup (nspace) : NULL;
  self->samples = g_array_new (FALSE, FALSE, sizeof (Sample));
  g_array_set_clear_func (self->samples, sample_clear);
  job = self->nspace != NULL ? dvmd_agent_find_job_named (agent, nspace) : NULL;
  if (job != NULL)
    add_samples (self, job->local, rank);
  else if (self->nspace == NULL)
    g_array_append_val (self->samples, of_node);
  g_task_set_source_tag (task, handle_usage_ask);
  g_task_set_task_data (task, self, measurement_free);
  g_task_run_in_thread (task, work);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_USAGE_ASK, handle_usage_ask },
  { 0 },
};

const DvmdAgentService dvmd_agent_usage_service = {
  .name = "usage",
  .handlers = handlers,
};
