/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli stop: ends a DVM; returns when its process has gone.
 */

#include "config.h"

#include <gio/gio.h>
#include <glib-unix.h>
#include <glib/gi18n-lib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "dvm-cli-await.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-interrupt.h"
#include "dvm-cli-output.h"
#include "dvm-cli-sockets.h"
#include "dvm-cli-which.h"

/* A DVM ends its jobs first: SIGTERM, time to react, SIGKILL. */
#define DEFAULT_TIMEOUT 60
/* Seconds for a DVM that ends to say what is left of it */
#define REST_TIMEOUT 5

#define BUS_NAME "org.dvm.Manager"

static const DvmCliOption options[] = {
  { "force", 'f', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("kill its jobs at once") },
  { "timeout", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("SECONDS"), NULL, N_ ("how long to wait for its end (default: 60)") },
  { NULL },
};

/* The path of "unix:path=PATH,guid=..."; (transfer full) (nullable) */
static char *
path_of_address (const char *address)
{
  g_autofree char *value = NULL;

  if (address == NULL || !g_str_has_prefix (address, "unix:path="))
    return NULL;
  value = g_strndup (address + strlen ("unix:path="), strcspn (address + strlen ("unix:path="), ",;"));
  return g_uri_unescape_string (value, NULL);
}

/* A pidfd of the process that listens at path, -1 if there is none. */
static int
open_listener (const char *path)
{
  pid_t pid = dvm_cli_find_listener (path);

  return pid > 0 ? pidfd_open (pid, 0) : -1;
}

/* A pidfd of the process that owns the DVM's name on the message bus at address, -1 if there is none. */
static int
open_owner (DvmCli *cli, const char *address)
{
  g_autoptr (GDBusConnection) bus = g_dbus_connection_new_for_address_sync (
      address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION, NULL,
      NULL, NULL);
  g_autofree char *name = cli->name != NULL ? g_strconcat (BUS_NAME ".", cli->name, NULL) : g_strdup (BUS_NAME);
  g_autoptr (GVariant) reply = NULL;
  guint32 pid;

  if (bus == NULL)
    return -1;
  g_dbus_connection_set_exit_on_close (bus, FALSE);
  reply = g_dbus_connection_call_sync (bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                       "GetConnectionUnixProcessID", g_variant_new ("(s)", name),
                                       G_VARIANT_TYPE ("(u)"), G_DBUS_CALL_FLAGS_NO_AUTO_START, -1, NULL, NULL);
  if (reply == NULL)
    return -1;
  g_variant_get (reply, "(u)", &pid);
  return pidfd_open ((pid_t)pid, 0);
}

/* The connection is the private socket, or else a message bus. */
static int
find_process (DvmCli *cli, DvmClient *client)
{
  const char *address = dvm_client_get_address (client);
  g_autofree char *usual = dvm_cli_socket_path (cli);
  g_autofree char *path = path_of_address (address);

  if (g_strcmp0 (path, usual) == 0)
    return open_listener (path);
  return address != NULL ? open_owner (cli, address) : -1;
}

static gboolean
on_timeout (gpointer user_data)
{
  gboolean *is_over = user_data;

  *is_over = TRUE;
  return G_SOURCE_REMOVE;
}

static gboolean
on_process_gone (int fd, GIOCondition condition, gpointer user_data)
{
  gboolean *is_gone = user_data;

  *is_gone = TRUE;
  return G_SOURCE_CONTINUE;
}

/* Without the process all that can be seen is that the connection ends. */
static gboolean
wait_gone (DvmClient *client, int pidfd, guint seconds)
{
  gboolean is_over = FALSE;
  gboolean is_gone = FALSE;
  guint timer = g_timeout_add_seconds (seconds, on_timeout, &is_over);
  guint watch = pidfd >= 0 ? g_unix_fd_add (pidfd, G_IO_IN, on_process_gone, &is_gone) : 0;

  while (!is_over && !is_gone)
    {
      is_gone = pidfd < 0 && !dvm_client_get_connected (client);
      if (!is_gone)
        g_main_context_iteration (NULL, TRUE);
    }
  g_clear_handle_id (&watch, g_source_remove);
  if (!is_over)
    g_source_remove (timer);
  return is_gone;
}

static gboolean
order_end (DvmCli *cli, DvmClient *client, GCancellable *late, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  dvm_client_shutdown_async (client, dvm_cli_args_has (cli->args, "force"), late, dvm_cli_ready, &result);
  if (!dvm_client_shutdown_finish (client, dvm_cli_await (&result), error))
    return FALSE;
  dvm_cli_tell (cli, _ ("the DVM is ending"));
  return TRUE;
}

static gboolean
on_late (gpointer user_data)
{
  g_cancellable_cancel (user_data);
  return G_SOURCE_CONTINUE;
}

/* ---- what is left ---- */

/* A DVM that ends answers what only reads. */
static gboolean
count_rest (DvmClient *client, guint *n_jobs, guint *n_nodes)
{
  g_autoptr (GCancellable) late = g_cancellable_new ();
  guint timer = g_timeout_add_seconds (REST_TIMEOUT, on_late, late);
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GAsyncResult) next = NULL;
  g_autoptr (GPtrArray) jobs = NULL;
  g_autoptr (GPtrArray) nodes = NULL;

  dvm_client_list_jobs_async (client, FALSE, late, dvm_cli_ready, &result);
  jobs = dvm_client_list_jobs_finish (client, dvm_cli_await (&result), NULL);
  if (jobs != NULL)
    {
      dvm_client_list_nodes_async (client, late, dvm_cli_ready, &next);
      nodes = dvm_client_list_nodes_finish (client, dvm_cli_await (&next), NULL);
    }
  g_source_remove (timer);
  *n_jobs = jobs != NULL ? jobs->len : 0;
  *n_nodes = 0;
  for (guint i = 0; nodes != NULL && i < nodes->len; i++)
    *n_nodes += dvm_node_get_rank (nodes->pdata[i]) > 0 && dvm_node_get_state (nodes->pdata[i]) == DVM_NODE_STATE_UP;
  return nodes != NULL;
}

/* (transfer full) */
static char *
describe_rest (DvmClient *client)
{
  guint n_jobs;
  guint n_nodes;

  if (!count_rest (client, &n_jobs, &n_nodes))
    return g_strdup (_ ("it does not answer any more; 'dvm-cli logs' shows what it has said"));
  if (n_jobs > 0)
    return g_strdup_printf (
        g_dngettext (GETTEXT_PACKAGE, "it waits for the end of %u job; 'dvm-cli stop --force' kills its processes",
                     "it waits for the end of %u jobs; 'dvm-cli stop --force' kills their processes", n_jobs),
        n_jobs);
  if (n_nodes > 0)
    return g_strdup_printf (
        g_dngettext (GETTEXT_PACKAGE, "its jobs have ended, and %u node has not left yet; it goes on ending",
                     "its jobs have ended, and %u nodes have not left yet; it goes on ending", n_nodes),
        n_nodes);
  return g_strdup (_ ("its jobs have ended, its nodes have left, and it goes on ending"));
}

/* ---- the end ---- */

static gboolean
await_end (DvmCli *cli, DvmClient *client, int pidfd, guint seconds, GError **error)
{
  g_autoptr (DvmCliInterrupt) interrupt = dvm_cli_interrupt_new (
      cli, g_strdup (_ ("the DVM goes on ending; 'dvm-cli status' says whether it has gone")));
  g_autofree char *rest = NULL;

  if (wait_gone (client, pidfd, seconds))
    return TRUE;
  rest = describe_rest (client);
  if (wait_gone (client, pidfd, 0))
    return TRUE;
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT,
               g_dngettext (GETTEXT_PACKAGE, "the DVM has not ended within %u second: %s",
                            "the DVM has not ended within %u seconds: %s", seconds),
               seconds, rest);
  return FALSE;
}

/* A DVM that is stopped, or hangs, would be waited for without end. (nullable); *pidfd: of its process, or -1 */
static DvmClient *
begin_end (DvmCli *cli, guint seconds, int *pidfd, GError **error)
{
  g_autoptr (GCancellable) late = g_cancellable_new ();
  g_autoptr (GError) local_error = NULL;
  guint timer = g_timeout_add_seconds (seconds, on_late, late);
  g_autoptr (DvmClient) client = dvm_cli_connect_cancellable (cli, late, &local_error);
  gboolean ok = FALSE;

  if (client != NULL)
    {
      *pidfd = find_process (cli, client);
      ok = order_end (cli, client, late, &local_error);
    }
  g_source_remove (timer);
  if (ok)
    return g_steal_pointer (&client);
  if (g_cancellable_is_cancelled (late))
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT,
                 g_dngettext (GETTEXT_PACKAGE, "the DVM has not answered within %u second",
                              "the DVM has not answered within %u seconds", seconds),
                 seconds);
  else
    g_propagate_error (error, g_steal_pointer (&local_error));
  return NULL;
}

static int
stop_verb (DvmCli *cli, GError **error)
{
  guint seconds = dvm_cli_args_get_uint (cli->args, "timeout", DEFAULT_TIMEOUT);
  int pidfd = -1;
  g_autoptr (DvmClient) client = begin_end (cli, seconds, &pidfd, error);
  gboolean ok = client != NULL && await_end (cli, client, pidfd, seconds, error);

  if (pidfd >= 0)
    close (pidfd);
  if (ok && cli->json)
    ok = dvm_cli_print ("{\"stopped\":true}\n", error);
  return ok ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_stop = {
  .name = "stop",
  .synopsis = "[OPTION...]",
  .summary = N_ ("end a DVM and its jobs; returns when it has gone"),
  .options = { options, dvm_cli_which_options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = stop_verb,
};
