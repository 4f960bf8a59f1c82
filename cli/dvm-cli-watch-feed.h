/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The model of a live view is filled from a DVM: lists in pages, signals of what has changed, and nodes that are
 * measured.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-watch-model.h"

G_BEGIN_DECLS

typedef struct _DvmCliWatchFeed DvmCliWatchFeed;

/* error: (nullable): why something could not be read; NULL: the model is as new as the DVM, or the connection has come
 * or gone */
typedef void (*DvmCliWatchFeedFunc) (const GError *error, gpointer user_data);

/* client, model: borrowed, and outlive the feed */
DvmCliWatchFeed *dvm_cli_watch_feed_new (DvmClient *client, DvmCliWatchModel *model, DvmCliWatchFeedFunc func,
                                         gpointer user_data);
void dvm_cli_watch_feed_free (DvmCliWatchFeed *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliWatchFeed, dvm_cli_watch_feed_free)

/*
 * Reads again: the DVM's own numbers, campaigns, and of the panel (DVM_CLI_WATCH_N_PANELS: of all) the rows. visible
 * (nullable) (element-type guint): rows that somebody sees: those are read in any case, and nodes among them are
 * measured. While the last one has not come, another one follows it.
 */
void dvm_cli_watch_feed_refresh (DvmCliWatchFeed *self, DvmCliWatchPanel panel, const GArray *visible);
/* Asks the agents of all nodes that are shown when the lists that are on their way have come, beside which they are
 * asked. func is called when all have answered. */
void dvm_cli_watch_feed_measure_all (DvmCliWatchFeed *self);
/* Whether all that was asked for has come, measured nodes too */
gboolean dvm_cli_watch_feed_is_idle (DvmCliWatchFeed *self);
/* Everything is read anew. */
void dvm_cli_watch_feed_forget (DvmCliWatchFeed *self);

G_END_DECLS
