/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which DVM is meant, as prun and pterm say it.
 */

#pragma once

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

extern const DvmCliOption dvm_cli_which_options[];

/* A DVM that these options name is found, and is then that of --socket or --bus. FALSE when there is none. */
gboolean dvm_cli_which_resolve (DvmCli *cli, GError **error);

/* (transfer full): what a file of --report-uri has, and --dvm-uri takes: the D-Bus address of a private socket */
char *dvm_cli_which_uri (const char *socket);

G_END_DECLS
