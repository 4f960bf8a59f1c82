/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-environments.h"
#include "dvmd-controller-frame.h"
#include "dvmd-id-set.h"

G_BEGIN_DECLS

/* These functions send messages to the agents of a job. One that is given user_data is an effect of the core. */

/* dvmd-controller-launch.c */
DvmdMap *dvmd_controller_map (gpointer user_data, DvmdJob *job, const DvmdPlaces *places, GError **error);
void dvmd_controller_send_launch (gpointer user_data, DvmdJob *job);
void dvmd_controller_move_ranks (gpointer user_data, DvmdJob *job, GArray *moves);
void dvmd_controller_kill (gpointer user_data, DvmdJob *job);
/* Whether what concerns the job goes to all agents at once, since its launch; else to each of its own. */
gboolean dvmd_controller_is_broadcast (DvmdController *self, DvmdJob *job);
/* To every agent that has processes of the job; perhaps to others, which pass over it. */
void dvmd_controller_send_to_job (DvmdController *self, DvmdJob *job, DvmdMessageKind kind, GVariant *body);
/* The environments that agents may have, by digest. */
DvmdEnvironments *dvmd_controller_get_environments (DvmdController *self);

/* dvmd-controller-jobs.c */
/* (transfer full): the ranks that a caller names of a job whose processes are there; "" is all. NULL with an error */
DvmdIdSet *dvmd_controller_parse_ranks (DvmdController *self, DvmdJob *job, const char *ranks, GError **error);
void dvmd_controller_signal (gpointer user_data, DvmdJob *job, int signal);
void dvmd_controller_warn_job (gpointer user_data, DvmdJob *job, DvmdNode *node, gint64 when);
/* The job goes on without what it had on that node: its other ranks are told. */
void dvmd_controller_node_lost (gpointer user_data, DvmdJob *job, DvmdNode *node);
/* The launch has just been sent: what came before it follows. */
void dvmd_controller_send_early_signals (DvmdController *self, DvmdJob *job);

/* dvmd-controller-time-over.c */
void dvmd_controller_time_over (gpointer user_data, DvmdJob *job);

/* dvmd-controller-stage.c */
void dvmd_controller_stage_files (gpointer user_data, DvmdJob *job);
void dvmd_controller_show_job (gpointer user_data, DvmdJob *job);

G_END_DECLS
