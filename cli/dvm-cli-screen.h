/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What depends on the terminal: its width, colours, and a pager for what does not fit on it.
 */

#pragma once

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* 0 when standard output is no terminal or its width is not known */
guint dvm_cli_terminal_width (void);
/* Of the terminal that standard input is, or else standard output; FALSE when there is none or its size is not known */
gboolean dvm_cli_get_terminal_size (guint *rows, guint *columns);
/* A terminal that can do no more than add lines, one that terminfo does not know, or none at all */
gboolean dvm_cli_terminal_is_dumb (void);
/* --color first, then NO_COLOR, CLICOLOR_FORCE and CLICOLOR, then whether standard output is a terminal that has
 * colours */
gboolean dvm_cli_may_use_colour (DvmCli *cli);
/* As dvm_cli_print(), through a pager when the text does not fit on the terminal */
gboolean dvm_cli_show (DvmCli *cli, const char *text, GError **error);

G_END_DECLS
