/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/*
 * @allocation: the nodes of the job, or of the instance, that the DVM is in
 * @ranks: name of a node in lower case -> its rank, as "flux exec" takes it: that of a broker in an instance, of a node
 *   in a job
 * @expiration: when that ends, in seconds since the epoch; 0: without a limit
 */
typedef struct
{
  DvmdAllocation *allocation;
  GHashTable *ranks;
  gint64 expiration;
} FluxJob;

void flux_job_free (FluxJob *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FluxJob, flux_job_free)

/* Whether this environment is of an instance of Flux, or of a job in it. */
gboolean flux_job_is_there (const char *const *environ);

/* (nullable): the id of the job that this environment is of; NULL: it is of the first program of an instance */
const char *flux_job_find_id (const char *const *environ);

/* The command that says the resource set. job (nullable): NULL: the DVM is in the first program of an instance, not in
 * a job of it. (transfer full) */
char **flux_job_make_argv (const char *job);

/* Seconds that the setting "timeout" may be. */
#define FLUX_JOB_MOST_TIMEOUT 3600

/* Asks the command flux. plugin: "KIND-NAME", for messages; its setting "timeout" says how long that may take */
void flux_job_ask_async (DvmdPluginHost *host, const char *plugin, GCancellable *cancellable,
                         GAsyncReadyCallback callback, gpointer user_data);
/* (transfer full) (nullable): NULL with an error */
FluxJob *flux_job_ask_finish (GAsyncResult *result, GError **error);

G_END_DECLS
