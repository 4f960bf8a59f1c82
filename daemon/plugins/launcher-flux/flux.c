/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents of the nodes of an instance of Flux, or of a job in it. flux-exec(1) of flux-core 0.88: the standard input
 * goes to the command, and so does a signal; -j numbers the nodes of a job (0.60 and later), which is the way for those
 * who do not own the instance; -q (0.32 and later) leaves away who has exited with what. The environment goes along,
 * and the working directory, which need not be there, unless -d names another one (src/cmd/flux-exec.c).
 */

#include "config.h"

#include "flux-job.h"
#include "job-launcher.h"

#define DVMD_TYPE_FLUX_LAUNCHER (dvmd_flux_launcher_get_type ())
G_DECLARE_FINAL_TYPE (DvmdFluxLauncher, dvmd_flux_launcher, DVMD, FLUX_LAUNCHER, DvmdJobLauncher)

struct _DvmdFluxLauncher
{
  DvmdJobLauncher parent_instance;

  char *id; /* (nullable): of the job, which nodes are numbered in */
  const char *words[10];
  JobCommand command;
};

G_DEFINE_FINAL_TYPE (DvmdFluxLauncher, dvmd_flux_launcher, DVMD_TYPE_JOB_LAUNCHER)

static void
dvmd_flux_launcher_ask_targets_async (DvmdJobLauncher *self, const char *const *environ, GCancellable *cancellable,
                                      GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdPluginHost *host = dvmd_plugin_get_host (self);
  g_autoptr (GTask) task = NULL;

  if (flux_job_is_there (environ))
    {
      flux_job_ask_async (host, "launcher-flux", cancellable, callback, user_data);
      return;
    }
  task = g_task_new (host, cancellable, callback, user_data);
  g_task_return_pointer (task, NULL, NULL);
}

static GHashTable *
dvmd_flux_launcher_ask_targets_finish (DvmdJobLauncher *self, GAsyncResult *result, GError **error)
{
  g_autoptr (FluxJob) job = flux_job_ask_finish (result, error);

  return job != NULL ? g_hash_table_ref (job->ranks) : NULL;
}

static const JobCommand *
dvmd_flux_launcher_find_command (DvmdJobLauncher *launcher)
{
  return &DVMD_FLUX_LAUNCHER (launcher)->command;
}

/* The job does not change while the DVM is there. */
static void
make_words (DvmdFluxLauncher *self)
{
  static const char *const words[] = { "flux", "exec", "-q", "-d", "/" };
  g_auto (GStrv) environ = g_get_environ ();
  guint n = 0;

  while (n < G_N_ELEMENTS (words))
    {
      self->words[n] = words[n];
      n++;
    }
  self->id = g_strdup (flux_job_find_id ((const char *const *)environ));
  if (self->id != NULL)
    {
      self->words[n++] = "-j";
      self->words[n++] = self->id;
    }
  self->words[n++] = "-r";
  self->words[n++] = JOB_NODE;
  self->command.words = self->words;
}

static void
dvmd_flux_launcher_finalize (GObject *object)
{
  g_free (DVMD_FLUX_LAUNCHER (object)->id);
  G_OBJECT_CLASS (dvmd_flux_launcher_parent_class)->finalize (object);
}

static void
dvmd_flux_launcher_class_init (DvmdFluxLauncherClass *klass)
{
  DvmdJobLauncherClass *job_class = DVMD_JOB_LAUNCHER_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = dvmd_flux_launcher_finalize;
  job_class->ask_targets_async = dvmd_flux_launcher_ask_targets_async;
  job_class->ask_targets_finish = dvmd_flux_launcher_ask_targets_finish;
  job_class->find_command = dvmd_flux_launcher_find_command;
}

static void
dvmd_flux_launcher_init (DvmdFluxLauncher *self)
{
  make_words (self);
}

static const char *const variables[] = { "FLUX_URI", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_LAUNCHER,
  .name = "flux",
  .description = "starts the agents of an instance or a job of Flux by flux exec",
  .get_type = dvmd_flux_launcher_get_type,
  .variables = variables,
  .settings = dvmd_job_launcher_settings,
};
