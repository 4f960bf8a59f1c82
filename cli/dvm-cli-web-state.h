/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Readers of the page get the whole state as JSON, and what has changed since they were told last. No
 * function here needs the network.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-watch-model.h"

G_BEGIN_DECLS

/* The most jobs that are sent: first the ones that have not ended, and the newest of each */
#define DVM_CLI_WEB_MAX_ROWS 10000

typedef struct
{
  const char *name; /* of the DVM */
  gboolean connected;
  const char *problem; /* (nullable): why the state is not as new as the DVM */
  guint n_readers;     /* of events */
} DvmCliWebFacts;

typedef struct _DvmCliWebState DvmCliWebState;

/* model: borrowed, and outlives it */
DvmCliWebState *dvm_cli_web_state_new (DvmCliWatchModel *model);
void dvm_cli_web_state_free (DvmCliWebState *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliWebState, dvm_cli_web_state_free)

/* (transfer full) (nullable): a JSON object of what has changed since the last call: "dvm", of each kind the rows that
 * are new or others, and in "gone" the ids of those that have left. NULL: nothing has. now: µs since the epoch */
GBytes *dvm_cli_web_state_update (DvmCliWebState *self, const DvmCliWebFacts *facts, gint64 now);
/* (transfer full): a JSON object of all; asked for right behind an update, whose changes follow on it */
GBytes *dvm_cli_web_state_get (DvmCliWebState *self, const DvmCliWebFacts *facts, gint64 now);

G_END_DECLS
