/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli campaigns: the table of changes of size.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-campaign.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"

static const DvmCliOption options[] = {
  { "all", 'a', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("ended ones too, as far back as the DVM remembers") },
  { NULL },
};

/* For people; JSON has the whole records. */
static const DvmCliColumn columns[] = {
  { NULL, N_ ("ID"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("KIND"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("STATE"), DVM_CLI_KIND_STATE },
  { NULL, N_ ("PENDING"), DVM_CLI_KIND_NUMBER, 4 },
  { NULL, N_ ("ALLOCATION"), DVM_CLI_KIND_TEXT, 3 },
  { NULL, N_ ("STARTED"), DVM_CLI_KIND_TIME, 1 },
  { NULL, N_ ("ELAPSED"), DVM_CLI_KIND_TEXT, 2 },
  { NULL, N_ ("HELD JOBS"), DVM_CLI_KIND_TEXT, 5 },
  { NULL, N_ ("HOSTS"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("REASON"), DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static void
add_campaign (DvmCliTable *table, DvmCampaign *campaign)
{
  const char *const *hosts = dvm_campaign_get_hosts (campaign);
  gint64 start = dvm_campaign_get_started_at (campaign);
  GVariant *const values[] = {
    g_variant_new_uint32 (dvm_campaign_get_id (campaign)),
    dvm_cli_text (dvm_campaign_kind_to_string (dvm_campaign_get_kind (campaign))),
    dvm_cli_text (dvm_campaign_state_to_string (dvm_campaign_get_state (campaign))),
    g_variant_new_uint32 (dvm_campaign_get_pending (campaign)),
    dvm_cli_text (dvm_campaign_get_alloc_id (campaign)),
    g_variant_new_uint64 ((guint64)start),
    dvm_cli_take_text (dvm_cli_describe_span (start, dvm_campaign_get_ended_at (campaign))),
    dvm_cli_take_text (dvm_cli_join_ids (dvm_campaign_get_held_jobs (campaign))),
    dvm_cli_take_text (g_strjoinv (",", (char **)hosts)),
    dvm_cli_text (dvm_campaign_get_reason (campaign)),
  };

  dvm_cli_table_add (table, values);
}

static gboolean
print_json (GPtrArray *campaigns, GError **error)
{
  g_autoptr (GString) json = g_string_new ("[");

  for (guint i = 0; i < campaigns->len; i++)
    {
      g_autofree char *record = dvm_campaign_to_json (g_ptr_array_index (campaigns, i));

      g_string_append_printf (json, "%s%s", i > 0 ? ",\n " : "", g_strchomp (record));
    }
  g_string_append (json, "]\n");
  return dvm_cli_print (json->str, error);
}

static int
list_campaigns (DvmCli *cli, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_connect (cli, error);
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);
  g_autoptr (GPtrArray) campaigns = NULL;
  gboolean ok;

  if (client == NULL)
    return DVM_CLI_EXIT_FAILED;
  campaigns = dvm_client_list_campaigns (client, dvm_cli_args_has (cli->args, "all"), NULL, error);
  if (campaigns == NULL)
    return DVM_CLI_EXIT_FAILED;
  for (guint i = 0; i < campaigns->len && !cli->json; i++)
    add_campaign (table, g_ptr_array_index (campaigns, i));
  ok = cli->json ? print_json (campaigns, error) : dvm_cli_print_table (cli, table, error);
  return ok ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_campaigns = {
  .name = "campaigns",
  .synopsis = "[OPTION...]",
  .summary = N_ ("list the changes of size that are going on"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = list_campaigns,
};
