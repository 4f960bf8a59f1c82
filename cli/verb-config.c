/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli config: the settings that a DVM started now would have, and where each comes from; or those of one that runs.
 * The one table of settings is the daemon's: the dvmd that would be started is asked, or the one that runs.
 */

#include "config.h"

#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-daemon.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-screen.h"
#include "dvm-cli-suggest.h"

/* The columns that dvmd --dump-config prints: name, value, built-in value, source, place, what it takes, description */
#define DUMP_TYPE "a(sssssss)"
/* The same of a DVM that runs, with when it takes a change, and the value that waits for a restart */
#define RUNNING_TYPE "a(sssssssss)"

static const DvmCliOption options[] = {
  { "set", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NAME=VALUE"), NULL, N_ ("as if dvmd were given this setting") },
  { "running", 'r', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("the settings of the DVM that runs") },
  { "changed", 'c', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("only what is not built in") },
  { NULL },
};

static const DvmCliColumn columns[] = {
  { "name", N_ ("SETTING"), DVM_CLI_KIND_TEXT }, { "value", N_ ("VALUE"), DVM_CLI_KIND_TEXT },
  { "built-in", NULL, DVM_CLI_KIND_TEXT },       { "source", N_ ("SOURCE"), DVM_CLI_KIND_TEXT, 1 },
  { "place", N_ ("PLACE"), DVM_CLI_KIND_TEXT },  { "takes", NULL, DVM_CLI_KIND_TEXT },
  { "description", NULL, DVM_CLI_KIND_TEXT },    { NULL, NULL, 0 },
};

/* Of one setting there is room for everything. */
static const DvmCliColumn one_columns[] = {
  { "name", N_ ("Setting"), DVM_CLI_KIND_TEXT },        { "value", N_ ("Value"), DVM_CLI_KIND_TEXT },
  { "built-in", N_ ("Built in"), DVM_CLI_KIND_TEXT },   { "source", N_ ("Source"), DVM_CLI_KIND_TEXT },
  { "place", N_ ("Place"), DVM_CLI_KIND_TEXT },         { "takes", N_ ("Takes"), DVM_CLI_KIND_TEXT },
  { "description", N_ ("Meaning"), DVM_CLI_KIND_TEXT }, { NULL, NULL, 0 },
};

static const DvmCliColumn running_columns[] = {
  { "name", N_ ("SETTING"), DVM_CLI_KIND_TEXT },
  { "value", N_ ("VALUE"), DVM_CLI_KIND_TEXT },
  { "built-in", NULL, DVM_CLI_KIND_TEXT },
  { "source", N_ ("SOURCE"), DVM_CLI_KIND_TEXT, 1 },
  { "place", N_ ("PLACE"), DVM_CLI_KIND_TEXT, 2 },
  { "takes", NULL, DVM_CLI_KIND_TEXT },
  { "description", NULL, DVM_CLI_KIND_TEXT },
  { "changes", NULL, DVM_CLI_KIND_TEXT },
  { "waiting", N_ ("AFTER A RESTART"), DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static const DvmCliColumn running_one_columns[] = {
  { "name", N_ ("Setting"), DVM_CLI_KIND_TEXT },
  { "value", N_ ("Value"), DVM_CLI_KIND_TEXT },
  { "built-in", N_ ("Built in"), DVM_CLI_KIND_TEXT },
  { "source", N_ ("Source"), DVM_CLI_KIND_TEXT },
  { "place", N_ ("Place"), DVM_CLI_KIND_TEXT },
  { "takes", N_ ("Takes"), DVM_CLI_KIND_TEXT },
  { "description", N_ ("Meaning"), DVM_CLI_KIND_TEXT },
  { "changes", N_ ("Changes"), DVM_CLI_KIND_TEXT },
  { "waiting", N_ ("After a restart"), DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static char *
run_dvmd (DvmCli *cli, GError **error)
{
  g_autofree const char **settings = dvm_cli_args_get_all (cli->args, "set");
  g_autoptr (GPtrArray) asked = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (asked, g_strdup ("--dump-config"));
  for (gsize i = 0; settings[i] != NULL; i++)
    g_ptr_array_add (asked, g_strdup_printf ("--set=%s", settings[i]));
  g_ptr_array_add (asked, NULL);
  return dvm_cli_ask_dvmd ((const char *const *)asked->pdata, error);
}

/* (transfer full): DUMP_TYPE */
static GVariant *
read_settings (DvmCli *cli, GError **error)
{
  g_autofree char *text = run_dvmd (cli, error);
  GVariant *settings;

  if (text == NULL)
    return NULL;
  settings = g_variant_parse (G_VARIANT_TYPE (DUMP_TYPE), g_strchomp (text), NULL, NULL, NULL);
  if (settings == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED,
                 _ ("what dvmd says of its settings is not understood; is it of version %s?"), DVM_VERSION_STRING);
  return settings;
}

/* (transfer full): RUNNING_TYPE */
static GVariant *
read_running (DvmCli *cli, GError **error)
{
  static const char *const keys[] = { "settings", NULL };
  static const char *const members[] = { "value", "built-in",    "origin", "place",
                                         "takes", "description", "time",   "waiting" };
  g_autoptr (DvmClient) client = dvm_cli_connect (cli, error);
  g_autoptr (GVariant) answer = client != NULL ? dvm_client_query (client, keys, NULL, NULL, error) : NULL;
  g_autoptr (GVariant) settings = NULL;
  GVariantBuilder builder;

  if (answer == NULL)
    return NULL;
  settings = g_variant_lookup_value (answer, "settings", G_VARIANT_TYPE ("a{sa{sv}}"));
  g_variant_builder_init (&builder, G_VARIANT_TYPE (RUNNING_TYPE));
  for (gsize i = 0; settings != NULL && i < g_variant_n_children (settings); i++)
    {
      g_autoptr (GVariant) members_of = NULL;
      const char *name;

      g_variant_get_child (settings, i, "{&s@a{sv}}", &name, &members_of);
      g_variant_builder_open (&builder, G_VARIANT_TYPE ("(sssssssss)"));
      g_variant_builder_add (&builder, "s", name);
      for (gsize k = 0; k < G_N_ELEMENTS (members); k++)
        {
          const char *text = "";

          g_variant_lookup (members_of, members[k], "&s", &text);
          g_variant_builder_add (&builder, "s", text);
        }
      g_variant_builder_close (&builder);
    }
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

static gboolean
check_names (GVariant *settings, const char *const *names, GError **error)
{
  g_autofree const char **known = g_new0 (const char *, g_variant_n_children (settings) + 1);

  for (gsize i = 0; i < g_variant_n_children (settings); i++)
    {
      g_autoptr (GVariant) setting = g_variant_get_child_value (settings, i);

      g_variant_get_child (setting, 0, "&s", &known[i]);
    }
  for (gsize i = 0; names[i] != NULL; i++)
    {
      const char *near = dvm_cli_suggest (names[i], known);

      if (g_strv_contains (known, names[i]))
        continue;
      if (near != NULL)
        g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("there is no setting '%s'; did you mean '%s'?"), names[i], near);
      else
        g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("there is no setting '%s'"), names[i]);
      return FALSE;
    }
  return TRUE;
}

static gboolean
is_wanted (DvmCli *cli, const char *const *names, GVariant *setting)
{
  const char *name;
  const char *source;

  g_variant_get_child (setting, 0, "&s", &name);
  g_variant_get_child (setting, 3, "&s", &source);
  return (names[0] == NULL || g_strv_contains (names, name))
         && (!dvm_cli_args_has (cli->args, "changed") || strcmp (source, "built-in") != 0);
}

static void
add_setting (DvmCliTable *table, GVariant *setting)
{
  gsize n = g_variant_n_children (setting);
  g_autofree GVariant **values = g_new (GVariant *, n);

  for (gsize i = 0; i < n; i++)
    values[i] = g_variant_get_child_value (setting, i);
  dvm_cli_table_add (table, values);
  for (gsize i = 0; i < n; i++)
    g_variant_unref (values[i]);
}

static DvmCliTable *
new_table (gboolean running, gboolean is_one)
{
  if (running)
    return dvm_cli_table_new (is_one ? running_one_columns : running_columns);
  return dvm_cli_table_new (is_one ? one_columns : columns);
}

static int
show_config (DvmCli *cli, GError **error)
{
  const char *const *names = dvm_cli_args_get_words (cli->args);
  gboolean is_one = names[0] != NULL && names[1] == NULL;
  gboolean running = dvm_cli_args_has (cli->args, "running");
  g_autoptr (DvmCliTable) table = new_table (running, is_one);
  g_autoptr (GVariant) settings = NULL;
  g_autofree char *list = NULL;
  gboolean ok;

  if (running && dvm_cli_args_has (cli->args, "set"))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                   _ ("--set is for a DVM that is started: one that runs has its settings"));
      return DVM_CLI_EXIT_USAGE;
    }
  settings = running ? read_running (cli, error) : read_settings (cli, error);
  if (settings == NULL)
    return DVM_CLI_EXIT_FAILED;
  if (!check_names (settings, names, error))
    return DVM_CLI_EXIT_USAGE;
  for (gsize i = 0; i < g_variant_n_children (settings); i++)
    {
      g_autoptr (GVariant) setting = g_variant_get_child_value (settings, i);

      if (is_wanted (cli, names, setting))
        add_setting (table, setting);
    }
  if (is_one && !cli->json && dvm_cli_table_get_n_rows (table) == 1)
    {
      list = dvm_cli_table_to_list (table, dvm_cli_may_use_colour (cli));
      ok = dvm_cli_show (cli, list, error);
    }
  else
    ok = dvm_cli_print_table (cli, table, error);
  return ok ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_config = {
  .name = "config",
  .synopsis = "[OPTION...] [SETTING...]",
  .summary = N_ ("show the settings of a DVM that is started now, or of one that runs, and where each comes from"),
  .options = { options },
  .max_words = G_MAXUINT,
  .failure = DVM_CLI_EXIT_FAILED,
  .run = show_config,
};
