/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What may stand at a place of a command line: for the completion of every shell, from the tables of verbs and options.
 */

#pragma once

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* The name by which the scripts in completion/ call it; not for people, and in no list of verbs. */
#define DVM_CLI_COMPLETE "__complete"

/*
 * verb (nullable): that of the name that we were called by, which stands in no word.
 * words: (array zero-terminated=1): the command line behind "dvm-cli"; the last one, maybe empty, is to be completed.
 * Prints what is wanted in the first line: "words", and then one candidate in each line with its description behind a
 * tab; or "files", "directories", "commands", "program N" (word N is a command of its own), "none".
 */
int dvm_cli_complete (const DvmCliVerb *verb, const char *const *words);

G_END_DECLS
