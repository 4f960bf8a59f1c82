/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Requests for nodes made of the options of a command line: those of grow, shrink and session.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* Options of grow and session: the owner of the nodes, for how long, and what becomes of them. */
extern const DvmCliOption dvm_cli_allocation_options[];

/* Checks what can be checked without a DVM: FALSE with a sentence in DVM_CLI_USAGE_ERROR */
gboolean dvm_cli_request_check (DvmCliArgs *args, GError **error);

/*
 * Puts what the options say (those of them that were given) into request, under the keys of the bus. client: finds the
 * session of --session.
 */
gboolean dvm_cli_request_fill (GVariantDict *request, DvmCliArgs *args, DvmClient *client, GError **error);

G_END_DECLS
