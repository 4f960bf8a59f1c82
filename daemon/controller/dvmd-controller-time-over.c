/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The state of a job whose time is over, and the stacks of its processes, are told among its errors before it is ended.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-jobs.h"
#include "dvmd-controller-stacks.h"
#include "dvmd-controller-streams.h"
#include "dvmd-job-stacks.h"

/* More lines are of no use to a reader. */
#define MOST_PROCESSES 4096
/* The stacks of a job that is over are kept up to so many bytes. */
#define MOST_KEPT (1024 * 1024)

static void
tell_process (DvmdController *self, DvmdJobStreams *streams, const DvmdProcRow *row, guint rank)
{
  const char *node = dvmd_node_pool_get_name (dvmd_core_get_nodes (dvmd_controller_get_core (self)), row->node);
  g_autofree char *line = g_strdup_printf ("rank %u on %s: pid %d, %s", rank, node != NULL ? node : "?", row->pid,
                                           dvm_proc_state_to_string (row->state));

  dvmd_job_streams_say (streams, line);
}

static void
tell_state (DvmdController *self, DvmdJobStreams *streams, DvmdJob *job)
{
  DvmJob *record = dvmd_job_get_record (job);
  DvmdProcTable *procs = dvmd_job_get_procs (job);
  g_autofree char *nodes = g_strjoinv (",", (char **)dvm_job_get_nodes (record));
  g_autofree char *line = g_strdup_printf (
      "the time limit of job %s has passed: %s, %u process%s on %s (%u started, %u registered, %u ended)",
      dvm_job_get_nspace (record), dvm_job_state_to_string (dvmd_job_get_state (job)), procs->n_rows,
      procs->n_rows == 1 ? "" : "es", nodes, dvm_job_get_num_launched (record), dvm_job_get_num_registered (record),
      dvm_job_get_num_terminated (record));

  dvmd_job_streams_say (streams, line);
  for (guint rank = 0; rank < MIN (procs->n_rows, MOST_PROCESSES); rank++)
    tell_process (self, streams, dvmd_proc_table_row (procs, rank), rank);
  if (procs->n_rows > MOST_PROCESSES)
    dvmd_job_streams_say (streams, "the ranks from 4096 on are not listed");
}

/* (transfer floating): rows of what is too much have a sentence; those of the first ranks */
static GVariant *
limit_stacks (GVariant *rows)
{
  GVariantBuilder kept;
  gsize size = 0;

  g_variant_builder_init (&kept, G_VARIANT_TYPE ("a(usss)"));
  for (gsize i = 0; i < MIN (g_variant_n_children (rows), MOST_PROCESSES); i++)
    {
      const char *node;
      const char *stack;
      const char *problem;
      guint32 rank;

      g_variant_get_child (rows, i, "(u&s&s&s)", &rank, &node, &stack, &problem);
      size += strlen (stack);
      if (size > MOST_KEPT)
        g_variant_builder_add (&kept, "(usss)", rank, node, "", "the stacks of other ranks fill what is kept of a job");
      else
        g_variant_builder_add (&kept, "(usss)", rank, node, stack, problem);
    }
  return g_variant_builder_end (&kept);
}

static void
tell_stacks (DvmdJobStreams *streams, GVariant *rows)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      g_autofree char *text = NULL;
      const char *node;
      const char *stack;
      const char *problem;
      guint32 rank;

      g_variant_get_child (rows, i, "(u&s&s&s)", &rank, &node, &stack, &problem);
      text = g_strdup_printf ("rank %u on %s:%s%s\n%s", rank, node, problem[0] != '\0' ? " " : "", problem, stack);
      dvmd_job_streams_insert (streams, rank, DVMD_STREAM_STDERR, text);
    }
}

static void
on_collected (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmdController *self = DVMD_CONTROLLER (source);
  g_autoptr (DvmdJob) job = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) rows = dvmd_controller_collect_stacks_finish (self, result, &error);
  DvmdJobStreams *streams = dvmd_controller_get_streams (self, dvmd_job_get_id (job));

  if (rows != NULL)
    dvmd_job_keep_stacks (job, limit_stacks (rows));
  if (streams != NULL && rows != NULL)
    {
      tell_stacks (streams, dvmd_job_get_stacks (job));
      if (g_variant_n_children (rows) > MOST_PROCESSES)
        dvmd_job_streams_say (streams, "the stacks of the ranks from 4096 on are not kept");
    }
  else if (streams != NULL)
    dvmd_job_streams_say (streams, error->message);
  dvmd_core_end_late_job (dvmd_controller_get_core (self), job);
}

void
dvmd_controller_time_over (gpointer user_data, DvmdJob *job)
{
  DvmdController *self = user_data;
  DvmdJobStreams *streams = dvmd_controller_get_streams (self, dvmd_job_get_id (job));

  if (dvmd_job_wants_state_told (job) && streams != NULL)
    tell_state (self, streams, job);
  if (dvmd_job_wants_stacks (job))
    dvmd_controller_collect_stacks_async (self, job, "", DVMD_STACKS_SECONDS, on_collected, g_object_ref (job));
  else
    dvmd_core_end_late_job (dvmd_controller_get_core (self), job);
}
