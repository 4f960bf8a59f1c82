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

G_END_DECLS
