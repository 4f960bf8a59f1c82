/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The launch of a job is told as it goes on (--show-progress).
 */

#include "config.h"

#include "dvm-cli-launching.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-output.h"

struct _DvmCliLaunching
{
  DvmCli *cli;
  DvmJob *job;
  gulong handlers[2];
  guint n_procs;    /* of what was told */
  guint n_launched; /* likewise */
  gboolean told;
};

static void
on_changed (DvmJob *job, GParamSpec *pspec, gpointer user_data)
{
  DvmCliLaunching *self = user_data;
  guint n_procs = dvm_job_get_num_procs (job);
  guint n_launched = dvm_job_get_num_launched (job);

  if (n_procs == 0 || (self->told && n_procs == self->n_procs && n_launched == self->n_launched))
    return;
  self->told = TRUE;
  self->n_procs = n_procs;
  self->n_launched = n_launched;
  dvm_cli_note (self->cli, _ ("job %u: %u of %u processes have been started"), dvm_job_get_id (job), n_launched,
                n_procs);
}

DvmCliLaunching *
dvm_cli_launching_new (DvmCli *cli, DvmJob *job)
{
  DvmCliLaunching *self = g_new0 (DvmCliLaunching, 1);

  self->cli = cli;
  self->job = g_object_ref (job);
  self->handlers[0] = g_signal_connect (job, "notify::num-procs", G_CALLBACK (on_changed), self);
  self->handlers[1] = g_signal_connect (job, "notify::num-launched", G_CALLBACK (on_changed), self);
  on_changed (job, NULL, self);
  return self;
}

void
dvm_cli_launching_finish (DvmCliLaunching *self)
{
  on_changed (self->job, NULL, self);
}

void
dvm_cli_launching_free (DvmCliLaunching *self)
{
  for (gsize i = 0; i < G_N_ELEMENTS (self->handlers); i++)
    g_clear_signal_handler (&self->handlers[i], self->job);
  g_object_unref (self->job);
  g_free (self);
}
