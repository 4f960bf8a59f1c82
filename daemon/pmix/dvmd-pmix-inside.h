/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Requests of clients as libpmix's server gets them, for the files that stand before its functions and have the headers
 * of its inside.
 */

#pragma once

#include "dvmd-pmix-gates.h"

#include <glib.h>

#include "src/include/pmix_globals.h"
#include "src/mca/bfrops/bfrops.h"
#include "src/server/pmix_server_ops.h"

G_BEGIN_DECLS

/* A number, and so many items: (out) (transfer full), which are the caller's whatever the status is. */
pmix_status_t dvmd_pmix_inside_read_items (pmix_peer_t *peer, pmix_buffer_t *buffer, gpointer *items, gsize *n,
                                           gsize size, pmix_data_type_t type);
/* buffer: (transfer full). packed: what has come of packing the answer into it */
pmix_status_t dvmd_pmix_inside_send (pmix_peer_t *peer, guint32 tag, pmix_buffer_t *buffer, pmix_status_t packed);
pmix_status_t dvmd_pmix_inside_answer (pmix_peer_t *peer, guint32 tag, pmix_status_t said);

/* A request for processes to meet: a fence, a connect, a disconnect. */
typedef struct
{
  pmix_proc_t *procs;
  gsize n_procs;
  char *rest; /* of the buffer, behind the processes */
  pmix_info_t *info;
  gsize n_info;
} DvmdPmixMeeting;

/* To be cleared whatever the status is. The buffer is read as far as that. */
pmix_status_t dvmd_pmix_meeting_read (DvmdPmixMeeting *self, pmix_peer_t *peer, pmix_buffer_t *buffer);
void dvmd_pmix_meeting_clear (DvmdPmixMeeting *self);
/* PMIX_ERR_NOT_SUPPORTED: something is required beside what all of them heed, and key (nullable). */
pmix_status_t dvmd_pmix_meeting_check (const DvmdPmixMeeting *self, const char *key);
/*
 * Its program calls itself singleton.HOST.PID, and has another name for the server (dvmd-agent-tools.c), which waits
 * for a job of that name for ever.
 */
gboolean dvmd_pmix_is_singleton (const pmix_proc_t *proc);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdPmixMeeting, dvmd_pmix_meeting_clear)

G_END_DECLS
