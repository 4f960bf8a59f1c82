/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The words of --display: what is shown of a job.
 */

#pragma once

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

typedef enum
{
  DVM_CLI_DISPLAY_MAP = 1 << 0,
  DVM_CLI_DISPLAY_MAP_DEVEL = 1 << 1,
  DVM_CLI_DISPLAY_BINDINGS = 1 << 2,
  DVM_CLI_DISPLAY_ALLOCATION = 1 << 3,
  DVM_CLI_DISPLAY_TOPO = 1 << 4,
  DVM_CLI_DISPLAY_CPUS = 1 << 5,
} DvmCliDisplayWhat;

typedef struct
{
  guint what; /* bits of DvmCliDisplayWhat */
  char *topo; /* (nullable): nodes, parted by ';' */
  char *cpus; /* (nullable): likewise */
  gboolean parseable;
  gboolean physical; /* cpus have the numbers of the operating system */
} DvmCliDisplay;

/* Reads "map,bindings:physical" with what other spellings add to it. */
gboolean dvm_cli_display_parse (DvmCli *cli, DvmCliDisplay *display, GError **error);
/* The same where nothing runs: map and bindings alone. */
gboolean dvm_cli_display_parse_of_map (DvmCli *cli, DvmCliDisplay *display, GError **error);
/* The same of a text (nullable) that no option gives. */
gboolean dvm_cli_display_read (const char *text, DvmCliDisplay *display, GError **error);
/* Whether somebody has said what is to be shown. */
gboolean dvm_cli_display_is_given (DvmCli *cli);
/* (transfer full): the words, or their qualifiers */
char **dvm_cli_display_list (gboolean of_qualifiers);
void dvm_cli_display_clear (DvmCliDisplay *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmCliDisplay, dvm_cli_display_clear)

G_END_DECLS
