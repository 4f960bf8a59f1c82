/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"

G_BEGIN_DECLS

/* The launch fence as jobs meet it: they are parked at its gates, and go on when these open, or are aborted. */

DvmdGates *dvmd_gates_new (void);
void dvmd_gates_free (DvmdGates *self);
/* A campaign with a ticket has so many targets more to wait for. */
void dvmd_gate_count_targets (DvmdCore *core, int change);
/* A job has come to the gate: does it have to wait? */
gboolean dvmd_gate_is_closed (DvmdJob *job, DvmdGate gate);
/* The job waits at the gate. */
void dvmd_gate_park (DvmdJob *job, DvmdGate gate);
/* The job has gone through the gate, or never will. */
void dvmd_gate_pass (DvmdJob *job);
/* The job begins to wait for slots. */
void dvmd_gate_queue (DvmdJob *job);
/* The job is placed, or has ended. */
void dvmd_gate_forget (DvmdJob *job);
/* (nullable): the campaign by which nodes that concern the job have changed since it came */
DvmdCampaign *dvmd_gate_find_change (DvmdJob *job);

/* A campaign begins to hold jobs, at the map gate, or (shrinks) at both. */
void dvmd_gate_close (DvmdCampaign *campaign);
/* The campaign has ended: jobs that waited for it alone go on, first those that have to be placed anew. */
void dvmd_gate_open (DvmdCampaign *campaign);
/* Jobs that were parked for a grow that has failed end (D4). */
void dvmd_gate_abort (DvmdCampaign *campaign);
/* The map gate has opened: admission gives out slots again. */
void dvmd_gate_opened (DvmdCore *core);
/* The records of parked jobs are told which campaigns they wait for. */
void dvmd_gate_publish (DvmdCore *core);

/* The map is void: exactly what it claimed is given back. */
void dvmd_gate_unmap (DvmdJob *job);

G_END_DECLS
