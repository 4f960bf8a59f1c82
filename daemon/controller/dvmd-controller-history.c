/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The past is kept: the trace of transitions, and a history that becomes shorter when its limits do.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-services.h"

typedef struct
{
  DvmdController *controller; /* unowned */
  GSource *source;            /* (nullable): while jobs of a history that has become too long are forgotten */
  DvmdTraceFile *trace_file;  /* (nullable) */
  DvmdLogFile *log_file;      /* (nullable), unowned */
} History;

static void
traced (gpointer service, DvmdJob *job, const DvmdTraceEntry *entry)
{
  History *self = service;
  g_autofree char *what = NULL;

  if (self == NULL || self->trace_file == NULL)
    return;
  /* The DVM's own job has no processes, and no other has its number. */
  what = dvmd_job_get_id (job) == 0 ? g_strdup ("dvm") : dvmd_trace_entry_describe (entry);
  dvmd_trace_file_add (self->trace_file, dvm_job_get_nspace (dvmd_job_get_record (job)), what, entry);
}

static gboolean
on_history_too_long (gpointer user_data)
{
  History *self = user_data;

  if (dvmd_core_trim_history (dvmd_controller_get_core (self->controller)))
    return G_SOURCE_CONTINUE;
  g_clear_pointer (&self->source, g_source_unref);
  return G_SOURCE_REMOVE;
}

/* A million jobs are not forgotten in one turn of the main loop. */
static void
trim (History *self)
{
  if (self->source != NULL || !dvmd_core_trim_history (dvmd_controller_get_core (self->controller)))
    return;
  self->source = g_idle_source_new ();
  g_source_set_callback (self->source, on_history_too_long, self, NULL);
  g_source_attach (self->source, dvmd_controller_get_parts (self->controller)->context);
}

static void
settings_changed (gpointer service, const DvmdControllerChanges *changes)
{
  History *self = service;

  g_clear_pointer (&self->trace_file, dvmd_trace_file_free);
  self->trace_file = changes->trace_file;
  trim (self);
}

/* ---- the service ---- */

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  History *self = g_new0 (History, 1);

  self->controller = controller;
  self->trace_file = settings->trace_file;
  self->log_file = settings->log_file;
  return self;
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  History *self = service;

  dvmd_services_add_number (statistics, "log-lines-lost",
                            self->log_file != NULL ? dvmd_log_file_get_n_lost (self->log_file) : 0);
}

static void
history_free (gpointer service)
{
  History *self = service;

  if (self->source != NULL)
    g_source_destroy (self->source);
  g_clear_pointer (&self->source, g_source_unref);
  g_clear_pointer (&self->trace_file, dvmd_trace_file_free);
  g_free (self);
}

const DvmdService dvmd_history_service = {
  .name = "history",
  .create = create,
  .free = history_free,
  .traced = traced,
  .add_statistics = add_statistics,
  .settings_changed = settings_changed,
};
