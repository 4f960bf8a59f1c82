/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A DvmdController without processes: the real core in a world that tests play. A program called "true" ends at once,
 * "false" ends with status 1, everything else runs until it is told to end.
 */

#pragma once

#include "dvmd-controller.h"

G_BEGIN_DECLS

DvmdController *fake_controller_new (guint slots, guint history_limit);
/* Its agents come and go: see fake-elastic.h. */
DvmdController *fake_controller_new_elastic (guint slots, guint history_limit);
/* Every node has an agent that measures, each something else; else the first one alone. */
void fake_controller_measure_all (DvmdController *self);
/* Every process of the job ends with this status. */
void fake_controller_end_job (DvmdController *self, DvmdJob *job, int exit_code);
/* Jobs that have ended keep their output until it is delivered by this. */
void fake_controller_hold_output (DvmdController *self, gboolean hold);
/* The last signal that was sent to a job, and to which ranks. */
int fake_controller_get_last_signal (DvmdController *self, const char **ranks);
/* The result tells whether a shutdown was asked for: 0 never, 1, 2 by force. */
guint fake_controller_get_shutdown (DvmdController *self);
/* (nullable) what came with the last submit: TRUE if that stream had a descriptor, which was open */
gboolean fake_controller_had_fd (DvmdController *self, guint index);

G_END_DECLS
