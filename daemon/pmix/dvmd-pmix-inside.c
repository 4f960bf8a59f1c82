/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reading requests of clients, and answering them, with the functions of libpmix's own inside.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-inside.h"

pmix_status_t
dvmd_pmix_inside_read_items (pmix_peer_t *peer, pmix_buffer_t *buffer, gpointer *items, gsize *n, gsize size,
                             pmix_data_type_t type)
{
  pmix_status_t status;
  int32_t count = 1;

  PMIX_BFROPS_UNPACK (status, peer, buffer, n, &count, PMIX_SIZE);
  if (status != PMIX_SUCCESS || *n == 0)
    return status;
  /* Each takes a byte at least. */
  if (*n > buffer->bytes_used)
    {
      *n = 0;
      return PMIX_ERR_BAD_PARAM;
    }
  *items = calloc (*n, size);
  if (*items == NULL)
    {
      *n = 0;
      return PMIX_ERR_NOMEM;
    }
  count = (int32_t)*n;
  PMIX_BFROPS_UNPACK (status, peer, buffer, *items, &count, type);
  return status == PMIX_SUCCESS && (gsize)count != *n ? PMIX_ERR_BAD_PARAM : status;
}

pmix_status_t
dvmd_pmix_inside_send (pmix_peer_t *peer, guint32 tag, pmix_buffer_t *buffer, pmix_status_t packed)
{
  pmix_status_t status = packed;

  if (status == PMIX_SUCCESS)
    PMIX_SERVER_QUEUE_REPLY (status, peer, tag, buffer);
  /* Its process has gone. */
  if (status != PMIX_SUCCESS)
    PMIX_RELEASE (buffer);
  return status;
}

pmix_status_t
dvmd_pmix_inside_answer (pmix_peer_t *peer, guint32 tag, pmix_status_t said)
{
  pmix_buffer_t *buffer = PMIX_NEW (pmix_buffer_t);
  pmix_status_t status;

  PMIX_BFROPS_PACK (status, peer, buffer, &said, 1, PMIX_STATUS);
  return dvmd_pmix_inside_send (peer, tag, buffer, status);
}

/* ---- processes that meet ---- */

pmix_status_t
dvmd_pmix_meeting_read (DvmdPmixMeeting *self, pmix_peer_t *peer, pmix_buffer_t *buffer)
{
  gpointer procs = NULL;
  gpointer info = NULL;
  pmix_status_t status;

  status = dvmd_pmix_inside_read_items (peer, buffer, &procs, &self->n_procs, sizeof (pmix_proc_t), PMIX_PROC);
  self->procs = procs;
  self->rest = buffer->unpack_ptr;
  if (status == PMIX_SUCCESS)
    status = dvmd_pmix_inside_read_items (peer, buffer, &info, &self->n_info, sizeof (pmix_info_t), PMIX_INFO);
  self->info = info;
  return status;
}

void
dvmd_pmix_meeting_clear (DvmdPmixMeeting *self)
{
  free (self->procs);
  for (gsize i = 0; i < self->n_info; i++)
    PMIX_INFO_DESTRUCT (&self->info[i]);
  free (self->info);
}

pmix_status_t
dvmd_pmix_meeting_check (const DvmdPmixMeeting *self, const char *key)
{
  for (gsize i = 0; i < self->n_info; i++)
    {
      const pmix_info_t *info = &self->info[i];

      if ((info->flags & PMIX_INFO_REQD) == 0 || PMIX_CHECK_KEY (info, PMIX_TIMEOUT)
          || (key != NULL && PMIX_CHECK_KEY (info, key)))
        continue;
      g_message ("%s is required where processes meet, and not heeded there", info->key);
      return PMIX_ERR_NOT_SUPPORTED;
    }
  return PMIX_SUCCESS;
}

gboolean
dvmd_pmix_is_singleton (const pmix_proc_t *proc)
{
  return g_str_has_prefix (proc->nspace, "singleton.");
}
