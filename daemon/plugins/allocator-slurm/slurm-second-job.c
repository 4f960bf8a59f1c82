/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * salloc, and a shell that looks after it: when its standard input ends, because the DVM wants so or has ended, the job
 * is cancelled, whether it waits or has been granted.
 */

#include "config.h"

#include "slurm-second-job.h"

#include <string.h>

#include "slurm-command.h"
#include "slurm-environment.h"
#include "slurm-view.h"

#define GRANTED "Granted job allocation "
/* Its nodes are, too: before that Slurm does not take them for another job. */
#define READY "ready"

/* $1: the name of the job. The one who looks after it has a session of its own, and so outlives a DVM that is killed;
 * it ends with the line "done", or when it has cancelled the job. */
#define SCRIPT                                                                                                         \
  "exec 3<&0\n"                                                                                                        \
  "name=$1; shift\n"                                                                                                   \
  "salloc --no-shell --job-name=\"$name\" \"$@\" </dev/null 3<&- & pid=$!\n"                                           \
  "setsid sh -c 'read -r word <&3\n"                                                                                   \
  "trap \"\" TERM\n"                                                                                                   \
  "if [ \"$word\" = done ]; then exit 0; fi\n"                                                                         \
  "kill -TERM \"$2\" 2>/dev/null\n"                                                                                    \
  "n=0; while kill -0 \"$2\" 2>/dev/null && [ $n -lt 50 ]; do n=$((n + 1)); sleep 0.1; done\n"                         \
  "exec scancel --name=\"$1\"' sh \"$name\" \"$pid\" & keeper=$!\n"                                                    \
  "wait \"$pid\"; status=$?\n"                                                                                         \
  "if [ $status -eq 0 ]; then echo ready; else kill \"$keeper\"; fi\n"                                                 \
  "wait \"$keeper\"; exit $status\n"

struct _SlurmSecondJob
{
  DvmdPluginHost *host;
  const SlurmSecondJobFuncs *funcs;
  gpointer user_data;
  char *job;
  char *id; /* (nullable) */
  guint process;
  gboolean is_ready;
  gboolean ending;
};

static void
on_line (guint process, gboolean is_message, const char *line, gpointer user_data)
{
  SlurmSecondJob *self = user_data;
  const char *id = is_message && self->id == NULL ? strstr (line, GRANTED) : NULL;
  gboolean is_ready = !is_message && !self->is_ready && g_str_equal (line, READY);

  if (id != NULL)
    {
      id += strlen (GRANTED);
      self->id = g_strndup (id, strspn (id, "0123456789"));
    }
  self->is_ready = self->is_ready || is_ready;
  /* Messages and output come on two ways, either of them first. */
  if ((id != NULL || is_ready) && self->id != NULL && self->is_ready && !self->ending)
    self->funcs->granted (self->id, self->user_data);
}

static void
on_ended (guint process, const DvmdPluginOutcome *outcome, gpointer user_data)
{
  SlurmSecondJob *self = user_data;
  g_autofree char *words = dvmd_timed_command_get_words (outcome->messages);
  g_autoptr (GError) reason = NULL;

  if (!self->ending)
    reason = g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "Job %s of Slurm gets no more nodes; salloc says: %s",
                          self->job, words);
  else if (outcome->exit_code != 0)
    dvmd_plugin_host_log (self->host, G_LOG_LEVEL_INFO, "the wait for nodes of job %s has ended: %s", self->job, words);
  self->funcs->ended (reason, self->user_data);
  g_object_unref (self->host);
  g_free (self->id);
  g_free (self->job);
  g_free (self);
}

static const DvmdPluginWatch watch = { .line = on_line, .ended = on_ended };

/* The second job must be of the same kind, and is not by itself. */
static void
add_same (GPtrArray *argv, const char *option, const char *variable)
{
  const char *value = g_getenv (variable);

  if (value != NULL && value[0] != '\0')
    g_ptr_array_add (argv, g_strconcat (option, value, NULL));
}

/* (nullable): what of devices the job has; gres: (nullable): what squeue says, which is nothing of --gpus */
static const char *
find_devices (const char *gres)
{
  static const char *const variables[] = { "SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK",
                                           "SLURM_GPUS_PER_SOCKET" };

  for (gsize i = 0; gres == NULL && i < G_N_ELEMENTS (variables); i++)
    {
      const char *value = g_getenv (variables[i]);

      if (value != NULL && value[0] != '\0')
        return variables[i];
    }
  return gres;
}

/* (nullable): NULL with an error. Slurm merges no jobs that have devices, and then has lost the second one. */
static GPtrArray *
build_line (const SlurmSecondJobRequest *request, GError **error)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *uuid = g_uuid_string_random ();
  g_autofree char *names = dvm_host_list_compress ((const char *const *)request->held->pdata, request->held->len);
  g_autofree char *gres = NULL;
  g_autofree char *constraint = NULL;
  const char *devices;

  if (!slurm_wishes_parse (request->wishes, &gres, &constraint, error))
    return NULL;
  devices = find_devices (gres);
  if (devices != NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                   "job %s of Slurm has devices (%s), and Slurm makes no such job larger", request->job, devices);
      return NULL;
    }
  g_ptr_array_add (argv, g_strdup ("sh"));
  g_ptr_array_add (argv, g_strdup ("-c"));
  g_ptr_array_add (argv, g_strdup (SCRIPT));
  g_ptr_array_add (argv, g_strdup ("sh"));
  g_ptr_array_add (argv, g_strconcat ("dvm-grow-", uuid, NULL));
  g_ptr_array_add (argv, g_strdup_printf ("--nodes=%u", request->count));
  g_ptr_array_add (argv, g_strconcat ("--dependency=expand:", request->job, NULL));
  /* Else it gets more of the nodes that are the job's already. */
  g_ptr_array_add (argv, g_strconcat ("--exclude=", names, NULL));
  if (request->slots > 0)
    g_ptr_array_add (argv, g_strdup_printf ("--ntasks-per-node=%u", request->slots));
  if (constraint != NULL)
    g_ptr_array_add (argv, g_strconcat ("--constraint=", constraint, NULL));
  add_same (argv, "--cpus-per-task=", "SLURM_CPUS_PER_TASK");
  add_same (argv, "--mem=", "SLURM_MEM_PER_NODE");
  add_same (argv, "--mem-per-cpu=", "SLURM_MEM_PER_CPU");
  add_same (argv, "--partition=", "SLURM_JOB_PARTITION");
  add_same (argv, "--account=", "SLURM_JOB_ACCOUNT");
  add_same (argv, "--qos=", "SLURM_JOB_QOS");
  add_same (argv, "--reservation=", "SLURM_JOB_RESERVATION");
  g_ptr_array_add (argv, NULL);
  return g_steal_pointer (&argv);
}

SlurmSecondJob *
slurm_second_job_start (DvmdPluginHost *host, const SlurmSecondJobRequest *request, const SlurmSecondJobFuncs *funcs,
                        gpointer user_data, GError **error)
{
  g_autoptr (GPtrArray) argv = build_line (request, error);
  g_auto (GStrv) all = g_get_environ ();
  g_auto (GStrv) environ = slurm_make_environ ((const char *const *)all);
  DvmdPluginCommand command = { .environ = (const char *const *)environ };
  SlurmSecondJob *self;

  if (argv == NULL)
    return NULL;
  command.argv = (const char *const *)argv->pdata;
  self = g_new0 (SlurmSecondJob, 1);
  self->host = g_object_ref (host);
  self->funcs = funcs;
  self->user_data = user_data;
  self->job = g_strdup (request->job);
  self->process = dvmd_plugin_host_start (host, &command, &watch, self, error);
  if (self->process != 0)
    return self;
  g_object_unref (self->host);
  g_free (self->id);
  g_free (self->job);
  g_free (self);
  return NULL;
}

void
slurm_second_job_end (SlurmSecondJob *self, gboolean given_up)
{
  g_autoptr (GBytes) word = g_bytes_new_static ("done\n", given_up ? strlen ("done\n") : 0);

  if (self->ending)
    return;
  self->ending = TRUE;
  dvmd_plugin_host_give_input (self->host, self->process, word, TRUE);
}
