/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sessions found and shown, for several verbs.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* (transfer full): reference: the id of an allocation, a number, an object path, or the id of a request */
DvmSession *dvm_cli_find_session (DvmClient *client, const char *reference, GError **error);
/* The same; meanwhile the main context runs. */
DvmSession *dvm_cli_find_session_waiting (DvmClient *client, const char *reference, GCancellable *cancellable,
                                          GError **error);
/* The table; returns the exit status. */
int dvm_cli_list_sessions (DvmCli *cli, GError **error);
gboolean dvm_cli_show_session (DvmCli *cli, DvmSession *session, GError **error);

G_END_DECLS
