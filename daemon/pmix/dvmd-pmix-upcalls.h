/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-gates.h"
#include "dvmd-pmix-queue.h"

G_BEGIN_DECLS

/* dvmd-pmix-upcalls.c: the module that the library calls; queue is where the calls go, NULL after the library's end. */
pmix_server_module_t *dvmd_pmix_upcalls_set_queue (DvmdPmixQueue *queue, const char *nspace);
void dvmd_pmix_upcalls_watch_clients (void);
/* Whether that is the namespace of the DVM itself. */
gboolean dvmd_pmix_upcalls_is_own (const char *nspace);
/* From PMIx's thread: to be run on the main context. */
void dvmd_pmix_upcalls_post (DvmdPmixItem *item);

/* On PMIx's thread: the library calls the function for events that stands before its own (dvmd-pmix-intercept.c). */
void dvmd_pmix_upcalls_note_intercepted (void);
gboolean dvmd_pmix_upcalls_are_intercepted (void);

G_END_DECLS
