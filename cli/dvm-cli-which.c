/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * prun and pterm name a DVM by its URI, its pid or its namespace: each leads to the private socket of one.
 */

#include "config.h"

#include "dvm-cli-which.h"

#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-file.h"
#include "dvm-cli-sockets.h"

#define ADDRESS "unix:path="

const DvmCliOption dvm_cli_which_options[] = {
  { "dvm-uri", 0, "-dvm-uri", DVM_CLI_ARG_STRING, N_ ("URI"), NULL,
    N_ ("the DVM of that address, or of the one in file:FILE, as --report-uri writes it"), NULL, TRUE },
  { "dvm", 0, "-dvm", DVM_CLI_ARG_STRING, N_ ("WHICH"), NULL,
    N_ ("a DVM that is there: search, pid:N, ns:NAMESPACE, uri:URI, file:FILE, system or system-first"), NULL, TRUE },
  { "pid", 0, "-pid", DVM_CLI_ARG_STRING, N_ ("PID"), NULL,
    N_ ("the DVM whose dvmd has that pid, or the one in file:FILE"), NULL, TRUE },
  { "namespace", 0, "-namespace", DVM_CLI_ARG_STRING, N_ ("NAMESPACE"), NULL, N_ ("the DVM that has it in PMIx"), NULL,
    TRUE },
  { "system-server-first", 0, "-system-server-first", DVM_CLI_ARG_NONE, NULL, NULL,
    N_ ("the DVM on the system bus, or else the user's") },
  { "system-server-only", 0, "-system-server-only", DVM_CLI_ARG_NONE, NULL, NULL, N_ ("the DVM on the system bus") },
  { "wait-to-connect", 0, "-wait-to-connect", DVM_CLI_ARG_COUNT, N_ ("SECONDS"), "86400",
    N_ ("how long to wait before each further try to find the DVM (default: 1)") },
  { "num-connect-retries", 0, "-num-connect-retries", DVM_CLI_ARG_NUMBER, N_ ("N"), "65535",
    N_ ("how many further tries there are (default: 0, or 10 with --wait-to-connect)") },
  { NULL },
};

/* One of the ways in which a DVM was named. */
typedef struct
{
  DvmCli *cli;
  const char *option; /* as it was typed, for messages */
} Which;

char *
dvm_cli_which_uri (const char *socket)
{
  g_autofree char *path = g_dbus_address_escape_value (socket);

  return g_strconcat (ADDRESS, path, NULL);
}

/* The name stays as long as the options. */
static const char *
keep (Which *self, char *text)
{
  char **words = g_new0 (char *, 2);

  words[0] = text;
  return dvm_cli_args_keep (self->cli->args, words)[0];
}

static void
take_socket (Which *self, char *path)
{
  self->cli->socket = keep (self, path);
}

/* ---- those that run ---- */

static gboolean
has_pid (Which *self, const char *socket, gconstpointer wanted)
{
  return dvm_cli_find_listener (socket) == (pid_t)GPOINTER_TO_INT (wanted);
}

static gboolean
has_namespace (Which *self, const char *socket, gconstpointer wanted)
{
  DvmCli other = { .args = self->cli->args, .verb = self->cli->verb, .socket = socket, .quiet = TRUE };
  g_autoptr (DvmClient) client = dvm_cli_client_new (&other);
  g_autoptr (GVariant) properties = NULL;
  const char *nspace = NULL;

  if (!dvm_cli_connect_client (&other, client, NULL, NULL))
    return FALSE;
  properties = dvm_client_get_info (client, NULL, NULL);
  return properties != NULL && g_variant_lookup (properties, "Namespace", "&s", &nspace)
         && g_strcmp0 (nspace, wanted) == 0;
}

static gboolean
find_socket (Which *self, gboolean (*fits) (Which *self, const char *socket, gconstpointer wanted),
             gconstpointer wanted, GError **error)
{
  g_autoptr (GPtrArray) sockets = dvm_cli_list_sockets ();

  for (guint i = 0; i < sockets->len; i++)
    if (fits (self, g_ptr_array_index (sockets, i), wanted))
      {
        take_socket (self, g_strdup (g_ptr_array_index (sockets, i)));
        return TRUE;
      }
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, _ ("%s: none of the DVMs of this user is that"), self->option);
  return FALSE;
}

/* ---- what names one ---- */

static gboolean
take_namespace (Which *self, const char *nspace, GError **error)
{
  return find_socket (self, has_namespace, nspace, error);
}

static gboolean
take_pid (Which *self, const char *text, GError **error)
{
  guint64 pid;

  if (g_ascii_string_to_unsigned (text, 10, 1, G_MAXINT, &pid, NULL))
    return find_socket (self, has_pid, GINT_TO_POINTER ((int)pid), error);
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("%s: '%s' is no pid"), self->option, text);
  return FALSE;
}

/* "unix:path=PATH,guid=...", or a URI of PMIx, "NAMESPACE.RANK;tcp4://...", which has the namespace of the DVM. */
static gboolean
take_uri (Which *self, const char *uri, GError **error)
{
  const char *semicolon = strchr (uri, ';');
  const char *dot = semicolon != NULL ? g_strrstr_len (uri, semicolon - uri, ".") : NULL;
  g_autofree char *value = NULL;
  g_autofree char *path = NULL;

  if (g_str_has_prefix (uri, ADDRESS))
    {
      value = g_strndup (uri + strlen (ADDRESS), strcspn (uri + strlen (ADDRESS), ",;"));
      path = g_uri_unescape_string (value, NULL);
    }
  if (path != NULL && g_path_is_absolute (path))
    {
      take_socket (self, g_steal_pointer (&path));
      return TRUE;
    }
  if (dot != NULL)
    {
      g_autofree char *nspace = g_strndup (uri, (gsize)(dot - uri));

      return take_namespace (self, nspace, error);
    }
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
               _ ("%s: '%s' is neither an address such as unix:path=PATH nor a URI of PMIx"), self->option, uri);
  return FALSE;
}

/* The first line of the file. */
static gboolean
take_file (Which *self, const char *path, gboolean (*take) (Which *self, const char *text, GError **error),
           GError **error)
{
  g_autofree char *text = NULL;
  gsize length;

  if (!dvm_cli_read_file (path, &text, &length, error))
    {
      g_prefix_error (error, "%s: ", self->option);
      return FALSE;
    }
  text[strcspn (text, "\r\n")] = '\0';
  return take (self, g_strstrip (text), error);
}

/* "file:FILE" stands for what is in there. */
static gboolean
take_text (Which *self, const char *text, gboolean (*take) (Which *self, const char *text, GError **error),
           GError **error)
{
  return g_str_has_prefix (text, "file:") ? take_file (self, text + strlen ("file:"), take, error)
                                          : take (self, text, error);
}

static gboolean
take_dvm (Which *self, const char *which, GError **error)
{
  const char *colon = strchr (which, ':');

  if (strcmp (which, "search") == 0 || strcmp (which, "system-first") == 0)
    return TRUE;
  if (strcmp (which, "system") == 0)
    {
      self->cli->bus = "system";
      return TRUE;
    }
  if (g_str_has_prefix (which, "pid:"))
    return take_pid (self, colon + 1, error);
  if (g_str_has_prefix (which, "ns:"))
    return take_namespace (self, colon + 1, error);
  if (g_str_has_prefix (which, "uri:"))
    return take_uri (self, colon + 1, error);
  if (g_str_has_prefix (which, "file:"))
    return take_file (self, colon + 1, take_uri, error);
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
               _ ("%s: it is one of search, pid:N, ns:NAMESPACE, uri:URI, file:FILE, system and system-first"),
               self->option);
  return FALSE;
}

/* ---- all ---- */

static const char *const ways[] = {
  "dvm-uri", "dvm", "pid", "namespace", "system-server-first", "system-server-only", "name", "socket", "bus",
};

/* (nullable): the one that is given; two of them are an error */
static const char *
find_way (DvmCliArgs *args, GError **error)
{
  const char *way = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      if (!dvm_cli_args_has (args, ways[i]))
        continue;
      /* A name goes with a bus. */
      if (way != NULL
          && dvm_cli_option_find ((DvmCliOptionLists)(const DvmCliOption *[]){ dvm_cli_which_options, NULL }, way)
                 != NULL)
        {
          g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("options --%s and --%s exclude each other"), way, ways[i]);
          return NULL;
        }
      way = ways[i];
    }
  return way;
}

gboolean
dvm_cli_which_resolve (DvmCli *cli, GError **error)
{
  static const struct
  {
    const char *option;
    gboolean (*take) (Which *self, const char *text, GError **error);
    gboolean may_be_file;
  } takers[] = {
    { "dvm-uri", take_uri, TRUE },
    { "dvm", take_dvm, FALSE },
    { "pid", take_pid, TRUE },
    { "namespace", take_namespace, FALSE },
  };
  g_autoptr (GError) local_error = NULL;
  const char *way = find_way (cli->args, &local_error);
  g_autofree char *shown = way != NULL ? dvm_cli_args_show (cli->args, way) : NULL;
  Which self = { cli, shown };

  if (local_error != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local_error));
      return FALSE;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (takers); i++)
    if (g_strcmp0 (way, takers[i].option) == 0)
      {
        const char *text = dvm_cli_args_get (cli->args, way);

        cli->needs_dvm = TRUE;
        cli->name = NULL;
        cli->socket = NULL;
        return takers[i].may_be_file ? take_text (&self, text, takers[i].take, error)
                                     : takers[i].take (&self, text, error);
      }
  if (g_strcmp0 (way, "system-server-only") == 0)
    cli->bus = "system";
  if (g_strcmp0 (way, "system-server-only") == 0 || g_strcmp0 (way, "system-server-first") == 0
      || dvm_cli_args_has (cli->args, "wait-to-connect") || dvm_cli_args_has (cli->args, "num-connect-retries"))
    cli->needs_dvm = TRUE;
  return TRUE;
}
