/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table of sessions, for two verbs.
 */

#pragma once

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* Returns the exit status. */
int dvm_cli_list_sessions (DvmCli *cli, GError **error);

G_END_DECLS
