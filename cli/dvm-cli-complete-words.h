/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Words of options that have a grammar, such as map-by: what may stand at the end of their values.
 */

#pragma once

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* Whether the option, or the setting of this name, is one of them. */
gboolean dvm_cli_complete_has_words (const char *option);
/*
 * (transfer full): what may stand at the end of text, the beginning of a value; start: (out): where in text that
 * begins. lists: options of the verb: what dvm-cli does by itself is offered where it is one of them.
 */
char **dvm_cli_complete_words (const char *option, const DvmCliOption *const *lists, const char *text, gsize *start);
/* (transfer full): the values of a setting, by what dvmd says that it takes; none, if they cannot be listed */
char **dvm_cli_complete_choices (const char *description);

G_END_DECLS
