/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Whether standard input and output are a terminal that is known, and can put the cursor somewhere */
gboolean dvm_cli_top_terminal_is_able (void);

G_END_DECLS
