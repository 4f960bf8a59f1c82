/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The model of `top` as lines of text of a width, for the screen and for print.
 */

#pragma once

#include "dvm-cli-watch-model.h"

G_BEGIN_DECLS

/* Where the columns stand that fit */
typedef struct
{
  guint n;
  guint columns[DVM_CLI_WATCH_MAX_COLUMNS];
  guint starts[DVM_CLI_WATCH_MAX_COLUMNS];
  guint widths[DVM_CLI_WATCH_MAX_COLUMNS]; /* 0: the last one, as long as it is */
} DvmCliTopLayout;

/* For n rows from the first one on; width: of the screen, 0 for no limit */
void dvm_cli_top_layout (DvmCliWatchModel *model, DvmCliWatchPanel panel, guint first, guint n, guint width, gint64 now,
                         DvmCliTopLayout *layout);
/* (transfer full): the titles; the one that sorts has mark behind it (nullable) */
char *dvm_cli_top_titles (DvmCliWatchModel *model, DvmCliWatchPanel panel, const DvmCliTopLayout *layout,
                          const char *mark);
/* (transfer full): colour: with the escape sequences of states */
char *dvm_cli_top_line (DvmCliWatchPanel panel, const DvmCliWatchRow *row, const DvmCliTopLayout *layout, gint64 now,
                        gboolean colour);
/* (transfer full): all panels, as lines */
char *dvm_cli_top_print (DvmCliWatchModel *model, const char *name, guint width, gboolean colour, gint64 now);

G_END_DECLS
