/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The reasons of a job: why it fails, and what else is wrong with it.
 */

#include "config.h"

#include "dvmd-job-reason.h"

#include "dvm-records-private.h"
#include "dvmd-core.h"
#include "dvmd-job-parts.h"

#include <string.h>

#define MAX_REASONS 8

typedef struct
{
  GPtrArray *posted;    /* (nullable): DvmReason, of failures */
  char *last;           /* (nullable): that of its state alone */
  char *without_server; /* (nullable): what is said of an MPI program of which no rank registers */
  gboolean has_exit;    /* the first failure is recorded */
} Reasons;

static void
reasons_clear (gpointer part)
{
  Reasons *self = part;

  g_clear_pointer (&self->posted, g_ptr_array_unref);
  g_free (self->last);
  g_free (self->without_server);
}

static Reasons *
reasons_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_REASONS, sizeof (Reasons), reasons_clear);
}

static void
free_reason (gpointer reason)
{
  _dvm_reason_free (reason);
}

/* (nullable): what was added with this text */
static const DvmReason *
find_reason (Reasons *self, const char *text)
{
  for (guint i = 0; self->posted != NULL && text != NULL && i < self->posted->len; i++)
    {
      const DvmReason *reason = g_ptr_array_index (self->posted, i);

      if (strcmp (reason->text, text) == 0)
        return reason;
    }
  return NULL;
}

void
dvmd_job_add_reason (DvmdJob *job, const DvmReason *reason)
{
  Reasons *self = reasons_of (job);

  if (find_reason (self, reason->text) != NULL)
    return;
  if (self->posted == NULL)
    self->posted = g_ptr_array_new_with_free_func (free_reason);
  /* One that waits may be judged again and again. */
  if (self->posted->len >= MAX_REASONS)
    g_ptr_array_remove_index (self->posted, 0);
  g_ptr_array_add (self->posted, _dvm_reason_copy (reason));
}

static char *
append_reason (char *reason, const char *more)
{
  g_autofree char *begin = reason;

  return begin[0] != '\0' ? g_strdup_printf ("%s; %s", begin, more) : g_strdup (more);
}

static void
write_last (Reasons *self, DvmJob *record, guint state)
{
  const char *lost = dvm_job_get_output_error (record);
  const DvmReason *parts = find_reason (self, self->last);
  g_autofree char *all = g_strdup (self->last != NULL ? self->last : "");

  if (self->without_server != NULL && dvm_job_get_num_registered (record) == 0 && state > DVM_JOB_STATE_UNTERMINATED)
    {
      if (parts == NULL)
        parts = find_reason (self, self->without_server);
      all = append_reason (all, self->without_server);
    }
  if (lost[0] != '\0')
    all = append_reason (all, lost);
  _dvm_job_set_reason_parts (record, parts != NULL ? _dvm_reason_get_word (parts) : NULL,
                             parts != NULL ? (const char *const *)parts->arguments : NULL);
  _dvm_job_set_state (record, state, all);
}

void
dvmd_job_write_state (DvmdJob *job, guint state, const char *reason)
{
  Reasons *self = reasons_of (job);

  g_free (self->last);
  self->last = g_strdup (reason);
  write_last (self, dvmd_job_get_record (job), state);
}

void
dvmd_core_note_mpi_library (DvmdCore *core, DvmdJob *job, const char *library)
{
  Reasons *self = reasons_of (job);
  g_autoptr (DvmReason) reason = NULL;

  if (self->without_server != NULL || dvmd_job_get_procs (job) == NULL)
    return;
  reason = _dvm_reason_new (DVM_REASON_MPI_WITHOUT_SERVER, library);
  dvmd_job_add_reason (job, reason);
  self->without_server = g_strdup (reason->text);
}

void
dvmd_core_output_lost (DvmdCore *core, DvmdJob *job, const char *message)
{
  DvmJob *record = dvmd_job_get_record (job);

  /* Of a thousand files on a full disk the first is as good as any. */
  if (dvm_job_get_output_error (record)[0] != '\0')
    return;
  _dvm_job_set_output_error (record, message);
  write_last (reasons_of (job), record, dvmd_job_get_state (job));
}

void
dvmd_job_record_exit (DvmdJob *job, int rank, int exit_code, int exit_signal)
{
  Reasons *self = reasons_of (job);

  if (self->has_exit)
    return;
  self->has_exit = TRUE;
  _dvm_job_set_exit (dvmd_job_get_record (job), exit_code, exit_signal, rank);
}

gboolean
dvmd_job_has_exit (DvmdJob *job)
{
  return reasons_of (job)->has_exit;
}
