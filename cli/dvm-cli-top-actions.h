/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the keys of `top` do to jobs, nodes, campaigns and the DVM.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-watch-model.h"

G_BEGIN_DECLS

typedef enum
{
  DVM_CLI_TOP_CANCEL_JOB,
  DVM_CLI_TOP_HOLD_JOB,
  DVM_CLI_TOP_RELEASE_JOB,
  DVM_CLI_TOP_DRAIN_NODE,
  DVM_CLI_TOP_RESUME_NODE,
  DVM_CLI_TOP_CANCEL_CAMPAIGN,
} DvmCliTopAction;

typedef struct _DvmCliTopActions DvmCliTopActions;

/* message: what has been done, or why it has not; is_text: the lines about an object that were asked for */
typedef void (*DvmCliTopActionsFunc) (const char *message, gboolean is_text, gpointer user_data);

/* client: borrowed */
DvmCliTopActions *dvm_cli_top_actions_new (DvmClient *client, DvmCliTopActionsFunc func, gpointer user_data);
/* Answers that come later are not told any more. */
void dvm_cli_top_actions_free (DvmCliTopActions *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliTopActions, dvm_cli_top_actions_free)

void dvm_cli_top_actions_do (DvmCliTopActions *self, DvmCliTopAction action, guint id);
/* what: a number of nodes, or hosts such as n9:2,n10 */
void dvm_cli_top_actions_grow (DvmCliTopActions *self, const char *what);
void dvm_cli_top_actions_shrink (DvmCliTopActions *self, const char *hosts);
void dvm_cli_top_actions_show (DvmCliTopActions *self, DvmCliWatchPanel panel, guint id);

G_END_DECLS
