/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reads what requests name, in a thread when that may take long.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-reading.h"

#include <string.h>

/* A list of some thousand hosts is read in a millisecond; behind that a thread costs less than those who wait. */
#define LONG_REQUEST (64 * 1024)

typedef struct
{
  DvmdReadFunc read;
  DvmdReadDone done;
  gpointer data;
} Reading;

static gboolean
names_file (GVariant *value)
{
  const char *type = g_variant_get_type_string (value);
  gsize n = strchr (type, 'v') != NULL ? g_variant_n_children (value) : 0;

  for (gsize i = 0; i < n; i++)
    {
      g_autoptr (GVariant) child = g_variant_get_child_value (value, i);

      if (g_variant_is_of_type (child, G_VARIANT_TYPE_STRING)
              ? i == 0 && type[0] == '{' && g_str_has_suffix (g_variant_get_string (child, NULL), "hostfile")
              : g_variant_is_container (child) && names_file (child))
        return TRUE;
    }
  return FALSE;
}

gboolean
dvmd_reading_takes_long (GVariant *request)
{
  return g_variant_get_size (request) > LONG_REQUEST || names_file (request);
}

static void
on_read (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Reading *reading = g_task_get_task_data (G_TASK (result));
  GError *error = NULL;

  g_task_propagate_boolean (G_TASK (result), &error);
  reading->done (reading->data, error);
}

static void
run (GTask *task, gpointer source, gpointer task_data, GCancellable *cancellable)
{
  Reading *reading = task_data;
  GError *error = NULL;

  if (reading->read (reading->data, &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

void
dvmd_reading_begin (GMainContext *context, DvmdReadFunc read, DvmdReadDone done, gpointer data)
{
  g_autoptr (GTask) task = NULL;
  Reading *reading = g_new0 (Reading, 1);

  if (context != NULL)
    g_main_context_push_thread_default (context);
  task = g_task_new (NULL, NULL, on_read, NULL);
  if (context != NULL)
    g_main_context_pop_thread_default (context);
  reading->read = read;
  reading->done = done;
  reading->data = data;
  g_task_set_source_tag (task, dvmd_reading_begin);
  g_task_set_task_data (task, reading, g_free);
  g_task_run_in_thread (task, run);
}
