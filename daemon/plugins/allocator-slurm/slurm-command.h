/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* (transfer full): the end of what a command of Slurm has said, in one line */
char *slurm_get_words (GBytes *messages);

/* error: (nullable): it could not be run. outcome: borrowed, all zero with an error */
typedef void (*SlurmRan) (const DvmdPluginOutcome *outcome, const GError *error, gpointer user_data);

/* Runs it to its end, whatever becomes of who has asked: what Slurm has done is then known. One that does not end
 * within the setting "timeout" is killed, and that is its error. */
void slurm_run (DvmdPluginHost *host, const char *const *argv, SlurmRan ran, gpointer user_data);

G_END_DECLS
