/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Processes and tools control jobs: they end, signal or stop them. Everything is checked before anything happens.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <signal.h>
#include <string.h>

#include "dvmd-services.h"
#include "dvmd-controller-jobs.h"
#include "dvmd-id-set.h"
#include "dvmd-controller-streams.h"
#include "dvmd-core-session-control.h"
#include "dvmd-rights.h"

/* A job, or some of its ranks. */
typedef struct
{
  DvmdJob *job;
  gboolean whole;
  GString *ranks; /* "1,4": unless whole */
} Target;

typedef struct
{
  const char *operation;
  int signum;
  const DvmdRequester *requester;
  GPtrArray *targets; /* Target */
} Control;

static void
target_free (gpointer data)
{
  Target *target = data;

  g_object_unref (target->job);
  g_string_free (target->ranks, TRUE);
  g_free (target);
}

/* ---- what it is about ---- */

/* (transfer none) (nullable) */
static Target *
find_target (GPtrArray *targets, DvmdJob *job)
{
  Target *target;

  for (guint i = 0; i < targets->len; i++)
    {
      target = g_ptr_array_index (targets, i);
      if (target->job == job)
        return target;
    }
  target = g_new0 (Target, 1);
  target->job = g_object_ref (job);
  target->ranks = g_string_new (NULL);
  g_ptr_array_add (targets, target);
  return target;
}

static gboolean
add_target (DvmdController *self, GPtrArray *targets, const char *nspace, guint32 rank, GError **error)
{
  DvmdJob *job = dvmd_core_find_job (dvmd_controller_get_core (self), nspace);
  DvmdProcTable *procs = job != NULL ? dvmd_job_get_procs (job) : NULL;
  Target *target;

  if (job == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "There is no job %s", nspace);
      return FALSE;
    }
  if (rank != DVMD_PMIX_RANK_WILDCARD && (procs == NULL || rank >= procs->n_rows))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "Job %s has no process %u", nspace, rank);
      return FALSE;
    }
  target = find_target (targets, job);
  if (rank == DVMD_PMIX_RANK_WILDCARD)
    target->whole = TRUE;
  else
    g_string_append_printf (target->ranks, "%s%u", target->ranks->len > 0 ? "," : "", rank);
  return TRUE;
}

static gboolean
read_targets (DvmdController *self, GPtrArray *targets, GVariant *rows, GError **error)
{
  GVariantIter iter;
  const char *nspace;
  guint32 rank;

  g_variant_iter_init (&iter, rows);
  while (g_variant_iter_next (&iter, "(&su)", &nspace, &rank))
    if (!add_target (self, targets, nspace, rank, error))
      return FALSE;
  return TRUE;
}

static gboolean
is_word (const Control *control, const char *word)
{
  return strcmp (control->operation, word) == 0;
}

/* A whole job heeds operations before it is launched, too; but not a signal. */
static gboolean
check_target (DvmdController *self, const Control *control, const Target *target, GError **error)
{
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (target->job));

  if (!dvmd_core_may (dvmd_controller_get_core (self), control->requester, DVMD_RIGHT_JOB, NULL, target->job, error))
    return FALSE;
  if (dvmd_job_get_ended (target->job))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "Job %s has ended: nothing of it runs", nspace);
      return FALSE;
    }
  if (is_word (control, "separate") || (target->whole && !is_word (control, "signal")))
    return TRUE;
  if (dvmd_job_get_procs (target->job) != NULL)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "Job %s has no processes yet", nspace);
  return FALSE;
}

static gboolean
check (DvmdController *self, const Control *control, GError **error)
{
  for (guint i = 0; i < control->targets->len; i++)
    if (!check_target (self, control, g_ptr_array_index (control->targets, i), error))
      return FALSE;
  if (!is_word (control, "signal") || (control->signum > 0 && control->signum < NSIG))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%d is not the number of a signal: use 1 to %d", control->signum,
               NSIG - 1);
  return FALSE;
}

/* ---- what is done ---- */

static int
find_signal (const Control *control)
{
  if (is_word (control, "kill"))
    return SIGKILL;
  if (is_word (control, "terminate"))
    return SIGTERM;
  if (is_word (control, "pause"))
    return SIGSTOP;
  return is_word (control, "resume") ? SIGCONT : control->signum;
}

static void
end_job (DvmdController *self, const Control *control, const Target *target)
{
  g_autoptr (DvmReason) reason = _dvm_reason_new (DVM_REASON_ENDED_BY, control->requester->name);

  dvmd_core_fail_job_for (dvmd_controller_get_core (self), target->job, DVM_JOB_STATE_KILLED_BY_CMD, reason);
  /* The processes get no time to clean up. */
  if (is_word (control, "kill") && dvmd_job_get_procs (target->job) != NULL)
    dvmd_controller_signal_job (self, target->job, SIGKILL, "", NULL);
}

static void
separate (DvmdController *self, const Target *target)
{
  DvmdJobStreams *streams = dvmd_controller_get_streams (self, dvmd_job_get_id (target->job));

  if (dvmd_core_separate_job (dvmd_controller_get_core (self), target->job, NULL) && streams != NULL)
    dvmd_job_streams_separate (streams);
}

static void
carry_out_target (DvmdController *self, const Control *control, const Target *target)
{
  const char *ranks = target->whole ? "" : target->ranks->str;

  if (is_word (control, "separate"))
    separate (self, target);
  else if (target->whole && is_word (control, "pause"))
    dvmd_core_pause_job (dvmd_controller_get_core (self), target->job, NULL);
  else if (target->whole && is_word (control, "resume"))
    dvmd_core_resume_job (dvmd_controller_get_core (self), target->job, NULL);
  else if (target->whole && (is_word (control, "kill") || is_word (control, "terminate")))
    end_job (self, control, target);
  else
    dvmd_controller_signal_job (self, target->job, find_signal (control), ranks, NULL);
}

/* A request without a target is about the caller's own job; a tool has no job, and means the DVM (as PRRTE has it). */
static gboolean
control_dvm (DvmdController *self, const Control *control, GError **error)
{
  g_autofree char *reason = g_strdup_printf ("ended by %s", control->requester->name);

  if (!is_word (control, "terminate") && !is_word (control, "kill"))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“%s” needs the job, or the processes, that are meant",
                   control->operation);
      return FALSE;
    }
  if (!dvmd_core_may (dvmd_controller_get_core (self), control->requester, DVMD_RIGHT_DVM, NULL, NULL, error))
    return FALSE;
  dvmd_controller_shutdown (self, is_word (control, "kill"), reason);
  return TRUE;
}

static gboolean
carry_out (DvmdController *self, Control *control, const char *nspace, GVariant *rows, GError **error)
{
  g_autoptr (GPtrArray) targets = g_ptr_array_new_with_free_func (target_free);

  control->targets = targets;
  if (g_variant_n_children (rows) == 0)
    {
      if (!dvmd_core_is_application (dvmd_controller_get_core (self), control->requester))
        return control_dvm (self, control, error);
      if (!add_target (self, targets, nspace, DVMD_PMIX_RANK_WILDCARD, error))
        return FALSE;
    }
  if (!read_targets (self, targets, rows, error) || !check (self, control, error))
    return FALSE;
  for (guint i = 0; i < targets->len; i++)
    carry_out_target (self, control, g_ptr_array_index (targets, i));
  return TRUE;
}

static void
handle_job_control (gpointer service, DvmdCall *call, GVariant *request)
{
  DvmdController *self = service;
  g_autoptr (DvmdRequester) requester = dvmd_call_new_requester (call);
  g_autoptr (GVariant) rows = NULL;
  g_autoptr (GError) error = NULL;
  Control control = { .requester = requester };
  int status = DVMD_PMIX_SUCCESS;

  g_variant_get (request, "(@a(su)&si)", &rows, &control.operation, &control.signum);
  if (!carry_out (self, &control, call->nspace, rows, &error))
    {
      /* PMIx hands on a number alone. */
      g_message ("%s cannot %s: %s", requester->name, control.operation, error->message);
      status = dvmd_pmix_status_from_error (error);
    }
  dvmd_controller_answer (self, call->id, status, NULL);
}

/* ---- PMIx_Abort that names processes ---- */

typedef struct
{
  const DvmdRequester *requester;
  DvmdJob *job; /* (nullable): its own */
  guint32 rank;
  gint32 status;
  const char *message;
} Abort;

static void
abort_job (DvmdController *self, const Abort *abort, DvmdJob *job)
{
  g_autoptr (DvmReason) reason = NULL;

  if (job == abort->job)
    {
      dvmd_core_abort_called (dvmd_controller_get_core (self), job, abort->rank, abort->status, abort->message);
      return;
    }
  if (dvmd_core_has_abort_message (abort->message))
    reason = _dvm_reason_new (DVM_REASON_ABORTED_BY_MESSAGE, abort->requester->name, abort->status, abort->message);
  else
    reason = _dvm_reason_new (DVM_REASON_ABORTED_BY, abort->requester->name, abort->status);
  if (!dvmd_job_get_ended (job))
    dvmd_core_fail_job_for (dvmd_controller_get_core (self), job, DVM_JOB_STATE_KILLED_BY_CMD, reason);
}

static gboolean
abort_ranks (DvmdController *self, const Abort *abort, const Target *target, GError **error)
{
  g_autoptr (DvmdIdSet) ranks = dvmd_id_set_parse (target->ranks->str, "ranks", error);

  if (ranks == NULL)
    return FALSE;
  dvmd_controller_send_to_job (
      self, target->job, DVMD_MSG_SIGNAL,
      g_variant_new ("(uis)", dvmd_job_get_id (target->job), DVMD_SIGNAL_STAY_AWAY, target->ranks->str));
  if (!dvmd_controller_signal_job (self, target->job, SIGKILL, target->ranks->str, error))
    return FALSE;
  for (guint rank = 0; dvmd_id_set_next (ranks, rank, &rank); rank++)
    dvmd_core_note_aborted (target->job, rank, abort->status);
  return TRUE;
}

static gboolean
abort_target (DvmdController *self, const Abort *abort, const Target *target, GError **error)
{
  if (!dvmd_core_may (dvmd_controller_get_core (self), abort->requester, DVMD_RIGHT_JOB, NULL, target->job, error))
    return FALSE;
  if (!target->whole)
    return abort_ranks (self, abort, target, error);
  abort_job (self, abort, target->job);
  return TRUE;
}

/* The log says what does not happen: PMIx_Abort() has no answer for it. */
static void
say_not_aborted (const Abort *abort, GError *error)
{
  g_message ("%s cannot abort: %s", abort->requester->name, error->message);
  g_error_free (error);
}

/* A job that may lose processes loses those that are named; another one ends. */
static void
add_abort (DvmdController *self, const Abort *abort, GPtrArray *targets, const char *nspace, guint32 rank)
{
  DvmdJob *job = dvmd_core_find_job (dvmd_controller_get_core (self), nspace);
  GError *error = NULL;

  if (job != NULL && !dvmd_job_is_recoverable (job))
    rank = DVMD_PMIX_RANK_WILDCARD;
  if (!add_target (self, targets, nspace, rank, &error))
    say_not_aborted (abort, error);
}

static void
handle_abort_procs (gpointer service, guint agent, GVariant *body)
{
  DvmdController *self = service;
  g_autoptr (GPtrArray) targets = g_ptr_array_new_with_free_func (target_free);
  g_autoptr (DvmdRequester) requester = NULL;
  g_autoptr (GVariantIter) rows = NULL;
  const char *nspace;
  const char *target;
  guint32 target_rank;
  Abort abort;
  DvmdCall caller;
  guint32 pid;

  g_variant_get (body, "(&suui&sa(su))", &nspace, &abort.rank, &pid, &abort.status, &abort.message, &rows);
  if (!dvmd_controller_authenticate (self, agent, nspace, abort.rank))
    return;
  caller = (DvmdCall){ .nspace = (char *)nspace, .rank = abort.rank, .pid = pid };
  abort.requester = requester = dvmd_call_new_requester (&caller);
  abort.job = dvmd_core_find_job (dvmd_controller_get_core (self), nspace);
  while (g_variant_iter_next (rows, "(&su)", &target, &target_rank))
    add_abort (self, &abort, targets, target, target_rank);
  for (guint i = 0; i < targets->len; i++)
    {
      GError *error = NULL;

      if (!abort_target (self, &abort, g_ptr_array_index (targets, i), &error))
        say_not_aborted (&abort, error);
    }
}

/* The service keeps no data: each request is carried out at once. */
static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  return controller;
}

static void
free_nothing (gpointer service)
{
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_ABORT_PROCS, handle_abort_procs },
  { 0 },
};

static const DvmdCallHandler calls[] = { { DVMD_CALL_JOB_CONTROL, handle_job_control }, { 0 } };

const DvmdService dvmd_job_control_service = {
  .name = "job-control",
  .create = create,
  .free = free_nothing,
  .handlers = handlers,
  .calls = calls,
};
