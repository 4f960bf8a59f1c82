/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The way of an upcall from PMIx's thread to the main context.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-upcall.h"

#include "dvmd-pmix-counter.h"

static DvmdPmixQueue *current_queue;
static pmix_nspace_t current_nspace;
static gboolean intercepted;
static DvmdPmixCounter *current_counter; /* (nullable) */

void
dvmd_pmix_upcall_set_queue (DvmdPmixQueue *queue, const char *nspace)
{
  PMIX_LOAD_NSPACE (current_nspace, nspace);
  g_clear_pointer (&current_queue, dvmd_pmix_queue_unref);
  if (queue != NULL)
    current_queue = dvmd_pmix_queue_ref (queue);
}

DvmdPmixQueue *
dvmd_pmix_upcall_get_queue (void)
{
  return current_queue;
}

const char *
dvmd_pmix_upcall_get_nspace (void)
{
  return current_nspace;
}

void
dvmd_pmix_upcall_set_counter (DvmdPmixCounter *counter)
{
  g_atomic_pointer_set (&current_counter, counter);
}

void
dvmd_pmix_upcall_count_client (const pmix_proc_t *proc)
{
  DvmdPmixCounter *counter = g_atomic_pointer_get (&current_counter);

  if (counter != NULL)
    dvmd_pmix_counter_add_client (counter, proc->nspace, proc->rank);
}

void
dvmd_pmix_upcall_post_item (DvmdPmixItem *item)
{
  dvmd_pmix_queue_post (current_queue, item);
}

void
dvmd_pmix_upcall_note_intercepted (void)
{
  intercepted = TRUE;
}

gboolean
dvmd_pmix_upcall_is_intercepted (void)
{
  return intercepted;
}

static void
answer_done (const DvmdPmixCall *call, int status, GVariant *answer)
{
  call->callback.done (status, call->callback_data);
}

static void
upcall_free (DvmdPmixItem *item)
{
  g_free (item);
}

static void
upcall_run (DvmdPmixItem *item, gpointer owner)
{
  const DvmdPmixUpcall *self = (const DvmdPmixUpcall *)item;
  g_autoptr (DvmdPmixServer) server = g_object_ref (owner);

  self->run (server, self);
  upcall_free (item);
}

void
dvmd_pmix_upcall_post (const DvmdPmixUpcall *captured)
{
  DvmdPmixUpcall *self = g_memdup2 (captured, sizeof *captured);

  self->item.run = upcall_run;
  self->item.free = upcall_free;
  if (self->call.answer == NULL)
    self->call.answer = answer_done;
  self->call.nspace = self->proc.nspace;
  dvmd_pmix_upcall_post_item (&self->item);
}
