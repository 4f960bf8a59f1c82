/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The page is served until a signal comes.
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <signal.h>
#include <string.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-json.h"
#include "dvm-cli-output.h"
#include "dvm-cli-scheduler.h"
#include "dvm-cli-signals.h"
#include "dvm-cli-web-guard.h"
#include "dvm-cli-web-run.h"
#include "dvm-cli-web-server.h"

#define MAX_NAME 253
#define LABEL    "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"

static gboolean
is_host_name (const char *name)
{
  return strlen (name) <= MAX_NAME
         && g_regex_match_simple ("^" LABEL "(\\." LABEL ")*$", name, G_REGEX_DOLLAR_ENDONLY, 0);
}

/* Browsers send names in ASCII and ports apart. */
static gboolean
check_names (DvmCli *cli, GError **error)
{
  g_autofree const char **names = dvm_cli_args_get_all (cli->args, "server-name");

  for (guint i = 0; names[i] != NULL; i++)
    {
      if (is_host_name (names[i]))
        continue;
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                   _ ("--server-name: '%s' is no name of a host, which has letters, digits and '-', not at the end, up "
                      "to 63 between "
                      "two dots and 253 in all, and no port"),
                   names[i]);
      return FALSE;
    }
  return TRUE;
}

static gboolean
check_options (DvmCli *cli, GSocketAddress *address, GError **error)
{
  gboolean no_token = dvm_cli_args_has (cli->args, "no-token");

  if (no_token && dvm_cli_args_has (cli->args, "token-file"))
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("--no-token and --token-file exclude each other"));
  else if (no_token && !dvm_cli_web_is_loopback (address))
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                 _ ("--no-token is for loopback addresses alone, such as 127.0.0.1: others are open to the network"));
  else
    return check_names (cli, error);
  return FALSE;
}

/* token (out) (transfer full): NULL where none is wanted */
static gboolean
find_token (DvmCli *cli, char **token, GError **error)
{
  const char *path = dvm_cli_args_get (cli->args, "token-file");

  if (dvm_cli_args_has (cli->args, "no-token"))
    return TRUE;
  *token = path != NULL ? dvm_cli_web_read_token (path, error) : dvm_cli_web_make_token (error);
  return *token != NULL;
}

/* A token that is in a file is not shown to those who look over a shoulder, or read the log of a service. */
static gboolean
print_url (DvmCli *cli, DvmCliWebServer *server, const char *token, gboolean *reader_gone, GError **error)
{
  g_autofree char *page = dvm_cli_web_server_get_url (server);
  gboolean hidden = token == NULL || dvm_cli_args_has (cli->args, "token-file");
  g_autofree char *url = hidden ? g_strdup (page) : g_strdup_printf ("%s?token=%s", page, token);
  g_autofree char *metrics = g_strconcat (page, "metrics", NULL);
  g_autoptr (GString) text = g_string_new (NULL);

  if (cli->json)
    {
      g_string_append (text, "{\"url\":");
      dvm_cli_json_append_string (text, url);
      g_string_append (text, ",\"metrics\":");
      dvm_cli_json_append_string (text, metrics);
      g_string_append (text, "}\n");
    }
  else
    g_string_append_printf (text, "%s\n", url);
  return dvm_cli_print_line (text->str, reader_gone, error);
}

static void
tell_about (DvmCli *cli, DvmCliWebServer *server, const DvmCliWebSetup *setup)
{
  if (!dvm_cli_web_is_loopback (setup->address))
    dvm_cli_note (cli, _ ("what this address sends is not encrypted, the token neither"));
  if (setup->token != NULL && dvm_cli_args_has (cli->args, "token-file"))
    dvm_cli_note (cli, _ ("open it with ?token= and what %s has behind it"),
                  dvm_cli_args_get (cli->args, "token-file"));
}

static void
on_signal (int signum, gpointer user_data)
{
  GMainLoop *loop = user_data;

  if (signum == SIGTSTP)
    dvm_cli_signals_stop ();
  else if (signum == SIGINT || signum == SIGTERM || signum == SIGHUP)
    g_main_loop_quit (loop);
}

static int
serve (DvmCli *cli, GSocketAddress *address, const char *token, GError **error)
{
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  /* Before the connection, which has a thread */
  g_autoptr (DvmCliSignals) signals = dvm_cli_signals_new (NULL, on_signal, loop);
  g_autoptr (DvmClient) client = dvm_cli_client_new (cli);
  g_autofree const char **names = dvm_cli_args_get_all (cli->args, "server-name");
  const DvmCliWebSetup setup = {
    .client = client,
    .name = cli->name != NULL ? cli->name : "dvm",
    .address = address,
    .token = token,
    .names = names,
  };
  g_autoptr (DvmCliWebServer) server = dvm_cli_web_server_new (&setup, error);
  gboolean reader_gone = FALSE;

  if (server == NULL)
    return DVM_CLI_EXIT_FAILED;
  /* An address that nobody has read is of no use to anybody. */
  if (!print_url (cli, server, token, &reader_gone, error))
    return reader_gone ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
  tell_about (cli, server, &setup);
  g_main_loop_run (loop);
  return DVM_CLI_EXIT_OK;
}

int
dvm_cli_web_run (DvmCli *cli, GError **error)
{
  const char *host = dvm_cli_args_get (cli->args, "address");
  guint port = dvm_cli_args_get_uint (cli->args, "port", 0);
  g_autoptr (GSocketAddress)
      address = dvm_cli_web_make_address (host != NULL ? host : "127.0.0.1", (guint16)port, error);
  g_autofree char *token = NULL;

  if (address == NULL || !check_options (cli, address, error))
    return DVM_CLI_EXIT_USAGE;
  if (!dvm_cli_scheduler_find (cli, error) || !find_token (cli, &token, error))
    return DVM_CLI_EXIT_FAILED;
  return serve (cli, address, token, error);
}
