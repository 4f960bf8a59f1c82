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
  else if (g_strcmp0 (cli->bus, "session") == 0 || g_strcmp0 (cli->bus, "system") == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, _ ("no DVM named %s is on the %s bus: %s"),
                 name != NULL ? name : "default", cli->bus, cause);
  else if (name != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
                 _ ("no DVM named %s is running; 'dvm-cli start --name %s' starts one"), name, name);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, _ ("no DVM is running; 'dvm-cli start' starts one"));
}

DvmClient *
dvm_cli_connect (DvmCli *cli, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_client_new (cli);

  if (!dvm_client_connect (client, NULL, error))
    {
      dvm_cli_explain_connect (cli, error);
      return NULL;
    }
  return g_steal_pointer (&client);
}
