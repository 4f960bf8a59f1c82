/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The operator of a DVM reads in its log or in the journal what these lines say, without asking for more.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd"

#include "dvmd-operator.h"

#include <pwd.h>

#include "dvmd-log.h"

/* (transfer full): "ann (uid 1000)" */
static char *
describe_user (guint uid)
{
  struct passwd *entry = getpwuid (uid);

  return entry != NULL ? g_strdup_printf ("%s (uid %u)", entry->pw_name, uid) : g_strdup_printf ("uid %u", uid);
}

static gboolean
was_cancelled (DvmJobState state)
{
  return state == DVM_JOB_STATE_KILLED_BY_CMD || state == DVM_JOB_STATE_FORCED_EXIT;
}

static void
on_job_ended (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  DvmJob *record = dvmd_job_get_record (job);
  const char *reason = dvm_job_get_reason (record);
  const char *state = dvm_job_state_to_string (dvm_job_get_state (record));
  g_autofree char *user = NULL;

  /* One that was cancelled has not failed: its user wanted that, or the end of the DVM did. */
  if (!dvm_job_get_failed (record) || was_cancelled (dvm_job_get_state (record)))
    return;
  user = describe_user (dvm_job_get_submitter_uid (record));
  dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, dvm_job_get_nspace (record), "has failed, of %s: %s%s%s", user,
                state, reason != NULL && reason[0] != '\0' ? ": " : "", reason != NULL ? reason : "");
}

/* (transfer full): "campaign 3 (grow of node3,node4)" */
static char *
describe_campaign (DvmdCampaign *campaign)
{
  DvmCampaign *record = dvmd_campaign_get_record (campaign);
  g_autofree char *hosts = g_strjoinv (",", (char **)dvm_campaign_get_hosts (record));

  return g_strdup_printf ("campaign %u (%s of %s)", dvm_campaign_get_id (record),
                          dvm_campaign_kind_to_string (dvm_campaign_get_kind (record)), hosts);
}

static void
on_campaign_added (DvmdCore *core, DvmdCampaign *campaign, gpointer user_data)
{
  g_autofree char *what = describe_campaign (campaign);
  const char *requester = dvm_campaign_get_requester (dvmd_campaign_get_record (campaign));

  if (requester != NULL && requester[0] != '\0')
    g_message ("%s has begun, asked for by %s", what, requester);
  else
    g_message ("%s has begun", what);
}

/* The failure of a campaign is logged where its cause is known. */
static void
on_campaign_ended (DvmdCore *core, DvmdCampaign *campaign, gpointer user_data)
{
  g_autofree char *what = describe_campaign (campaign);

  if (dvm_campaign_get_state (dvmd_campaign_get_record (campaign)) == DVM_CAMPAIGN_STATE_COMPLETED)
    g_message ("%s has completed", what);
}

void
dvmd_operator_listen (DvmdController *controller)
{
  DvmdCore *core = dvmd_controller_get_core (controller);

  g_signal_connect (core, "job-ended", G_CALLBACK (on_job_ended), NULL);
  g_signal_connect (core, "campaign-added", G_CALLBACK (on_campaign_added), NULL);
  g_signal_connect (core, "campaign-ended", G_CALLBACK (on_campaign_ended), NULL);
}

void
dvmd_operator_tell_ready (DvmdController *controller)
{
  DvmdCore *core = dvmd_controller_get_core (controller);

  g_message ("The DVM is ready: dvmd %s, instance %s, nodes: %u", DVM_VERSION_STRING,
             dvmd_controller_get_instance_id (controller), dvmd_core_get_nodes_reported (core));
}

void
dvmd_operator_tell_end (DvmdController *controller, const char *reason)
{
  g_message ("The DVM has ended: %s", reason != NULL && reason[0] != '\0' ? reason : "it was told to");
}
