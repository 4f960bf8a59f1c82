/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A campaign is followed by its state, not by the signal to the one who asked: who looks at the state sees how it
 * ended, whatever was missed.
 */

#include "config.h"

#include "dvm-cli-campaign.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-json.h"
#include "dvm-cli-output.h"

/* ---- the request ---- */

static void
add_text (GVariantDict *request, DvmCliArgs *args, const char *name)
{
  if (dvm_cli_args_has (args, name))
    g_variant_dict_insert (request, name, "s", dvm_cli_args_get (args, name));
}

static void
add_number (GVariantDict *request, DvmCliArgs *args, const char *name)
{
  if (dvm_cli_args_has (args, name))
    g_variant_dict_insert (request, name, "u", dvm_cli_args_get_uint (args, name, 0));
}

static void
add_hosts (GVariantDict *request, DvmCliArgs *args)
{
  g_autofree const char **lists = dvm_cli_args_get_all (args, "hosts");
  g_autofree char *joined = lists[0] != NULL ? g_strjoinv (",", (char **)lists) : NULL;
  g_auto (GStrv) hosts = joined != NULL ? g_strsplit (joined, ",", -1) : NULL;

  if (hosts != NULL)
    g_variant_dict_insert_value (request, "hosts", g_variant_new_strv ((const char *const *)hosts, -1));
}

/* The directory of the daemon, which reads the file, is another one. */
static void
add_hostfile (GVariantDict *request, DvmCliArgs *args)
{
  g_autofree char *path = NULL;

  if (!dvm_cli_args_has (args, "hostfile"))
    return;
  path = g_canonicalize_filename (dvm_cli_args_get (args, "hostfile"), NULL);
  g_variant_dict_insert (request, "hostfile", "s", path);
}

static GVariant *
make_request (DvmCliArgs *args)
{
  g_auto (GVariantDict) request = G_VARIANT_DICT_INIT (NULL);

  add_hosts (&request, args);
  add_hostfile (&request, args);
  add_number (&request, args, "count");
  add_text (&request, args, "alloc-id");
  add_text (&request, args, "of-req-id");
  add_text (&request, args, "req-id");
  add_number (&request, args, "drain-timeout");
  return g_variant_ref_sink (g_variant_dict_end (&request));
}

/* Texts of the command line may be any bytes; those of D-Bus may not. */
static gboolean
check_texts (DvmCliArgs *args, GError **error)
{
  static const char *const names[] = { "hosts", "hostfile", "alloc-id", "of-req-id", "req-id" };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree const char **values = dvm_cli_args_get_all (args, names[i]);

      for (gsize j = 0; values[j] != NULL; j++)
        if (!g_utf8_validate (values[j], -1, NULL))
          {
            g_autofree char *shown = dvm_cli_escape (values[j]);

            g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --%s: '%s' is not UTF-8"), names[i], shown);
            return FALSE;
          }
    }
  return TRUE;
}

/* ---- the end ---- */

static gboolean
judge (DvmCampaign *campaign, GError **error)
{
  const char *reason = dvm_campaign_get_reason (campaign);
  const char *cause = dvm_campaign_get_cause (campaign);

  if (dvm_campaign_get_state (campaign) == DVM_CAMPAIGN_STATE_COMPLETED)
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
print_line (DvmCli *cli, const char *alloc_id, DvmCampaign *campaign, GError **error)
{
  g_autofree char *number = campaign != NULL ? g_strdup_printf ("%u", dvm_campaign_get_id (campaign)) : NULL;
  g_autofree char *shown = dvm_cli_escape (alloc_id);
  g_autofree char *line = g_strdup_printf ("%s %s\n", shown, number != NULL ? number : "-");

  if (campaign == NULL)
    dvm_cli_note (cli, _ ("the DVM stays as it is: nothing of what was asked for changes its size"));
  return dvm_cli_print (line, error);
}

static gboolean
change_and_follow (DvmCli *cli, DvmClient *client, DvmCliChange change, GError **error)
{
  gboolean waits = dvm_cli_args_has (cli->args, "wait");
  g_autoptr (GVariant) request = make_request (cli->args);
  g_autoptr (DvmCampaign) campaign = NULL;
  g_autofree char *alloc_id = NULL;

  if (!change (client, request, NULL, &alloc_id, &campaign, error))
    return FALSE;
  if (!cli->json && !print_line (cli, alloc_id, campaign, error))
    return FALSE;
  if (campaign != NULL && waits && !dvm_client_wait_campaign (client, campaign, 0, NULL, error))
    return FALSE;
  if (cli->json && !print_json (cli, alloc_id, campaign, error))
    return FALSE;
  return campaign == NULL || !waits || judge (campaign, error);
}

int
dvm_cli_change_size (DvmCli *cli, DvmCliChange change, GError **error)
{
  g_autoptr (DvmClient) client = NULL;

  if (!check_texts (cli->args, error))
    return DVM_CLI_EXIT_USAGE;
  client = dvm_cli_connect (cli, error);
  return client != NULL && change_and_follow (cli, client, change, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}
