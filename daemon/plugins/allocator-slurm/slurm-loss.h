/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "slurm-watch.h"

G_BEGIN_DECLS

/* task (transfer full): its answer says of these nodes, whose agents are lost, which ones the job does not have any
 * more, and which of those Slurm has marked down: an a{sv} as explain_loss_finish() wants it, or NULL: Slurm does not
 * say. */
void slurm_explain_loss (SlurmWatch *watch, const char *id, const char *const *names, GTask *task);

G_END_DECLS
