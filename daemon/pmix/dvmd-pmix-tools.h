/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

/* (nullable): it wants to be given a name. From any thread. */
const char *dvmd_pmix_read_claim (const pmix_info_t *info, gsize n_info, guint32 *rank);
/* Whether it is a name that a node has given to a tool. From any thread. */
gboolean dvmd_pmix_is_tool (const char *nspace);
/* (transfer full): where the library is to write what its address is */
char *dvmd_pmix_server_build_report_path (DvmdPmixServer *self);
/* The library has been started: where it listens. */
void dvmd_pmix_server_find_port (DvmdPmixServer *self, const DvmdPmixSettings *settings);
/* The library has been started: from now on tools find a way in, by that file. */
gboolean dvmd_pmix_server_let_tools_in (DvmdPmixServer *self, const char *path, GError **error);
/*
 * Whether somebody is connected who is not ours: then the request of this client may be his. It is refused first, and
 * then he is shown the door: the library cannot bear to answer one that has gone.
 */
gboolean dvmd_pmix_server_is_among_strangers (DvmdPmixServer *self, const pmix_proc_t *client);
void dvmd_pmix_server_expel_strangers (DvmdPmixServer *self);
void dvmd_pmix_server_connect_tool (DvmdPmixServer *self, const pmix_info_t *info, gsize n_info,
                                    pmix_tool_connection_cbfunc_t callback, void *callback_data);

G_END_DECLS
