/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The trace: every transition of a job and of its processes, for whoever asks, for the log and for the trace file.
 */

#include "config.h"

/* That of the state machine: agents log their own transitions there. */
#define G_LOG_DOMAIN "dvmd-state"

#include "dvmd-trace.h"

#include "dvmd-core-parts.h"
#include "dvmd-job-parts.h"
#include "dvmd-log.h"

/* Transitions of processes that a trace keeps; those of the job itself are always kept. */
#define MAX_PROC_TRACE 8192

typedef struct
{
  GArray *entries; /* DvmdTraceEntry */
  guint n_procs;   /* transitions of processes, with those that are not kept */
} Trace;

static void
entry_clear (gpointer data)
{
  DvmdTraceEntry *entry = data;

  g_free (entry->note);
}

static void
trace_clear (gpointer part)
{
  g_array_unref (((Trace *)part)->entries);
}

static Trace *
trace_of (DvmdJob *job)
{
  Trace *self = dvmd_job_get_part (job, DVMD_JOB_PART_TRACE, sizeof (Trace), trace_clear);

  if (self->entries == NULL)
    {
      self->entries = g_array_new (FALSE, FALSE, sizeof (DvmdTraceEntry));
      g_array_set_clear_func (self->entries, entry_clear);
    }
  return self;
}

char *
dvmd_trace_entry_describe (const DvmdTraceEntry *self)
{
  return self->rank == DVMD_TRACE_JOB ? g_strdup ("job") : g_strdup_printf ("rank %u", self->rank);
}

const char *
dvmd_trace_entry_state_name (const DvmdTraceEntry *self, guint state)
{
  return self->rank == DVMD_TRACE_JOB ? dvm_job_state_to_string ((DvmJobState)state)
                                      : dvm_proc_state_to_string ((DvmProcState)state);
}

static void
log_entry (DvmdJob *job, const DvmdTraceEntry *entry)
{
  const DvmdLogSubject subject = {
    .job = dvm_job_get_nspace (dvmd_job_get_record (job)),
    .rank = entry->rank != DVMD_TRACE_JOB ? &entry->rank : NULL,
  };

  if (g_log_writer_default_would_drop (G_LOG_LEVEL_DEBUG, G_LOG_DOMAIN))
    return;
  dvmd_log_about (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, &subject, "%s -> %s%s%s",
                  dvmd_trace_entry_state_name (entry, entry->old_state),
                  dvmd_trace_entry_state_name (entry, entry->new_state), entry->note != NULL ? ": " : "",
                  entry->note != NULL ? entry->note : "");
}

void
dvmd_job_trace (DvmdJob *self, guint rank, guint old_state, guint new_state, const char *note)
{
  DvmdCore *core = dvmd_job_get_core (self);
  Trace *trace = trace_of (self);
  DvmdTraceEntry entry = {
    .time = dvmd_clock_now (dvmd_core_get_clock (core)),
    .rank = rank,
    .old_state = old_state,
    .new_state = new_state,
    .note = (char *)note,
  };

  log_entry (self, &entry);
  if (dvmd_core_get_effects (core)->traced != NULL)
    dvmd_core_get_effects (core)->traced (dvmd_core_get_user_data (core), self, &entry);
  if (rank != DVMD_TRACE_JOB && trace->n_procs++ >= MAX_PROC_TRACE)
    return;
  entry.note = g_strdup (note);
  g_array_append_val (trace->entries, entry);
}

GArray *
dvmd_job_get_trace (DvmdJob *self)
{
  return trace_of (self)->entries;
}

gboolean
dvmd_job_get_trace_truncated (DvmdJob *self)
{
  return trace_of (self)->n_procs > MAX_PROC_TRACE;
}
