/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Events of jobs are posted, and news is told: each kind of it is a signal of the core.
 */

#pragma once

#include "dvmd-core-elastic.h"

G_BEGIN_DECLS

/* ---- jobs ---- */
/* For the tables of a job and of the DVM's own. */
guint dvmd_core_read_job_state (gpointer job);
const char *dvmd_core_describe_job (gpointer job);
/* The one writer of a job's state, also of the DVM's own. */
void dvmd_core_write_job_state (DvmdJob *job, guint old_state, guint new_state, const DvmdEvent *event,
                                const char *event_name);
void dvmd_core_post (DvmdJob *job, guint event);
void dvmd_core_post_failure (DvmdJob *job, DvmJobState state, const char *reason);
void dvmd_core_post_reason (DvmdJob *job, DvmJobState state, const DvmReason *reason);

/* ---- news ---- */
/* Of jobs, campaigns and sessions */
typedef enum
{
  DVMD_NEWS_ADDED,
  DVMD_NEWS_CHANGED,
  DVMD_NEWS_ENDED,     /* it has its final state */
  DVMD_NEWS_FORGOTTEN, /* nobody can ask about it any more */
} DvmdNews;

void dvmd_core_changed (DvmdCore *self);
void dvmd_core_tell_job (DvmdJob *job, DvmdNews news);
void dvmd_core_tell_campaign (DvmdCampaign *campaign, DvmdNews news);
void dvmd_core_campaign_state_changed (DvmdCampaign *campaign, guint old_state, guint new_state);
void dvmd_core_tell_session (DvmdCore *self, DvmdSession *session, DvmdNews news);
void dvmd_core_tell_session_state (DvmdCore *self, DvmdSession *session, DvmSessionState old_state,
                                   DvmSessionState new_state, const char *reason);
void dvmd_core_tell_session_warned (DvmdCore *self, DvmdSession *session, guint seconds_left);
void dvmd_core_node_changed (DvmdCore *self, guint rank);
void dvmd_core_tell_node (DvmdCore *self, guint rank, gboolean added);
void dvmd_core_tell_node_state (DvmdCore *self, DvmdNode *node);

G_END_DECLS
