/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Data of other ranks is fetched for direct modex, and open requests are answered or failed.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-modex.h"

#include "dvm.h"
#include "dvmd-pmix-forget.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-missed.h"
#include "dvmd-pmix-private.h"

#include <string.h>

void
dvmd_pmix_request_free (gpointer request)
{
  g_free (((DvmdPmixRequest *)request)->nspace);
  g_free (request);
}

guint64
dvmd_pmix_server_add_request (DvmdPmixServer *self, const char *nspace, pmix_modex_cbfunc_t callback,
                              void *callback_data)
{
  DvmdPmixRequest *request = g_new0 (DvmdPmixRequest, 1);

  request->token = ++self->last_token;
  request->nspace = g_strdup (nspace);
  request->callback = callback;
  request->callback_data = callback_data;
  g_hash_table_insert (self->tokens, &request->token, request);
  return request->token;
}

gboolean
dvmd_pmix_server_has_request (DvmdPmixServer *self, const void *callback_data)
{
  GHashTableIter iter;
  gpointer request;

  g_hash_table_iter_init (&iter, self->tokens);
  while (g_hash_table_iter_next (&iter, NULL, &request))
    if (((DvmdPmixRequest *)request)->callback_data == callback_data)
      return TRUE;
  return FALSE;
}

static void
release_bytes (void *data)
{
  g_bytes_unref (data);
}

void
dvmd_pmix_server_answer (DvmdPmixServer *self, guint64 token, int status, GBytes *data)
{
  DvmdPmixRequest *request = g_hash_table_lookup (self->tokens, &token);
  gconstpointer bytes = NULL;
  gsize size = 0;

  if (request == NULL)
    {
      g_debug ("Answer %" G_GUINT64_FORMAT " comes too late", token);
      return;
    }
  if (request->nspace != NULL && status != PMIX_SUCCESS)
    dvmd_pmix_server_note_unknown (self, request->nspace);
  if (data != NULL)
    {
      bytes = g_bytes_get_data (data, &size);
      g_bytes_ref (data);
    }
  request->callback (status, bytes, size, request->callback_data, data != NULL ? release_bytes : NULL, data);
  g_hash_table_remove (self->tokens, &token);
}

void
dvmd_pmix_server_fail_requests (DvmdPmixServer *self, const char *nspace)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->tokens);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      DvmdPmixRequest *request = value;

      if (g_strcmp0 (request->nspace, nspace) != 0)
        continue;
      request->callback (PMIX_ERR_NOT_FOUND, NULL, 0, request->callback_data, NULL, NULL);
      g_hash_table_iter_remove (&iter);
    }
}

void
dvmd_pmix_server_complete (DvmdPmix *pmix, guint64 token, int status, GBytes *data)
{
  dvmd_pmix_server_answer (DVMD_PMIX_SERVER (pmix), token, status, data);
}

static void
on_modex_done (DvmdPmixServer *server, GTask *task, int status, GBytes *data)
{
  if (status != PMIX_SUCCESS)
    g_task_return_error (task, dvmd_pmix_error_new (status, "The rank's data could not be had"));
  else
    g_task_return_pointer (task, g_bytes_ref (data), (GDestroyNotify)g_bytes_unref);
}

/* On PMIx's thread; the data is the library's. */
static void
on_modex (pmix_status_t status, char *data, size_t size, void *user_data)
{
  DvmdPmixOperation *operation = user_data;

  operation->data = g_bytes_new (data, size);
  dvmd_pmix_operation_step (status, operation);
}

/* ---- ranks that have gone ---- */

static void
refuse_fetch (GTask *task, const pmix_proc_t *proc)
{
  g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_FOUND, "Rank %u of job %s has ended, and has put nothing",
                           proc->rank, proc->nspace);
}

static gboolean
wants (GTask *task, const pmix_proc_t *proc)
{
  return g_task_get_source_tag (task) == dvmd_pmix_server_fetch_modex_async
         && PMIX_CHECK_PROCID ((const pmix_proc_t *)g_task_get_task_data (task), proc);
}

/* The library waits for data of a rank that will put none any more, and cannot be told. */
static void
refuse_fetches (DvmdPmixServer *self, const pmix_proc_t *proc)
{
  DvmdPmixServerJob *job = g_hash_table_lookup (self->jobs, proc->nspace);
  GHashTableIter iter;
  gpointer task;

  g_hash_table_iter_init (&iter, self->tasks);
  while (g_hash_table_iter_next (&iter, &task, NULL))
    {
      if (!wants (task, proc))
        continue;
      g_hash_table_iter_steal (&iter);
      g_hash_table_add (self->answered, task);
      refuse_fetch (task, proc);
      if (job != NULL)
        g_hash_table_insert (job->gone, GUINT_TO_POINTER (proc->rank), GINT_TO_POINTER (TRUE));
    }
}

typedef struct
{
  pmix_proc_t proc;
  guint n_pings; /* that have been answered */
} Farewell;

/*
 * The library's thread has done what it had to do before the first one, and has looked at its connections between the
 * two: what the rank had put when it ended is there.
 */
static void
on_pinged (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Farewell *farewell = user_data;
  gboolean answered = g_task_propagate_boolean (G_TASK (result), NULL);

  if (answered && ++farewell->n_pings < 2)
    {
      dvmd_pmix_ping_async (DVMD_PMIX (source), on_pinged, farewell);
      return;
    }
  if (answered)
    refuse_fetches (DVMD_PMIX_SERVER (source), &farewell->proc);
  g_free (farewell);
}

static void
end_fetches (DvmdPmixServer *self, const pmix_proc_t *proc)
{
  Farewell *farewell = g_new0 (Farewell, 1);

  farewell->proc = *proc;
  dvmd_pmix_ping_async (DVMD_PMIX (self), on_pinged, farewell);
}

void
dvmd_pmix_server_note_gone (DvmdPmixServer *self, const char *nspace, guint32 rank)
{
  DvmdPmixServerJob *job = g_hash_table_lookup (self->jobs, nspace);
  GHashTableIter iter;
  gpointer task;
  pmix_proc_t proc;

  if (job == NULL)
    return;
  g_hash_table_insert (job->gone, GUINT_TO_POINTER (rank), GINT_TO_POINTER (FALSE));
  PMIX_LOAD_PROCID (&proc, nspace, rank);
  dvmd_pmix_miss (&proc);
  g_hash_table_iter_init (&iter, self->tasks);
  while (g_hash_table_iter_next (&iter, &task, NULL))
    if (wants (task, &proc))
      {
        end_fetches (self, &proc);
        return;
      }
}

void
dvmd_pmix_server_fetch_modex_async (DvmdPmix *pmix, const char *nspace, guint32 rank, GAsyncReadyCallback callback,
                                    gpointer user_data)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (pmix);
  g_autoptr (GTask) task = dvmd_pmix_server_new_task (self, dvmd_pmix_server_fetch_modex_async, callback, user_data);
  DvmdPmixServerJob *job = g_hash_table_lookup (self->jobs, nspace);
  DvmdPmixOperation *operation;
  gpointer silent = NULL;
  gboolean gone;
  pmix_proc_t proc;

  if (task == NULL)
    return;
  PMIX_LOAD_PROCID (&proc, nspace, rank);
  gone = job != NULL && g_hash_table_lookup_extended (job->gone, GUINT_TO_POINTER (rank), NULL, &silent);
  if (silent != NULL)
    {
      refuse_fetch (task, &proc);
      return;
    }
  g_task_set_task_data (task, g_memdup2 (&proc, sizeof proc), g_free);
  operation = dvmd_pmix_operation_new (self, task, 1, on_modex_done);
  dvmd_pmix_operation_called (operation, PMIx_server_dmodex_request (&proc, on_modex, operation));
  if (gone)
    end_fetches (self, &proc);
}

GBytes *
dvmd_pmix_server_fetch_modex_finish (DvmdPmix *pmix, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
