/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

/* Events: what clients tell others, and what is told to clients. */

/*
 * On PMIx's thread: a client tells others of an event. info is the library's until callback has been called, on its
 * thread.
 */
pmix_status_t dvmd_pmix_upcall_event (pmix_status_t status, const pmix_proc_t *source, pmix_data_range_t range,
                                      const pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t callback,
                                      void *callback_data);

/* It has come from a client of this server: the library puts a mark behind such an event, and drops what has it
 * already. */
gboolean dvmd_pmix_event_is_of_client (const pmix_info_t info[], size_t n_info);
/*
 * The notify_event of the host: the library has told its clients of the event. That is the way of those of a library
 * that finds its own function before ours (dvmd-pmix-intercept.c), or that is not known.
 */
pmix_status_t dvmd_pmix_upcall_told_event (pmix_status_t status, const pmix_proc_t *source, pmix_data_range_t range,
                                           pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t callback,
                                           void *callback_data);

/* dvmd-pmix-notify.c */
/* Clients of this server have been told of what that one tells, by the library. */
void dvmd_pmix_server_note_told (DvmdPmixServer *self, const pmix_proc_t *source);
/* An audience is what is known of the ranks that a job has here: those that have connected, and what waits for others.
 */
typedef struct _DvmdPmixAudience DvmdPmixAudience;

DvmdPmixAudience *dvmd_pmix_audience_new (void);
void dvmd_pmix_audience_free (DvmdPmixAudience *self);
/* The rank, or a tool with its environment, has called PMIx_Init: it is told what it has missed. */
void dvmd_pmix_server_rank_connected (DvmdPmixServer *self, const pmix_proc_t *proc);
/* It has finalized, or its connection is lost: the library would keep events for it that nobody takes. */
void dvmd_pmix_server_rank_left (DvmdPmixServer *self, const pmix_proc_t *proc);
void dvmd_pmix_server_notify_event (DvmdPmix *pmix, int status, const DvmdPmixProc *source, const DvmdPmixProc *targets,
                                    guint n_targets, GVariant *details);

G_END_DECLS
