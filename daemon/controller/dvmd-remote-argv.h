/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-config.h"

G_BEGIN_DECLS

/*
 * An agent reads no files of settings: what it has to know it is told. None of it is secret. addresses: of the
 * controller; runtime_dir (nullable): NULL: the agent is on another machine; topology (nullable): a file. (transfer
 * full)
 */
char **dvmd_remote_make_argv (DvmdConfig *config, const char *const *addresses, const char *runtime_dir,
                              const char *topology, gboolean logical, GError **error);

G_END_DECLS
