/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli campaign: one change of size looked at, or called off.
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-campaign.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-screen.h"
#include "dvm-cli-suggest.h"

static const DvmCliOption options[] = {
  { NULL },
};

static const DvmCliColumn columns[] = {
  { NULL, N_ ("Campaign"), DVM_CLI_KIND_NUMBER },      { NULL, N_ ("Kind"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("State"), DVM_CLI_KIND_STATE },          { NULL, N_ ("Cause"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Reason"), DVM_CLI_KIND_TEXT },          { NULL, N_ ("Hosts"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Ranks"), DVM_CLI_KIND_TEXT },           { NULL, N_ ("Pending"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Held jobs"), DVM_CLI_KIND_TEXT },       { NULL, N_ ("Allocation"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Request"), DVM_CLI_KIND_TEXT },         { NULL, N_ ("Requester"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Started"), DVM_CLI_KIND_TIME },         { NULL, N_ ("Ended"), DVM_CLI_KIND_TIME },
  { NULL, N_ ("Elapsed"), DVM_CLI_KIND_TEXT },         { NULL, N_ ("Tree repairs"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Links changed"), DVM_CLI_KIND_NUMBER }, { NULL, NULL, 0 },
};

static char *
join_ranks (DvmCampaign *campaign)
{
  GString *list = g_string_new (NULL);
  gsize n;
  const guint32 *ranks = dvm_campaign_get_targets (campaign, &n);

  for (gsize i = 0; i < n; i++)
    g_string_append_printf (list, "%s%u", i > 0 ? "," : "", ranks[i]);
  return g_string_free (list, FALSE);
}

static gboolean
show_json (DvmCampaign *campaign, GError **error)
{
  g_autofree char *record = dvm_campaign_to_json (campaign);

  return dvm_cli_print (g_strchomp (record), error) && dvm_cli_print ("\n", error);
}

static gboolean
show_campaign (DvmCli *cli, DvmClient *client, DvmCampaign *campaign, GError **error)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);
  gint64 start = dvm_campaign_get_started_at (campaign);
  gint64 end = dvm_campaign_get_ended_at (campaign);
  g_autofree char *list = NULL;
  GVariant *values[] = {
    g_variant_new_uint32 (dvm_campaign_get_id (campaign)),
    dvm_cli_text (dvm_campaign_kind_to_string (dvm_campaign_get_kind (campaign))),
    dvm_cli_text (dvm_campaign_state_to_string (dvm_campaign_get_state (campaign))),
    dvm_cli_text (dvm_campaign_get_cause (campaign)),
    dvm_cli_text (dvm_campaign_get_reason (campaign)),
    dvm_cli_take_text (g_strjoinv (",", (char **)dvm_campaign_get_hosts (campaign))),
    dvm_cli_take_text (join_ranks (campaign)),
    g_variant_new_uint32 (dvm_campaign_get_pending (campaign)),
    dvm_cli_take_text (dvm_cli_join_ids (dvm_campaign_get_held_jobs (campaign))),
    dvm_cli_text (dvm_campaign_get_alloc_id (campaign)),
    dvm_cli_text (dvm_campaign_get_request_id (campaign)),
    dvm_cli_text (dvm_campaign_get_requester (campaign)),
    g_variant_new_uint64 ((guint64)start),
    g_variant_new_uint64 ((guint64)end),
    dvm_cli_take_text (dvm_cli_describe_span (start, end)),
    g_variant_new_uint32 (dvm_campaign_get_tree_repairs (campaign)),
    g_variant_new_uint32 (dvm_campaign_get_links_changed (campaign)),
  };

  dvm_cli_table_add (table, values);
  if (cli->json)
    return show_json (campaign, error);
  list = dvm_cli_table_to_list (table, dvm_cli_may_use_colour (cli));
  return dvm_cli_print (list, error);
}

static gboolean
cancel_campaign (DvmCli *cli, DvmClient *client, DvmCampaign *campaign, GError **error)
{
  g_autoptr (DvmCampaign) now = NULL;

  if (!dvm_client_cancel_campaign (client, campaign, NULL, error))
    return FALSE;
  if (!cli->json)
    return TRUE;
  now = dvm_client_find_campaign (client, dvm_campaign_get_object_path (campaign), NULL, error);
  return now != NULL && show_json (now, error);
}

typedef gboolean (*Action) (DvmCli *cli, DvmClient *client, DvmCampaign *campaign, GError **error);

static Action
find_action (const char *name, GError **error)
{
  static const char *const names[] = { "show", "cancel", NULL };
  static const Action actions[] = { show_campaign, cancel_campaign };
  const char *near = dvm_cli_suggest (name, names);

  for (gsize i = 0; names[i] != NULL; i++)
    if (strcmp (names[i], name) == 0)
      return actions[i];
  if (near != NULL)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a campaign cannot be told to '%s'; did you mean '%s'?"), name,
                 near);
  else
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a campaign cannot be told to '%s': there are show and cancel"),
                 name);
  return NULL;
}

static int
campaign_verb (DvmCli *cli, GError **error)
{
  const char *const *words = dvm_cli_args_get_words (cli->args);
  const char *reference = words[1];
  gboolean is_short = reference == NULL && (g_ascii_isdigit (words[0][0]) || words[0][0] == '/');
  Action action = is_short ? show_campaign : find_action (words[0], error);
  g_autoptr (DvmClient) client = NULL;
  g_autoptr (DvmCampaign) campaign = NULL;

  if (action == NULL)
    return DVM_CLI_EXIT_USAGE;
  if (is_short)
    reference = words[0];
  if (reference == NULL)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a campaign is missing: dvm-cli campaign %s CAMPAIGN"), words[0]);
      return DVM_CLI_EXIT_USAGE;
    }
  client = dvm_cli_connect (cli, error);
  if (client == NULL)
    return DVM_CLI_EXIT_FAILED;
  campaign = dvm_client_find_campaign (client, reference, NULL, error);
  return campaign != NULL && action (cli, client, campaign, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_campaign = {
  .name = "campaign",
  .synopsis = "show [OPTION...] CAMPAIGN\ncancel [OPTION...] CAMPAIGN",
  .summary = N_ ("look at a change of size, or call it off"),
  .options = { options },
  .min_words = 1,
  .max_words = 2,
  .failure = DVM_CLI_EXIT_FAILED,
  .run = campaign_verb,
};
