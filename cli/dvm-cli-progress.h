/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How far a start is: a bar on the terminal, lines of JSON for programs, nothing for others.
 */

#pragma once

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

typedef struct _DvmCliProgress DvmCliProgress;

DvmCliProgress *dvm_cli_progress_new (DvmCli *cli);
/* The bar goes. */
void dvm_cli_progress_free (DvmCliProgress *self);
/* user_data: DvmCliProgress. One node is no progress. */
void dvm_cli_progress_show (guint reported, guint expected, gpointer user_data);
/* A node does not come, and the start goes on. */
void dvm_cli_progress_miss (const char *name, const char *reason, gpointer user_data);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliProgress, dvm_cli_progress_free)

G_END_DECLS
