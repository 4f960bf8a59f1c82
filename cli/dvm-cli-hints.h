/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For those who come from mpirun, prun or a batch system: what they know under another name.
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* (transfer full) (nullable): a sentence that names ours; spelling: an option with its dashes, as it was given */
char *dvm_cli_hint_option (const char *spelling);
/* (nullable): our verb for what is called name elsewhere, such as "ps" */
const char *dvm_cli_hint_verb (const char *name);
/* (nullable): the same for what is done to sessions */
const char *dvm_cli_hint_session (const char *name);

G_END_DECLS
