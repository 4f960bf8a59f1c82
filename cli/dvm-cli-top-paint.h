/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The picture of `top` on a terminal, by ncurses.
 */

#pragma once

#include "dvm-cli-watch-model.h"

G_BEGIN_DECLS

typedef struct
{
  DvmCliWatchModel *model;
  const char *name; /* of the DVM */
  DvmCliWatchPanel panel;
  guint first;              /* row that is at the top */
  guint selected;           /* row */
  const char *notice;       /* (nullable): in place of what the DVM says of itself */
  const char *message;      /* (nullable) */
  const char *prompt;       /* (nullable): what is asked */
  const char *input;        /* what has been typed behind it */
  const char *const *lines; /* (nullable): shown in place of the rows, from line first_line on */
  guint first_line;
  gboolean paused;
  gboolean colour;
  gint64 now;
} DvmCliTopView;

/* Keys, mouse and colours are set up; FALSE: there is no memory for it. */
gboolean dvm_cli_top_paint_begin (gboolean colour);
/* The terminal is as it was. */
void dvm_cli_top_paint_end (void);
void dvm_cli_top_paint (const DvmCliTopView *view);
/* How many rows have room on the screen, as it is now */
guint dvm_cli_top_paint_n_rows (void);
/* The row of the screen that has the titles; those of the model follow it. */
guint dvm_cli_top_paint_titles_row (void);
/* -1: no column stands there */
gint dvm_cli_top_paint_find_column (const DvmCliTopView *view, guint x);

G_END_DECLS
