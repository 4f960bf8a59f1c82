/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Words that launchers say to shells of other machines, and the meaning of those that commands say which do not get
 * there.
 */

#include "config.h"

#include "launch-words.h"

#include <string.h>

#define PLAIN                                                                                                          \
  "abcdefghijklmnopqrstuvwxyz"                                                                                         \
  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"                                                                                         \
  "0123456789_./:@%+,-"

char *
dvmd_launch_find_agent (const char *prefix, const char *program)
{
  const char *slash = strrchr (program, '/');

  if (prefix == NULL || prefix[0] == '\0')
    return g_strdup (program);
  return g_build_filename (prefix, "bin", slash != NULL ? slash + 1 : program, NULL);
}

char *
dvmd_launch_quote (const char *word)
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

/* The pid is that of an agent's guard, or its own. */
char *
dvmd_launch_make_kill_script (int pid)
{
  return g_strdup_printf ("kill -TERM %d && sleep 2; kill -TERM %d && sleep 1; kill -KILL %d", pid, pid, pid);
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
dvmd_launch_find_reason (const char *words)
{
  for (gsize i = 0; i < G_N_ELEMENTS (meanings); i++)
    if (strstr (words, meanings[i].words) != NULL)
      return meanings[i].reason;
  return NULL;
}

DvmError
dvmd_launch_find_code (const char *reason)
{
  if (g_strcmp0 (reason, "authentication") == 0)
    return DVM_ERROR_NO_PERMISSIONS;
  return g_strcmp0 (reason, "timeout") == 0 ? DVM_ERROR_TIMEOUT : DVM_ERROR_LAUNCH_FAILED;
}
