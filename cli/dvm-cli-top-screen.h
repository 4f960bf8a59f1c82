/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * `top` on a terminal: keys, mouse, signals and time.
 */

#pragma once

#include "dvm-cli-watch-model.h"
#include "dvm-cli-verb.h"

G_BEGIN_DECLS

typedef struct
{
  DvmCli *cli;
  DvmCliWatchModel *model;
  DvmCliWatchPanel panel;
  guint delay;    /* seconds between two pictures */
  guint n_rounds; /* 0: until q */
} DvmCliTopScreenSetup;

/* Whether standard input and output are a terminal that can show it */
gboolean dvm_cli_top_screen_is_possible (void);
/* Connects to the DVM, and ends with the exit status. */
int dvm_cli_top_screen_run (const DvmCliTopScreenSetup *setup, GError **error);

G_END_DECLS
