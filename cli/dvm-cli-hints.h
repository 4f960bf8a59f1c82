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
/* (nullable): what to say where an option is given twice, by two of its spellings */
const char *dvm_cli_hint_clash (const char *name);
/* (nullable): our verb for what is called name elsewhere, such as "ps" */
const char *dvm_cli_hint_verb (const char *name);
/* (nullable): the same for what is done to sessions */
const char *dvm_cli_hint_session (const char *name);

/* The tables themselves, for those who read them as a whole: programs, options, and options with a sentence. */
typedef enum
{
  DVM_CLI_HINT_VERBS,
  DVM_CLI_HINT_OPTIONS,
  DVM_CLI_HINT_REMARKS,
} DvmCliHintKind;

typedef void (*DvmCliHintFunc) (const char *there, const char *here, gpointer user_data);
void dvm_cli_hint_list (DvmCliHintKind kind, DvmCliHintFunc row, gpointer user_data);

G_END_DECLS
