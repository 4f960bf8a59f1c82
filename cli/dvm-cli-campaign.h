/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Changes of the size of the DVM, as several verbs ask for them.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* dvm_client_grow() or dvm_client_shrink() */
typedef gboolean (*DvmCliChange) (DvmClient *client, GVariant *request, GCancellable *cancellable, char **alloc_id,
                                  DvmCampaign **campaign, GError **error);

/*
 * Asks for the change with what the options say (those of them that the verb has), prints what it got, and follows the
 * campaign with --wait. Returns the exit status.
 */
int dvm_cli_change_size (DvmCli *cli, DvmCliChange change, GError **error);
/*
 * The same with a request that is made already. unchanged: what is said when no campaign follows; (nullable): nothing.
 * calls_off: that the campaign fails is what is wanted
 */
gboolean dvm_cli_change_and_follow (DvmCli *cli, DvmClient *client, DvmCliChange change, GVariant *request,
                                    const char *unchanged, gboolean calls_off, GError **error);

G_END_DECLS
