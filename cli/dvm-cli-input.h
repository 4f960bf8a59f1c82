/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Forwards our standard input to a job. A terminal must be read by us and not by a daemon: only the foreground process
 * of the terminal may, and it is the shell's when we are stopped or in the background.
 */

#pragma once

#include <dvm.h>

G_BEGIN_DECLS

typedef struct _DvmCliInput DvmCliInput;

/* from: stays the caller's. to: taken, closed at the end of input or when nobody reads any more */
DvmCliInput *dvm_cli_input_new (int from, int to);
void dvm_cli_input_free (DvmCliInput *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliInput, dvm_cli_input_free)

/* To be called when we may have come to the foreground or left it (SIGCONT). */
void dvm_cli_input_check_foreground (DvmCliInput *self);
/* The terminal gives every key at once and interprets none, until this object is freed. */
void dvm_cli_input_make_raw (DvmCliInput *self);
/* Makes the job's terminal as large as ours, if both have one. */
void dvm_cli_pass_terminal_size (DvmClient *client, DvmJob *job);

G_END_DECLS
