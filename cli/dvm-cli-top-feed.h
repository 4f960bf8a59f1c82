/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What fills the model of `top` from a DVM: lists in pages, signals of what has changed, and nodes that are measured.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-top-model.h"

G_BEGIN_DECLS

typedef struct _DvmCliTopFeed DvmCliTopFeed;

/* error: (nullable): why something could not be read; NULL: the model is as new as the DVM, or the connection has come
 * or gone */
typedef void (*DvmCliTopFeedFunc) (const GError *error, gpointer user_data);

/* client, model: borrowed, and outlive the feed */
DvmCliTopFeed *dvm_cli_top_feed_new (DvmClient *client, DvmCliTopModel *model, DvmCliTopFeedFunc func,
                                     gpointer user_data);
void dvm_cli_top_feed_free (DvmCliTopFeed *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliTopFeed, dvm_cli_top_feed_free)

/*
 * Reads again: the DVM's own numbers, campaigns, and of the panel (DVM_CLI_TOP_N_PANELS: of all) the rows. visible
 * (nullable) (element-type guint): rows that somebody sees: those are read in any case, and nodes among them are
 * measured. While the last one has not come, another one follows it.
 */
void dvm_cli_top_feed_refresh (DvmCliTopFeed *self, DvmCliTopPanel panel, const GArray *visible);
/* Whether all that was asked for has come, measured nodes too */
gboolean dvm_cli_top_feed_is_idle (DvmCliTopFeed *self);
/* Everything is read anew. */
void dvm_cli_top_feed_forget (DvmCliTopFeed *self);

G_END_DECLS
