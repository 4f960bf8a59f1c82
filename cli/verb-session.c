/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli session: one allocation looked at.
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-screen.h"
#include "dvm-cli-session.h"
#include "dvm-cli-suggest.h"

static const DvmCliOption options[] = {
  { NULL },
};

static const DvmCliColumn columns[] = {
  { NULL, N_ ("Session"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Allocation"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Request"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("State"), DVM_CLI_KIND_STATE },
  { NULL, N_ ("Reason"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Nodes"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Jobs"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Shared"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Owner"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Owners"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Inheritance"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Expires"), DVM_CLI_KIND_TIME },
  { NULL, NULL, 0 },
};

static gboolean
show (DvmCli *cli, DvmSession *session, GError **error)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);
  g_autofree char *shown = NULL;
  GVariant *values[] = {
    g_variant_new_uint32 (dvm_session_get_id (session)),
    dvm_cli_text (dvm_session_get_alloc_id (session)),
    dvm_cli_text (dvm_session_get_request_id (session)),
    dvm_cli_text (dvm_session_state_to_string (dvm_session_get_state (session))),
    dvm_cli_text (dvm_session_get_reason (session)),
    dvm_cli_take_text (g_strjoinv (",", (char **)dvm_session_get_nodes (session))),
    dvm_cli_take_text (dvm_cli_join_ids (dvm_session_get_jobs (session))),
    g_variant_new_string (dvm_session_get_shared (session) ? _ ("yes") : _ ("no")),
    dvm_cli_text (dvm_session_get_owner (session)),
    dvm_cli_take_text (g_strjoinv (",", (char **)dvm_session_get_owners (session))),
    dvm_cli_text (dvm_session_get_inheritance (session)),
    g_variant_new_uint64 ((guint64)dvm_session_get_expires_at (session)),
  };

  dvm_cli_table_add (table, values);
  if (cli->json)
    {
      shown = dvm_session_to_json (session);
      return dvm_cli_print (g_strchomp (shown), error) && dvm_cli_print ("\n", error);
    }
  shown = dvm_cli_table_to_list (table, dvm_cli_may_use_colour (cli));
  return dvm_cli_print (shown, error);
}

/* A number may be an allocation's id, as those of schedulers are; if it is none, it is the session's own. */
static DvmSession *
find_session (DvmClient *client, const char *reference, GError **error)
{
  g_autoptr (GError) local_error = NULL;
  DvmSession *session = dvm_client_find_session (client, strcmp (reference, "0") == 0 ? "" : reference, NULL,
                                                 &local_error);
  g_autofree char *path = NULL;

  if (session == NULL && g_ascii_isdigit (reference[0]) && g_error_matches (local_error, DVM_ERROR, DVM_ERROR_NOT_FOUND)
      && g_ascii_string_to_unsigned (reference, 10, 0, G_MAXUINT, NULL, NULL))
    {
      path = g_strdup_printf ("/org/dvm/sessions/%s", reference);
      return dvm_client_find_session (client, path, NULL, error);
    }
  if (session == NULL)
    g_propagate_error (error, g_steal_pointer (&local_error));
  return session;
}

static int
session_verb (DvmCli *cli, GError **error)
{
  static const char *const names[] = { "list", "show", NULL };
  const char *const *words = dvm_cli_args_get_words (cli->args);
  const char *near = dvm_cli_suggest (words[0], names);
  g_autoptr (DvmClient) client = NULL;
  g_autoptr (DvmSession) session = NULL;

  if (strcmp (words[0], "list") == 0 && words[1] == NULL)
    return dvm_cli_list_sessions (cli, error);
  if (strcmp (words[0], "list") == 0)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("the argument '%s' is too much: dvm-cli session list"), words[1]);
  else if (strcmp (words[0], "show") == 0 && words[1] == NULL)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a session is missing: dvm-cli session show SESSION"));
  else if (strcmp (words[0], "show") == 0)
    {
      client = dvm_cli_connect (cli, error);
      session = client != NULL ? find_session (client, words[1], error) : NULL;
      return session != NULL && show (cli, session, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
    }
  else if (near != NULL)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a session cannot be told to '%s'; did you mean '%s'?"), words[0],
                 near);
  else
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a session cannot be told to '%s': there are list and show"),
                 words[0]);
  return DVM_CLI_EXIT_USAGE;
}

const DvmCliVerb dvm_cli_verb_session = {
  .name = "session",
  .synopsis = "list [OPTION...]\nshow [OPTION...] SESSION",
  .summary = N_ ("look at a session: its nodes, its jobs, who owns it"),
  .options = { options },
  .min_words = 1,
  .max_words = 2,
  .failure = DVM_CLI_EXIT_FAILED,
  .run = session_verb,
};
