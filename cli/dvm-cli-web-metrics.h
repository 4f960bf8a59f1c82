/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The state of a DVM as Prometheus reads it: the text format 0.0.4. No function here needs the network.
 */

#pragma once

#include "dvm-cli-web-state.h"

G_BEGIN_DECLS

#define DVM_CLI_WEB_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* (transfer full): the metrics; of a DVM that is not connected, or does not answer, "dvm_up 0" and no numbers of it */
char *dvm_cli_web_metrics_format (DvmCliWatchModel *model, const DvmCliWebFacts *facts);

G_END_DECLS
