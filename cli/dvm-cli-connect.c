/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvm-cli-connect.h"

#include <glib/gi18n-lib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static gboolean
is_own_directory (const char *path)
{
  struct stat info;

  return path != NULL && path[0] == '/' && stat (path, &info) == 0 && S_ISDIR (info.st_mode)
         && info.st_uid == getuid ();
}

char *
dvm_cli_runtime_dir (const char *name)
{
  const char *base = g_getenv ("XDG_RUNTIME_DIR");

  if (is_own_directory (base))
    return g_strdup_printf ("%s/dvm/%s", base, name != NULL ? name : "default");
  return g_strdup_printf ("/tmp/dvm-%u/%s", (guint)getuid (), name != NULL ? name : "default");
}

char *
dvm_cli_socket_path (DvmCli *cli)
{
  g_autofree char *directory = NULL;

  if (cli->socket != NULL)
    return g_canonicalize_filename (cli->socket, NULL);
  directory = dvm_cli_runtime_dir (cli->name);
  return g_strdup_printf ("%s/bus", directory);
}

gboolean
dvm_cli_is_chosen (DvmCli *cli)
{
  return cli->name != NULL || cli->socket != NULL || cli->bus != NULL;
}

static DvmClient *
new_for_socket (DvmCli *cli)
{
  g_autofree char *path = dvm_cli_socket_path (cli);
  g_autofree char *escaped = g_dbus_address_escape_value (path);
  g_autofree char *address = g_strdup_printf ("unix:path=%s", escaped);

  return dvm_client_new_for_address (address);
}

DvmClient *
dvm_cli_client_new (DvmCli *cli, GError **error)
{
  if (cli->socket != NULL || g_strcmp0 (cli->bus, "none") == 0)
    return new_for_socket (cli);
  return dvm_client_new (cli->name);
}

void
dvm_cli_explain_connect (DvmCli *cli, GError **error)
{
  const char *name = cli->name;
  g_autofree char *cause = NULL;

  if (!g_error_matches (*error, DVM_ERROR, DVM_ERROR_NOT_FOUND))
    return;
  cause = g_strdup ((*error)->message);
  g_clear_error (error);
  if (cli->socket != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, _ ("no DVM answers at the socket %s: %s"), cli->socket, cause);
  else if (name != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
                 _ ("no DVM named %s is running; 'dvm-cli start --name %s' starts one"), name, name);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, _ ("no DVM is running; 'dvm-cli start' starts one"));
}

DvmClient *
dvm_cli_connect (DvmCli *cli, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_client_new (cli, error);

  if (client == NULL)
    return NULL;
  if (!dvm_client_connect (client, NULL, error))
    {
      dvm_cli_explain_connect (cli, error);
      return NULL;
    }
  return g_steal_pointer (&client);
}
