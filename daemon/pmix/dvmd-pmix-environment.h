/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * The variables that MPI libraries need in their environment, unless the user says otherwise. n_local: ranks of the job
 * on this node, n_pus: hardware threads they share, shm (nullable): where their segments go.
 */
char **dvmd_pmix_build_default_environment (guint n_local, guint n_pus, const char *shm);

/* Makes the changes of the environment that the start of the server needs, before there are threads. */
void dvmd_pmix_prepare_environment (const char *gds);

/*
 * How clients prove who they are: "native" leaves it to the library, "munge" lets it take nothing else. FALSE: there is
 * no munged here that would answer.
 */
gboolean dvmd_pmix_prepare_security (const char *security, GError **error);

G_END_DECLS
