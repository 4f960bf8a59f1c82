/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-state-machine.h"

G_BEGIN_DECLS

/* The steps on entering each state of a job, in the order of the states (L4). */
void dvmd_job_step_init (gpointer job, const DvmdEvent *event);
void dvmd_job_step_init_complete (gpointer job, const DvmdEvent *event);
void dvmd_job_step_allocate (gpointer job, const DvmdEvent *event);
void dvmd_job_step_allocation_complete (gpointer job, const DvmdEvent *event);
void dvmd_job_step_launch_daemons (gpointer job, const DvmdEvent *event);
void dvmd_job_step_daemons_reported (gpointer job, const DvmdEvent *event);
void dvmd_job_step_vm_ready (gpointer job, const DvmdEvent *event);
void dvmd_job_step_map (gpointer job, const DvmdEvent *event);
void dvmd_job_step_map_complete (gpointer job, const DvmdEvent *event);
void dvmd_job_step_system_prep (gpointer job, const DvmdEvent *event);
/* Nodes of its map have left: back to the map gate. */
void dvmd_job_act_placed_anew (gpointer job, const DvmdEvent *event);
void dvmd_job_step_launch_apps (gpointer job, const DvmdEvent *event);
void dvmd_job_step_send_launch_msg (gpointer job, const DvmdEvent *event);
void dvmd_job_step_started (gpointer job, const DvmdEvent *event);
void dvmd_job_step_all_started (gpointer job, const DvmdEvent *event);
void dvmd_job_step_terminated (gpointer job, const DvmdEvent *event);
void dvmd_job_step_notify_completed (gpointer job, const DvmdEvent *event);
void dvmd_job_step_notified (gpointer job, const DvmdEvent *event);
void dvmd_job_step_failed (gpointer job, const DvmdEvent *event);
void dvmd_job_step_gone (gpointer job, const DvmdEvent *event);

G_END_DECLS
