/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of an instance of Flux, or of a job in it, as the command flux says them.
 */

#include "config.h"

#include <string.h>

#include "environment-allocator.h"
#include "environment.h"
#include "resource-set.h"

/* Seconds that flux may take, unless the setting "timeout" says something else. */
#define TIMEOUT      30
#define MOST_TIMEOUT 3600
/* Bytes of what flux says on standard error, in a message. */
#define SHOWN 200
/* Bytes of its output that there are at most: the rest has been dropped. */
#define MOST_OUTPUT (1024 * 1024)

#define DVMD_TYPE_FLUX (dvmd_flux_get_type ())
G_DECLARE_FINAL_TYPE (DvmdFlux, dvmd_flux, DVMD, FLUX, DvmdAllocator)

struct _DvmdFlux
{
  DvmdAllocator parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdFlux, dvmd_flux, DVMD_TYPE_ALLOCATOR)

typedef struct
{
  char *place; /* the command, for messages */
  char *id;    /* (nullable) */
  guint timeout;
  guint timer; /* 0: it has not ended in time */
  GCancellable *stop;
  GCancellable *cancellable; /* (nullable): of who has asked */
  gulong cancelled;
} Asking;

static void
asking_free (gpointer data)
{
  Asking *self = data;

  if (self->timer != 0)
    g_source_remove (self->timer);
  if (self->cancellable != NULL)
    g_cancellable_disconnect (self->cancellable, self->cancelled);
  g_clear_object (&self->cancellable);
  g_object_unref (self->stop);
  g_free (self->place);
  g_free (self->id);
  g_free (self);
}

static gboolean
on_timeout (gpointer user_data)
{
  Asking *self = user_data;

  self->timer = 0;
  g_cancellable_cancel (self->stop);
  return G_SOURCE_REMOVE;
}

/* ---- the answer ---- */

/* Names what has kept it from answering, with the last thing that it has said. */
static GError *
explain_exit (const char *place, const DvmdPluginOutcome *outcome)
{
  gsize size;
  const char *messages = g_bytes_get_data (outcome->messages, &size);
  gsize start = size > SHOWN ? size - SHOWN : 0;
  g_autofree char *said = size > 0 ? g_utf8_make_valid (messages + start, (gssize)(size - start))
                                   : g_strdup ("nothing");
  g_autofree char *end = outcome->exit_signal != 0 ? g_strdup_printf ("signal %d", outcome->exit_signal)
                                                   : g_strdup_printf ("status %d", outcome->exit_code);

  return g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "“%s” has ended with %s, and said: %s", place, end,
                      g_strstrip (said));
}

static DvmdAllocation *
read_outcome (Asking *self, const DvmdPluginOutcome *outcome, GError **error)
{
  g_autoptr (DvmdNodeTable) table = dvmd_node_table_new ();
  gsize length;
  const char *data = g_bytes_get_data (outcome->output, &length);
  g_autofree char *text = g_strndup (length > 0 ? data : "", length);

  if (outcome->exit_code != 0)
    g_propagate_error (error, explain_exit (self->place, outcome));
  else if (length >= MOST_OUTPUT)
    g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                 "“%s” has written 1 MiB or more; a resource set of Flux (RFC 20) is shorter", self->place);
  else if (dvmd_resource_set_read (text, self->place, table, error))
    return dvmd_node_table_to_allocation (table, self->id, self->place, error);
  return NULL;
}

static void
on_ended (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  Asking *self = g_task_get_task_data (task);
  DvmdPluginOutcome outcome = { 0 };
  DvmdAllocation *allocation = NULL;
  GError *error = NULL;

  if (dvmd_plugin_host_spawn_finish (DVMD_PLUGIN_HOST (source), result, &outcome, &error))
    allocation = read_outcome (self, &outcome, &error);
  else if (self->timer == 0)
    {
      g_clear_error (&error);
      error = g_error_new (DVM_ERROR, DVM_ERROR_TIMEOUT,
                           "“%s” has not answered in %u s (allocator-flux.timeout); FLUX_URI says which Flux is asked",
                           self->place, self->timeout);
    }
  else
    g_prefix_error (&error, "“%s”: ", self->place);
  if (allocation != NULL)
    g_task_return_pointer (task, allocation, (GDestroyNotify)dvmd_allocation_unref);
  else
    g_task_return_error (task, error);
  dvmd_plugin_outcome_clear (&outcome);
}

/* ---- the question ---- */

static void
stop_command (GCancellable *cancellable, gpointer stop)
{
  g_cancellable_cancel (stop);
}

/* job (nullable): NULL: the DVM is in the first program of an instance, not in a job of it. */
static void
ask_flux (DvmdPluginHost *host, const char *job, GTask *task)
{
  const char *const of_instance[] = { "flux", "resource", "R", "-s", "up", NULL };
  const char *const of_job[] = { "flux", "job", "info", job, "R", NULL };
  const DvmdPluginCommand command = { .argv = job != NULL ? of_job : of_instance };
  Asking *self = g_task_get_task_data (task);
  g_autofree char *words = g_strjoinv (" ", (char **)command.argv);

  self->place = g_utf8_make_valid (words, -1);
  self->timer = g_timeout_add_seconds (self->timeout, on_timeout, self);
  dvmd_plugin_host_spawn_async (host, &command, self->stop, on_ended, task);
}

static void
dvmd_flux_allocate_async (DvmdAllocator *allocator, const DvmdAllocationRequest *request, GCancellable *cancellable,
                          GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdPluginHost *host = dvmd_plugin_get_host (allocator);
  g_autoptr (GTask) task = g_task_new (allocator, cancellable, callback, user_data);
  g_auto (GStrv) all = g_get_environ ();
  const char *const *environ = (const char *const *)all;
  const char *const ids[] = { "FLUX_JOB_ID", "FLUX_ENCLOSING_ID", NULL };
  const char *id;
  const char *limit = dvmd_plugin_host_get_setting (host, "timeout");
  Asking *self;
  GError *error = NULL;

  if (!dvmd_environment_is_bare_start (request) || dvmd_environment_get (environ, "FLUX_URI") == NULL)
    {
      g_task_return_pointer (task, NULL, NULL);
      return;
    }
  self = g_new0 (Asking, 1);
  self->timeout = TIMEOUT;
  self->stop = g_cancellable_new ();
  id = dvmd_environment_find (environ, ids, NULL);
  self->id = id != NULL ? g_utf8_make_valid (id, -1) : NULL;
  g_task_set_task_data (task, self, asking_free);
  if (limit != NULL
      && !dvmd_environment_parse_number (limit, "allocator-flux.timeout", 1, MOST_TIMEOUT, &self->timeout, &error))
    {
      g_task_return_error (task, error);
      return;
    }
  if (cancellable != NULL)
    {
      self->cancellable = g_object_ref (cancellable);
      self->cancelled = g_cancellable_connect (cancellable, G_CALLBACK (stop_command), self->stop, NULL);
    }
  ask_flux (host, dvmd_environment_get (environ, "FLUX_JOB_ID"), g_steal_pointer (&task));
}

static void
dvmd_flux_class_init (DvmdFluxClass *klass)
{
  DVMD_ALLOCATOR_CLASS (klass)->allocate_async = dvmd_flux_allocate_async;
}

static void
dvmd_flux_init (DvmdFlux *self)
{
}

static const char *const variables[] = { "FLUX_URI", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_ALLOCATOR,
  .name = "flux",
  .description = "takes the nodes of the instance or the job of Flux that the DVM is in",
  .get_type = dvmd_flux_get_type,
  .variables = variables,
};
