/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli status: whether a DVM runs, and how it is, in a few lines.
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-json.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-screen.h"

static const DvmCliOption options[] = {
  { NULL },
};

static const DvmCliColumn columns[] = {
  { "name", N_ ("DVM"), DVM_CLI_KIND_TEXT },
  { "running", NULL, DVM_CLI_KIND_TEXT },
  { "ready", NULL, DVM_CLI_KIND_TEXT },
  { "state", N_ ("State"), DVM_CLI_KIND_STATE },
  { NULL, N_ ("Nodes"), DVM_CLI_KIND_TEXT },
  { "node-count", NULL, DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Size"), DVM_CLI_KIND_TEXT },
  { "elastic-mode", NULL, DVM_CLI_KIND_TEXT },
  { "campaigns-running", NULL, DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Slots"), DVM_CLI_KIND_TEXT },
  { "slot-count", NULL, DVM_CLI_KIND_NUMBER },
  { "slots-in-use", NULL, DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Jobs"), DVM_CLI_KIND_TEXT },
  { "jobs-running", NULL, DVM_CLI_KIND_NUMBER },
  { "jobs-held", NULL, DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Defaults"), DVM_CLI_KIND_TEXT },
  { "scheduler-job", N_ ("Job of the scheduler"), DVM_CLI_KIND_TEXT },
  { "started-at", N_ ("Started"), DVM_CLI_KIND_TIME },
  { "version", N_ ("Version"), DVM_CLI_KIND_TEXT },
  { "instance-id", N_ ("Instance"), DVM_CLI_KIND_TEXT },
  { "address", N_ ("Address"), DVM_CLI_KIND_TEXT },
  { "others", N_ ("Other DVMs"), DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static guint
get_uint (GVariant *properties, const char *key)
{
  guint32 value = 0;

  g_variant_lookup (properties, key, "u", &value);
  return value;
}

static GVariant *
get_text (GVariant *properties, const char *key)
{
  const char *value = "";

  g_variant_lookup (properties, key, "&s", &value);
  return g_variant_new_string (value);
}

static GVariant *
describe_slots (GVariant *properties)
{
  return g_variant_new_take_string (
      g_strdup_printf (_ ("%u, %u in use"), get_uint (properties, "SlotCount"), get_uint (properties, "SlotsInUse")));
}

static GVariant *
describe_jobs (GVariant *properties)
{
  return g_variant_new_take_string (g_strdup_printf (_ ("%u running, %u held"), get_uint (properties, "JobsRunning"),
                                                     get_uint (properties, "JobsHeld")));
}

/* Jobs that say nothing get these. */
static GVariant *
describe_defaults (GVariant *properties)
{
  g_autoptr (GVariant) defaults = g_variant_lookup_value (properties, "Defaults", G_VARIANT_TYPE_VARDICT);
  g_autoptr (GString) text = g_string_new (NULL);
  GVariantIter iter;
  const char *name;
  GVariant *value;

  if (defaults != NULL)
    g_variant_iter_init (&iter, defaults);
  while (defaults != NULL && g_variant_iter_loop (&iter, "{&sv}", &name, &value))
    g_string_append_printf (text, "%s%s %s", text->len > 0 ? ", " : "", name, g_variant_get_string (value, NULL));
  return g_variant_new_string (text->len > 0 ? text->str : _ ("built in"));
}

static gboolean
is_elastic (GVariant *properties)
{
  gboolean elastic = FALSE;

  g_variant_lookup (properties, "ElasticMode", "b", &elastic);
  return elastic;
}

static GVariant *
describe_size (GVariant *properties)
{
  guint n = get_uint (properties, "CampaignsRunning");

  if (!is_elastic (properties))
    return g_variant_new_string (_ ("fixed"));
  return g_variant_new_take_string (
      g_strdup_printf (g_dngettext (GETTEXT_PACKAGE, "elastic, %u campaign", "elastic, %u campaigns", n), n));
}

static void
fill_table (DvmCliTable *table, DvmCli *cli, DvmClient *client, GVariant *properties)
{
  gboolean ready = FALSE;
  guint64 started_at = 0;
  const char *address = dvm_client_get_address (client);

  g_variant_lookup (properties, "Ready", "b", &ready);
  g_variant_lookup (properties, "StartedAt", "t", &started_at);
  {
    GVariant *values[] = {
      g_variant_new_string (cli->name != NULL ? cli->name : "default"),
      g_variant_new_boolean (TRUE),
      g_variant_new_boolean (ready),
      ready && !cli->json ? g_variant_new_string (_ ("ready")) : get_text (properties, "StateName"),
      g_variant_new_take_string (g_strdup_printf ("%u", get_uint (properties, "NodeCount"))),
      g_variant_new_uint32 (get_uint (properties, "NodeCount")),
      describe_size (properties),
      g_variant_new_boolean (is_elastic (properties)),
      g_variant_new_uint32 (get_uint (properties, "CampaignsRunning")),
      describe_slots (properties),
      g_variant_new_uint32 (get_uint (properties, "SlotCount")),
      g_variant_new_uint32 (get_uint (properties, "SlotsInUse")),
      describe_jobs (properties),
      g_variant_new_uint32 (get_uint (properties, "JobsRunning")),
      g_variant_new_uint32 (get_uint (properties, "JobsHeld")),
      describe_defaults (properties),
      get_text (properties, "SchedulerJob"),
      g_variant_new_uint64 (started_at),
      get_text (properties, "Version"),
      get_text (properties, "InstanceId"),
      g_variant_new_string (address != NULL ? address : ""),
      g_variant_new_take_string (dvm_cli_list_others (cli)),
    };

    dvm_cli_table_add (table, values);
  }
}

/* The absence of a DVM is an answer too; the exit status says the same to scripts. */
static void
print_absence (DvmCli *cli)
{
  g_autoptr (GString) json = g_string_new ("{\"name\":");
  g_autofree char *others = NULL;

  if (!cli->json)
    return;
  others = dvm_cli_list_others (cli);
  dvm_cli_json_append_string (json, cli->name != NULL ? cli->name : "default");
  g_string_append (json, ",\"running\":false,\"ready\":false,\"others\":");
  dvm_cli_json_append_string (json, others);
  g_string_append (json, "}\n");
  dvm_cli_print (json->str, NULL);
}

static int
show_status (DvmCli *cli, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_connect (cli, error);
  g_autoptr (GVariant) properties = client != NULL ? dvm_client_get_info (client, NULL, error) : NULL;
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);
  g_auto (GStrv) losses = NULL;
  g_autofree char *text = NULL;

  if (client == NULL)
    print_absence (cli);
  if (properties == NULL)
    return DVM_CLI_EXIT_FAILED;
  losses = dvm_cli_list_losses (properties);
  for (gsize i = 0; losses[i] != NULL; i++)
    dvm_cli_note (cli, "%s", losses[i]);
  dvm_cli_note_version (cli, properties);
  fill_table (table, cli, client, properties);
  text = cli->json ? dvm_cli_table_to_json_object (table) : dvm_cli_table_to_list (table, dvm_cli_may_use_colour (cli));
  return dvm_cli_print (text, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_status = {
  .name = "status",
  .synopsis = "[OPTION...]",
  .summary = N_ ("show whether a DVM runs and how it is; exit status 1 if none does"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = show_status,
};
