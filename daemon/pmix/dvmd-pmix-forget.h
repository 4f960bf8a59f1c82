/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

void dvmd_pmix_server_deregister_job_async (DvmdPmix *pmix, const char *nspace, GAsyncReadyCallback callback,
                                            gpointer user_data);
/* Before it is answered that there is nothing of that job, unless it has ranks here. */
void dvmd_pmix_server_note_unknown (DvmdPmixServer *self, const char *nspace);

G_END_DECLS
