/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The DVM that the options name is found, and a client is connected to it.
 */

#include "config.h"

#include "dvm-cli-connect.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-await.h"
#include "dvm-cli-output.h"
#include "dvm-cli-scheduler.h"
#include "dvm-cli-sockets.h"
#include "dvm-cli-state.h"

/* Seconds after which people are told what they wait for. */
#define SILENCE 10

/* The tries of a user who says how long to wait between them, and not how often */
#define DEFAULT_RETRIES 10

char *
dvm_cli_socket_path (DvmCli *cli)
{
  g_autofree char *directory = NULL;

  if (cli->socket != NULL)
    return g_canonicalize_filename (cli->socket, NULL);
  directory = dvm_client_build_runtime_dir (cli->name);
  return g_strdup_printf ("%s/bus", directory);
}

gboolean
dvm_cli_is_chosen (DvmCli *cli)
{
  return cli->name != NULL || cli->socket != NULL || cli->bus != NULL || cli->needs_dvm;
}

/* (transfer full) (nullable): where alone to look; NULL: at every usual place */
static char *
get_address (DvmCli *cli)
{
  if (cli->socket != NULL || g_strcmp0 (cli->bus, "none") == 0)
    return dvm_cli_socket_path (cli);
  return g_strdup (cli->bus);
}

DvmClient *
dvm_cli_client_new (DvmCli *cli)
{
  g_autofree char *address = get_address (cli);

  return g_object_new (DVM_TYPE_CLIENT, "name", cli->name, "address", address, NULL);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

char *
dvm_cli_list_others (DvmCli *cli)
{
  g_autoptr (GPtrArray) sockets = dvm_cli_list_sockets ();
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *own = dvm_cli_socket_path (cli);

  for (guint i = 0; i < sockets->len; i++)
    {
      g_autofree char *directory = g_path_get_dirname (sockets->pdata[i]);

      if ((cli->foreign != NULL || strcmp (sockets->pdata[i], own) != 0)
          && dvm_cli_find_listener (sockets->pdata[i]) > 0)
        g_ptr_array_add (names, g_path_get_basename (directory));
    }
  g_ptr_array_sort (names, compare_names);
  g_ptr_array_add (names, NULL);
  return g_strjoinv (" ", (char **)names->pdata);
}

static void
add_to_message (GError **error, const char *more)
{
  char *text = g_strdup_printf ("%s; %s", (*error)->message, more);

  g_free ((*error)->message);
  (*error)->message = text;
}

/* A DVM may be there under another name. */
static void
tell_others (DvmCli *cli, GError **error)
{
  g_autofree char *others = dvm_cli_list_others (cli);
  g_autofree char *first = g_strndup (others, strcspn (others, " "));
  g_autofree char *more = others[0] != '\0' ? g_strdup_printf (
                              _ ("these run under other names: %s ('--name %s' asks that one)"), others, first)
                                            : NULL;

  if (more != NULL)
    add_to_message (error, more);
}

void
dvm_cli_explain_connect (DvmCli *cli, GError **error)
{
  const char *name = cli->name;
  g_autofree char *cause = NULL;

  if (error == NULL || !g_error_matches (*error, DVM_ERROR, DVM_ERROR_NOT_FOUND))
    return;
  cause = g_strdup ((*error)->message);
  g_clear_error (error);
  if (cli->foreign != NULL)
    {
      g_set_error_literal (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, cli->foreign);
      return;
    }
  if (cli->socket != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, _ ("no DVM answers at the socket %s: %s"), cli->socket, cause);
  else if (g_strcmp0 (cli->bus, "session") == 0 || g_strcmp0 (cli->bus, "system") == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, _ ("no DVM named %s is on the %s bus: %s"),
                 name != NULL ? name : "default", cli->bus, cause);
  else if (name != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
                 _ ("no DVM named %s is running; 'dvm-cli start --name %s' starts one"), name, name);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, _ ("no DVM is running; 'dvm-cli start' starts one"));
  dvm_cli_explain_end (cli, error);
  if (cli->socket == NULL && cli->bus == NULL)
    tell_others (cli, error);
}

void
dvm_cli_explain_end (DvmCli *cli, GError **error)
{
  g_autofree char *how = error != NULL && *error != NULL ? dvm_cli_state_describe_end (cli) : NULL;

  if (how != NULL)
    add_to_message (error, how);
}

typedef struct
{
  DvmCli *cli;
  guint source;
} Silence;

static gboolean
on_silence (gpointer user_data)
{
  Silence *silence = user_data;

  silence->source = 0;
  dvm_cli_note (silence->cli, _ ("the DVM does not answer; interrupt to give up"));
  return G_SOURCE_REMOVE;
}

gboolean
dvm_cli_connect_client (DvmCli *cli, DvmClient *client, GCancellable *cancellable, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;
  Silence silence = { cli, 0 };

  silence.source = g_timeout_add_seconds (SILENCE, on_silence, &silence);
  dvm_client_connect_async (client, cancellable, dvm_cli_ready, &result);
  dvm_cli_await (&result);
  g_clear_handle_id (&silence.source, g_source_remove);
  return dvm_client_connect_finish (client, result, error);
}

static DvmClient *
connect_once (DvmCli *cli, GCancellable *cancellable, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_client_new (cli);

  if (cli->foreign == NULL && !dvm_cli_connect_client (cli, client, cancellable, error))
    return NULL;
  if (cli->foreign == NULL && dvm_cli_scheduler_check (cli, client, cancellable))
    return g_steal_pointer (&client);
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, cli->foreign);
  return NULL;
}

static gboolean
is_system_first (DvmCli *cli)
{
  return dvm_cli_args_has (cli->args, "system-server-first")
         || g_strcmp0 (dvm_cli_args_get (cli->args, "dvm"), "system-first") == 0;
}

static DvmClient *
try_to_reach (DvmCli *cli, GCancellable *cancellable, GError **error)
{
  DvmClient *client;

  if (is_system_first (cli))
    {
      cli->bus = "system";
      client = connect_once (cli, cancellable, NULL);
      cli->bus = NULL;
      if (client != NULL)
        return client;
    }
  return connect_once (cli, cancellable, error);
}

static gboolean
on_pause_over (gpointer user_data)
{
  gboolean *is_over = user_data;

  *is_over = TRUE;
  return G_SOURCE_REMOVE;
}

/* A signal to give up ends the pause, too. */
static void
pause_between_tries (guint seconds, GCancellable *cancellable)
{
  gboolean is_over = FALSE;
  guint timer = g_timeout_add (seconds * 1000, on_pause_over, &is_over);

  while (!is_over && !g_cancellable_is_cancelled (cancellable))
    g_main_context_iteration (NULL, TRUE);
  if (!is_over)
    g_source_remove (timer);
}

DvmClient *
dvm_cli_reach (DvmCli *cli, GCancellable *cancellable, GError **error)
{
  guint seconds = dvm_cli_args_get_uint (cli->args, "wait-to-connect", 0);
  guint n_retries = dvm_cli_args_get_uint (cli->args, "num-connect-retries", seconds > 0 ? DEFAULT_RETRIES : 0);

  for (guint i = 0;; i++)
    {
      g_autoptr (GError) local_error = NULL;
      DvmClient *client = try_to_reach (cli, cancellable, &local_error);

      if (client != NULL)
        return client;
      if (i >= n_retries || !g_error_matches (local_error, DVM_ERROR, DVM_ERROR_NOT_FOUND)
          || g_cancellable_is_cancelled (cancellable))
        {
          g_propagate_error (error, g_steal_pointer (&local_error));
          return NULL;
        }
      pause_between_tries (MAX (seconds, 1), cancellable);
    }
}

DvmClient *
dvm_cli_connect_cancellable (DvmCli *cli, GCancellable *cancellable, GError **error)
{
  DvmClient *client = dvm_cli_reach (cli, cancellable, error);

  if (client == NULL)
    dvm_cli_explain_connect (cli, error);
  return client;
}

DvmClient *
dvm_cli_connect (DvmCli *cli, GError **error)
{
  return dvm_cli_connect_cancellable (cli, NULL, error);
}

/* Interfaces only grow: all that both know goes on. */
void
dvm_cli_note_version (DvmCli *cli, GVariant *properties)
{
  const char *version = DVM_VERSION_STRING;

  g_variant_lookup (properties, "Version", "&s", &version);
  if (strcmp (version, DVM_VERSION_STRING) != 0)
    dvm_cli_note (
        cli,
        _ ("this DVM is of version %s and dvm-cli of version %s: what one of them does not know is refused; start "
           "the DVM again in the version of dvm-cli when its jobs have ended"),
        version, DVM_VERSION_STRING);
}

/* As dvmd says it of a method, and of a job: it speaks no other language. */
static gboolean
is_unknown_option (const GError *error)
{
  return g_error_matches (error, DVM_ERROR, DVM_ERROR_BAD_PARAM)
         && (g_str_has_prefix (error->message, "Unknown option “")
             || strstr (error->message, ": unknown option") != NULL);
}

void
dvm_cli_explain_unknown (DvmCli *cli, const GError *error)
{
  g_autoptr (DvmClient) client = NULL;
  g_autoptr (GVariant) properties = NULL;

  if (!is_unknown_option (error))
    return;
  client = try_to_reach (cli, NULL, NULL);
  properties = client != NULL ? dvm_client_get_info (client, NULL, NULL) : NULL;
  if (properties != NULL)
    dvm_cli_note_version (cli, properties);
}
