/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-gates.h"
#include "dvmd-pmix-queue.h"

G_BEGIN_DECLS

/* For PMIx's thread, which has no user pointer: where the calls go, and whose they are. */

/* queue (nullable): NULL after the library's end. nspace: of the DVM itself */
void dvmd_pmix_post_set_queue (DvmdPmixQueue *queue, const char *nspace);
/* To be run on the main context. */
void dvmd_pmix_post (DvmdPmixItem *item);
/* FALSE: that job is not known, and item is not taken. */
gboolean dvmd_pmix_post_about (DvmdPmixItem *item, const char *nspace);
/* Whether that is the namespace of the DVM itself. */
gboolean dvmd_pmix_post_is_own (const char *nspace);
/* NSPACE@NUMBER: whether that is a job of the DVM's, of which a program may have a rank's environment. */
gboolean dvmd_pmix_post_is_job (const char *nspace);
/* The library has called the function for events that stands before its own. */
void dvmd_pmix_post_note_intercepted (void);
gboolean dvmd_pmix_post_is_intercepted (void);

G_END_DECLS
