/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What this agent owns the truth about, told as a whole: whoever has forgotten it, or never knew, can begin from there.
 */

#include "config.h"

#include "dvmd-agent-private.h"

static void
describe_proc (GVariantBuilder *builder, DvmdLocalProc *proc)
{
  g_variant_builder_add (builder, DVMD_TABLES_PROC_TYPE, proc->rank, proc->app, proc->local_rank, proc->pid,
                         (guint32)proc->state, (guint32)proc->flags, proc->exit_code, proc->exit_signal);
}

static void
describe_job (GVariantBuilder *builder, DvmdAgentJob *job)
{
  DvmdLocalJob *local = job->local;

  g_variant_builder_open (builder, G_VARIANT_TYPE (DVMD_TABLES_JOB_TYPE));
  g_variant_builder_add (builder, "u", local->id);
  g_variant_builder_add (builder, "s", local->nspace);
  g_variant_builder_add (builder, "u", job->num_procs);
  g_variant_builder_add (builder, "u", (guint32)local->state);
  g_variant_builder_open (builder, G_VARIANT_TYPE ("a" DVMD_TABLES_PROC_TYPE));
  for (guint i = 0; i < local->procs->len; i++)
    describe_proc (builder, g_ptr_array_index (local->procs, i));
  g_variant_builder_close (builder);
  g_variant_builder_close (builder);
}

static int
compare_jobs (gconstpointer a, gconstpointer b)
{
  guint32 one = ((const DvmdAgentJob *)a)->local->id;
  guint32 other = ((const DvmdAgentJob *)b)->local->id;

  return (one > other) - (one < other);
}

/* What has changed and was not told yet goes first: the answer says nothing that is news. */
void
dvmd_agent_handle_tables_ask (DvmdAgent *self, GVariant *body)
{
  g_autoptr (GList) jobs = g_list_sort (g_hash_table_get_values (self->jobs), compare_jobs);
  GVariantBuilder builder;
  guint64 token;

  g_variant_get (body, "(t)", &token);
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a" DVMD_TABLES_JOB_TYPE));
  for (GList *each = jobs; each != NULL; each = each->next)
    {
      dvmd_agent_flush_states (each->data);
      describe_job (&builder, each->data);
    }
  dvmd_agent_send (self, DVMD_MSG_TABLES,
                   g_variant_new ("(tu@a" DVMD_TABLES_JOB_TYPE ")", token, (guint32)self->daemon->state,
                                  g_variant_builder_end (&builder)));
}
