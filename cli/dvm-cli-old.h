/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Spellings that other launchers have, or had: translated into those of today.
 */

#pragma once

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* Of each program, of verbs that take a job, and of those that show what becomes of it */
extern const DvmCliOption dvm_cli_old_app_options[];
extern const DvmCliOption dvm_cli_old_options[];
extern const DvmCliOption dvm_cli_old_display_options[];
extern const DvmCliOption dvm_cli_old_add_options[];

/*
 * The value of the option together with what spellings of before add to it. base (nullable): its value where it was not
 * given itself. text: (transfer full) (nullable). FALSE: two of them contradict each other.
 */
gboolean dvm_cli_old_compose (DvmCliArgs *args, const char *name, const char *base, char **text, GError **error);
/* (transfer full) (nullable): all that were given and are another option today, as they were typed */
char *dvm_cli_old_show (DvmCliArgs *args);
/* Whether a message may be of one of them: one that begins with an option as it was typed, and names none of theirs, is
 * not. */
gboolean dvm_cli_old_concerns (DvmCliArgs *args, const char *message);
/* Whether the user wants no such lines */
gboolean dvm_cli_old_is_hidden (void);
/* One line that says what they are today, unless the user wants none. */
void dvm_cli_old_tell (DvmCli *cli, DvmCliArgs *args);

G_END_DECLS
