/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A job that is placed is shown by the words of --display.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-display.h"

G_BEGIN_DECLS

typedef struct _DvmCliReport DvmCliReport;

/*
 * Whether the DVM has the nodes that the words name, if they name some, and spec, of the job, adds none. is_private:
 * the DVM may not be ready yet and is waited for. DVM_CLI_USAGE_ERROR
 */
gboolean dvm_cli_report_check_nodes (DvmClient *client, const DvmCliDisplay *display, DvmJobSpec *spec,
                                     gboolean is_private, GCancellable *cancellable, GError **error);

/*
 * Asks for all that the words need, at once: a private DVM leaves with its job. When all of it is there it is printed,
 * from the main loop. display has to live as long.
 */
DvmCliReport *dvm_cli_report_new (DvmCli *cli, DvmClient *client, DvmJob *job, const DvmCliDisplay *display);
void dvm_cli_report_free (DvmCliReport *self);
gboolean dvm_cli_report_is_done (DvmCliReport *self);
/* Whether the job had no map when it was asked for: nothing is printed then, and another report has to be made. */
gboolean dvm_cli_report_is_early (DvmCliReport *self);
/* Whether some of it could not be written, which has been told. */
gboolean dvm_cli_report_is_lost (DvmCliReport *self);
/* FALSE of one that is done: it was early, or it has been told why not. */
gboolean dvm_cli_report_is_shown (DvmCliReport *self);

G_END_DECLS
