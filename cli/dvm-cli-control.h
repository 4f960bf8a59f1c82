/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A session told what to do: paused, resumed, ended, ...
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* For whom, beside the one session: every one that the caller controls */
#define DVM_CLI_ALL_SESSIONS G_MAXUINT32

/*
 * operation: "pause", "resume", "preempt", "restore", "signal", "terminate" or "separate"; what else it takes is in the
 * options job, signal and undo. With --wait, terminate ends when the sessions have.
 */
gboolean dvm_cli_control_session (DvmCli *cli, DvmClient *client, guint id, const char *operation, GError **error);

/*
 * A session of the nodes of --hosts that ends with its job. words: what run takes for programs, their options first.
 * Wrong usage is an error of DVM_CLI_USAGE_ERROR.
 */
gboolean dvm_cli_instantiate_session (DvmCli *cli, DvmClient *client, const char *const *words, GError **error);

G_END_DECLS
