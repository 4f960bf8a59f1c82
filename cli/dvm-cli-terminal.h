/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* FALSE: TERM says nothing, or names no terminal that terminfo knows; "dumb" is known. Without ncurses any name will do
 */
gboolean dvm_cli_terminal_is_known (void);
/* Whether a terminal of that name has colours, by terminfo; without ncurses each one that is not dumb */
gboolean dvm_cli_terminal_has_colours (void);
/* Whether standard input and output are a terminal that is known, and can put the cursor somewhere */
gboolean dvm_cli_terminal_is_able (void);

G_END_DECLS
