/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The options of grow, shrink and session become a request for nodes.
 */

#include "config.h"

#include "dvm-cli-request.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-output.h"
#include "dvm-cli-session.h"

const DvmCliOption dvm_cli_allocation_options[] = {
  { "share", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("jobs of everybody may run on the nodes") },
  { "no-share", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("the nodes are set aside for jobs of this session") },
  { "target", 0, NULL, DVM_CLI_ARG_STRING, N_ ("JOB"), NULL, N_ ("whose the nodes are to be: those of this job") },
  { "inheritance", 0, NULL, DVM_CLI_ARG_CHOICE, N_ ("WHAT"), "none|child|default|child-default",
    N_ ("what becomes of the nodes when their owner ends") },
  { "time", 0, NULL, DVM_CLI_ARG_TIME, N_ ("TIME"), NULL,
    N_ ("give the nodes back after so long, such as 90s, 2h or 1:30:00") },
  { "warn-timeout", 0, NULL, DVM_CLI_ARG_TIME, N_ ("TIME"), NULL, N_ ("warn who asked so long before that") },
  { "session", 0, NULL, DVM_CLI_ARG_STRING, N_ ("SESSION"), NULL, N_ ("a new one is a child of this session") },
  { "child-separate", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("a child does not end with its parent") },
  { NULL },
};

static void
add_text (GVariantDict *request, DvmCliArgs *args, const char *name)
{
  if (dvm_cli_args_has (args, name))
    g_variant_dict_insert (request, name, "s", dvm_cli_args_get (args, name));
}

static void
add_number (GVariantDict *request, DvmCliArgs *args, const char *name)
{
  if (dvm_cli_args_has (args, name))
    g_variant_dict_insert (request, name, "u", dvm_cli_args_get_uint (args, name, 0));
}

static void
add_seconds (GVariantDict *request, DvmCliArgs *args, const char *name)
{
  if (dvm_cli_args_has (args, name))
    g_variant_dict_insert (request, name, "u", dvm_cli_args_get_seconds (args, name, 0));
}

static void
add_hosts (GVariantDict *request, DvmCliArgs *args)
{
  g_autofree const char **lists = dvm_cli_args_get_all (args, "hosts");
  g_autofree char *joined = lists[0] != NULL ? g_strjoinv (",", (char **)lists) : NULL;
  g_auto (GStrv) hosts = joined != NULL ? g_strsplit (joined, ",", -1) : NULL;

  if (hosts != NULL)
    g_variant_dict_insert_value (request, "hosts", g_variant_new_strv ((const char *const *)hosts, -1));
}

/* The directory of the daemon, which reads the file, is another one. */
static void
add_hostfile (GVariantDict *request, DvmCliArgs *args)
{
  g_autofree char *path = NULL;

  if (!dvm_cli_args_has (args, "hostfile"))
    return;
  path = g_canonicalize_filename (dvm_cli_args_get (args, "hostfile"), NULL);
  g_variant_dict_insert (request, "hostfile", "s", path);
}

static gboolean
add_session (GVariantDict *request, DvmCliArgs *args, DvmClient *client, GError **error)
{
  g_autoptr (DvmSession) session = NULL;

  if (!dvm_cli_args_has (args, "session"))
    return TRUE;
  session = dvm_cli_find_session (client, dvm_cli_args_get (args, "session"), error);
  if (session == NULL)
    return FALSE;
  g_variant_dict_insert (request, "session", "u", dvm_session_get_id (session));
  return TRUE;
}

/* A job by any of its names; the DVM knows the namespaces of tools, and bus.UID. */
static gboolean
add_target (GVariantDict *request, DvmCliArgs *args, DvmClient *client, GError **error)
{
  const char *target = dvm_cli_args_get (args, "target");
  g_autoptr (GError) local_error = NULL;
  g_autoptr (DvmJob) job = NULL;

  if (target == NULL)
    return TRUE;
  job = dvm_client_find_job (client, target, NULL, &local_error);
  if (job != NULL && dvm_job_get_ended (job))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("option --target: job %s has ended, and can own nothing"),
                   target);
      return FALSE;
    }
  if (job == NULL && strstr (target, "@tool-") == NULL && !g_str_has_prefix (target, "bus."))
    {
      g_propagate_error (error, g_steal_pointer (&local_error));
      return FALSE;
    }
  g_variant_dict_insert (request, "target", "s", job != NULL ? dvm_job_get_nspace (job) : target);
  return TRUE;
}

gboolean
dvm_cli_request_fill (GVariantDict *request, DvmCliArgs *args, DvmClient *client, GError **error)
{
  add_hosts (request, args);
  add_hostfile (request, args);
  add_number (request, args, "count");
  add_text (request, args, "alloc-id");
  add_text (request, args, "of-req-id");
  add_text (request, args, "req-id");
  add_text (request, args, "inheritance");
  add_seconds (request, args, "time");
  add_seconds (request, args, "warn-timeout");
  add_seconds (request, args, "drain-timeout");
  if (dvm_cli_args_has (args, "share") || dvm_cli_args_has (args, "no-share"))
    g_variant_dict_insert (request, "share", "b", dvm_cli_args_has (args, "share"));
  if (dvm_cli_args_has (args, "child-separate"))
    g_variant_dict_insert (request, "child-separate", "b", TRUE);
  return add_target (request, args, client, error) && add_session (request, args, client, error);
}

/* Texts of the command line may be any bytes; those of D-Bus may not. */
static gboolean
check_texts (DvmCliArgs *args, GError **error)
{
  static const char *const names[] = { "hosts", "hostfile", "alloc-id", "of-req-id", "req-id", "target", "session" };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree const char **values = dvm_cli_args_get_all (args, names[i]);

      for (gsize j = 0; values[j] != NULL; j++)
        if (!g_utf8_validate (values[j], -1, NULL))
          {
            g_autofree char *shown = dvm_cli_escape (values[j]);

            g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --%s: '%s' is not UTF-8"), names[i], shown);
            return FALSE;
          }
    }
  return TRUE;
}

gboolean
dvm_cli_request_check (DvmCliArgs *args, GError **error)
{
  g_autofree const char **files = dvm_cli_args_get_all (args, "hostfile");

  if (dvm_cli_args_has (args, "share") && dvm_cli_args_has (args, "no-share"))
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("options --share and --no-share cannot go together"));
  else if (files[0] != NULL && dvm_cli_args_has (args, "count"))
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                 _ ("options --count and --%s cannot go together: nodes are named, or the DVM chooses them"),
                 "hostfile");
  else if (dvm_cli_args_has (args, "hosts") && dvm_cli_args_has (args, "count"))
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                 _ ("options --count and --%s cannot go together: nodes are named, or the DVM chooses them"), "hosts");
  else if (files[0] != NULL && files[1] != NULL)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --hostfile can be given once"));
  else
    return check_texts (args, error);
  return FALSE;
}
