/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The map of a job that somebody has spawned is shown before the job writes anything. The tables are those of dvm-cli,
 * which has the only code for them: it is run, and asks this DVM.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-show.h"

#include "dvm-job-spec-private.h"
#include "dvmd-controller-jobs.h"
#include "dvmd-controller-streams.h"
#include "dvmd-host-processes.h"
#include "dvmd-host.h"
#include "dvmd-programs.h"
#include "dvmd-services.h"

/* The host keeps so much of what a command prints. */
#define MOST_SHOWN (1024 * 1024)

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *shown;          /* id of a job -> GCancellable of the command that prints its tables */
  DvmdHost *host;             /* (nullable): of these commands */
  char *socket;               /* (nullable) */
} Shows;

typedef struct
{
  DvmdController *controller;
  DvmdJob *job;
  GCancellable *cancellable;
} Show;

static void
show_free (Show *self)
{
  g_object_unref (self->controller);
  g_object_unref (self->job);
  g_object_unref (self->cancellable);
  g_free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Show, show_free)

static Shows *
get_shows (DvmdController *controller)
{
  return dvmd_services_get (controller, &dvmd_show_service);
}

gboolean
dvmd_controller_can_show (DvmdController *self, GError **error)
{
  g_autoptr (GError) missing = NULL;
  g_autofree char *program = dvmd_programs_find ("dvm-cli", &missing);

  if (program != NULL && get_shows (self)->socket != NULL)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "the map of a job is shown by dvm-cli: %s",
               missing != NULL ? missing->message : "nothing but its own run finds this DVM, which is private");
  return FALSE;
}

/* (transfer full): bytes of length 0 have no address */
static char *
dup_text (GBytes *bytes)
{
  gsize size;
  const char *data = g_bytes_get_data (bytes, &size);

  return data != NULL ? g_strndup (data, size) : g_strdup ("");
}

/* (transfer full) (nullable): why nothing could be shown */
static char *
take_outcome (Show *self, const DvmdPluginOutcome *outcome)
{
  DvmdJobStreams *streams = dvmd_controller_get_streams (self->controller, dvmd_job_get_id (self->job));
  g_autofree char *text = dup_text (outcome->output);
  g_autofree char *reason = dup_text (outcome->messages);

  if (outcome->exit_code != 0)
    return g_strdup_printf ("What was to be shown of it cannot be shown: %s",
                            reason[0] != '\0' ? g_strstrip (reason) : "dvm-cli has failed and says nothing");
  if (g_bytes_get_size (outcome->output) >= MOST_SHOWN)
    return g_strdup ("What was to be shown of it cannot be shown: it takes more than 1 MiB");
  if (streams != NULL)
    dvmd_job_streams_insert (streams, 0, DVMD_STREAM_STDOUT, text);
  return NULL;
}

static void
on_printed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Show) self = user_data;
  DvmdCore *core = dvmd_controller_get_core (self->controller);
  DvmdPluginOutcome outcome = { 0 };
  g_autoptr (GError) error = NULL;
  g_autofree char *reason = NULL;

  if (!dvmd_plugin_host_spawn_finish (DVMD_PLUGIN_HOST (source), result, &outcome, &error))
    reason = g_strdup_printf ("What was to be shown of it cannot be shown: %s", error->message);
  else if (!g_cancellable_is_cancelled (self->cancellable))
    reason = take_outcome (self, &outcome);
  dvmd_plugin_outcome_clear (&outcome);
  /* The job has ended, or has another map, or the DVM has gone. */
  if (g_cancellable_is_cancelled (self->cancellable) || core == NULL)
    return;
  g_hash_table_remove (get_shows (self->controller)->shown, GUINT_TO_POINTER (dvmd_job_get_id (self->job)));
  dvmd_core_job_shown (core, self->job, reason);
}

void
dvmd_controller_show_job (gpointer user_data, DvmdJob *job)
{
  Shows *self = get_shows (user_data);
  DvmdHostProcesses *processes = dvmd_controller_get_parts (user_data)->processes;
  g_autofree char *program = dvmd_programs_find ("dvm-cli", NULL);
  const char *argv[] = { program != NULL ? program : "dvm-cli",
                         "--socket",
                         self->socket,
                         "--color=never",
                         "--no-pager",
                         "job",
                         "map",
                         "--display",
                         _dvm_job_spec_get_display (dvmd_job_get_spec (job)),
                         dvm_job_get_nspace (dvmd_job_get_record (job)),
                         NULL };
  g_auto (GStrv) environ = g_environ_setenv (g_get_environ (), "LC_ALL", "C.UTF-8", TRUE);
  const DvmdPluginCommand command = { .argv = argv, .environ = (const char *const *)environ };
  Show *show = g_new0 (Show, 1);

  if (self->host == NULL)
    {
      g_autoptr (GHashTable) settings = g_hash_table_new (g_str_hash, g_str_equal);

      self->host = dvmd_host_new ("display", settings);
      dvmd_host_set_processes (self->host, dvmd_host_processes_get_spawner (processes),
                               dvmd_host_processes_get_reaper (processes));
    }
  show->controller = g_object_ref (user_data);
  show->job = g_object_ref (job);
  show->cancellable = g_cancellable_new ();
  g_hash_table_replace (self->shown, GUINT_TO_POINTER (dvmd_job_get_id (job)), g_object_ref (show->cancellable));
  dvmd_plugin_host_spawn_async (DVMD_PLUGIN_HOST (self->host), &command, show->cancellable, on_printed, show);
}

/* The job needs no tables any more. */
static void
stop (gpointer service, DvmdJob *job)
{
  g_hash_table_remove (((Shows *)service)->shown, GUINT_TO_POINTER (dvmd_job_get_id (job)));
}

static void
cancel (gpointer cancellable)
{
  g_cancellable_cancel (cancellable);
  g_object_unref (cancellable);
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Shows *self = g_new0 (Shows, 1);

  self->controller = controller;
  self->shown = g_hash_table_new_full (NULL, NULL, NULL, cancel);
  self->socket = g_strdup (settings->socket);
  return self;
}

static void
end_commands (gpointer service)
{
  Shows *self = service;

  g_hash_table_remove_all (self->shown);
  if (self->host != NULL)
    dvmd_host_set_processes (self->host, NULL, NULL);
}

static void
shows_free (gpointer service)
{
  Shows *self = service;

  end_commands (self);
  g_hash_table_unref (self->shown);
  g_clear_object (&self->host);
  g_free (self->socket);
  g_free (self);
}

const DvmdService dvmd_show_service = {
  .name = "show",
  .create = create,
  .free = shows_free,
  .job_killed = stop,
  .job_ended = stop,
  .dvm_ended = end_commands,
};
