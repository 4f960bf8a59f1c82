/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Addresses such as user@host:port become words of an ssh command line.
 */

#include "config.h"

#include "ssh-words.h"

#include "launch-words.h"

#include <string.h>

void
ssh_address_clear (SshAddress *address)
{
  g_clear_pointer (&address->target, g_free);
  g_clear_pointer (&address->host, g_free);
  g_clear_pointer (&address->port, g_free);
}

static gboolean
is_port (const char *text)
{
  guint64 port;

  return g_ascii_string_to_unsigned (text, 10, 1, 65535, &port, NULL);
}

gboolean
ssh_address_parse (const char *name, SshAddress *address, GError **error)
{
  const char *at = strrchr (name, '@');
  const char *host = at != NULL ? at + 1 : name;
  const char *end = host + strlen (host);
  const char *colon = strrchr (host, ':');

  *address = (SshAddress){ 0 };
  /* More than one colon without brackets is an address of IPv6, and none of them speaks of a port. */
  if (colon != NULL && colon > host && (colon[-1] == ']' || strchr (host, ':') == colon))
    {
      end = colon;
      address->port = g_strdup (colon + 1);
    }
  address->host = g_strndup (host, end - host);
  if (address->host[0] == '[' && g_str_has_suffix (address->host, "]"))
    {
      memmove (address->host, address->host + 1, strlen (address->host));
      address->host[strlen (address->host) - 1] = '\0';
    }
  address->target = g_strdup_printf ("%.*s%s", (int)(host - name), name, address->host);
  /* ssh would take a name with a leading dash for an option. */
  if (name[0] != '-' && address->host[0] != '-' && address->host[0] != '\0' && at != name
      && strpbrk (name, " \t\r\n") == NULL && (address->port == NULL || is_port (address->port)))
    return TRUE;
  ssh_address_clear (address);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "\"%s\" is no host: expected [USER@]HOST[:PORT]", name);
  return FALSE;
}

char *
ssh_remote_line (const char *mark, const char *const *agent_argv, const char *node)
{
  GString *line = g_string_new (NULL);
  g_autofree char *quoted_node = dvmd_launch_quote (node);

  g_string_printf (line, "exec sh -c 'echo %s$$ >&2; exec \"$@\"' dvm-agent", mark);
  for (guint i = 0; agent_argv[i] != NULL; i++)
    {
      g_autofree char *word = dvmd_launch_quote (agent_argv[i]);

      g_string_append_printf (line, " %s", word);
    }
  g_string_append_printf (line, " --node %s", quoted_node);
  return g_string_free (line, FALSE);
}
