/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Finding the DVM that the options name.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* (transfer full): names of the DVMs of this user that run, parted by blanks, without the one that is meant; "" for
 * none */
char *dvm_cli_list_others (DvmCli *cli);
/* A client for what the options name, not connected yet. */
DvmClient *dvm_cli_client_new (DvmCli *cli);
/* The same, connected; the error says how to start one. */
DvmClient *dvm_cli_connect (DvmCli *cli, GError **error);
/* cancellable (nullable): a way to give up */
DvmClient *dvm_cli_connect_cancellable (DvmCli *cli, GCancellable *cancellable, GError **error);
/* Meanwhile the main loop runs; when nothing answers for some seconds a note says so. */
gboolean dvm_cli_connect_client (DvmCli *cli, DvmClient *client, GCancellable *cancellable, GError **error);
/* As dvm_cli_connect_cancellable(), with the error as it comes. It tries again as often as the options say. */
DvmClient *dvm_cli_reach (DvmCli *cli, GCancellable *cancellable, GError **error);
/* Makes of a failure to connect the sentence for people. */
void dvm_cli_explain_connect (DvmCli *cli, GError **error);
/* Says so when a DVM with these properties is of another version than this program. */
void dvm_cli_note_version (DvmCli *cli, GVariant *properties);
/* The same of the DVM that the options name, when it does not know an option of a request. */
void dvm_cli_explain_unknown (DvmCli *cli, const GError *error);
/* Adds how the DVM that was there has ended, if that is known and was not well. */
void dvm_cli_explain_end (DvmCli *cli, GError **error);
/* TRUE when the caller has named a DVM: then none of our own is put in its place */
gboolean dvm_cli_is_chosen (DvmCli *cli);

/* (transfer full): the path of the private socket that the options name */
char *dvm_cli_socket_path (DvmCli *cli);

G_END_DECLS
