/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The end of a job becomes an exit status, and a sentence for people.
 */

#include "config.h"

#include "dvm-cli-exit.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-output.h"
#include "dvm-cli-signals.h"

/* The processes ended by themselves: what they ended with counts. In every other failure the DVM's word does. */
static gboolean
is_own_end (DvmJobState state)
{
  return state == DVM_JOB_STATE_NON_ZERO_TERM || state == DVM_JOB_STATE_ABORTED_BY_SIG
         || state == DVM_JOB_STATE_CALLED_ABORT || state == DVM_JOB_STATE_ABORTED_WO_SYNC;
}

static int
status_of_job (DvmJob *job)
{
  DvmJobState state = dvm_job_get_state (job);
  int code = dvm_job_get_exit_code (job);
  int signum = dvm_job_get_exit_signal (job);

  if (!dvm_job_get_failed (job))
    return code & 0xff;
  if (state == DVM_JOB_STATE_FAILED_TO_START || state == DVM_JOB_STATE_FAILED_TO_LAUNCH)
    return code == DVM_CLI_EXIT_NOT_FOUND || code == DVM_CLI_EXIT_NOT_EXECUTABLE ? code : DVM_CLI_EXIT_DVM_FAILED;
  if (!is_own_end (state))
    return DVM_CLI_EXIT_DVM_FAILED;
  if (signum > 0)
    return 128 + signum;
  /* PMIx_Abort (0) and a rank that left without PMIx_Finalize are failures, whatever the code says. */
  return (code & 0xff) != 0 ? code & 0xff : DVM_CLI_EXIT_DVM_FAILED;
}

/* A job that ended well has not if nobody gets what it wrote. */
int
dvm_cli_exit_status (DvmJob *job)
{
  int status = status_of_job (job);

  return status == DVM_CLI_EXIT_OK && dvm_job_get_output_error (job)[0] != '\0' ? DVM_CLI_EXIT_DVM_FAILED : status;
}

static void
tell_end (DvmCli *cli, DvmJob *job)
{
  g_autofree char *told = dvm_job_dup_translated_reason (job);
  g_autofree char *reason = dvm_cli_name_option (cli, told);
  const char *lost = dvm_job_get_output_error (job);
  gboolean is_plain = !dvm_job_get_failed (job) || dvm_job_get_state (job) == DVM_JOB_STATE_NON_ZERO_TERM;

  if (is_plain && (!dvm_job_get_failed (job) || reason[0] == '\0'))
    dvm_cli_tell (cli, _ ("job %u ended with exit code %d"), dvm_job_get_id (job), dvm_job_get_exit_code (job));
  /* One that ended well has a reason if something is wrong all the same. */
  if (is_plain && reason[0] != '\0')
    dvm_cli_note (cli, "%s", reason);
  else if (!is_plain && reason[0] != '\0')
    dvm_cli_complain ("%s", reason);
  else if (!is_plain)
    dvm_cli_complain (_ ("job %u failed: %s"), dvm_job_get_id (job), dvm_job_state_to_string (dvm_job_get_state (job)));
  /* The reason says it too, where it may be read. */
  if (is_plain && lost[0] != '\0' && (cli->quiet || reason[0] == '\0'))
    dvm_cli_complain ("%s", lost);
}

/* The status is that of the first of the job and of those that it has spawned that failed. */
int
dvm_cli_report_end (DvmCli *cli, DvmJob *job)
{
  DvmJob *failed = dvm_job_get_first_failure (job);

  if (failed != NULL)
    {
      dvm_cli_note (cli, _ ("job %u, of the family of job %u, failed first:"), dvm_job_get_id (failed),
                    dvm_job_get_id (job));
      tell_end (cli, failed);
    }
  tell_end (cli, job);
  return dvm_cli_exit_status (failed != NULL ? failed : job);
}

char *
dvm_cli_describe_exit_code (gboolean failed, DvmJobState state, int code)
{
  /* The job was never launched, or its processes are gone with their node: a zero would look like success. */
  return failed && !is_own_end (state) && code == 0 ? g_strdup ("") : g_strdup_printf ("%d", code);
}

char *
dvm_cli_describe_exit (DvmJob *job)
{
  if (!dvm_job_get_ended (job))
    return g_strdup ("");
  if (dvm_job_get_exit_signal (job) > 0)
    return dvm_cli_signal_name (dvm_job_get_exit_signal (job));
  return dvm_cli_describe_exit_code (dvm_job_get_failed (job), dvm_job_get_state (job), dvm_job_get_exit_code (job));
}
