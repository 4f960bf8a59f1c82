/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the processes of a job go.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <glib/gi18n-lib.h>

#include "dvm-client-private.h"

/* As many ranks are in one answer; a larger map is asked for in pages. */
#define PAGE 65536
/* Each page is mapped anew by the DVM. */
#define MOST_RANKS (16 * PAGE)

typedef struct
{
  char *path;
  const char *interface;
  int timeout_ms;
  GVariant *apps;    /* (nullable): of a job that is there */
  GVariant *options; /* a{sv} */
  gboolean chosen;   /* these have the ranks */
  guint32 first;     /* of the page */
  GPtrArray *rows;   /* GVariant, of the pages before it */
} Question;

static void
question_free (gpointer data)
{
  Question *self = data;

  g_free (self->path);
  g_clear_pointer (&self->apps, g_variant_unref);
  g_variant_unref (self->options);
  g_ptr_array_unref (self->rows);
  g_free (self);
}

static void ask_page (GTask *task);

/* A page after the first begins with the last rank of the one before it: a page must not begin behind the map. */
static void
add_page (Question *self, GVariant *page)
{
  for (gsize i = self->first > 0; i < g_variant_n_children (page); i++)
    g_ptr_array_add (self->rows, g_variant_get_child_value (page, i));
}

/* Each page is a question of its own: the rank that two of them have must have the same place in both. */
static gboolean
check_page (Question *self, GVariant *page, GError **error)
{
  if (self->rows->len >= MOST_RANKS)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE,
                   _ ("The map has more than %d ranks: ask for some of them"), MOST_RANKS);
      return FALSE;
    }
  if (self->first > 0)
    {
      g_autoptr (GVariant) row = g_variant_n_children (page) > 0 ? g_variant_get_child_value (page, 0) : NULL;

      if (row == NULL || !g_variant_equal (row, self->rows->pdata[self->rows->len - 1]))
        {
          g_set_error_literal (error, DVM_ERROR, DVM_ERROR_FAILED,
                               _ ("The map has changed while it was asked for: ask again"));
          return FALSE;
        }
    }
  return TRUE;
}

static GVariant *
join_pages (Question *self)
{
  return g_variant_ref_sink (
      g_variant_new_array (G_VARIANT_TYPE ("(uuussss)"), (GVariant *const *)self->rows->pdata, self->rows->len));
}

static void
on_page (GObject *connection, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  Question *self = g_task_get_task_data (task);
  g_autoptr (GVariant) reply = _dvm_client_call_finish (connection, result, task, NULL);
  g_autoptr (GVariant) page = NULL;
  GError *error = NULL;
  gboolean last;

  if (reply == NULL)
    return;
  page = g_variant_get_child_value (reply, 0);
  if (!check_page (self, page, &error))
    {
      g_task_return_error (task, error);
      return;
    }
  last = self->chosen || g_variant_n_children (page) < PAGE;
  if (last && self->first == 0)
    {
      g_task_return_pointer (task, g_steal_pointer (&page), (GDestroyNotify)g_variant_unref);
      return;
    }
  add_page (self, page);
  if (last)
    {
      g_task_return_pointer (task, join_pages (self), (GDestroyNotify)g_variant_unref);
      return;
    }
  g_variant_get_child (self->rows->pdata[self->rows->len - 1], 0, "u", &self->first);
  ask_page (g_steal_pointer (&task));
}

/* Takes task over. */
static void
ask_page (GTask *task)
{
  Question *self = g_task_get_task_data (task);
  DvmCall call = { self->path, self->interface, "Map", NULL, "(a(uuussss))", self->timeout_ms, NULL };
  g_auto (GVariantDict) dict = G_VARIANT_DICT_INIT (self->options);
  g_autofree char *ranks = g_strdup_printf ("%u-%u", self->first, self->first + PAGE - 1);

  if (!self->chosen)
    g_variant_dict_insert (&dict, "ranks", "s", ranks);
  if (self->apps != NULL)
    call.parameters = g_variant_new ("(@aa{sv}@a{sv})", self->apps, g_variant_dict_end (&dict));
  else
    call.parameters = g_variant_new ("(@a{sv})", g_variant_dict_end (&dict));
  _dvm_client_call (g_task_get_source_object (task), &call, task, on_page);
}

/* Takes task over. apps (nullable), options: (transfer full) */
static void
ask_map (GTask *task, const char *path, const char *interface, GVariant *apps, GVariant *options)
{
  Question *self = g_new0 (Question, 1);
  g_autoptr (GVariant) ranks = g_variant_lookup_value (options, "ranks", NULL);

  self->path = g_strdup (path);
  self->interface = interface;
  self->timeout_ms = apps != NULL ? G_MAXINT : -1;
  self->apps = apps;
  self->options = options;
  self->chosen = ranks != NULL;
  self->rows = g_ptr_array_new_with_free_func ((GDestroyNotify)g_variant_unref);
  g_task_set_task_data (task, self, question_free);
  ask_page (task);
}

/* (transfer full): the options of the job and those of the question */
static GVariant *
join_options (GVariant *options, GVariant *more)
{
  g_auto (GVariantDict) dict = G_VARIANT_DICT_INIT (options);

  for (gsize i = 0; more != NULL && i < g_variant_n_children (more); i++)
    {
      g_autoptr (GVariant) value = NULL;
      const char *key;

      g_variant_get_child (more, i, "{&sv}", &key, &value);
      g_variant_dict_insert_value (&dict, key, value);
    }
  return g_variant_ref_sink (g_variant_dict_end (&dict));
}

/* (transfer full) */
static GVariant *
describe_ranks (const char *ranks)
{
  g_auto (GVariantDict) dict = G_VARIANT_DICT_INIT (NULL);

  if (ranks != NULL)
    g_variant_dict_insert (&dict, "ranks", "s", ranks);
  return g_variant_ref_sink (g_variant_dict_end (&dict));
}

/**
 * dvm_client_map_with_options_async:
 * @self: a client that is connected
 * @spec: what would be run
 * @options: (nullable): a value of type a{sv}; see dvm_client_map_with_options()
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Asks where the processes of a job would go.
 *
 * Since: 0.1
 */
void
dvm_client_map_with_options_async (DvmClient *self, DvmJobSpec *spec, GVariant *options, GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GVariant) value = NULL;
  g_autoptr (GVariant) of_job = NULL;
  GVariant *apps;
  GError *error = NULL;
  GTask *task;

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB_SPEC (spec));
  g_return_if_fail (options == NULL || g_variant_is_of_type (options, G_VARIANT_TYPE_VARDICT));

  task = _dvm_client_new_task (self, dvm_client_map_async, cancellable, callback, user_data);
  if (!dvm_job_spec_validate (spec, &error))
    {
      g_task_return_error (task, error);
      g_object_unref (task);
      return;
    }
  value = dvm_job_spec_to_variant (spec);
  g_variant_get (value, "(@aa{sv}@a{sv})", &apps, &of_job);
  ask_map (task, DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, apps, join_options (of_job, options));
}

/**
 * dvm_client_map_with_options_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_map_with_options_async().
 *
 * Returns: (transfer full): as of dvm_client_map_finish()
 * Since: 0.1
 */
GVariant *
dvm_client_map_with_options_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_map_async:
 * @self: a client that is connected
 * @spec: what would be run
 * @ranks: (nullable): which processes, such as "0-3,7"; %NULL for all
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Asks where the processes of a job would go.
 *
 * Since: 0.1
 */
void
dvm_client_map_async (DvmClient *self, DvmJobSpec *spec, const char *ranks, GCancellable *cancellable,
                      GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GVariant) options = describe_ranks (ranks);

  dvm_client_map_with_options_async (self, spec, options, cancellable, callback, user_data);
}

/**
 * dvm_client_map_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_map_async().
 *
 * Returns: (transfer full): a value of type a(uuussss): rank, application, local rank, node, cpuset, object, note of
 *   each process; %NULL on error, %DVM_ERROR_MAP_FAILED if such a job can never run
 * Since: 0.1
 */
GVariant *
dvm_client_map_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_map:
 * @self: a client that is connected
 * @spec: what would be run
 * @ranks: (nullable): which processes, such as "0-3,7"; %NULL for all
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Asks where the processes of a job would go.
 *
 * Nothing is claimed and nothing is started. Without @ranks a large map is asked for in pages. If the job would have to
 * wait for slots, each note says so, and the map is that of its turn.
 *
 * Returns: (transfer full): a value of type a(uuussss): rank, application, local rank, node, cpuset, object, note of
 *   each process; %NULL on error, %DVM_ERROR_MAP_FAILED if such a job can never run
 * Since: 0.1
 */
GVariant *
dvm_client_map (DvmClient *self, DvmJobSpec *spec, const char *ranks, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (DVM_IS_JOB_SPEC (spec), NULL);

  dvm_client_map_async (self, spec, ranks, cancellable, _dvm_sync_done, &sync);
  return dvm_client_map_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_map_with_options:
 * @self: a client that is connected
 * @spec: what would be run
 * @options: (nullable): a value of type a{sv}
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * The same with options of the method Map: `ranks` (s) as above; `topology` (as) places the processes on nodes that
 * are only described, by hwloc's synthetic descriptions or XML, one for each of the first nodes and the last one for
 * all others; `nodes` (u): how many there are; `slots` (s): of each, such as "16" or "16,16,6".
 *
 * Returns: (transfer full): as of dvm_client_map()
 * Since: 0.1
 */
GVariant *
dvm_client_map_with_options (DvmClient *self, DvmJobSpec *spec, GVariant *options, GCancellable *cancellable,
                             GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (DVM_IS_JOB_SPEC (spec), NULL);

  dvm_client_map_with_options_async (self, spec, options, cancellable, _dvm_sync_done, &sync);
  return dvm_client_map_with_options_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_map_job_async:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @ranks: (nullable): which processes, such as "0-3,7"; %NULL for all
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Asks where the processes of a job are.
 *
 * Since: 0.1
 */
void
dvm_client_map_job_async (DvmClient *self, DvmJob *job, const char *ranks, GCancellable *cancellable,
                          GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  ask_map (_dvm_client_new_task (self, dvm_client_map_job_async, cancellable, callback, user_data),
           dvm_job_get_object_path (job), DVM_JOB_INTERFACE, NULL, describe_ranks (ranks));
}

/**
 * dvm_client_map_job_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_map_job_async().
 *
 * Returns: (transfer full): a value of type a(uuussss): rank, application, local rank, node, cpuset, object, note of
 *   each process; %NULL on error, %DVM_ERROR_NOT_READY before the job is mapped
 * Since: 0.1
 */
GVariant *
dvm_client_map_job_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_map_job:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @ranks: (nullable): which processes, such as "0-3,7"; %NULL for all
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Asks where the processes of a job are.
 *
 * Returns: (transfer full): a value of type a(uuussss): rank, application, local rank, node, cpuset, object, note of
 *   each process; %NULL on error, %DVM_ERROR_NOT_READY before the job is mapped
 * Since: 0.1
 */
GVariant *
dvm_client_map_job (DvmClient *self, DvmJob *job, const char *ranks, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (DVM_IS_JOB (job), NULL);

  dvm_client_map_job_async (self, job, ranks, cancellable, _dvm_sync_done, &sync);
  return dvm_client_map_job_finish (self, _dvm_sync_wait (&sync), error);
}
