/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job of a scheduler that a process is in, by the variables of its environment.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-scheduler-job"

#include <string.h>

#include "dvm-client.h"

/* The name of a DVM is no longer: it is a directory, and a part of a bus name. */
#define LENGTH_MAX 64
#define DIGEST     16

/*
 * In the order of the allocators, for a job within the job of another scheduler. A job has one of "numbers", and "also"
 * (nullable) beside it; "part" (nullable) tells the jobs of an array from each other, unless it has the value "whole".
 */
typedef struct
{
  const char *name;
  const char *numbers[3];
  const char *also;
  const char *part;
  const char *whole;
} Scheduler;

static const Scheduler schedulers[] = {
  { "flux", { "FLUX_JOB_ID", "FLUX_URI" }, "FLUX_URI", NULL, NULL },
  { "slurm", { "SLURM_JOB_ID", "SLURM_JOBID" }, NULL, NULL, NULL },
  { "gridengine", { "JOB_ID" }, "SGE_ROOT", "SGE_TASK_ID", "undefined" },
  { "lsf", { "LSB_JOBID" }, NULL, "LSB_JOBINDEX", "0" },
  { "pbs", { "PBS_JOBID" }, NULL, NULL, NULL },
};

/* (nullable): a value that is there and not empty */
static const char *
get_value (const char *const *envp, const char *name)
{
  const char *value = name != NULL ? g_environ_getenv ((char **)envp, name) : NULL;

  return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Letters that no name of a DVM has are a '-', several in a row one. */
static void
append_word (GString *text, const char *word)
{
  g_string_append_c (text, '-');
  for (const char *p = word; *p != '\0'; p++)
    if (g_ascii_isalnum (*p) || *p == '_')
      g_string_append_c (text, *p);
    else if (text->str[text->len - 1] != '-')
      g_string_append_c (text, '-');
}

/* (nullable) */
static char *
name_job (const Scheduler *scheduler, const char *const *envp)
{
  const char *number = get_value (envp, scheduler->numbers[0]);
  const char *part = get_value (envp, scheduler->part);
  g_autoptr (GString) text = g_string_new (scheduler->name);
  g_autofree char *digest = NULL;

  if (number == NULL)
    number = get_value (envp, scheduler->numbers[1]);
  if (number == NULL || (scheduler->also != NULL && get_value (envp, scheduler->also) == NULL))
    return NULL;
  append_word (text, number);
  if (part != NULL && strcmp (part, scheduler->whole) != 0)
    append_word (text, part);
  if (text->len > LENGTH_MAX)
    {
      digest = g_compute_checksum_for_string (G_CHECKSUM_SHA256, text->str, -1);
      g_string_truncate (text, LENGTH_MAX - DIGEST - 1);
      g_string_append_printf (text, "-%.*s", DIGEST, digest);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/**
 * dvm_client_build_job_name:
 * @envp: (array zero-terminated=1) (nullable) (element-type filename): an environment; %NULL for that of this process
 *
 * Tells which job of a scheduler an environment is of: "slurm-4", "pbs-12-server". That is the property SchedulerJob of
 * a DVM that was started there, and the name of the DVM that dvm-cli starts there when the unnamed one is of another
 * job.
 *
 * Returns: (transfer full) (nullable): a name that a DVM may have; %NULL: it is of no job
 * Since: 0.1
 */
char *
dvm_client_build_job_name (const char *const *envp)
{
  g_auto (GStrv) own = envp == NULL ? g_get_environ () : NULL;
  char *name = NULL;

  for (gsize i = 0; name == NULL && i < G_N_ELEMENTS (schedulers); i++)
    name = name_job (&schedulers[i], envp != NULL ? envp : (const char *const *)own);
  return name;
}
