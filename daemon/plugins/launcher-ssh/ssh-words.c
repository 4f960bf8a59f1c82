/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Addresses such as user@host:port become words of an ssh command line.
 */

#include "config.h"

#include "ssh-words.h"

#include <string.h>

#define PLAIN                                                                                                          \
  "abcdefghijklmnopqrstuvwxyz"                                                                                         \
  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"                                                                                         \
  "0123456789_./:@%+,-"

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
ssh_quote (const char *word)
{
  GString *text;

  if (word[0] != '\0' && word[strspn (word, PLAIN)] == '\0')
    return g_strdup (word);
  /* Characters that one of the shells expands even between quotes stand outside of them, behind a backslash. */
  text = g_string_new ("'");
  for (const char *at = word; *at != '\0'; at++)
    if (strchr ("'!\\", *at) != NULL)
      g_string_append_printf (text, "'\\%c'", *at);
    else
      g_string_append_c (text, *at);
  g_string_append_c (text, '\'');
  return g_string_free (text, FALSE);
}

char *
ssh_remote_line (const char *mark, const char *prefix, const char *const *agent_argv, const char *node)
{
  GString *line = g_string_new (NULL);
  const char *slash = strrchr (agent_argv[0], '/');
  g_autofree char *program = prefix != NULL && prefix[0] != '\0'
                                 ? g_build_filename (prefix, "bin", slash != NULL ? slash + 1 : agent_argv[0], NULL)
                                 : g_strdup (agent_argv[0]);
  g_autofree char *quoted_program = ssh_quote (program);
  g_autofree char *quoted_node = ssh_quote (node);

  g_string_printf (line, "exec sh -c 'echo %s$$ >&2; exec \"$@\"' dvm-agent %s", mark, quoted_program);
  for (guint i = 1; agent_argv[i] != NULL; i++)
    {
      g_autofree char *word = ssh_quote (agent_argv[i]);

      g_string_append_printf (line, " %s", word);
    }
  g_string_append_printf (line, " --node %s", quoted_node);
  return g_string_free (line, FALSE);
}

typedef struct
{
  const char *words;
  const char *reason;
} Meaning;

/* The first that is found; "timed out" alone is a connect() that nobody has answered. */
static const Meaning meanings[] = {
  { "Permission denied", "authentication" },
  { "Host key verification failed", "authentication" },
  { "host key", "authentication" },
  { "Too many authentication failures", "authentication" },
  { "Authentication failed", "authentication" },
  { "banner exchange", "timeout" },
  { "Connection refused", "refused" },
  { "closed by remote host", "refused" },
  { "Connection closed by", "refused" },
  { "No route to host", "unreachable" },
  { "is unreachable", "unreachable" },
  { "Could not resolve hostname", "unreachable" },
  { "Name or service not known", "unreachable" },
  { "timed out", "unreachable" },
  { "not responding", "unreachable" },
  { "Connection reset", "unreachable" },
  { "Broken pipe", "unreachable" },
};

const char *
ssh_find_reason (const char *words)
{
  for (gsize i = 0; i < G_N_ELEMENTS (meanings); i++)
    if (strstr (words, meanings[i].words) != NULL)
      return meanings[i].reason;
  return NULL;
}
