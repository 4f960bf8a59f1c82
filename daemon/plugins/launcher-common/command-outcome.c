/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The last words of a command are found, and why an agent has ended.
 */

#include "config.h"

#include "command-launcher.h"

#include <string.h>

/* "dvm-agent[123]: message: dvmd-agent: " before what an agent says: it differs where the cause is the same. */
static const char *
skip_log_prefix (const char *line)
{
  const char *at = line;

  if (!g_str_has_prefix (line, "dvm-agent[") && !g_str_has_prefix (line, "dvm-guard["))
    return line;
  for (guint i = 0; i < 3 && at != NULL; i++)
    at = strstr (at, ": ") != NULL ? strstr (at, ": ") + 2 : NULL;
  return at != NULL ? at : line;
}

/* A line of the log of an agent's PMIx server is no word of the agent. */
#define PMIX_SERVER_LINE "dvm-pmix["

/* "pdsh@HERE: HOST: ssh exited with exit code 255" repeats the status, behind what ssh has said. */
static gboolean
is_status (const char *line)
{
  return g_str_has_prefix (line, "pdsh@") && strstr (line, " exited with exit code ") != NULL;
}

char *
dvmd_command_last_words (const DvmdPluginOutcome *outcome)
{
  gsize length;
  const char *bytes = g_bytes_get_data (outcome->messages, &length);
  g_autofree char *text = g_strndup (bytes != NULL ? bytes : "", length);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  const char *status = "";

  for (guint i = g_strv_length (lines); i > 0; i--)
    if (g_strstrip (lines[i - 1])[0] == '\0' || g_str_has_prefix (lines[i - 1], DVMD_COMMAND_ARRIVED)
        || g_str_has_prefix (lines[i - 1], PMIX_SERVER_LINE))
      ;
    else if (is_status (lines[i - 1]))
      status = lines[i - 1];
    else
      return g_strdup (skip_log_prefix (lines[i - 1]));
  return g_strdup (status);
}

GError *
dvmd_command_explain_exit (const char *name, const DvmdPluginOutcome *outcome)
{
  g_autofree char *words = dvmd_command_last_words (outcome);
  const char *colon = words[0] != '\0' ? ": " : "";

  if (outcome->exit_signal != 0)
    return g_error_new (DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "%s: the agent was ended by signal %d (%s)%s%s", name,
                        outcome->exit_signal, g_strsignal (outcome->exit_signal), colon, words);
  switch (outcome->exit_code)
    {
    case 127:
      return g_error_new (DVM_ERROR, DVM_ERROR_NOT_FOUND, "%s: agent missing: there is no such program%s%s", name,
                          colon, words);
    case 126:
      return g_error_new (DVM_ERROR, DVM_ERROR_NOT_FOUND, "%s: agent missing: it cannot be executed%s%s", name, colon,
                          words);
    case DVMD_AGENT_EXIT_VERSION:
      return g_error_new (DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "%s: version: the agent is of another version%s%s", name,
                          colon, words);
    case DVMD_AGENT_EXIT_CONNECT:
      return g_error_new (DVM_ERROR, DVM_ERROR_NOT_READY, "%s: connection: the agent has not reached the DVM%s%s", name,
                          colon, words);
    case DVMD_AGENT_EXIT_AUTHENTICATION:
      return g_error_new (DVM_ERROR, DVM_ERROR_NO_PERMISSIONS, "%s: authentication: the agent was not let in%s%s", name,
                          colon, words);
    default:
      return g_error_new (DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "%s: the agent has exited with status %d%s%s", name,
                          outcome->exit_code, colon, words);
    }
}
