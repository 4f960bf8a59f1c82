/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs that the library is to forget. What it keeps of questions about their ranks goes with them, and an answer that
 * comes after that makes it (libpmix 4.2.2) free that twice, and hang: all are answered before, and while it is on its
 * way nobody asks.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-forget.h"

#include "dvm.h"
#include "dvmd-log.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-groups.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-modex.h"
#include "dvmd-pmix-private.h"

/* Comes to the main context behind all that was asked about the job. */
typedef struct
{
  DvmdPmixItem item;
  DvmdPmixOperation *operation;
  pmix_nspace_t nspace;
  gboolean unknown; /* there was nothing of it here */
} Forget;

/* The server has been stopped. */
static void
forget_free (DvmdPmixItem *item)
{
  Forget *self = (Forget *)item;

  dvmd_pmix_operation_step (PMIX_ERR_UNREACH, self->operation);
  g_free (self);
}

static void
forget_run (DvmdPmixItem *item, gpointer owner)
{
  DvmdPmixServer *server = owner;
  Forget *self = (Forget *)item;

  /* The job has been registered after all. */
  if (self->unknown && g_hash_table_contains (server->jobs, self->nspace))
    {
      dvmd_pmix_operation_step (PMIX_SUCCESS, self->operation);
      g_free (self);
      return;
    }
  dvmd_pmix_server_fail_requests (server, self->nspace);
  /* Of those that were killed while they waited the library keeps what it has until they are answered. */
  dvmd_pmix_server_fail_calls (server, self->nspace);
  dvmd_pmix_groups_forget (self->nspace);
  PMIx_server_deregister_nspace (self->nspace, dvmd_pmix_operation_step, self->operation);
  g_free (self);
}

/* Takes task, and gives it nspace as its data. */
static void
forget_job (DvmdPmixServer *self, const char *nspace, gboolean unknown, GTask *task, DvmdPmixOperationDone done)
{
  Forget *item = g_new0 (Forget, 1);

  g_task_set_task_data (task, g_strdup (nspace), g_free);
  item->item.run = forget_run;
  item->item.free = forget_free;
  item->operation = dvmd_pmix_operation_new (self, task, 1, done);
  item->unknown = unknown;
  PMIX_LOAD_NSPACE (item->nspace, nspace);
  dvmd_pmix_queue_bar (self->queue, nspace);
  dvmd_pmix_queue_post (self->queue, &item->item);
  g_object_unref (task);
}

/* ---- jobs that nobody has here ---- */

static void
on_noted (pmix_status_t status, void *data)
{
  pmix_info_t *info = data;

  PMIX_INFO_FREE (info, 1);
}

/*
 * The library makes a place for what it is answered about a job, and whoever asks for that job then is to wait until
 * its ranks have come. So it is told that none will.
 */
void
dvmd_pmix_server_note_unknown (DvmdPmixServer *self, const char *nspace)
{
  pmix_info_t *info;
  pmix_nspace_t name;

  if (g_hash_table_contains (self->jobs, nspace) || !g_hash_table_add (self->unknown, g_strdup (nspace)))
    return;
  PMIX_INFO_CREATE (info, 1);
  PMIX_INFO_LOAD (info, PMIX_REGISTER_NODATA, NULL, PMIX_BOOL);
  PMIX_LOAD_NSPACE (name, nspace);
  if (PMIx_server_register_nspace (name, 0, info, 1, on_noted, info) != PMIX_SUCCESS)
    on_noted (PMIX_ERROR, info);
}

static void
on_unknown_forgotten (DvmdPmixServer *self, GTask *task, int status, GBytes *data)
{
  dvmd_pmix_queue_unbar (self->queue, g_task_get_task_data (task));
  g_task_return_boolean (task, TRUE);
}

/* No rank is left that may ask again soon. */
static void
forget_unknown (DvmdPmixServer *self)
{
  GHashTableIter iter;
  gpointer nspace;

  g_hash_table_iter_init (&iter, self->unknown);
  while (g_hash_table_iter_next (&iter, &nspace, NULL))
    {
      forget_job (self, nspace, TRUE, g_task_new (self, NULL, NULL, NULL), on_unknown_forgotten);
      g_hash_table_iter_remove (&iter);
    }
}

/* ---- jobs that have ended ---- */

static void
on_deregistered (DvmdPmixServer *self, GTask *task, int status, GBytes *data)
{
  const char *nspace = g_task_get_task_data (task);

  /* The library reports what its stores say, which is of no use to anybody. */
  if (status != PMIX_SUCCESS)
    dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, nspace, "deregistering: %s", PMIx_Error_string (status));
  dvmd_pmix_queue_unbar (self->queue, nspace);
  dvmd_pmix_dirs_remove_job (self->dirs, nspace);
  g_hash_table_remove (self->jobs, nspace);
  g_hash_table_remove (self->unknown, nspace);
  if (g_hash_table_size (self->jobs) == 0)
    forget_unknown (self);
  g_task_return_boolean (task, TRUE);
}

void
dvmd_pmix_server_deregister_job_async (DvmdPmix *pmix, const char *nspace, GAsyncReadyCallback callback,
                                       gpointer user_data)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (pmix);
  g_autoptr (GTask) task = dvmd_pmix_server_new_task (self, dvmd_pmix_server_deregister_job_async, callback, user_data);

  if (task == NULL)
    return;
  if (g_hash_table_contains (self->jobs, nspace))
    forget_job (self, nspace, FALSE, g_steal_pointer (&task), on_deregistered);
  else
    g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_FOUND, "The PMIx server knows no job %s", nspace);
}
