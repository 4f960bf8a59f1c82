/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "timed-command.h"

G_BEGIN_DECLS

/* Runs it to its end, whatever becomes of who has asked: what Slurm has done is then known. One that does not end
 * within the setting "timeout" is killed, and that is its error. */
void slurm_run (DvmdPluginHost *host, const char *const *argv, DvmdTimedCommandEnded ran, gpointer user_data);

G_END_DECLS
