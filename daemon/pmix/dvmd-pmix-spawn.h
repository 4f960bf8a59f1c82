/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

/* info, apps: until it is answered */
void dvmd_pmix_server_spawn (DvmdPmixServer *self, const pmix_proc_t *proc, const pmix_info_t *info, gsize n_info,
                             const pmix_app_t *apps, gsize n_apps, pmix_spawn_cbfunc_t callback, void *callback_data);
/*
 * (transfer full) (nullable): (aa{sv}a{sv}), the arguments of SubmitApps; with applications that are jobs of their own
 * (PMIX_COSPAWN_APP, or PMIX_DEBUGGER_DAEMONS of some) its options have DVMD_SPAWN_WITH
 */
GVariant *dvmd_pmix_read_spawn (const pmix_info_t *info, gsize n_info, const pmix_app_t *apps, gsize n_apps,
                                DvmdPmixAttributes *attributes, GError **error);
/* Likewise, of one job. target: "" or DVMD_SPAWN_BESIDE's job, which its daemons are beside */
GVariant *dvmd_pmix_read_job (const pmix_info_t *info, gsize n_info, const pmix_app_t *apps, gsize n_apps,
                              const char *target, DvmdPmixAttributes *attributes, GError **error);

G_END_DECLS
