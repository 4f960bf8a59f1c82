/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A campaign is followed by its state, not by the signal to the one who asked: who looks at the state sees how it
 * ended, whatever was missed.
 */

#include "config.h"

#include "dvm-cli-campaign.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-await.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-interrupt.h"
#include "dvm-cli-json.h"
#include "dvm-cli-output.h"
#include "dvm-cli-request.h"

/* ---- the end ---- */

/* (transfer full): a grow alone can be called off. */
static char *
describe_rest (DvmCampaign *campaign)
{
  guint id = dvm_campaign_get_id (campaign);

  if (dvm_campaign_get_kind (campaign) == DVM_CAMPAIGN_KIND_GROW)
    return g_strdup_printf (_ ("campaign %u goes on; 'dvm-cli campaign show %u' shows how far it is, "
                               "'dvm-cli campaign cancel %u' calls it off"),
                            id, id, id);
  return g_strdup_printf (_ ("campaign %u goes on; 'dvm-cli campaign show %u' shows how far it is"), id, id);
}

static gboolean
wait_for_end (DvmClient *client, DvmCampaign *campaign, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  dvm_client_wait_campaign_async (client, campaign, 0, NULL, dvm_cli_ready, &result);
  return dvm_client_wait_campaign_finish (client, dvm_cli_await (&result), error);
}

static gboolean
judge_campaign (DvmCampaign *campaign, gboolean calls_off, GError **error)
{
  const char *reason = dvm_campaign_get_reason (campaign);
  const char *cause = dvm_campaign_get_cause (campaign);

  if (calls_off || dvm_campaign_get_state (campaign) == DVM_CAMPAIGN_STATE_COMPLETED)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, _ ("campaign %u has failed (%s): %s"),
               dvm_campaign_get_id (campaign), cause != NULL && cause[0] != '\0' ? cause : "?",
               reason != NULL ? reason : "");
  return FALSE;
}

/* ---- what is printed ---- */

static gboolean
print_json (DvmCli *cli, const char *alloc_id, DvmCampaign *campaign, GError **error)
{
  const char *request = dvm_cli_args_get (cli->args, "req-id");
  g_autoptr (GString) json = g_string_new ("{\"alloc-id\":");

  dvm_cli_json_append_string (json, alloc_id);
  g_string_append (json, ",\"req-id\":");
  dvm_cli_json_append_string (json, request != NULL ? request : "");
  g_string_append (json, ",\"campaign\":");
  dvm_cli_json_append_string (json, campaign != NULL ? dvm_campaign_get_object_path (campaign) : "/");
  if (campaign != NULL && dvm_cli_args_has (cli->args, "wait"))
    {
      g_autofree char *record = dvm_campaign_to_json (campaign);

      g_string_append_printf (json, ",\"result\":%s", g_strchomp (record));
    }
  g_string_append (json, "}\n");
  return dvm_cli_print (json->str, error);
}

static gboolean
print_line (const char *alloc_id, DvmCampaign *campaign, GError **error)
{
  g_autofree char *number = campaign != NULL ? g_strdup_printf ("%u", dvm_campaign_get_id (campaign)) : NULL;
  g_autofree char *shown = dvm_cli_escape (alloc_id);
  g_autofree char *line = g_strdup_printf ("%s %s\n", shown, number != NULL ? number : "-");

  return dvm_cli_print (line, error);
}

gboolean
dvm_cli_change_and_follow (DvmCli *cli, DvmClient *client, DvmCliChange change, GVariant *request,
                           const char *unchanged, gboolean calls_off, GError **error)
{
  gboolean waits = dvm_cli_args_has (cli->args, "wait");
  g_autoptr (DvmCliInterrupt) interrupt = NULL;
  g_autoptr (DvmCampaign) campaign = NULL;
  g_autofree char *alloc_id = NULL;

  if (!change (client, request, NULL, &alloc_id, &campaign, error))
    return FALSE;
  if (campaign != NULL && waits)
    interrupt = dvm_cli_interrupt_new (cli, describe_rest (campaign));
  if (!cli->json && campaign == NULL && unchanged != NULL)
    dvm_cli_note (cli, "%s", unchanged);
  if (!cli->json && !print_line (alloc_id, campaign, error))
    return FALSE;
  if (campaign != NULL && waits && !wait_for_end (client, campaign, error))
    return FALSE;
  if (cli->json && !print_json (cli, alloc_id, campaign, error))
    return FALSE;
  return campaign == NULL || !waits || judge_campaign (campaign, calls_off, error);
}

/* "n7:+2", or "n7 slots=+2" in a file. */
static gboolean
adds_slots (DvmCliArgs *args)
{
  g_autofree const char **lists = dvm_cli_args_get_all (args, "hosts");
  const char *path = dvm_cli_args_get (args, "hostfile");
  g_autofree char *text = NULL;

  for (gsize i = 0; lists[i] != NULL; i++)
    if (strstr (lists[i], ":+") != NULL)
      return TRUE;
  return path != NULL && g_file_get_contents (path, &text, NULL, NULL) && strstr (text, "=+") != NULL;
}

/* A host that is named leaves by a campaign, unless its agent has gone before. */
static const char *
say_unchanged (DvmCliArgs *args, DvmCliChange change)
{
  gboolean names = dvm_cli_args_has (args, "hosts") || dvm_cli_args_has (args, "hostfile");

  if (change == dvm_client_grow && names && adds_slots (args))
    return _ (
        "slots are added, and no node comes: the DVM has these nodes already, and they are in the allocation now");
  if (change == dvm_client_grow && (names || dvm_cli_args_has (args, "count")))
    return _ ("no node comes: the DVM has these nodes already, and they are in the allocation now");
  if (change == dvm_client_grow)
    return NULL;
  if (names)
    return _ ("nothing had to leave: these nodes were lost before, and are listed no more");
  return _ ("no node leaves the DVM; the allocation has ended");
}

int
dvm_cli_change_size (DvmCli *cli, DvmCliChange change, GError **error)
{
  g_auto (GVariantDict) dict = G_VARIANT_DICT_INIT (NULL);
  g_autoptr (DvmClient) client = NULL;
  g_autoptr (GVariant) request = NULL;

  if (!dvm_cli_request_check (cli->args, error))
    return DVM_CLI_EXIT_USAGE;
  client = dvm_cli_connect (cli, error);
  if (client == NULL || !dvm_cli_request_fill (&dict, cli->args, client, error))
    return DVM_CLI_EXIT_FAILED;
  request = g_variant_ref_sink (g_variant_dict_end (&dict));
  return dvm_cli_change_and_follow (cli, client, change, request, say_unchanged (cli->args, change), FALSE, error)
             ? DVM_CLI_EXIT_OK
             : DVM_CLI_EXIT_FAILED;
}
