/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sessions of a job.
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-session.h"
#include "dvm-cli-spec.h"

/* (transfer full): what --target has; "default" is the session that has no allocation; NULL on error */
static char **
split_targets (DvmCliArgs *args, GError **error)
{
  g_autofree const char **lists = dvm_cli_args_get_all (args, "target");
  g_autofree char *joined = g_strjoinv (",", (char **)lists);
  g_auto (GStrv) targets = g_strsplit (joined, ",", -1);

  for (gsize i = 0; targets[i] != NULL; i++)
    {
      if (targets[i][0] == '\0')
        {
          g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                       _ ("option --target: a name is missing in '%s'; the default session is called default"), joined);
          return NULL;
        }
      for (gsize k = 0; k < i; k++)
        if (strcmp (targets[k], targets[i]) == 0)
          {
            g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --target: '%s' is named twice"), targets[i]);
            return NULL;
          }
    }
  for (gsize i = 0; targets[i] != NULL; i++)
    if (strcmp (targets[i], "default") == 0)
      targets[i][0] = '\0';
  return g_steal_pointer (&targets);
}

gboolean
dvm_cli_spec_set_sessions (DvmJobSpec *spec, DvmCliArgs *args, GError **error)
{
  g_auto (GStrv) targets = split_targets (args, error);

  if (targets == NULL)
    return FALSE;
  /* Those of a job file stay when none are given. */
  if (targets[0] != NULL)
    dvm_job_spec_set_target (spec, (const char *const *)targets);
  return TRUE;
}

static gboolean
find_targets (DvmJobSpec *spec, DvmClient *client, GCancellable *cancellable, GError **error)
{
  g_auto (GStrv) targets = g_strdupv ((char **)dvm_job_spec_get_target (spec));

  for (gsize i = 0; targets != NULL && targets[i] != NULL; i++)
    {
      g_autoptr (DvmSession) session = NULL;

      if (targets[i][0] == '\0')
        continue;
      session = dvm_cli_find_session_waiting (client, targets[i], cancellable, error);
      if (session == NULL)
        return FALSE;
      g_free (targets[i]);
      targets[i] = g_strdup (dvm_session_get_alloc_id (session));
    }
  dvm_job_spec_set_target (spec, (const char *const *)targets);
  return TRUE;
}

gboolean
dvm_cli_spec_find_sessions (DvmJobSpec *spec, DvmCliArgs *args, DvmClient *client, GCancellable *cancellable,
                            GError **error)
{
  const char *reference = dvm_cli_args_get (args, "session");
  g_autoptr (DvmSession) session = NULL;

  if (dvm_cli_args_has (args, "target") && !find_targets (spec, client, cancellable, error))
    return FALSE;
  if (reference == NULL)
    return TRUE;
  session = dvm_cli_find_session_waiting (client, reference, cancellable, error);
  if (session == NULL)
    return FALSE;
  dvm_job_spec_set_session (spec, dvm_session_get_id (session));
  return TRUE;
}
