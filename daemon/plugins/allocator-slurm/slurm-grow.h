/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/*
 * Makes a job of Slurm larger by so many nodes, and tells their names: by a job that waits for them (salloc
 * --dependency=expand), whose nodes the first one gets. Cancelled or failed, it leaves no such job behind.
 */
void slurm_grow_async (DvmdPluginHost *host, const char *job, guint count, GCancellable *cancellable,
                       GAsyncReadyCallback callback, gpointer user_data);
/* (transfer full) (nullable): NULL with DVM_ERROR_ALLOC_FAILED, which has Slurm's own words. The job has the nodes also
 * when it was cancelled as the last step was done. */
char **slurm_grow_finish (GAsyncResult *result, GError **error);

/* (transfer full): the variables of the DVM without those of its job, which commands of Slurm would take for options */
char **slurm_get_environ (void);
/* (transfer full): what a command of Slurm has said, in one line */
char *slurm_get_words (const DvmdPluginOutcome *outcome);

G_END_DECLS
